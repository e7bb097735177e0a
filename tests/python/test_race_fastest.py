"""Time-optimal paths through courses, flown with the true state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import race, trajectories
from propwash.race._fastest import FASTEST_LIMITS, openings, sides
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
    assert bound < flown.time < 1.015 * bound
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
    side = sides(np.array([3.0, 4.0, height]), [gate])[0]
    assert side == (-1.0 if height > 3.0 else 1.0)
    margin, frame = 0.4, 0.5 * gate.height + gate.border
    window, outer, inner, opening = openings([gate], [side], 0.2, margin)
    gap = side * (np.asarray(window.centre)[2] - height) - 0.5 * window.height - frame
    assert gap == pytest.approx(margin)
    axis = np.array([np.cos(0.7), np.sin(0.7), 0.0])
    assert window.rows(np.asarray(window.centre), -axis)[-1][0] > 0.0
    for behind, edge in ((outer, frame), (inner, 0.5 * gate.height)):
        # a horizontal opening at an edge of the frame, passed towards the opening of the gate
        local = np.asarray(behind.centre) - gate.position
        assert side * local[2] == pytest.approx(edge)
        assert local @ axis + 0.5 * behind.height == pytest.approx(-margin - 0.5 * gate.depth)
        towards: Any = [value for value, *_ in behind.rows(behind.centre, (0.0, 0.0, -side))]
        assert towards[-1] == pytest.approx(1.0)
    assert opening.width == pytest.approx(gate.width - 2.0 * margin)
    in_front = sides(np.asarray(gate.position) - 5.0 * axis, [gate])
    assert in_front == [0.0]
    assert openings([gate], in_front, 0.2, margin)[0].width == pytest.approx(gate.width - 0.4)


@pytest.mark.slow
def test_the_course_is_flown_by_sensors_along_fastest_paths() -> None:
    result = race.fly(4, pilot=race.FastestPilot)
    assert result.finished
    assert result.score > 96.5


@pytest.mark.slow
def test_the_pilot_keeps_thrust_for_wind_and_an_unknown_mass() -> None:
    pilots = []

    def maker(briefing: race.Briefing) -> race.FastestPilot:
        pilots.append(race.FastestPilot(briefing))
        return pilots[0]

    known = pw.vehicles.load("flightgoggles")
    heavy = known.replace(body={"mass": 1.1 * known.body.mass})
    gusts = pw.Dryden(5.0, altitude=5.0, airspeed=15.0)
    result = race.fly(
        3, heavy, control_vehicle=known, pilot=maker, wind=(5.0, 0.0, 0.0), turbulence=gusts
    )
    assert result.finished
    assert result.score > 92.0
    assert pilots[0].reserve > 0.1


@pytest.mark.slow
def test_briefed_limits_are_kept_in_wind() -> None:
    """Limits of 0.5 leave more thrust than the wind requires: they hold, and are a reserve."""
    pilots = []

    def maker(briefing: race.Briefing) -> race.FastestPilot:
        pilots.append(race.FastestPilot(briefing))
        return pilots[0]

    limits = replace(race.FASTEST_LIMITS, thrust=0.5)
    result = race.fly(0, pilot=maker, limits=limits, wind=(6.0, 0.0, 0.0))
    assert result.finished
    assert result.score > 90.0
    assert pilots[0].reserve > 0.1


def test_a_pilot_flies_for_a_second_and_plans_again() -> None:
    pilots = []

    def maker(briefing: race.Briefing) -> race.FastestPilot:
        pilots.append(race.FastestPilot(briefing))
        return pilots[0]

    result = race.fly(3, pilot=maker, time_limit=1.2)
    assert [passage.gate for passage in result.passages] == ["Gate10"]
    assert pilots[0].plans > 1
    assert result.estimation is not None
    assert result.estimation.position < 0.05
