"""Training on a Ray cluster survives the loss of a node, and counts every step once."""

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
"""s, after which a run is killed; it takes a tenth of that where nothing else runs."""

pytestmark = [
    pytest.mark.skipif(not EXAMPLE.exists(), reason="the tests do not lie beside the examples"),
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
        warnings.simplefilter("ignore")  # warnings of ray's own modules
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes; the first is the head."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(
        "RAY_AUTH_MODE", "disabled"
    )  # otherwise ray writes a token to the home folder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        made: Any = Cluster()
        for attempt in range(4):
            try:
                made.add_node(**NODE)
            except (
                Exception
            ) as error:  # ray has no exception type for it; a node must start within 30 s
                if "timed out during startup" not in str(error):
                    raise
                if attempt == 3:
                    made.shutdown()
                    pytest.skip(f"ray does not start here: {error}")
            if len(made.list_all_nodes()) == 2:
                break
        yield made
        made.shutdown()


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


class Pretended:
    """A simulated cluster without processes: a list specifies the outcome of each batch."""

    def __init__(self, example: Any, fates: dict[int, str]) -> None:
        import ray

        self.example, self.fates = example, fates
        self.exceptions: Any = ray.exceptions
        self.killed: list[int] = []
        self.begun: list[int] = []
        self.waits = 0

    def begin(self, stream: int) -> Any:
        self.begun.append(stream)
        flown = itertools.count()
        rollout = SimpleNamespace(remote=lambda _: (stream, next(flown)))
        return SimpleNamespace(stream=stream, rollout=rollout)

    def wait(self, refs: list[Any], timeout: float) -> Any:
        self.waits += 1
        ready = [ref for ref in refs if self.fate(ref) != "slow"]
        return ready[:1], refs

    def fate(self, ref: tuple[int, int]) -> str:
        fates = self.fates.get(ref[0], "fine").split()
        return fates[min(ref[1], len(fates) - 1)]

    def get(self, ref: tuple[int, int]) -> Any:
        if self.fate(ref) == "dies":
            raise self.exceptions.ActorDiedError
        if self.fate(ref) == "errs":
            raise self.exceptions.RayTaskError("rollout", "a mistake", ValueError("a mistake"))
        return batch(self.example, ref[1], 10 * ref[1], ref[0])

    def kill(self, worker: Any) -> None:
        self.killed.append(worker.stream)


def crew_of(
    example: Any, monkeypatch: pytest.MonkeyPatch, size: int, fates: dict[int, str]
) -> tuple[Any, Pretended]:
    pretended = Pretended(example, fates)
    monkeypatch.setattr(example, "ray", pretended)
    return example.Workers(size, pretended.begin, grace=0.01, patience=0.01), pretended


def streams(batches: Any) -> list[int]:
    return sorted(each.stream for each in batches)


def test_a_replacement_worker_has_a_new_stream(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, pretended = crew_of(example, monkeypatch, 2, {1: "fine dies", 2: "dies"})
    assert streams(crew.round(None)) == [0, 1]
    assert streams(crew.round(None)) == [0, 3]
    assert streams(crew.round(None)) == [0, 3]
    assert pretended.killed == [1, 2]
    assert crew.ledger.lost == 2
    assert crew.ledger.streams == {0: [3, 30], 1: [1, 10], 3: [2, 20]}


def test_delayed_workers_are_not_waited_for_and_may_return(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, pretended = crew_of(example, monkeypatch, 3, {1: "fine slow"})
    assert streams(crew.round(None)) == [0, 1, 2]
    assert streams(crew.round(None)) == [0, 2]
    pretended.waits = 0
    assert streams(crew.round(None)) == [0, 2]
    assert pretended.waits == 2  # for those two only
    pretended.fates[1] = "fine"
    assert streams(crew.round(None)) == [0, 1, 2]
    assert crew.ledger.streams[1] == [2, 20]


def test_a_round_that_cannot_continue_raises(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    crew, pretended = crew_of(example, monkeypatch, 1, {0: "slow"})
    with pytest.raises(TimeoutError, match=r"no batch for 0\.01 s from 1 workers"):
        crew.round(None)
    crew, pretended = crew_of(example, monkeypatch, 2, {1: "errs"})
    with pytest.raises(pretended.exceptions.RayTaskError, match="a mistake"):
        crew.round(None)
    assert pretended.begun == [0, 1]
    crew, pretended = crew_of(example, monkeypatch, 2, dict.fromkeys(range(99), "dies"))
    with pytest.raises(pretended.exceptions.ActorDiedError):
        crew.round(None)
    assert 2 < len(pretended.begun) < 99


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
    told = json.loads(next(line for line in lines if line.startswith("{")))
    counts = sorted(told["streams"].values())
    assert told["lost"] >= 1
    assert len(counts) >= 3
    assert counts[-1][0] == updates  # one node was present all the time
    assert sum(count for count, _ in counts) == told["batches"] == 2 * updates
    assert all(made == count * steps for count, made in counts)
    assert told["learnt"] == told["steps"] == 2 * updates * steps
    weights = torch.load(tmp_path / "policy.pt", weights_only=True)
    assert all(torch.isfinite(value).all() for value in weights.values())
