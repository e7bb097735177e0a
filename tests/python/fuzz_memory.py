"""Readers of values in memory: snapshots as bytes and as tuples, and pickled objects.

A damaged snapshot is either refused with ValueError or TypeError and changes nothing, or it is
accepted and the vehicle can be stepped.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
from fuzz_mutations import BINARY, mutated, mutated_value
from fuzz_readers import require
from propwash.world import Box, Plane, Scene

_HOVER = pw.RateThrust([0.1, -0.2, 0.3], 10.0)


@dataclass(frozen=True)
class SnapshotReader:
    """Objects with snapshot() and restore()."""

    name: str
    make_objects: Callable[[], Sequence[Any]]
    check: Callable[[Any], None]
    """Checks an object with an accepted snapshot."""

    @functools.cached_property
    def _objects(self) -> list[tuple[Any, Any]]:
        return [(each, each.snapshot()) for each in self.make_objects()]

    def make(self, rng: random.Random) -> tuple[int, Any]:
        """The index of an object and a mutated snapshot, sometimes of another object."""
        number = rng.randrange(len(self._objects))
        _, snapshot = rng.choice(self._objects) if rng.random() < 0.1 else self._objects[number]
        if isinstance(snapshot, bytes) and rng.random() < 0.95:
            return number, mutated(snapshot, rng, BINARY)
        return number, mutated_value(snapshot, rng)

    def run(self, case: tuple[int, Any], folder: Path) -> bool:
        """Restores the snapshot."""
        number, snapshot = case
        obj, valid = self._objects[number]
        obj.restore(valid)
        try:
            obj.restore(snapshot)
        except (ValueError, TypeError) as error:
            require(len(str(error)) < 3000, f"a message of {len(str(error))} characters")
            require(_same(obj.snapshot(), valid), f"changed by a refused snapshot: {error}")
            return False
        again = obj.snapshot()
        obj.restore(again)
        require(_same(obj.snapshot(), again), "restore(snapshot()) changes the snapshot")
        self.check(obj)
        return True


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)


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
    for part in ("position", "velocity", "attitude", "body_rates", "rotor_speeds"):
        require(np.isfinite(getattr(state, part)).all(), f"{part} not finite")
    require(np.isfinite([uav.time, uav.battery_voltage, *uav.wind]).all(), "inputs not finite")
    *_, numbers = uav.snapshot().split(b" ", 6)  # a header of six words, then numbers of 8 bytes
    # finite numbers may still be out of range
    is_sane = float(np.abs(np.frombuffer(numbers)).max()) < 1e9
    reading = uav.imu
    if is_sane:
        require(np.isfinite([*reading.specific_force, *reading.angular_rate]).all(), "reading")
    uav.step(pw.RotorSpeeds(state.rotor_speeds), substeps=1)
    if is_sane:
        after = uav.state
        for part in ("velocity", "attitude", "body_rates", "rotor_speeds"):
            require(np.isfinite(getattr(after, part)).all(), f"{part} not finite after a step")
    uav.step(_HOVER, substeps=3)
    uav.step(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), substeps=3)
    uav.reset()


def _cars() -> Sequence[pw.Car]:
    car = pw.Car(seed=3)
    car.step(pw.SpeedYawRate(2.0, 0.3), substeps=20)
    return [car]


def _check_car(car: pw.Car) -> None:
    state = car.state
    require(np.isfinite([state.x, state.y, state.heading, car.time]).all(), "state not finite")
    car.step(pw.SpeedYawRate(2.0, 0.3), substeps=5)


def _controllers() -> Sequence[pw.RateController]:
    controller = pw.RateController("flightgoggles")
    for _ in range(5):
        controller.update([0.1, 0.2, 0.3], _HOVER)
    return [controller]


def _check_controller(controller: pw.RateController) -> None:
    update = controller.update([0.1, 0.2, 0.3], _HOVER)
    require(np.isfinite(update.speeds).all(), "speeds not finite")


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
    fleet.step(_HOVER, substeps=60)
    return [fleet]


def _check_fleet(fleet: pw.Fleet) -> None:
    fleet.step(_HOVER, substeps=7)
    finite = np.isfinite(fleet.position).all(axis=1) & np.isfinite(fleet.body_rates).all(axis=1)
    require((finite | fleet.diverged).all(), "not finite, and not diverged")
    for handle in fleet.sensors.values():
        require(len(handle.time) == len(fleet), "readings")
    require(np.isfinite(fleet.time).all() and np.isfinite(fleet.wind).all(), "time or wind")
    fleet.set_wind(np.zeros(3))  # finite, but possibly an extreme wind
    fleet.reset()
    fleet.step(_HOVER, substeps=3)
    require(np.isfinite(fleet.position).all(), "not finite after a reset")


class PickleReader:
    """The functions that pickle calls for objects of the package, with mutated arguments.

    They must raise an ordinary exception or return a valid object.
    """

    name = "pickles"

    @functools.cached_property
    def _reduced(self) -> list[tuple[Callable[..., Any], tuple[Any, ...], list[Any]]]:
        scene = Scene([Plane(name="ground"), Box(name="crate", size=(1, 1, 1))])
        low_pass = pw.LowPass(30.0, 0.001, channels=2)
        objects = [
            *(_multicopters()[0], _cars()[0], _controllers()[0], _fleets()[1]),
            *(_sensing_fleets()[0], scene, low_pass, pw.vehicles.load("penguin"), scene.items[1]),
            *(_HOVER, pw.RotorSpeeds([1.0, 2.0, 3.0, 4.0]), pw.SpeedYawRate(1.0, 0.1)),
            *(pw.VelocityCommand([1.0, 0.0, 0.0], 0.1), pw.PositionCommand([1.0, 0.0, 0.0], 0.1)),
            pw.TrajectoryCommand([1.0, 0.0, 0.0]),
        ]
        reduced = []
        for each in objects:
            parts: Any = each.__reduce_ex__(4)
            make, arguments, *rest = parts
            reduced.append((make, arguments, [state for state in rest[:1] if state is not None]))
        return reduced

    def make(self, rng: random.Random) -> tuple[Any, ...]:
        """A function, its arguments, and the argument of __setstate__ if it is called."""
        make, arguments, states = rng.choice(self._reduced)
        if not states:
            return make, mutated_value(arguments, rng), []
        return make, arguments, [mutated_value(states[0], rng)]

    def run(self, case: tuple[Any, ...], folder: Path) -> bool:
        """Unpickles the object."""
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


MEMORY_READERS: Mapping[str, Any] = {
    reader.name: reader
    for reader in (
        SnapshotReader("multicopter", _multicopters, _check_multicopter),
        SnapshotReader("car", _cars, _check_car),
        SnapshotReader("rate_controller", _controllers, _check_controller),
        SnapshotReader("fleet", _fleets, _check_fleet),
        SnapshotReader("sensing_fleet", _sensing_fleets, _check_fleet),
        PickleReader(),
    )
}
