"""Flight controllers in the loop: Betaflight, PX4 and ArduPilot fly a simulated multicopter.

Experimental: names and behaviour may change in any minor version.

`python -m propwash autopilot` runs them; docs/autopilot.md.
"""

from __future__ import annotations

from propwash.autopilot._ardupilot import ArduPilot
from propwash.autopilot._betaflight import MOTOR_PORT, STATE_PORT, Betaflight, Transmitter
from propwash.autopilot._betaflight_program import Program, configuration
from propwash.autopilot._firmware import FirmwareLoop
from propwash.autopilot._latency import Latencies
from propwash.autopilot._links import Link, TcpLink, UdpLink
from propwash.autopilot._loop import Codec, Loop, LoopStatistics, Pilot
from propwash.autopilot._motors import QUAD_X, MotorMap, match
from propwash.autopilot._oscillation import OscillationMonitor
from propwash.autopilot._parameters import (
    ardupilot_parameters,
    firmware_parameters,
    px4_hil_parameters,
    px4_parameters,
    settings_file,
)
from propwash.autopilot._px4 import Home, Px4
from propwash.autopilot._px4_hil import Px4Hil
from propwash.autopilot._recording import RecordingPilot
from propwash.autopilot._script import Check, ScriptedFlight
from propwash.autopilot._serial import SerialLink
from propwash.autopilot._simulated_clock import SimulatedClock
from propwash.autopilot._simulation import Sample, Simulation, tilt

__all__ = [
    "MOTOR_PORT",
    "QUAD_X",
    "STATE_PORT",
    "ArduPilot",
    "Betaflight",
    "Check",
    "Codec",
    "FirmwareLoop",
    "Home",
    "Latencies",
    "Link",
    "Loop",
    "LoopStatistics",
    "MotorMap",
    "OscillationMonitor",
    "Pilot",
    "Program",
    "Px4",
    "Px4Hil",
    "RecordingPilot",
    "Sample",
    "ScriptedFlight",
    "SerialLink",
    "SimulatedClock",
    "Simulation",
    "TcpLink",
    "Transmitter",
    "UdpLink",
    "ardupilot_parameters",
    "configuration",
    "firmware_parameters",
    "match",
    "px4_hil_parameters",
    "px4_parameters",
    "settings_file",
    "tilt",
]
