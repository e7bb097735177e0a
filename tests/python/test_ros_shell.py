"""The loop of the ROS nodes, damaged messages, and what surrounds a node, without ROS."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from propwash import ros
from propwash.cli.main import main
from propwash.ros import _rospy
from ros_helpers import ARM, FPS, IMU, ODOMETRY, RATE_THRUST, RESET, empty, fps, rate_thrust, uav

DT = 1.0 / 960.0


def test_a_fuzzed_stream_is_counted_and_the_node_lives() -> None:
    assert fuzz(3000, seed=1) > 500


def fuzz(count: int, seed: int) -> int:
    """Hands a node damaged messages; returns how many were refused."""
    draw = np.random.default_rng(seed)
    vehicle = uav()
    node = ros.Node([], vehicle=vehicle, clock_scale=None)
    valid = {
        RATE_THRUST: ros.serialized(rate_thrust([0.1, 0.2, 0.3], 9.0)),
        FPS: ros.serialized(fps(60.0)),
        ARM: b"",
        RESET: b"",
    }
    shell = Silent(node)
    for number in range(count):
        name = [*valid][draw.integers(4)]
        data = bytearray(valid[name])
        for _ in range(draw.integers(4)):
            if data:
                data[draw.integers(len(data))] = draw.integers(256)
        cut = bytes(data[: draw.integers(len(data) + 1)]) if draw.random() < 0.3 else bytes(data)
        if draw.random() < 0.1:
            cut += draw.bytes(5)
        shell.take(name, node.subscribes[name].kind, cut)
        if number % 20 == 0:
            node.step()
    assert np.isfinite(vehicle.vehicle.position).all()
    return sum(node.refused.counts.values())


class Silent(ros.Shell):
    """A shell without middleware."""

    sent: list[tuple[str, Any]]

    def __init__(self, node: ros.Node, real_time: bool = False) -> None:
        super().__init__(node, real_time=real_time, report=lambda line: None)
        self.sent = []

    def _send(self, name: str, message: Any) -> None:
        self.sent.append((name, message))

    def _is_shutdown(self) -> bool:
        return self.node.steps >= 100

    def take(self, name: str, kind: str, data: bytes) -> None:
        """Receives bytes."""
        self._receive(name, kind, lambda: ros.deserialized(data, kind))


class Interrupted(Silent):
    """A shell whose middleware holds a lock when a signal arrives."""

    def __init__(self, number: int, count: int = 1) -> None:
        super().__init__(ros.Node([], vehicle=uav()))
        self.number, self.count = number, count
        self.finished: list[int] = []

    def _send(self, name: str, message: Any) -> None:
        if name == "/tf" and self.node.steps == 10:
            for _ in range(self.count):
                signal.raise_signal(self.number)
        self.finished.append(self.node.steps)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_loop_between_steps(name: str) -> None:
    number = getattr(signal, name, None)
    if number is None:
        pytest.skip(f"no {name}")
    before = signal.signal(number, signal.default_int_handler)
    try:
        shell = Interrupted(number)
        with pytest.raises(KeyboardInterrupt):
            shell.run()
        assert signal.getsignal(number) == signal.default_int_handler
    finally:
        signal.signal(number, before)
    # the messages of the step are complete, and there is no other step
    assert shell.finished.count(10) == len(shell.node.publishes) - len(["/tf_static", IMU])
    assert shell.node.steps == 10


def test_a_second_signal_ends_the_loop_at_once() -> None:
    shell = Interrupted(signal.SIGINT, count=2)
    with pytest.raises(KeyboardInterrupt):
        shell.run()
    assert shell.finished.count(10) < 2


def test_a_signal_ends_the_wait_for_a_command() -> None:
    class Asked(Silent):
        def _send(self, name: str, message: Any) -> None:
            if name == "/uav/step":
                signal.raise_signal(signal.SIGINT)

    node = ros.Node([], vehicle=uav(), lock_step=4)
    node.post(ARM, empty())
    with pytest.raises(KeyboardInterrupt):
        Asked(node).run()


def test_a_missing_ros_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "rospy", None)
    monkeypatch.setattr(_rospy, "DEBIAN", tmp_path)
    with pytest.raises(ImportError, match="expected an installation of ROS 1"):
        ros.import_rospy()
    (tmp_path / "rospy").mkdir()
    monkeypatch.setattr(_rospy, "_debian_version", lambda: "python3.9")
    with pytest.raises(ImportError, match=r"is for python3\.9, this is python3\.\d+"):
        ros.import_rospy()


def endless(self: Any, *args: Any) -> None:
    """Stands for the search for the caller in rosgraph 1.16."""
    filename = None
    while filename is None:
        pass


def fixed(self: Any, *args: Any) -> None:
    """Stands for that of rosgraph 1.17.3."""


@pytest.mark.parametrize("find", [endless, fixed])
def test_a_logger_of_rosgraph_that_never_ends_is_replaced(
    monkeypatch: pytest.MonkeyPatch, find: Any
) -> None:
    logger: Any = type("RospyLogger", (logging.Logger,), {"findCaller": find})
    roslogging = SimpleNamespace(RospyLogger=logger)
    rosgraph = SimpleNamespace(roslogging=roslogging)
    modules = {"rosgraph": rosgraph, "rosgraph.roslogging": roslogging, "netifaces": None}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "rospy", ModuleType("rospy"))
    monkeypatch.setattr(sys.modules["rospy"], "__spec__", "any", raising=False)
    with pytest.raises(ImportError, match=r"rospy needs netifaces, .* pip install netifaces"):
        ros.import_rospy()
    monkeypatch.setitem(sys.modules, "netifaces", ModuleType("netifaces"))
    assert ros.import_rospy() is sys.modules["rospy"]
    assert (logger.findCaller is fixed) == (find is fixed)
    if find is endless:
        assert logger("test").findCaller()[0] == __file__


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "no such host", "a" * 70, "10.0.0.256"])
def test_a_host_that_is_not_an_address_of_this_machine_is_refused(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ros", "--host", host]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"propwash: --host {host}: expected")


def test_packages_for_launch_files_replace_only_their_own_kind(tmp_path: Path) -> None:
    programs = ros.write_packages(tmp_path)
    assert all(os.access(program, os.X_OK) for program in programs)
    assert ros.write_packages(tmp_path) == programs
    (programs[0].parent / "package.xml").write_text("<package/>")
    with pytest.raises(FileExistsError, match="choose another folder"):
        ros.write_packages(tmp_path)


def test_a_shell_paces_steps_by_the_wall_clock() -> None:
    shell = Silent(ros.Node([], vehicle=uav(), clock_scale=2.0))
    start = time.monotonic()
    shell.run()
    assert time.monotonic() - start >= 0.5 * 98 * DT  # 100 steps at twice the speed
    assert sum(name == ODOMETRY for name, _ in shell.sent) == 100


def test_real_time_stamps_follow_the_wall_clock_after_a_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = Silent(ros.Node([], vehicle=uav(), publish_clock=False, start=10**18), real_time=True)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0 if shell.node.steps == 50 and now[0] < 1.0 else 0.0
        return now[0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(shell.pacer, "_clock", clock)
    monkeypatch.setattr(shell.pacer, "_sleep", sleep)
    shell.pacer.restart(0.0)
    shell.run()
    elapsed = (shell.node.stamp - 10**18) * 1e-9
    assert shell.pacer.skipped > 0.8
    assert elapsed == pytest.approx(now[0], abs=0.11)
