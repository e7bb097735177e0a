"""Short-horizon actor-critic (SHAC) in one file of PyTorch; learns to hover in seconds.

    python -m propwash.gym.shac --seed 1

J. Xu et al., "Accelerated policy learning with parallel differentiable simulation", ICLR 2022.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import propwash.gym as pg
import torch
from propwash.gym import _differentiable
from propwash.gym._differentiable import Window
from propwash.gym.evaluation import evaluate
from propwash.gym.ppo import HOVER, STATE, Agent
from torch import Tensor, nn

FAST = {"substeps": 5, "dt": 1 / 160, "max_episode_steps": 96, "bound": 4.0, "noise": False}


@dataclass(frozen=True)
class Args:
    """Hyperparameters of SHAC; the defaults are for Hover."""

    num_steps: int = 16
    actor_rate: float = 4e-3
    critic_rate: float = 4e-3
    decay_iterations: int = 200
    critic_epochs: int = 4
    critic_batches: int = 1
    target_rate: float = 0.3
    gamma: float = 0.95
    gae_lambda: float = 0.95
    max_grad_norm: float = 1.0
    hidden: int = 64
    init_std: float = 0.1
    excess: float = 0.1
    beta1: float = 0.7
    beta2: float = 0.95
    columns: tuple[int, ...] = STATE
    scale_iterations: int = 5
    restart_every: int = 50


class SHAC:
    def __init__(self, envs: pg.FleetVectorEnv, args: Args, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.generator = torch.Generator().manual_seed(seed)
        width = math.prod(envs.single_observation_space.shape or ())
        outputs = math.prod(envs.single_action_space.shape or ())
        self.agent = Agent(width, outputs, args, self.generator)
        self.task = _differentiable.DifferentiableHover(envs._engine)
        self.target = [each.detach().clone() for each in self.agent.critic.parameters()]
        betas = (args.beta1, args.beta2)
        self.actor_optimizer = torch.optim.Adam(
            [*self.agent.actor.parameters()], args.actor_rate, betas, fused=True
        )
        self.critic_optimizer = torch.optim.Adam(
            self.agent.critic.parameters(), args.critic_rate, betas, fused=True
        )
        self.iteration, self.global_step = 0, 0
        self.age = np.zeros(envs.num_envs, dtype=np.int64)
        self.limit = envs._engine.limit

    def critic(self, x: Tensor) -> Tensor:
        return self.agent.critic(x).squeeze(-1)

    def target_critic(self, x: Tensor) -> Tensor:
        w = self.target
        h = torch.tanh(torch.nn.functional.linear(x, w[0], w[1]))
        h = torch.tanh(torch.nn.functional.linear(h, w[2], w[3]))
        return torch.nn.functional.linear(h, w[4], w[5]).squeeze(-1)

    def iterate(self) -> dict[str, float]:
        args, engine = self.args, self.envs._engine
        n, steps = self.envs.num_envs, args.num_steps
        if self.iteration % args.restart_every == 0:
            seed = np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)
            engine.seed(int(seed[0]))
            self.age = np.arange(n) * steps % self.limit // steps * steps
            engine.restart(np.ones(n, dtype=np.bool_))
            self.action = torch.zeros(n, 4)
        state = self.task.flight.begin()
        action = self.action
        rows, contexts, rewards, ended = [], [], [], []
        seen, means = [], []
        decay = max(0.0, 1.0 - self.iteration / args.decay_iterations)
        std = args.init_std * max(decay, 0.1)
        noise = torch.randn(steps, n, 4, generator=self.generator) * std
        for t in range(steps):
            obs = self.task.observe(state, action)
            x = self.agent.normalise(obs)
            mean = self.agent.actor(x)
            previous, action = action, (mean + noise[t]).clamp(-1.0, 1.0)
            contexts.append(self.task.context())
            state, reward, end = self.task.step(state, action)
            rows.append((*state[:4], action, previous))
            rewards.append(reward)
            ended.append(end)
            seen.append(obs)
            means.append(mean)
        last = self.task.observe(state, action)
        seen.append(last)
        window = Window(*(torch.stack(part) for part in zip(*rows, strict=True)), ())
        reward = self.task.reward(window)
        exact, ends = torch.stack(rewards), torch.stack(ended).float()
        alive = torch.cumprod(torch.cat([torch.ones(1, n), 1.0 - ends]), 0)
        discount = args.gamma ** torch.arange(steps + 1)[:, None] * alive
        excess = (torch.stack(means).abs() - 1.0).relu().square().sum(-1)
        value = self.target_critic(self.agent.normalise(last))
        total = ((reward - args.excess * excess) * discount[:-1]).sum(0) + value * discount[-1]
        loss = -total.mean() / steps
        self.actor_optimizer.param_groups[0]["lr"] = max(args.actor_rate * decay, 1e-4)
        self.critic_optimizer.param_groups[0]["lr"] = max(args.critic_rate * decay, 1e-4)
        self.actor_optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.agent.actor.parameters(), args.max_grad_norm)
        if not norm.isfinite():
            raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
        self.actor_optimizer.step()
        # critic
        with torch.no_grad():
            raw = torch.stack(seen).detach()
            x = self.agent.normalise(raw)
            values = self.target_critic(x)
            advantage = torch.zeros(n)
            targets = torch.zeros(steps, n)
            for t in reversed(range(steps)):
                going = 1.0 - ends[t]
                delta = exact[t] + args.gamma * values[t + 1] * going - values[t]
                advantage = delta + args.gamma * args.gae_lambda * going * advantage
                targets[t] = advantage + values[t]
            live = alive[:-1].flatten().nonzero().squeeze(1)
            x, targets = x[:-1].flatten(0, 1)[live], targets.flatten()[live]
        for _ in range(args.critic_epochs):
            order = torch.randperm(len(live), generator=self.generator)
            for some in order.chunk(args.critic_batches):
                value_loss = (self.critic(x[some]) - targets[some]).square().mean()
                self.critic_optimizer.zero_grad()
                value_loss.backward()
                self.critic_optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.target, [*self.agent.critic.parameters()], args.target_rate)
        if self.iteration < args.scale_iterations:
            self.agent.learn_scale(raw[:-1].flatten(0, 1))
        # next window
        self.age += steps
        done = (alive[-1] == 0.0).numpy() | (self.age >= self.limit)
        self.action = action.detach()
        if done.any():
            engine.restart(done)
            self.age[done] = 0
            self.action[torch.from_numpy(done)] = 0.0
        self.iteration, self.global_step = self.iteration + 1, self.global_step + steps * n
        return {
            "reward": float((exact * alive[:-1]).sum() / alive[:-1].sum()),
            "loss": loss.item(),
            "value_loss": value_loss.item(),
            "norm": norm.item(),
            "ended": float(done.mean()),
        }


def main() -> None:
    """Learns to hover, and evaluates the policy in 1000 new episodes."""
    parser = argparse.ArgumentParser(description="learn to hover with SHAC")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--opt", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    changes = {k: eval(v) for k, v in (each.split("=") for each in options.set)}
    opts = {k: eval(v) for k, v in (each.split("=") for each in options.opt)}
    evals = pg.make_vec(pg.Hover, 1000, copy=False, **HOVER)
    few = pg.make_vec(pg.Hover, 200, copy=False, **HOVER)
    start = time.process_time()
    envs = pg.make_vec(pg.Hover, options.envs, copy=False, **HOVER, **{**FAST, **opts})
    shac = SHAC(envs, Args(**changes), options.seed)
    spent = 0.0
    while shac.iteration < options.iterations:
        statistics = shac.iterate()
        if options.every and shac.iteration % options.every == 0:
            t = time.process_time()
            result = evaluate(shac.agent.act, few, options.seed)
            spent += time.process_time() - t
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in statistics.items())
            print(
                f"{time.process_time() - start - spent:5.2f} s {shac.iteration} it "
                f"{shac.global_step:9,} {result.settled(0.1, 2.0):.1%}"
                f" {np.median(result.distance[-1]):.3f} {numbers}"
            )
    cpu = time.process_time() - start - spent
    result = evaluate(shac.agent.act, evals, options.seed)
    print(f"seed {options.seed} {cpu:.2f} s: {result.settled(0.1, 2.0):.1%}"
      f" median {np.median(result.distance[-1]):.3f}")


if __name__ == "__main__":
    main()
