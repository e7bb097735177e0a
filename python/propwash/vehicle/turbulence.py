"""Turbulence of the wind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from propwash import _checks
from propwash._checks import ParameterError, checked_parameters


@dataclass(frozen=True)
class Dryden:
    """Low-altitude Dryden turbulence (MIL-F-8785C), independent for each vehicle."""

    wind_speed_6m: float
    """m/s, mean wind 6 m above ground, which determines the intensity of the gusts."""
    altitude: float
    """m above ground; the model is valid from 3.05 to 304.8."""
    airspeed: float
    """m/s > 0, of the vehicle relative to the gusts; in hover that of the mean wind."""
    heading: float = 0.0
    """rad, direction to which the mean wind blows, from world x towards y."""

    @checked_parameters()
    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, _checks.number(f"turbulence.{name}", value))
        _checks.not_negative("turbulence.wind_speed_6m", self.wind_speed_6m, "m/s")
        _checks.positive("turbulence.airspeed", self.airspeed, "m/s")


def checked_turbulence(value: Any) -> Dryden | None:
    """A Dryden or None; raises ParameterError for other values."""
    if value is not None and not isinstance(value, Dryden):
        raise ParameterError(f"turbulence: expected a Dryden or None, got {value!r:.100}")
    return value
