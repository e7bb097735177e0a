"""The distribution of vehicles that a fit leaves possible, for randomisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Self

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash import _files
from propwash._checks import ParameterError
from propwash.identify._covariance import deviation_of
from propwash.identify._parameters import (
    BALANCES,
    Fields,
    FreeParameter,
    catalogue,
    changed,
    changed_fields,
)
from propwash.identify._problem import FitProblem
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.tables import PosteriorTable
from propwash.vehicle.toml import toml_value

Array = NDArray[np.float64]

_CUT = 3.0
"""Standard deviations at which the independent normal numbers are truncated."""
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Posterior:
    """A normal distribution around an identified vehicle: standard errors, correlations, scatter.

    The numbers are the logarithm of a factor of the vehicle (`thrust`, `torque`, `rotor_inertia`,
    `inertia_x`, time constants), or an offset in the unit of the parameter (docs/identify.md).

    Raises ParameterError for parameters that cannot be identified, and numbers of another shape.
    """

    vehicle: VehicleParameters
    """The mean."""
    parameters: tuple[str, ...]
    """P names of parameters."""
    standard_deviations: Array
    """(P,) array-like, of the logarithms and offsets."""
    correlations: Array
    """(P, P) array-like."""

    def __post_init__(self) -> None:
        count, known = len(self.parameters), catalogue(self.vehicle)
        if not count:
            raise ParameterError("posterior.parameters: expected at least one name, got none")
        for name in self.parameters:
            if name not in known:
                hint = checks.nearest(name, known)
                raise ParameterError(f"posterior.parameters: there is no {name!r:.50}{hint}")
        if len(set(self.parameters)) < count:
            raise ParameterError("posterior.parameters: expected each name once")
        for name, shape in (("standard_deviations", (count,)), ("correlations", (count, count))):
            numbers = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, numbers)
            if numbers.shape != shape or not np.isfinite(numbers).all():
                raise ParameterError(
                    f"posterior.{name}: expected finite numbers of shape {shape}, one for each "
                    f"parameter, got {checks.described(numbers)}"
                )
        if (self.standard_deviations < 0.0).any():
            raise ParameterError("posterior.standard_deviations: expected numbers >= 0")
        is_symmetric = np.allclose(self.correlations, self.correlations.T, atol=_ROUNDING)
        if (
            not is_symmetric
            or not np.allclose(np.diagonal(self.correlations), 1.0, atol=_ROUNDING)
            or np.linalg.eigvalsh(self.correlations).min() < -_ROUNDING
        ):
            raise ParameterError(
                "posterior.correlations: expected a symmetric matrix without negative eigenvalues "
                "and with 1 on the diagonal"
            )

    @classmethod
    def load(cls, file: str | PathLike[str] | VehicleParameters) -> Self:
        """Reads the vehicle and the table [posterior] of a file of `Identified.save`.

        Raises ParameterError for a file without that table or with an invalid one.
        """
        if isinstance(file, VehicleParameters):
            raise ParameterError(
                f"posterior: expected the file of an identified vehicle, got the parameters of "
                f"{file.name!r:.50}; pass its path, or an identify.Posterior"
            )
        path = vehicles.path(file)
        tables = _files.read_toml(path, ParameterError)
        if "posterior" not in tables:
            raise ParameterError(
                f"{path}: expected a table [posterior], got none; `python -m propwash identify` "
                "writes files with one"
            )
        try:
            table = PosteriorTable.of(tables["posterior"])
            numbers = np.array(table.standard_deviations), np.array(table.correlations)
            return cls(vehicles.load(path), tuple(table.parameters), *numbers)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None
        except ValueError as error:  # rows of different lengths
            raise ParameterError(f"{path}: posterior: {error}") from None

    def draw(self, count: int, seed: int = 0) -> tuple[Array, Fields]:
        """Draws vehicles, without those whose moments of inertia no rigid body has.

        Returns (count, P) logarithms and offsets, and their vehicles' parameters (count, …) by
        name, for `Fleet.set_parameters`.
        """
        checks.whole_number("count", count, 1, 1_000_000)
        free = self._free()
        values, vectors = np.linalg.eigh(self.correlations)
        root = vectors * np.sqrt(np.maximum(values, 0.0)) * self.standard_deviations[:, None]
        rng = np.random.default_rng(checks.seed(seed))
        rows: list[Array] = []
        drawn: list[Fields] = []
        tries = 0
        while len(rows) < count:
            tries += 1
            if tries > 100 * count:
                raise ParameterError(
                    "posterior: expected vehicles with the moments of inertia of a rigid body, got "
                    "almost none; the standard deviations of inertia_x and inertia_y are too large"
                )
            normals = np.clip(rng.standard_normal(len(free)), -_CUT, _CUT)
            row = root @ normals
            fields = changed_fields(self.vehicle, free, row)
            least, middle, largest = np.linalg.eigvalsh(fields["body.inertia"])
            if least > 0.0 and largest <= least + middle:
                rows.append(row)
                drawn.append(fields)
        varied = {
            name: np.stack([fields[name] for fields in drawn])
            for name, nominal in changed_fields(self.vehicle, [], []).items()
            if any(not np.array_equal(fields[name], nominal) for fields in drawn)
        }
        return np.array(rows), varied

    def vehicles(self, count: int, seed: int = 0) -> list[VehicleParameters]:
        """Draws vehicles: those of `draw`."""
        rows, _ = self.draw(count, seed)
        return [changed(self.vehicle, self._free(), row) for row in rows]

    def _free(self) -> list[FreeParameter]:
        """The parameters, moved by logarithms and offsets."""
        known = catalogue(self.vehicle)
        return [replace(known[name], spread=1.0) for name in self.parameters]

    def to_toml(self) -> str:
        """Returns the table [posterior] of a vehicle file."""
        rows = ",\n    ".join(toml_value(row) for row in self.correlations)
        return "\n".join(
            [
                "[posterior]",
                f"parameters = {toml_value(self.parameters)}",
                f"standard_deviations = {toml_value(self.standard_deviations)}",
                f"correlations = [\n    {rows},\n]",
            ]
        )


def posterior_of(
    problem: FitProblem,
    x: Array,
    covariances: Array,
    vehicle: VehicleParameters,
    group: int | None = None,
) -> Posterior:
    """The distribution of a vehicle in another flight.

    x, covariances: the unknowns and both estimates of their covariance. vehicle: with these
    unknowns. group: number of the vehicle; None for another vehicle than those of the groups.
    """
    own = {} if group is None else {p.name: j for j, p in problem.deviations[group].items()}
    names = [p.name for p in problem.free]
    combinations = np.eye(len(names), problem.size)
    for k, name in enumerate(names):
        if name in own:
            combinations[k, own[name]] = problem.scatter.vehicles
    # the correlations of the sandwich estimate; standard errors are the larger of both
    covariance = combinations @ covariances[0] @ combinations.T
    larger = [deviation_of(covariances, row) for row in combinations]
    scale = np.array(larger) / np.sqrt(np.diagonal(covariance))
    scale *= [p.spread for p in problem.free]
    covariance = covariance * np.outer(scale, scale)
    scatters = _scatters(problem, x, covariances.max(axis=0).diagonal(), group)
    added = [name for name in scatters if name not in names]
    covariance = np.pad(covariance, (0, len(added)))
    names += added
    covariance[np.diag_indices(len(names))] += [scatters.get(name, 0.0) for name in names]
    deviations = np.sqrt(covariance.diagonal())
    correlations = covariance / np.outer(deviations, deviations)
    return Posterior(vehicle, tuple(names), deviations, correlations)


def _scatters(
    problem: FitProblem, x: Array, variances: Array, group: int | None
) -> dict[str, float]:
    """Variances of parameters between flights and, without a group, between vehicles.

    Those that are assumed, after one step of expectation-maximisation.
    """

    def updated(indices: list[int], spread: float) -> float:
        return float(spread**2 * np.mean(x[indices] ** 2 + variances[indices]))

    scatters: dict[str, float] = {}
    if group is None and len(problem.deviations) > 1:
        for place, p in enumerate(problem.deviations[0].values()):
            indices = [[*deviations][place] for deviations in problem.deviations]
            scatters[p.name] = updated(indices, p.spread)
    for name in ("thrust", "tilt_x", "tilt_y", *BALANCES):
        # of a vehicle with a nominal voltage, that of the battery replaces the trim of thrust
        unknowns = ("thrust", "battery_offset") if name == "thrust" else (name,)
        indices = [of[u] for of in problem.nuisances for u in unknowns if u in of]
        if indices:
            scatters[name] = scatters.get(name, 0.0) + updated(indices, problem.scatter.of(name))
    return scatters
