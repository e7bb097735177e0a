"""The three tasks of NanoBench: flights of a Crazyflie 2.1 (Ullah and Baca, arXiv 2603.09908).

1. System identification: vehicles are fitted to the training flights and predict windows of the
   others from motor commands, as in idsia.py.
2. Control: a controller flies the shipped vehicle along the setpoints of the trefoil flights.
3. State estimation: errors of the estimator on board and of estimates from the IMU alone in these
   flights.

The folder is a clone of syediu/nanobench-iros2026, or has some of its `*.csv`; tasks 2 and 3 are
those of its folders `*_trefoil`. Prints the tables of docs/benchmarks.md. Copies of flights, and
flights that are no valid log, are left out.

    python bench/flights/nanobench.py FOLDER

Needs propwash[tune].
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import idsia
import numpy as np
import propwash as pw
import trefoil
from numpy.typing import NDArray
from propwash import identify, logs
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

FILES = "**/*_rep*.csv"
CALIBRATION = 8.0
"""s, at the start of a flight."""
EVERY = 60
"""Rows between windows of the fit of idsia.py."""
FITTED = 12
"""Training flights of `fit_vehicle` and `fit_residual`; their cost grows faster than the number."""
HORIZONS = idsia.PERIOD * np.arange(1, idsia.STEPS + 1)
MEASURED = ("position, measured attitude", "velocity, measured attitude")


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Returns the files without copies."""
    return [*{hashlib.sha256(p.read_bytes()).digest(): p for p in sorted(paths)[::-1]}.values()]


def read(paths: Iterable[Path]) -> list[logs.Flight]:
    """Reads the flights that are valid logs; prints the reasons of others."""
    found = []
    for path in sorted(distinct(paths)):
        try:
            log = identify.read_log(path)
            seconds = np.ptp(airborne(log)[1])
            if seconds < 2.0 * CALIBRATION:
                raise ValueError(f"{path}: {seconds:.1f} s in the air")
        except ValueError as error:
            print(f"left out: {error}".replace(f"{path.parent}/", ""))
        else:
            found.append(log)
    return found


def held_out(folder: Path, names: list[str]) -> list[str]:
    """Returns the flights of the split of task 2 that are not for training, or every third."""
    for path in folder.rglob("split_metadata.json"):
        training = {Path(name).stem for name in json.loads(path.read_text())["train_files"]}
        return [name for name in names if name not in training]
    return names[2::3]


def airborne(log: logs.Flight, start: float = -np.inf) -> tuple[logs.Flight, Array]:
    """Returns the flight on a grid of idsia.PERIOD and the starts of all windows from `start`."""
    found = identify.predict("crazyflie", log, horizons=HORIZONS[-1:], every=idsia.PERIOD)
    return found.flight, found.starts[found.starts >= start]


def windows_of(flights: Iterable[tuple[logs.Flight, Array]], every: int = 1) -> idsia.Windows:
    """Returns windows with the rotor speeds that the motor's map makes of commands and voltage."""
    vehicle = pw.vehicles.load("crazyflie")
    offset, full = vehicle.motor.speed_offset, float(np.mean(vehicle.motor.speed_max))
    tables, firsts = [], []
    for flight, starts in flights:
        motion = (flight.position, flight.velocity, flight.attitude, flight.body_rates)
        position, velocity, attitude, rates = (part for part in motion if part is not None)
        voltage = flight.voltage[:, np.newaxis] / vehicle.battery.nominal_voltage
        speeds = full * (offset + (1.0 - offset) * flight.duty) * voltage
        tables.append(np.hstack([position, velocity, attitude[:, [1, 2, 3, 0]], rates, speeds]))
        firsts.append(np.searchsorted(flight.time, starts[::every] - 1e-9))
    return idsia.Windows(tables, firsts)


def constant_velocity(windows: idsia.Windows) -> Array:
    """Returns (STEPS, 4, W, 3) errors if velocity and body rates stay."""
    now = windows.after(0)
    errors = []
    for k, time in enumerate(HORIZONS):
        attitude = now.attitude * Rotation.from_rotvec(time * now.body_rates)
        moved = replace(now, position=now.position + time * now.velocity, attitude=attitude)
        errors.append(moved.minus(windows.after(k + 1)))
    return np.stack(errors)


def predicted(
    vehicle: identify.Identified | identify.LogEstimate, log: logs.Flight, starts: Array
) -> dict[str, Array]:
    """Returns (W, STEPS) errors by quantity, also with measured attitude; angles in rad."""
    errors = {**identify.predict(vehicle, log, starts, HORIZONS).errors}
    errors["attitude"] = np.deg2rad(errors["attitude"])
    measured = identify.predict(vehicle, log, starts, HORIZONS, "measured").errors
    return errors | {name: measured[name.partition(",")[0]] for name in MEASURED}


def fitted(training: list[logs.Flight]) -> tuple[identify.Identified, pw.VehicleParameters]:
    """Returns the vehicle of some flights, and this vehicle with a residual."""
    few = training[:: -(-len(training) // FITTED)]
    found = identify.fit_vehicle(few)
    print(found.table())
    corrected = identify.fit_residual(few, found)
    print(corrected.table())
    return found, corrected.vehicle


def identification(
    found: identify.Identified, corrected: pw.VehicleParameters, test: list[logs.Flight]
) -> list[tuple[logs.Flight, Array]]:
    """Prints errors of physical models; returns the flights with the starts of the windows."""
    errors: dict[str, list[dict[str, Array]]] = {}
    pieces = []
    for log in test:
        calibrated = identify.calibrate(found, log, CALIBRATION)
        pieces.append(airborne(log, calibrated.seconds[1]))
        for label, model in {"fitted": found, "calibrated": calibrated}.items():
            trimmed = model.vehicle.replace(residual=corrected.residual)
            with_residual = replace(model, vehicle=trimmed)
            for name, each in {label: model, f"{label}, residual": with_residual}.items():
                errors.setdefault(name, []).append(predicted(each, log, pieces[-1][1]))
    means = {
        name: {key: np.concatenate([part[key] for part in parts]).mean(axis=0) for key in parts[0]}
        for name, parts in errors.items()
    }
    for name, parts in means.items():
        idsia.show(name, np.stack([parts[key] for key in idsia.SCALES], axis=1))
    print(f"{'; '.join(MEASURED)}: h = {idsia.SHOWN}")
    for name, parts in means.items():
        cells = [f"{parts[key][row - 1]:.4f}" for key in MEASURED for row in idsia.SHOWN]
        print(f"| {name} | {' | '.join(cells)} |")
    return pieces


def main() -> None:
    """Prints the tables of docs/benchmarks.md."""
    folder = idsia.folder_of_command(__doc__, FILES)
    paths = [*folder.glob(FILES)]
    in_trefoil = [path.parent.name.endswith("_trefoil") for path in paths]
    flights = read(path for path, other in zip(paths, in_trefoil, strict=True) if not other)
    names = held_out(folder, [log.path.stem for log in flights])
    training = [log for log in flights if log.path.stem not in names]
    test = [log for log in flights if log.path.stem in names]
    if not training or not test:
        sys.exit(
            f"{folder}: expected valid flights for training and for predictions, "
            f"got {len(training)} and {len(test)}"
        )
    print(f"task 1: {len(training)} flights for training; predicted: {', '.join(names)}")
    found, corrected = fitted(training)
    pieces = identification(found, corrected, test)
    windows, base = windows_of(pieces), pw.vehicles.load("crazyflie")
    print(f"{sum(len(starts) for _, starts in pieces)} windows")
    idsia.show("constant state", idsia.means_of(idsia.constant(windows)))
    idsia.show("constant velocity", idsia.means_of(constant_velocity(windows)))
    values = idsia.fitted(windows_of(map(airborne, training), EVERY), base)
    errors = idsia.errors(idsia.vehicle_of(values, base), windows)
    idsia.show("fitted 0.5 s ahead", idsia.means_of(errors))
    print({name: round(float(value), 4) for name, value in zip(idsia.FREE, values, strict=True)})
    trefoils = [path for path, chosen in zip(paths, in_trefoil, strict=True) if chosen]
    if not trefoils:
        print("tasks 2 and 3: no folder *_trefoil")
        return
    valid = [log.path for log in read(trefoils)]
    trefoil.control(base, valid)
    trefoil.estimation(base, trefoils, valid)


if __name__ == "__main__":
    main()
