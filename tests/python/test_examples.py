"""The Python examples run and print the documented output."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import slow_if
from lcm_helpers import multicast

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="examples are missing")

RUNS: list[tuple[str, list[str], list[str]]] = [
    ("custom_vehicle.py", [], []),
    (
        "fleet_hover.py",
        ["--vehicles", "16", "--seconds", "0.2"],
        ["diverged: 0", "identical on two threads: True", "identical in two halves: True"],
    ),
    (
        "alphapilot_camera.py",
        ["--seed", "2", "--width", "64", "--out", "flight.png"],
        ["11 of 11 gates, score 9", r"markers in view: Gate\d+_\d", r"image flight\.png"],
    ),
    ("race_pilot.py", ["--seed", "3", "--isolate"], ["11 of 11 gates, score 9"]),
    (
        "arcade_pilot.py",
        ["--course", "tower", "--mode", "angle", "--out", "logs"],
        [r"10 of 10 gates, finished, \d+\.\d s, log logs/tower_angle_0\.csv"],
    ),
    (
        "avoid_person.py",
        ["--encounters", "3", "--seed", "52", "--out", "plot.png"],
        [r"no avoidance +3 +3 ", r"\navoidance +3 +0 ", r"plot plot\.png"],
    ),
    (
        "custom_task.py",
        ["--envs", "8", "--steps", "50"],
        ["bit for bit", "targets reached"],
    ),
    (
        "jax_gradients.py",
        ["--vehicles", "4", "--steps", "80"],
        [r"target after 1 s: median 0\.0\d"],
    ),
    (
        "imitate_flights.py",
        [
            "--course",
            "eight",
            "--count",
            "3",
            "--steps",
            "300",
            "--episodes",
            "5",
            "--plot",
            "imitated.png",
        ],
        [r"no logs: a script flies", r"finished \[%\] +\d", r"plot imitated\.png"],
    ),
    (
        "mpc_casadi.py",
        ["--seconds", "1.6"],
        [r"40 plans, \d+ iterations", r"position error: rms 0\.0\d\d m, max 0\.[01]\d\d m"],
    ),
    (
        "time_optimal.py",
        ["--tracks", "seven-points", "--plot", "plan.png"],
        [r"seven-points +fast +7\.3\d\d", r"seven-points +exact +7\.3[34]\d", r"plot plan\.png"],
    ),
    (
        "lcm_takeoff.py",
        ["--simulate", "--lock-step", "--duration", "4"],
        [r"1440 poses, height at the end 1\.\d\d m"],
    ),
    (
        "track_lemniscate.py",
        ["--vehicles", "4", "--laps", "1"],
        [r"geometric +0\.0", r"indi +0\.0"],
    ),
    (
        "train_hover_ppo.py",
        ["--steps", "9e4"],
        [r"steps +reward", r"within 0\.1 m for the last 2 of 5 s: \d"],
    ),
    (
        "stereo_depth.py",
        ["--scene", "room", "--out", "depth.png"],
        [r"matched: (9\d|100)%", r"error of depth: median 0\.\d%", r"depth\.png"],
    ),
    (
        "perception_aware_yaw.py",
        ["--speeds", "6", "--plot", "yaw.png"],
        [r"6\.0 m/s  forward-facing +\d", r"6\.0 m/s  perception-aware +\d", r"yaw\.png"],
    ),
    (
        "vio_in_the_loop.py",
        ["--duration", "3", "--plot", "vio.png"],
        [r"completed: 1 of 1; error at the end: median \d"],
    ),
    (
        "vehicle_in_the_loop.py",
        ["--seconds", "1", "--speed", "2", "--in-process"],
        ["Crazyflie|Simulating a circle", "every frame has the time stamp of a pose: True"],
    ),
]
QUICK = {"custom_vehicle.py", "fleet_hover.py"}
PLOTTING = ("avoid_person.py", "imitate_flights.py", "perception_aware_yaw.py", "stereo_depth.py")


def test_every_example_is_run() -> None:
    run = {name for name, _, _ in RUNS}
    with_ros = {"ros_takeoff.py"}  # by test_ros_live.py, with a master
    assert {path.name for path in EXAMPLES.glob("*.py")} == run | with_ros


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [pytest.param(*run, id=run[0], marks=slow_if(run[0] not in QUICK)) for run in RUNS],
)
def test_examples_run(name: str, arguments: list[str], expected: list[str], tmp_path: Path) -> None:
    if name == "alphapilot_camera.py":
        pytest.importorskip("PIL")
    if name == "jax_gradients.py" and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    if name in ("mpc_casadi.py", "time_optimal.py"):
        pytest.importorskip("casadi")
    if name == "imitate_flights.py":
        for package in ("torch", "onnx", "onnxruntime"):
            pytest.importorskip(package)
    if name in PLOTTING:
        pytest.importorskip("matplotlib")
    if name == "perception_aware_yaw.py":
        pytest.importorskip("cv2")
        pytest.importorskip("scipy")
    if name == "lcm_takeoff.py":
        pytest.importorskip("lcm")
    network = {"LCM_DEFAULT_URL": multicast()} if name == "lcm_takeoff.py" else {}
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", **network},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    for pattern in expected:
        assert re.search(pattern, ran.stdout), (pattern, ran.stdout)
    for file in (argument for argument in arguments if argument.endswith(".png")):
        assert (tmp_path / file).read_bytes().startswith(b"\x89PNG")


class Network:
    """LCM without a network: a simulation in lock step that may lose its third answer."""

    def __init__(self, hears_start: bool, loses: bool) -> None:
        from propwash.lcm import LcmVehicle

        self.simulation = LcmVehicle("blackbird", lock_step=True)
        self.queue = deque(self.simulation.messages() if hears_start else [])
        self.handlers: dict[str, Callable[[str, bytes], None]] = {}
        self.answers_to_loss = 3 if loses else 0

    def subscribe(self, channel: str, handler: Callable[[str, bytes], None]) -> None:
        self.handlers[channel] = handler

    def publish(self, channel: str, data: bytes) -> None:
        self.simulation.receive(channel, data)
        answer = self.simulation.answer()
        while self.simulation.asked is not None:
            self.queue += self.simulation.step()
            answer = self.simulation.answer()
        self.answers_to_loss -= len(answer)
        self.queue += [] if answer and self.answers_to_loss == 0 else answer

    def handle_timeout(self, _milliseconds: int) -> bool:
        if not self.queue:
            return False
        channel, data = self.queue.popleft()
        if channel in self.handlers:
            self.handlers[channel](channel, data)
        return True


@pytest.mark.parametrize(("hears_start", "loses"), [(False, False), (True, False), (False, True)])
def test_the_lcm_example_takes_each_pose_of_the_flight_once(hears_start: bool, loses: bool) -> None:
    """Also if it receives the pose of the start, or asks again because an answer is lost."""
    pytest.importorskip("lcm")
    example = runpy.run_path(str(EXAMPLES / "lcm_takeoff.py"))
    network = Network(hears_start, loses)
    hover: Any = example["Hover"](network, 1.5)
    network.subscribe("poseMoCap", hover.on_pose)
    hover.send("time_t", "arm", utime=0)
    example["lock_step"](network, hover, 4.0)
    assert len(hover.heights) == 4 * 360
    assert hover.heights[-1] == pytest.approx(1.5, abs=0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--speeds", "0"], "error: speeds = 0 m/s: expected 0.1 to 10; use 2 4 6"),
        (["--speeds", "nan"], "error: speeds = nan m/s: expected 0.1 to 10; use 2 4 6"),
        (["--vio", "-1"], "error: vio = -1: expected a number of flights, 0 or more"),
        (["--plot", "no/x.png"], "error: plot = no/x.png: expected a file in an existing folder"),
        (["--plot", "x.txt"], "error: plot = x.txt: expected a name that ends in .png"),
    ],
)
def test_wrong_arguments_are_reported_before_flights(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    pytest.importorskip("cv2")
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "perception_aware_yaw.py"), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (1, message, "")


@pytest.mark.slow
def test_a_recorded_flight_is_rendered_by_another_process(tmp_path: Path) -> None:
    """Without a recorded flight the example simulates one."""
    pytest.importorskip("zmq")
    ran = subprocess.run(
        [
            sys.executable,
            str(EXAMPLES / "vehicle_in_the_loop.py"),
            *("--seconds", "2", "--speed", "2"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    summary = re.search(r"(\d+) of (\d+) poses used, 0 stale, (\d+) frames", ran.stdout)
    assert summary is not None, ran.stdout
    used, rows, frames = map(int, summary.groups())
    assert used == rows
    assert frames > 10
    assert "time stamp of a pose: True" in ran.stdout
