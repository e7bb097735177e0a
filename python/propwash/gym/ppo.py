"""Proximal policy optimisation (PPO) in one file of PyTorch; learns to hover in seconds.

    python -m propwash.gym.ppo --seed 1

`python -m propwash train` is the same code with checkpoints, logs and plots (docs/train.md).
J. Schulman et al., "Proximal policy optimization algorithms", 2017, with the advantages of
"High-dimensional continuous control using generalized advantage estimation", 2016, and a learning
rate adapted to the KL divergence as in N. Rudin et al., "Learning to walk in minutes", CoRL 2021.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium.spaces.utils import flatdim

import propwash.gym as pg
from propwash.gym._observations import flat
from propwash.gym.evaluation import evaluate

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError('training needs PyTorch: pip install "propwash[torch]"') from error

from propwash.gym._convolution import Convolutions, ImageColumns, image_columns

STATE = (*range(6), *range(12, 18))
"""Position error, velocity, world z in the body frame, body rates: no heading, no last action."""
HOVER = {"tilt": math.pi / 3.0, "frame": "body"}
FAST = {"substeps": 30, "max_episode_steps": 100, "bound": 4.0}
"""Training: steps of 1/32 s and episodes of about 3 s. Evaluation: 96 Hz and 5 s."""


@dataclass(frozen=True)
class Args:
    """Hyperparameters of PPO; the defaults are for Hover."""

    num_steps: int = 8  # steps of each environment in a rollout
    update_epochs: int = 4  # passes over a rollout
    minibatch_size: int = 2048
    learning_rate: float = 2e-3  # initial value, then adapted to target_kl
    decay_steps: int = 0  # environment steps until the learning rate is a fiftieth; 0: no decay
    target_kl: float = 0.02  # KL divergence of an update; above twice this the learning rate falls
    gamma: float = 0.95  # discount factor per step
    reward_scale: float = 1.0  # scales values to about 1, as actor and critic share max_grad_norm
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    vf_coef: float = 1.0
    max_grad_norm: float = 1.0
    hidden: int = 64  # width of the two layers of actor and critic
    memory: int = 0  # units of a GRU before actor and critic (recurrent.py); 0: none
    convolution: tuple[int, ...] = ()  # channels of convolutions of the image, 3 x 3, stride 2
    frames: int = 1  # observations that actor and critic see: the last ones of the episode
    init_std: float = 0.5  # initial standard deviation of the actions
    columns: tuple[int, ...] = STATE  # observation columns that the agent uses; (): all
    scale_iterations: int = 20  # iterations that update the observations' mean and variance
    average: int = 1  # iterations over which the weights of `PPO.policy` are averaged; 1: none
    restart_every: int = 50  # iterations between restarts of all episodes, see PPO.state_dict


def mlp(sizes: list[int], gain: float, generator: torch.Generator) -> nn.Sequential:
    """Orthogonally initialised linear layers with tanh between them; gain scales the last layer."""
    layers = [nn.Linear(*pair) for pair in pairwise(sizes)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, gain if layer is layers[-1] else 2**0.5, generator)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.Tanh())][:-1])


class Agent(nn.Module):
    """Actor and critic on normalised observations; forward() is the deterministic policy."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        args: Args,
        generator: torch.Generator,
        privileged: int = 0,
        image: ImageColumns | None = None,
    ) -> None:
        """Makes the networks.

        privileged: Number of columns after the `inputs` columns, which only the critic uses.
        image: Columns of args.convolution; it requires all columns.
        """
        super().__init__()
        own = args.columns or tuple(range(inputs))
        self.observation_size, self.own, width = inputs, len(own), len(own) + privileged
        self.encoder: nn.Module = nn.Identity()
        self.seen, valued, before = self.own, width, list[Convolutions]()
        if image is not None:
            if args.columns:
                raise ValueError(f"columns: expected [] with convolution, got {args.columns}")
            encoders = [
                Convolutions(image, columns, args.convolution, generator)
                for columns in (self.own, width)
            ]
            self.encoder, before = encoders[0], encoders[1:]
            self.seen, valued = (each.size for each in encoders)
        hidden = [args.hidden, args.hidden]
        self.actor = mlp([self.seen, *hidden, outputs], 0.01, generator)
        self.critic = nn.Sequential(*before, *mlp([valued, *hidden, 1], 1.0, generator))
        self.log_std = nn.Parameter(torch.full((outputs,), math.log(args.init_std)))
        self.columns = nn.Buffer(torch.tensor([*own, *range(inputs, inputs + privileged)]))
        self.mean, self.var = nn.Buffer(torch.zeros(width)), nn.Buffer(torch.ones(width))
        self.count = nn.Buffer(torch.tensor(1e-4))

    def forward(self, observation: Tensor) -> Any:
        """Returns mean actions (n, A), clipped to [-1, 1], for observations (n, k)."""
        return self.mean_action(self.normalise(observation, self.own)).clamp(-1.0, 1.0)

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """Returns forward() for observations of environments, an array or a dict of arrays."""
        return self(torch.from_numpy(flat(observation))).numpy()

    def mean_action(self, x: Tensor) -> Tensor:
        """Returns mean actions for normalised columns, without the privileged ones."""
        return self.actor(self.encoder(x[..., : self.own]))  # type: ignore[no-any-return]

    def normalise(self, observation: Tensor, count: int | None = None) -> Tensor:
        """Selects the agent's columns, the first `count`; scales to mean 0 and variance 1."""
        x = observation.index_select(-1, self.columns[:count])
        scale = torch.rsqrt(self.var[:count] + 1e-8)
        return ((x - self.mean[:count]) * scale).clamp(-10.0, 10.0)

    def learn_scale(self, observation: Tensor) -> None:
        """Updates mean and variance with observations (m, k) (Chan et al., 1979)."""
        x = observation.index_select(-1, self.columns)
        size, total, shift = len(x), self.count + len(x), x.mean(0) - self.mean
        self.var.mul_(self.count).add_(x.var(0) * size + shift**2 * (self.count * size / total))
        self.var.div_(total)
        self.mean.add_(shift * (size / total))
        self.count.copy_(total)

    def log_prob(self, x: Tensor, action: Tensor) -> Tensor:
        """Returns log densities (…,) of actions, up to a constant."""
        scaled: Tensor = (action - self.mean_action(x)) * torch.exp(-self.log_std)
        return -0.5 * scaled.square().sum(-1) - self.log_std.sum()


def compute_gae(rewards: Tensor, values: Tensor, ends: list[Tensor], args: Args) -> Tensor:
    """Returns advantages (T, n) from rewards (T, n), values (T + 1, n) and `ends`.

    ends: terminated, done and live, (T, n) each; live is 0 for steps that began an episode.
    values[t + 1] is for the observation after step t, also at a time limit (done, not terminated).
    """
    terminated, done, live = ends
    advantages, advantage = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + args.gamma * values[t + 1] * (1.0 - terminated[t]) - values[t]
        discount = args.gamma * args.gae_lambda * (1.0 - done[t])
        advantage = advantages[t] = live[t] * (delta + discount * advantage)
    return advantages


class PPO:
    """Trains an agent in vector environments with autoreset mode NEXT_STEP.

    An episode's last step returns its final observation; the step after it resets. Observations of
    several parts are flattened. The critic also uses `privileged` ones. `policy` is the agent with
    weights that are moving averages over args.average iterations.
    """

    def __init__(self, envs: pg.FleetVectorEnv, args: Args, seed: int) -> None:
        self.envs, self.args, self.seed = envs, args, seed
        self.generator = torch.Generator().manual_seed(seed)
        width = flatdim(envs.single_observation_space)
        privileged = sum(each.stop - each.start for each in envs.privileged_columns.values())
        outputs = math.prod(envs.single_action_space.shape or ())
        image = image_columns(envs) if args.convolution else None
        self.train(Agent(width - privileged, outputs, args, self.generator, privileged, image))
        self.iteration, self.global_step, self.learning_rate = 0, 0, args.learning_rate
        shape = args.num_steps, envs.num_envs
        self.raw = torch.zeros(shape[0] + 1, shape[1], width)
        self.actions = torch.zeros(*shape, outputs)
        self.log_probs, self.rewards, self.terminated, self.done, self.live = torch.zeros(5, *shape)

    def train(self, agent: Agent) -> None:
        """Selects the agent to train."""
        self.agent = agent
        self.optimizer = torch.optim.Adam(agent.parameters(), eps=1e-5, fused=True)
        self.policy = copy.deepcopy(agent) if self.args.average > 1 else agent

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, at a multiple of args.restart_every."""
        return {
            "agent": self.agent.state_dict(),
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "counts": (self.iteration, self.global_step, self.learning_rate),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); training continues bit-identically to an uninterrupted one."""
        self.agent.load_state_dict(state["agent"])
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.iteration, self.global_step, self.learning_rate = state["counts"]

    def iterate(self) -> dict[str, float]:
        """Runs a rollout and an update; returns statistics by name."""
        if self.iteration % self.args.restart_every == 0:
            self.restart()
        self.rollout()
        statistics = self.update()
        if self.iteration < self.args.scale_iterations:
            self.agent.learn_scale(self.raw[:-1].flatten(0, 1))
        if self.policy is not self.agent:
            weights = self.agent.state_dict()
            for name, mean in self.policy.state_dict().items():
                if mean.is_floating_point():
                    mean.lerp_(weights[name], 1.0 / self.args.average)
        self.iteration, self.global_step = self.iteration + 1, self.global_step + self.live.numel()
        return {"reward": float(self.rewards.sum() / self.live.sum()), **statistics}

    def restart(self) -> None:
        """Begins new episodes in all environments, with random streams of the iteration."""
        seed = int(np.random.SeedSequence([self.seed, self.iteration]).generate_state(1)[0])
        self.raw[-1], self.done[-1] = torch.from_numpy(flat(self.envs.reset(seed=seed)[0])), 0.0

    @torch.no_grad()
    def rollout(self) -> None:
        """Fills the buffers, continuing where the last rollout ended."""
        self.raw[0] = self.raw[-1]
        for t in range(self.args.num_steps):
            self.advance(t, self.agent.normalise(self.raw[t]))

    def advance(self, t: int, x: Tensor) -> None:
        """Makes step t of the rollout, with random actions for the inputs x of the actor."""
        self.live[t] = 1.0 - self.done[t - 1]
        noise = torch.randn(self.actions[t].shape, generator=self.generator)
        self.actions[t] = self.agent.mean_action(x) + self.agent.log_std.exp() * noise
        self.log_probs[t] = -0.5 * noise.square().sum(-1) - self.agent.log_std.sum()
        result = self.envs.step(self.actions[t].clamp(-1.0, 1.0).numpy())
        self.raw[t + 1] = torch.from_numpy(flat(result[0]))
        self.rewards[t], self.terminated[t], truncated = map(torch.from_numpy, result[1:4])
        self.done[t] = torch.maximum(self.terminated[t], truncated)

    def update(self) -> dict[str, float]:
        """Trains on the rollout for args.update_epochs passes; returns the last statistics."""
        with torch.no_grad():
            x = self.agent.normalise(self.raw)
            values = self.agent.critic(x).squeeze(-1)
            ends = [self.terminated, self.done, self.live]
            advantages = compute_gae(self.rewards * self.args.reward_scale, values, ends, self.args)
        live, size = self.live.flatten().nonzero().squeeze(1), self.args.minibatch_size
        parts = (x[:-1], self.actions, self.log_probs, advantages, advantages + values[:-1])
        batch = [part.flatten(0, 1)[live] for part in parts]
        batch[3] = (batch[3] - batch[3].mean()) / (batch[3].std() + 1e-8)
        for _ in range(self.args.update_epochs):
            for rows in torch.split(torch.randperm(len(live), generator=self.generator), size):
                statistics = self.learn([part[rows] for part in batch])
        return statistics

    def learn(self, minibatch: list[Tensor]) -> dict[str, float]:
        """Makes one optimiser step; returns statistics by name."""
        args, (x, actions, log_probs, advantages, returns) = self.args, minibatch
        log_ratio = self.agent.log_prob(x, actions) - log_probs
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1.0 - args.clip_coef, 1.0 + args.clip_coef)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        value_loss = (self.agent.critic(x).squeeze(-1) - returns).square().mean()
        self.optimizer.zero_grad()
        (policy_loss + args.vf_coef * value_loss).backward()
        norm = nn.utils.clip_grad_norm_(self.agent.parameters(), args.max_grad_norm)
        if not norm.isfinite():
            raise FloatingPointError(f"iteration {self.iteration}: expected finite gradients")
        passed = self.global_step / args.decay_steps if args.decay_steps else 0.0
        rate = self.optimizer.param_groups[0]["lr"] = self.learning_rate * max(0.02, 1.0 - passed)
        self.optimizer.step()
        kl = (ratio - 1.0 - log_ratio).mean().item()
        if kl > 2.0 * args.target_kl:
            self.learning_rate = max(1e-4, self.learning_rate / 1.5)
        elif kl < 0.5 * args.target_kl:
            self.learning_rate = min(self.learning_rate * 1.5, 2e-2 / (1.0 + self.iteration / 10))
        std = self.agent.log_std.exp().mean().item()
        return {"kl": kl, "value_loss": value_loss.item(), "std": std, "lr": rate}


def main() -> None:
    """Learns to hover, and evaluates the policy in 1000 new episodes."""
    parser = argparse.ArgumentParser(description="learn to hover with PPO")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=float, default=5e5, help="total environment steps")
    options, start = parser.parse_args(), time.perf_counter()
    torch.set_num_threads(1)
    ppo = PPO(pg.make_vec(pg.Hover, 1024, copy=False, **HOVER, **FAST), Args(), options.seed)
    while ppo.global_step < options.steps:
        statistics = ppo.iterate()
        if ppo.iteration % 10 == 0:
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in statistics.items())
            print(f"{time.perf_counter() - start:5.1f} s {ppo.global_step:9,} steps  {numbers}")
    result = evaluate(ppo.agent.act, pg.make_vec(pg.Hover, 1000, copy=False, **HOVER), options.seed)
    print(f"within 0.1 m for the last 2 of 5 s: {result.settled(0.1, 2.0):.1%} of 1000 episodes")


if __name__ == "__main__":
    main()
