"""The sensors of a vehicle in a race: attaches them, and converts what they deliver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.race._interface import Image, Range, Readings, SensorSuite, Sighting, read_only
from propwash.sampling.sensor import Motion, Sampling, Sensor
from propwash.sensors import Beacons, RangeFinder
from propwash.vehicle.multicopter import Multicopter
from propwash.world import Gate, Scene

Array = NDArray[np.float64]


class Instruments:
    """Reads the sensors of a vehicle in a scene.

    gates: the course; beacons of other gates are not reported. seed: of the noise.
    """

    def __init__(
        self,
        vehicle: Multicopter,
        scene: Scene,
        gates: Sequence[Gate],
        suite: SensorSuite,
        dt: float,
        seed: int,
    ) -> None:
        if not isinstance(suite, SensorSuite):
            raise TypeError(f"sensors: expected a SensorSuite, got {suite!r:.100}")
        keys = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        beacons = Beacons(
            scene,
            suite.camera,
            deviation=suite.deviation,
            reach=suite.reach,
            miss_rate=suite.miss_rate,
            seed=int(keys[0]),
        )
        ground = RangeFinder(scene, variance=suite.range_variance, seed=int(keys[1]))
        numbers = {gate.name: number for number, gate in enumerate(gates)}
        self._gates = np.array([numbers.get(name, -1) for name in beacons.gates], np.intp)
        self._corners = np.asarray(beacons.corners, np.intp)
        self._vehicle, self._dt = vehicle, dt
        attach = partial(vehicle.attach, latency=suite.latency, dt=dt)
        self._beacons = attach(_Polled("beacons", beacons.measure), suite.rate)
        self._range = attach(_Polled("range", ground.measure), suite.rate)
        self._images = None
        if suite.image_rate > 0.0:
            self._images = attach(_Polled("images", _renderer(scene, suite)), suite.image_rate)

    def read(self) -> Readings:
        """The readings at the present step; to be called once in each step."""
        imu = self._vehicle.imu
        seen, ground = self._beacons.take(), self._range.take()
        image = None
        if self._images is not None and (taken := self._images.take()) is not None:
            image = Image(self._rounded(self._images.time), read_only(taken.pixels))
        return Readings(
            self._rounded(self._vehicle.time),
            read_only(imu.angular_rate),
            read_only(imu.specific_force),
            None if seen is None else self._sighting(seen),
            None if ground is None else Range(self._rounded(self._range.time), float(ground.range)),
            image,
        )

    def _sighting(self, seen: Any) -> Sighting:
        rows = np.flatnonzero(seen.visible & (self._gates >= 0))
        gates, corners = self._gates[rows], self._corners[rows]
        time = self._rounded(self._beacons.time)
        return Sighting(time, *map(read_only, (gates, corners, seen.u[rows], seen.v[rows])))

    def _rounded(self, time: float) -> float:
        """A multiple of dt: the time of a vehicle is a sum of steps, with its rounding."""
        return round(time / self._dt) * self._dt


class _Polled(Sensor[Any]):
    """A sensor that is read by a function, whose noise does not depend on the vehicle's seed."""

    def __init__(self, kind: str, measure: Callable[[Array, Array], Any]) -> None:
        super().__init__(0)
        self.kind, self._measure = kind, measure  # type: ignore[misc]

    def _read(self, motion: Motion, sampling: Sampling) -> Any:
        return self._measure(motion.position, motion.attitude)


@dataclass(frozen=True, eq=False)
class _Images:
    pixels: NDArray[np.uint8]
    """(…, height, width, 3)."""


def _renderer(scene: Scene, suite: SensorSuite) -> Callable[[Array, Array], _Images]:
    """Images of the built-in renderer at a pose, position (1, 3) and attitude (1, 4)."""
    from propwash.render import Offscreen, RenderCamera

    camera = suite.camera
    renderer = Offscreen(
        scene,
        width=camera.width,
        height=camera.height,
        vertical_fov_deg=camera.vertical_fov_deg,
    )
    front = RenderCamera("front", position=camera.position, attitude=camera.attitude)

    def images(position: Array, attitude: Array) -> _Images:
        frame = renderer.render(front, position[0], attitude[0])
        return _Images(np.array([frame.images[front.name]]))

    return images
