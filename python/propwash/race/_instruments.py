"""The sensors of a vehicle in a race: reads them, and delays what they deliver."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.race._interface import Image, Range, Readings, SensorSuite, Sighting
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
        self._vehicle, self._suite, self._dt = vehicle, suite, dt
        self._beacons = Beacons(
            scene,
            suite.camera,
            deviation=suite.deviation,
            reach=suite.reach,
            miss_rate=suite.miss_rate,
            seed=int(keys[0]),
        )
        self._range = RangeFinder(scene, variance=suite.range_variance, seed=int(keys[1]))
        numbers = {gate.name: number for number, gate in enumerate(gates)}
        self._gates = np.array([numbers.get(name, -1) for name in self._beacons.gates], np.intp)
        self._corners = np.asarray(self._beacons.corners, np.intp)
        self._renderer: Any = None
        if suite.image_rate > 0.0:
            self._renderer = _renderer(scene, suite)
        self._step = self._samples = self._images = 0
        self._delay = int(np.ceil(suite.latency / dt - 1e-9))
        self._pending: deque[tuple[int, Sighting, Range]] = deque()
        self._pending_images: deque[tuple[int, Image]] = deque()

    def read(self) -> Readings:
        """The readings at the present step; to be called once in each step."""
        step, time = self._step, self._step * self._dt
        self._step += 1
        if time >= self._samples / self._suite.rate - 1e-9:
            self._samples += 1
            self._pending.append((step + self._delay, *self._sampled(time)))
        if self._renderer is not None and time >= self._images / self._suite.image_rate - 1e-9:
            self._images += 1
            self._pending_images.append((step + self._delay, self._image(time)))
        beacons = ground = image = None
        if self._pending and self._pending[0][0] <= step:
            _, beacons, ground = self._pending.popleft()
        if self._pending_images and self._pending_images[0][0] <= step:
            _, image = self._pending_images.popleft()
        imu = self._vehicle.imu
        return Readings(time, imu.angular_rate, imu.specific_force, beacons, ground, image)

    def _sampled(self, time: float) -> tuple[Sighting, Range]:
        state = self._vehicle.state
        seen = self._beacons.measure(state.position, state.attitude)
        rows = np.flatnonzero(seen.visible & (self._gates >= 0))
        beacons = Sighting(time, self._gates[rows], self._corners[rows], seen.u[rows], seen.v[rows])
        ground = self._range.measure(state.position, state.attitude)
        return beacons, Range(time, float(ground.range))

    def _image(self, time: float) -> Image:
        state = self._vehicle.state
        renderer, camera = self._renderer
        frame = renderer.render(camera, state.position, state.attitude)
        return Image(time, np.array(frame.images[camera.name]))


def _renderer(scene: Scene, suite: SensorSuite) -> tuple[Any, Any]:
    from propwash.render import Offscreen, RenderCamera

    camera = suite.camera
    renderer = Offscreen(
        scene,
        width=camera.width,
        height=camera.height,
        vertical_fov_deg=camera.vertical_fov_deg,
    )
    return renderer, RenderCamera("front", position=camera.position, attitude=camera.attitude)
