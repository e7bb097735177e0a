"""LCM: a simulated vehicle for programs that communicate by LCM (docs/lcm.md).

Experimental: names and behaviour may change in any minor version.

    simulation = lcm.LcmVehicle("blackbird")
    lcm.Run(simulation, lcm.connect()).run(duration=10.0)

Types of messages are in `lcm.DEFINITIONS`. Networks other than UDP multicast need extra `lcm`.
"""

from __future__ import annotations

from propwash.lcm._events import Event, EventWriter, is_event_log, read_events
from propwash.lcm._link import DEFAULT_URL, LcmLink, Offline, connect
from propwash.lcm._run import Run
from propwash.lcm._simulation import (
    CLOCK,
    COMMANDS,
    PUBLISHED,
    RATES,
    STEP_RATE,
    LcmVehicle,
)
from propwash.lcm._types import DEFINITIONS, Malformed, MessageType, message_types

__all__ = [
    "CLOCK",
    "COMMANDS",
    "DEFAULT_URL",
    "DEFINITIONS",
    "PUBLISHED",
    "RATES",
    "STEP_RATE",
    "Event",
    "EventWriter",
    "LcmLink",
    "LcmVehicle",
    "Malformed",
    "MessageType",
    "Offline",
    "Run",
    "connect",
    "is_event_log",
    "message_types",
    "read_events",
]
