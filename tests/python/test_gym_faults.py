"""Environments in unusual cases: copies, unusual arrays, divergence."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any, ClassVar

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from gym_helpers import idle

KINDS: list[type[pg.Task]] = [pg.Hover, pg.Track, pg.Race, pg.Land]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["rate_thrust", "velocity"])
def test_copies_continue_identically(kind: type[pg.Task], action: str) -> None:
    env = pg.make_vec(kind, 3, action=action, max_episode_steps=6, wind=2.0)
    env.reset(seed=5)
    rng = np.random.default_rng(1)
    actions = rng.uniform(-1, 1, (12, 3, 4)).astype(np.float32)
    for each in actions[:4]:
        env.step(each)
    others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for each in actions[4:]:
        observations, reward, *flags, _ = env.step(each)
        for other in others:
            other_observations, other_reward, *other_flags, _ = other.step(each)
            assert np.array_equal(observations, other_observations)
            assert np.array_equal(reward, other_reward)
            assert np.array_equal(flags, other_flags)
    assert pickle.loads(pickle.dumps(kind())).frame == "world"


class Accelerometer(pg.Task):
    """Observes only the accelerometer."""

    episode_seconds: ClassVar[float] = 1e9

    def reset_state(self, draws: pg.Draws) -> dict[str, Any]:
        return {"position": draws.uniform(-1, 1, 3)}

    def observation(self, state: pg.State) -> Any:
        return state.imu.specific_force

    def reward(self, state: pg.State) -> Any:
        return np.full(state.size, 0.25, ">f4")


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_a_diverged_environment_does_not_affect_new_episodes(mode: str) -> None:
    env = pg.make_vec(Accelerometer, 3, autoreset_mode=mode)
    env.reset(seed=0)
    env.fleet.set_state(velocity=np.full((3, 3), 3e37), mask=np.array([True, False, False]))
    observations, reward, terminated, *_ = env.step(idle(env))
    assert np.array_equal(terminated, [True, False, False])
    assert np.isfinite(observations).all()
    assert np.array_equal(reward[1:], [0.25, 0.25])  # also with another byte order
    if mode == "DISABLED":
        observations, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
        assert np.isfinite(observations).all()
        env.reset(options={"reset_mask": np.array([True, False, False])})
    observations, *_ = env.step(idle(env))
    assert np.isfinite(observations).all()


def test_observations_share_one_array_without_copies() -> None:
    class Wider(pg.Hover):
        def observation(self, state: pg.State) -> Any:
            observations = super().observation(state)
            return np.concatenate([observations, state.time[:, None]], axis=1)

    for env in (
        pg.make_vec(pg.Land, 2, copy=False, observation="sensors"),
        pg.make_vec(Wider, 2, copy=False),
    ):
        first, _ = env.reset(seed=0)
        second, *_ = env.step(idle(env))
        assert first is second


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
