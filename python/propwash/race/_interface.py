"""What a pilot knows before a race and what it receives during the flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from propwash import _checks
from propwash._checks import checked_parameters
from propwash.sensors import Camera
from propwash.trajectories import Limits
from propwash.vehicle.commands import Command
from propwash.vehicle.parameters import VehicleParameters
from propwash.world import Gate

Array = NDArray[np.float64]
Mount = Literal["tilted", "level"]

TILT_DEG = 45.0
"""degrees, upward pitch of the camera on the racing mount."""


def mounted_camera(mount: Mount = "tilted") -> Camera:
    """The camera of the papers, level or tilted upwards by `TILT_DEG` as on racing vehicles."""
    if _checks.choice("mount", mount, ("tilted", "level")) == "level":
        return Camera()
    half = 0.5 * np.radians(-TILT_DEG)
    return Camera(attitude=(np.cos(half), 0.0, np.sin(half), 0.0))


@dataclass(frozen=True)
class SensorSuite:
    """The sensors of a vehicle in a race, beside the IMU, which is a part of the vehicle.

    camera: sees the infrared beacons. rate: Hz, of beacons and range. deviation: pixels, white
    noise of a beacon. reach: m, beyond which a beacon is not seen. miss_rate: probability that a
    visible beacon is missing. latency: s, from the instant of a reading of beacons, range and
    images until the pilot receives it. range_variance: m^2. image_rate: Hz, of camera images, 0:
    none.

    Raises ParameterError for values out of range.
    """

    camera: Camera = field(default_factory=mounted_camera)
    rate: float = 60.0
    deviation: float = 2.0
    reach: float = np.inf
    miss_rate: float = 0.0
    latency: float = 0.0
    range_variance: float = 0.009
    image_rate: float = 0.0

    @checked_parameters()
    def __post_init__(self) -> None:
        if not isinstance(self.camera, Camera) or self.camera.position.ndim != 1:
            raise TypeError(
                f"camera: expected a Camera with one mounting, got {self.camera!r:.100}"
            )
        _checks.positive("rate", self.rate, "Hz")
        _checks.positive("reach", self.reach, "m", infinite=True)
        _checks.probability("miss_rate", self.miss_rate)
        _checks.positive("deviation", self.deviation, "pixels")
        _checks.positive("range_variance", self.range_variance, "m^2")
        _checks.not_negative("latency", self.latency, "s")
        _checks.not_negative("image_rate", self.image_rate, "Hz")


def read_only(array: Any) -> Any:
    """The same array, locked: what one reader gets must not depend on another."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Briefing:
    """What a pilot knows before the flight; its arrays are read-only."""

    gates: tuple[Gate, ...]
    """In the order of the course, at their nominal poses; `perturbation` has the bounds of the
    unknown offset in x, y [m] and yaw [rad]."""
    position: Array
    """(3,) m, of the start, world frame."""
    yaw: float
    """rad, heading at the start; the vehicle is in hover."""
    vehicle: VehicleParameters
    """With the parameters of the IMU."""
    sensors: SensorSuite
    dt: float
    """s, between two calls of the pilot."""
    limits: Limits | None
    """Limits on the flight that the caller of `fly` requests; None: free."""


@dataclass(frozen=True, eq=False)
class Sighting:
    """The beacons that the camera sees: k of them."""

    time: float
    """s, instant of the image."""
    gates: NDArray[np.intp]
    """(k,) number of the gate in `Briefing.gates`."""
    corners: NDArray[np.intp]
    """(k,) 0 upper left, 1 upper right, 2 lower right, 3 lower left, seen along the gate's +x."""
    u: Array
    """(k,) pixels from the left edge of the image."""
    v: Array
    """(k,) pixels from the upper edge of the image."""


@dataclass(frozen=True, eq=False)
class Range:
    """A reading of the range finder, which looks along -z of the body."""

    time: float
    """s, instant of the reading."""
    range: float
    """m; 21: nothing within 20 m."""


@dataclass(frozen=True, eq=False)
class Image:
    """A camera image."""

    time: float
    """s, instant of the image."""
    pixels: NDArray[np.uint8]
    """(height, width, 3)."""


@dataclass(frozen=True, eq=False)
class Readings:
    """What the sensors deliver at one call of the pilot; its arrays are read-only."""

    time: float
    """s, since the start."""
    gyroscope: Array
    """(3,) rad/s, sensor axes; over the step that ends at `time`."""
    accelerometer: Array
    """(3,) m/s^2, specific force, sensor axes; over the step that ends at `time`."""
    beacons: Sighting | None = None
    """None: no new reading."""
    range: Range | None = None
    """None: no new reading."""
    image: Image | None = None
    """None: no new image."""


@dataclass(frozen=True, eq=False)
class PilotEstimate:
    """A pilot's estimate of the motion, and optionally of the gates."""

    position: Array
    """(3,) m, world frame."""
    velocity: Array
    """(3,) m/s, world frame."""
    attitude: Array
    """(4,) unit quaternion, scalar first, body to world."""
    gates: Array | None = None
    """(g, 3) offsets of the gates from their nominal poses: x, y [m] and yaw [rad], world axes."""


class Pilot(Protocol):
    """Flies by readings: called once in each time step."""

    def __call__(self, readings: Readings) -> tuple[Command, Any]:
        """Returns the command for the next step, and the estimate that it is based on, or None.

        The outer loops of the command, if it has any, need the estimate: an object with position,
        velocity and attitude, such as `PilotEstimate`.
        """


PilotMaker = Callable[[Briefing], Pilot]
"""Makes a pilot from a briefing."""
