"""The error-state Kalman filter; propwash.estimate exports it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _world
from propwash._checks import ParameterError
from propwash.sensors import Camera
from propwash.vehicle import ImuParameters, MotionEstimate, MulticopterState
from propwash.world import Gate

Array = NDArray[np.float64]


class ErrorStateFilter(_world.ErrorStateFilter):
    """Estimates motion, biases of the IMU and poses of gates, with their covariance.

    imu: noise, bias walks, mounting and scale factors of the sensor. Biases are zero at the start,
        with the parameters' deviations at reset.
    start: position, velocity and attitude at `time`: a MotionEstimate, or the state of a vehicle.
    gates: gates at their nominal poses. Their `perturbation` bounds the offset of the true pose in
        x, y [m] and yaw [rad], uniformly distributed; an offset with bound 0 is known.
    position_deviation, velocity_deviation, attitude_deviation: standard deviations of the start, a
        number or (3,): m and m/s, world axes, and rad, body axes.
    gravity: (3,) m/s^2, world frame.
    time: s, of the start.
    history: number of IMU readings that are kept for measurements that arrive late.
    rejection: the probability that a valid measurement is rejected as an outlier.

    The errors are those of attitude (3, body axes), velocity, position, gyroscope bias and
    accelerometer bias, then x, y and yaw of each gate. Position and velocity among them are those
    of the IMU: of the centre of mass, unless `imu.position` is set.

    Measurements must be passed in the order of their times. Raises ParameterError for invalid
    parameters. A call that raises an error changes nothing.

    >>> f = ErrorStateFilter(ImuParameters(), MotionEstimate((0, 0, 1), (0, 0, 0), (1, 0, 0, 0)))
    >>> f.propagate([0, 0, 0], [0, 0, 9.81], dt=1 / 960)
    """

    @_checks.checked_parameters()
    def __init__(
        self,
        imu: ImuParameters,
        start: MotionEstimate | MulticopterState,
        gates: Iterable[Gate] = (),
        *,
        position_deviation: ArrayLike = 0.01,
        velocity_deviation: ArrayLike = 0.01,
        attitude_deviation: ArrayLike = 0.01,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        time: float = 0.0,
        history: int = 256,
        rejection: float = 1e-6,
    ) -> None:
        if not isinstance(imu, ImuParameters):
            raise ParameterError(f"imu: expected ImuParameters, got {imu!r:.100}")
        chosen = tuple(gates)
        if not all(isinstance(gate, Gate) for gate in chosen):
            raise ParameterError(f"gates: expected Gate objects, got {chosen!r:.100}")
        self.nominal_gates = chosen
        motion = [
            _checks.shaped("start.position", start.position, (3,), unit="m"),
            _checks.shaped("start.velocity", start.velocity, (3,), unit="m/s"),
            _checks.attitudes("start.attitude", start.attitude),
        ]
        deviations = [
            _deviation("position_deviation", position_deviation, "m"),
            _deviation("velocity_deviation", velocity_deviation, "m/s"),
            _deviation("attitude_deviation", attitude_deviation, "rad"),
        ]
        rows = [
            [
                *gate.position,
                *gate.attitude,
                *(gate.width, gate.height, gate.depth),
                *gate.perturbation,
            ]
            for gate in chosen
        ]
        super().__init__(
            imu,
            np.concatenate(motion),
            np.concatenate(deviations),
            np.array(rows, dtype=np.float64).reshape(-1, 13),
            gravity,
            _checks.number("time", time),
            _checks.whole_number("history", history, 1, 2**20),
            _checks.number("rejection", rejection, "a probability from 1e-300 to 0.5"),
        )

    def propagate(self, gyroscope: ArrayLike, accelerometer: ArrayLike, dt: float) -> None:
        """Adds a reading of the IMU, or several.

        gyroscope: (3,) rad/s, or (k, 3) for k readings; accelerometer: m/s^2, likewise; sensor
        axes. dt: s, the interval of a reading, which is taken at its end.

        Raises ValueError for numbers that are not finite, other shapes, and dt that is not > 0.
        """
        rates = _checks.shaped("gyroscope", gyroscope, (3,), ("k", 3), unit="rad/s")
        forces = _checks.shaped("accelerometer", accelerometer, (3,), ("k", 3), unit="m/s^2")
        if rates.shape != forces.shape:
            raise ValueError(
                f"accelerometer: expected the shape of gyroscope, {rates.shape}, got {forces.shape}"
            )
        interval = _checks.positive("dt", dt, "s")
        self._propagate(np.atleast_2d(rates), np.atleast_2d(forces), interval)

    def update_beacons(
        self,
        gates: ArrayLike,
        corners: ArrayLike,
        u: ArrayLike,
        v: ArrayLike,
        camera: Camera,
        deviation: float = 2.0,
        time: float | None = None,
    ) -> NDArray[np.bool_]:
        """Corrects by the beacons that are visible in an image; returns which were accepted, (k,).

        gates: (k,) indices of gates. corners: (k,) 0 upper left, 1 upper right, 2 lower right, 3
        lower left, seen in the direction of passage. u, v: (k,) pixels. deviation: pixels, standard
        deviation of the white noise on u and v. time: s, of the image; None: of the last IMU
        reading.

        A beacon is rejected if its residual is improbable (see `rejection`) or if it would be
        behind the camera. Raises ValueError or TypeError for invalid arguments, also for a time
        before `update_time` or after `time`.
        """
        if not isinstance(camera, Camera):
            raise TypeError(f"camera: expected a Camera, got {camera!r:.100}")
        if camera.position.ndim != 1 or camera.attitude.ndim != 1:
            raise ValueError("camera: expected one mounting, got one for each of several bodies")
        which, corner = _indices("gates", gates), _indices("corners", corners)
        across, down = _checks.shaped("u", u, ("k",)), _checks.shaped("v", v, ("k",))
        lengths = [len(array) for array in (which, corner, across, down)]
        if len(set(lengths)) != 1:
            raise ValueError(
                f"gates, corners, u, v: expected arrays of one length, got lengths {lengths}"
            )
        numbers = [camera.width, camera.height, camera.focal_length]
        view = np.array([*numbers, *camera.position, *camera.attitude, *camera.distortion])
        spread = _checks.positive("deviation", deviation, "pixels")
        when = self._when(time)
        return self._update_beacons(which, corner, across, down, view, spread, when)

    def update_range(
        self,
        range: float,
        variance: float = 0.009,
        direction: ArrayLike = (0.0, 0.0, -1.0),
        position: ArrayLike = (0.0, 0.0, 0.0),
        time: float | None = None,
    ) -> bool:
        """Corrects by a distance to the ground, the plane z = 0; returns whether it was accepted.

        range: m, along a ray from `position` (3,) m in the unit vector `direction` (3,), body
        frame. variance: m^2. time: s, of the reading; None: of the last IMU reading.

        A reading is rejected if it is improbable, such as that of a surface other than the ground,
        or if the ray does not point down. Raises ValueError for invalid arguments.
        """
        distance = _checks.number("range", range, "a finite number [m]")
        spread = _checks.positive("variance", variance, "m^2")
        along = _checks.shaped("direction", direction, (3,))
        if not abs(float(along @ along) - 1.0) < 1e-3:
            raise ValueError(f"direction: expected a unit vector, got {along.tolist()}")
        return self._update_range(distance, spread, position, along, self._when(time))

    @property
    def state(self) -> MotionEstimate:
        """Position, velocity and attitude of the vehicle at `time`."""
        return MotionEstimate(*self._motion())

    def _when(self, time: float | None) -> float:
        return self.time if time is None else _checks.number("time", time)

    def __repr__(self) -> str:
        return f"ErrorStateFilter with {len(self.nominal_gates)} gates at {self.time:.6g} s"


def _deviation(name: str, value: ArrayLike, unit: str) -> Array:
    array = np.broadcast_to(_checks.shaped(name, value, (), (3,), unit=unit), 3)
    if (array < 0.0).any():
        raise ValueError(f"{name}: expected numbers >= 0 [{unit}], got {array.tolist()}")
    return array


def _indices(name: str, value: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(f"{name}: expected whole numbers (k,), got {_checks.described(value)}")
    return array.astype(np.int64)
