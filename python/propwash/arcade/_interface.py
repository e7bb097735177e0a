"""What the parts of the arcade exchange: sticks in, snapshots out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Mode = Literal["acro", "angle", "assisted"]
"""What the sticks command: body rates, tilt, or velocity."""
MODES: tuple[Mode, ...] = get_args(Mode)
"""All modes."""

Phase = Literal["ready", "flying", "finished", "collided", "timeout"]
"""On the ground before take-off; in flight; or the end of a flight, at which the vehicle stops."""

Task = Literal["take_off", "hover", "yaw", "gate", "gates"]
"""What the pilot learns on the first course: the last two are its first gate, and the others."""


@dataclass(frozen=True)
class WrongGate:
    """A gate that was passed out of order, or against its direction."""

    gate: str
    """Its name."""
    time: float
    """s, race time."""
    backwards: bool
    """Whether it was passed against its direction."""


@dataclass(frozen=True)
class Sticks:
    """Positions of the sticks of a transmitter, mode 2. Raises ValueError if out of range."""

    roll: float = 0.0
    """-1 to 1, positive to the right."""
    pitch: float = 0.0
    """-1 to 1, positive forwards: nose down."""
    yaw: float = 0.0
    """-1 to 1, positive to the right: clockwise from above."""
    throttle: float = 0.0
    """Position of the throttle stick, from 0 to 1."""

    def __post_init__(self) -> None:
        deflections = (self.roll, self.pitch, self.yaw)
        if not (all(-1.0 <= each <= 1.0 for each in deflections) and 0.0 <= self.throttle <= 1.0):
            raise ValueError(
                "sticks: expected roll, pitch and yaw from -1 to 1 and throttle from 0 to 1, got "
                f"{self.roll}, {self.pitch}, {self.yaw} and {self.throttle}"
            )


@dataclass(frozen=True, eq=False)
class FlightSnapshot:
    """A flight at one time."""

    time: float
    """s, simulated, since the last reset."""
    race_time: float
    """s since take-off, the time of the race; 0 before."""
    phase: Phase
    """Phase of the flight."""
    position: Array
    """(3,) m, world frame."""
    attitude: Array
    """(4,) unit quaternion, scalar first, body (forward, left, up) to world."""
    velocity: Array
    """(3,) m/s, world frame."""
    body_rates: Array
    """(3,) rad/s, body frame."""
    passed: tuple[tuple[str, float], ...]
    """Names of the gates passed in order, and their race times [s]."""
    collision: str | None
    """Name of the item that the vehicle touched."""
    mode: Mode
    """Mode of the sticks."""
    sticks: Sticks
    number: int
    """Number of the newest input that acted on the vehicle."""
    wrong: WrongGate | None = None
    """The newest gate passed out of order."""
    task: Task | None = None
    """Task of the lesson; None on other courses."""
    progress: float = 0.0
    """Progress of the task, from 0 to 1."""
