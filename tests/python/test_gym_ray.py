"""Training with workers on a Ray cluster: workers may be lost, and every step is counted once."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gymnasium")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warnings of the modules of ray
    ray = pytest.importorskip("ray")

import propwash.gym as pg  # noqa: E402
from propwash.cli import _training  # noqa: E402
from propwash.cli import train as _train_command  # noqa: E402
from propwash.gym import policy, ppo, ray_ppo  # noqa: E402

NODE: dict[str, Any] = {
    "num_gpus": 0,
    "object_store_memory": 80 * 2**20,
    "include_dashboard": False,
}
SMALL = ppo.Args(num_steps=4, minibatch_size=64, restart_every=3, scale_iterations=4)
ENVS = 33
STEPS = SMALL.num_steps * ENVS

pytestmark = [
    # ray leaves sockets and log files to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.slow,
]


class Reference:
    def __init__(self, outcome: str, result: Any) -> None:
        self.outcome, self.result = outcome, result


class FakeRay:
    """Ray without processes: calls are executed at once, with specified outcomes by stream.

    A call is lost as if its process had been killed, fails in its program, or never returns.
    """

    exceptions = ray.exceptions

    def __init__(self) -> None:
        self.outcomes: dict[int, dict[str, str]] = {}
        self.killed: list[int] = []

    def remote(self, **_: Any) -> Any:
        def declare(kind: Any) -> Any:
            return SimpleNamespace(remote=partial(start, kind))

        def start(kind: Any, *arguments: Any) -> Any:
            made = kind(*arguments)
            calls = {
                name: SimpleNamespace(remote=partial(self.call, made, name))
                for name in ("begin", "rollout")
            }
            return SimpleNamespace(stream=made.stream, **calls)

        return declare

    def call(self, made: Any, name: str, *arguments: Any) -> Any:
        outcome = self.outcomes.get(made.stream, {}).get(name, "done")
        result = getattr(made, name)(*arguments) if outcome == "done" else None
        return Reference(outcome, result)

    def put(self, value: Any) -> Any:
        return value

    def wait(self, refs: list[Any], num_returns: int, timeout: float) -> Any:
        assert 1 <= num_returns <= len(refs)
        ready = [ref for ref in refs if ref.outcome != "slow"]
        return ready, [ref for ref in refs if ref.outcome == "slow"]

    def get(self, ref: Any) -> Any:
        assert ref.outcome != "slow"
        if ref.outcome == "lost":
            raise ray.exceptions.ActorDiedError
        if ref.outcome == "fails":
            raise ray.exceptions.RayTaskError("rollout", "a traceback", ValueError("an error"))
        return ref.result

    def kill(self, handle: Any) -> None:
        self.killed.append(handle.stream)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 3.0}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(ray_ppo, "ray", fake)
    return fake


OPTIONS: dict[str, Any] = {"copy": False, **ppo.HOVER, **ppo.FAST}
make: ray_ppo.Make = partial(pg.make_vec, pg.Hover, **OPTIONS)


def learner(workers: int = 2, envs: int = ENVS, memory: int = 0) -> ray_ppo.RayPPO:
    args = replace(SMALL, memory=memory)
    return ray_ppo.trainer(args)(make, envs, args, 1, workers=workers)


def weights(trained: ppo.PPO) -> list[Any]:
    return [each.numpy().tobytes() for each in trained.agent.state_dict().values()]


def test_workers_simulate_the_environments_of_one_process(fake: FakeRay) -> None:
    """Environment i begins in the same state; each worker has its part of all environments."""
    alone = ppo.PPO(make(ENVS), SMALL, 1)
    alone.iterate()
    for workers in (1, 2, 4, ENVS):
        trained = learner(workers)
        statistics = trained.iterate()
        assert statistics["workers"] == workers
        assert [tuple(getattr(trained, name).shape) for name in trained.buffers] == [
            tuple(getattr(alone, name).shape) for name in trained.buffers
        ]
        if ENVS % workers == 0:  # else the index of a worker's first environment is rounded up
            assert torch.equal(trained.raw[0], alone.raw[0])
        assert len(np.unique(trained.raw[0].numpy(), axis=0)) == ENVS
        assert trained.global_step == STEPS
    with pytest.raises(ValueError, match="num_envs = 3: expected at least 4, one for each worker"):
        learner(4, envs=3)


def test_the_scale_of_observations_is_that_of_all_workers(fake: FakeRay) -> None:
    trained = learner(3)
    expected = ppo.Agent(22, 4, SMALL, torch.Generator())
    for k in range(SMALL.scale_iterations + 1):
        trained.iterate()
        if k < SMALL.scale_iterations:
            expected.learn_scale(trained.raw[:-1].flatten(0, 1))
    assert torch.equal(trained.agent.mean, expected.mean)
    assert torch.equal(trained.agent.var, expected.var)
    assert trained.agent.count == pytest.approx(SMALL.scale_iterations * STEPS)


@pytest.mark.parametrize(("lost", "memory"), [(False, 0), (True, 0), (True, 8)])
def test_resumed_training_gives_identical_weights(
    fake: FakeRay, tmp_path: Path, lost: bool, memory: int
) -> None:
    """Also if a worker was lost before the checkpoint, and with memory."""
    uninterrupted = learner(memory=memory)
    for k in range(6):
        fake.outcomes = {0: {"rollout": "lost"}} if lost and k == 1 else {}
        uninterrupted.iterate()
        if uninterrupted.iteration == 3:
            torch.save(uninterrupted.state_dict(), tmp_path / "state.pt")
    again = learner(memory=memory)
    again.iterate()
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    again.load_state_dict(state)
    for _ in range(3):
        again.iterate()
    assert total(again) > sum(steps for _, steps in state["ledger"]["streams"])  # is a copy
    assert again.ledger == uninterrupted.ledger
    assert again.ledger.active == ([2, 1] if lost else [0, 1])
    assert weights(again) == weights(uninterrupted)
    assert again.global_step == uninterrupted.global_step


def total(trained: ray_ppo.RayPPO) -> int:
    return sum(steps for _, steps in trained.ledger.streams)


def test_a_lost_worker_is_replaced_by_one_with_a_new_stream(fake: FakeRay) -> None:
    """The lost rollout is not counted; the replacement begins new episodes."""
    trained = learner(envs=32)
    trained.iterate()
    fake.outcomes = {1: {"rollout": "lost"}, 2: {"begin": "lost"}}
    assert trained.iterate()["workers"] == 1
    trained.iterate()
    assert trained.ledger.active == [0, 3]
    assert fake.killed == [1, 2]
    assert trained.ledger.lost == 2
    assert trained.ledger.streams == [[3, 192], [1, 64], [0, 0], [1, 64]]
    assert total(trained) == trained.global_step == 320
    assert "2 workers, 2 lost; 5 batches and 320 steps of 4 streams" in str(trained.ledger)
    expected = make(16, index=3 * 16)
    seed = np.random.SeedSequence([1, 2]).generate_state(1)
    assert np.array_equal(trained.raw[0, 16:], expected.reset(seed=int(seed[0]))[0])


def test_a_worker_that_does_not_return_is_replaced(fake: FakeRay) -> None:
    """The others continue; so they do while the replacement does not start."""
    trained = learner(3)
    trained.iterate()
    fake.outcomes = {1: {"rollout": "slow"}, 3: {"begin": "slow"}}
    assert [trained.iterate()["workers"] for _ in range(3)] == [2, 2, 2]
    assert (fake.killed, trained.ledger.lost) == ([1], 1)
    trained._workers._workers[1].starting.outcome = "done"
    fake.outcomes = {3: {"rollout": "lost"}}
    assert [trained.iterate()["workers"] for _ in range(2)] == [2, 3]
    assert trained.ledger.active == [0, 4, 2]
    assert total(trained) == trained.global_step


def test_workers_that_cannot_work_end_the_training(fake: FakeRay) -> None:
    trained = learner()
    fake.outcomes = {1: {"rollout": "fails"}}
    with pytest.raises(ValueError, match=r"^an error$"):
        trained.iterate()
    assert fake.killed == []
    fake.outcomes = {k: {"rollout": "lost"} for k in range(99)}
    with pytest.raises(RuntimeError, match="7 workers were lost without a rollout; the last: The"):
        learner().iterate()
    fake.outcomes = {k: {"begin": "slow"} for k in range(1, 99)}
    with pytest.raises(RuntimeError, match=r"1 of 2 workers did not start within .* has 3 CPUs"):
        learner().iterate()


def test_every_batch_is_counted_once() -> None:
    ledger = ray_ppo.Ledger([[0, 0], [0, 0]], [0, 1])
    ledger.take(ray_ppo.Batch(0, (0, 0), 10, {}))
    ledger.take(ray_ppo.Batch(1, (0, 0), 5, {}))
    ledger.take(ray_ppo.Batch(0, (1, 10), 10, {}))
    for stream, before in ((0, (1, 10)), (0, (3, 30)), (0, (2, 10)), (1, (0, 0))):
        with pytest.raises(RuntimeError, match=f"stream {stream}: expected the batch after"):
            ledger.take(ray_ppo.Batch(stream, before, 5, {}))
    assert ledger.streams == [[2, 20], [1, 5]]


def command(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    _train_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["train", *arguments])
    options.run(options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ray", "0"], "--ray: expected from 1 to 10000, got 0"),
        (["--ray-address", "auto"], "--ray-address: expected with --ray N"),
        (
            ["--ray", "1", "--ray-address", "127.0.0.1:9"],
            "--ray-address '127.0.0.1:9': expected the address of a running Ray cluster",
        ),
    ],
)
def test_invalid_options_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        command("hover", "--out", str(tmp_path / "out"), *arguments)
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "propwash.gym.ray_ppo")
    monkeypatch.delattr("propwash.gym.ray_ppo")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match='needs ray: pip install "ray'):
        command("hover", "--ray", "1", "--out", str(tmp_path / "out"))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes, with one CPU in the head and two in the other."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # otherwise ray writes a token to the home folder
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        cluster: Any = Cluster()
        for attempt in range(4):
            try:
                cluster.add_node(num_cpus=1 + len(cluster.list_all_nodes()), **NODE)
            except Exception as error:  # ray has no type for a node that does not start in 30 s
                if "timed out during startup" not in str(error):
                    raise
                if attempt == 3:
                    cluster.shutdown()
                    pytest.skip(f"ray does not start here: {error}")
            if len(cluster.list_all_nodes()) == 2:
                break
        yield cluster
        ray.shutdown()
        cluster.shutdown()


def test_the_command_survives_the_loss_of_workers_and_nodes(
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A worker is killed; the training ends and is resumed, and a node is lost.

    The cluster has too few CPUs for a second training unless the first one frees its workers, and
    for the replacement of a worker of the lost node.
    """
    record = _training.Training.record

    def kill(collector: ray_ppo.Collector) -> None:
        """Sends `kill -9` to the process within its next rollout."""
        step, calls = collector.ppo.envs.step, itertools.count()

        def last(actions: Any) -> Any:
            if next(calls) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(actions)

        collector.ppo.envs.step = last  # type: ignore[method-assign]

    events = iter(["", "kill", "wait", "", "remove"])

    def disturbed(self: Any, values: dict[str, float]) -> None:
        record(self, values)
        assert total(self.learner) == self.learner.global_step
        worker, event = self.learner._workers._workers[1], next(events, "")
        if event == "kill":
            ray.get(worker.handle.__ray_call__.remote(kill))
        if event == "wait":  # for its replacement
            assert ray.wait([worker.starting], timeout=100.0)[0]
        if event == "remove":
            (other,) = cluster.worker_nodes
            cluster.remove_node(other, allow_graceful=False)

    monkeypatch.setattr(_training.Training, "record", disturbed)
    out, each = tmp_path / "hover", 8 * (ENVS - 1)
    train = ["hover", "--ray", "2", "--ray-address", cluster.address, "--out", str(out)]
    train += ["--every", "9e9", "--set", f"num_envs={ENVS - 1}", "--set", "restart_every=3"]
    command(*train, "--steps", f"{3 * each}")
    assert "2 workers, 1 lost; 7 batches" in (text := capsys.readouterr().out), text
    kept = _train_command.read_checkpoint(out / "checkpoint.pt")["learner"]
    assert kept["ledger"]["active"] == [0, 2]
    assert sum(steps for _, steps in kept["ledger"]["streams"]) == kept["counts"][1]
    command(*train, "--steps", f"{8 * each}", "--resume")
    assert re.search(r"2 workers, 2 lost", text := capsys.readouterr().out), text
    trained = policy.Policy.load(out / "policy.onnx").description.training
    assert trained["steps"] >= 8 * each
