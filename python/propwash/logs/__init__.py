"""Logs of real flights: readers, and what the model predicts from them.

flight = logs.read_log("flight.ulg")
result = logs.replay(flight, "crazyflie")
print(logs.replay_table(result))
"""

from __future__ import annotations

from propwash.logs._columns import Columns
from propwash.logs._flights import (
    PWM_FULL,
    STANDARD_GRAVITY,
    Flight,
    find_flight,
    flight_folders,
)
from propwash.logs._observer import can_observe, with_observed_motion
from propwash.logs._readers import read_flight, read_log
from propwash.logs._replay import HORIZONS, UNITS, Prediction, Replay, replay, replay_table

__all__ = [
    "HORIZONS",
    "PWM_FULL",
    "STANDARD_GRAVITY",
    "UNITS",
    "Columns",
    "Flight",
    "Prediction",
    "Replay",
    "can_observe",
    "find_flight",
    "flight_folders",
    "read_flight",
    "read_log",
    "replay",
    "replay_table",
    "with_observed_motion",
]
