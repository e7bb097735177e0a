"""PPO for policies with memory: a gated recurrent unit (GRU), or the last observations.

The memory of a vehicle is a row of numbers, all zero where an episode begins. The GRU is that of
K. Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine
translation", 2014, as in torch.nn.GRUCell.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import propwash.gym as pg
from propwash.gym.ppo import PPO, Agent, Args, compute_gae, mlp

__all__ = ["FrameAgent", "GruAgent", "MemoryAgent", "MemoryPPO", "make_trainer"]


class MemoryAgent(Agent):
    """Base class of agents whose actor and critic observe a memory too.

    The networks have `width` inputs; the memory has `memory_size` numbers.
    """

    def __init__(
        self, inputs: int, outputs: int, args: Args, generator: torch.Generator, width: int
    ) -> None:
        super().__init__(inputs, outputs, args, generator)
        sizes = [width, args.hidden, args.hidden]
        self.actor = mlp([*sizes, outputs], 0.01, generator)
        self.critic = mlp([*sizes, 1], 1.0, generator)
        self._memory: Tensor | None = None

    @property
    def memory_size(self) -> int:
        """Numbers of the memory."""
        raise NotImplementedError

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the inputs (n, width) of actor and critic, and the next memory.

        x: (n, c) normalised observations. memory: (n, memory_size).
        """
        raise NotImplementedError

    def see_all(self, x: Tensor, memory: Tensor, goes_on: Tensor) -> Tensor:
        """Returns the inputs (T, n, width) of actor and critic for a sequence x (T, n, c).

        memory: That before x[0]. goes_on: (T, n), 0 where x begins an episode.
        """
        seen = []
        for each, going in zip(x, goes_on.unsqueeze(-1), strict=True):
            inputs, memory = self.see(each, memory * going)
            seen.append(inputs)
        return torch.stack(seen)

    def forward(self, observation: Tensor, memory: Tensor | None = None) -> Any:
        """Returns mean actions (n, A) in [-1, 1] and the next memory, for observations (n, k).

        memory: (n, memory_size); None where all episodes begin.
        """
        if memory is None:
            memory = torch.zeros(len(observation), self.memory_size)
        seen, memory = self.see(self.normalise(observation), memory)
        return self.actor(seen).clamp(-1.0, 1.0), memory

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """Returns the actions of forward() for NumPy arrays; stores the memory until reset()."""
        action, self._memory = self(torch.from_numpy(observation), self._memory)
        return action.numpy()

    def reset(self) -> None:
        """Clears the memory of act(), before new episodes."""
        self._memory = None


class GruAgent(MemoryAgent):
    """Actor and critic observe the normalised observation and the state of a GRU."""

    def __init__(self, inputs: int, outputs: int, args: Args, generator: torch.Generator) -> None:
        columns = len(args.columns) or inputs
        super().__init__(inputs, outputs, args, generator, columns + args.memory)
        self.gru = nn.GRUCell(columns, args.memory)
        for name, values in self.gru.named_parameters():
            for gate in values.detach().chunk(3):
                if name.startswith("weight"):
                    nn.init.orthogonal_(gate, generator=generator)
                else:
                    nn.init.zeros_(gate)

    @property
    def memory_size(self) -> int:
        """Units of the GRU."""
        return self.gru.hidden_size

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Advances the GRU."""
        memory = self.gru(x, memory)
        return torch.cat([x, memory], -1), memory


class FrameAgent(MemoryAgent):
    """Actor and critic observe the last normalised observations, the newest first.

    The first observation of an episode fills those before it.
    """

    def __init__(self, inputs: int, outputs: int, args: Args, generator: torch.Generator) -> None:
        columns = len(args.columns) or inputs
        super().__init__(inputs, outputs, args, generator, columns * args.frames)
        self.frames = args.frames

    @property
    def memory_size(self) -> int:
        """The earlier observations, and 1 during an episode."""
        return len(self.columns) * (self.frames - 1) + 1

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Shifts the observations by one."""
        going = memory[:, -1:]
        earlier = torch.where(going > 0.0, memory[:, :-1], x.repeat(1, self.frames - 1))
        seen = torch.cat([x, earlier], -1)
        return seen, torch.cat([seen[:, : earlier.shape[1]], torch.ones_like(going)], -1)


class MemoryPPO(PPO):
    """PPO whose minibatches are the rollouts of some environments.

    Gradients reach back to the start of a rollout; the memory continues from the one before.
    """

    agent: MemoryAgent

    def __init__(self, envs: pg.FleetVectorEnv, args: Args, seed: int) -> None:
        super().__init__(envs, args, seed)
        kind = GruAgent if args.memory else FrameAgent
        width, outputs = self.raw.shape[-1], self.actions.shape[-1]
        self.agent = kind(width, outputs, args, self.generator)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), eps=1e-5, fused=True)
        self.memory = self.first_memory = torch.zeros(envs.num_envs, self.agent.memory_size)
        self.goes_on = torch.zeros(args.num_steps + 1, envs.num_envs)

    def iterate(self) -> dict[str, float]:
        """Runs a rollout and an update; returns statistics by name."""
        if self.iteration % self.args.restart_every == 0:
            self.live[-1] = 0.0  # all episodes begin
        return super().iterate()

    @torch.no_grad()
    def rollout(self) -> None:
        """Fills the buffers, continuing where the last rollout ended."""
        self.goes_on[0], self.first_memory = self.live[-1], self.memory
        self.raw[0] = self.raw[-1]
        for t in range(self.args.num_steps):
            memory = self.memory * self.goes_on[t, :, None]
            seen, self.memory = self.agent.see(self.agent.normalise(self.raw[t]), memory)
            self.advance(t, seen)
            self.goes_on[t + 1] = self.live[t]

    def update(self) -> dict[str, float]:
        """Trains on the rollout for args.update_epochs passes; returns the last statistics."""
        args, live = self.args, self.live > 0.0
        with torch.no_grad():
            x = self.agent.normalise(self.raw)
            seen = self.agent.see_all(x, self.first_memory, self.goes_on)
            values = self.agent.critic(seen).squeeze(-1)
            ends = [self.terminated, self.done, self.live]
            advantages = compute_gae(self.rewards * args.reward_scale, values, ends, args)
        returns = advantages + values[:-1]
        advantages = (advantages - advantages[live].mean()) / (advantages[live].std() + 1e-8)
        parts = self.actions, self.log_probs, advantages, returns
        size = max(1, args.minibatch_size // args.num_steps)
        for _ in range(args.update_epochs):
            order = torch.randperm(live.shape[1], generator=self.generator)
            for rows in torch.split(order, size):
                sequence = x[:-1, rows], self.first_memory[rows], self.goes_on[:-1, rows]
                batch = [self.agent.see_all(*sequence), *(part[:, rows] for part in parts)]
                statistics = self.learn([part[live[:, rows]] for part in batch])
        return statistics


def make_trainer(envs: pg.FleetVectorEnv, args: Args, seed: int) -> PPO:
    """Returns PPO for the settings, with memory or without.

    Raises ValueError for both kinds of memory.
    """
    if args.memory and args.frames > 1:
        raise ValueError(
            f"memory = {args.memory}, frames = {args.frames}: expected one of them; set memory=0 "
            "or frames=1"
        )
    return (MemoryPPO if args.memory or args.frames > 1 else PPO)(envs, args, seed)
