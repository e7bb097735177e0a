"""Imitation of a teacher that knows the state, by a student that sees images: DAgger.

`python -m propwash train race --method imitate` (docs/imitation.md). The student flies, at first in
turns with the teacher, and learns the teacher's actions in the states that it reaches: S. Ross, G.
Gordon, D. Bagnell, "A reduction of imitation learning and structured prediction to no-regret online
learning", AISTATS 2011. Each window is learnt once and not stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces.utils import flatdim
from numpy.typing import NDArray

import propwash.gym as pg
from propwash.gym import ppo
from propwash.gym._observations import flat
from propwash.gym._options import has_effect
from propwash.gym._snapshot import is_same
from propwash.gym.policy import Policy

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError('training needs PyTorch: pip install "propwash[torch]"') from error

from propwash.gym._convolution import image_columns
from propwash.gym.recurrent import GruAgent

Teacher = Callable[[pg.State], NDArray[np.float32]]
"""Actions (n, A) in [-1, 1] for the true state."""

GATES: dict[str, Any] = {
    "gates": ["Gate10", "Gate21", "Gate2"],
    "course_seed": list(range(300)),
    "episode_seconds": 40.0,
    "frame": "body",
    "observation": ["grey", "imu"],
    "image_tilt": 10.0,
    "history": 1,
    "action": "heading_velocity",
    "max_rates": [8.0, 8.0, 2.0],
    "outer_loops": {"tilt_limit": 0.9, "velocity": [3.5, 3.5, 3.0]},
    "substeps": 64,
}
"""The first three gates of AlphaPilot by grey images and the IMU, 15 steps per second."""


@dataclass(frozen=True)
class ImitateArgs:
    """Hyperparameters of imitation; the defaults are for gates by images."""

    teacher: str = ""  # a policy of the state, by its name or file; "": the `teach` of the task
    num_steps: int = 40  # steps of each environment in a window
    rows: int = 8  # environments of a minibatch; derivatives reach back to the start of a window
    guard: float = 0.3  # distance between the actions that the teacher tolerates
    patience: int = 20  # successive steps for which it tolerates more, at the end
    mix_steps: int = 150_000  # environment steps until then; at first the teacher does not wait
    estimate: float = 1.0  # weight of the estimates of privileged columns, if there are any
    stagger: int = 300  # steps over which the first episodes begin
    learning_rate: float = 1e-3  # initial value, decreases with a cosine to a twentieth
    decay_steps: int = 350_000  # environment steps until then
    max_grad_norm: float = 1.0
    memory: int = 96  # units of the GRU
    hidden: int = 64  # width of the two layers after it
    convolution: tuple[int, ...] = ()  # channels of convolutions of the image, 3 x 3, stride 2
    columns: tuple[int, ...] = ()  # observation columns that the agent uses; (): all
    scale_iterations: int = 5  # iterations that update the observations' mean and variance
    restart_every: int = 100  # iterations between restarts of all episodes, see state_dict


class Imitation:
    """Trains an agent with memory to act as a teacher.

    The teacher's actions are the targets in all states. The student flies, but where its action has
    differed by more than args.guard for too long, the teacher acts until it does not differ (as J.
    Zhang, K. Cho, "Query-efficient imitation learning for end-to-end simulated driving", AAAI
    2017); so no vehicle is lost, and later ones are flown by the student alone. A linear layer
    estimates the privileged columns of the observation from the inputs of the actor; it is used for
    its gradient only. Nor is the agent's critic used.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: ImitateArgs, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.engine = envs._engine
        self.teacher = policy_teacher(args.teacher, envs) if args.teacher else task_teacher(envs)
        self.generator = torch.Generator().manual_seed(seed)
        names = ("hidden", "memory", "columns", "convolution")
        network = ppo.Args(**{name: getattr(args, name) for name in names})
        width, outputs = flatdim(envs.single_observation_space), self.engine.actions.size
        known = sum(each.stop - each.start for each in envs.privileged_columns.values())
        image = image_columns(envs) if args.convolution else None
        self.agent = GruAgent(width - known, outputs, network, self.generator, known, image)
        self.policy = self.agent
        layer = [self.agent.actor_width, known]
        self.estimator = ppo.mlp(layer, 0.01, self.generator) if known else nn.Identity()
        used = self.agent.encoder, self.agent.gru, self.agent.actor, self.estimator
        self.parameters = [each for part in used for each in part.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, fused=True)
        self.iteration, self.global_step = 0, 0
        shape = args.num_steps, envs.num_envs
        self.seen = torch.zeros(shape[0] + 1, shape[1], width)
        self.targets = torch.zeros(*shape, outputs)
        self.live, self.rewards, self.by_teacher = torch.zeros(3, *shape)
        self.goes_on = torch.zeros(shape[0] + 1, shape[1])
        self.done, self.waited = torch.zeros(2, shape[1])
        self.memory = torch.zeros(shape[1], args.memory)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, at a multiple of args.restart_every."""
        return {
            "agent": self.agent.state_dict(),
            "estimator": self.estimator.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "counts": (self.iteration, self.global_step),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); training continues bit-identically to an uninterrupted one."""
        self.agent.load_state_dict(state["agent"])
        self.estimator.load_state_dict(state["estimator"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.iteration, self.global_step = state["counts"]

    def iterate(self) -> dict[str, float]:
        """Flies a window and learns it; returns statistics by name."""
        args = self.args
        if self.iteration % args.restart_every == 0:
            self.restart()
        passed = min(1.0, self.global_step / args.decay_steps)
        factor = 0.05 + 0.95 * 0.5 * (1.0 + math.cos(math.pi * passed))
        self.optimizer.param_groups[0]["lr"] = args.learning_rate * factor
        first = self.fly(args.patience * min(1.0, self.global_step / args.mix_steps))
        if self.iteration < args.scale_iterations:
            self.agent.learn_scale(self.seen[:-1].flatten(0, 1))
        losses = self.learn(first)
        self.iteration, self.global_step = self.iteration + 1, self.global_step + self.live.numel()
        reward = float(self.rewards.sum() / self.live.sum())
        by_teacher = float((self.by_teacher * self.live).sum() / self.live.sum())
        return {"reward": reward, "by_teacher": by_teacher, **losses}

    def restart(self) -> None:
        """Begins new episodes, each at another step of a flight of the teacher.

        Otherwise all vehicles would see the same part of the course in a window.
        """
        n, args = self.envs.num_envs, self.args
        seed = int(np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)[0])
        self.seen[-1] = torch.from_numpy(flat(self.envs.reset(seed=seed)[0]))
        self.done, self.goes_on[-1] = torch.zeros(n), torch.zeros(n)
        self.memory, self.waited = torch.zeros(n, self.agent.memory_size), torch.zeros(n)
        begins = torch.randint(args.stagger, (n,), generator=self.generator).numpy()
        for step in range(args.stagger):
            mask = begins == step
            if mask.any():
                seen, _ = self.envs.reset(options={"reset_mask": mask})
                self.seen[-1] = torch.from_numpy(flat(seen))
                self.goes_on[-1, mask] = self.done[mask] = 0.0
            self.seen[0], self.goes_on[0] = self.seen[-1], self.goes_on[-1]
            self.advance(0, 0.0, guard=-1.0)
            self.seen[-1], self.goes_on[-1] = self.seen[1], self.goes_on[1]

    def fly(self, patience: float) -> Tensor:
        """Fills the buffers; returns the memory before the window."""
        self.seen[0], self.goes_on[0], first = self.seen[-1], self.goes_on[-1], self.memory
        for t in range(self.args.num_steps):
            self.advance(t, patience, self.args.guard)
        return first

    @torch.no_grad()
    def advance(self, t: int, patience: float, guard: float) -> None:
        """Makes step t; the teacher acts after `patience` steps of actions beyond `guard`."""
        self.live[t] = 1.0 - self.done
        memory = self.memory * self.goes_on[t, :, None]
        inputs, self.memory = self.agent.see(self.agent.normalise(self.seen[t]), memory)
        self.targets[t] = torch.from_numpy(self.teacher(self.engine.state))
        action = self.agent.mean_action(inputs).clamp(-1.0, 1.0)
        differs = torch.linalg.vector_norm(action - self.targets[t], dim=-1) > guard
        self.waited = (self.waited * self.goes_on[t] + 1.0) * differs
        acts = self.waited > patience
        self.by_teacher[t], action = acts, torch.where(acts[:, None], self.targets[t], action)
        seen, reward, *ends, _ = self.envs.step(action.numpy())
        self.seen[t + 1] = torch.from_numpy(flat(seen))
        self.rewards[t], self.done = torch.from_numpy(reward), torch.from_numpy(ends[0] | ends[1])
        self.done, self.goes_on[t + 1] = self.done.float(), self.live[t]

    def learn(self, memory: Tensor) -> dict[str, float]:
        """Makes an optimiser step for each minibatch of the window; returns mean losses by name.

        memory: (n, N) before the window.
        """
        totals, agent = torch.zeros(2), self.agent
        x = agent.normalise(self.seen[:-1])
        order = torch.randperm(x.shape[1], generator=self.generator)
        parts = torch.split(order, self.args.rows)
        for rows in parts:
            inputs = agent.see_all(x[:, rows], memory[rows], self.goes_on[:-1, rows])
            losses = [_smooth(agent.mean_action(inputs) - self.targets[:, rows]).sum(-1)]
            if known := inputs[..., agent.actor_width :].shape[-1]:
                guess = self.estimator(inputs[..., : agent.actor_width])
                losses.append(_smooth(guess - x[:, rows, -known:]).mean(-1))
            live = self.live[:, rows]
            means = [(each * live).sum() / live.sum() for each in losses]
            loss = means[0] + self.args.estimate * sum(means[1:])
            self.optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.parameters, self.args.max_grad_norm)
            if not norm.isfinite():
                raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
            self.optimizer.step()
            totals[: len(means)] += torch.stack(means).detach()
        loss, estimate = (totals / len(parts)).tolist()
        return {"loss": loss, "estimate": estimate}


def _smooth(error: Tensor) -> Tensor:
    """Huber's loss of errors, linear beyond 0.2."""
    return nn.functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none", beta=0.2)


def task_teacher(envs: pg.FleetVectorEnv) -> Teacher:
    """The method `teach` of the task. Raises ValueError without it, or for its commands."""
    engine = envs._engine
    task: Any = engine.task
    if not hasattr(task, "teach"):
        raise ValueError(
            f"teacher: expected a policy of the state for {type(task).__name__}, which has no "
            "method teach; set one, as --set 'teacher=\"policy.onnx\"'"
        )
    if not hasattr(engine.actions, "inverse"):
        raise ValueError(
            "action: expected 'velocity', 'heading_velocity' or 'target_velocity' for the teacher "
            f"of the task, got {engine.settings.action!r}; or set a teacher, a policy of the state"
        )
    inverse: Callable[[Any], NDArray[np.float32]] = engine.actions.inverse
    return lambda state: inverse(task.teach(state))


def policy_teacher(name: str, envs: pg.FleetVectorEnv) -> Teacher:
    """A policy of the state from a name or file. Raises ValueError if it does not fit."""
    policy, engine = Policy.load(name), envs._engine
    options, task = policy.description.options, engine.task
    pairs: dict[str, tuple[Any, Any]] = {
        "observation": (options.get("observation", "state"), "state"),
        "frame": (options.get("frame", "world"), task.frame),
    }
    for option in ("action", "max_rates", "max_tilt", "max_speed", "yaw_mode"):
        if has_effect(option, engine.settings):
            pairs[option] = options.get(option), getattr(engine.settings, option)
    for option, (found, expected) in pairs.items():
        if not is_same(found, expected):
            raise ValueError(
                f"teacher {name!r:.100}: expected a policy with {option} = {expected!r:.50}, got "
                f"{found!r:.50}"
            )

    width = np.asarray(pg.Task.observation(task, engine.state)).shape[1]
    if policy.observation_size != width or policy.memory_size:
        raise ValueError(
            f"teacher {name!r:.100}: expected a policy without memory of the state of "
            f"{type(task).__name__}, {width} numbers, got one for {policy.description.task!r:.50} "
            f"of {policy.observation_size} numbers"
        )

    def act(state: pg.State) -> NDArray[np.float32]:
        return policy.act(np.nan_to_num(pg.Task.observation(task, state)))  # NaN if diverged

    return act
