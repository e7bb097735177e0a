"""Forces and torques of models of the NeuroBEM quadcopter in flights of up to 18 m/s.

Each model is fitted by least squares to the measured forces, then to the measured torques, of all
segments but one, and predicts this one: root mean squares per component, as in docs/benchmarks.md.
The residual is fitted by identify.fit_residual to the same segments, with both models.
The folder has segments with NeuroBEM's predictions: `*.mat` of RCL-NUS/NeuroMHE, folder
`Check_RMSE/MATLAB_code_for_mass_verification`, or `*.csv` of NeuroBEM's `predictions.tar.xz`.

    python bench/flights/neurobem.py FOLDER

Needs propwash[tune].
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import identify
from scipy.io import loadmat
from scipy.optimize import least_squares

Array = NDArray[np.float64]

STEP = 1e-6
"""s, of the difference quotient that returns the model's accelerations."""
EVERY = 8
"""Of the rows at 400 Hz, the model is fitted to every eighth."""
RANGES = ((0.0, 5.0), (5.0, 10.0), (10.0, 20.0), (0.0, 20.0))
"""m/s, speeds of the columns."""
SCALES = {
    "rotor.thrust_coefficient": 1e-6,
    "rotor_drag.linear": 0.3,
    "rotor_drag.blow_back": 0.01,
    "drag.translational": 0.01,
    "inflow.axial": 1e-4,
    "inflow.translational": 1e-3,
    "inflow.drag": 1e-5,
    "inflow.axial_drag": 1e-3,
    "inflow.flapping": 1e-6,
}
"""Units of the fit."""
THRUST = ("rotor.thrust_coefficient",)
LINEAR = (*THRUST, "inflow.drag", "inflow.axial", "inflow.translational")
# free parameters, and whether the induced velocity is that of momentum theory
FORCES: dict[str, tuple[tuple[str, ...], bool]] = {
    "thrust only": (THRUST, False),
    "drag": ((*THRUST, "rotor_drag.linear"), False),
    "drag ∝ rotor speed": ((*THRUST, "inflow.drag"), False),
    "+ inflow": (LINEAR, False),
    "+ momentum theory": (LINEAR, True),
    "+ axial drag": ((*LINEAR, "inflow.axial_drag"), True),
    "+ drag of the body": ((*LINEAR, "inflow.axial_drag", "drag.translational"), True),
}
TORQUES: dict[str, tuple[str, ...]] = {
    "none": (),
    "blow-back": ("rotor_drag.blow_back",),
    "flapping ∝ rotor speed": ("inflow.flapping",),
}


@dataclass(frozen=True)
class Rows:
    """Measurements, and NeuroBEM's predictions of force [N] and torque [N m] in body axes."""

    state: pw.MulticopterState
    force: Array
    torque: Array
    predicted_force: Array
    predicted_torque: Array
    log: identify.FlightLog
    """All rows, for the fit of a residual."""

    @property
    def speed(self) -> Array:
        """Returns (K,) m/s."""
        return np.asarray(np.linalg.norm(self.state.velocity, axis=1))

    def every(self, step: int) -> Rows:
        """Returns each `step`-th row."""
        state = pw.MulticopterState(*(part[::step] for part in vars(self.state).values()))
        others = (self.force, self.torque, self.predicted_force, self.predicted_torque)
        return Rows(state, *(part[::step] for part in others), self.log)


def rotated(attitude: Array, vectors: Array) -> Array:
    """Returns (K, 3) vectors in the world frame; attitude: (K, 4), scalar first."""
    w, axis = attitude[:, :1], attitude[:, 1:]
    t = 2.0 * np.cross(axis, vectors)
    return np.asarray(vectors + w * t + np.cross(axis, t))


def torque_of(vehicle: pw.VehicleParameters, rates: Array, accelerations: Array) -> Array:
    """Returns (K, 3) N m, by Euler's equation."""
    inertia = np.array(vehicle.body.inertia)
    return np.asarray(accelerations @ inertia.T + np.cross(rates, rates @ inertia.T))


def read(path: Path, vehicle: pw.VehicleParameters) -> Rows:
    """Reads a segment; columns as in the read me of the data set."""
    if path.suffix == ".mat":
        table = next(v for k, v in loadmat(path).items() if not k.startswith("__"))
    else:
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
    attitude = table[:, [10, 7, 8, 9]]
    attitude = attitude / np.linalg.norm(attitude, axis=1, keepdims=True)
    state = pw.MulticopterState(
        table[:, 17:20],
        rotated(attitude, table[:, 14:17]),
        attitude,
        table[:, 4:7],
        table[:, 20:24],
    )
    torque = torque_of(vehicle, table[:, 4:7], table[:, 1:4])
    force = vehicle.body.mass * table[:, 11:14]
    log = identify.FlightLog(
        path,
        time=table[:, 0],
        duty=np.zeros_like(table[:, 20:24]),
        body_rates=table[:, 4:7],
        specific_force=table[:, 11:14],
        position=table[:, 17:20],
        velocity=np.asarray(state.velocity),
        attitude=attitude,
        rotor_speeds=table[:, 20:24],
    )
    return Rows(state, force, torque, table[:, 29:32], table[:, 32:35], log)


def wrench(vehicle: pw.VehicleParameters, state: pw.MulticopterState) -> tuple[Array, Array]:
    """Returns force and torque (K, 3) of the model in body axes, without reaction torques."""
    fleet = pw.Fleet(vehicle, len(state.position), dt=STEP, dtype="float64", noise=False)
    fleet.reset(**vars(state))
    fleet.step(pw.RotorSpeeds(state.rotor_speeds))
    acceleration = (fleet.velocity - state.velocity) / STEP - np.array(vehicle.body.gravity)
    inverse = np.asarray(state.attitude) * [1.0, -1.0, -1.0, -1.0]
    turning = (fleet.body_rates - state.body_rates) / STEP
    force = vehicle.body.mass * rotated(inverse, acceleration)
    return force, torque_of(vehicle, np.asarray(state.body_rates), turning)


def changed(
    vehicle: pw.VehicleParameters, names: Sequence[str], values: Sequence[float] | Array
) -> pw.VehicleParameters:
    """Returns the vehicle with values in the units of SCALES."""
    for name, value in zip(names, values, strict=True):
        number = max(float(value) * SCALES[name], 0.0)
        group, _, field = name.partition(".")
        if group == "rotor":
            rotors = tuple(rotor.replace(**{field: number}) for rotor in vehicle.rotors)
            vehicle = vehicle.replace(rotors=rotors)
        else:
            isotropic = (number, number, 0.0)
            vehicle = vehicle.replace(
                **{group: {field: isotropic if field == "linear" else number}}
            )
    return vehicle


def fitted(
    vehicle: pw.VehicleParameters, names: Sequence[str], training: Sequence[Rows], which: int
) -> pw.VehicleParameters:
    """Returns the vehicle with forces (which = 0) or torques (1) fitted to the segments."""
    if not names:
        return vehicle

    def residuals(values: Array) -> Array:
        moved = changed(vehicle, names, values)
        errors = [wrench(moved, r.state)[which] - (r.force, r.torque)[which] for r in training]
        return np.concatenate(errors).ravel()

    start = np.ones(len(names))
    solved = least_squares(residuals, start, bounds=(0.0, np.inf), x_scale="jac", diff_step=1e-4)
    return changed(vehicle, names, solved.x)


def without_air(vehicle: pw.VehicleParameters, momentum: bool) -> pw.VehicleParameters:
    """Returns the vehicle without drag and flow, but for momentum theory."""
    inflow = pw.InflowParameters(radius=vehicle.inflow.radius if momentum else 0.0)
    return vehicle.replace(
        drag=pw.DragParameters(), rotor_drag=pw.RotorDragParameters(), inflow=inflow
    )


def row(label: str, errors: Sequence[Array], segments: Sequence[Rows]) -> None:
    """Prints root mean squares per component: by speed over all segments, then of each one."""
    every, speed = np.concatenate(errors), np.concatenate([s.speed for s in segments])
    cells = [every[(speed >= low) & (speed < high)] for low, high in RANGES]
    cells += [every[:, [axis]] for axis in range(every.shape[1])] + [*errors]
    values = [f"{np.sqrt(np.mean(cell**2)):#.3g}" for cell in cells]
    print(f"| {label} | {' | '.join(values)} |", flush=True)


def main() -> None:
    """Prints the tables of docs/benchmarks.md."""
    vehicle = pw.vehicles.load("neurobem")
    paths = sorted(p for p in Path(sys.argv[1]).iterdir() if p.suffix in (".mat", ".csv"))
    segments = [read(path, vehicle) for path in paths]
    few = [segment.every(EVERY) for segment in segments]
    training = [few[:k] + few[k + 1 :] for k in range(len(few))]
    heads = [f"{low:g} to {high:g} m/s" for low, high in RANGES]
    each = [
        f"{path.stem.removeprefix('bemnn')}, {segment.speed.max():.1f} m/s"
        for path, segment in zip(paths, segments, strict=True)
    ]
    print(f"| force, N | {' | '.join([*heads, 'x', 'y', 'z', *each])} |")
    models: list[pw.VehicleParameters] = []
    for label, (free, momentum) in FORCES.items():
        start = without_air(vehicle, momentum)
        models = [fitted(start, free, others, 0) for others in training]
        errors = [wrench(v, s.state)[0] - s.force for v, s in zip(models, segments, strict=True)]
        row(label, errors, segments)
    flapping = list(TORQUES.values())[-1]
    turned = [fitted(v, flapping, others, 1) for v, others in zip(models, training, strict=True)]
    corrected = [
        identify.fit_residual([s.log for s in others], v).vehicle
        for v, others in zip(turned, training, strict=True)
    ]
    pairs = list(zip(corrected, segments, strict=True))
    row("+ residual", [wrench(v, s.state)[0] - s.force for v, s in pairs], segments)
    row("NeuroBEM", [s.predicted_force - s.force for s in segments], segments)
    print(f"| torque, N m | {' | '.join([*heads, 'x', 'y', *each])} |")
    for label, free in TORQUES.items():
        turned = [fitted(v, free, others, 1) for v, others in zip(models, training, strict=True)]
        errors = [wrench(v, s.state)[1] - s.torque for v, s in zip(turned, segments, strict=True)]
        row(label, [e[:, :2] for e in errors], segments)
    errors = [wrench(v, s.state)[1] - s.torque for v, s in pairs]
    row("+ residual", [e[:, :2] for e in errors], segments)
    row("NeuroBEM", [(s.predicted_torque - s.torque)[:, :2] for s in segments], segments)
    found = fitted(without_air(vehicle, True), list(FORCES.values())[-1][0], few, 0)
    found = fitted(found, list(TORQUES.values())[-1], few, 1)
    print(found.rotors[0].thrust_coefficient, found.drag.translational, found.inflow)


if __name__ == "__main__":
    main()
