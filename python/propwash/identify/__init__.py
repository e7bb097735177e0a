"""Identification of IMU noise and vehicle parameters from logs.

    log = identify.read_log("flight.csv")
    noise = identify.fit_imu(log)
    found = identify.fit_vehicle(log, "crazyflie")
    found.save("my_crazyflie.toml")

See docs/identify.md. Requires scipy (`pip install "propwash[tune]"`); ULog files and
ROS bags require the extra `log`.
"""

from propwash.identify._allan import AllanCurve, AxisNoise, ImuNoise, Interval, allan, fit_imu
from propwash.identify._battery import IdentifiedBattery, fit_battery
from propwash.identify._fit import Estimate, Identified, LogEstimate, Whiteness, fit_vehicle
from propwash.identify._pieces import Noise
from propwash.identify._plots import allan_figure, errors_figure
from propwash.identify._problem import Battery, usable
from propwash.identify._validation import Score, hold_out, leave_one_out
from propwash.identify._validation import table as score_table
from propwash.logs import Columns, read_log
from propwash.logs import Flight as FlightLog

__all__ = [
    "AllanCurve",
    "AxisNoise",
    "Battery",
    "Columns",
    "Estimate",
    "FlightLog",
    "Identified",
    "IdentifiedBattery",
    "ImuNoise",
    "Interval",
    "LogEstimate",
    "Noise",
    "Score",
    "Whiteness",
    "allan",
    "allan_figure",
    "errors_figure",
    "fit_battery",
    "fit_imu",
    "fit_vehicle",
    "hold_out",
    "leave_one_out",
    "read_log",
    "score_table",
    "usable",
]
