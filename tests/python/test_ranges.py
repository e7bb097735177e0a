"""The schema of the parameters in C++ against the Python classes, the file schema and the docs."""

from __future__ import annotations

import ast
import inspect
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS
from propwash import _core
from propwash.vehicle import outer_loops
from propwash.vehicle.parameters import ParameterError, ParameterSet

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "propwash" / "vehicle" / "ranges.hpp"
PAGE = ROOT / "docs" / "vehicles.md"

Row = tuple[str, str, float, float]


class Entry(NamedTuple):
    """A field of the schema."""

    name: str
    shape: tuple[int, ...]
    is_structural: bool
    unit: str
    meaning: str
    smallest: float
    largest: float

    @property
    def description(self) -> str:
        return ", ".join(text for text in (self.unit, self.meaning) if text)


VEHICLE = [Entry(*row) for row in _core.parameter_table(pw.vehicles.load("penguin"))]
CAR = [Entry(*row) for row in _core.car_parameter_table()]
LOOPS = [Entry(*row) for row in _core.outer_loop_table()]


def _ratios() -> list[Row]:
    """Name, unit, smallest and largest of the ranges of ratios."""
    if not HEADER.exists():
        pytest.skip("the headers are missing")
    entry = r'Ratio\{"([^"]+)",\s*"([^"]*)",\s*([-+.\de]+),\s*([-+.\de]+)'
    rows = re.findall(entry, HEADER.read_text(encoding="utf-8"))
    return [(name, unit, float(low), float(high)) for name, unit, low, high in rows]


def _documented() -> list[Row]:
    found = re.findall(
        r"^\| `?([^|`]+?)`? \| ([^|]*?) \| ([.\d][-+.\de]*) \| ([.\d][-+.\de]*) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.M,
    )
    return [(name, unit.strip(), float(low), float(high)) for name, unit, low, high in found]


def test_documented_ranges_equal_the_schema() -> None:
    ratios = _ratios()
    assert len(ratios) > 10
    single = [
        (entry.name, entry.unit, entry.smallest, entry.largest)
        for entry in (*VEHICLE, *CAR)
        if math.isfinite(entry.largest)  # the others are unit vectors and signs
    ]
    assert _documented() == [*single, *ratios]


def _numbers(kind: type[ParameterSet], prefix: str) -> dict[str, tuple[str, str]]:
    """Unit and meaning of each number of a class and its groups, by dotted name."""
    found: dict[str, tuple[str, str]] = {}
    for name, form in kind.__annotations__.items():
        group = next(iter(getattr(form, "__args__", ())), form)  # of a tuple of rotors
        if isinstance(group, type) and issubclass(group, ParameterSet):
            found |= _numbers(group, f"{prefix}{name}.")
        elif name not in ("name", "discretisation", "gyroscopic_term"):
            field = kind.field(name)
            found[prefix + name] = (field.unit, field.meaning)
    return found


@pytest.mark.parametrize(
    ("kind", "schema"), [(pw.VehicleParameters, VEHICLE), (pw.CarParameters, CAR)]
)
def test_classes_have_the_names_units_and_meanings_of_the_schema(
    kind: type[ParameterSet], schema: list[Entry]
) -> None:
    expected = [(entry.name, (entry.unit, entry.meaning)) for entry in schema]
    assert list(_numbers(kind, "").items()) == expected


def test_the_documentation_of_a_group_has_units_and_meanings() -> None:
    assert "\n    mass: mass of the whole vehicle, kg" in (inspect.getdoc(pw.BodyParameters) or "")
    assert pw.VehicleParameters.field("process_noise").description == ""


def test_the_file_schema_describes_each_parameter() -> None:
    tables: dict[str, Any] = pw.vehicles.json_schema()["$defs"]
    for entry in VEHICLE:
        table, _, name = entry.name.removeprefix("rate_controller.filter").rpartition(".")
        described = tables[table or "filter"]["properties"][name]["description"]
        assert described == ", ".join(text for text in (entry.meaning, entry.unit) if text)


def test_docstrings_of_outer_loops_equal_the_schema() -> None:
    (loops,) = ast.parse(inspect.getsource(outer_loops.OuterLoops)).body
    assert isinstance(loops, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, text in zip(loops.body, loops.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            texts[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    for entry in LOOPS:
        description = entry.description
        assert texts.pop(entry.name) == description[0].upper() * (not entry.unit) + (
            description[not entry.unit :] + "."
        )
    assert set(texts) == {"interval", "prioritised"}


def test_a_very_distant_rotor_is_refused(tmp_path: Path) -> None:
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
    """Froude-similar vehicles: lengths scale with s, masses with s³, times with s^(1/2)."""

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
    motor = {"time_constant_up": 1, "time_constant_down": 1, "command_delay": 1}
    motor |= {"speed_min": -1, "speed_max": -1}
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
        inflow={
            "axial": scaled(v.inflow.axial, 1, 0, 0),
            "translational": scaled(v.inflow.translational, 1, -1, 0),
            "radius": scaled(v.inflow.radius, 0, 1, 0),
            "drag": scaled(v.inflow.drag, 1, 0, 0),
            "axial_drag": scaled(v.inflow.axial_drag, 1, -1, 0),
            "flapping": scaled(v.inflow.flapping, 1, 1, 0),
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
