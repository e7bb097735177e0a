"""Back-propagation through time (BPTT) in one file of PyTorch; learns to fly through forests.

    python -m propwash.gym.bptt --seed 1

`python -m propwash train forest` is the same code with checkpoints, logs and plots
(docs/train.md). The policy descends the gradient of a loss of the flown states through the physics,
as in Y. Zhang et al., "Learning vision-based agile flight via differentiable physics", Nature
Machine Intelligence 2025. Images have no derivative: the observations of a flight are constants.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces.utils import flatdim
from numpy.typing import NDArray

import propwash.gym as pg
from propwash.gym import ppo
from propwash.gym._actions import Pull
from propwash.gym._observations import flat
from propwash.gym.evaluation import evaluate, measures

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError('training needs PyTorch: pip install "propwash[torch]"') from error

from propwash.gym._convolution import image_columns
from propwash.gym._differentiable import StateWindow, check_gradients, loss_of
from propwash.gym.recurrent import GruAgent

FOREST: dict[str, Any] = {
    **{"observation": ["depth", "state"], "depth_size": [32, 20], "depth_fov": 60.5},
    **{"depth_tilt": 15.0, "depth_pool": [1, 4], "depth_near": 0.2},
    **{"action": "goal_velocity", "substeps": 64},
    "yaw_mode": "velocity",
    "outer_loops": {"tilt_limit": 0.9, "velocity": [3.5, 3.5, 3.0]},
}
"""A depth camera that looks up by 15 degrees, and steps of 1/15 s."""
FORESTS: dict[str, Any] = {
    **{"flights": 6, "forest_seed": 100_000},
    "speed": [3.0, 4.0, 5.0, 6.0, 7.0, 7.0, 8.0, 9.0],
    "density": [0.033, 0.04, 0.05, 0.06, 0.07],
}
"""Training: several speeds and densities, and other forests than in evaluations."""
COARSE: dict[str, Any] = {**FORESTS, "dt": 1 / 240, "substeps": 16, "noise": False}
"""Long physics steps without noise too."""
WIDE: dict[str, Any] = {**FOREST, "depth_size": [48, 20], "depth_near": 1.0, "past": True}
"""A wider image, whose far depths differ more, and what late images and wind depend on."""


@dataclass(frozen=True)
class BpttArgs:
    """Hyperparameters of BPTT; the defaults are for ForestFlight."""

    num_steps: int = 35  # steps of each environment in a window
    learning_rate: float = 1e-3  # initial value, decreases with a cosine to a twentieth
    decay_steps: int = 1_500_000  # environment steps until then
    weight_decay: float = 1e-2
    max_grad_norm: float = 3.0
    max_action_grad: float = 20.0  # limit of the gradient by an action, times the mean of all
    saturation: float = 0.1  # cost of the squared excess of actions over 1
    memory: int = 96  # units of the GRU
    hidden: int = 64  # width of the two layers after it
    convolution: tuple[int, ...] = ()  # channels of convolutions of the image, 3 x 3, stride 2
    columns: tuple[int, ...] = ()  # observation columns that the agent uses; (): all
    scale_iterations: int = 5  # iterations that update the observations' mean and variance
    restart_every: int = 20  # iterations between restarts of all episodes, see BPTT.state_dict
    scene_sets: int = 1  # sets of scenes for the restarts in turn, if the task has renew()


@dataclass(frozen=True)
class RecordedWindow:
    """T steps of n environments."""

    start: bytes
    """Snapshot of the fleet before the first step."""
    memory: Tensor
    """(n, N) memory of the agent before the first step."""
    observations: Tensor
    """(T, n, k)"""
    actions: Tensor
    """(T + 1, n, A), the one before the first step too."""
    command: Any
    """The commands with rows (T, n, …)."""
    pulls: list[Pull]
    """Maps derivatives by the command of a step to those by its actions."""
    live: Tensor
    """(T, n) 1 until the task ended the episode, its last step included."""
    reward: float
    """Mean of a step."""


class BPTT:
    """Trains an agent with memory in environments of a task with a `loss`.

    A window of flight is recorded without gradients and then differentiated: the loss by the
    states, the states by the commands (docs/gradients.md), and the commands by the weights. The
    agent's critic is not used. Episodes begin at the start of a window.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: BpttArgs, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.engine = envs._engine
        self.task: Any = self.engine.task
        _check(self.engine, args)
        self.generator = torch.Generator().manual_seed(seed)
        names = ("hidden", "memory", "columns", "convolution")
        network = ppo.Args(**{name: getattr(args, name) for name in names})
        width, outputs = flatdim(envs.single_observation_space), self.engine.actions.size
        image = image_columns(envs) if args.convolution else None
        self.agent = GruAgent(width, outputs, network, self.generator, image=image)
        self.policy = self.agent
        used = self.agent.encoder, self.agent.gru, self.agent.actor
        self.parameters = [each for part in used for each in part.parameters()]
        self.optimizer = torch.optim.AdamW(
            self.parameters, betas=(0.9, 0.98), weight_decay=args.weight_decay, fused=True
        )
        self.iteration, self.global_step = 0, 0
        self.limit = self.engine.limit or 2**31  # steps of an episode
        self.seen, self.memory = torch.zeros(2, 0, 0)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, at a multiple of args.restart_every."""
        return {
            "agent": self.agent.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counts": (self.iteration, self.global_step),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); training continues bit-identically to an uninterrupted one."""
        self.agent.load_state_dict(state["agent"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.iteration, self.global_step = state["counts"]

    def iterate(self) -> dict[str, float]:
        """Flies a window and makes one optimiser step; returns statistics by name."""
        args, every = self.args, np.ones(self.engine.size, dtype=np.bool_)
        if self.iteration % args.restart_every == 0:
            seed = np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)
            self.engine.seed(int(seed[0]))
            if args.scene_sets > 1 and hasattr(self.task, "renew"):
                self.task.renew(self.iteration // args.restart_every % args.scene_sets)
            self.restart(every)
        passed = min(1.0, self.global_step / args.decay_steps)
        factor = 0.05 + 0.95 * 0.5 * (1.0 + math.cos(math.pi * passed))
        self.optimizer.param_groups[0]["lr"] = args.learning_rate * factor
        flown = self.fly()
        loss, gradient = self.action_gradient(flown)
        if self.iteration < args.scale_iterations:
            self.agent.learn_scale(flown.observations.flatten(0, 1))
        norm = self.learn(flown, gradient)
        ends = self.engine.state.steps + args.num_steps > self.limit
        ends |= (flown.live[-1] == 0.0).numpy() | self.task.terminated(self.engine.state)
        self.restart(ends)
        self.iteration += 1
        self.global_step += flown.live.numel()
        rate = args.learning_rate * factor
        return {"reward": flown.reward, "loss": loss, "norm": norm, "lr": rate}

    def restart(self, mask: NDArray[np.bool_]) -> None:
        """Begins episodes where `mask` is set."""
        if not mask.any():
            return
        self.seen = torch.from_numpy(flat(self.engine.restart(mask)).copy())
        if mask.all():
            self.memory = torch.zeros(len(mask), self.agent.memory_size)
        self.memory[torch.from_numpy(mask)] = 0.0

    @torch.no_grad()
    def fly(self) -> RecordedWindow:
        """Flies a window from the present states."""
        engine, fleet, state = self.engine, self.engine.fleet, self.engine.state
        start, memory = fleet.snapshot(), self.memory
        seen, commands, pulls, live, rewards = [], [], [], [], []
        actions = [torch.from_numpy(state.action)]
        going = np.ones(engine.size, dtype=np.float32)
        for _ in range(self.args.num_steps):
            seen.append(self.seen)
            inputs, self.memory = self.agent.see(self.agent.normalise(self.seen), self.memory)
            actions.append(self.agent.mean_action(inputs).clamp(-1.0, 1.0))
            command, pull = engine.actions.vjp(actions[-1].numpy())
            commands.append(command)
            pulls.append(pull)
            fleet._core.step(command, engine.settings.substeps)
            state.steps += 1
            engine.update(actions[-1].numpy())
            self.seen = torch.from_numpy(flat(engine.observer.observe(None)).copy())
            live.append(torch.from_numpy(going))
            rewards.append(np.sum(going * self.task.reward(state)))
            going = going * ~self.task.terminated(state)
        lived = torch.stack(live)
        return RecordedWindow(
            start,
            memory,
            torch.stack(seen),
            torch.stack(actions),
            engine.actions.joined(commands),
            pulls,
            lived,
            float(np.sum(rewards) / lived.sum()),
        )

    def action_gradient(self, flown: RecordedWindow) -> tuple[float, Tensor]:
        """Returns the loss of a window and its derivatives (T, n, A) by the actions."""
        fleet, substeps = self.engine.fleet, self.engine.settings.substeps
        fleet.restore(flown.start)
        names = ("position", "velocity", "attitude", "body_rates")
        before = {name: getattr(fleet, name) for name in names}
        states, pullback = fleet.vjp(flown.command, substeps=substeps)
        after = {name: torch.from_numpy(getattr(states, name)).requires_grad_() for name in names}
        actions = flown.actions.clone().requires_grad_()
        parts = [torch.cat([torch.from_numpy(before[name])[None], after[name]]) for name in names]
        goal = self.task.target(self.engine.state)
        target = torch.zeros(3) if goal is None else torch.from_numpy(np.asarray(goal))
        target = target.expand_as(parts[0])
        position, velocity, attitude, rates = parts
        still = torch.zeros_like(target)
        window = StateWindow(position, velocity, attitude, rates, actions, target, still)
        loss: Any = (loss_of(self.task, window) * flown.live).mean()
        loss.backward()
        by_state = {n: each.grad.numpy() for n, each in after.items() if each.grad is not None}
        by_command = pullback(**by_state).commands
        steps = [{n: each[t] for n, each in by_command.items()} for t in range(len(flown.pulls))]
        gradient = np.stack([pull(by) for pull, by in zip(flown.pulls, steps, strict=True)])
        total = torch.from_numpy(gradient.astype(np.float32))
        if actions.grad is not None:
            total = total + actions.grad[1:]
        return loss.item(), total

    def learn(self, flown: RecordedWindow, gradient: Tensor) -> float:
        """Makes one optimiser step along derivatives by the actions; returns the norm."""
        args, agent = self.args, self.agent
        length = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
        limit = args.max_action_grad * length.mean()
        gradient = gradient * (limit / length.clamp(min=1e-12)).clamp(max=1.0)
        goes_on = torch.ones(gradient.shape[:2])
        inputs = agent.see_all(agent.normalise(flown.observations), flown.memory, goes_on)
        action = agent.mean_action(inputs)
        excess = (action.abs() - 1.0).relu().square().sum(-1).mean()
        objective: Any = (action.clamp(-1.0, 1.0) * gradient).sum() + args.saturation * excess
        self.optimizer.zero_grad()
        objective.backward()
        norm = nn.utils.clip_grad_norm_(self.parameters, args.max_grad_norm)
        if not norm.isfinite():
            raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
        self.optimizer.step()
        return norm.item()


def _check(engine: Any, args: BpttArgs) -> None:
    """Raises ValueError for environments without the gradients that BPTT needs."""
    if not hasattr(engine.task, "loss"):
        raise ValueError(
            f"task: expected one with a loss for gradients, such as ForestFlight, "
            f"{type(engine.task).__name__} has none; define loss(window), or use --method ppo"
        )
    check_gradients(engine)
    if engine.limit and args.num_steps > engine.limit:
        raise ValueError(
            f"num_steps: expected at most {engine.limit}, an episode, got {args.num_steps}"
        )


def main() -> None:
    """Learns to fly through forests, and evaluates the policy in 200 others."""
    parser = argparse.ArgumentParser(description="learn to fly through forests with BPTT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=float, default=1.5e6, help="total environment steps")
    options, start = parser.parse_args(), time.process_time()
    torch.set_num_threads(1)
    args = BpttArgs(decay_steps=int(options.steps))
    envs = pg.make_vec(pg.ForestFlight, 144, copy=False, **{**FOREST, **COARSE})
    bptt = BPTT(envs, args, options.seed)
    while bptt.global_step < options.steps:
        statistics = bptt.iterate()
        if bptt.iteration % 20 == 0:
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in statistics.items())
            print(f"{time.process_time() - start:5.1f} s {bptt.global_step:9,} steps  {numbers}")
    envs = pg.make_vec(pg.ForestFlight, 3000, copy=False, **FOREST)
    for name, value in measures(envs.task, evaluate(bptt.agent, envs, options.seed)).items():
        print(f"{name}: {value:.3g}")


if __name__ == "__main__":
    main()
