"""Proximal policy optimisation in one file of plain PyTorch, that learns to hover in seconds.

    python -m propwash.gym.ppo --seed 1

`python -m propwash train` is the same code with checkpoints, logs and plots (docs/train.md).
J. Schulman et al., "Proximal policy optimization algorithms", 2017; the advantages are those of
"High-dimensional continuous control using generalized advantage estimation", 2016; the learning
rate keeps to a KL divergence as in N. Rudin et al., "Learning to walk in minutes", CoRL 2021.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import propwash.gym as pg
from propwash.gym.evaluation import evaluate

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError('training needs PyTorch: pip install "propwash[torch]"') from error

STATE = (*range(6), *range(12, 18))
"""Position error, velocity, the way up, body rates: what depends on no heading or last action."""
HOVER = {"tilt": math.pi / 3.0, "frame": "body"}
FAST = {"substeps": 30, "max_episode_steps": 100, "bound": 4.0}
"""In training: steps of 1/32 s, and episodes of some 3 s. It is flown at 96 Hz for 5 s."""


@dataclass(frozen=True)
class Args:
    """What PPO is run with; the defaults are those of Hover."""

    num_steps: int = 8  # of each environment in a rollout
    update_epochs: int = 4  # passes over a rollout
    minibatch_size: int = 2048
    learning_rate: float = 2e-3  # at the start, then as target_kl says
    target_kl: float = 0.02  # of an update; above twice that the learning rate falls
    gamma: float = 0.95  # discount of a step
    reward_scale: float = 1.0  # that brings a task's values to some 1, as gradients share a clip
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    vf_coef: float = 1.0
    max_grad_norm: float = 1.0
    hidden: int = 64  # width of the two layers of actor and critic
    init_std: float = 0.5  # of the actions at the start
    columns: tuple[int, ...] = STATE  # of the observation, that the agent looks at; (): all
    scale_iterations: int = 20  # that teach the observations' mean and variance; fixed afterwards
    restart_every: int = 50  # iterations, after which all episodes begin anew: see PPO.state_dict


def mlp(sizes: list[int], gain: float, generator: torch.Generator) -> nn.Sequential:
    """Linear layers with tanh between them, orthogonal at the start, the last one times gain."""
    layers = [nn.Linear(*pair) for pair in pairwise(sizes)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, gain if layer is layers[-1] else 2**0.5, generator)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.Tanh())][:-1])


class Agent(nn.Module):
    """Actor and critic on normalised observations; forward() is the policy that is flown."""

    def __init__(self, inputs: int, outputs: int, args: Args, generator: torch.Generator) -> None:
        super().__init__()
        self.observation_size, columns = inputs, args.columns or tuple(range(inputs))
        sizes = [len(columns), args.hidden, args.hidden]
        self.actor = mlp([*sizes, outputs], 0.01, generator)
        self.critic = mlp([*sizes, 1], 1.0, generator)
        self.log_std = nn.Parameter(torch.full((outputs,), math.log(args.init_std)))
        self.columns = nn.Buffer(torch.tensor(columns))
        self.mean, self.var = nn.Buffer(torch.zeros(sizes[0])), nn.Buffer(torch.ones(sizes[0]))
        self.count = nn.Buffer(torch.tensor(1e-4))

    def forward(self, observation: Tensor) -> Any:
        """The best actions (n, A) in [-1, 1], for observations (n, k) as environments give them."""
        return self.actor(self.normalise(observation)).clamp(-1.0, 1.0)

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """forward() of arrays of numpy."""
        return self(torch.from_numpy(observation)).numpy()

    def normalise(self, observation: Tensor) -> Tensor:
        """The agent's columns, with mean 0 and variance 1 over all that was seen so far."""
        x = observation.index_select(-1, self.columns)
        return ((x - self.mean) * torch.rsqrt(self.var + 1e-8)).clamp(-10.0, 10.0)

    def learn_scale(self, observation: Tensor) -> None:
        """Takes observations (m, k) into mean and variance (Chan et al., 1979)."""
        x = observation.index_select(-1, self.columns)
        size, total, apart = len(x), self.count + len(x), x.mean(0) - self.mean
        self.var.mul_(self.count).add_(x.var(0) * size + apart**2 * (self.count * size / total))
        self.var.div_(total)
        self.mean.add_(apart * (size / total))
        self.count.copy_(total)

    def log_prob(self, x: Tensor, action: Tensor) -> Tensor:
        """(…,) logarithms of the densities of actions, but for a constant."""
        scaled: Tensor = (action - self.actor(x)) * torch.exp(-self.log_std)
        return -0.5 * scaled.square().sum(-1) - self.log_std.sum()


def compute_gae(rewards: Tensor, values: Tensor, ends: list[Tensor], args: Args) -> Tensor:
    """Advantages (T, n); values (T + 1, n); ends: terminated, done and live, like rewards (T, n).

    values[t + 1] is that of what step t led to, also where the episode ended there: a time limit
    (done, not terminated) is no reason to expect nothing more. live: 0 for steps that began one.
    """
    terminated, done, live = ends
    advantages, following = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + args.gamma * values[t + 1] * (1.0 - terminated[t]) - values[t]
        discount = args.gamma * args.gae_lambda * (1.0 - done[t])
        following = advantages[t] = live[t] * (delta + discount * following)
    return advantages


class PPO:
    """Training of an agent in vector environments, whose mode of autoreset is NEXT_STEP.

    There the last step of an episode gives its final observation; the next one begins another.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: Args, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.generator = torch.Generator().manual_seed(seed)
        width = math.prod(envs.single_observation_space.shape or ())
        outputs = math.prod(envs.single_action_space.shape or ())
        self.agent = Agent(width, outputs, args, self.generator)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), eps=1e-5, fused=True)
        self.iteration, self.global_step, self.learning_rate = 0, 0, args.learning_rate
        shape = args.num_steps, envs.num_envs
        self.raw = torch.zeros(shape[0] + 1, shape[1], width)
        self.actions = torch.zeros(*shape, outputs)
        self.log_probs, self.rewards, self.terminated, self.done, self.live = torch.zeros(5, *shape)

    def state_dict(self) -> dict[str, Any]:
        """All that training goes on from, at multiples of args.restart_every iterations."""
        return {
            "agent": self.agent.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "counts": (self.iteration, self.global_step, self.learning_rate),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state_dict(), to the same bits as without a break."""
        self.agent.load_state_dict(state["agent"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.iteration, self.global_step, self.learning_rate = state["counts"]

    def iterate(self) -> dict[str, float]:
        """A rollout and an update; tells how it went."""
        if self.iteration % self.args.restart_every == 0:
            drawn = np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)
            self.raw[-1] = torch.from_numpy(self.envs.reset(seed=int(drawn[0]))[0])
            self.done[-1] = 0.0
        self.rollout()
        told = self.update()
        if self.iteration < self.args.scale_iterations:
            self.agent.learn_scale(self.raw[:-1].flatten(0, 1))
        self.iteration, self.global_step = self.iteration + 1, self.global_step + self.live.numel()
        return {"reward": float(self.rewards.sum() / self.live.sum()), **told}

    @torch.no_grad()
    def rollout(self) -> None:
        """Fills the buffers from where the last rollout ended."""
        self.raw[0], done = self.raw[-1], self.done[-1].clone()
        for t in range(self.args.num_steps):
            x, self.live[t] = self.agent.normalise(self.raw[t]), 1.0 - done
            noise = torch.randn(self.actions[t].shape, generator=self.generator)
            self.actions[t] = self.agent.actor(x) + self.agent.log_std.exp() * noise
            self.log_probs[t] = -0.5 * noise.square().sum(-1) - self.agent.log_std.sum()
            given = self.envs.step(self.actions[t].clamp(-1.0, 1.0).numpy())
            seen, self.rewards[t], self.terminated[t], truncated = map(torch.from_numpy, given[:4])
            self.raw[t + 1] = seen
            done = self.done[t] = torch.maximum(self.terminated[t], truncated)

    def update(self) -> dict[str, float]:
        """Some epochs of minibatches."""
        with torch.no_grad():
            x = self.agent.normalise(self.raw)
            values = self.agent.critic(x).squeeze(-1)
            ends = [self.terminated, self.done, self.live]
            gains = compute_gae(self.rewards * self.args.reward_scale, values, ends, self.args)
        kept = self.live.flatten().nonzero().squeeze(1)
        parts = (x[:-1], self.actions, self.log_probs, gains, gains + values[:-1])
        batch = [part.flatten(0, 1)[kept] for part in parts]
        batch[3] = (batch[3] - batch[3].mean()) / (batch[3].std() + 1e-8)
        for _ in range(self.args.update_epochs):
            order = torch.randperm(len(kept), generator=self.generator)
            for rows in torch.split(order, self.args.minibatch_size):
                told = self.learn([part[rows] for part in batch])
        return told

    def learn(self, minibatch: list[Tensor]) -> dict[str, float]:
        """A step of the optimiser."""
        args, (x, actions, log_probs, advantages, returns) = self.args, minibatch
        change = self.agent.log_prob(x, actions) - log_probs
        ratio = change.exp()
        clipped = ratio.clamp(1.0 - args.clip_coef, 1.0 + args.clip_coef)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        value_loss = (self.agent.critic(x).squeeze(-1) - returns).square().mean()
        self.optimizer.zero_grad()
        (policy_loss + args.vf_coef * value_loss).backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), args.max_grad_norm)
        self.optimizer.param_groups[0]["lr"] = self.learning_rate
        self.optimizer.step()
        kl = (ratio - 1.0 - change).mean().item()
        if kl > 2.0 * args.target_kl:
            self.learning_rate = max(1e-4, self.learning_rate / 1.5)
        elif kl < 0.5 * args.target_kl:
            self.learning_rate = min(self.learning_rate * 1.5, 2e-2 / (1.0 + self.iteration / 10))
        std = self.agent.log_std.exp().mean().item()
        return {"kl": kl, "value_loss": value_loss.item(), "std": std, "lr": self.learning_rate}


def main() -> None:
    """Learns to hover, and flies 1000 fresh episodes."""
    parser = argparse.ArgumentParser(description="learn to hover with PPO")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=float, default=5e5, help="of environments, in all")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    began = time.perf_counter()
    envs = pg.make_vec(pg.Hover, 1024, copy=False, threads=given.threads, **HOVER, **FAST)
    ppo = PPO(envs, Args(), given.seed)
    while ppo.global_step < given.steps:
        told = ppo.iterate()
        if ppo.iteration % 10 == 0:
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in told.items())
            print(f"{time.perf_counter() - began:5.1f} s {ppo.global_step:9,} steps  {numbers}")
    flown = evaluate(ppo.agent.act, pg.make_vec(pg.Hover, 1000, copy=False, **HOVER), given.seed)
    print(f"within 0.1 m for the last 2 of 5 s: {flown.settled(0.1, 2.0):.1%} of 1000 episodes")


if __name__ == "__main__":
    main()
