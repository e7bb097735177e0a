"""Temporary: the class of propwash.vehicle, until it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class MotionEstimate:
    """Position, velocity and attitude."""

    position: Any
    velocity: Any
    attitude: Any
