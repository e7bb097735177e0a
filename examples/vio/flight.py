"""A flight of a path on the estimate of visual-inertial odometry."""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass, field
from pathlib import Path as File

import numpy as np
import propwash as pw
from propwash.render import Offscreen
from propwash.trajectories import Controller, Path
from scipy.spatial.transform import Rotation

from vio.rig import Array, Rig, VioError
from vio.smoother import Smoother, Tuning
from vio.tracker import StereoTracker

DT = 1.0 / 960.0
CONTROL = 4
"""Physics steps between two control steps."""
CONTACT = 16
"""Physics steps between two tests for contact."""
MIN_FEATURES = 8
"""Features that the first image must have."""
LOST = 1.0
"""s, of flight with fewer than 4 features, after which the estimate counts as lost."""


@dataclass(frozen=True)
class Options:
    """Vehicle, estimator and controller of a flight."""

    vehicle: str = "blackbird"
    controller: Controller = "geometric"
    features: int = 40
    """Tracked features."""
    keyframe_rate: float = 5.0
    """Hz."""
    tuning: Tuning = field(default_factory=Tuning)
    accelerometer_bias: float = 0.05
    """m/s^2, standard deviation of the biases at the start, unknown to the estimator."""
    gyroscope_bias: float = 0.005
    """rad/s."""
    start_error: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m, of the position that the estimator gets at the start."""
    closed_loop: bool = True
    """False: the controller uses the true state, and the estimator runs beside it."""
    look: str = "auto"
    """Light of the renderer."""


@dataclass(frozen=True, eq=False)
class Flight:
    """Truth and estimate at the instants of the images: arrays of T rows."""

    time: Array
    """(T,) s."""
    position: Array
    """(T, 3) m, true."""
    attitude: Array
    """(T, 4), true, scalar first, from body to world."""
    estimated_position: Array
    """(T, 3) m, after the update with the image."""
    estimated_velocity: Array
    """(T, 3) m/s."""
    estimated_attitude: Array
    """(T, 4)."""
    reference: Array
    """(T, 3) m, position of the path."""
    tracked: Array
    """(T,) features in both images."""
    end: str
    """"": the path was completed; "contact", "lost": the flight ended early."""
    cpu: float
    """s, of the process."""

    @property
    def error(self) -> Array:
        """(T,) m, of the estimated position."""
        return np.asarray(np.linalg.norm(self.estimated_position - self.position, axis=1))

    @property
    def distance(self) -> float:
        """m, of the true flight."""
        return float(np.sum(np.linalg.norm(np.diff(self.position, axis=0), axis=1)))

    @property
    def relative_error(self) -> float:
        """Position error at the end, as a fraction of the distance."""
        return float(self.error[-1] / max(self.distance, 1e-9))


class _Recorder:
    """Lists of the columns of a Flight."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []

    def flight(self, end: str, cpu: float) -> Flight:
        columns = [np.array(column, dtype=np.float64) for column in zip(*self.rows, strict=True)]
        return Flight(*columns, end=end, cpu=cpu)


def fly(
    scene: pw.Scene | str | File,
    path: Path,
    seed: int = 0,
    rig: Rig | None = None,
    options: Options | None = None,
    duration: float | None = None,
) -> Flight:
    """Flies a path on the estimate of visual-inertial odometry.

    The vehicle starts at rest at the start of the path, which is known. From then on the controller
    gets the estimate only.

    Args:
        scene: what the cameras see and the vehicle must not touch.
        path: of `propwash.trajectories`; it should start at rest.
        seed: of scene, sensor noise, biases and textures.
        rig: the stereo camera.
        options: vehicle and estimator.
        duration: s, to end before the end of the path.

    Raises VioError if the first images do not have enough features.
    """
    started = clock.process_time()
    chosen = options or Options()
    world = scene if isinstance(scene, pw.Scene) else pw.Scene.load(scene, seed=seed)
    loop = _Loop(world, path, seed, rig or Rig(), chosen)
    steps = math.ceil((duration or path.duration) / DT / CONTROL) * CONTROL
    record = _Recorder()
    end = loop.run(steps, record)
    return record.flight(end, clock.process_time() - started)


class _Loop:
    def __init__(self, scene: pw.Scene, path: Path, seed: int, rig: Rig, options: Options) -> None:
        self._rig, self._options = rig, options
        self._uav, start = _placed(path, seed, options)
        imu = self._uav.parameters.imu
        gravity = -self._uav.parameters.body.gravity[2]
        self._smoother = Smoother(rig, imu, gravity, start, options.tuning)
        self._tracker = StereoTracker(rig, options.features)
        self._renderer = Offscreen(
            scene,
            width=rig.width,
            height=rig.height,
            vertical_fov_deg=rig.fov,
            antialias=rig.antialias,
            look=options.look,
            seed=seed,
        )
        self._contact = pw.CollisionSensor(scene, 0.12)
        arms = np.array([rotor.position for rotor in self._uav.parameters.rotors])
        self._hull = np.concatenate([np.zeros((1, 3)), arms])
        self._path = path
        self._dark, self._keyframes, self._images = 0.0, 0, 0
        self._estimate = start

    def run(self, steps: int, record: _Recorder) -> str:
        """Flies; returns the reason of an early end or ""."""
        reference = self._path.sample(period=CONTROL * DT)
        self._image(record, reference.position[0])
        for step in range(0, steps, CONTROL):
            row = min(step // CONTROL, len(reference) - 1)
            self._control(reference[row].command(self._options.controller))
            if step % CONTACT == 0 and self._touches():
                return "contact"
            if (step + CONTROL) * DT * self._rig.rate >= self._images - 1e-9:
                self._image(record, reference.position[row])
                if self._dark > LOST:
                    return "lost"
        return ""

    def _control(self, command: pw.TrajectoryCommand) -> None:
        state = self._estimate if self._options.closed_loop else None
        for _ in range(CONTROL):
            self._uav.step(command, DT, state=state)
            imu = self._uav.imu
            self._smoother.add_imu(imu.time, imu.specific_force, imu.angular_rate)
        self._estimate = self._smoother.estimate

    def _touches(self) -> bool:
        attitude = self._uav.attitude
        points = self._uav.position + Rotation.from_quat(np.roll(attitude, -1)).apply(self._hull)
        attitudes = np.broadcast_to(attitude, (len(points), 4))
        return bool(np.any(self._contact.measure(points, attitudes).collision))

    def _image(self, record: _Recorder, reference: Array) -> None:
        """Renders an image pair, tracks, and updates the estimate at keyframes."""
        uav, time = self._uav, self._uav.time
        frame = self._renderer.render(self._rig.cameras, uav.position, uav.attitude)
        features = self._tracker.track(
            time, frame.images["left"], frame.images["right"], *self._smoother.camera_motion()
        )
        count = len(features.ids)
        if self._images == 0 and count < MIN_FEATURES:
            raise VioError(
                f"scene {self._renderer.scene.name!r}: expected at least {MIN_FEATURES} features "
                f"in the first image pair, got {count}; use a scene with texture, such as 'room' "
                "or 'warehouse', or start where one is in view"
            )
        self._dark = 0.0 if count >= 4 else self._dark + 1.0 / self._rig.rate
        self._images += 1
        if time * self._options.keyframe_rate >= self._keyframes - 1e-9:
            self._keyframes += 1
            if time > 0.0:
                self._tracker.remove(self._smoother.add_keyframe(features))
                self._estimate = self._smoother.estimate
        estimate = self._estimate
        record.rows.append(
            (
                time,
                uav.position,
                uav.attitude,
                estimate.position,
                estimate.velocity,
                estimate.attitude,
                reference,
                count,
            )
        )


def _placed(path: Path, seed: int, options: Options) -> tuple[pw.Multicopter, pw.MotionEstimate]:
    """The vehicle at rest at the start of a path, and that state."""
    parameters = pw.vehicles.load(options.vehicle)
    imu = parameters.imu.replace(
        accelerometer_bias_initial=options.accelerometer_bias,
        gyroscope_bias_initial=options.gyroscope_bias,
    )
    uav = pw.Multicopter(parameters.replace(imu=imu), seed=seed)
    first = path.sample([0.0])
    yaw = float(first.yaw[0])
    attitude = np.array([math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0)])
    uav.reset(position=first.position[0], velocity=first.velocity[0], attitude=attitude)
    position = first.position[0] + np.array(options.start_error)
    return uav, pw.MotionEstimate(position, first.velocity[0], attitude)
