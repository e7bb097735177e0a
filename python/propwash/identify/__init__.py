"""Identification of vehicles and IMU noise from logs, and predictions of recorded flights.

    log = identify.read_log("flight.csv")
    noise = identify.fit_imu(log)
    found = identify.fit_vehicle(log, "crazyflie")
    found.save("my_crazyflie.toml")
    print(identify.predict(found.vehicle, log).table())

See docs/identify.md. Fits require scipy (`pip install "propwash[tune]"`); ULog files, ROS bags and
MCAP files require the extra `log`.
"""

from propwash.identify._allan import AllanCurve, AxisNoise, ImuNoise, Interval, allan, fit_imu
from propwash.identify._battery import IdentifiedBattery, fit_battery
from propwash.identify._bias import AccelerometerBias
from propwash.identify._estimates import Estimate, Identified, LogEstimate
from propwash.identify._fit import calibrate, fit_vehicle
from propwash.identify._log_battery import Battery
from propwash.identify._pieces import Noise, accelerometer_low_pass
from propwash.identify._plots import allan_figure, errors_figure, replay_figure
from propwash.identify._posterior import Posterior
from propwash.identify._predict import HORIZONS, UNITS, Prediction, predict
from propwash.identify._problem import Scatter, usable
from propwash.identify._report import report
from propwash.identify._residual import FittedResidual, ResidualScore, fit_residual
from propwash.identify._validation import Score, hold_out, leave_one_out, papers_model
from propwash.identify._validation import table as score_table
from propwash.identify._whiteness import Whiteness
from propwash.logs import Columns, read_log
from propwash.logs import Flight as FlightLog

__all__ = [
    "HORIZONS",
    "UNITS",
    "AccelerometerBias",
    "AllanCurve",
    "AxisNoise",
    "Battery",
    "Columns",
    "Estimate",
    "FittedResidual",
    "FlightLog",
    "Identified",
    "IdentifiedBattery",
    "ImuNoise",
    "Interval",
    "LogEstimate",
    "Noise",
    "Posterior",
    "Prediction",
    "ResidualScore",
    "Scatter",
    "Score",
    "Whiteness",
    "accelerometer_low_pass",
    "allan",
    "allan_figure",
    "calibrate",
    "errors_figure",
    "fit_battery",
    "fit_imu",
    "fit_residual",
    "fit_vehicle",
    "hold_out",
    "leave_one_out",
    "papers_model",
    "predict",
    "read_log",
    "replay_figure",
    "report",
    "score_table",
    "usable",
]
