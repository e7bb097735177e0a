"""Betaflight's blackbox as CSV, written by blackbox_decode.

Its columns have names such as `gyroADC[0] (deg/s)`. Those without a unit are in raw units, whose
scale is in the file of headers (`--save-headers`).
"""

from __future__ import annotations

import csv
import math
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from propwash import _files
from propwash.logs._columns import Columns
from propwash.logs._csv_table import CsvTable
from propwash.logs._flights import STANDARD_GRAVITY

_RATES = {"deg/s": math.pi / 180.0, "rad/s": 1.0}
_FORCES = {"g": STANDARD_GRAVITY, "m/s/s": 1.0}
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_VOLTAGES = {"V": 1.0, "mV": 1e-3}
_DSHOT_ZERO, _DSHOT_RANGE = 48.0, 1999.0
_PULSE_ZERO, _PULSE_RANGE = 1000.0, 1000.0
_MIN_PULSE, _MAX_PULSE = 900.0, 2000.0
"""us; DShot's commands are lower for an idling motor, and up to 2047."""
_ERPM = 100.0
"""Electrical revolutions per minute in a unit of the columns eRPM."""
_MAX_VOLTAGE = 75.0
"""V; decoders of 2025 and later write ten times the voltage for Betaflight 4.0 to 4.2."""


def is_blackbox(table: CsvTable) -> bool:
    """Whether blackbox_decode wrote the file."""
    return "loopIteration" in table.names


def columns(table: CsvTable) -> Columns:
    """Returns the mapping of the file, from its names, the range of the motors and its headers.

    Raises ValueError for missing columns, and for raw units without a file of headers.
    """
    names = {re.sub(r" \(.*\)$", "", name): name for name in table.names}
    rates, forces = ([f"{one}[{k}]" for k in range(3)] for one in ("gyroADC", "accSmooth"))
    missing = [name for name in ("time", *rates, *forces) if name not in names]
    if missing:
        raise ValueError(
            f"{table.path}: missing columns {', '.join(missing)} of Betaflight's blackbox; log "
            f"GYRO and ACC, or map other columns"
        )
    if "navState" in names:
        raise ValueError(
            f"{table.path}: expected a blackbox log of Betaflight, found INAV's (navState), whose "
            f"axes differ; map its columns"
        )
    headers = table.path.with_suffix(".headers.csv")
    raw = _raw_scales(headers) if _files.is_file(headers) else {}
    motors = sorted(name for base, name in names.items() if re.fullmatch(r"motor\[\d\]", base))
    scale = {
        "time": _TIMES[_unit(names["time"]) or "us"],
        "body_rates": _scale(table, names[rates[0]], _RATES, raw),
        "specific_force": _scale(table, names[forces[0]], _FORCES, raw),
    }
    offset = {}
    if motors:
        zero, full = _motor_range(table, motors, raw)
        offset["motors"], scale["motors"] = -zero, 1.0 / full
    speeds = [names[f"eRPM[{k}]"] for k in range(len(motors)) if f"eRPM[{k}]" in names]
    speed_columns = _speeds(table, speeds, raw) if speeds and len(speeds) == len(motors) else {}
    if speed_columns:
        scale["rotor_speeds"] = _ERPM
    voltage = names.get("vbatLatest", "")
    if voltage:
        scale["voltage"] = _voltage_scale(table, voltage)
        voltage = voltage if scale["voltage"] else ""
    return Columns(
        time=names["time"],
        body_rates=[names[name] for name in rates],
        specific_force=[names[name] for name in forces],
        motors=motors,
        voltage=voltage,
        scale={key: factor for key, factor in scale.items() if factor},
        offset=offset,
        **speed_columns,
    )


def _unit(name: str) -> str:
    """The unit in parentheses of a column's name, or an empty string."""
    found = re.search(r" \((.*)\)$", name)
    return found[1] if found else ""


def _scale(
    table: CsvTable, name: str, units: Mapping[str, float], raw: Mapping[str, float]
) -> float:
    """Returns the factor to SI of a column and its neighbours. Raises ValueError without one."""
    unit = _unit(name)
    if unit in units:
        return units[unit]
    key = "gyro_scale" if units is _RATES else "acc_1G"
    if not unit and key in raw:
        return raw[key] * next(iter(units.values()))
    raise ValueError(
        f"{table.path}: expected {name} with a unit ({' or '.join(units)}), or its scale {key} in "
        f"{table.path.stem}.headers.csv beside the log; decode with blackbox_decode "
        f"--unit-rotation deg/s --unit-acceleration g, or with --save-headers"
    )


def _raw_scales(file: Path) -> dict[str, float]:
    """Returns degrees/s and g of raw units, highest command and poles, from the headers."""
    rows = csv.reader(_files.read_text(file, "headers of a blackbox log", ValueError).splitlines())
    headers = {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}
    scales = {}
    try:
        if "gyro_scale" in headers:  # the bits of a float
            bits = struct.pack("<I", int(headers["gyro_scale"], 16))
            scales["gyro_scale"] = float(struct.unpack("<f", bits)[0])
        if "acc_1G" in headers:
            scales["acc_1G"] = 1.0 / int(headers["acc_1G"])
        if "motor_poles" in headers:
            scales["motor_poles"] = float(int(headers["motor_poles"]))
        if "motorOutput" in headers:
            scales["motorOutput"] = float(headers["motorOutput"].split(",")[1])
    except (ValueError, ArithmeticError, IndexError, struct.error) as error:
        raise ValueError(
            f"{file}: expected numbers in gyro_scale, acc_1G, motor_poles and motorOutput, {error}"
        ) from None
    return scales


def _motor_range(
    table: CsvTable, motors: Sequence[str], raw: Mapping[str, float]
) -> tuple[float, float]:
    """Returns the value at rest and the range up to full power: of DShot, or of a pulse [us].

    Raises ValueError if neither the headers nor an idling motor show which of them it is.
    """
    lowest = float(np.min(table.stack(motors)))
    if lowest < _MIN_PULSE or raw.get("motorOutput", 0.0) > _MAX_PULSE:
        return _DSHOT_ZERO, _DSHOT_RANGE
    if "motorOutput" in raw:
        return _PULSE_ZERO, _PULSE_RANGE
    raise ValueError(
        f"{table.path}: expected motors that idle below {_MIN_PULSE:g} at some time, as those of "
        f"DShot do, got at least {lowest:g}; decode with --save-headers, which record the range"
    )


def _speeds(table: CsvTable, names: Sequence[str], raw: Mapping[str, float]) -> dict[str, Any]:
    """Returns the fields of Columns for measured speeds; none without telemetry or poles."""
    if not np.any(table.stack(names)):
        return {}
    if raw.get("motor_poles", 0.0) < 2.0:
        message = (
            "eRPM is omitted, as the poles of the motors are unknown; decode with --save-headers"
        )
        warnings.warn(f"{table.path}: {message}", stacklevel=5)
        return {}
    pairs = round(raw["motor_poles"] / 2.0)
    return {"rotor_speeds": names, "rotor_speed_unit": "erpm", "pole_pairs": pairs}


def _voltage_scale(table: CsvTable, name: str) -> float:
    """Returns the factor to V; 0 for raw units, which differ between versions."""
    scale = _VOLTAGES.get(_unit(name), 0.0)
    if not scale:
        message = f"{name} is omitted, as it has no unit; decode with --unit-vbat V"
    elif scale * float(np.median(table.column(name))) > _MAX_VOLTAGE:
        scale *= 0.1
        message = f"{name} is divided by ten, as no battery has more than {_MAX_VOLTAGE:g} V"
    else:
        return scale
    warnings.warn(f"{table.path}: {message}", stacklevel=5)
    return scale
