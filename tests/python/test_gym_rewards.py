"""Weights of rewards: the documented sums by default, and one term for each weight."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.world import Gate, Plane, Scene, Start

gym = pytest.importorskip("gymnasium")

import propwash.gym as pg  # noqa: E402
from propwash.gym._rewards import Reward  # noqa: E402

SIZE, STEPS = 64, 80

GATE = Gate(name="only", position=(0.5, 0.0, 2.0), width=1.6, height=1.6, border=0.2, depth=0.1)
COURSE = Scene([Plane(name="ground"), GATE], start=Start(position=(0.4, 0.0, 2.0), yaw=0.0))

LENGTHS = ("position_scale", "speed_margin")
PREVIOUS = ("_distance", "_before")


def squares(rows: Any) -> Any:
    return np.sum(np.square(rows, dtype=np.float64), axis=1)


def hover(task: Any, state: Any, _: Any) -> Any:
    far = np.sqrt(squares(state.position))
    upright = 1.0 - 2.0 * squares(state.attitude[:, 1:3])
    change = squares(state.action - state.previous_action)
    return 1 / (1 + far) + 0.2 * upright - 0.002 * squares(state.body_rates) - 0.02 * change


def track(task: Any, state: Any, _: Any) -> Any:
    position, velocity = task.reference(state)
    far = np.sqrt(squares(state.position - position))
    slip = np.sqrt(squares(state.velocity - velocity))
    change = squares(state.action - state.previous_action)
    return 1 / (1 + 2 * far) - 0.02 * slip - 0.002 * squares(state.body_rates) - 0.02 * change


def land(task: Any, state: Any, before: Any) -> Any:
    far = np.sqrt(squares(state.position))
    approach = squares(state.velocity) / (far + 0.3) ** 2
    end = np.where(task._landed, 10.0, np.where(task._terminated, -10.0, 0.0))
    return (
        4 * (before["_distance"] - far) - 0.002 * approach - 0.002 * squares(state.body_rates) + end
    )


def race(task: Any, state: Any, before: Any) -> Any:
    centre = np.array(GATE.position)
    before_step, after_step = (
        np.sqrt(squares(at - centre)) for at in (before["_before"], state.position)
    )
    end = 10.0 * task._passed - 10.0 * task.collided
    return before_step - after_step - 0.001 * squares(state.body_rates) + end


Case = tuple[Any, type[Reward], Callable[..., Any], dict[str, Any]]
CASES: list[Case] = [
    (pg.Hover, pg.HoverReward, hover, {}),
    (pg.Track, pg.TrackReward, track, {}),
    (pg.Land, pg.LandReward, land, {"position": 0.0, "height": (0.06, 0.3)}),
    (pg.Race, pg.RaceReward, race, {"course": COURSE, "spread": 0.05}),
]
"""Task, weights, reward with default weights, and options with which all terms occur."""

by_task = pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)


def fly(kind: type[pg.Task], options: dict[str, Any]) -> Any:
    """Rewards (STEPS, SIZE) of flights that do not depend on the weights."""
    env = pg.make_vec(kind, SIZE, **options)
    env.reset(seed=5)
    rng = np.random.default_rng(7)
    mean_action = rng.uniform(-1.0, 1.0, (SIZE, 4)) * (0.05, 0.05, 0.05, 1.0)
    rewards = []
    for _ in range(STEPS):
        action = mean_action + rng.uniform(-0.1, 0.1, (SIZE, 4))
        rewards.append(env.step(action.clip(-1.0, 1.0).astype(np.float32))[1].copy())
    return np.array(rewards, dtype=np.float64)


@by_task
def test_default_weights_give_the_documented_sum(case: Case) -> None:
    kind, _, formula, options = case
    base: Any = kind
    compared: list[Any] = []

    class Compared(base):  # type: ignore[misc]
        def update(self, state: pg.State) -> None:
            before = copy.deepcopy({n: v for n, v in vars(self).items() if n in PREVIOUS})
            super().update(state)
            compared.append((self.reward(state).copy(), formula(self, state, before)))

    fly(Compared, options)
    rewards, expected = (np.array(each) for each in zip(*compared, strict=True))
    assert rewards.shape == (STEPS, SIZE)
    np.testing.assert_allclose(rewards, expected, rtol=1e-5, atol=1e-4)


@by_task
def test_doubling_a_weight_doubles_its_term(case: Case) -> None:
    """The reward is linear in each weight and equals the sum of its terms."""
    kind, weights, _, options = case
    total = fly(kind, options)
    names = [name for name in weights.__struct_fields__ if name not in LENGTHS]
    terms = np.zeros_like(total)
    for name in names:
        default = getattr(weights(), name)
        without = fly(kind, options | {"weights": {name: 0.0}})
        doubled = fly(kind, options | {"weights": weights(**{name: 2.0 * default})})
        term = total - without
        assert np.abs(term).max() > 1e-4, name
        np.testing.assert_allclose(doubled - total, term, atol=1e-5, err_msg=name)
        terms += term
    np.testing.assert_allclose(terms, total, atol=1e-5)
    nothing = fly(kind, options | {"weights": dict.fromkeys(names, 0.0)})
    assert not nothing.any()


@pytest.mark.parametrize("scale", [0.25, 1.0, 3.0])
def test_position_scale_is_the_distance_at_half_the_position_term(scale: float) -> None:
    for kind in (pg.Hover, pg.Track):
        only: dict[str, float] = dict.fromkeys(kind().weights.__struct_fields__, 0.0)
        only |= {"position": 1.0, "position_scale": scale}
        base: Any = kind
        records: list[Any] = []

        class Recorded(base):  # type: ignore[misc]
            def update(self, state: pg.State) -> None:
                super().update(state)
                records.append((self._distance.copy(), self.reward(state).copy()))  # noqa: B023

        fly(Recorded, {"weights": only})
        distance, reward = (np.array(each, dtype=np.float64) for each in zip(*records, strict=True))
        np.testing.assert_allclose(1.0 / reward - 1.0, distance / scale, rtol=1e-4, atol=1e-5)


@by_task
def test_non_finite_weights_are_refused(case: Case) -> None:
    kind, weights, _, options = case
    for name in weights.__struct_fields__:
        for wrong in (math.nan, math.inf, -math.inf, 1e39, "1", None, True):
            with pytest.raises(pw.ParameterError, match=rf"^weights\.{name} = .*: expected a "):
                kind(**options, weights={name: wrong})
        if name in LENGTHS:
            for small in (0.0, -1.0, 1e-7):
                with pytest.raises(pw.ParameterError, match=rf"{name} = .*: expected at least"):
                    weights(**{name: small})
    with pytest.raises(pw.ParameterError, match=f"{weights.__name__} has no field 'ratse'"):
        kind(**options, weights={"ratse": 1.0})
    with pytest.raises(pw.ParameterError, match=f"weights = 3: expected {weights.__name__} or"):
        kind(**options, weights=3)


def test_copies_and_snapshots_keep_weights() -> None:
    weights = pg.HoverReward(upright=0.5)
    assert pickle.loads(pickle.dumps(weights)) == copy.deepcopy(weights) == weights
    name = "propwash.gym:propwash/Hover-v0"
    one = gym.make_vec(name, num_envs=2, weights={"upright": 0.5})
    two = pg.make_vec(pg.Hover, 2, weights=weights)
    one.reset(seed=1)
    two.reset(seed=1)
    action = np.zeros((2, 4), dtype=np.float32)
    assert np.array_equal(one.step(action)[1], two.step(action)[1])
    with pytest.raises(ValueError, match="with the same weights"):
        pg.make_vec(pg.Hover, 2).restore(two.snapshot())
