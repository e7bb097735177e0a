"""Time-optimal paths through courses, flown with the true state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from propwash import race, trajectories
from propwash.race._fastest import FASTEST_LIMITS, _around
from propwash.world import Gate, Scene

pytest.importorskip("casadi")
pytest.importorskip("scipy")


@pytest.mark.slow
def test_a_flight_along_the_fastest_path_beats_the_planner_and_not_the_bound() -> None:
    scene = Scene.load("alphapilot", seed=3)
    plans: list[trajectories.TimeOptimal] = []
    path = race.fastest_path(scene, progress=plans.append)
    flown, planned = race.fly(3, path=path), race.fly(3)
    bound = race.fastest_time(scene)
    assert flown.finished
    assert planned.finished
    assert plans[-1] is path
    assert bound < flown.time < bound + 0.7
    assert flown.score > planned.score + 2.0
    reached = trajectories.demands(path.sample(path.time), "flightgoggles", FASTEST_LIMITS)
    assert reached["tilt"].max() < 1.01
    with pytest.raises(ValueError, match="path: expected without a pilot"):
        race.fly(3, path=path, pilot=race.SensorPilot)


def test_a_path_is_a_path_and_has_its_own_limits() -> None:
    path = trajectories.minimum_snap([(0.0, 0.0, 1.0), (1.0, 0.0, 1.0)])
    wrong: Any = [(0.0, 0.0, 1.0)]
    with pytest.raises(TypeError, match=r"path: expected a trajectories.Path or None, got \["):
        race.fly(path=wrong)
    with pytest.raises(ValueError, match="limits: expected without a path"):
        race.fly(path=path, limits=FASTEST_LIMITS)


@pytest.mark.parametrize("height", [6.0, 1.5])
def test_a_gate_is_passed_under_or_over_its_frame(height: float) -> None:
    attitude = (np.cos(0.35), 0.0, 0.0, np.sin(0.35))
    gate = Gate(
        name="gate",
        position=(1.0, 2.0, height),
        attitude=attitude,
        width=1.8,
        height=1.8,
        border=0.3,
    )
    window, behind = _around(gate)
    assert isinstance(window, trajectories.Rectangle)
    frame = 0.5 * gate.height + gate.border
    side = np.sign(np.asarray(window.centre)[2] - height)
    assert side == (-1.0 if height > 3.0 else 1.0)
    gap = abs(np.asarray(window.centre)[2] - height) - 0.5 * window.height - frame
    assert gap > 2.0 * race.COLLISION_RADIUS
    assert np.asarray(window.centre)[2] - 0.5 * window.height > race.COLLISION_RADIUS
    axis = np.array([np.cos(0.7), np.sin(0.7), 0.0])
    assert float((np.asarray(behind.centre) - gate.position) @ axis) < -0.5
    backwards: Any = [value for value, *_ in window.rows(np.asarray(window.centre), -axis)]
    assert backwards[-1] > 0.0
