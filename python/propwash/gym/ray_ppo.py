"""PPO whose rollouts are simulated by worker processes on a Ray cluster (docs/scaling.md).

    python -m propwash train hover --ray 2

Each worker simulates its part of the environments. The learner concatenates the rollouts and
updates from them as PPO does, so every setting has the same meaning, and the mean and variance of
the observations are those of all environments. A worker that is lost is replaced by one with
another random stream; the others continue until it has started.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

import propwash.gym as pg
from propwash._checks import whole_number
from propwash.gym import recurrent
from propwash.gym.ppo import PPO, Args
from propwash.gym.recurrent import MemoryPPO

try:
    import ray
except ImportError as error:
    raise ImportError('training on a Ray cluster needs ray: pip install "ray>=2.40"') from error

Arrays = dict[str, Any]
Make = Callable[..., pg.FleetVectorEnv]
"""Makes environments: make(num_envs, index=…)."""

PATIENCE = 300.0
"""Time limit of a rollout, and of the start of a worker [s]; one that exceeds it is replaced."""


@dataclass
class Batch:
    """A rollout of one worker."""

    stream: int
    """Random stream of the worker; a replacement has another."""
    before: tuple[int, int]
    """Batches and environment steps of the stream before this batch."""
    steps: int
    buffers: Arrays


@dataclass
class Ledger:
    """Counts of the batches that were used for updates."""

    streams: list[list[int]] = field(default_factory=list)
    """Batches and environment steps of each stream."""
    active: list[int] = field(default_factory=list)
    """Stream of each worker."""
    lost: int = 0
    """Number of lost workers."""

    def take(self, batch: Batch) -> None:
        """Counts a batch; raises RuntimeError unless it is the next of its stream."""
        count = self.streams[batch.stream]
        if list(batch.before) != count:
            raise RuntimeError(
                f"stream {batch.stream}: expected the batch after {count[0]} batches and "
                f"{count[1]} steps, got that after {batch.before[0]} and {batch.before[1]}"
            )
        count[:] = count[0] + 1, count[1] + batch.steps

    def __str__(self) -> str:
        batches, steps = np.sum(self.streams, axis=0, dtype=int)
        counts = [f"{k}: {n} and {m:,}" for k, (n, m) in enumerate(self.streams[:8])]
        more = "; …" if len(self.streams) > len(counts) else ""
        return (
            f"{len(self.active)} workers, {self.lost} lost; {batches} batches and {steps:,} steps "
            f"of {len(self.streams)} streams ({'; '.join(counts)}{more})"
        )


class Collector:
    """The process of a worker.

    Args:
        stream: Its random stream.
        before: Batches and steps of the stream so far.
    """

    def __init__(self, stream: int, before: tuple[int, int]) -> None:
        self.stream, self.before = stream, before

    def begin(self, make: Callable[[], PPO], threads: int) -> None:
        """Makes the environments and a copy of the agent."""
        torch.set_num_threads(threads)
        self.ppo, self.begun = make(), False

    def rollout(self, weights: Arrays, iteration: int, names: Iterable[str]) -> Batch:
        """Returns the named buffers of a rollout with the weights of the learner."""
        ppo = self.ppo
        ppo.agent.load_state_dict({name: torch.tensor(each) for name, each in weights.items()})
        ppo.iteration = iteration
        if not self.begun or iteration % ppo.args.restart_every == 0:
            key = np.random.SeedSequence([ppo.seed, iteration, self.stream])
            ppo.generator.manual_seed(int(key.generate_state(1, np.uint64)[0] >> 1))
            ppo.restart()
        ppo.rollout()
        buffers = {name: getattr(ppo, name).numpy() for name in names}
        batch = Batch(self.stream, self.before, ppo.live.numel(), buffers)
        self.begun, self.before = True, (self.before[0] + 1, self.before[1] + batch.steps)
        return batch


@dataclass
class _Worker:
    """A worker process."""

    handle: Any
    starting: Any
    """Result of begin(), None once it has arrived."""


class Workers:
    """The worker processes of a training.

    Args:
        size: Their number.
        create: Starts worker k of a stream after (batches, steps) of it; returns the handle of a
            Collector and the reference of the result of its begin().
    """

    def __init__(self, size: int, create: Callable[[int, int, tuple[int, int]], Any]) -> None:
        self._size, self._create = size, create
        self._workers: list[_Worker] = []
        self.restore(Ledger())

    def restore(self, ledger: Ledger) -> None:
        """Continues from a ledger; the next rollouts start new processes with its streams."""
        self.close()
        self.ledger, self._failures = ledger, 0

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers:
            ray.kill(worker.handle)
        self._workers = []

    def rollouts(self, *arguments: Any) -> list[Batch]:
        """Returns a rollout of every worker that has started, at least one.

        Raises the exception of a worker, and RuntimeError if workers cannot be started.
        """
        if not self._workers:
            new = not self.ledger.active
            streams = [self._new_stream() for _ in range(self._size)] if new else self.ledger.active
            self.ledger.active = streams
            self._workers = [self._started(k) for k in range(self._size)]
            self._join(self._size)
        batches: list[Batch] = []
        while not batches:
            self._join(1)
            calls = {
                k: worker.handle.rollout.remote(*arguments)
                for k, worker in enumerate(self._workers)
                if worker.starting is None
            }
            arrived = set(ray.wait([*calls.values()], num_returns=len(calls), timeout=PATIENCE)[0])
            for k, call in calls.items():
                batch = self._result(k, call, call in arrived)
                if isinstance(batch, Batch):
                    self.ledger.take(batch)
                    batches.append(batch)
                    self._failures = 0
        return batches

    def _join(self, count: int) -> None:
        """Includes workers that have started; waits until `count` workers have."""
        while True:
            starting = [each.starting for each in self._workers if each.starting is not None]
            missing = count - (len(self._workers) - len(starting))
            if not starting:
                return
            returns = max(1, missing)
            timeout = PATIENCE if missing > 0 else 0.0
            arrived = set(ray.wait(starting, num_returns=returns, timeout=timeout)[0])
            if missing > 0 and not arrived:
                raise RuntimeError(
                    f"{missing} of {count} workers did not start within {PATIENCE:g} s; the "
                    f"cluster has {_cpus():g} CPUs"
                )
            for k, worker in enumerate(self._workers):
                if (
                    worker.starting in arrived
                    and self._result(k, worker.starting, True) is not _LOST
                ):
                    worker.starting = None
            if not arrived:
                return

    def _result(self, k: int, reference: Any, arrived: bool) -> Any:
        """Returns the result of a call of worker k, or replaces the worker and returns _LOST."""
        reason: Exception = TimeoutError(f"no rollout within {PATIENCE:g} s")
        if arrived:
            try:
                return ray.get(reference)
            except ray.exceptions.RayTaskError as error:  # another worker would fail too
                raise getattr(error, "cause", error) from None
            except ray.exceptions.RayError as error:
                reason = error
        self.ledger.lost, self._failures = self.ledger.lost + 1, self._failures + 1
        if self._failures > 3 * self._size:
            raise RuntimeError(
                f"{self._failures} workers were lost without a rollout; the last: {reason!s:.300}"
            ) from reason
        ray.kill(self._workers[k].handle)
        self.ledger.active[k] = self._new_stream()
        self._workers[k] = self._started(k)
        return _LOST

    def _new_stream(self) -> int:
        self.ledger.streams.append([0, 0])
        return len(self.ledger.streams) - 1

    def _started(self, k: int) -> _Worker:
        stream = self.ledger.active[k]
        batches, steps = self.ledger.streams[stream]
        return _Worker(*self._create(k, stream, (batches, steps)))


_LOST = object()


class RayPPO(PPO):
    """PPO with the rollouts of several worker processes.

    All workers restart their episodes every args.restart_every iterations with random streams of
    the seed, the iteration and their own stream, so that training that is resumed from a
    state_dict() continues bit-identically, unless a worker is lost.

    Args:
        make: Makes environments, sent to the workers by pickle.
        num_envs: Total number of environments.
        workers: Number of worker processes. Ray must be initialised, see connect().
        threads: CPUs and threads of each worker.

    Raises ValueError for fewer environments than workers.
    """

    trainer: ClassVar[type[PPO]] = PPO
    """The class whose rollouts the workers make."""
    buffers: ClassVar[dict[str, int]] = {
        **{"raw": 1, "actions": 1, "log_probs": 1, "rewards": 1},
        **{"terminated": 1, "done": 1, "live": 1},
    }
    """Buffers that a rollout fills, with their axis of the environments."""

    def __init__(
        self,
        make: Make,
        num_envs: int,
        args: Args,
        seed: int,
        *,
        workers: int,
        threads: int = 1,
    ) -> None:
        whole_number("workers", workers, 1, 10**6)
        if num_envs < workers:
            raise ValueError(
                f"num_envs = {num_envs}: expected at least {workers}, one for each worker; use "
                "more environments or fewer workers"
            )
        super().__init__(make(1), args, seed)
        collector: Any = ray.remote(
            num_cpus=threads, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )(Collector)
        largest = -(-num_envs // workers)

        def create(k: int, stream: int, before: tuple[int, int]) -> tuple[Any, Any]:
            size = num_envs // workers + (k < num_envs % workers)
            start = partial(_made, self.trainer, make, size, stream * largest, args, seed)
            handle = collector.remote(stream, before)
            return handle, handle.begin.remote(start, threads)

        self._workers = Workers(workers, create)

    @property
    def ledger(self) -> Ledger:
        """Counts of batches, steps and lost workers."""
        return self._workers.ledger

    def iterate(self) -> dict[str, float]:
        """Runs a rollout and an update; returns statistics by name."""
        return {**super().iterate(), "workers": self._present, "lost": self.ledger.lost}

    def restart(self) -> None:
        """Does nothing, as the workers begin new episodes in the same iterations."""

    def rollout(self) -> None:
        """Fills the buffers with the rollouts of the workers, in the order of the workers."""
        weights = {name: each.numpy() for name, each in self.agent.state_dict().items()}
        batches = self._workers.rollouts(ray.put(weights), self.iteration, [*self.buffers])
        self._present = len(batches)
        for name, axis in self.buffers.items():
            parts = [batch.buffers[name] for batch in batches]
            setattr(self, name, torch.from_numpy(np.concatenate(parts, axis)))

    def close(self) -> None:
        """Ends the workers, which frees their CPUs for another training."""
        self._workers.close()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to resume training from, with the ledger."""
        return {**super().state_dict(), "ledger": asdict(self.ledger)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state_dict(); new workers continue its streams."""
        super().load_state_dict(state)
        self._workers.restore(Ledger(**deepcopy(state["ledger"])))


class RayMemoryPPO(RayPPO, MemoryPPO):
    """RayPPO for policies with memory."""

    trainer = MemoryPPO
    buffers: ClassVar[dict[str, int]] = {**RayPPO.buffers, "goes_on": 1, "first_memory": 0}


def trainer(args: Args) -> type[RayPPO]:
    """Returns the class that trains with the settings: with memory or without."""
    return RayMemoryPPO if recurrent.trainer(args) is MemoryPPO else RayPPO


def _made(kind: type[PPO], make: Make, num_envs: int, index: int, args: Args, seed: int) -> PPO:
    return kind(make(num_envs, index=index), args, seed)


def _cpus() -> float:
    resources: Any = ray.cluster_resources
    return float(resources().get("CPU", 0.0))


def connect(address: str | None, cpus: int) -> None:
    """Connects to a Ray cluster, or starts Ray on this machine; keeps an existing connection.

    Raises ValueError if there is no cluster at the address, or one with fewer CPUs.
    """
    if not ray.is_initialized():
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        if address is None:
            ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
        else:
            try:
                host, _, port = address.rpartition("/")[2].rpartition(":")
                if port.isdigit():  # ray tries for minutes
                    socket.create_connection((host, int(port)), 10.0).close()
                ray.init(address, **quiet)
            except (OSError, OverflowError, RuntimeError, ValueError) as error:
                raise ValueError(
                    f"--ray-address {address!r:.100}: expected the address of a running Ray "
                    f"cluster; `ray start --head` starts one. {error!s:.200}"
                ) from error
    if (found := _cpus()) < cpus:
        raise ValueError(
            f"--ray: expected a cluster with at least {cpus} CPUs, one for each worker and thread, "
            f"got one with {found:g}; use fewer workers or add nodes"
        )
