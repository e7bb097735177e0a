"""Short-horizon actor-critic (SHAC) in one file of PyTorch; learns to hover in seconds.

    python -m propwash.gym.shac --seed 1

`python -m propwash train hover --method shac` is the same code with checkpoints, logs and plots
(docs/train.md). J. Xu et al., "Accelerated policy learning with parallel differentiable
simulation", ICLR 2022: the actor ascends the gradient of the rewards of a short window of flight,
through the physics (docs/gradients.md), and of the critic's value at its end.
"""

from __future__ import annotations

import argparse
import copy
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces.utils import flatdim

import propwash.gym as pg
from propwash.gym import ppo
from propwash.gym.evaluation import evaluate

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError('training needs PyTorch: pip install "propwash[torch]"') from error

from propwash.gym._convolution import image_columns
from propwash.gym._differentiable import StateWindow, differentiable
from propwash.gym.recurrent import GruAgent

COARSE = {"dt": 1 / 160, "substeps": 5, "max_episode_steps": 96, "bound": 4.0, "noise": False}
"""Training: steps of 1/32 s, of 5 physics steps, without noise. Evaluation: as PPO."""


@dataclass(frozen=True)
class ShacArgs:
    """Hyperparameters of SHAC; the defaults are for Hover."""

    num_steps: int = 24  # steps of each environment in a window
    learning_rate: float = 1e-2  # initial value of actor and critic
    decay_steps: int = 107_520  # environment steps until it is a tenth; 0: no decay
    critic_epochs: int = 2  # passes of the critic over a window
    critic_batches: int = 2  # optimiser steps of a pass
    target_rate: float = 0.3  # by which the target critic follows the critic
    gamma: float = 0.95  # discount factor per step
    gae_lambda: float = 0.95  # of the critic's targets
    max_grad_norm: float = 1.0
    gradient_decay: float = 1.0  # factor per step of gradients through the physics; 1: exact
    reward_scale: float = 1.0
    saturation: float = 0.1  # cost of the squared excess of mean actions over 1
    hidden: int = 64  # width of the two layers of actor and critic
    memory: int = 0  # units of a GRU before actor and critic (recurrent.py); 0: none
    convolution: tuple[int, ...] = ()  # channels of convolutions of the image, 3 x 3, stride 2
    init_std: float = 0.1  # initial standard deviation of the actions, decreases as learning_rate
    columns: tuple[int, ...] = ppo.STATE  # observation columns that the agent uses; (): all
    scale_iterations: int = 5  # iterations that update the observations' mean and variance
    restart_every: int = 20  # iterations between restarts of all episodes, see SHAC.state_dict


class FlownWindow(NamedTuple):
    """A window of T steps of n environments; the first five have gradients."""

    window: StateWindow
    observations: Tensor  # (T + 1, n, k)
    inputs: Tensor  # (T + 1, n, ·) of actor and critic
    means: Tensor  # (T, n, A) mean actions
    gains: Tensor  # (T, n) differentiable rewards
    rewards: Tensor  # (T, n) exact
    ended: Tensor  # (T, n) 1 where the task ended the episode
    live: Tensor  # (T + 1, n) 1 until then; the rest of the window is not used


def td_lambda(rewards: Tensor, values: Tensor, ended: Tensor, gamma: float, decay: float) -> Tensor:
    """Returns the targets (T, n) of values (T + 1, n), TD(decay)."""
    targets, target = torch.zeros_like(rewards), values[-1]
    for t in reversed(range(len(rewards))):
        ahead = (1.0 - decay) * values[t + 1] + decay * target
        targets[t] = target = rewards[t] + gamma * (1.0 - ended[t]) * ahead
    return targets


class SHAC:
    """Trains an agent in environments of a task with gradients; see DifferentiableTask.

    Of observations that are constants, such as images, the critic uses the state too.

    Episodes end at the end of a window: those that the task ended, and those of the age of
    `max_episode_steps`, whose values are bootstrapped.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: ShacArgs, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.engine = envs._engine
        self.task = differentiable(self.engine, args.gradient_decay)
        self.generator = torch.Generator().manual_seed(seed)
        names = ("hidden", "memory", "columns", "convolution")
        network = ppo.Args(**{name: getattr(args, name) for name in names})
        width, outputs = flatdim(envs.single_observation_space), self.engine.actions.size
        image = image_columns(envs) if args.convolution else None
        kind = GruAgent if args.memory else ppo.Agent
        more = self.task.for_critic
        self.agent = kind(width, outputs, network, self.generator, more, image)
        self.policy = self.agent
        self.target = copy.deepcopy(self.agent.critic).requires_grad_(False)
        used = [self.agent.actor, self.agent.encoder, getattr(self.agent, "gru", None)]
        self.actor = nn.ModuleList([part for part in used if part is not None])
        parameters = [*self.actor.parameters(), *self.agent.critic.parameters()]
        self.optimizer = torch.optim.Adam(parameters, betas=(0.7, 0.95), fused=True)
        self.iteration, self.global_step = 0, 0
        self.limit = self.engine.limit or 2**31  # steps of an episode
        if args.num_steps > self.limit:
            raise ValueError(
                f"num_steps: expected at most {self.limit}, an episode, got {args.num_steps}"
            )
        self.age = np.zeros(envs.num_envs, dtype=np.int64)  # steps since the start of the episode
        self.action = torch.zeros(envs.num_envs, outputs)
        self.memory = torch.zeros(envs.num_envs, args.memory)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, at a multiple of args.restart_every."""
        return {
            "agent": self.agent.state_dict(),
            "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "counts": (self.iteration, self.global_step),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); training continues bit-identically to an uninterrupted one."""
        self.agent.load_state_dict(state["agent"])
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.iteration, self.global_step = state["counts"]

    def iterate(self) -> dict[str, float]:
        """Flies a window, and updates actor and critic; returns statistics by name."""
        if self.iteration % self.args.restart_every == 0:
            self.restart()
        decay = self.args.decay_steps
        factor = max(0.1, 1.0 - 0.9 * self.global_step / decay) if decay else 1.0
        self.optimizer.param_groups[0]["lr"] = self.args.learning_rate * factor
        flown = self.fly(self.args.init_std * factor)
        statistics = {**self.update_actor(flown), **self.update_critic(flown)}
        if self.iteration < self.args.scale_iterations:
            self.agent.learn_scale(flown.observations[:-1].detach().flatten(0, 1))
        self.finish(flown)
        self.iteration += 1
        self.global_step += flown.rewards.numel()
        live = flown.live[:-1]
        return {"reward": float((flown.rewards * live).sum() / live.sum()), **statistics}

    def restart(self) -> None:
        """Restarts all episodes, with ages that spread the later restarts."""
        seed = np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)
        self.engine.seed(int(seed[0]))
        self.task.restart(np.ones(self.engine.size, dtype=np.bool_))
        windows = max(1, self.limit // self.args.num_steps)
        self.age = np.arange(self.engine.size) % windows * self.args.num_steps
        self.action.zero_()
        self.memory.zero_()

    def see(self, seen: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the inputs of actor and critic for observations, and the next memory."""
        x = self.agent.normalise(seen)
        return self.agent.see(x, memory) if isinstance(self.agent, GruAgent) else (x, memory)

    def fly(self, std: float) -> FlownWindow:
        """Flies a window from the present states, which are constants."""
        steps, action, memory = self.args.num_steps, self.action, self.memory
        state = self.task.flight.begin()
        noise = std * torch.randn(steps, *action.shape, generator=self.generator)
        rows, results = [], []
        for t in range(steps + 1):
            seen, target, velocity = self.task.observe(state, action)
            self.memory = memory.detach()
            inputs, memory = self.see(seen, memory)
            rows.append((*state[:4], action, target, velocity, seen, inputs))
            if t == steps:
                break
            mean = self.agent.mean_action(inputs)
            action = (mean + noise[t]).clamp(-1.0, 1.0)
            state, reward, ended = self.task.step(state, action)
            results.append((mean, torch.tensor(reward), torch.tensor(ended, dtype=torch.float32)))
        *parts, observations, inputs = (torch.stack(part) for part in zip(*rows, strict=True))
        means, rewards, ended = (torch.stack(part) for part in zip(*results, strict=True))
        live = torch.cat([torch.ones_like(ended[:1]), 1.0 - ended]).cumprod(0)
        window, scale = StateWindow(*parts), self.args.reward_scale
        gains, rewards = scale * self.task.reward(window), scale * rewards
        return FlownWindow(window, observations, inputs, means, gains, rewards, ended, live)

    def update_actor(self, flown: FlownWindow) -> dict[str, float]:
        """Makes one optimiser step of the actor, along the gradient of the returns."""
        args = self.args
        excess = (flown.means.abs() - 1.0).relu().square().sum(-1)
        rewards = flown.gains - args.saturation * excess
        value = self.target(flown.inputs[-1]).squeeze(-1)
        weights = flown.live * args.gamma ** torch.arange(len(flown.live))[:, None]
        returns = (weights[:-1] * rewards).sum(0) + weights[-1] * value
        norm = self.learn(-returns.mean() / args.num_steps, self.actor)
        return {"return": returns.mean().item(), "norm": norm}

    def update_critic(self, flown: FlownWindow) -> dict[str, float]:
        """Trains the critic on TD(lambda) targets; moves the target critic.

        Costs of a loss are expected to go on after an end by the task: it must not save them.
        """
        args, x, rewards = self.args, flown.inputs.detach(), flown.rewards
        with torch.no_grad():
            values = self.target(x).squeeze(-1)
            if not self.task.is_exact:
                rewards = flown.gains.detach() + args.gamma * values[1:] * flown.ended
            targets = td_lambda(rewards, values, flown.ended, args.gamma, args.gae_lambda)
            live = flown.live[:-1].flatten().nonzero().squeeze(1)
            x, targets = x[:-1].flatten(0, 1), targets.flatten()
        for _ in range(args.critic_epochs):
            order = live[torch.randperm(len(live), generator=self.generator)]
            for rows in order.chunk(args.critic_batches):
                loss = (self.agent.critic(x[rows]).squeeze(-1) - targets[rows]).square().mean()
                self.learn(loss, self.agent.critic)
        with torch.no_grad():
            pairs = zip(self.target.parameters(), self.agent.critic.parameters(), strict=True)
            for slow, fast in pairs:
                slow.lerp_(fast, args.target_rate)
        return {"value_loss": loss.item(), "lr": self.optimizer.param_groups[0]["lr"]}

    def learn(self, loss: Any, part: nn.Module) -> float:
        """Makes one optimiser step of a part of the agent; returns the norm of the gradient."""
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(part.parameters(), self.args.max_grad_norm)
        if not norm.isfinite():
            raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
        self.optimizer.step()
        return norm.item()

    def finish(self, flown: FlownWindow) -> None:
        """Begins new episodes where the last ones have ended."""
        self.age += self.args.num_steps
        is_old = self.age + self.args.num_steps > self.limit
        done = is_old | (flown.live[-1] == 0.0).numpy()
        self.action = flown.window.action[-1].detach()
        if done.any():
            self.task.restart(done)
            self.age[done] = 0
            self.action[torch.from_numpy(done)] = 0.0
            self.memory[torch.from_numpy(done)] = 0.0


def main() -> None:
    """Learns to hover, and evaluates the policy in 1000 new episodes."""
    parser = argparse.ArgumentParser(description="learn to hover with SHAC")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=float, default=107_520, help="total environment steps")
    options, start = parser.parse_args(), time.perf_counter()
    torch.set_num_threads(1)
    shac = SHAC(
        pg.make_vec(pg.Hover, 64, copy=False, **ppo.HOVER, **COARSE), ShacArgs(), options.seed
    )
    while shac.global_step < options.steps:
        statistics = shac.iterate()
        if shac.iteration % 10 == 0:
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in statistics.items())
            print(f"{time.perf_counter() - start:5.1f} s {shac.global_step:9,} steps  {numbers}")
    envs = pg.make_vec(pg.Hover, 1000, copy=False, **ppo.HOVER)
    result = evaluate(shac.agent.act, envs, options.seed)
    print(f"within 0.1 m for the last 2 of 5 s: {result.settled(0.1, 2.0):.1%} of 1000 episodes")


if __name__ == "__main__":
    main()
