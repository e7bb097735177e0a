"""Weights of rewards: one term of the reward for each weight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from propwash.gym._rewards import Reward
from propwash.world import Gate, Plane, Scene, Start

SIZE, STEPS = 64, 80

GATE = Gate(name="only", position=(0.5, 0.0, 2.0), width=1.6, height=1.6, border=0.2, depth=0.1)
COURSE = Scene([Plane(name="ground"), GATE], start=Start(position=(0.4, 0.0, 2.0), yaw=0.0))

LENGTHS = ("position_scale", "speed_margin")


Case = tuple[Any, type[Reward], dict[str, Any]]
CASES: list[Case] = [
    (pg.Hover, pg.HoverReward, {}),
    (pg.Track, pg.TrackReward, {}),
    (pg.Land, pg.LandReward, {"position": 0.0, "height": (0.06, 0.3)}),
    (pg.Race, pg.RaceReward, {"course": COURSE, "spread": 0.05}),
]
"""Task, weights, and options with which all terms occur."""

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
def test_doubling_a_weight_doubles_its_term(case: Case) -> None:
    """The reward is linear in each weight and equals the sum of its terms."""
    kind, weights, options = case
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


@by_task
def test_wrong_weights_are_refused(case: Case) -> None:
    kind, weights, options = case
    for name in weights.__struct_fields__:
        for wrong in (math.nan, math.inf, -math.inf, 1e39, "1", None, True):
            with pytest.raises(pw.ParameterError, match=rf"^weights\.{name} = .*: expected a "):
                kind(**options, weights={name: wrong})
        if name in LENGTHS:
            for small in (0.0, -1.0, 1e-7):
                with pytest.raises(pw.ParameterError, match=rf"{name} = .*: expected at least"):
                    weights(**{name: small})
        elif name == "upright":
            kind(**options, weights={name: -1.0})
        else:
            with pytest.raises(pw.ParameterError, match=rf"{name} = -0.1: expected a number >= 0;"):
                kind(**options, weights={name: -0.1})
    with pytest.raises(pw.ParameterError, match=f"{weights.__name__} has no field 'ratse'"):
        kind(**options, weights={"ratse": 1.0})
    with pytest.raises(pw.ParameterError, match=f"weights = 3: expected {weights.__name__} or"):
        kind(**options, weights=3)


def test_weights_of_other_tasks_are_not_negative_either() -> None:
    from propwash.gym import multi

    for kind, name in ((pg.ForestReward, "smoothness"), (multi.FormationReward, "nearness")):
        with pytest.raises(
            pw.ParameterError, match=rf"weights.{name} = -1.0: expected a number >="
        ):
            kind(**{name: -1.0})
    assert multi.MultiRaceReward(lead=-1.0).lead == -1.0
