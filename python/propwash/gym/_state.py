"""States and sensor readings of the vehicles as arrays with one row per environment."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet import Fleet, FleetImuReading
from propwash.sensors import Beacons, RangeFinder
from propwash.world import Scene

Numbers = NDArray[np.float32]

FLOAT = np.dtype(np.float32)
HUGE = 1e6
"""m, m/s and rad/s: a state with a larger component counts as diverged."""


class State:
    """State of the vehicles after a step, in float32. Tasks must not write to it.

    Rows of vehicles that have diverged hold their last finite values.
    """

    _memory: ClassVar[tuple[str, ...]] = (
        *("position", "velocity", "attitude", "body_rates", "action", "previous_action"),
        *("steps", "diverged", "any_diverged", "active"),
    )

    def __init__(self, fleet: Fleet, actions: int, period: float) -> None:
        n = fleet.size
        self.fleet = fleet
        """The vehicles, with their parameters, rotor speeds and sensors."""
        self.size = n
        self.period = period
        """Duration of a step of the environments [s]."""
        self.position: Numbers = np.zeros((n, 3), dtype=np.float32)
        """(n, 3) m, world frame."""
        self.velocity: Numbers = self.position
        """(n, 3) m/s, world frame."""
        self.attitude: Numbers = np.zeros((n, 4), dtype=np.float32)
        """(n, 4) unit quaternions, scalar first: body to world."""
        self.body_rates: Numbers = self.position
        """(n, 3) rad/s, body frame."""
        self.action: Numbers = np.zeros((n, actions), dtype=np.float32)
        """(n, A) last action, in [-1, 1]; 0 at the start of an episode."""
        self.previous_action: Numbers = self.action
        """(n, A) action before the last one."""
        self.steps = np.zeros(n, dtype=np.int32)
        """(n,) steps since the start of the episode, 0 in its first observation."""
        self.diverged = np.zeros(n, dtype=np.bool_)
        """(n,) whether a component of the vehicle's state is not finite or exceeds 1e6."""
        self.any_diverged = False
        self.active = np.ones(n, dtype=np.bool_)
        """(n,) whether the vehicle takes part; False only in tasks with several in an environment,
        for those whose episode ended before that of the others."""
        self._buffers: dict[Any, NDArray[Any]] = {}
        self.reuse_buffers = False

    def buffer(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] = FLOAT, name: str = ""
    ) -> NDArray[Any]:
        """Returns an uninitialised array for the observation of a name."""
        if not self.reuse_buffers:
            return np.empty(shape, dtype)
        key = shape, dtype, name
        if key not in self._buffers:
            self._buffers[key] = np.empty(shape, dtype)
        return self._buffers[key]

    def read(self) -> None:
        """Reads position, velocity, attitude and body rates from the fleet."""
        before = self.position, self.velocity, self.attitude, self.body_rates
        *now, is_finite = self.fleet._core.kinematics(HUGE)
        self.position, self.velocity, self.attitude, self.body_rates = now
        if is_finite and not self.any_diverged:
            return
        self.any_diverged = not is_finite
        self.diverged = ~np.all([(np.abs(part) < HUGE).all(axis=1) for part in now], axis=0)
        for old, new in zip(before, now, strict=True):
            new[self.diverged] = old[self.diverged]

    @property
    def time(self) -> Numbers:
        """(n,) s since the start of the episode: steps * period."""
        return self.steps * np.float32(self.period)

    @property
    def rotor_speeds(self) -> Numbers:
        """(n, N) rad/s; 0 for a vehicle that diverged."""
        return np.nan_to_num(self.fleet.rotor_speeds, posinf=0.0, neginf=0.0)

    @property
    def imu(self) -> FleetImuReading:
        """Readings of the IMUs, with noise and bias."""
        return self.fleet.imu

    @property
    def rotation(self) -> Numbers:
        """(n, 3, 3) rotation matrices from body to world."""
        return _core.rotations(self.attitude)

    @property
    def upright(self) -> Numbers:
        """(n,) cosine of the tilt: 1 level, -1 inverted."""
        x, y = self.attitude[:, 1], self.attitude[:, 2]
        up: Numbers = np.float32(1.0) - np.float32(2.0) * (x * x + y * y)
        return up

    def to_body(self, vector: Numbers) -> Numbers:
        """Rotates world vectors (n, 3), or k vectors each (n, 3 k), to the body frame."""
        width = max(3, vector.shape[-1])
        return _core.in_body(self.attitude, np.broadcast_to(vector, (self.size, width)))


GRAVITY = np.float32(9.81)
"""m/s^2, in which specific force is observed."""


class Observation:
    """Base class of the kinds of observations."""

    _memory: ClassVar[tuple[str, ...]] = ()
    """Attributes that a snapshot contains."""
    limits: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    """Smallest and largest number of float32."""

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Any:
        """Returns an array (n, …), or a dict of arrays.

        fresh: (n,) environments whose episode has just begun; None after a step.
        """
        raise NotImplementedError

    def restored(self) -> None:
        """Called after a snapshot was restored."""


class Inertial:
    """Readings of the IMU, the newest first: specific force / g (3), angular rate [rad/s] (3)."""

    def __init__(self, history: int) -> None:
        self.width = 6 * history
        """Number of columns."""

    def update(self, seen: Numbers, state: State, fresh: NDArray[np.bool_] | None) -> None:
        """Adds a reading to the first columns of `seen` (n, k).

        The history of `fresh` environments repeats the first reading, and no other advances then.
        """
        width = self.width
        if fresh is None:
            fresh = state.steps == 0
            seen[:, 6:width] = seen[:, : width - 6].copy()
        reading = state.imu
        seen[:, 0:3] = reading.specific_force / GRAVITY
        seen[:, 3:6] = reading.angular_rate
        if fresh.any():
            seen[fresh, 6:width] = np.tile(seen[fresh, :6], width // 6 - 1)


class InertialObservation(Observation):
    """Readings of the IMU only, without the last action."""

    _memory = ("_seen",)

    def __init__(self, state: State, history: int) -> None:
        self._inertial = Inertial(history)
        self._seen = np.zeros((state.size, self._inertial.width), dtype=np.float32)

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Numbers:
        """Returns the readings (n, 6 history)."""
        self._inertial.update(self._seen, state, fresh)
        if state.any_diverged:
            self._seen[state.diverged] = 0.0
        buffer = state.buffer(self._seen.shape, name="imu")
        np.copyto(buffer, self._seen)
        return buffer


class SensedObservation(Observation):
    """Observations from sensors only; the true state is not included.

    Columns: `history` IMU readings, newest first, each specific force / g (3) and angular rate
    [rad/s] (3); last action (A). If the task has a scene: range to the ground / 20 m (1), 1.05 out
    of range; then u of all its beacons, v of all, from -1 to 1 across the image, and whether each
    is visible (1 or 0). u and v are 0 for beacons out of view.
    """

    _memory = ("_seen",)

    def __init__(self, state: State, scene: Scene | None, history: int) -> None:
        fleet, actions = state.fleet, state.action.shape[1]
        self._inertial = Inertial(history)
        start = self._inertial.width
        width = start + actions
        rate = 1.0 / state.period
        self._range: Any = None
        self._beacons: Any = None
        if scene is not None:
            self._range = fleet.attach(RangeFinder(scene), rate=rate)
            width += 1
            if len(scene.markers.names):
                beacons = Beacons(scene)
                self._beacons = fleet.attach(beacons, rate=rate)
                self._centre = beacons.camera.width / 2.0, beacons.camera.height / 2.0
                width += 3 * len(beacons.ids)
        self._actions = slice(start, start + actions)
        self._seen = np.zeros((state.size, width), dtype=np.float32)

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Numbers:
        """Returns the observations (n, k)."""
        seen = self._seen
        self._inertial.update(seen, state, fresh)
        seen[:, self._actions] = state.action
        self._read(state)
        buffer = state.buffer(seen.shape, name="sensors")
        np.copyto(buffer, seen)
        return buffer

    def _read(self, state: State) -> None:
        seen, column = self._seen, self._actions.stop
        if self._range is not None:
            metres = self._range.reading.range
            seen[:, column] = np.where(np.isnan(metres), 21.0, metres) / 20.0
            column += 1
        if self._beacons is not None:
            image = self._beacons.reading
            u, v = (
                np.where(image.visible, pixels / centre - 1.0, 0.0)
                for pixels, centre in zip((image.u, image.v), self._centre, strict=True)
            )
            seen[:, column:] = np.concatenate([u, v, image.visible], axis=1)
        if state.any_diverged:
            seen[state.diverged] = 0.0
