"""Hover learnt on a Ray cluster: workers on any nodes fly, one learner learns (PPO).

python examples/ray_train.py --workers 2 --updates 40
python examples/ray_train.py --address auto --workers 64 --out policy.pt

A worker that dies, alone or with its node, is replaced by one with other random numbers, and the
run goes on; if there is no room for it, without it. Every batch tells the number of its worker's
stream, its place in the stream and what was made before, from which `Ledger` sees that nothing is
counted twice and nothing is missing. While nobody dies or is late, equal seeds give equal policies.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import ray
import torch
from propwash.gym import Hover
from propwash.gym.torch_env import TorchVectorEnv
from torch import Tensor, nn

GAMMA, LAMBDA, CLIP, RATE = 0.98, 0.95, 0.2, 2e-3
KEPT = ("seen", "action", "chance", "advantage", "target")
TASK: dict[str, Any] = {"frame": "body", "tilt": 1.0, "substeps": 30}


class Policy(nn.Module):
    """Mean of the actions, their spread, and the value of an observation."""

    def __init__(self, seen: int, acts: int) -> None:
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(
                nn.Linear(seen, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out)
            )
            for out in (acts, 1)
        )
        nn.init.orthogonal_(self.actor[-1].weight, 0.01)
        self.log_spread = nn.Parameter(torch.full((acts,), -1.0))

    def forward(self, seen: Tensor) -> tuple[torch.distributions.Normal, Tensor]:
        """Actions (n, A) as random numbers, and values (n,)."""
        normal = torch.distributions.Normal(self.actor(seen), self.log_spread.exp())
        return normal, self.critic(seen).squeeze(-1)


@dataclass
class Batch:
    """Steps of one worker, and what they are numbered by."""

    stream: int  # no two workers have the same, nor one and its heir
    sequence: int  # within the stream, from 0
    before: int  # environment steps that the worker made before
    steps: int  # environment steps in it
    episodes: int
    reward: float  # mean of a step
    node: str  # where
    rows: dict[str, Tensor]  # seen, action, chance (its logarithm), advantage, target


class Worker:
    """Flies with the policy that it is given, and says what came of it (GAE)."""

    def __init__(self, stream: int, envs: int, length: int, seed: int) -> None:
        torch.set_num_threads(1)
        # the numbers of the environments are their random streams
        self.envs = TorchVectorEnv(Hover, envs, index=stream * envs, **TASK)
        self.seen, _ = self.envs.reset(seed=seed)
        self.noise = torch.Generator().manual_seed(seed * 1_000_003 + stream)
        self.policy = Policy(22, 4)
        self.length, self.stream, self.sequence, self.made = length, stream, 0, 0

    @torch.no_grad()
    def rollout(self, weights: dict[str, Tensor]) -> Batch:
        """The next batch of the stream."""
        self.policy.load_state_dict(weights)
        track: list[dict[str, Tensor]] = []
        for _ in range(self.length):
            normal, value = self.policy(self.seen)
            noise = torch.randn(normal.mean.shape, generator=self.noise)
            action = normal.mean + normal.stddev * noise
            row = {"seen": self.seen, "action": action, "chance": normal.log_prob(action).sum(1)}
            self.seen, reward, terminated, truncated, infos = self.envs.step(action)
            # a time limit is no end: what would have come is worth something
            after = self.policy(infos["final_obs"])[1] * ~terminated
            surprise = reward + GAMMA * after - value
            row |= {"reward": reward, "value": value, "surprise": surprise}
            track.append(row | {"going": ~(terminated | truncated)})
        rows = {name: torch.stack([row[name] for row in track]) for name in track[0]}
        advantage, later = torch.empty_like(rows["value"]), torch.zeros_like(rows["value"][0])
        for t in reversed(range(self.length)):
            later = rows["surprise"][t] + GAMMA * LAMBDA * rows["going"][t] * later
            advantage[t] = later
        rows |= {"advantage": advantage, "target": advantage + rows["value"]}
        mean, ended = rows["reward"].mean().item(), int((~rows["going"]).sum())
        rows = {name: rows[name].flatten(0, 1) for name in KEPT}
        own = self.stream, self.sequence, self.made
        node = ray.get_runtime_context().get_node_id()
        batch = Batch(*own, len(rows["seen"]), ended, mean, node, rows)
        self.sequence, self.made = self.sequence + 1, self.made + batch.steps
        return batch


class Learner:
    """PPO on batches."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.policy = Policy(22, 4)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=RATE)
        self.rows = 0  # steps that were learnt from

    def update(self, batches: list[Batch], epochs: int = 4, parts: int = 4) -> None:
        """Learns from the batches, in the order of their streams, whoever was first."""
        batches = sorted(batches, key=lambda batch: (batch.stream, batch.sequence))
        rows = {name: torch.cat([b.rows[name] for b in batches]) for name in batches[0].rows}
        worth = rows["advantage"]
        self.rows += len(worth)
        rows["advantage"] = (worth - worth.mean()) / (worth.std() + 1e-8)
        for part in (p for _ in range(epochs) for p in torch.randperm(len(worth)).chunk(parts)):
            some = {name: values[part] for name, values in rows.items()}
            normal, value = self.policy(some["seen"])
            ratio = (normal.log_prob(some["action"]).sum(1) - some["chance"]).exp()
            near = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.min(ratio * some["advantage"], near * some["advantage"])
            loss = 0.5 * (value - some["target"]).square().mean() - gain.mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
            self.optimizer.step()


@dataclass
class Ledger:
    """What was learnt from, to the step."""

    batches: int = 0
    steps: int = 0
    episodes: int = 0
    lost: int = 0  # workers that died
    streams: dict[int, list[int]] = field(default_factory=dict)  # batches and steps of each

    def take(self, batch: Batch) -> bool:
        """Counts a batch; False for one that is counted already. Raises for one out of order."""
        count = self.streams.setdefault(batch.stream, [0, 0])
        if batch.sequence < count[0]:
            return False
        if [batch.sequence, batch.before] != count:
            raise RuntimeError(
                f"stream {batch.stream}: expected batch {count[0]} after {count[1]} steps, got "
                f"{batch.sequence} after {batch.before}"
            )
        count[:] = count[0] + 1, count[1] + batch.steps
        self.batches, self.steps = self.batches + 1, self.steps + batch.steps
        self.episodes += batch.episodes
        return True


class Crew:
    """The workers; `begin(stream)` makes one.

    grace: s for which a round waits for the last; who is late is not waited for again until it is
    back. patience: s without any batch after which a round fails.
    """

    def __init__(self, size: int, begin: Any, grace: float, patience: float = 300.0) -> None:
        self.patience, self.grace = patience, grace
        self.heirs = (begin(stream) for stream in itertools.count())
        self.idle = [next(self.heirs) for _ in range(size)]
        self.busy: dict[Any, Any] = {}
        self.late: set[Any] = set()
        self.ledger, self.in_a_row, self.most_in_a_row = Ledger(), 0, 3 * size + 10

    def round(self, weights: Any) -> list[Batch]:
        """A batch of every worker that is in time."""
        batches: list[Batch] = []
        until = time.monotonic() + self.patience
        self.busy |= {worker.rollout.remote(weights): worker for worker in self.idle}
        self.idle = []
        while not batches or self.busy.keys() - self.late:
            ready, _ = ray.wait(list(self.busy), timeout=max(0.0, until - time.monotonic()))
            if not ready and not batches:
                raise TimeoutError(f"no batch for {self.patience:g} s of {len(self.busy)} workers")
            if not ready:
                self.late |= self.busy.keys()
            elif (batch := self.taken(ready[0], weights)) and self.ledger.take(batch):
                batches.append(batch)
                until = time.monotonic() + self.grace
        return batches

    def taken(self, ref: Any, weights: Any) -> Batch | None:
        """The batch; None where its worker is lost, and replaced."""
        worker = self.busy.pop(ref)
        self.late.discard(ref)
        try:
            batch: Batch = ray.get(ref)
        except ray.exceptions.RayTaskError:
            raise  # a mistake in the program, which an heir would repeat
        except ray.exceptions.RayError:
            self.ledger.lost, self.in_a_row = self.ledger.lost + 1, self.in_a_row + 1
            if self.in_a_row > self.most_in_a_row:
                raise  # they die as they begin
            ray.kill(worker)
            heir = next(self.heirs)
            self.busy[heir.rollout.remote(weights)] = heir
            return None
        self.idle.append(worker)
        self.in_a_row = 0
        return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--address", help="of a cluster that runs; none: one of this machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--envs", type=int, default=256, help="of each worker")
    parser.add_argument("--length", type=int, default=32, help="steps of a batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grace", type=float, default=30.0, help="s for the last worker")
    parser.add_argument("--out", help="file for the policy")
    given = parser.parse_args()
    if min(given.workers, given.updates, given.envs, given.length) < 1 or given.seed < 0:
        parser.error("expected whole numbers from 1 on, and a seed from 0 on")
    ray.init(address=given.address, include_dashboard=None if given.address else False)
    kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
    kind = kind.options(scheduling_strategy="SPREAD")
    own = given.envs, given.length, given.seed
    crew = Crew(given.workers, lambda n: kind.remote(n, *own), given.grace)
    learner, ledger, began = Learner(given.seed), crew.ledger, time.monotonic()
    for update in range(1, given.updates + 1):
        batches = crew.round(ray.put(learner.policy.state_dict()))
        learner.update(batches)
        speed = ledger.steps / (time.monotonic() - began)
        reward = sum(batch.reward for batch in batches) / len(batches)
        told = f"{ledger.steps} steps, {speed:.0f} a second, reward {reward:.3f}, "
        told += f"{len(batches)} workers on {len({b.node for b in batches})} nodes"
        print(f"update {update}/{given.updates}: {told}, {ledger.lost} lost", flush=True)
    if given.out:
        torch.save(learner.policy.state_dict(), given.out)
    print(json.dumps({"learnt": learner.rows, **asdict(ledger)}))
    ray.shutdown()


if __name__ == "__main__":
    main()
