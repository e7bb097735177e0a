"""Flight controllers in the loop: Betaflight, PX4 and ArduPilot fly a simulated multicopter.

`python -m propwash autopilot` runs them; docs/autopilot.md.
"""

from __future__ import annotations

from propwash.autopilot._links import Link, UdpLink
from propwash.autopilot._loop import Codec, Loop, Pilot, Statistics
from propwash.autopilot._motors import QUAD_X, MotorMap, match
from propwash.autopilot._simulation import Sample, Simulation, tilt

__all__ = [
    "QUAD_X",
    "Codec",
    "Link",
    "Loop",
    "MotorMap",
    "Pilot",
    "Sample",
    "Simulation",
    "Statistics",
    "UdpLink",
    "match",
    "tilt",
]
