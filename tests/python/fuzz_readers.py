"""Readers of files: inputs to mutate, permitted exceptions, and checks of accepted files.

A reader either returns something valid or raises the exception that it documents, with a message
that names the file. `fuzz_child.py` runs the readers; `fuzz_memory.py` has those of values in
memory.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import propwash as pw
from fuzz_files import Files, seeds
from fuzz_mutations import BINARY, NUMBER, TEXT, TOKENS, Mutation, mutated
from propwash import identify, logs
from propwash.vehicle.flightgoggles import import_flightgoggles
from propwash.world import Scene

Error = type[Exception]


class Broken(AssertionError):
    """A reader accepted invalid input, or its message is incomplete."""


class Reader(Protocol):
    """Protocol of the readers."""

    @property
    def name(self) -> str:
        """The name of the reader."""

    def make(self, rng: random.Random) -> Any:
        """A mutated input."""

    def run(self, case: Any, folder: Path) -> bool:
        """Whether the input is accepted. Raises Broken, or an exception that is not permitted."""


@dataclass(frozen=True)
class Case:
    """Mutated files, and the key of the replaced value if there is only one."""

    files: Files
    key: str = ""


def require(condition: object, text: str) -> None:
    """Raises Broken with the text unless the condition holds."""
    if not condition:
        raise Broken(text)


@dataclass(frozen=True)
class FileReader:
    """Reads the file `main`, which may refer to other files."""

    name: str
    main: str
    """Relative to the folder of the files; "" for the folder."""
    read: Callable[[Path], None]
    """Reads and checks the file."""
    mutations: Sequence[Mutation]
    errors: tuple[Error, ...]
    keyed: bool = False
    """Whether lines are `key = value`, and messages name the key."""
    fixed: str = ""
    """A file that is not mutated."""

    def make(self, rng: random.Random) -> Case:
        """One of the files with mutations."""
        seed = rng.choice(seeds(self.name))
        name = rng.choice(sorted(set(seed) - {self.fixed}))
        if self.keyed and rng.random() < 0.4:
            data, key = _with_wrong_value(seed[name], rng)
            return Case({**seed, name: data}, key)
        return Case({**seed, name: mutated(seed[name], rng, self.mutations)})

    def run(self, case: Case, folder: Path) -> bool:
        """Writes the files and reads them."""
        for name, data in case.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        path = folder / self.main
        try:
            self.read(path)
        except self.errors as error:
            message = str(error)
            require(str(path) in message, f"{path} is not named in: {message[:300]}")
            require(len(message) < 3000, f"a message of {len(message)} characters")
            require("alloc" not in message, f"allocation of a declared size: {message[:300]}")
            if case.key:
                named = any(part in message for part in _aliases(case.key))
                require(named, f"{case.key!r} is not named in: {message[:300]}")
            return False
        return True


_KEY = re.compile(rb'^[ \t]*"?([\w.]+)"?[ \t]*[=:]', re.M)


def _with_wrong_value(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The data with one number replaced, and the last part of its key."""
    chosen = rng.choice(list(NUMBER.finditer(data)))
    keys = [match for match in _KEY.finditer(data) if match.end() <= chosen.start()]
    key = keys[-1][1].decode().rpartition(".")[2] if keys else ""
    token = rng.choice([each for each in TOKENS if "\\" not in each and "*" not in each])
    return data[: chosen.start()] + token.encode() + data[chosen.end() :], key


def _aliases(key: str) -> tuple[str, ...]:
    """Texts that a message may contain instead of a key: of syntax errors, or of other keys."""
    same = {
        "filter_cutoff": "rate_controller.filter",
        "position": "torque in hover",
        "yaw": "attitude",
        "spin": "torque in hover",
    }
    # errors of ranges name the parameters of the library, not the keys of FlightGoggles
    syntax = ("line ", "column ", "at end of", "TOML")
    return (key, same.get(key, key), "total thrust", "vehicle 'drone'", *syntax)


def _check_vehicle(vehicle: Path | pw.VehicleParameters | pw.CarParameters) -> None:
    """Requires that steps from trim stay finite."""
    parameters = pw.vehicles.load(vehicle, None)
    if isinstance(parameters, pw.CarParameters):
        car = pw.Car(vehicle)  # type: ignore[arg-type]
        car.step(pw.SpeedYawRate(0.5 * parameters.speed_max, 0.1), substeps=100)
        require(np.isfinite([car.state.x, car.state.y, car.state.heading]).all(), "car not finite")
        return
    uav = pw.Multicopter(vehicle)  # type: ignore[arg-type]
    dt = max(pw.DEFAULT_DT, parameters.motor.command_delay / 61.0)  # capacity of a delay line
    uav.step(pw.RotorSpeeds(uav.trim().rotor_speeds), dt=dt, substeps=100)
    state = uav.state
    for part in ("position", "velocity", "attitude", "body_rates", "rotor_speeds"):
        require(np.isfinite(getattr(state, part)).all(), f"{part} not finite after 100 steps")


def _vehicle(path: Path) -> None:
    pw.vehicles.sources(path)
    _check_vehicle(path)


def _goggles(path: Path) -> None:
    _check_vehicle(import_flightgoggles(path))


_DIRECTIONS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, -1], [-1, 0.1, 0.01], [0, 0, 1], [3, 2, 1]])


def _scene(path: Path) -> None:
    for seed in (None, 5):
        scene = Scene.load(path, seed=seed)
        positions = [item.position for item in scene.items[:20]] or [(0.0, 0.0, 0.0)]
        for kind in (np.float32, np.float64):
            origins = (np.array(positions)[:, None] + [0.1, -10.0, 2.0]).astype(kind)
            hits = scene.raycast(origins, _DIRECTIONS.astype(kind))
            require(np.all(hits.distance > 0.0), "a distance is not > 0")
            is_hit = np.isfinite(hits.distance)
            assert hits.normal is not None
            require(np.isfinite(hits.normal).all(), "a normal is not finite")
            length = np.linalg.norm(hits.normal[is_hit].astype(float), axis=-1)
            require(np.allclose(length, 1.0, atol=1e-3), "a normal is not unit")
            require(((hits.id >= 0) == is_hit).all(), "ids and distances differ")
        scene.collides(np.array(positions), radius=0.2)
        start = scene.start
        require(start is None or np.isfinite([*start.position, start.yaw]).all(), "start")


def _flight(flight: logs.Flight) -> None:
    require(np.isfinite(flight.time).all(), "times not finite")
    require((np.diff(flight.time) > 0.0).all(), "times do not increase")
    rows = len(flight.time)
    for part in ("duty", "body_rates", "specific_force", "voltage", "position", "velocity"):
        values = getattr(flight, part)
        if values is not None:
            require(len(values) == rows and np.isfinite(values).all(), f"{part} not finite")
    if flight.attitude is not None:
        norms = np.linalg.norm(flight.attitude, axis=1)
        require(np.allclose(norms, 1.0), "attitudes not unit")
    require((flight.duty >= 0.0).all() and (flight.duty <= 1.0).all(), "duty cycles")


def _log(path: Path) -> None:
    _flight(identify.read_log(path, vehicle="crazyflie"))


_MAPPING = identify.Columns(
    time="t",
    body_rates=["p", "q", "r"],
    specific_force=["ax", "ay", "az"],
    motors=["m1", "m2"],
    attitude=["qw", "qx", "qy", "qz"],
    scale={"motors": 1e-3},
)


_IMU_MAPPING = identify.Columns(
    body_rates=[f"/imu:rates.{axis}" for axis in "xyz"],
    specific_force=[f"/imu:force.{axis}" for axis in "xyz"],
    motors=["/imu:duty[0]"],
)


def _mcap(path: Path) -> None:
    _flight(identify.read_log(path, _IMU_MAPPING))


def _csv(path: Path) -> None:
    if path.read_bytes()[:2] == b"t,":
        _flight(identify.read_log(path, _MAPPING))
    else:
        _flight(identify.read_log(path, vehicle="crazyflie"))
        _flight(logs.read_flight(path))


def _flight_log(path: Path) -> None:
    record = logs.read_record(path)
    require(np.isfinite(record.position).all(), "positions not finite")
    require((np.diff(record.time) > 0.0).all(), "times do not increase")
    json.dumps(record.info)
    _flight(identify.read_log(path))


def _columns(path: Path) -> None:
    columns = identify.Columns.from_toml(path)
    require(len(columns.body_rates) == 3, "columns")


def _policy(path: Path) -> None:
    from propwash.gym.policy import Policy

    policy = Policy.load(path)
    actions = policy.act(np.zeros((3, policy.observation_size), np.float32))
    require(actions.ndim == 2 and len(actions) == 3, f"actions of shape {actions.shape}")
    require(np.isfinite(actions).all(), "actions not finite")
    require((np.abs(actions) <= 1.0).all(), "actions beyond 1")
    description = policy.description
    json.dumps([description.options, description.training])
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


_PARAMETERS = (pw.ParameterError,)
FILE_READERS: Mapping[str, FileReader] = {
    reader.name: reader
    for reader in (
        FileReader("vehicle", "vehicle.toml", _vehicle, TEXT, _PARAMETERS, keyed=True),
        FileReader("scene", "scene.toml", _scene, TEXT, _PARAMETERS, keyed=True),
        FileReader("obj", "scene.toml", _scene, TEXT, _PARAMETERS, fixed="scene.toml"),
        FileReader("stl_text", "scene.toml", _scene, TEXT, _PARAMETERS, fixed="scene.toml"),
        FileReader("stl_binary", "scene.toml", _scene, BINARY, _PARAMETERS, fixed="scene.toml"),
        FileReader("flightgoggles", "drone.yaml", _goggles, TEXT, _PARAMETERS, keyed=True),
        FileReader("csv", "log.csv", _csv, TEXT, (ValueError,)),
        FileReader("flight_log", "log.csv", _flight_log, TEXT, (ValueError,)),
        FileReader("flight_log_mcap", "log.mcap", _flight_log, BINARY, (ValueError,)),
        FileReader("columns", "columns.toml", _columns, TEXT, (ValueError,), keyed=True),
        FileReader("ulog", "log.ulg", _log, BINARY, (ValueError,)),
        FileReader("bag_ros1", "log.bag", _log, BINARY, (ValueError,)),
        FileReader("bag_sqlite", "", _log, BINARY, (ValueError,)),
        FileReader("bag_mcap", "", _log, BINARY, (ValueError,)),
        FileReader("mcap", "log.mcap", _mcap, BINARY, (ValueError,)),
        FileReader("lcm", "log", _log, BINARY, (ValueError,)),
        FileReader("policy", "policy.onnx", _policy, BINARY, (ValueError,)),
        FileReader("checkpoint", "checkpoint.pt", _checkpoint, BINARY, (ValueError,)),
    )
}


def quiet() -> None:
    """Ignores warnings of motors that are too fast for the time step."""
    warnings.simplefilter("ignore")
