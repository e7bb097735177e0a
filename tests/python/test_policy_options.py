"""Policies flown with other options than those of their training."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

import propwash as pw
from propwash.cli.main import main
from propwash.gym.policy import DifferenceWarning, Policy

CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "none": ({"copy": False, "wind": 0, "vehicle": "flightgoggles"}, []),
    "wind": ({"wind": 3}, ["wind = 3: the policy's is 0.0"]),
    "drawn mass": ({"randomize": {"mass": 0.2}}, ["randomize = {'mass': 0.2}: the policy's is {}"]),
    "rate": (
        {"substeps": 20},
        ["substeps = 20: the policy's is 10", "rate = 48 Hz: the policy's is 96 Hz"],
    ),
    "argument": ({"bound": 2.0}, ["bound = 2.0: the policy's is 10.0"]),
    "parameters": (
        {"vehicle": pw.vehicles.load("flightgoggles").without_noise()},
        ["vehicle = flightgoggles: the policy's has other values"],
    ),
    "file": ({"vehicle": pw.vehicles.path("flightgoggles")}, []),
    "vehicle": (
        {"vehicle": pw.vehicles.load("crazyflie")},
        [
            "vehicle = crazyflie: the policy's is flightgoggles",
            "mass = 0.027 kg: the policy's is 1 kg",
        ],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_differences_from_the_training_are_reported(name: str) -> None:
    changes, lines = CHANGES[name]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        envs = Policy.load("hover").make_vec(2, **changes)
    assert envs.num_envs == 2
    assert [str(each.message) for each in said] == lines
    assert all(each.category is DifferenceWarning for each in said)


@pytest.mark.parametrize(("name", "value"), [("substeps", 0), ("substeps", 2.5), ("dt", 0.0)])
def test_invalid_options_are_refused(name: str, value: float) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{name}: expected "):
        Policy.load("hover").differences(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame", "world"),
        ("action", "rotor_thrusts"),
        ("action", "velocity"),
        ("max_rates", (4, 4, 4)),
    ],
)
def test_other_meanings_of_observations_and_actions_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} = .*: expected .*, that of the policy"):
        Policy.load("hover").make_vec(2, **{name: value})


def test_fly_reports_differences_and_refuses_other_meanings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two thirds of the vehicles were lost without a word with frame=world."""
    fly = ["fly", "--policy", "hover", "--episodes", "3", "--out", str(tmp_path / "fly.png")]
    assert main([*fly, "--option", "wind=3", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == ["propwash: wind = 3: the policy's is 0.0"]
    assert json.loads(said.out)
    assert main(fly) == 0
    assert capsys.readouterr().err == ""
    for option in ("frame=world", "action=rotor_thrusts"):
        assert main([*fly, "--option", option]) == 2
        name, value = option.split("=")
        assert capsys.readouterr().err.startswith(f"propwash: {name} = '{value}': expected ")
