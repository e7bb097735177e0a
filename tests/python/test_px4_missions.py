"""The missions of policies behind PX4 succeed if flown exactly, and fail with an error."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

from propwash._rotation import from_euler, rotation
from px4_missions import LandMission, Mission, RaceMission, TrackMission, mission

LEVEL = (1.0, 0.0, 0.0, 0.0)
REST = (0.0, 0.0, 0.0)


def state(place: np.ndarray, velocity: tuple[float, ...] = REST) -> list[float]:
    return [*place, *velocity, *LEVEL, *REST]


@pytest.mark.parametrize(("error", "success"), [(0.05, True), (0.15, False)])
def test_hover_is_within_a_distance(error: float, success: bool) -> None:
    place = np.array([3.0, -2.0, 4.0])
    found = mission("hover", place, 0.0, 0.0)
    assert type(found) is Mission
    for k in range(481):
        goal = found(7.0 + k / 96.0, state(place + np.array([error, 0.0, 0.0])))
        assert goal == pytest.approx(place)
    assert found.is_over
    assert found.result()[0] is success


@pytest.mark.parametrize(("error", "success"), [(0.05, True), (0.15, False)])
def test_track_follows_the_target(error: float, success: bool) -> None:
    place = np.array([3.0, -2.0, 4.0])
    found = mission("track", place, 0.0, 0.0)
    assert isinstance(found, TrackMission)
    at, step, t = place, 1.0 / 96.0, 7.0
    goals = []
    while not found.is_over:
        goal = np.array(found(t, state(at + np.array([0.0, 0.0, error]))))
        goals.append(goal)
        t += step
        at = goal[:3] + step * goal[3:6]
    targets = np.array(goals)
    assert targets[0, :3] == pytest.approx(place)
    assert np.linalg.norm(targets[:, 3:6], axis=1) == pytest.approx(2.0, abs=0.02)
    # where the target is to be in 0.4 s is where it then is, to a step
    assert targets[:-38, 12:15] == pytest.approx(targets[38:, :3], abs=0.03)
    assert found.result()[0] is success


@pytest.mark.parametrize(
    ("speed", "aside", "success"), [(0.4, 0.1, True), (1.0, 0.1, False), (0.4, 0.5, False)]
)
def test_landing_is_soft_and_on_the_pad(speed: float, aside: float, success: bool) -> None:
    found = mission("land", np.array([3.0, -2.0, 4.0]), 0.0, 0.25)
    assert isinstance(found, LandMission)
    for k in range(96):
        place = np.array([3.0 + aside, -2.0, 0.25])
        assert found(7.0 + k / 96.0, state(place, (0.0, 0.0, -speed))) == [3.0, -2.0, 0.25]
    assert not found.is_over
    found.touched = True
    assert found.is_over
    assert found.result()[0] is success


@pytest.mark.parametrize(("aside", "success"), [(0.0, True), (5.0, False)])
def test_the_race_is_won_through_all_gates(aside: float, success: bool) -> None:
    place, yaw = np.array([3.0, -2.0, 4.0]), 1.0
    found = mission("race", place, yaw, 0.0)
    assert isinstance(found, RaceMission)
    goal = np.array(found(7.0, state(place)))
    # the course turns with the vehicle at its start
    other = np.array(mission("race", np.zeros(3), 0.0, 0.0)(7.0, state(np.zeros(3))))
    turn = rotation(from_euler(0.0, 0.0, yaw))
    assert goal[:3] - place == pytest.approx(turn @ other[:3])
    assert goal[3:6] == pytest.approx(turn @ other[3:6])
    at, t = place, 7.0
    while not found.is_over:
        centre, along, left = goal[:3], goal[3:6], goal[6:9]
        for end in (centre - along + aside * left, centre + along + aside * left):
            for part in np.linspace(0.0, 1.0, 12)[1:]:
                t += 1.0 / 96.0
                goal = np.array(found(t, state(at + part * (end - at))))
            at = end
    passed, text = found.result()
    assert passed is success
    assert text.startswith("11 of 11" if success else "0 of 11")
