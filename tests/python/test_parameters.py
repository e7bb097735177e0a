"""Parameters and vehicle files: shipped files, reading, writing, and refused values."""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import propwash as pw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from propwash.vehicle import parameters

ROOT = Path(__file__).resolve().parents[2]
VEHICLES = ROOT / "python" / "propwash" / "vehicle" / "files"
NAMES = pw.vehicles.names(None)
MULTICOPTERS = pw.vehicles.names()

MINIMAL = """
name = "mine"

[body]
mass = 1
inertia = [0.005, 0.005, 0.007]

[rotor]
thrust_coefficient = 2e-6
torque_coefficient = 3e-8

[[rotors]]
position = [0.1, 0.1, 0]
spin = "ccw"

[[rotors]]
position = [-0.1, 0.1, 0]
spin = "cw"
thrust_coefficient = 2.1e-6

[motor]
time_constant = 0.02
speed_max = 2000.0

[rate_controller]
proportional = 9
filter_cutoff = 25.0
"""


def read(tmp_path: Path, text: str) -> parameters.VehicleParameters:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return pw.vehicles.load(path)


def numbers(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted keys of all numbers in a vehicle file, without list indices."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                yield from numbers(entry, f"{prefix}{key}.")
        elif isinstance(value, list | int | float) and not isinstance(value, bool):
            yield prefix + key


def test_the_shipped_vehicles_are_listed() -> None:
    expected = "blackbird car crazyflie flightgoggles hexacopter neurobem penguin"
    assert expected.split() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_shipped_vehicles_are_valid(name: str) -> None:
    vehicle = pw.vehicles.load(name, None)
    assert vehicle.name == name
    pw.validate(vehicle)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_shipped_file_has_a_source(name: str) -> None:
    tables = tomllib.loads((VEHICLES / f"{name}.toml").read_text(encoding="utf-8"))
    found = tables.pop("sources")
    keys = set(numbers(tables))

    def covers(source: str, key: str) -> bool:
        return key == source or key.startswith(source + ".")

    assert keys
    assert [key for key in keys if not any(covers(source, key) for source in found)] == []
    assert [source for source in found if not any(covers(source, key) for key in keys)] == []
    assert all(text.strip() for text in found.values())
    assert pw.vehicles.sources(name) == found


@pytest.mark.parametrize("name", NAMES)
def test_shipped_vehicles_survive_writing_copying_and_pickling(name: str, tmp_path: Path) -> None:
    vehicle = pw.vehicles.load(name, None)
    path = tmp_path / "written.toml"
    path.write_text(vehicle.to_toml(), encoding="utf-8")
    assert pw.vehicles.load(path, None) == vehicle
    assert copy.deepcopy(vehicle) == vehicle
    assert pickle.loads(pickle.dumps(vehicle)) == vehicle


@pytest.mark.parametrize("name", MULTICOPTERS)
def test_shipped_vehicles_hover_under_their_controllers(name: str) -> None:
    """With all noise, the yaw rate is reached and the tilt stays small."""
    vehicle = pw.vehicles.load(name)
    uav = pw.Multicopter(vehicle, seed=3)
    weight = vehicle.body.mass * np.linalg.norm(vehicle.body.gravity)
    uav.step(pw.RateThrust([0, 0, 1], thrust=weight), substeps=3 * 960)
    # noise, and the steady error of a PID with a slow integral, are below 0.25 rad/s
    assert abs(np.asarray(uav.state.body_rates)[2] - 1.0) < 0.25
    assert np.all(np.abs(np.asarray(uav.state.body_rates)[:2]) < 0.25)
    w, x, y, z = np.asarray(uav.state.attitude)
    assert w * w - x * x - y * y + z * z > math.cos(math.radians(10.0))


def test_the_low_pass_has_the_published_coefficients() -> None:
    controller = pw.vehicles.load("flightgoggles").rate_controller
    assert controller.filter.stiffness == pytest.approx(35530.5758439217, rel=1e-14)
    assert controller.filter.damping == pytest.approx(266.572976289502, rel=1e-14)


def test_the_generated_header_is_up_to_date() -> None:
    tool = ROOT / "tools" / "generate_vehicles.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_committed_schema_is_up_to_date() -> None:
    committed = json.loads((VEHICLES / "schema.json").read_text(encoding="utf-8"))
    assert committed == pw.vehicles.json_schema()


@pytest.mark.parametrize("text", [MINIMAL, *((VEHICLES / f"{n}.toml").read_text() for n in NAMES)])
def test_files_are_valid_by_the_schema(text: str) -> None:
    jsonschema.Draft202012Validator.check_schema(pw.vehicles.json_schema())
    jsonschema.validate(tomllib.loads(text), pw.vehicles.json_schema())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("mass = 1", 'mass = "1 kg"'),
        ("mass = 1", "mas = 1"),
        ("mass = 1", ""),
        ('"ccw"', '"left"'),
        ("[0.1, 0.1, 0]", "[0.1, 0.1]"),
        ("[0.005, 0.005, 0.007]", "[0.005, 0.005]"),
    ],
)
def test_schema_and_loader_refuse_the_same_files(tmp_path: Path, right: str, wrong: str) -> None:
    text = MINIMAL.replace(right, wrong, 1)
    assert text != MINIMAL
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), pw.vehicles.json_schema())
    with pytest.raises(pw.ParameterError):
        read(tmp_path, text)


def test_the_examples_of_the_documentation_work(tmp_path: Path) -> None:
    """The complete file is valid and flies; the vehicle defined in code is valid."""
    text = (ROOT / "docs" / "vehicles.md").read_text(encoding="utf-8")
    complete = text.split("```toml\n")[1].split("```")[0]
    jsonschema.validate(tomllib.loads(complete), pw.vehicles.json_schema())
    vehicle = read(tmp_path, complete)
    pw.Multicopter(vehicle).step(pw.RateThrust([0, 0, 0.1], thrust=9.81))
    code = next(block for block in text.split("```python\n") if block.startswith("arm ="))
    namespace: dict[str, Any] = {"pw": pw}
    exec(code.split("```")[0], namespace)
    pw.validate(namespace["vehicle"])


def test_short_forms_are_expanded(tmp_path: Path) -> None:
    vehicle = read(tmp_path, MINIMAL)
    assert vehicle.body.mass == 1.0
    assert vehicle.body.inertia == pw.parameters.diagonal(0.005, 0.005, 0.007)
    assert [rotor.spin for rotor in vehicle.rotors] == [1.0, -1.0]
    assert [rotor.thrust_coefficient for rotor in vehicle.rotors] == [2e-6, 2.1e-6]
    assert [rotor.torque_coefficient for rotor in vehicle.rotors] == [3e-8, 3e-8]
    assert vehicle.motor.time_constant_up == vehicle.motor.time_constant_down == 0.02
    assert vehicle.rate_controller.proportional == (9.0, 9.0, 9.0)
    assert vehicle.rate_controller.filter == pw.LowPassParameters.butterworth(25.0)


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ("mass = 1", "mas = 1", ["body.mas = 1", "mass"]),
        ("mass = 1", "mass_g = 1000", ["body.mass_g", "mass in kg", "0.001"]),
        ("mass = 1", "mass_kg = 1", ["body.mass_kg", "expected mass"]),
        ("speed_max = 2000.0", "speed_max_rpm = 19000", ["speed_max in rad/s", "0.1047197551"]),
        ("[motor]", "[motor]\narm_cm = 3", ["motor.arm_cm", "SI"]),
        ("mass = 1", 'mass = "1 kg"', ["body.mass = '1 kg'", "a number in kg"]),
        ("mass = 1", "mass = true", ["body.mass = True", "a number"]),
        ("mass = 1", "", ["body.mass", "missing"]),
        ("[0.005, 0.005, 0.007]", "[0.005, 0.005]", ["body.inertia", "3 rows of 3 numbers"]),
        ("[-0.1, 0.1, 0]", '[-0.1, "x", 0]', ["rotors[1].position", "3 numbers in m"]),
        ('"cw"', '"clockwise"', ["rotors[1].spin", '"ccw"']),
        ("[rotor]", "[rotr]", ["[rotr]", "'rotor'"]),
        ("[body]", "[bod]", ["[bod]", "'body'"]),
        ("time_constant = 0.02", "", ["motor.time_constant", "missing"]),
        (
            "time_constant = 0.02",
            "time_constant_up = 0.02",
            ["motor.time_constant_down", "missing"],
        ),
        (
            "time_constant = 0.02",
            "time_constant = 0.02\ntime_constant_up = 0.02",
            ["motor.time_constant_up", "both"],
        ),
        (
            "filter_cutoff = 25.0",
            "filter_cutoff = 25.0\nfilter = {stiffness = 1.0, damping = 1.0}",
            ["filter_cutoff", "both"],
        ),
        ("proportional = 9", "proportional = [9, 9]", ["proportional", "a number or 3 numbers"]),
        ('name = "mine"', 'name = "mine"\nkind = "boat"', ["kind = 'boat'", "multicopter", "car"]),
        ('name = "mine"', "name =", ["TOML", "line 2"]),
    ],
)
def test_errors_name_file_key_value_and_expectation(
    tmp_path: Path, right: str, wrong: str, expected: list[str]
) -> None:
    assert right in MINIMAL
    with pytest.raises(pw.ParameterError) as error:
        read(tmp_path, MINIMAL.replace(right, wrong, 1))
    message = str(error.value)
    assert "mine.toml" in message
    assert [part for part in expected if part not in message] == []


def test_errors_suggest_the_nearest_name_and_list_all() -> None:
    with pytest.raises(pw.ParameterError, match=r"'blackbrd'; did you mean 'blackbird'\?") as error:
        pw.vehicles.load("blackbrd")
    assert ", ".join(NAMES) in str(error.value)
    assert "path of a TOML file" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(pw.ParameterError, match=r"nowhere\.toml"):
        pw.vehicles.load(tmp_path / "nowhere.toml")


def test_a_car_is_not_a_multicopter() -> None:
    with pytest.raises(pw.ParameterError, match="expected a multicopter"):
        pw.vehicles.load("car")
    with pytest.raises(pw.ParameterError, match="expected a car"):
        pw.vehicles.load("penguin", pw.CarParameters)
    mine: Any = pw.vehicles.load("penguin").replace(name="mine")
    with pytest.raises(pw.ParameterError, match=r"^mine: expected a car, .* use pw\.Multicopter"):
        pw.vehicles.load(mine, pw.CarParameters)


def test_names_and_load_agree_on_the_kind() -> None:
    """Each name of a kind loads as that kind; each shipped file has one kind."""
    kinds: list[Any] = [pw.VehicleParameters, pw.CarParameters]
    listed = [pw.vehicles.names(kind) for kind in kinds]
    assert sorted([*listed[0], *listed[1]]) == NAMES
    for kind, some in zip(kinds, listed, strict=True):
        assert some
        for name in some:
            assert type(pw.vehicles.load(name, kind)) is kind
            assert pw.vehicles.path(name).name == f"{name}.toml"
    wrong: Any
    for wrong in ("car", int, object, 3, []):
        with pytest.raises(TypeError, match=r"kind: expected pw\.VehicleParameters"):
            pw.vehicles.load("penguin", wrong)
        with pytest.raises(TypeError, match=r"kind: expected"):
            pw.vehicles.names(wrong)


def test_lists_and_arrays_are_accepted_in_code() -> None:
    body = pw.BodyParameters(mass=np.float64(2), inertia=np.array([1.0, 2.0, 2.5]))  # type: ignore[arg-type]
    assert body == pw.BodyParameters(mass=2.0, inertia=pw.parameters.diagonal(1.0, 2.0, 2.5))
    assert hash(body) == hash(body.replace(mass=2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pw.BodyParameters(mass="1", inertia=pw.parameters.diagonal(1, 1, 1)), "body.mass"),  # type: ignore[arg-type]
        (lambda: pw.BodyParameters(mass=1, inertia=np.eye(2)), "body.inertia"),  # type: ignore[arg-type]
        (lambda: pw.vehicles.load("penguin").replace(mass=1), "has no field 'mass'"),
        (lambda: pw.vehicles.load("penguin").replace(body={"masss": 1}), "'mass'"),
        (lambda: pw.vehicles.load("penguin").replace(rotors=[1]), r"rotors\[0\] = 1"),
        (lambda: pw.vehicles.load("penguin").replace(body=1), "body = 1: expected BodyParameters"),
    ],
)
def test_invalid_values_in_code_are_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(pw.ParameterError, match=message):
        make()


def test_constructors_accept_dicts_for_groups() -> None:
    """Like replace; also nested dicts and lists of dicts."""
    vehicle = pw.vehicles.load("crazyflie")
    constructed = pw.VehicleParameters(
        name="crazyflie",
        body={"mass": vehicle.body.mass, "inertia": vehicle.body.inertia},
        rotors=[
            {
                "position": rotor.position,
                "spin": "ccw" if rotor.spin > 0 else "cw",
                "thrust_coefficient": rotor.thrust_coefficient,
                "torque_coefficient": rotor.torque_coefficient,
                "inertia": rotor.inertia,
            }
            for rotor in vehicle.rotors
        ],
        motor=vehicle.motor,
        rotor_drag={"linear": [0.4, 0.4, 0.0], "blow_back": 1e-4},
        battery={"nominal_voltage": 4.54},
        process_noise=vehicle.process_noise,
        imu={
            "accelerometer_noise_density": vehicle.imu.accelerometer_noise_density,
            "gyroscope_noise_density": vehicle.imu.gyroscope_noise_density,
        },
        rate_controller={
            "proportional": (20.0, 20.0, 8.0),
            "integral": (60.0, 60.0, 6.0),
            "derivative": (1.2, 1.2, 0.0),
            "integral_bound": 1000.0,
            "filter": {
                "stiffness": vehicle.rate_controller.filter.stiffness,
                "damping": vehicle.rate_controller.filter.damping,
            },
        },
    )
    assert constructed == vehicle
    rotor = {"position": (0, 0, 0), "spin": "cw", "thrust_coefficient": 1e-6}
    assert vehicle.replace(rotors=[rotor]).rotors[0].spin == -1.0


def test_replace_changes_only_the_named_fields() -> None:
    vehicle = pw.vehicles.load("penguin")
    heavier = vehicle.replace(name="heavier", body={"mass": 2.0})
    assert heavier.body.mass == 2.0
    assert heavier.body.inertia == vehicle.body.inertia
    assert heavier.replace(name="penguin", body=vehicle.body) == vehicle
    assert vehicle == pw.vehicles.load("penguin")


def test_without_noise_removes_only_noise() -> None:
    vehicle = pw.vehicles.load("hexacopter").replace(process_noise={"force": 1.0})
    quiet = vehicle.without_noise()
    assert quiet.process_noise == pw.ProcessNoiseParameters()
    assert quiet.imu == pw.ImuParameters()
    assert quiet.replace(process_noise=vehicle.process_noise, imu=vehicle.imu) == vehicle
    assert pw.vehicles.load("car", pw.CarParameters).without_noise().process_noise == (0.0, 0.0)


finite = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.tuples(finite, finite, finite)
tables: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(st.characters(exclude_categories=["Cs"])),
    "body": st.builds(
        pw.BodyParameters,
        mass=finite,
        inertia=st.one_of(vectors, st.tuples(vectors, vectors, vectors)),
        gravity=vectors,
    ),
    "rotors": st.lists(
        st.builds(
            pw.RotorParameters,
            position=vectors,
            axis=vectors,
            spin=st.sampled_from([-1.0, 1.0]),
            thrust_coefficient=finite,
            torque_coefficient=finite,
            inertia=finite,
        ),
        min_size=1,
        max_size=3,
    ),
    "motor": st.builds(
        pw.MotorParameters,
        **dict.fromkeys(pw.MotorParameters.__struct_fields__, finite),
    ),
    "drag": st.builds(pw.DragParameters, translational=finite, rotational=vectors),
    "rotor_drag": st.builds(pw.RotorDragParameters, linear=vectors, blow_back=finite),
    "inflow": st.builds(pw.InflowParameters, axial=finite, translational=finite),
    "ground_effect": st.builds(
        pw.GroundEffectParameters, radius=finite, coefficient=finite, height=finite
    ),
    "contact": st.builds(
        pw.ContactParameters, **dict.fromkeys(pw.ContactParameters.__struct_fields__, finite)
    ),
    "residual": st.builds(
        pw.ResidualParameters,
        velocity=vectors,
        thrust=finite,
        force_y=st.tuples(*[finite] * 17),
        torque_y=st.tuples(*[finite] * 22),
    ),
    "battery": st.builds(pw.BatteryParameters, nominal_voltage=finite),
    "process_noise": st.builds(pw.ProcessNoiseParameters, force=finite, torque=finite),
    "imu": st.builds(
        pw.ImuParameters,
        gyroscope_noise_density=finite,
        position=vectors,
        attitude=st.tuples(finite, finite, finite, finite),
        gyroscope_range=st.floats(allow_nan=False),
        rate=finite,
    ),
    "rate_controller": st.builds(
        pw.RateControllerParameters,
        proportional=st.one_of(finite, vectors),
        filter=st.builds(pw.LowPassParameters, stiffness=finite, damping=finite),
        discretisation=st.sampled_from(["exact", "backward_euler"]),
        gyroscopic_term=st.booleans(),
    ),
}


@settings(max_examples=20)
@given(vehicle=st.builds(pw.VehicleParameters, **tables))
def test_any_vehicle_is_equal_after_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, vehicle: parameters.VehicleParameters
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(vehicle.to_toml(), encoding="utf-8", newline="")
    again = pw.vehicles.load(path)
    assert again == vehicle
    assert repr(again) == repr(vehicle)  # == does not distinguish -0.0 from 0.0
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), pw.vehicles.json_schema())
