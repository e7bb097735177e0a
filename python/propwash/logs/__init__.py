"""Logs of flights: readers, an observer of velocity and attitude, and the log of simulated flights.

flight = logs.read_log("flight.ulg")
"""

from __future__ import annotations

from propwash.logs._columns import Columns
from propwash.logs._consistency import consistent
from propwash.logs._flights import (
    PWM_FULL,
    STANDARD_GRAVITY,
    Flight,
    find_flight,
    flight_folders,
)
from propwash.logs._layout import Layout
from propwash.logs._motors import check_order
from propwash.logs._observer import can_observe, with_observed_motion
from propwash.logs._readers import read_flight, read_log
from propwash.logs._record import FlightRecord, FlightRecorder
from propwash.logs._record_files import (
    RecordStream,
    check_record_file,
    read_record,
    write_record,
)
from propwash.logs._rosbag import BLACKBIRD

__all__ = [
    "BLACKBIRD",
    "PWM_FULL",
    "STANDARD_GRAVITY",
    "Columns",
    "Flight",
    "FlightRecord",
    "FlightRecorder",
    "Layout",
    "RecordStream",
    "can_observe",
    "check_order",
    "check_record_file",
    "consistent",
    "find_flight",
    "flight_folders",
    "read_flight",
    "read_log",
    "read_record",
    "with_observed_motion",
    "write_record",
]
