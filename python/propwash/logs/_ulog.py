"""PX4 ULog files, with pyulog."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.logs import _px4_estimates, _px4_motors
from propwash.logs._columns import MAX_COMMAND_PERIOD, Columns, from_topics
from propwash.logs._flights import Flight, LogPart
from propwash.logs._layout import Layout

Array = NDArray[np.float64]
Topic = dict[str, Array]

_XYZ = ("x", "y", "z")
_BATTERY = "battery_status"
PX4 = Columns(
    body_rates=[f"sensor_combined:gyro_rad[{k}]" for k in range(3)],
    specific_force=[f"sensor_combined:accelerometer_m_s2[{k}]" for k in range(3)],
    down=True,
)
"""Topics of every PX4 log."""
_OPTIONAL = {
    "position": [f"{_px4_estimates.POSITION}:{axis}" for axis in _XYZ],
    "velocity": [f"{_px4_estimates.POSITION}:v{axis}" for axis in _XYZ],
    "attitude": [f"{_px4_estimates.ATTITUDE}:q[{k}]" for k in range(4)],
    "voltage": [f"{_BATTERY}:voltage_v"],
}
_MIN_VOLTAGE = 1.0
"""V; a battery monitor below it is not connected."""


def read(path: Path, columns: Columns | None, part: LogPart) -> tuple[Flight, Layout | None]:
    """Reads a ULog; by default PX4's topics of the vehicle. Returns also the motors' geometry.

    The second instance of a topic has the name `topic.1`, and so on. Of messages with the same time
    the last one is used.
    """
    log = _opened(path)
    topics: dict[str, Topic] = {}
    for data in sorted(log.data_list, key=lambda data: data.multi_id):
        name = f"{data.name}.{data.multi_id}" if data.name in topics else data.name
        if "timestamp" in data.data:
            topics.setdefault(name, data.data)
    parameters = {
        name: float(value)
        for name, value in log.initial_parameters.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    }
    topics, invalid = _px4_estimates.corrected(_px4_motors.with_duty(topics, parameters))
    if columns is None:
        columns, topics = _known(path, topics, parameters)

    def series(name: str) -> tuple[Array, Array]:
        topic, _, field = name.partition(":")
        if topic not in topics:
            raise KeyError(", ".join(sorted(topics)) or "no topic")
        if field not in topics[topic]:
            raise KeyError(", ".join(f"{topic}:{one}" for one in topics[topic]))
        time = np.asarray(topics[topic]["timestamp"], dtype=np.float64) * 1e-6
        last = np.append(np.diff(time) != 0.0, True)
        return time[last], np.asarray(topics[topic][field], dtype=np.float64)[last]

    return from_topics(path, columns, series, part, invalid), _px4_motors.layout(parameters)


def _opened(path: Path) -> Any:
    """Returns pyulog's log; warns of damaged messages."""
    try:
        from pyulog import ULog
    except ImportError as error:
        raise ImportError('ULog files need pyulog: pip install "propwash[log]"') from error
    printed = io.StringIO()  # pyulog reports damage by printing
    try:
        with path.open("rb") as stream, contextlib.redirect_stdout(printed):
            log = ULog(stream)
    except Exception as error:  # struct, numpy and others: pyulog does not check its input
        raise ValueError(f"{path}: expected a PX4 ULog file, {error!s:.300}") from None
    if log.file_corruption or printed.getvalue():
        details = " ".join(printed.getvalue().split())
        _warn(path, f"damaged messages are omitted{': ' if details else ''}{details:.300}")
    return log


def _known(
    path: Path, topics: dict[str, Topic], parameters: Mapping[str, float]
) -> tuple[Columns, dict[str, Topic]]:
    """Returns a mapping of the topics that the log has, and the topics with motor commands."""
    found = {
        key: names for key, names in _OPTIONAL.items() if all(_has(topics, name) for name in names)
    }
    if "position" in found and not _px4_estimates.has_position(topics[_px4_estimates.POSITION]):
        _warn(path, "position and velocity are omitted, as the estimator never had valid ones")
        del found["position"], found["velocity"]
    if "voltage" in found and np.max(topics[_BATTERY]["voltage_v"]) < _MIN_VOLTAGE:
        _warn(path, f"the voltage is omitted, as it is below {_MIN_VOLTAGE:g} V throughout")
        del found["voltage"]
    if _px4_motors.COMMANDS not in topics and _px4_motors.OUTPUTS in topics:
        try:
            outputs = _px4_motors.from_outputs(topics, parameters)
            topics = {**topics, _px4_motors.COMMANDS: outputs}
        except _px4_motors.Unreadable as error:
            _warn(path, f"motors are omitted: {error}; map them if the log has others")
    if _px4_motors.COMMANDS in topics:
        found["motors"] = _px4_motors.names(topics, parameters)
    speeds = _px4_motors.speeds(topics, len(found.get("motors", ())))
    if speeds and np.median(np.diff(topics[_px4_motors.SPEEDS]["timestamp"])) * 1e-6 > (
        MAX_COMMAND_PERIOD
    ):
        _warn(path, f"rotor speeds are omitted, as {_px4_motors.SPEEDS} has less than 80 Hz")
        speeds = []
    columns = replace(PX4, **found)  # type: ignore[arg-type]
    return replace(columns, rotor_speeds=speeds, rotor_speed_unit="rpm"), topics


def _warn(path: Path, message: str) -> None:
    warnings.warn(f"{path}: {message}", stacklevel=5)


def _has(topics: Mapping[str, Topic], name: str) -> bool:
    topic, _, field = name.partition(":")
    return topic in topics and len(topics[topic].get(field, ())) > 1
