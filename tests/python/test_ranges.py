"""Ranges of parameters: one table in C++, the same in the docs, with the units of the classes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS
from propwash.parameters import ParameterError, ParameterSet

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "propwash" / "vehicle" / "ranges.hpp"
PAGE = ROOT / "docs" / "vehicles.md"

Row = tuple[str, str, float, float]


def _table(kind: str) -> list[Row]:
    """Name, unit, smallest and largest of each range of the header."""
    if not HEADER.exists():
        pytest.skip("the tests do not lie beside the headers")
    entry = rf'{kind}\{{"([^"]+)", "([^"]*)",\s*([-+.\de]+),\s*([-+.\de]+)'
    rows = re.findall(entry, HEADER.read_text(encoding="utf-8"))
    return [(name, unit, float(low), float(high)) for name, unit, low, high in rows]


def _documented() -> list[Row]:
    found = re.findall(
        r"^\| `?([^|`]+?)`? \| ([^|]*?) \| ([.\d][-+.\de]*) \| ([.\d][-+.\de]*) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.M,
    )
    return [(name, unit.strip(), float(low), float(high)) for name, unit, low, high in found]


def test_the_page_has_the_ranges_of_the_header() -> None:
    ranges = [*_table("ParameterRange"), *_table("RatioRange")]
    assert len(ranges) > 50
    assert _documented() == ranges


def _unit(name: str) -> str | None:
    """Of a field of the classes by its dotted name; None where the class has none."""
    *groups, field = name.replace("rotors.", "rotor.").split(".")
    table = ".".join(groups)
    kinds: list[type[ParameterSet]] = [*ParameterSet.__subclasses__()]
    for kind in kinds:
        if kind.table == table and kind.__module__ == "propwash.parameters":
            if not table and kind is not pw.CarParameters:
                continue
            return kind.field(field).unit
    return None


def test_units_are_those_of_the_classes() -> None:
    for name, unit, *_ in _table("ParameterRange"):
        assert _unit(name) == unit, name


def test_a_rotor_at_the_end_of_the_world_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "far.toml"
    text = (
        pw.vehicles.load("penguin").to_toml().replace("position = [0.158,", "position = [1e308,", 1)
    )
    path.write_text(text, encoding="utf-8")
    expected = r"far\.toml: .*rotors\[0\]\.position\[0\] = 1e\+308: expected a magnitude of at most"
    for make in (pw.Multicopter, pw.Fleet, pw.RateController, pw.Allocation):
        with pytest.raises(ParameterError, match=expected):
            make(path)
    with pytest.raises(
        ParameterError, match=expected.partition("far")[0] + r"vehicle 'penguin': rot"
    ):
        pw.validate(pw.vehicles.load(path))


@pytest.mark.parametrize("name", MULTICOPTERS)
@pytest.mark.parametrize("scale", [0.04, 80.0])
def test_insects_and_airliners_are_within_the_ranges(name: str, scale: float) -> None:
    """Similar vehicles by Froude: lengths times s, masses s³, times s^(1/2)."""

    def scaled(value: object, mass: float, length: float, time: float) -> object:
        power = 3.0 * mass + length + 0.5 * time
        return (scale**power * np.asarray(value)).tolist()

    v = pw.vehicles.load(name)
    rotors = tuple(
        rotor.replace(
            position=scaled(rotor.position, 0, 1, 0),
            thrust_coefficient=scaled(rotor.thrust_coefficient, 1, 1, 0),
            torque_coefficient=scaled(rotor.torque_coefficient, 1, 2, 0),
            inertia=scaled(rotor.inertia, 1, 2, 0),
        )
        for rotor in v.rotors
    )
    motor = {"time_constant_up": 1, "time_constant_down": 1, "command_delay": 1, "speed_max": -1}
    similar = v.replace(
        body={"mass": scaled(v.body.mass, 1, 0, 0), "inertia": scaled(v.body.inertia, 1, 2, 0)},
        rotors=rotors,
        motor={name: scaled(getattr(v.motor, name), 0, 0, time) for name, time in motor.items()},
        drag={
            "translational": scaled(v.drag.translational, 1, -1, 0),
            "rotational": scaled(v.drag.rotational, 1, 2, 0),
        },
        rotor_drag={
            "linear": scaled(v.rotor_drag.linear, 0, 0, -1),
            "blow_back": scaled(v.rotor_drag.blow_back, 1, 1, -1),
        },
        process_noise={
            "force": scaled(v.process_noise.force, 2, 2, -3),
            "torque": scaled(v.process_noise.torque, 2, 4, -3),
        },
        rate_controller={"proportional": scaled(v.rate_controller.proportional, 0, 0, -1)},
    )
    pw.validate(similar)
    uav = pw.Multicopter(similar)
    uav.step(pw.RotorSpeeds(uav.trim().rotor_speeds), substeps=100)
    assert np.isfinite(uav.state.position).all()
