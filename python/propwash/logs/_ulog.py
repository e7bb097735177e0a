"""PX4 ULog files, with pyulog."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash.logs._columns import Columns, from_topics
from propwash.logs._flights import Flight

Array = NDArray[np.float64]

_XYZ = ("x", "y", "z")
PX4 = Columns(
    body_rates=[f"sensor_combined:gyro_rad[{k}]" for k in range(3)],
    specific_force=[f"sensor_combined:accelerometer_m_s2[{k}]" for k in range(3)],
    down=True,
)
"""Topics of every PX4 log."""
_OPTIONAL = {
    "position": [f"vehicle_local_position:{axis}" for axis in _XYZ],
    "velocity": [f"vehicle_local_position:v{axis}" for axis in _XYZ],
    "attitude": [f"vehicle_attitude:q[{k}]" for k in range(4)],
    "motors": [f"actuator_motors:control[{k}]" for k in range(4)],
    "voltage": ["battery_status:voltage_v"],
}


def read(path: Path, columns: Columns | None, piece: tuple[float, float]) -> Flight:
    """Reads a ULog; by default the topics of PX4 with four motors.

    PX4 commands NaN to disarmed motors, which is read as a duty cycle of 0.
    """
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
        warnings.warn(
            f"{path}: damaged messages are omitted{': ' if details else ''}{details:.300}",
            stacklevel=4,
        )
    instances = sorted(log.data_list, key=lambda data: data.multi_id, reverse=True)
    topics = {data.name: data.data for data in instances}

    def series(name: str) -> tuple[Array, Array]:
        topic, _, field = name.partition(":")
        if topic not in topics:
            raise KeyError(", ".join(sorted(topics)) or "no topic")
        if field not in topics[topic]:
            raise KeyError(", ".join(f"{topic}:{one}" for one in topics[topic]))
        time = np.asarray(topics[topic]["timestamp"], dtype=np.float64) * 1e-6
        values = np.asarray(topics[topic][field], dtype=np.float64)
        return time, np.nan_to_num(values) if topic == "actuator_motors" else values

    if columns is None:
        available = {
            key: names
            for key, names in _OPTIONAL.items()
            if all(_has(topics, name) for name in names)
        }
        columns = replace(PX4, **available)  # type: ignore[arg-type]
    return from_topics(path, columns, series, piece)


def _has(topics: dict[str, dict[str, Array]], name: str) -> bool:
    topic, _, field = name.partition(":")
    return topic in topics and len(topics[topic].get(field, ())) > 1
