"""Fits the residual of a vehicle: the force and the torque that its other terms leave.

The coefficients are linear in force and torque. One linear least-squares step with a ridge
therefore fits them to the errors of short windows, with the derivatives of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash._files import written_whole
from propwash._rotation import rotation
from propwash.identify._estimates import Identified, LogEstimate
from propwash.identify._fit import checked
from propwash.identify._open_loop import Flyer, Windows, commands, fly
from propwash.identify._predict import prepared
from propwash.identify._problem import Grid, gridded
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import ResidualParameters, VehicleParameters

Array = NDArray[np.float64]

LENGTH = 0.1
"""s, of a window."""
_BLOCKS = 4
"""Parts of a single log, each left out once."""
_SHORTEST = 4.0
"""s in the air."""
_INSIDE = 0.999
"""Fraction of the rows that are in the domain."""
_COEFFICIENTS = {
    "force": ("force_x", "force_y", "force_z"),
    "torque": ("torque_x", "torque_y", "torque_z"),
}


@dataclass(frozen=True)
class ResidualScore:
    """Mean force or torque that is left in windows of `LENGTH`, which were not fitted."""

    flight: str
    """Name of the part."""
    quantity: str
    """"force" or "torque"."""
    without: Array
    """(3,) N or N m, root mean squares along the body axes, without the residual."""
    with_residual: Array
    """The same with it."""
    outside: float
    """Fraction of the rows of the windows outside the domain of the training data."""


@dataclass(frozen=True)
class FittedResidual:
    """Result of `fit_residual`."""

    vehicle: VehicleParameters
    """With the residual of all logs. Force or torque is 0 if it does not reduce the errors of
    `held_out`."""
    held_out: tuple[ResidualScore, ...]
    """Of each part, by a fit of the others."""

    def improves(self, quantity: str) -> bool:
        """Returns whether the residual "force" or "torque" reduces the errors of `held_out`.

        Raises ValueError for another quantity.
        """
        checks.choice("quantity", quantity, tuple(_COEFFICIENTS))
        chosen = [score for score in self.held_out if score.quantity == quantity]
        before, after = (
            sum(float(np.sum(getattr(score, name) ** 2)) for score in chosen)
            for name in ("without", "with_residual")
        )
        return after < before

    def table(self) -> str:
        """Returns the errors of the parts that were left out as text."""
        lines = ["left in windows that were not fitted, root mean square along x, y, z"]
        for score in self.held_out:
            unit = "N" if score.quantity == "force" else "N m"
            cells = [
                " ".join(f"{x:9.3g}" for x in part) for part in (score.without, score.with_residual)
            ]
            lines.append(
                f"  {score.flight:34.34s} {score.quantity:6s} {cells[0]} -> {cells[1]} {unit}, "
                f"{score.outside:4.0%} outside the domain"
            )
        lines += [
            f"  {quantity}: not reduced; the vehicle has no residual {quantity}"
            for quantity in _COEFFICIENTS
            if not self.improves(quantity)
        ]
        return "\n".join(lines)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a vehicle file; leaves no partial file if that fails.

        Raises OSError if it cannot be written.
        """
        with written_whole(Path(path), ".toml") as part:
            part.write_text(self.vehicle.to_toml(), encoding="utf-8")
            vehicles.load(part)


@dataclass(frozen=True)
class _ResidualPart:
    """Windows of one flight that are fitted or left out together."""

    name: str
    flight: Flight
    period: float
    voltage: Array | None
    vehicle: VehicleParameters
    """With the trims of the flight, without residual."""
    windows: Windows

    def flyer(self, residual: ResidualParameters, names: Sequence[str] = ()) -> Flyer:
        """Returns the vehicle with a residual; the coefficients `names` are unknowns."""
        sizes = [len(getattr(residual, name)) for name in names]
        total, first, slopes = sum(sizes), 0, {}
        for name, size in zip(names, sizes, strict=True):
            slopes[f"residual.{name}"] = np.eye(total)[:, first : first + size]
            first += size
        vehicle = self.vehicle.replace(residual=residual)
        return Flyer(vehicle, self.voltage, total, slopes)

    @cached_property
    def features(self) -> Array:
        """(K, 10): velocity, rates, thrust and torque of the rotors at the window rows."""
        rows = np.unique(self.windows.rows)
        flight = self.flight
        assert flight.velocity is not None
        assert flight.attitude is not None
        velocity = np.einsum("kji,kj->ki", rotation(flight.attitude[rows]), flight.velocity[rows])
        speeds = self._speeds()[rows]
        squares = speeds * np.abs(speeds)
        rotors = self.vehicle.rotors
        axis = np.array([rotor.axis for rotor in rotors])
        thrust = np.array([rotor.thrust_coefficient for rotor in rotors])
        torque = np.array([-rotor.spin * rotor.torque_coefficient for rotor in rotors])
        position = np.array([rotor.position for rotor in rotors])
        arms = np.cross(position, axis * thrust[:, np.newaxis]) + axis * torque[:, np.newaxis]
        wrench = np.column_stack([squares @ (thrust * axis[:, 2]), squares @ arms])
        return np.hstack([velocity, flight.body_rates[rows], wrench])

    def _speeds(self) -> Array:
        """Returns (K, N) rad/s: measured, or those of motors that follow the commands."""
        if self.flight.rotor_speeds is not None:
            return self.flight.rotor_speeds
        targets = commands(self.flight, self.period, self.flyer(ResidualParameters()))[0]
        up, down = (
            -np.expm1(-self.period / np.array(self.vehicle.motor_values(name)))
            for name in ("time_constant_up", "time_constant_down")
        )
        speeds = np.empty((len(targets) + 1, targets.shape[1]))
        speeds[0] = targets[0]
        for k, target in enumerate(targets):
            change = target - speeds[k]
            speeds[k + 1] = speeds[k] + np.where(change > 0.0, up, down) * change
        return speeds

    def errors(
        self, residual: ResidualParameters, quantity: str, threads: int, derivatives: bool
    ) -> tuple[Array, Array]:
        """Returns mean force or torque that a window leaves (W, 3), body frame, and (W, 3, V)."""
        flyer = self.flyer(residual, _COEFFICIENTS[quantity] if derivatives else ())
        is_force = quantity == "force"
        record = "velocity" if is_force else "body_rates"
        flown = getattr(fly(self.windows, flyer, is_force, threads, (record,)), record)[:, :, -1]
        ends = self.windows.starts + self.windows.samples
        measured = getattr(self.flight, record)[ends]
        changes = np.stack([measured - flown[0], *flown[1:]])
        changes /= self.windows.samples * self.period
        if is_force:
            middle = self.windows.starts + self.windows.samples // 2
            assert self.flight.attitude is not None
            matrices = rotation(self.flight.attitude[middle]) * self.vehicle.body.mass
            wrenches = np.einsum("kji,lkj->lki", matrices, changes)
        else:
            wrenches = changes @ np.array(self.vehicle.body.inertia).T
        return wrenches[0], np.moveaxis(wrenches[1:], 0, -1)


def fit_residual(
    logs: Flight | Sequence[Flight],
    vehicle: str | PathLike[str] | VehicleParameters | Identified,
    *,
    ridge: float = 0.1,
    threads: int = 0,
) -> FittedResidual:
    """Fits force and torque that a vehicle's other terms leave (docs/model/residual.md).

    Each log, or each quarter of a single one, is also predicted by a fit of the others. Force and
    torque are kept only if they reduce the errors of these predictions.

    logs: with position, velocity and attitude.
    vehicle: a name, a file, parameters, or the result of `fit_vehicle`, whose trims and batteries
        are used for its logs. A residual that it has is replaced.
    ridge: penalty on the coefficients, relative to the mean squares of their derivatives.
    threads: as for `Fleet`.

    Raises ValueError for a log that cannot be used, ValueError or TypeError for an invalid `ridge`
    or `threads`, ParameterError for an invalid vehicle.
    """
    ridge = checks.positive("ridge", ridge)
    threads = checks.whole_number("threads", threads, 0, 4096)
    logs = checked(logs)
    found = vehicle if isinstance(vehicle, Identified) else None
    base = vehicle.vehicle if isinstance(vehicle, Identified) else vehicles.load(vehicle)
    base = base.replace(residual=ResidualParameters())
    parts = [_part(log, base, found) for log in logs]
    if len(parts) == 1:
        parts = _divided(parts[0])
    scores = []
    for k, part in enumerate(parts):
        others = [*parts[:k], *parts[k + 1 :]]
        domain = _domain(others)
        outside = float(np.mean(_squares(part.features, domain) > 1.0))
        for quantity in _COEFFICIENTS:
            residual = _fitted(others, domain, quantity, ridge, threads)
            left = [
                np.sqrt(np.mean(part.errors(each, quantity, threads, False)[0] ** 2, axis=0))
                for each in (domain, residual)
            ]
            scores.append(ResidualScore(part.name, quantity, left[0], left[1], outside))
    result = FittedResidual(base, tuple(scores))
    residual = domain = _domain(parts)
    for quantity, names in _COEFFICIENTS.items():
        if result.improves(quantity):
            fitted = _fitted(parts, domain, quantity, ridge, threads)
            residual = residual.replace(**{name: getattr(fitted, name) for name in names})
    if residual is domain:
        return result
    return FittedResidual(base.replace(residual=residual), result.held_out)


def _part(log: Flight, base: VehicleParameters, found: Identified | None) -> _ResidualPart:
    if not log.has_pose:
        raise ValueError(f"{log.path}: expected a log with position, velocity and attitude")
    grid = gridded(log, base, _SHORTEST)
    own = None if found is None else _estimate_of(grid, found)
    flight, voltage = prepared(grid, base, own or found, True)
    vehicle = (own.vehicle if own else base).replace(residual=ResidualParameters())
    samples = max(1, round(LENGTH / grid.period))
    first, last = grid.rows
    starts = np.arange(first, last - samples, samples, dtype=np.intp)
    windows = Windows(flight, grid.period, starts, samples)
    return _ResidualPart(log.path.stem, flight, grid.period, voltage, vehicle, windows)


def _estimate_of(grid: Grid, found: Identified) -> LogEstimate | None:
    """Returns the estimate of a log, or of a section of it; None for a log that was not fitted."""
    flight, middle = grid.flight, grid.flight.time[sum(grid.rows) // 2]
    of_log = (each for each in found.logs if each.flight.path == flight.path)
    return next((each for each in of_log if each.seconds[0] <= middle <= each.seconds[1]), None)


def _divided(part: _ResidualPart) -> list[_ResidualPart]:
    """Returns the windows of a part in `_BLOCKS` parts."""
    return [
        _ResidualPart(
            f"{part.name} {k + 1}/{_BLOCKS}",
            part.flight,
            part.period,
            part.voltage,
            part.vehicle,
            Windows(part.flight, part.period, starts, part.windows.samples),
        )
        for k, starts in enumerate(np.array_split(part.windows.starts, _BLOCKS))
    ]


def _domain(parts: Sequence[_ResidualPart]) -> ResidualParameters:
    """Returns an ellipsoid that contains nearly all rows, without coefficients."""
    features = np.concatenate([part.features for part in parts])
    centre = np.zeros(10)
    symmetric = [0, 2, 6]  # forward and upward velocity, thrust
    centre[symmetric] = features[:, symmetric].mean(axis=0)
    weight = parts[0].vehicle.weight
    lever = max(float(np.linalg.norm(rotor.position)) for rotor in parts[0].vehicle.rotors)
    floor = np.repeat([0.1, 0.1, 1e-2 * weight, 1e-3 * weight * max(lever, 1e-3)], [3, 3, 1, 3])
    extents = np.maximum(np.quantile(np.abs(features - centre), _INSIDE, axis=0), floor)
    squares = np.sum(((features - centre) / extents) ** 2, axis=1)
    axes = extents * np.sqrt(np.quantile(squares, _INSIDE))
    return ResidualParameters(
        velocity=tuple(axes[:3]),
        velocity_centre=tuple(centre[:3]),
        rates=tuple(axes[3:6]),
        thrust=float(axes[6]),
        thrust_centre=float(centre[6]),
        torque=tuple(axes[7:]),
    )


def _squares(features: Array, domain: ResidualParameters) -> Array:
    """Returns (K,) squared distances from the centre of the domain, 1 at its boundary."""
    centre = np.array([*domain.velocity_centre, 0.0, 0.0, 0.0, domain.thrust_centre, 0.0, 0.0, 0.0])
    axes = np.array([*domain.velocity, *domain.rates, domain.thrust, *domain.torque])
    return np.asarray(np.sum(((features - centre) / axes) ** 2, axis=1))


def _fitted(
    parts: Sequence[_ResidualPart],
    domain: ResidualParameters,
    quantity: str,
    ridge: float,
    threads: int,
) -> ResidualParameters:
    """Returns the domain with the coefficients of "force" or "torque" by least squares."""
    names = _COEFFICIENTS[quantity]
    errors, slopes = zip(
        *(part.errors(domain, quantity, threads, True) for part in parts), strict=True
    )
    right = np.concatenate(errors).ravel()
    left = np.concatenate(slopes).reshape(len(right), -1)
    scale = np.sqrt(np.mean(left**2, axis=0))
    scale = np.where(scale > 0.0, scale, 1.0)
    left = left / scale
    normal = left.T @ left / len(right) + ridge * np.eye(left.shape[1])
    solved = np.linalg.solve(normal, left.T @ right / len(right)) / scale
    sizes = [len(getattr(domain, name)) for name in names]
    blocks: Mapping[str, Array] = dict(
        zip(names, np.split(solved, np.cumsum(sizes)[:-1]), strict=True)
    )
    return domain.replace(**blocks)
