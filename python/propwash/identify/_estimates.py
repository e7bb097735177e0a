"""Results of a fit: estimates with standard errors, whiteness, the vehicle file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash._files import written_whole
from propwash.identify._bias import AccelerometerBias
from propwash.identify._log_battery import Battery
from propwash.identify._posterior import Posterior
from propwash.identify._whiteness import Whiteness
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

MAX_EVALUATIONS = 25


@dataclass(frozen=True)
class Estimate:
    """Estimate of one parameter.

    name, unit: of the parameter. guess: the initial value. value: the estimate.
    """

    name: str
    unit: str
    guess: float
    value: float
    standard_error: float
    """In the unit of the value; valid for residuals that are correlated in time."""
    identified: bool
    """Whether the data dominate the prior: the standard error is below half the prior's."""
    at_bound: bool = False
    """Whether the value is at its minimum, or 3 prior deviations (a balance: 1; a factor: 4.5
    times) from the guess."""

    @property
    def is_beyond_search(self) -> bool:
        """Whether the value is at a bound that is not its minimum, 0."""
        return self.at_bound and abs(self.value) > 1e-6 * (abs(self.guess) + self.standard_error)

    @property
    def notes(self) -> list[str]:
        """Why the value or its standard error may mislead; mostly empty."""
        weak = "weakly identifiable: dominated by the prior"
        bound = "at a bound: its minimum, or too far from the guess"
        return [*([] if self.identified else [weak]), *([bound] if self.at_bound else [])]


def estimate_named(estimates: Iterable[Estimate], name: str) -> Estimate:
    """Raises KeyError that lists the names if there is none."""
    by_name = {one.name: one for one in estimates}
    if name not in by_name:
        raise KeyError(f"{name!r}: expected one of {', '.join(by_name)}")
    return by_name[name]


@dataclass(frozen=True)
class LogEstimate:
    """Estimates that are specific to one log, for `identify.predict`."""

    flight: Flight
    """The log on a uniform grid without the accelerometer's bias; with velocity and attitude if an
    observer estimated them."""
    vehicle: VehicleParameters
    """The vehicle with the trims of this log."""
    battery: Battery | None
    """The effective voltage of this log; None without a nominal voltage."""
    bias: AccelerometerBias
    """Bias of the accelerometer, common to all logs of the vehicle."""
    trims: tuple[Estimate, ...]
    """Deviations of this flight from the vehicle: `thrust` relative, `tilt_x` and `tilt_y` in rad,
    `balance_roll` and others relative."""
    seconds: tuple[float, float]
    """Times of the first and the last row that were fitted."""

    @property
    def notes(self) -> list[str]:
        """Trims that the assumed scatter does not explain; mostly empty."""
        return [
            f"{self.flight.path.name}: {trim.name} = {trim.value:+.3g} {trim.unit} is at its "
            f"limit, three prior deviations from the vehicle: the flight is of another vehicle, or "
            f"its body frame is wrong; else use a larger identify.Scatter"
            for trim in self.trims
            if trim.at_bound
        ]

    def table(self) -> str:
        """Returns the trims and the battery as text."""
        lines = [
            f"{self.flight.path.name}, {self.seconds[0]:.1f} to {self.seconds[1]:.1f} s",
            f"{'trim':20s}{'estimate':>13s}{'std. error':>12s}  unit",
        ]
        for trim in self.trims:
            lines.append(
                f"{trim.name:20s}{trim.value:13.5g}{trim.standard_error:12.2g}  {trim.unit}"
            )
        if self.battery is not None:
            lines.append(
                f"effective voltage: {1.0 + self.battery.offset:.3f} of the "
                + ("recorded" if self.flight.voltage is not None else f"{self.battery.nominal:g} V")
                + f", {self.battery.slope:+.4f} per 10 s at first"
            )
            if self.flight.voltage is None:
                lines[-1] += f", {-self.battery.sag:+.3f} for each rotor at full duty cycle"
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class Identified:
    """Result of `identify.fit_vehicle`.

    estimates: one for each free parameter. whiteness: one for each type of window.
    logs: estimates specific to each log. cost: the minimum of the cost function.
    """

    vehicle: VehicleParameters
    estimates: tuple[Estimate, ...]
    whiteness: tuple[Whiteness, ...]
    logs: tuple[LogEstimate, ...]
    bias: AccelerometerBias
    """Bias of the accelerometer, common to all logs of the result."""
    battery: Battery | None
    """What the effective voltages of all logs have in common; None without a nominal voltage."""
    cost: float
    evaluations: int
    """Number of evaluations of the residuals."""
    posterior: Posterior
    """The vehicle in another flight; of a fit with groups, another vehicle of the type."""
    converged: bool = True
    """Whether the optimiser converged."""
    groups: Mapping[str, Identified] = field(default_factory=dict)
    """The result for each vehicle of a fit with groups: its parameters, bias and logs."""

    def estimate(self, name: str) -> Estimate:
        """Returns the estimate with this name. Raises KeyError that lists the names."""
        return estimate_named(self.estimates, name)

    @property
    def notes(self) -> list[str]:
        """Why the whole result may mislead; mostly empty."""
        notes = [note for log in self.logs for note in log.notes]
        if self.converged:
            return notes
        return [
            f"the search did not converge within {MAX_EVALUATIONS} evaluations: use a better guess "
            f"or fewer parameters",
            *notes,
        ]

    def table(self) -> str:
        """Returns estimates, standard errors and whiteness as text."""
        lines = [f"{'parameter':20s}{'guess':>13s}{'estimate':>13s}{'std. error':>12s}  unit"]
        for e in self.estimates:
            lines.append(
                f"{e.name:20s}{e.guess:13.5g}{e.value:13.5g}{e.standard_error:12.2g}  {e.unit}"
                + "".join(f"   ({note})" for note in e.notes)
            )
        lines += self.notes
        bias = zip("xyz", self.bias.value, self.bias.standard_error, strict=True)
        for axis, value, error in bias:
            name = f"accelerometer bias {axis}"
            lines.append(f"{name:20s}{0.0:13.5g}{value:13.5g}{error:12.2g}  m/s^2")
        lines += self._of_groups()
        lines.append("")
        for w in self.whiteness:
            verdict = "white" if w.is_white else "not white"
            lines.append(
                f"residuals of {w.kind}: {w.residuals}, RMS {w.rms:.3g}, autocorrelation "
                f"{w.autocorrelation:+.3f} (white within {w.bound:.3f}): {verdict}"
            )
            lines += [f"  {note}" for note in w.notes]
        return "\n".join(lines)

    def _of_groups(self) -> list[str]:
        """Returns the parameters and biases in which the vehicles differ, as text."""
        lines = []
        for name, group in self.groups.items():
            own = [
                e for e, common in zip(group.estimates, self.estimates, strict=True) if e != common
            ]
            values = [f"{e.name} {e.value:.4g} +- {e.standard_error:.2g}" for e in own]
            bias = ", ".join(f"{value:.3f}" for value in group.bias.value)
            lines.append(f"{name}: {', '.join([*values, f'accelerometer bias {bias}'])}")
        return lines

    def to_toml(self) -> str:
        """Returns the text of a vehicle file with the posterior and standard errors.

        Raises ValueError for a parameter at a bound of the search.
        """
        bounded = [e for e in self.estimates if e.is_beyond_search]
        if bounded:
            values = ", ".join(f"{e.name} = {e.value:.4g} {e.unit}".rstrip() for e in bounded)
            raise ValueError(
                f"{values}: expected estimates within the bounds of the search, got those at a "
                f"bound, too far from the guess; the log or the guess is wrong (units, order of "
                f"the motors, noise of the inputs): check them, or omit these from parameters"
            )
        logs = ", ".join(log.flight.path.name for log in self.logs)
        lines = [self.vehicle.to_toml().rstrip(), "", self.posterior.to_toml(), "", "[sources]"]
        lines.append(f'identified = "from {_plain(logs)}: estimates and standard errors"')
        for e in self.estimates:
            lines.append(
                f'"identified {e.name}" = "{e.value:.6g} +- {e.standard_error:.2g} {e.unit}'
                f'{"" if e.identified else ", weakly identifiable"}"'
            )
        return "\n".join(lines) + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a vehicle file; leaves no partial file if that fails.

        Raises ValueError for a parameter at a bound of the search, OSError if it cannot be written.
        """
        file = Path(path)
        with written_whole(file, ".toml") as part:
            part.write_text(self.to_toml(), encoding="utf-8")
            vehicles.load(part)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in text)
