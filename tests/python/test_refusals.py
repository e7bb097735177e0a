"""Invalid input to vehicles and fleets: the error names the argument, and nothing changes.

One row for each argument of a call, with invalid values.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import in_flight, refused

NAN, INF = math.nan, math.inf
N = 5
UAV = in_flight(pw.Multicopter("flightgoggles", seed=1))
CAR = pw.Car(seed=1)
FLEET = pw.Fleet("flightgoggles", N, seed=1, threads=1, max_action_delay=3)
FLEET.step(pw.RateThrust([0.1, 0.2, 0.3], 10.0), substeps=7)
GOOD: dict[str, Any] = {
    "Multicopter": pw.RotorSpeeds([1100.0] * 4),
    "Car": pw.SpeedYawRate(1.0, 0.0),
    "Fleet": pw.RotorSpeeds(np.full((N, 4), 1100.0)),
}
LOADED = pw.vehicles.load("flightgoggles")
REST = [0.0, 0.0, 0.0]
THRUST = pw.RateThrust([0.1, 0.2, 0.3], 10.0)
FILTER, PID, CONTROLLER = pw.LowPass(30.0, channels=2), pw.Pid(1.0, 1.0), pw.RateController(LOADED)
IMU = pw.Imu(LOADED, seed=1)
FILTER.update([1.0, 2.0])
PID.update(1.0)
CONTROLLER.update([0.3, 0.2, 0.1], THRUST)
IMU.read([0.0, 0.0, 9.81], REST)
OBJECTS: dict[str, Any] = {
    **{"Multicopter": UAV, "Car": CAR, "Fleet": FLEET, "LowPass": FILTER, "Pid": PID, "Imu": IMU},
    **{"RateController": CONTROLLER, "Allocation": pw.Allocation(LOADED)},
}


def state_of(each: Any) -> Any:
    """What a refused call must not change."""
    return pickle.dumps(each.snapshot() if hasattr(each, "snapshot") else each)


def row_of(shape: tuple[int, ...], value: float, row: int = 2) -> Any:
    """Valid numbers except in one row."""
    array = np.full(shape, 0.5)
    array[row] = value
    return array


SEEDS = [-1, 1.5, "1", None, NAN, True, 2**64, [1]]
NO_VEHICLES = [5, None, 3.5, b"blackbird", ["blackbird"], pw.Multicopter]
INTEGRATORS = ["rk5", "RK4", "", 4, None, ["rk4"]]
FLAGS: list[Any] = ["yes", None, NAN, 2, []]
STEPS = [0.0, -1e-3, NAN, INF, "1", None, [0.001], True, 1j]
COUNTS = [-1, 1.5, NAN, "1", [1], True, 10**30, -(10**30)]
NO_NUMBERS = [NAN, -INF, [[[1.0]]], "1", None, True, 1j, [1.0, NAN], {}, object()]
TURBULENCES = [5.0, (1.0, 2.0, 3.0), "strong"]
NO_GAINS = [-1.0, NAN, INF, "1", None, [1.0]]
CONSTRUCTORS: dict[Any, dict[str, list[Any]]] = {
    pw.Multicopter: {
        "vehicle": NO_VEHICLES, "integrator": INTEGRATORS, "seed": SEEDS, "id": SEEDS,
        "noise": FLAGS, "turbulence": TURBULENCES,
    },
    pw.Car: {
        "vehicle": NO_VEHICLES, "integrator": ["symplectic_euler", *INTEGRATORS], "seed": SEEDS,
        "id": SEEDS, "noise": FLAGS,
    },
    pw.Fleet: {
        "vehicle": NO_VEHICLES, "integrator": ["symplectic_euler", *INTEGRATORS], "seed": SEEDS,
        "noise": FLAGS, "n": [0, *COUNTS, "8", None, 2**33], "dt": STEPS,
        "dtype": ["float16", "double precision", int, None, 3, "int32", object()],
        "first_id": [-1, 1.5, None, 2**32, 2**33 + 5, 2**64],
        "threads": [-1, 1.5, "2", None, True, 10**6], "floor": [NAN, -INF, "low", [0.0]],
        "turbulence": TURBULENCES, "max_action_delay": [-1, 1.5, 1001, None],
    },
    pw.Dryden: {
        "wind_speed_6m": [-1.0, NAN], "airspeed": [0.0, "fast"], "altitude": [INF],
        "heading": [None],
    },
    pw.RateThrust: {
        "rates": [
            [1.0, 2.0], [1.0, 2.0, NAN], [[1.0, 2.0, INF]], np.zeros((2, 2, 2, 3)),
            np.zeros((3, 2)), [[1.0, 2.0], [3.0]], "abc", None, 1.0, [True, False, True],
            [1j, 2, 3], {"x": 1.0}, object(), [2**2000, 0, 0],
        ],
        "thrust": NO_NUMBERS,
    },
    pw.SpeedYawRate: {"speed": NO_NUMBERS, "yaw_rate": NO_NUMBERS},
    pw.RotorSpeeds: {
        "speeds": [
            [], [[]], 3.0, None, "1234", [NAN], np.zeros((1, 1, 1, 4)), [True], [[1.0], [1, 2]]
        ],
    },
    pw.LowPass: {
        "cutoff": [0.0, -1.0, NAN, INF, "30", [30.0], True, 1e200],
        "dt": [0.0, -1.0, NAN, INF, "1", None, [1.0]], "channels": [0, -1, 1.5, "3", True],
        "discretisation": ["tustin", None, 3],
    },
    pw.Pid: {
        "proportional": NO_GAINS, "integral": NO_GAINS, "derivative": NO_GAINS,
        "integral_bound": NO_GAINS, "dt": [0.0, -0.1, NAN, "1"],
    },
    pw.RateController: {"vehicle": [5], "dt": [0.0, -1.0, NAN, INF, "1", None]},
    pw.Allocation: {"vehicle": [5]},
}  # fmt: skip
VALID: dict[Any, dict[str, Any]] = {
    pw.RateThrust: {"rates": [0.0, 0.0, 0.0], "thrust": 1.0},
    pw.SpeedYawRate: {"speed": 0.0, "yaw_rate": 0.0},
    pw.RotorSpeeds: {},
    pw.LowPass: {"cutoff": 30.0},
    pw.Pid: {"proportional": 1.0},
    pw.Car: {"vehicle": "car"},
    pw.Dryden: {"wind_speed_6m": 5.0, "altitude": 10.0, "airspeed": 5.0},
}


@pytest.mark.parametrize(
    ("kind", "argument"), [(kind, name) for kind, names in CONSTRUCTORS.items() for name in names]
)
def test_constructors_name_an_invalid_argument(kind: Any, argument: str) -> None:
    valid = VALID.get(kind, {"vehicle": "flightgoggles"})
    for value in CONSTRUCTORS[kind][argument]:
        with refused(argument, value):
            kind(**{**valid, argument: value})


def test_numpy_integers_are_accepted_as_seed_and_id() -> None:
    numbers: Any = np.int64(3), np.uint8(7)
    assert pw.Multicopter(seed=numbers[0], id=numbers[1]).snapshot() == (
        pw.Multicopter(seed=3, id=7).snapshot()
    )
    assert len(pw.Fleet("flightgoggles", 2, first_id=2**32 - 2)) == 2  # the largest


SHAPES = [(3,), (5,), (4, 4), (5, 3), (5, 5), (1, 4), (2, 4, 4), (2, 5, 6)]
PARTS: dict[str, list[Any]] = {
    "position": [[1.0, 2.0], [1.0, 2.0, NAN], "abc", 3.0, [1, 2, 3j]],
    "velocity": [[1.0], [INF, 0.0, 0.0], "abc", {}, [None] * 3],
    "attitude": [[1.0, 0.0, 0.0], [0.0] * 4, [2.0, 0.0, 0.0, 0.0], [NAN, 0.0, 0.0, 1.0], "abcd"],
    "body_rates": [[1.0] * 4, [0.0, -INF, 0.0], object(), [[0.0], [1.0, 2.0], 3.0]],
    "rotor_speeds": [[1.0] * 3, [1.0] * 5, [-1.0] * 4, [1.0, 2.0, 3.0, 2300.0], [NAN] * 4, "abcd"],
}
ROWS: dict[str, list[Any]] = {
    "position": [[[1.0, 2.0, 3.0]], np.zeros((4, 3)), np.zeros((N, 4)), [True] * 3],
    "velocity": [np.zeros((4, 3))],
    "attitude": [np.zeros((4, 4))],
    "body_rates": [np.zeros((4, 3))],
    "rotor_speeds": [np.zeros((4, 4))],
}
Call = Callable[[Any, Any, Any], Any]
"""Of the vehicle, a valid command, and the invalid value."""
COMMANDS = ["up", None, 1000.0, [1000.0] * 4, (1.0, 0.0), pw.RotorSpeeds, pw.CarState()]
NO_STATES = ["hover", 3.0, [0.0] * 13, (1.0, 2.0, 3.0)]
CALLS: list[tuple[str, str, list[Any], Call]] = [
    *(
        row
        for kind in GOOD
        for row in (
            (kind, "command", COMMANDS, lambda v, _, x: v.step(x)),
            (kind, "command", COMMANDS, lambda v, _, x: v.rollout(x, steps=3)),
            (kind, "substeps", [0, *COUNTS], lambda v, good, x: v.step(good, substeps=x)),
            (
                kind,
                "substeps",
                [0, *COUNTS],
                lambda v, good, x: v.rollout(good, steps=2, substeps=x),
            ),
            (kind, "snapshot", [3, None, "abc", [1, 2]], lambda v, _, x: v.restore(x)),
        )
    ),
    *(
        row
        for kind in ("Multicopter", "Car")
        for row in (
            (kind, "steps", COUNTS, lambda v, good, x: v.rollout(good, steps=x)),
            (kind, "dt", STEPS, lambda v, good, x: v.step(good, x)),
            (kind, "dt", STEPS, lambda v, good, x: v.rollout(good, x, steps=2)),
            (kind, "state", NO_STATES, lambda v, _, x: v.reset(x)),
            (kind, "state", NO_STATES, lambda v, _, x: v.set_state(x)),
        )
    ),
    *(
        ("Multicopter", part, values, lambda v, _, x, part=part: v.reset(**{part: x}))
        for part, values in PARTS.items()
    ),
    *(
        (
            "Multicopter",
            part,
            values,
            lambda v, _, x, part=part: v.set_state(changed(v.state, part, x)),
        )
        for part, values in PARTS.items()
    ),
    *(
        ("Car", part, [NAN, INF, "a", None, [1.0, 2.0]], call)
        for part in ("x", "y", "heading")
        for call in (
            lambda v, _, x, part=part: v.set_state(pw.CarState(**{part: x})),
            lambda v, _, x, part=part: v.reset(pw.CarState(**{part: x})),
        )
    ),
    *(
        ("Fleet", part, [*PARTS[part], *ROWS[part]], call)
        for part in PARTS
        for call in (
            lambda v, _, x, part=part: v.reset(**{part: x}),
            lambda v, _, x, part=part: v.set_state(**{part: x}, mask=np.arange(N) < 2),
        )
    ),
    *(
        ("Fleet", "mask", [np.ones(N - 1, bool), np.ones((N, 1), bool), np.ones(N), [0, 1], "all"],
         call)
        for call in (lambda v, _, x: v.reset(mask=x), lambda v, _, x: v.set_state(mask=x))
    ),
    ("Fleet", "speeds of shape (5, 4)", SHAPES, lambda v, _, x: v.step(speeds_of(x))),
    ("Fleet", "speeds of shape (5, 4)", SHAPES, lambda v, _, x: v.rollout(speeds_of(x), steps=2)),
    ("Multicopter", "speeds", [(1,), (3,), (5,)], lambda v, _, x: v.step(speeds_of(x))),
    ("Multicopter", "wind", PARTS["position"], lambda v, _, x: setattr(v, "wind", x)),
    ("Multicopter", "battery_voltage", [-1.0, NAN, INF, "4", None, [4.0]],
     lambda v, _, x: setattr(v, "battery_voltage", x)),
    ("Fleet", "wind", [*PARTS["position"], np.zeros((4, 3))], lambda v, _, x: v.set_wind(x)),
    ("Fleet", "voltage", [-1.0, NAN, "4", None, [4.0, 4.0]],
     lambda v, _, x: v.set_battery_voltage(x)),
    ("Fleet", "steps", [-1, 4, 1.5, None, [1, 2]], lambda v, _, x: v.set_action_delay(x)),
    ("LowPass", "s", [[1.0], [1.0, NAN], "ab", None, [[1.0, 2.0]], 3.0],
     lambda v, _, x: v.update(x)),
    ("LowPass", "signal", [[[1.0, 2.0], [3.0, INF]], [1.0, 2.0], "ab", None, 3.0],
     lambda v, _, x: v.apply(x)),
    ("LowPass", "value", [NAN, INF, "a", None], lambda v, _, x: v.reset(x)),
    ("Pid", "error", NO_GAINS[1:], lambda v, _, x: v.update(x)),
    ("Pid", "measurement_derivative", NO_GAINS[1:], lambda v, _, x: v.update(0.0, x)),
    ("RateController", "gyroscope", [[1.0, 2.0], [1.0, 2.0, NAN], "abc", None, np.zeros((3, 1))],
     lambda v, _, x: v.update(x, THRUST)),
    ("RateController", "command", ["x", None, [0.0] * 4, pw.RotorSpeeds([1.0] * 4)],
     lambda v, _, x: v.update(REST, x)),
    ("Allocation", "torque", [[1.0, 2.0], [1.0, 2.0, INF], "abc", None],
     lambda v, _, x: v.allocate(x, 1.0)),
    ("Allocation", "thrust", [NAN, "1", None, [1.0]], lambda v, _, x: v.allocate(REST, x)),
    ("Allocation", "speeds", [[1.0, 2.0], [1.0, 2.0, 3.0, NAN], "abcd", None],
     lambda v, _, x: v.attained(x)),
    ("Imu", "specific_force", [[0.0, 0.0]], lambda v, _, x: v.read(x, REST)),
    ("Imu", "rates", [[0.0, NAN, 0.0]], lambda v, _, x: v.read(REST, x)),
    ("Imu", "angular_acceleration", ["abc"], lambda v, _, x: v.read(REST, REST, x)),
    ("Imu", "dt", [-1e-3, INF, "1"], lambda v, _, x: v.read(REST, REST, None, x)),
    ("Fleet", "seed", [-1], lambda v, _, x: v.reset(seed=x)),
    *(
        row
        for kind in ("Multicopter", "Fleet")
        for row in (
            (kind, "force_W", [[1.0, 2.0], [0.0, 0.0, NAN], "up"],
             lambda v, _, x: v.set_external_wrench(x)),
            (kind, "torque_B", [[1.0, 2.0], [0.0, 0.0, NAN], "up"],
             lambda v, _, x: v.set_external_wrench([0.0] * 3, x)),
        )
    ),
]  # fmt: skip


def changed(state: Any, part: str, value: Any) -> Any:
    """The state with another part."""
    setattr(state, part, value)
    return state


def speeds_of(shape: tuple[int, ...]) -> pw.RotorSpeeds:
    return pw.RotorSpeeds(np.zeros(shape))


@pytest.mark.parametrize(
    ("kind", "argument", "values", "call"),
    [pytest.param(*row, id=f"{row[0]} {row[1]} {k}") for k, row in enumerate(CALLS)],
)
def test_calls_name_an_invalid_argument(
    kind: str, argument: str, values: list[Any], call: Call
) -> None:
    before = state_of(OBJECTS[kind])
    for value in values:
        with refused(argument, value):
            call(OBJECTS[kind], GOOD.get(kind), value)
        assert state_of(OBJECTS[kind]) == before


def rotors_with(**field: Any) -> pw.Multicopter:
    """A vehicle whose second rotor has another value."""
    first, second, *others = LOADED.rotors
    return pw.Multicopter(LOADED.replace(rotors=(first, second.replace(**field), *others)))


def rates(*shapes: Any) -> pw.RateThrust:
    return pw.RateThrust(*map(np.zeros, shapes))


THREE = pw.RotorSpeeds(np.full((3, 4), 1000.0))
EACH = pw.RotorSpeeds(np.zeros((3, N, 4)))
MANY = pw.SpeedYawRate([1.0, 2.0], 0.0)
FAR = row_of((N, 3), 1e39, 3)
MESSAGES: list[tuple[Callable[[], Any], str]] = [
    *((lambda kind=kind: kind("blackbrid"), "'blackbrid'; did you mean 'blackbird'")
      for kind in (pw.Multicopter, pw.Fleet)),
    (lambda: pw.Multicopter("car"), "expected a multicopter, this is a car"),
    (lambda: pw.Fleet("car"), r"expected a multicopter, this is a car; .*pw\.Car"),
    (lambda: pw.Car("penguin"), "expected a car, this is a multicopter"),
    (lambda: pw.Multicopter("absent.toml"), r"absent\.toml"),
    (lambda: pw.validate(GOOD["Car"]), "parameters"),
    (lambda: pw.Fleet("flightgoggles", 2, first_id=2**32 - 1), "first_id"),
    (lambda: UAV.step(THREE), r"command: expected one.*3 rows"),
    (lambda: UAV.rollout(THREE, steps=5), r"steps: expected 3.*got 5"),
    (lambda: UAV.rollout(GOOD["Multicopter"]), r"steps: expected.*got None"),
    (lambda: UAV.step(pw.RotorSpeeds(np.zeros((2, 5, 4)))), r"command: expected.*\(2, 5.*Fleet"),
    (lambda: UAV.step(rates((2, 5, 3), ())), r"command: expected.*\(2, 5.*Fleet"),
    (lambda: UAV.rollout(rates((3,), (2, 5))), r"command: expected.*\(2, 5.*Fleet"),
    (lambda: UAV.step(GOOD["Multicopter"], dt=0), "dt = 0: expected a finite value >= 1e-09 s"),
    (lambda: CAR.step(MANY), r"command: expected one command for step.*got 2 rows"),
    (lambda: CAR.rollout(MANY, steps=3), r"steps: expected 2.*got 3"),
    (lambda: CAR.rollout(GOOD["Car"]), r"steps: expected.*got None"),
    (lambda: FLEET.step(EACH), r"command: expected one.*3 rows"),
    (lambda: FLEET.rollout(EACH, steps=4), r"steps: expected 3.*got 4"),
    (lambda: FLEET.rollout(GOOD["Fleet"]), r"steps: expected.*got None"),
    (lambda: FLEET.rollout(EACH, record=["speed"]), r"record: expected.*'speed'"),
    (lambda: FLEET.step(rates((4, 3), ())), r"rates of shape \(5, 3\), or \(3,\).*got \(4, 3\)"),
    (lambda: FLEET.step(rates((3,), (4,))), r"thrust of shape \(5,\), or \(\).*got \(4,\)"),
    *((lambda shapes=shapes: FLEET.step(rates(*shapes)), "expected.*got")
      for shapes in [((6, 3), ()), ((1, 3), ()), ((5, 3), (1,)), ((2, 4, 3), ()), ((3,), (2, 6))]),
    *((lambda shapes=shapes: rates(*shapes), r"thrust.*rates of shape .*, 5, 3\), got .*, 5\)")
      for shapes in [((2, 5, 3), (3, 5)), ((1, 5, 3), (3, 5)), ((3, 5, 3), (1, 5))]),
    (lambda: FLEET.step(pw.RateThrust([0.0] * 3, 1e39)), r"thrust that float32 can .*got 1e\+39$"),
    (lambda: FLEET.step(pw.RateThrust(FAR, 9.0)), r"rates.*float32.*at \[3, 0\]"),
    (lambda: FLEET.rollout(pw.RateThrust(np.stack([0 * FAR, FAR]), 9.0)), r"float32.*\[1, 3, 0\]"),
    (lambda: FLEET.reset(position=FAR), r"position.*for vehicle 3"),
    *((lambda part=part, shape=(N, width), value=value: FLEET.reset(**{part: row_of(shape, value)}),
       rf"{part}.*for vehicle 2")
      for part, width, value in [("position", 3, NAN), ("velocity", 3, -INF),
                                 ("body_rates", 3, NAN), ("rotor_speeds", 4, 1e4),
                                 ("attitude", 4, 2.0)]),
    (lambda: FLEET.set_battery_voltage(row_of((N,), -1.0)), r"voltage.*-1\.0 for vehicle 2"),
    (lambda: pw.LowPass(), "cutoff"),
    (lambda: pw.LowPass(stiffness=1.0), "stiffness"),
    *((lambda wrong=wrong: pw.LowPass(stiffness=wrong, damping=1.0), "stiffness")
      for wrong in (0.0, -1.0, NAN)),
    *((lambda wrong=wrong: pw.LowPass(stiffness=1.0, damping=wrong), "damping")
      for wrong in (-1.0, NAN)),
    (lambda: pw.LowPass(30.0, stiffness=1.0, damping=1.0), "either cutoff, or stiffness and damp"),
    (lambda: pw.Allocation(LOADED.replace(body={"mass": -1.0})), r"body\.mass = -1"),
    (lambda: pw.RateController(LOADED.replace(rotors=LOADED.rotors[:2])), "rank|weight"),
    (lambda: CONTROLLER.update(REST, rates((2, 3), ())), "command: expected one command"),
    (lambda: pw.Imu(pw.ImuParameters(rate=-1.0)), r"imu\.rate = -1: expected"),
    (lambda: pw.Imu(pw.ImuParameters(position=(0.1, 0, 0))).read(REST, REST), "with a lever arm"),
    (lambda: pw.Imu(LOADED, seed=-1), "seed: expected a whole number"),
    (lambda: pw.Imu(LOADED, noise=1), "noise: expected True or False"),  # type: ignore[arg-type]
    *((lambda wrong=wrong: IMU.restore(wrong), "snapshot: expected")
      for wrong in (b"", b"propwash", IMU.snapshot()[:-1], UAV.snapshot(),
                    IMU.snapshot()[:-80] + b"\xff" * 40 + IMU.snapshot()[-40:])),
    (lambda: pw.RateThrust(np.zeros((2, 3)), np.ones(3)), "thrust: .* as many rows as rates, 2, g"),
    (lambda: pw.SpeedYawRate([1.0, 2.0], [1.0]), "yaw_rate: expected as many rows as speed, 2, g"),
    (lambda: pw.RateThrust(np.zeros((1000, 2)), 1.0), r"(?s)^.{1,180}shape \(1000, 2\).{0,200}$"),
    (lambda: pw.RateThrust("x" * 100000, 1.0), "(?s)^.{0,100}rates.{0,300}$"),
    (lambda: FLEET.set_action_delay([0, 1, 2, 3, 4]), "for vehicle 4"),
    (lambda: FLEET.reset(seed=3, mask=np.ones(N, bool)), r"seed: expected None.*mask"),
    *((lambda factors=factors: FLEET.set_rotor_effectiveness(factors), "factors|rotor.effectiven")
      for factors in [[1.0, 1.0], [1.0, INF, 1.0, 1.0], [11.0, 1, 1, 1], [-0.1, 1, 1, 1]]),
    *((lambda factors=factors: setattr(UAV, "rotor_effectiveness", factors), "factors|from 0 to 10")
      for factors in [[1.0, 1.0], [1.0, INF, 1.0, 1.0], [11.0, 1, 1, 1], [-0.1, 1, 1, 1]]),
    *((lambda field=field, value=value: rotors_with(**{field: value}), rf"rotors\[1\]\.{field}")
      for field, value in [("axis", (0.0, 0.0, 2.0)), ("axis", (0.0, 0.0, NAN)),
                           ("thrust_coefficient", 0.0), ("torque_coefficient", -1e-9),
                           ("inertia", NAN), ("position", (0.0, INF, 0.0))]),
    *((lambda count=count: pw.Multicopter(LOADED.replace(rotors=LOADED.rotors[:1] * count)),
       rf"rotors.* = {count}: expected 1 to 12") for count in (0, 13)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MESSAGES)
def test_errors_explain_wrong_shapes_names_and_rows(call: Callable[[], Any], message: str) -> None:
    before = [*map(state_of, OBJECTS.values())]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
    assert [*map(state_of, OBJECTS.values())] == before


def test_snapshots_of_other_vehicles_and_damaged_ones_are_refused() -> None:
    heavier = LOADED.replace(body={"mass": 1.1})
    options: Any = {"seed": 1, "max_action_delay": 3}
    others: list[tuple[Any, Any]] = [
        (UAV, pw.Multicopter(heavier)),
        (UAV, pw.Multicopter("flightgoggles", integrator="euler")),
        (UAV, pw.Multicopter("flightgoggles", noise=False)),
        (FLEET, pw.Multicopter("flightgoggles")),
        (FLEET, pw.Fleet("flightgoggles", N + 1, **options)),
        (FLEET, pw.Fleet(heavier, N, **options)),
        (FLEET, pw.Fleet("hexacopter", N, **options)),
        (FLEET, pw.Fleet("flightgoggles", N, "float64", **options)),
        (FLEET, pw.Fleet("flightgoggles", N, dt=0.002, **options)),
        (FLEET, pw.Fleet("flightgoggles", N, seed=1)),
    ]
    cases = [(vehicle, other.snapshot()) for vehicle, other in others]
    for vehicle in (UAV, FLEET):
        good = vehicle.snapshot()
        cases += [(vehicle, part) for part in (b"", good[:-1], good + b"\0", b"x" + good[1:])]
    for vehicle, snapshot in cases:
        before = vehicle.snapshot()
        with pytest.raises(ValueError, match="snapshot: expected"):
            vehicle.restore(snapshot)
        assert vehicle.snapshot() == before


def test_zero_rows_change_nothing() -> None:
    before = UAV.snapshot()
    assert UAV.rollout(GOOD["Multicopter"], steps=0).position.shape == (0, 3)
    assert len(UAV.rollout(pw.RotorSpeeds(np.zeros((0, 4))))) == 0
    assert UAV.snapshot() == before


def test_rows_outside_the_mask_are_not_checked() -> None:
    fleet = pw.Fleet("flightgoggles", N, "float64")
    fleet.reset(position=row_of((N, 3), NAN), mask=np.arange(N) != 2)
    assert np.all(np.isfinite(fleet.position))
    assert np.all(fleet.position[2] == 0.0)
    fleet.step(pw.RateThrust(FAR, 9.0))  # float64 has no limit at 1e38


WRONG: dict[str, dict[str, list[Any]]] = {
    "body": {
        "mass": [0.0, -1.0, NAN, 1e3],
        "inertia": [
            (1.0, 1.0, -1.0),
            (0.001, 0.001, 0.01),
            ((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ],
        "gravity": [(0.0, 0.0, INF)],
    },
    "motor": {
        "time_constant_up": [0.0],
        "time_constant_down": [-0.1],
        "speed_min": [3000.0, -INF],
        "speed_max": [INF],
        "command_delay": [-0.01],
    },
    "drag": {"translational": [-0.1], "rotational": [(0.1, -0.1, 0.1)]},
    "rotor_drag": {"linear": [(0.1, -0.1, 0.1)], "blow_back": [NAN]},
    "inflow": {"axial": [-1e-4], "translational": [INF]},
    "ground_effect": {"radius": [-0.1], "coefficient": [-1.0], "height": [NAN]},
    "contact": {"frequency": [-1.0], "damping": [-0.1], "friction": [20.0], "leg": [INF]},
    "residual": {"velocity": [(1.0, -1.0, 1.0)], "thrust": [-1.0], "force_x": [(NAN,) * 22]},
    "battery": {"nominal_voltage": [-1.0]},
    "process_noise": {"force": [-1e-9], "torque": [INF]},
    "imu": {
        "accelerometer_noise_density": [-1.0],
        "gyroscope_bias_walk": [NAN],
        "attitude": [(1.0, 1.0, 0.0, 0.0)],
        "gyroscope_range": [0.0],
        "rate": [-5.0],
    },
    "rate_controller": {"proportional": [(1.0, -1.0, 1.0)], "integral_bound": [INF]},
}


@pytest.mark.parametrize(
    ("table", "field"), [(t, f) for t, fields in WRONG.items() for f in fields]
)
def test_invalid_vehicles_are_refused(table: str, field: str) -> None:
    for value in WRONG[table][field]:
        vehicle = LOADED.replace(**{table: {field: value}})
        named = "thrust at motor.speed_max" if value == 1e3 else f"{table}.{field}"
        for make in (pw.Multicopter, pw.validate, pw.Allocation, pw.RateController):
            with pytest.raises(pw.ParameterError) as caught:
                make(vehicle)
            assert named in str(caught.value)
            assert "expected" in str(caught.value)


def test_a_time_step_too_long_for_the_motors_warns() -> None:
    with pytest.warns(RuntimeWarning, match="motor time constant"):
        pw.Fleet("flightgoggles", 2, integrator="euler", dt=0.05)


def test_motors_too_fast_for_the_time_step_warn() -> None:
    fleet = pw.Fleet("flightgoggles", 3, integrator="euler")
    with pytest.warns(RuntimeWarning, match="motor time constant of 0.0005 s"):
        fleet.set_parameters({"motor.time_constant_up": [0.02, 0.0005, 0.02]})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
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


def test_a_field_named_twice_is_recorded_once() -> None:
    logs = []
    for record in (["position", "position"], ["position"]):
        fleet = pw.Fleet("flightgoggles", 2, seed=3, threads=1)
        logs.append(fleet.rollout(pw.RateThrust([0.1, 0.0, 0.0], 10.0), steps=3, record=record))
    assert logs[0].position is not None
    assert np.array_equal(logs[0].position, logs[1].position)  # type: ignore[arg-type]
    assert logs[0].velocity is None


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
