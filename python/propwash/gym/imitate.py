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
    "observation": ["grey", "imu"],
    "grey_tilt": 10.0,
    "history": 1,
    "action": "heading_velocity",
    "outer_loops": {"tilt_limit": 0.9, "velocity": [3.5, 3.5, 3.0]},
    "substeps": 64,
}
"""The first three gates of AlphaPilot by grey images and the IMU, 15 steps per second."""


@dataclass(frozen=True)
class ImitateArgs:
    """Hyperparameters of imitation; the defaults are for gates by images."""

    teacher: str = ""  # a policy of the state, by its name or file; "": the `teach` of the task
    num_steps: int = 40  # steps of each environment in a window
    rows: int = 32  # environments of a minibatch; derivatives reach back to the start of a window
    mix_steps: int = 200_000  # environment steps until the student alone flies
    stagger: int = 300  # steps over which the first episodes begin
    learning_rate: float = 1e-3  # initial value, decreases with a cosine to a twentieth
    decay_steps: int = 1_000_000  # environment steps until then
    max_grad_norm: float = 1.0
    memory: int = 96  # units of the GRU
    hidden: int = 64  # width of the two layers after it
    convolution: tuple[int, ...] = ()  # channels of convolutions of the image, 3 x 3, stride 2
    columns: tuple[int, ...] = ()  # observation columns that the agent uses; (): all
    scale_iterations: int = 5  # iterations that update the observations' mean and variance
    restart_every: int = 100  # iterations between restarts of all episodes, see state_dict


class Imitation:
    """Trains an agent with memory to act as a teacher.

    In a window the teacher flies some of the vehicles, at first all; the fraction decreases
    linearly. Its actions are the targets in all states. The agent's critic is not used.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: ImitateArgs, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.engine = envs._engine
        if self.engine.settings.privileged_groups:
            got = self.engine.settings.privileged
            raise ValueError(f"privileged: expected False for imitation, got {got!r}")
        self.teacher = policy_teacher(args.teacher, envs) if args.teacher else task_teacher(envs)
        self.generator = torch.Generator().manual_seed(seed)
        names = ("hidden", "memory", "columns", "convolution")
        network = ppo.Args(**{name: getattr(args, name) for name in names})
        width, outputs = flatdim(envs.single_observation_space), self.engine.actions.size
        image = image_columns(envs) if args.convolution else None
        self.agent = GruAgent(width, outputs, network, self.generator, image=image)
        self.policy = self.agent
        used = self.agent.encoder, self.agent.gru, self.agent.actor
        self.parameters = [each for part in used for each in part.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, fused=True)
        self.iteration, self.global_step = 0, 0
        shape = args.num_steps, envs.num_envs
        self.seen = torch.zeros(shape[0] + 1, shape[1], width)
        self.targets = torch.zeros(*shape, outputs)
        self.live, self.rewards = torch.zeros(2, *shape)
        self.goes_on = torch.zeros(shape[0] + 1, shape[1])
        self.done, self.memory = torch.zeros(shape[1]), torch.zeros(shape[1], args.memory)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, at a multiple of args.restart_every."""
        return {
            "agent": self.agent.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "counts": (self.iteration, self.global_step),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); training continues bit-identically to an uninterrupted one."""
        self.agent.load_state_dict(state["agent"])
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
        by_teacher = max(0.0, 1.0 - self.global_step / args.mix_steps)
        first = self.fly(by_teacher)
        if self.iteration < args.scale_iterations:
            self.agent.learn_scale(self.seen[:-1].flatten(0, 1))
        loss = self.learn(first)
        self.iteration, self.global_step = self.iteration + 1, self.global_step + self.live.numel()
        reward = float(self.rewards.sum() / self.live.sum())
        return {"reward": reward, "loss": loss, "by_teacher": by_teacher}

    def restart(self) -> None:
        """Begins new episodes, each at another step of a flight of the teacher.

        Otherwise all vehicles would see the same part of the course in a window.
        """
        n, args = self.envs.num_envs, self.args
        seed = int(np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)[0])
        self.seen[-1] = torch.from_numpy(flat(self.envs.reset(seed=seed)[0]))
        self.done, self.goes_on[-1] = torch.zeros(n), torch.zeros(n)
        self.memory = torch.zeros(n, self.agent.memory_size)
        begins = torch.randint(args.stagger, (n,), generator=self.generator).numpy()
        for step in range(args.stagger):
            mask = begins == step
            if mask.any():
                seen, _ = self.envs.reset(options={"reset_mask": mask})
                self.seen[-1] = torch.from_numpy(flat(seen))
                self.goes_on[-1, mask] = self.done[mask] = 0.0
            self.seen[0], self.goes_on[0] = self.seen[-1], self.goes_on[-1]
            self.advance(0, torch.ones(n, dtype=torch.bool))
            self.seen[-1], self.goes_on[-1] = self.seen[1], self.goes_on[1]

    def fly(self, by_teacher: float) -> Tensor:
        """Fills the buffers, with a fraction flown by the teacher; returns the first memory."""
        self.seen[0], self.goes_on[0], first = self.seen[-1], self.goes_on[-1], self.memory
        chosen = torch.rand(self.envs.num_envs, generator=self.generator) < by_teacher
        for t in range(self.args.num_steps):
            self.advance(t, chosen)
        return first

    @torch.no_grad()
    def advance(self, t: int, by_teacher: Tensor) -> None:
        """Makes step t, in which the teacher flies the vehicles in the mask `by_teacher` (n,)."""
        self.live[t] = 1.0 - self.done
        memory = self.memory * self.goes_on[t, :, None]
        inputs, self.memory = self.agent.see(self.agent.normalise(self.seen[t]), memory)
        self.targets[t] = torch.from_numpy(self.teacher(self.engine.state))
        action = self.agent.mean_action(inputs).clamp(-1.0, 1.0)
        action = torch.where(by_teacher[:, None], self.targets[t], action)
        seen, reward, *ends, _ = self.envs.step(action.numpy())
        self.seen[t + 1] = torch.from_numpy(flat(seen))
        self.rewards[t], self.done = torch.from_numpy(reward), torch.from_numpy(ends[0] | ends[1])
        self.done, self.goes_on[t + 1] = self.done.float(), self.live[t]

    def learn(self, memory: Tensor) -> float:
        """Makes an optimiser step for each minibatch of the window; returns the mean loss.

        memory: (n, N) before the window.
        """
        total = 0.0
        x = self.agent.normalise(self.seen[:-1])
        order = torch.randperm(x.shape[1], generator=self.generator)
        parts = torch.split(order, self.args.rows)
        for rows in parts:
            inputs = self.agent.see_all(x[:, rows], memory[rows], self.goes_on[:-1, rows])
            error = (self.agent.mean_action(inputs) - self.targets[:, rows]).square().sum(-1)
            live = self.live[:, rows]
            loss = (error * live).sum() / live.sum()
            self.optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.parameters, self.args.max_grad_norm)
            if not norm.isfinite():
                raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
            self.optimizer.step()
            total += loss.item()
        return total / len(parts)


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
            f"action: expected 'velocity' or 'heading_velocity' for the teacher of the task, got "
            f"{engine.settings.action!r}; or set a teacher, a policy of the state"
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
        "action": (options.get("action"), engine.settings.action),
    }
    if engine.settings.action == "rate_thrust":
        rates = options.get("max_rates"), engine.settings.max_rates
        pairs["max_rates"] = tuple(rates[0] or ()), tuple(rates[1])
    for option, (found, expected) in pairs.items():
        if found != expected:
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
        return policy.act(np.asarray(pg.Task.observation(task, state)))

    return act
