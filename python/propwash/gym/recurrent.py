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
from propwash.gym._convolution import ImageColumns, image_columns
from propwash.gym._observations import flat
from propwash.gym.ppo import PPO, Agent, Args, compute_gae, mlp

__all__ = ["FrameAgent", "GruAgent", "MemoryAgent", "MemoryPPO", "trainer"]


class MemoryAgent(Agent):
    """Base class of agents whose actor and critic observe a memory too.

    The actor has `actor_width` inputs; the memory has `memory_size` numbers.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        args: Args,
        generator: torch.Generator,
        privileged: int = 0,
        image: ImageColumns | None = None,
    ) -> None:
        super().__init__(inputs, outputs, args, generator, privileged, image)
        hidden = [args.hidden, args.hidden]
        self.actor_width = self.prepare(args, generator)
        self.actor = mlp([self.actor_width, *hidden, outputs], 0.01, generator)
        self.critic = mlp([self.actor_width + privileged, *hidden, 1], 1.0, generator)
        self._memory: Tensor | None = None

    def prepare(self, args: Args, generator: torch.Generator) -> int:
        """Makes the parts that remember; returns the number of inputs of the actor."""
        raise NotImplementedError

    @property
    def memory_size(self) -> int:
        """Numbers of the memory."""
        raise NotImplementedError

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the inputs of the actor, followed by privileged columns, and the next memory.

        x: Normalised observations, privileged columns last. memory: (n, memory_size).
        """
        raise NotImplementedError

    def see_all(self, x: Tensor, memory: Tensor, goes_on: Tensor) -> Tensor:
        """Returns the inputs (T, n, …) of actor and critic for a sequence x (T, n, …).

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
        seen, memory = self.see(self.normalise(observation, self.own), memory)
        return self.actor(seen).clamp(-1.0, 1.0), memory

    def mean_action(self, x: Tensor) -> Tensor:
        """Returns mean actions for inputs of actor and critic from see()."""
        return self.actor(x[..., : self.actor_width])  # type: ignore[no-any-return]

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """Returns the actions of forward() for NumPy arrays; stores the memory until reset()."""
        action, self._memory = self(torch.from_numpy(flat(observation)), self._memory)
        return action.numpy()

    def reset(self) -> None:
        """Clears the memory of act(), before new episodes."""
        self._memory = None


class GruAgent(MemoryAgent):
    """Actor and critic observe the normalised observation and the state of a GRU.

    An image passes the convolutions of args.convolution first, if there are any.
    """

    def prepare(self, args: Args, generator: torch.Generator) -> int:
        """Makes the GRU."""
        self.gru = nn.GRUCell(self.seen, args.memory)
        for name, values in self.gru.named_parameters():
            for gate in values.detach().chunk(3):
                if name.startswith("weight"):
                    nn.init.orthogonal_(gate, generator=generator)
                else:
                    nn.init.zeros_(gate)
        return self.seen + args.memory

    @property
    def memory_size(self) -> int:
        """Units of the GRU."""
        return self.gru.hidden_size

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Advances the GRU."""
        own, privileged = x.tensor_split([self.own], -1)
        seen = self.encoder(own)
        memory = self.gru(seen, memory)
        return torch.cat([seen, memory, privileged], -1), memory


class FrameAgent(MemoryAgent):
    """Actor and critic observe the last normalised observations, the newest first.

    The first observation of an episode fills those before it.
    """

    def prepare(self, args: Args, generator: torch.Generator) -> int:
        """Stores the number of observations."""
        self.frames = args.frames
        return self.own * args.frames

    @property
    def memory_size(self) -> int:
        """The earlier observations, and 1 during an episode."""
        return self.own * (self.frames - 1) + 1

    def see(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Shifts the observations by one."""
        own, privileged = x.tensor_split([self.own], -1)
        stored, going = memory.tensor_split([-1], -1)
        earlier = torch.where(going > 0.0, stored, own.repeat(1, self.frames - 1))
        seen = torch.cat([own, earlier], -1)
        memory = torch.cat([seen[:, : stored.shape[1]], torch.ones_like(going)], -1)
        return torch.cat([seen, privileged], -1), memory


class MemoryPPO(PPO):
    """PPO whose minibatches are the rollouts of some environments.

    Gradients reach back to the start of a rollout; the memory continues from the one before.
    """

    agent: MemoryAgent

    def __init__(self, envs: pg.FleetVectorEnv, args: Args, seed: int) -> None:
        super().__init__(envs, args, seed)
        kind = GruAgent if args.memory else FrameAgent
        inputs, outputs = self.agent.observation_size, self.actions.shape[-1]
        privileged = self.raw.shape[-1] - inputs
        image = image_columns(envs) if args.convolution else None
        self.train(kind(inputs, outputs, args, self.generator, privileged, image))
        self.memory = self.first_memory = torch.zeros(envs.num_envs, self.agent.memory_size)
        self.goes_on = torch.zeros(args.num_steps + 1, envs.num_envs)

    def restart(self) -> None:
        """Begins new episodes in all environments, without memory."""
        super().restart()
        self.live[-1] = 0.0

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


def trainer(args: Args) -> type[PPO]:
    """Returns the class that trains with the settings: with memory or without.

    Raises ValueError for both kinds of memory, and for frames of images with convolutions.
    """
    if args.convolution and args.frames > 1:
        raise ValueError(
            f"frames = {args.frames}: expected 1 with convolution; set memory instead of frames"
        )
    if args.memory and args.frames > 1:
        raise ValueError(
            f"memory = {args.memory}, frames = {args.frames}: expected one of them; set memory=0 "
            "or frames=1"
        )
    return MemoryPPO if args.memory or args.frames > 1 else PPO
