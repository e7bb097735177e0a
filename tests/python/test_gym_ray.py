"""Training on a Ray cluster: it survives the loss of a node and counts every step once."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ray")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ray_train.py"
NODE: dict[str, Any] = {
    "num_cpus": 2,
    "num_gpus": 0,
    "object_store_memory": 80 * 2**20,
    "include_dashboard": False,
}
LIMIT = 240.0
"""s, the time limit of a run, ten times the usual duration."""

pytestmark = [
    pytest.mark.skipif(not EXAMPLE.exists(), reason="examples are missing"),
    # ray leaves sockets and log files to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("ray_train", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ray_train"] = module  # dataclasses look up their types there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of the modules of ray
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes; the first is the head."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # otherwise ray writes a token to the home folder
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        cluster: Any = Cluster()
        for attempt in range(4):
            try:
                cluster.add_node(**NODE)
            except Exception as error:  # ray has no type for a node that does not start in 30 s
                if "timed out during startup" not in str(error):
                    raise
                if attempt == 3:
                    cluster.shutdown()
                    pytest.skip(f"ray does not start here: {error}")
            if len(cluster.list_all_nodes()) == 2:
                break
        yield cluster
        cluster.shutdown()


def batch(example: Any, sequence: int, before: int, stream: int = 0, steps: int = 10) -> Any:
    return example.Batch(stream, sequence, before, steps, 1, 0.0, "here", {})


def test_every_step_is_counted_once(example: Any) -> None:
    ledger = example.Ledger()
    assert ledger.take(batch(example, 0, 0))
    assert ledger.take(batch(example, 0, 0, stream=7, steps=5))
    assert not ledger.take(batch(example, 0, 0))
    assert ledger.take(batch(example, 1, 10))
    assert not ledger.take(batch(example, 0, 0))
    for wrong in (batch(example, 3, 20), batch(example, 2, 10), batch(example, 1, 0, stream=7)):
        with pytest.raises(RuntimeError, match="expected batch"):
            ledger.take(wrong)
    assert (ledger.batches, ledger.steps, ledger.episodes) == (3, 25, 3)
    assert ledger.streams == {0: [2, 20], 7: [1, 5]}


class FakeCluster:
    """A simulated cluster without processes, with specified outcomes of each batch by stream."""

    def __init__(self, example: Any, outcomes: dict[int, str]) -> None:
        import ray

        self.example, self.outcomes = example, outcomes
        self.exceptions: Any = ray.exceptions
        self.killed: list[int] = []
        self.begun: list[int] = []
        self.waits = 0

    def begin(self, stream: int) -> Any:
        self.begun.append(stream)
        numbers = itertools.count()
        rollout = SimpleNamespace(remote=lambda _: (stream, next(numbers)))
        return SimpleNamespace(stream=stream, rollout=rollout)

    def wait(self, refs: list[Any], timeout: float) -> Any:
        self.waits += 1
        ready = [ref for ref in refs if self.outcome(ref) != "slow"]
        return ready[:1], refs

    def outcome(self, ref: tuple[int, int]) -> str:
        outcomes = self.outcomes.get(ref[0], "fine").split()
        return outcomes[min(ref[1], len(outcomes) - 1)]

    def get(self, ref: tuple[int, int]) -> Any:
        if self.outcome(ref) == "lost":
            raise self.exceptions.ActorDiedError
        if self.outcome(ref) == "fails":
            raise self.exceptions.RayTaskError("rollout", "an error", ValueError("an error"))
        return batch(self.example, ref[1], 10 * ref[1], ref[0])

    def kill(self, worker: Any) -> None:
        self.killed.append(worker.stream)


def workers_of(
    example: Any, monkeypatch: pytest.MonkeyPatch, size: int, outcomes: dict[int, str]
) -> tuple[Any, FakeCluster]:
    fake = FakeCluster(example, outcomes)
    monkeypatch.setattr(example, "ray", fake)
    return example.Workers(size, fake.begin, grace=0.01, patience=0.01), fake


def streams(batches: Any) -> list[int]:
    return sorted(each.stream for each in batches)


def test_a_replacement_worker_has_a_new_stream(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers, fake = workers_of(example, monkeypatch, 2, {1: "fine lost", 2: "lost"})
    assert streams(workers.round(None)) == [0, 1]
    assert streams(workers.round(None)) == [0, 3]
    assert streams(workers.round(None)) == [0, 3]
    assert fake.killed == [1, 2]
    assert workers.ledger.lost == 2
    assert workers.ledger.streams == {0: [3, 30], 1: [1, 10], 3: [2, 20]}


def test_delayed_workers_are_not_waited_for_and_may_return(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers, fake = workers_of(example, monkeypatch, 3, {1: "fine slow"})
    assert streams(workers.round(None)) == [0, 1, 2]
    assert streams(workers.round(None)) == [0, 2]
    fake.waits = 0
    assert streams(workers.round(None)) == [0, 2]
    assert fake.waits == 2  # for these two only
    fake.outcomes[1] = "fine"
    assert streams(workers.round(None)) == [0, 1, 2]
    assert workers.ledger.streams[1] == [2, 20]


def test_a_round_without_batches_raises(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    workers, fake = workers_of(example, monkeypatch, 1, {0: "slow"})
    with pytest.raises(TimeoutError, match=r"no batch for 0\.01 s from 1 workers"):
        workers.round(None)
    workers, fake = workers_of(example, monkeypatch, 2, {1: "fails"})
    with pytest.raises(fake.exceptions.RayTaskError, match="an error"):
        workers.round(None)
    assert fake.begun == [0, 1]
    workers, fake = workers_of(example, monkeypatch, 2, dict.fromkeys(range(99), "lost"))
    with pytest.raises(fake.exceptions.ActorDiedError):
        workers.round(None)
    assert 2 < len(fake.begun) < 99


@pytest.mark.slow
def test_a_run_survives_the_loss_of_a_node(cluster: Any, tmp_path: Path) -> None:
    updates, steps = 6, 8 * 16
    command = [sys.executable, str(EXAMPLE), "--address", cluster.address, "--workers", "2"]
    command += ["--updates", str(updates), "--envs", "16", "--length", "8", "--grace", "100"]
    command += ["--out", str(tmp_path / "policy.pt")]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as run:
        watch = threading.Timer(LIMIT, run.kill)
        watch.start()
        lines = []
        assert run.stdout is not None
        for line in run.stdout:
            lines.append(line)
            if line.startswith("update 2/"):
                (other,) = cluster.worker_nodes
                cluster.remove_node(other, allow_graceful=False)
        watch.cancel()
    assert run.returncode == 0, "".join(lines)
    rounds = [line for line in lines if line.startswith("update")]
    assert len(rounds) == updates
    assert all("2 workers on 2 nodes, 0 lost" in line for line in rounds[:2]), rounds
    assert all("2 workers" in line for line in rounds), rounds
    assert re.search(r"on 1 nodes, [1-9]\d* lost$", rounds[-1])
    result = json.loads(next(line for line in lines if line.startswith("{")))
    counts = sorted(result["streams"].values())
    assert result["lost"] >= 1
    assert len(counts) >= 3
    assert counts[-1][0] == updates  # one node was never lost
    assert sum(count for count, _ in counts) == result["batches"] == 2 * updates
    assert all(total == count * steps for count, total in counts)
    assert result["learnt"] == result["steps"] == 2 * updates * steps
    weights = torch.load(tmp_path / "policy.pt", weights_only=True)
    assert all(torch.isfinite(value).all() for value in weights.values())
