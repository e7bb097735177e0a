"""Damaged files, snapshots and pickles: a reader returns a valid result or reports the error.

Hypothesis damages valid inputs. A reader has 10 s for an input, and 256 MB of memory. The files of
a failure stay in pytest's temporary folder. PROPWASH_FUZZ=100 multiplies the number of inputs by
100; PROPWASH_FUZZ_SEED selects other inputs.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import struct
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import propwash as pw
import pytest
from fuzz_files import Files, seeds
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from propwash import identify, logs
from propwash.vehicle.flightgoggles import import_flightgoggles
from propwash.world import Box, Plane, Scene

INPUTS = round(200 * float(os.environ.get("PROPWASH_FUZZ", "1")))
SEED = os.environ.get("PROPWASH_FUZZ_SEED")
MEMORY = 1 << 28
HOVER = pw.RateThrust([0.1, -0.2, 0.3], 10.0)

NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
LINE = re.compile(rb"[^\n]*\n")
# wrong ranges, wrong types and wrong syntax in place of a number
TOKENS = [
    *("0", "-0.0", "-1", "1", "2", "0.5", "3", "1e-3", "1e3", "1e5", "1e6", "1e8", "1e10"),
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e400", "-1e400", "1e-320", "1e-400", "1e-30"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "2147483648"),
    *("99999999999999999999", "4294967296", "1" + 400 * "0", "1" + 5000 * "0"),
    *("true", "false", '"text"', "'1'", "[]", "[1, 2]", "[[1]]", "{}", "{a = 1}", "", "null", "-"),
    *("0x7fffffffffffffffffff", "0o17", "007", "1_000", "1__0", "+-1", "1e", "e5", "٣", "²", "½"),
    *("2024-02-31", "2024-02-28T25:00:00", "12:61", "*", "&a", "!!python/object:os.system", "\\"),
]
NESTED = [half * depth for half in ("[", "{a = ", '{"a": ', "(", "a.") for depth in (10, 3000)]
INTEGERS = [0, 1, 2, 3, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
FLOATS = [float("nan"), float("inf"), -1.0, 0.0, 1e-40, 3e38, 1e30]
# bytes that are no text, extreme counts of headers, and numbers of records
PARTS = [
    *(b"\x00", b"\xff\xfe", b"\xc3", b"\xe2\x80\xa8", b"\r", b"\x1a", b"\x0b", b'"', b"'", b"#"),
    *(struct.pack("<Q", number)[:size] for number in INTEGERS for size in (1, 2, 4, 8)),
    *(struct.pack(kind, number) for number in FLOATS for kind in ("<f", "<d")),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 2, 2**31, 2**63, 10**400, -(10**400), 1e308, 5e-324, float("nan")),
    *(float("inf"), "", "text", "é" * 60, b"", b"\xff", (), [], {}, [[]], [1.0, 2.0], object),
]


@st.composite
def damaged(draw: st.DrawFn, data: bytes, is_text: bool = False) -> bytes:
    """The data with one to three parts replaced, removed or repeated."""
    for _ in range(draw(st.integers(1, 3))):
        kinds = ("number", "number", "line", "bytes") if is_text else ("bytes",)
        kind = draw(st.sampled_from(kinds))
        found = [match.span() for match in (NUMBER if kind == "number" else LINE).finditer(data)]
        if kind != "bytes" and found:
            start, end = draw(st.sampled_from(found))
        else:
            # headers precede files and records
            start = draw(st.integers(0, len(data)) | st.integers(0, min(64, len(data))))
            size = draw(st.sampled_from([0, 1, 2, 4, 8, 16, 1024, len(data)]))
            end = min(len(data), start + size)
        same = data[start:end]
        if kind == "number":
            token = st.sampled_from(TOKENS + NESTED) | st.floats(-1e12, 1e12).map(repr)
            part = draw(token).encode()
        elif kind == "line":
            part = draw(st.sampled_from([b"", 2 * same, same[::-1]]))
        else:
            part = draw(st.sampled_from([*PARTS, b"", b"", 2 * same, same[::-1]]))
        data = data[:start] + part + data[end:]
    return data


@st.composite
def damaged_value(draw: st.DrawFn, value: Any) -> Any:
    """A tree of tuples, lists, dicts and arrays with one part replaced or removed."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(VALUES))
    if isinstance(value, bytes) and value:
        return draw(damaged(value))
    if isinstance(value, tuple | list) and value:
        at = draw(st.integers(0, len(value) - 1))
        part = draw(st.just([]) | st.just(2 * [value[at]]) | st.tuples(damaged_value(value[at])))
        return type(value)([*value[:at], *part, *value[at + 1 :]])
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(list(value)))
        return {**value, key: draw(damaged_value(value[key]))}
    if isinstance(value, np.ndarray) and value.ndim and value.size:
        changed = value.copy()
        changed.flat[draw(st.integers(0, value.size - 1))] = draw(st.sampled_from(FLOATS[:4]))
        return draw(st.sampled_from([changed, value[..., None], value[:1], value.astype(object)]))
    return draw(st.sampled_from(VALUES))


class Reader(NamedTuple):
    """Reads and checks the file `main`, which may refer to other files."""

    main: str
    """Relative to the folder of the files; "" for the folder."""
    read: Callable[[Path], None]
    error: type[Exception] = ValueError
    is_text: bool = True
    mesh: bool = False
    """Whether only the other file, of a mesh, is damaged."""
    packages: tuple[str, ...] = ()


def _check_vehicle(vehicle: Path | pw.VehicleParameters | pw.CarParameters) -> None:
    """Requires that steps from trim stay finite."""
    parameters = pw.vehicles.load(vehicle, None)
    if isinstance(parameters, pw.CarParameters):
        car = pw.Car(vehicle)  # type: ignore[arg-type]
        car.step(pw.SpeedYawRate(0.5 * parameters.speed_max, 0.1), substeps=100)
        assert np.isfinite([car.state.x, car.state.y, car.state.heading]).all()
        return
    uav = pw.Multicopter(vehicle)  # type: ignore[arg-type]
    dt = max(pw.DEFAULT_DT, parameters.motor.command_delay / 61.0)  # capacity of a delay line
    uav.step(pw.RotorSpeeds(uav.trim().rotor_speeds), dt=dt, substeps=100)
    for part in STATE:
        assert np.isfinite(getattr(uav.state, part)).all(), part


STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")


def _vehicle(path: Path) -> None:
    pw.vehicles.sources(path)
    _check_vehicle(path)


def _goggles(path: Path) -> None:
    _check_vehicle(import_flightgoggles(path))


def _scene(path: Path) -> None:
    directions = np.array([[1, 0, 0], [0, 1, 0], [0, 0, -1], [-1, 0.1, 0.01], [0, 0, 1], [3, 2, 1]])
    for number in (None, 5):
        scene = Scene.load(path, seed=number)
        positions = [item.position for item in scene.items[:20]] or [(0.0, 0.0, 0.0)]
        for kind in (np.float32, np.float64):
            origins = (np.array(positions)[:, None] + [0.1, -10.0, 2.0]).astype(kind)
            hits = scene.raycast(origins, directions.astype(kind))
            is_hit = np.isfinite(hits.distance)
            assert hits.normal is not None
            assert np.all(hits.distance > 0.0)
            assert np.isfinite(hits.normal).all()
            length = np.linalg.norm(hits.normal[is_hit].astype(float), axis=-1)
            np.testing.assert_allclose(length, 1.0, atol=1e-3)
            np.testing.assert_array_equal(hits.id >= 0, is_hit)
        scene.collides(np.array(positions), radius=0.2)
        assert scene.start is None or np.isfinite([*scene.start.position, scene.start.yaw]).all()


def _check_flight(flight: logs.Flight) -> None:
    assert np.isfinite(flight.time).all()
    assert (np.diff(flight.time) > 0.0).all()
    for part in ("duty", "body_rates", "specific_force", "voltage", "position", "velocity"):
        values = getattr(flight, part)
        assert values is None or len(values) == len(flight.time), part
        assert values is None or np.isfinite(values).all(), part
    if flight.attitude is not None:
        np.testing.assert_allclose(np.linalg.norm(flight.attitude, axis=1), 1.0)
    assert (flight.duty >= 0.0).all()
    assert (flight.duty <= 1.0).all()


def _log(path: Path) -> None:
    _check_flight(identify.read_log(path, vehicle="crazyflie"))


def _mcap(path: Path) -> None:
    columns = identify.Columns(
        body_rates=[f"/imu:rates.{axis}" for axis in "xyz"],
        specific_force=[f"/imu:force.{axis}" for axis in "xyz"],
        motors=["/imu:duty[0]"],
    )
    _check_flight(identify.read_log(path, columns))


def _csv(path: Path) -> None:
    columns = identify.Columns(
        time="t",
        body_rates=["p", "q", "r"],
        specific_force=["ax", "ay", "az"],
        motors=["m1", "m2"],
        attitude=["qw", "qx", "qy", "qz"],
        scale={"motors": 1e-3},
    )
    if path.read_bytes()[:2] == b"t,":
        _check_flight(identify.read_log(path, columns))
    else:
        _log(path)
        _check_flight(logs.read_flight(path))


def _flight_log(path: Path) -> None:
    record = logs.read_record(path)
    assert np.isfinite(record.position).all()
    assert (np.diff(record.time) > 0.0).all()
    json.dumps(record.info)
    _check_flight(identify.read_log(path))


def _columns(path: Path) -> None:
    assert len(identify.Columns.from_toml(path).body_rates) == 3


def _policy(path: Path) -> None:
    from propwash.gym.policy import Policy

    policy = Policy.load(path)
    actions = policy.act(np.zeros((3, policy.observation_size), np.float32))
    assert actions.ndim == 2
    assert len(actions) == 3
    assert (np.abs(actions) <= 1.0).all()
    json.dumps([policy.description.options, policy.description.training])
    try:
        envs = policy.make_vec(2)
    except (ValueError, TypeError):  # the environments check the options
        return
    try:
        observations, _ = envs.reset(seed=1)
        envs.step(policy.act(observations))
    finally:
        envs.close()


def _checkpoint(path: Path) -> None:
    from propwash.cli.train import read_checkpoint

    checkpoint = read_checkpoint(path)
    json.dumps([checkpoint["settings"], checkpoint["curve"], checkpoint["seconds"]])


PARAMETER = pw.ParameterError
READERS = {
    "vehicle": Reader("vehicle.toml", _vehicle, PARAMETER),
    "scene": Reader("scene.toml", _scene, PARAMETER),
    "obj": Reader("scene.toml", _scene, PARAMETER, mesh=True),
    "stl_text": Reader("scene.toml", _scene, PARAMETER, mesh=True),
    "stl_binary": Reader("scene.toml", _scene, PARAMETER, is_text=False, mesh=True),
    "flightgoggles": Reader("drone.yaml", _goggles, PARAMETER, packages=("yaml",)),
    "csv": Reader("log.csv", _csv),
    "flight_log": Reader("log.csv", _flight_log),
    "flight_log_mcap": Reader("log.mcap", _flight_log, is_text=False, packages=("mcap", "rosbags")),
    "columns": Reader("columns.toml", _columns),
    "ulog": Reader("log.ulg", _log, is_text=False, packages=("pyulog",)),
    "bag_ros1": Reader("log.bag", _log, is_text=False, packages=("rosbags",)),
    "bag_sqlite": Reader("", _log, is_text=False, packages=("rosbags",)),
    "bag_mcap": Reader("", _log, is_text=False, packages=("rosbags",)),
    "mcap": Reader("log.mcap", _mcap, is_text=False, packages=("mcap", "mcap_protobuf", "rosbags")),
    "lcm": Reader("log", _log, is_text=False),
    "policy": Reader("policy.onnx", _policy, is_text=False, packages=("onnxruntime", "torch")),
    "checkpoint": Reader("checkpoint.pt", _checkpoint, is_text=False, packages=("torch",)),
}


@st.composite
def damaged_files(draw: st.DrawFn, reader: str) -> tuple[Files, str]:
    """Files of a reader of which one is damaged, and the key of the only replaced value."""
    files = draw(st.sampled_from(seeds(reader)))
    main, _, _, is_text, mesh, _ = READERS[reader]
    name = draw(st.sampled_from(sorted(set(files) - ({main} if mesh else set()))))
    data = files[name]
    if reader in ("vehicle", "scene", "flightgoggles", "columns") and draw(st.booleans()):
        start, end = draw(st.sampled_from([match.span() for match in NUMBER.finditer(data)]))
        keys = re.findall(rb'^[ \t]*"?([\w.]+)"?[ \t]*[=:]', data[:start], re.M)
        token = draw(st.sampled_from([each for each in TOKENS if each not in ("\\", "*")])).encode()
        key = keys[-1].decode().rpartition(".")[2] if keys else ""
        return {**files, name: data[:start] + token + data[end:]}, key
    return {**files, name: draw(damaged(data, is_text))}, ""


def _names_key(message: str, key: str) -> bool:
    """Whether a message names the key, a key that it affects, or the place of a syntax error."""
    same = {
        "filter_cutoff": "rate_controller.filter",
        "position": "torque in hover",
        "yaw": "attitude",
        "spin": "torque in hover",
    }
    # errors of ranges name the parameters of the library, not the keys of FlightGoggles
    others = ("total thrust", "vehicle 'drone'", "line ", "column ", "at end of", "TOML")
    return any(part in message for part in (key, same.get(key, key), *others))


def feed(
    valid: Sequence[Any], cases: st.SearchStrategy[Any], accepts: Callable[[Any], bool]
) -> None:
    """Passes valid cases and INPUTS damaged ones to a function that returns whether it accepts."""
    counts = {True: 0, False: 0}

    @settings(max_examples=INPUTS)
    @given(cases)
    def run(case: Any) -> None:
        faulthandler.dump_traceback_later(10.0, exit=True)
        try:
            counts[accepts(case)] += 1
        finally:
            faulthandler.cancel_dump_traceback_later()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of motors that are too fast for the time step
        # also fills imports and caches before memory is limited
        assert all(accepts(case) for case in valid)
        with limited_memory():
            (seed(int(SEED))(run) if SEED else run)()
    assert counts[False] > 0, "no input was refused"


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limits memory to 256 MB more than now: inputs of some kilobytes must not need more."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_refused_or_valid(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    for package in reader.packages:
        pytest.importorskip(package)
    path = tmp_path / reader.main

    def accepts(case: tuple[Files, str]) -> bool:
        files, key = case
        for file, data in files.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_bytes(data)
        try:
            reader.read(path)
        except reader.error as error:
            message = str(error)
            assert str(path) in message
            assert len(message) < 3000
            assert "alloc" not in message, "allocation of a declared size"
            assert not key or _names_key(message, key)
            return False
        return True

    feed([(files, "") for files in seeds(name)], damaged_files(name), accepts)


def _multicopters() -> Sequence[pw.Multicopter]:
    slow = pw.vehicles.load("crazyflie").replace(imu={"rate": 100.0, "position": (0.1, 0.0, 0.0)})
    vehicles = [pw.Multicopter("flightgoggles", seed=3), pw.Multicopter("hexacopter")]
    vehicles += [pw.Multicopter(slow, seed=4), pw.Multicopter("crazyflie", noise=False)]
    for number, uav in enumerate(vehicles):
        thrust = 9.81 * uav.parameters.body.mass
        uav.step(pw.RateThrust([0.2, 0.1, 0.3], thrust), substeps=20)
        if number == 0:
            uav.step(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), substeps=20)
    return vehicles


def _check_multicopter(uav: pw.Multicopter) -> None:
    state = uav.state
    for part in STATE:
        assert np.isfinite(getattr(state, part)).all(), part
    assert np.isfinite([uav.time, uav.battery_voltage, *uav.wind]).all()
    *_, numbers = uav.snapshot().split(b" ", 6)  # a header of six words, then numbers of 8 bytes
    # finite numbers may still be out of range
    is_sane = float(np.abs(np.frombuffer(numbers)).max()) < 1e9
    reading = uav.imu
    assert not is_sane or np.isfinite([*reading.specific_force, *reading.angular_rate]).all()
    uav.step(pw.RotorSpeeds(state.rotor_speeds), substeps=1)
    for part in STATE[1:]:
        assert not is_sane or np.isfinite(getattr(uav.state, part)).all(), f"{part} after a step"
    uav.step(HOVER, substeps=3)
    uav.step(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), substeps=3)
    uav.reset()


def _cars() -> Sequence[pw.Car]:
    car = pw.Car(seed=3)
    car.step(pw.SpeedYawRate(2.0, 0.3), substeps=20)
    return [car]


def _check_car(car: pw.Car) -> None:
    assert np.isfinite([car.state.x, car.state.y, car.state.heading, car.time]).all()
    car.step(pw.SpeedYawRate(2.0, 0.3), substeps=5)


def _controllers() -> Sequence[pw.RateController]:
    controller = pw.RateController("flightgoggles")
    for _ in range(5):
        controller.update([0.1, 0.2, 0.3], HOVER)
    return [controller]


def _check_controller(controller: pw.RateController) -> None:
    assert np.isfinite(controller.update([0.1, 0.2, 0.3], HOVER).speeds).all()


def _fleets() -> Sequence[pw.Fleet]:
    slow = pw.vehicles.load("crazyflie").replace(imu={"rate": 100.0})
    fleets = [
        pw.Fleet("flightgoggles", 3, dtype="float32", seed=1),
        pw.Fleet("hexacopter", 2, dtype="float64", integrator="euler", max_action_delay=4),
        pw.Fleet(slow, 2, dtype="float32", turbulence=pw.Dryden(5.0, 20.0, 10.0), floor=0.0),
    ]
    fleets[1].set_action_delay([1, 3])
    for fleet in fleets:
        fleet.step(pw.RateThrust([0.1, 0.2, 0.3], 9.81 * fleet.vehicle.body.mass), substeps=20)
    fleets[0].step(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), substeps=20)
    return fleets


def _sensing_fleets() -> Sequence[pw.Fleet]:
    scene = Scene([Plane(name="ground"), Box(name="crate", size=(1, 1, 1), position=(0, 0, -5))])
    fleet = pw.Fleet("flightgoggles", 2, seed=1)
    fleet.attach(pw.RangeFinder(scene), rate=100.0, latency=0.02)
    fleet.attach(pw.Gnss(), rate=50.0)
    fleet.step(HOVER, substeps=60)
    return [fleet]


def _check_fleet(fleet: pw.Fleet) -> None:
    fleet.step(HOVER, substeps=7)
    finite = np.isfinite(fleet.position).all(axis=1) & np.isfinite(fleet.body_rates).all(axis=1)
    assert (finite | fleet.diverged).all()
    assert all(len(handle.time) == len(fleet) for handle in fleet.sensors.values())
    assert np.isfinite(fleet.time).all()
    assert np.isfinite(fleet.wind).all()
    fleet.set_wind(np.zeros(3))  # finite, but possibly an extreme wind
    fleet.reset()
    fleet.step(HOVER, substeps=3)
    assert np.isfinite(fleet.position).all()


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)


@pytest.mark.parametrize(
    ("make", "check"),
    [
        pytest.param(_multicopters, _check_multicopter, marks=pytest.mark.slow),
        (_cars, _check_car),
        (_controllers, _check_controller),
        (_fleets, _check_fleet),
        (_sensing_fleets, _check_fleet),
    ],
)
def test_damaged_snapshots_change_nothing_or_are_valid(
    make: Callable[[], Sequence[Any]], check: Callable[[Any], None]
) -> None:
    objects = [(each, each.snapshot()) for each in make()]

    @st.composite
    def cases(draw: st.DrawFn) -> tuple[Any, Any, Any]:
        obj, valid = draw(st.sampled_from(objects))
        _, snapshot = draw(st.sampled_from([(obj, valid)] * 9 + objects))
        return obj, valid, draw(damaged_value(snapshot))

    def accepts(case: tuple[Any, Any, Any]) -> bool:
        obj, valid, snapshot = case
        obj.restore(valid)
        try:
            obj.restore(snapshot)
        except (ValueError, TypeError) as error:
            message = str(error)
            assert len(message) < 3000
            assert _same(obj.snapshot(), valid), "changed by a refused snapshot"
            return False
        again = obj.snapshot()
        obj.restore(again)
        assert _same(obj.snapshot(), again)
        check(obj)
        return True

    feed([(obj, valid, valid) for obj, valid in objects], cases(), accepts)


def test_damaged_pickles_raise_ordinary_exceptions() -> None:
    scene = Scene([Plane(name="ground"), Box(name="crate", size=(1, 1, 1))])
    objects = [
        *(_multicopters()[0], _cars()[0], _controllers()[0], _fleets()[1], _sensing_fleets()[0]),
        *(scene, pw.LowPass(30.0, 0.001, channels=2), pw.vehicles.load("penguin"), scene.items[1]),
        *(HOVER, pw.RotorSpeeds([1.0, 2.0, 3.0, 4.0]), pw.SpeedYawRate(1.0, 0.1)),
        *(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), pw.PositionCommand([1.0, 0.0, 0.0], 0.1)),
        pw.TrajectoryCommand([1.0, 0.0, 0.0]),
    ]

    @st.composite
    def cases(draw: st.DrawFn) -> tuple[Any, ...]:
        """What pickle calls: a function, its arguments, and the argument of __setstate__."""
        parts: Any = draw(st.sampled_from(objects)).__reduce_ex__(4)
        make, arguments, *rest = parts
        states = [state for state in rest[:1] if state is not None]
        if states:
            return make, arguments, [draw(damaged_value(states[0]))]
        return make, draw(damaged_value(arguments)), []

    def accepts(case: tuple[Any, ...]) -> bool:
        make, arguments, states = case
        try:
            obj = make(*arguments)
            for state in states:
                obj.__setstate__(state)
            repr(obj)
        except (MemoryError, RecursionError, SystemError):
            raise
        except Exception:
            return False
        return True

    feed([], cases(), accepts)
