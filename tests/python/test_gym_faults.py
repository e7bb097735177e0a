"""Environments in unusual cases: copies, unusual arrays, divergence."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from gym_helpers import idle


def test_an_observation_of_another_width_is_refused() -> None:
    class Growing(pg.Hover):
        def observation(self, state: pg.State) -> Any:
            return np.zeros((state.size, 3 + int(state.steps[0])))

    env = pg.make_vec(Growing, 2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"Growing\.observation: expected .*2, 3.*got .*2, 4"):
        env.step(idle(env))


def test_the_state_of_a_race_is_checked_before_use() -> None:
    env = pg.make_vec(pg.Race, 2)
    env.reset(seed=0)
    task = env.task
    assert isinstance(task, pg.Race)
    task.next[1] = 10**9
    with pytest.raises(IndexError, match=r"environment 1: expected course.*and next in \[0, 11\]"):
        env.step(idle(env))


def test_vectors_of_broadcastable_shapes_are_rotated() -> None:
    fleet = pw.Fleet("flightgoggles", 4, threads=1)
    fleet.reset(attitude=[math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    state = pg.State(fleet, 4, 0.01)
    state.read()
    ahead = np.array([1, 0, 0], dtype=np.float32)
    for vector in (ahead, ahead[None], np.tile(ahead, (4, 1))):
        assert np.allclose(state.to_body(vector), [[0, -1, 0]], atol=1e-6)
    assert state.to_body(np.tile(ahead, (4, 2))).shape == (4, 6)


def test_invalid_tasks_are_refused_at_construction() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    gains = pw.RateControllerParameters(proportional=(9.0, 9.0, 0.0))
    from msgspec.structs import replace

    uncontrolled = replace(vehicle, rate_controller=gains)
    for action in ("velocity", "attitude_thrust"):
        with pytest.raises(pw.ParameterError, match=r"rate_controller\.proportional"):
            pg.make_vec(pg.Hover, 2, vehicle=uncontrolled, action=action)
    with pytest.raises(ValueError, match="max_rates"):
        pg.make_vec(pg.Hover, 2, max_rates=(1e39, 1, 1))
    with pytest.raises(ValueError, match="max_speed"):
        pg.make_vec(pg.Hover, 2, max_speed=1e39, action="velocity")

    class Never(pg.Hover):
        episode_seconds: ClassVar[float] = -1.0

    with pytest.raises(ValueError, match="episode_seconds: expected a number > 0"):
        pg.make_vec(Never, 2)
