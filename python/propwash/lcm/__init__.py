"""LCM: a simulated vehicle for programs that communicate by LCM (docs/lcm.md).

    simulation = lcm.Simulation("blackbird")
    lcm.Run(simulation, lcm.Network()).run(duration=10.0)

Types of messages are in `lcm.DEFINITIONS`. `Network` needs extra `lcm`; the rest does not.
"""

from __future__ import annotations

from propwash.lcm._events import Event, EventWriter, is_event_log, read_events
from propwash.lcm._link import Network
from propwash.lcm._run import Link, Offline, Run
from propwash.lcm._simulation import (
    CLOCK,
    COMMANDS,
    PUBLISHED,
    RATES,
    STEP_RATE,
    Simulation,
)
from propwash.lcm._types import DEFINITIONS, Malformed, MessageType, message_types

__all__ = [
    "CLOCK",
    "COMMANDS",
    "DEFINITIONS",
    "PUBLISHED",
    "RATES",
    "STEP_RATE",
    "Event",
    "EventWriter",
    "Link",
    "Malformed",
    "MessageType",
    "Network",
    "Offline",
    "Run",
    "Simulation",
    "is_event_log",
    "message_types",
    "read_events",
]
