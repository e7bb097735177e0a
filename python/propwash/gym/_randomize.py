"""Parameters and disturbances that each episode draws anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._checks import ParameterError, checked_parameters
from propwash.fleet import Fleet, per_motor
from propwash.gym import _draws
from propwash.gym._draws import Draws
from propwash.gym._options import Settings

Array = NDArray[np.float64]

CUT = 3.0
"""Standard deviations at which a normal distribution is cut off."""


@dataclass(frozen=True, eq=False)
class _Varied:
    name: str
    is_normal: bool
    low: Array
    """Or the mean; of the parameter's shape."""
    high: Array
    """Or the standard deviation."""

    def extremes(self) -> Array:
        """(2, …)."""
        if self.is_normal:
            return np.stack([self.low - CUT * self.high, self.low + CUT * self.high])
        return np.stack([self.low, self.high])

    def draw(self, draws: Draws) -> Array:
        """(m, …): one number moves all of a vehicle's."""
        if self.is_normal:
            share = np.clip(draws.normal(), -CUT, CUT)
            spread = self.high
        else:
            share, spread = draws.uniform(), self.high - self.low
        return self.low + share.reshape(-1, *(1 for _ in self.low.shape)) * spread


class Randomizer:
    """Draws for the environments that start, and gives it to the fleet."""

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._fleet = fleet
        self._varied = [_varied(fleet, key, spread) for key, spread in chosen.randomize.items()]
        names = [each.name for each in self._varied]
        if len(set(names)) < len(names):
            raise ParameterError(f"randomize: expected each parameter once, got {', '.join(names)}")
        self._wind_range, self._delay_range = chosen.wind_range, chosen.delay_range
        self._wind = np.zeros((fleet.size, 3), dtype=np.float32)
        self._delay = np.zeros(fleet.size, dtype=np.uint32)
        self.is_idle = not (self._varied or self._wind_range[1] or self._delay_range[1])

    def memory(self) -> dict[str, Any]:
        """For a snapshot: what the fleet was given last."""
        return {"_wind": self._wind, "_delay": self._delay}

    def recall(self, memory: dict[str, Any]) -> None:
        """Takes up what memory() gave."""
        vars(self).update(memory)

    def start(self, draws: Draws) -> None:
        """New episodes for the rows of `draws`."""
        rows = draws.rows
        if self._varied:
            own = draws.purpose(_draws.PARAMETERS)
            mask = np.zeros(self._fleet.size, dtype=np.bool_)
            mask[rows] = True
            drawn = {each.name: each.draw(own) for each in self._varied}
            self._fleet.set_parameters(drawn, mask=mask)
        air = draws.purpose(_draws.AIR)
        low, high = self._wind_range
        if high > 0.0:
            speed, towards = air.uniform(low, high), air.uniform(-np.pi, np.pi)
            self._wind[rows, 0] = speed * np.cos(towards)
            self._wind[rows, 1] = speed * np.sin(towards)
            self._fleet.set_wind(self._wind)
        least, most = self._delay_range
        if most > 0:
            self._delay[rows] = least + air.integers(most - least + 1)
            self._fleet.set_action_delay(self._delay)


@checked_parameters()
def _varied(fleet: Fleet, key: str, spread: Any) -> _Varied:
    name = fleet.parameters.full_name(key)
    nominal = np.array(fleet.parameters[name][0])
    what = f"randomize[{key!r}]"
    expected = 'a share in [0, 1), ("uniform", low, high) or ("normal", mean, sd)'
    if isinstance(spread, tuple | list):
        if len(spread) != 3 or spread[0] not in ("uniform", "normal"):
            raise ValueError(f"{what}: expected {expected}, got {spread!r:.100}")
        low, high = (_shaped(what, bound, nominal.shape) for bound in spread[1:])
        varied = _Varied(name, spread[0] == "normal", low, high)
        if np.any(high < (0.0 if varied.is_normal else low)):
            raise ValueError(f"{what}: expected low <= high, or sd >= 0, got {spread!r:.100}")
    else:
        is_number = isinstance(spread, int | float | np.number) and not isinstance(spread, bool)
        if not is_number or not 0.0 <= spread < 1.0:
            raise ValueError(f"{what}: expected {expected}, got {spread!r:.100}")
        varied = _Varied(name, False, nominal * (1.0 - spread), nominal * (1.0 + spread))
    _check_extremes(fleet, varied, what)
    return varied


def _shaped(what: str, bound: Any, shape: tuple[int, ...]) -> Array:
    try:
        numbers = np.asarray(bound, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.asarray(np.nan)
    if not np.isfinite(numbers).all() or (len(shape) > 1 and numbers.shape != shape):
        raise ValueError(f"{what}: expected finite numbers of shape {shape}, got {bound!r:.100}")
    try:
        return np.broadcast_to(numbers, shape).copy()
    except ValueError:
        motors = per_motor(what, shape)
        raise ValueError(f"{what}: expected shape {shape}, got {numbers.shape}{motors}") from None


def _check_extremes(fleet: Fleet, varied: _Varied, what: str) -> None:
    """A vehicle can be with the least and with the greatest value."""
    trial = Fleet(fleet.vehicle, 2, "float64", threads=1)
    try:
        trial.set_parameters({varied.name: varied.extremes()})
    except ParameterError as error:
        raise ParameterError(f"{what}: {error}") from None
