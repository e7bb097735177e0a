"""Invalid input to a fleet: the error names argument and vehicle; nothing changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import refused

N = 5
FLEET = pw.Fleet("flightgoggles", N, seed=1, threads=1, max_action_delay=3)
FLEET.step(pw.RateThrust([0.1, 0.2, 0.3], 10.0), substeps=7)
GOOD = pw.RotorSpeeds(np.full((N, 4), 1100.0))
ANY: dict[str, Any] = {"vehicle": "flightgoggles", "n": 2, "threads": 1}


@contextmanager
def unchanged() -> Iterator[pw.Fleet]:
    """Requires that the complete state remains bitwise unchanged."""
    before = FLEET.snapshot()
    yield FLEET
    assert FLEET.snapshot() == before


def one_invalid(shape: tuple[int, ...], value: float, row: int) -> Any:
    """Valid numbers except in one row."""
    array = np.full(shape, 0.5)
    array[row] = value
    return array


CONSTRUCTION: list[tuple[str, list[Any]]] = [
    ("n", [0, -1, 1.5, "8", None, math.nan, True, [4], 2**33]),
    ("dtype", ["float16", "double precision", int, None, 3, "int32", object()]),
    ("integrator", ["symplectic_euler", "RK4", "", None, 4]),
    ("dt", [0.0, -0.1, math.nan, math.inf, "1", None, [0.1]]),
    ("seed", [-1, 1.5, "1", None, True, 2**64]),
    ("first_id", [-1, 1.5, 2**32 - 1, None]),
    ("threads", [-1, 1.5, "2", None, True, 10**6]),
    ("noise", ["yes", None, 2]),
    ("floor", [math.nan, -math.inf, "low", [0.0]]),
    ("turbulence", [5.0, (1.0, 2.0, 3.0), "strong"]),
    ("max_action_delay", [-1, 1.5, 1001, None]),
    ("vehicle", [5, None, b"blackbird", ["blackbird"]]),
]


@pytest.mark.parametrize(
    ("argument", "value"), [(name, value) for name, values in CONSTRUCTION for value in values]
)
def test_invalid_fleets_are_refused(argument: str, value: Any) -> None:
    with refused(argument, value):
        pw.Fleet(**{**ANY, argument: value})


def test_unknown_vehicles_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(pw.ParameterError, match="'blackbrid'; did you mean 'blackbird'"):
        pw.Fleet("blackbrid", 3)
    with pytest.raises(
        pw.ParameterError, match=r"expected a multicopter, this is a car; .*pw\.Car"
    ):
        pw.Fleet("car", 3)
    with pytest.raises(pw.ParameterError, match=r"body\.mass = -1"):
        pw.Fleet(pw.vehicles.load("flightgoggles").replace(body={"mass": -1.0}), 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("wind_speed_6m", -1.0),
        ("wind_speed_6m", math.nan),
        ("airspeed", 0.0),
        ("airspeed", "fast"),
        ("altitude", math.inf),
        ("heading", None),
    ],
)
def test_invalid_turbulence_is_refused(field: str, value: Any) -> None:
    with refused(f"turbulence.{field}", value):
        pw.Dryden(**{"wind_speed_6m": 5.0, "altitude": 10.0, "airspeed": 5.0, field: value})


def test_a_time_step_too_long_for_the_motors_warns() -> None:
    with pytest.warns(RuntimeWarning, match="motor time constant"):
        pw.Fleet("flightgoggles", 2, integrator="euler", dt=0.05)


def test_motors_too_fast_for_the_time_step_warn() -> None:
    fleet = pw.Fleet("flightgoggles", 3, integrator="euler")
    with pytest.warns(RuntimeWarning, match="motor time constant of 0.0005 s"):
        fleet.set_parameters({"motor.time_constant_up": [0.02, 0.0005, 0.02]})


@pytest.mark.parametrize(
    "value", ["up", None, 1000.0, [1000.0] * 4, pw.SpeedYawRate(1.0, 0.0), pw.RotorSpeeds]
)
def test_non_commands_are_refused(value: Any) -> None:
    with unchanged() as fleet, refused("command", value, TypeError):
        fleet.step(value)
    with unchanged() as fleet, refused("command", value, TypeError):
        fleet.rollout(value, steps=3)


@pytest.mark.parametrize(
    ("rates", "thrust"),
    [
        ((4, 3), ()),
        ((6, 3), ()),
        ((1, 3), ()),
        ((3,), (4,)),
        ((5, 3), (1,)),
        ((2, 4, 3), ()),
        ((3,), (2, 6)),
    ],
)
def test_rates_of_other_shapes_are_refused(rates: Any, thrust: Any) -> None:
    with unchanged() as fleet, pytest.raises(ValueError, match=r"expected.*got"):
        fleet.step(pw.RateThrust(np.zeros(rates), np.zeros(thrust)))
    with unchanged() as fleet, pytest.raises(ValueError, match=r"expected.*got"):
        fleet.rollout(pw.RateThrust(np.zeros(rates), np.zeros(thrust)), steps=2)


def test_the_message_reports_the_shapes() -> None:
    with pytest.raises(ValueError, match=r"rates of shape \(5, 3\), or \(3,\).*got \(4, 3\)"):
        FLEET.step(pw.RateThrust(np.zeros((4, 3)), 9.0))
    with pytest.raises(ValueError, match=r"thrust of shape \(5,\), or \(\).*got \(4,\)"):
        FLEET.step(pw.RateThrust(np.zeros(3), np.zeros(4)))
    for rates, thrust in [((2, 5, 3), (3, 5)), ((1, 5, 3), (3, 5)), ((3, 5, 3), (1, 5))]:
        with pytest.raises(ValueError, match=r"thrust.*rates of shape .*, 5, 3\), got .*, 5\)"):
            pw.RateThrust(np.zeros(rates), np.zeros(thrust))


@pytest.mark.parametrize(
    "shape", [(3,), (5,), (4, 4), (5, 3), (5, 5), (1, 4), (2, 4, 4), (2, 5, 6)]
)
def test_rotor_speeds_of_other_shapes_are_refused(shape: Any) -> None:
    with unchanged() as fleet, pytest.raises(ValueError, match=r"speeds of shape \(5, 4\).*got"):
        fleet.step(pw.RotorSpeeds(np.zeros(shape)))
    with unchanged() as fleet, pytest.raises(ValueError, match=r"speeds of shape \(5, 4\).*got"):
        fleet.rollout(pw.RotorSpeeds(np.zeros(shape)), steps=2)


def test_several_rows_require_a_rollout_of_their_number() -> None:
    rows = pw.RotorSpeeds(np.zeros((3, N, 4)))
    with unchanged() as fleet, pytest.raises(ValueError, match=r"command: expected one.*3 rows"):
        fleet.step(rows)
    with unchanged() as fleet, pytest.raises(ValueError, match=r"steps: expected 3.*got 4"):
        fleet.rollout(rows, steps=4)
    with unchanged() as fleet, pytest.raises(ValueError, match=r"steps: expected.*got None"):
        fleet.rollout(GOOD)
    with unchanged() as fleet, pytest.raises(ValueError, match=r"record: expected.*'speed'"):
        fleet.rollout(rows, record=["speed"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("index", [0, 1, 16, 100, 1022])
def test_non_finite_numbers_are_refused(dtype: Any, value: float, index: int) -> None:
    numbers = np.zeros(1023, dtype=dtype)
    numbers[:4] = [np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).tiny, -0.0]
    pw.RotorSpeeds(numbers.reshape(-1, 3))
    numbers[index] = value
    message = rf"(?s)speeds: expected.*where \[{index // 3}, {index % 3}\] is {value}"
    with pytest.raises(ValueError, match=message):
        pw.RotorSpeeds(numbers.reshape(-1, 3))
    with pytest.raises(ValueError, match=rf"(?s)thrust: expected.*where \[{index}\] is {value}"):
        pw.RateThrust(np.zeros(3), numbers)


def test_numbers_beyond_float32_are_refused_by_a_float32_fleet() -> None:
    rates = one_invalid((N, 3), 1e39, 3)
    with unchanged() as fleet, pytest.raises(ValueError, match=r"rates.*float32.*at \[3, 0\]"):
        fleet.step(pw.RateThrust(rates, 9.0))
    with unchanged() as fleet, pytest.raises(ValueError, match=r"rates.*float32.*at \[1, 3, 0\]"):
        fleet.rollout(pw.RateThrust(np.stack([np.zeros((N, 3)), rates]), 9.0))
    with unchanged() as fleet, pytest.raises(ValueError, match=r"position.*for vehicle 3"):
        fleet.reset(position=rates)
    pw.Fleet("flightgoggles", N, "float64").step(pw.RateThrust(rates, 9.0))


def test_a_field_named_twice_is_recorded_once() -> None:
    logs = []
    for record in (["position", "position"], ["position"]):
        fleet = pw.Fleet("flightgoggles", 2, seed=3, threads=1)
        logs.append(fleet.rollout(pw.RateThrust([0.1, 0.0, 0.0], 10.0), steps=3, record=record))
    assert logs[0].position is not None
    assert np.array_equal(logs[0].position, logs[1].position)  # type: ignore[arg-type]
    assert logs[0].velocity is None


@pytest.mark.parametrize("first_id", [2**32 - 1, 2**32, 2**33 + 5, 2**64])
def test_ids_out_of_range_are_refused(first_id: int) -> None:
    with refused("first_id", first_id):
        pw.Fleet("flightgoggles", 2, first_id=first_id)
    # the maximum, with which the id of the last vehicle fits in 32 bits
    assert len(pw.Fleet("flightgoggles", 2, first_id=2**32 - 2)) == 2


def test_set_state_recovers_a_diverged_vehicle() -> None:
    """The other vehicles and the time are bitwise unchanged."""
    fleet, calm = (pw.Fleet("flightgoggles", 3, "float64", seed=2, threads=1) for _ in range(2))
    lost = np.array([False, True, False])
    hover = pw.RateThrust([0.0, 0.0, 0.0], 9.81)
    fleet.set_state(velocity=[1e200, 0.0, 0.0], mask=lost)
    for each in (fleet, calm):
        each.step(hover, substeps=5)
    assert fleet.diverged.tolist() == lost.tolist()
    parts = {
        "position": np.zeros(3),
        "velocity": np.zeros(3),
        "attitude": [1.0, 0.0, 0.0, 0.0],
        "body_rates": np.zeros(3),
        "rotor_speeds": np.full(4, 1133.0),
    }
    fleet.set_state(**parts, mask=lost)  # type: ignore[arg-type]
    assert not fleet.diverged.any()
    for each in (fleet, calm):
        each.step(hover, substeps=50)
    assert not fleet.diverged.any()
    assert np.isfinite(fleet.position).all()
    assert np.linalg.norm(fleet.position[1]) < 0.1
    assert np.array_equal(fleet.position[~lost], calm.position[~lost])
    assert np.array_equal(fleet.time, calm.time)


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, "1", [1], True, None, 10**30, 2**31])
def test_invalid_substeps_are_refused(value: Any) -> None:
    with unchanged() as fleet, refused("substeps", value):
        fleet.step(GOOD, substeps=value)
    with unchanged() as fleet, refused("substeps", value):
        fleet.rollout(GOOD, steps=2, substeps=value)


PARTS: list[tuple[str, list[Any]]] = [
    (
        "position",
        [[1.0, 2.0], "abc", 3.0, np.zeros((4, 3)), np.zeros((N, 4)), [1, 2, 3j], [True] * 3],
    ),
    ("velocity", [[math.inf, 0.0, 0.0], {}, [None] * 3]),
    ("attitude", [[1.0, 0.0, 0.0], [0.0] * 4, [2.0, 0.0, 0.0, 0.0], [math.nan, 0.0, 0.0, 1.0]]),
    ("body_rates", [[1.0] * 4, object(), [[0.0], [1.0, 2.0], 3.0]]),
    ("rotor_speeds", [[1.0] * 3, [-1.0] * 4, [1.0, 2.0, 3.0, 2300.0], [math.nan] * 4, 1.0]),
]


@pytest.mark.parametrize(
    ("part", "value"), [(part, value) for part, values in PARTS for value in values]
)
def test_invalid_parts_of_a_state_are_refused(part: str, value: Any) -> None:
    for method in (FLEET.reset, FLEET.set_state):
        with unchanged(), refused(part, value):
            method(**{part: value})
        with unchanged(), refused(part, value):
            method(**{part: value}, mask=np.arange(N) < 2)


def test_errors_name_the_first_invalid_vehicle() -> None:
    attitudes = np.tile([1.0, 0.0, 0.0, 0.0], (N, 1))
    attitudes[2] = [1.0, 1.0, 0.0, 0.0]
    for part, value in [
        ("position", one_invalid((N, 3), math.nan, 2)),
        ("velocity", one_invalid((N, 3), -math.inf, 2)),
        ("body_rates", one_invalid((N, 3), math.nan, 2)),
        ("rotor_speeds", one_invalid((N, 4), 1e4, 2)),
        ("attitude", attitudes),
    ]:
        with unchanged() as fleet, pytest.raises(ValueError, match=rf"{part}.*for vehicle 2"):
            fleet.reset(**{part: value})
    # rows outside the mask are not checked
    other = pw.Fleet("flightgoggles", N)
    other.reset(position=one_invalid((N, 3), math.nan, 2), mask=np.arange(N) != 2)
    assert np.all(np.isfinite(other.position))
    assert np.all(other.position[2] == 0.0)


@pytest.mark.parametrize(
    "value",
    [
        np.ones(N - 1, dtype=bool),
        np.ones((N, 1), dtype=bool),
        np.ones(N, dtype=int),
        np.ones(N),
        [0, 1],
        True,
        "all",
    ],
    ids=repr,
)
def test_invalid_masks_are_refused(value: Any) -> None:
    for method in (FLEET.reset, FLEET.set_state):
        with unchanged(), refused("mask", value):
            method(mask=value)


def test_a_seed_excludes_a_mask() -> None:
    with unchanged() as fleet, pytest.raises(ValueError, match=r"seed: expected None.*mask"):
        fleet.reset(seed=3, mask=np.ones(N, dtype=bool))
    with unchanged() as fleet, refused("seed", -1):
        fleet.reset(seed=-1)


def test_invalid_wind_voltage_and_delay_are_refused() -> None:
    winds: list[Any] = [[1.0, 2.0], [1.0, 2.0, math.nan], "abc", None, 3.0, np.zeros((4, 3))]
    for wind in winds:
        with unchanged() as fleet, refused("wind", wind):
            fleet.set_wind(wind)
    voltages: list[Any] = [-1.0, math.nan, "4", None, [4.0, 4.0]]
    for voltage in voltages:
        with unchanged() as fleet, refused("voltage", voltage):
            fleet.set_battery_voltage(voltage)
    with unchanged() as fleet, pytest.raises(ValueError, match=r"voltage.*-1\.0 for vehicle 3"):
        fleet.set_battery_voltage(one_invalid((N,), -1.0, 3))
    delays: list[Any] = [-1, 4, 1.5, None, [1, 2]]
    for steps in delays:
        with unchanged() as fleet, refused("steps", steps):
            fleet.set_action_delay(steps)
    with pytest.raises(ValueError, match="for vehicle 4"):
        FLEET.set_action_delay([0, 1, 2, 3, 4])


@pytest.mark.parametrize("value", [3, None, "abc", [1, 2], bytearray(8)])
def test_invalid_snapshots_are_refused(value: Any) -> None:
    with unchanged() as fleet, refused("snapshot", value, TypeError):
        fleet.restore(value)


def test_snapshots_of_other_fleets_are_refused() -> None:
    good = FLEET.snapshot()
    single = pw.Multicopter("flightgoggles").snapshot()
    options: Any = {"seed": 1, "max_action_delay": 3}
    for other in (
        pw.Fleet("flightgoggles", N + 1, **options),
        pw.Fleet("blackbird", N, **options),
        pw.Fleet("hexacopter", N, **options),
        pw.Fleet("flightgoggles", N, "float64", **options),
        pw.Fleet("flightgoggles", N, dt=0.002, **options),
        pw.Fleet("flightgoggles", N, seed=1),
    ):
        with unchanged() as fleet, pytest.raises(ValueError, match="snapshot: expected"):
            fleet.restore(other.snapshot())
    for damaged in (b"", good[:-1], good + b"\0", b"x" + good[1:], single):
        with unchanged() as fleet, pytest.raises(ValueError, match="snapshot: expected"):
            fleet.restore(damaged)
