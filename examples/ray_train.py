"""Learns to hover on a Ray cluster with PPO: workers on any nodes simulate, one learner updates.

python examples/ray_train.py --workers 2 --updates 40
python examples/ray_train.py --address auto --workers 64 --out policy.pt

If a worker fails, alone or with its node, a worker with another random stream replaces it; without
resources for one, the run continues with fewer. Every batch has the number of its worker's stream,
its sequence number and the steps before it, so that `Ledger` detects duplicate and missing batches.
Without failures and delays, equal seeds give equal policies.
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
TRAINED = ("observation", "action", "log_prob", "advantage", "target")
TASK: dict[str, Any] = {"frame": "body", "tilt": 1.0, "substeps": 30}


class Policy(nn.Module):
    """Actor (mean and deviation of the actions) and critic (value of an observation)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(
                nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out)
            )
            for out in (outputs, 1)
        )
        nn.init.orthogonal_(self.actor[-1].weight, 0.01)
        self.log_spread = nn.Parameter(torch.full((outputs,), -1.0))

    def forward(self, inputs: Tensor) -> tuple[torch.distributions.Normal, Tensor]:
        """The distribution of the actions (n, A), and values (n,)."""
        normal = torch.distributions.Normal(self.actor(inputs), self.log_spread.exp())
        return normal, self.critic(inputs).squeeze(-1)


@dataclass
class Batch:
    """Steps of one worker."""

    stream: int  # unique to a worker; its replacement has another
    sequence: int  # within the stream, from 0
    before: int  # environment steps in earlier batches of the stream
    steps: int  # environment steps in it
    episodes: int
    reward: float  # mean per step
    node: str  # id of the worker's node
    rows: dict[str, Tensor]  # observation, action, log_prob, advantage, target


class Worker:
    """Simulates rollouts of a policy and computes advantages (GAE)."""

    def __init__(self, stream: int, envs: int, length: int, seed: int) -> None:
        torch.set_num_threads(1)
        # the index of an environment selects its random stream
        self.envs = TorchVectorEnv(Hover, envs, index=stream * envs, **TASK)
        self.observation, _ = self.envs.reset(seed=seed)
        self.noise = torch.Generator().manual_seed(seed * 1_000_003 + stream)
        self.policy = Policy(22, 4)
        self.length, self.stream, self.sequence, self.made = length, stream, 0, 0

    @torch.no_grad()
    def rollout(self, weights: dict[str, Tensor]) -> Batch:
        """The next batch of the stream."""
        self.policy.load_state_dict(weights)
        track: list[dict[str, Tensor]] = []
        for _ in range(self.length):
            normal, value = self.policy(self.observation)
            noise = torch.randn(normal.mean.shape, generator=self.noise)
            action = normal.mean + normal.stddev * noise
            row = {
                "observation": self.observation,
                "action": action,
                "log_prob": normal.log_prob(action).sum(1),
            }
            self.observation, reward, terminated, truncated, infos = self.envs.step(action)
            # a time limit truncates the episode, so the value of the final observation counts
            after = self.policy(infos["final_obs"])[1] * ~terminated
            td_error = reward + GAMMA * after - value
            row |= {"reward": reward, "value": value, "td_error": td_error}
            track.append(row | {"going": ~(terminated | truncated)})
        rows = {name: torch.stack([row[name] for row in track]) for name in track[0]}
        advantage, later = torch.empty_like(rows["value"]), torch.zeros_like(rows["value"][0])
        for t in reversed(range(self.length)):
            later = rows["td_error"][t] + GAMMA * LAMBDA * rows["going"][t] * later
            advantage[t] = later
        rows |= {"advantage": advantage, "target": advantage + rows["value"]}
        mean, ended = rows["reward"].mean().item(), int((~rows["going"]).sum())
        rows = {name: rows[name].flatten(0, 1) for name in TRAINED}
        identity = self.stream, self.sequence, self.made
        node = ray.get_runtime_context().get_node_id()
        batch = Batch(*identity, len(rows["observation"]), ended, mean, node, rows)
        self.sequence, self.made = self.sequence + 1, self.made + batch.steps
        return batch


class Learner:
    """PPO updates from batches."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.policy = Policy(22, 4)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=RATE)
        self.rows = 0  # steps used for updates

    def update(self, batches: list[Batch], epochs: int = 4, parts: int = 4) -> None:
        """Updates the policy from the batches, in the order of their streams."""
        batches = sorted(batches, key=lambda batch: (batch.stream, batch.sequence))
        rows = {name: torch.cat([b.rows[name] for b in batches]) for name in batches[0].rows}
        advantage = rows["advantage"]
        self.rows += len(advantage)
        rows["advantage"] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for part in (p for _ in range(epochs) for p in torch.randperm(len(advantage)).chunk(parts)):
            some = {name: values[part] for name, values in rows.items()}
            normal, value = self.policy(some["observation"])
            ratio = (normal.log_prob(some["action"]).sum(1) - some["log_prob"]).exp()
            near = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.min(ratio * some["advantage"], near * some["advantage"])
            loss = 0.5 * (value - some["target"]).square().mean() - gain.mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
            self.optimizer.step()


@dataclass
class Ledger:
    """Counts of the batches used."""

    batches: int = 0
    steps: int = 0
    episodes: int = 0
    lost: int = 0  # failed workers
    streams: dict[int, list[int]] = field(default_factory=dict)  # batches and steps of each

    def take(self, batch: Batch) -> bool:
        """Counts a batch; returns False for a duplicate. Raises RuntimeError for a gap."""
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


class Workers:
    """The workers; `create(stream)` makes one.

    grace: s for which a round waits for another batch; delayed workers are not waited for until
    they return. patience: s without any batch after which a round fails.
    """

    def __init__(self, size: int, create: Any, grace: float, patience: float = 300.0) -> None:
        self.patience, self.grace = patience, grace
        self.new_workers = (create(stream) for stream in itertools.count())
        self.idle = [next(self.new_workers) for _ in range(size)]
        self.busy: dict[Any, Any] = {}
        self.delayed: set[Any] = set()
        self.ledger, self.failures, self.max_failures = Ledger(), 0, 3 * size + 10

    def round(self, weights: Any) -> list[Batch]:
        """Returns the batches of all workers that are not delayed."""
        batches: list[Batch] = []
        until = time.monotonic() + self.patience
        self.busy |= {worker.rollout.remote(weights): worker for worker in self.idle}
        self.idle = []
        while not batches or self.busy.keys() - self.delayed:
            ready, _ = ray.wait(list(self.busy), timeout=max(0.0, until - time.monotonic()))
            if not ready and not batches:
                raise TimeoutError(
                    f"no batch for {self.patience:g} s from {len(self.busy)} workers"
                )
            if not ready:
                self.delayed |= self.busy.keys()
            elif (batch := self.receive(ready[0], weights)) and self.ledger.take(batch):
                batches.append(batch)
                until = time.monotonic() + self.grace
        return batches

    def receive(self, ref: Any, weights: Any) -> Batch | None:
        """Returns the batch, or None after replacing a failed worker."""
        worker = self.busy.pop(ref)
        self.delayed.discard(ref)
        try:
            batch: Batch = ray.get(ref)
        except ray.exceptions.RayTaskError:
            raise  # a bug in the program, which another worker would repeat
        except ray.exceptions.RayError:
            self.ledger.lost, self.failures = self.ledger.lost + 1, self.failures + 1
            if self.failures > self.max_failures:
                raise  # workers fail at their start
            ray.kill(worker)
            replacement = next(self.new_workers)
            self.busy[replacement.rollout.remote(weights)] = replacement
            return None
        self.idle.append(worker)
        self.failures = 0
        return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--address", help="a running cluster; default: start one on this machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--envs", type=int, default=256, help="per worker")
    parser.add_argument("--length", type=int, default=32, help="steps per batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grace", type=float, default=30.0, help="s to wait for delayed workers")
    parser.add_argument("--out", help="file for the policy")
    arguments = parser.parse_args()
    if (
        min(arguments.workers, arguments.updates, arguments.envs, arguments.length) < 1
        or arguments.seed < 0
    ):
        parser.error("workers, updates, envs, length: expected >= 1; seed: expected >= 0")
    ray.init(address=arguments.address, include_dashboard=None if arguments.address else False)
    kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
    kind = kind.options(scheduling_strategy="SPREAD")
    settings = arguments.envs, arguments.length, arguments.seed
    workers = Workers(arguments.workers, lambda n: kind.remote(n, *settings), arguments.grace)
    learner, ledger, started = Learner(arguments.seed), workers.ledger, time.monotonic()
    for update in range(1, arguments.updates + 1):
        batches = workers.round(ray.put(learner.policy.state_dict()))
        learner.update(batches)
        speed = ledger.steps / (time.monotonic() - started)
        reward = sum(batch.reward for batch in batches) / len(batches)
        status = f"{ledger.steps} steps, {speed:.0f} per second, reward {reward:.3f}, "
        status += f"{len(batches)} workers on {len({b.node for b in batches})} nodes"
        print(f"update {update}/{arguments.updates}: {status}, {ledger.lost} lost", flush=True)
    if arguments.out:
        torch.save(learner.policy.state_dict(), arguments.out)
    print(json.dumps({"learnt": learner.rows, **asdict(ledger)}))
    ray.shutdown()


if __name__ == "__main__":
    main()
