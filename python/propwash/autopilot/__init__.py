"""Flight controllers in the loop: Betaflight, PX4 and ArduPilot fly a simulated multicopter.

`python -m propwash autopilot` runs them; docs/autopilot.md.
"""

from __future__ import annotations

from propwash.autopilot._ardupilot import ArduPilot
from propwash.autopilot._links import Link, TcpLink, UdpLink
from propwash.autopilot._loop import Codec, Loop, Pilot, Statistics
from propwash.autopilot._motors import QUAD_X, MotorMap, match
from propwash.autopilot._px4 import Home, Px4
from propwash.autopilot._simulation import Sample, Simulation, tilt

__all__ = [
    "QUAD_X",
    "ArduPilot",
    "Codec",
    "Home",
    "Link",
    "Loop",
    "MotorMap",
    "Pilot",
    "Px4",
    "Sample",
    "Simulation",
    "Statistics",
    "TcpLink",
    "UdpLink",
    "match",
    "tilt",
]
