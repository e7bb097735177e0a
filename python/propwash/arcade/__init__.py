"""People fly simulated vehicles in a browser; every flight is recorded (docs/arcade.md)."""

from __future__ import annotations

from propwash.arcade._interface import MODES, Mode, Phase, Snapshot, Sticks

__all__ = ["MODES", "Mode", "Phase", "Snapshot", "Sticks"]
