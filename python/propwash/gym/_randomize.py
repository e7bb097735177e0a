"""Random numbers of environments, and the parameters and disturbances drawn for each episode.

Each environment has its own stream of splitmix64 (Steele, Lea & Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014). The state of a stream is a hash of (seed, number of
the environment, episode, purpose): the numbers of one environment depend neither on the other
environments nor on the number of their resets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._checks import ParameterError, checked_parameters
from propwash.fleet import Fleet, per_motor
from propwash.gym._options import Settings, Spread

if TYPE_CHECKING:
    from propwash.identify import Posterior

Array = NDArray[np.float64]

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = (np.uint64(shift) for shift in (30, 27, 31, 11))

START, PARAMETERS, AIR = 0, 1, 2
"""Purposes of a stream: initial state, vehicle parameters, wind and delay."""


def _mixed(words: Words) -> Words:
    words = (words ^ (words >> _S30)) * _FIRST
    words = (words ^ (words >> _S27)) * _SECOND
    mixed: Words = words ^ (words >> _S31)
    return mixed


class Draws:
    """Random numbers for the m environments that start an episode, one row each.

    A row depends only on the seed, the environment's number, its episode and the preceding calls in
    that episode.
    """

    def __init__(
        self, seed: int, rows: NDArray[np.intp], numbers: NDArray[Any], episodes: NDArray[Any]
    ) -> None:
        self.rows = rows
        """(m,) indices of these environments among all n."""
        key = _mixed(np.full(len(rows), seed, dtype=np.uint64) + _GOLDEN)
        key = _mixed((key ^ numbers.astype(np.uint64)) + _GOLDEN)
        self._episode = _mixed((key ^ episodes.astype(np.uint64)) + _GOLDEN)
        self._key = self._episode
        self._drawn = 0

    @property
    def size(self) -> int:
        """Number m of environments."""
        return len(self.rows)

    def purpose(self, number: int) -> Draws:
        """Returns another stream for the same environments."""
        other = object.__new__(Draws)
        other.rows, other._episode, other._drawn = self.rows, self._episode, 0
        other._key = _mixed(self._episode ^ np.full(1, number, dtype=np.uint64) * _FIRST)
        return other

    def _units(self, columns: int) -> Array:
        """(m, columns) in [0, 1)."""
        counts = np.arange(self._drawn + 1, self._drawn + columns + 1, dtype=np.uint64)
        self._drawn += columns
        words = _mixed(self._key[:, None] + counts * _GOLDEN)
        units: Array = (words >> _S11).astype(np.float64)
        units *= 2.0**-53
        return units

    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, width: int | None = None
    ) -> Array:
        """Returns (m,), or (m, width), numbers of a uniform distribution over [low, high)."""
        units = self._units(1 if width is None else width)
        units = units[:, 0] if width is None else units
        start = np.asarray(low, dtype=np.float64)
        return np.asarray(start + units * (np.asarray(high, dtype=np.float64) - start))

    def normal(
        self, mean: ArrayLike = 0.0, deviation: ArrayLike = 1.0, width: int | None = None
    ) -> Array:
        """Returns (m,), or (m, width), numbers of a normal distribution."""
        columns = 1 if width is None else width
        units = self._units(2 * columns)
        radius = np.sqrt(-2.0 * np.log(1.0 - units[:, :columns].copy()))
        normals = radius * np.cos(2.0 * np.pi * units[:, columns:].copy())
        normals = normals[:, 0] if width is None else normals
        scaled = normals * np.asarray(deviation, dtype=np.float64)
        return np.asarray(np.asarray(mean, dtype=np.float64) + scaled)

    def integers(self, count: int) -> NDArray[np.intp]:
        """Returns (m,) integers in [0, count)."""
        return (self._units(1)[:, 0] * count).astype(np.intp)

    def attitude(self, tilt: float = np.pi, yaw: float = np.pi) -> Array:
        """Returns (m, 4) unit quaternions, scalar first, body to world.

        tilt: Maximum tilt [rad]; the direction of the body's z is uniform on that spherical cap.
        yaw: Maximum heading [rad]; uniform in ±yaw. The defaults are uniform over all attitudes.
        """
        units = self._units(3)
        cosine = 1.0 - units[:, 0] * (1.0 - np.cos(tilt))
        half_tilt = 0.5 * np.arccos(np.clip(cosine, -1.0, 1.0))
        azimuth = 2.0 * np.pi * units[:, 1]
        half_yaw = yaw * (units[:, 2] - 0.5)
        c, s = np.cos(half_yaw), np.sin(half_yaw)
        x, y = np.sin(half_tilt) * np.cos(azimuth), np.sin(half_tilt) * np.sin(azimuth)
        w = np.cos(half_tilt)
        return np.stack([w * c, x * c + y * s, y * c - x * s, w * s], axis=1)


CUT = 3.0
"""Standard deviations at which a normal distribution is truncated."""
VEHICLES = 1000
"""Number of vehicles that are drawn from a posterior."""
_SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class _Varied:
    """Distribution of a parameter."""

    name: str
    is_normal: bool
    low: Array
    """Lower bound, or mean; of the parameter's shape."""
    high: Array
    """Upper bound, or standard deviation."""
    nominal: Array

    def extremes(self) -> Array:
        """(2, …) minimum and maximum."""
        if self.is_normal:
            return np.stack([self.low - CUT * self.high, self.low + CUT * self.high])
        return np.stack([self.low, self.high])

    def draw(self, draws: Draws) -> Array:
        """Returns (m, …) values; all components of one vehicle use the same random number."""
        if self.is_normal:
            factor, spread = np.clip(draws.normal(), -CUT, CUT), self.high
        else:
            factor, spread = draws.uniform(), self.high - self.low
        return self.low + factor.reshape(-1, *(1 for _ in self.low.shape)) * spread

    def ratio(self, values: Array) -> Array:
        """Returns (m,) the component with the widest range of values (m, …), relative to nominal.

        It determines the others, as they use the same random number. For a nominal value of 0 it
        is the component itself.
        """
        widest = int(np.argmax(np.ptp(self.extremes(), axis=0)))
        nominal = float(self.nominal.flat[widest])
        ratios: Array = values.reshape(len(values), -1)[:, widest] / (nominal or 1.0)
        return ratios


class _Ranges:
    """Parameters that are drawn independently, each from its range."""

    def __init__(self, fleet: Fleet, ranges: Mapping[str, Spread]) -> None:
        self._varied = [_varied(fleet, key, spread) for key, spread in ranges.items()]
        self.size = len(self._varied)
        names = [each.name for each in self._varied]
        if len(set(names)) < len(names):
            raise ParameterError(f"randomize: expected each parameter once, got {', '.join(names)}")

    def draw(self, draws: Draws) -> tuple[dict[str, Array], Array]:
        """Returns the parameters (m, …) by name, and relative to their nominal values (m, V)."""
        drawn = {each.name: each.draw(draws) for each in self._varied}
        return drawn, np.stack([each.ratio(drawn[each.name]) for each in self._varied], axis=1)


class _Sample:
    """Vehicles of a posterior: one of VEHICLES for each episode."""

    def __init__(self, fleet: Fleet, posterior: Posterior) -> None:
        deviations, self._parameters = posterior.draw(VEHICLES)
        self._parameters.pop("motor.command_delay", None)  # common to all vehicles of a fleet
        self._deviations = deviations / np.maximum(posterior.standard_deviations, _SMALLEST)
        self.size = deviations.shape[1]
        trial = Fleet(fleet.vehicle, VEHICLES, "float64", threads=1)
        try:
            trial.set_parameters(self._parameters)
        except ParameterError as error:
            raise ParameterError(f"randomize: a vehicle of the posterior: {error}") from None

    def draw(self, draws: Draws) -> tuple[dict[str, Array], Array]:
        """Returns the parameters (m, …) by name, and the deviations (m, P) in standard ones."""
        rows = draws.integers(VEHICLES)
        drawn = {name: values[rows] for name, values in self._parameters.items()}
        return drawn, self._deviations[rows]


class Randomizer:
    """Draws parameters, wind and delay for episodes that start, and sets them in the fleet."""

    _memory = ("_wind", "_delay", "ratios")

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._fleet = fleet
        self._source: _Ranges | _Sample
        if chosen.posterior is None:
            self._source = _Ranges(fleet, cast("Mapping[str, Spread]", chosen.randomize))
        else:
            self._source = _Sample(fleet, chosen.posterior)
        self._wind_range, self._delay_range = chosen.wind_range, chosen.delay_range
        self._wind = np.zeros((fleet.size, 3), dtype=np.float32)
        self._delay = np.zeros(fleet.size, dtype=np.uint32)
        self.ratios = np.ones((fleet.size, self._source.size), dtype=np.float32)
        """(n, m) the m parameters as drawn, relative to their nominal values: see _Varied.ratio; of
        a posterior, their deviations in standard deviations."""
        self.is_idle = not (self._source.size or self._wind_range[1] or self._delay_range[1])

    def start(self, draws: Draws) -> None:
        """Draws for the environments `draws.rows`."""
        rows = draws.rows
        if self._source.size:
            mask = np.zeros(self._fleet.size, dtype=np.bool_)
            mask[rows] = True
            drawn, self.ratios[rows] = self._source.draw(draws.purpose(PARAMETERS))
            self._fleet.set_parameters(drawn, mask=mask)
        air = draws.purpose(AIR)
        low, high = self._wind_range
        if high > 0.0:
            speed, direction = air.uniform(low, high), air.uniform(-np.pi, np.pi)
            self._wind[rows, 0] = speed * np.cos(direction)
            self._wind[rows, 1] = speed * np.sin(direction)
            self._fleet.set_wind(self._wind)
        shortest, longest = self._delay_range
        if longest > 0:
            self._delay[rows] = shortest + air.integers(longest - shortest + 1)
            self._fleet.set_action_delay(self._delay)

    @property
    def delays(self) -> NDArray[np.float32]:
        """(n, 1) s, delays of commands."""
        return (self._delay[:, None] * self._fleet.dt).astype(np.float32)


@checked_parameters()
def _varied(fleet: Fleet, key: str, spread: Any) -> _Varied:
    name = fleet.parameters.full_name(key)
    nominal = np.array(fleet.parameters[name][0])
    what = f"randomize[{key!r}]"
    expected = 'a fraction in [0, 1), ("uniform", low, high) or ("normal", mean, sd)'
    if isinstance(spread, tuple | list):
        if len(spread) != 3 or spread[0] not in ("uniform", "normal"):
            raise ValueError(f"{what}: expected {expected}, got {spread!r:.100}")
        low, high = (_shaped(what, bound, nominal.shape) for bound in spread[1:])
        varied = _Varied(name, spread[0] == "normal", low, high, nominal)
        if np.any(high < (0.0 if varied.is_normal else low)):
            raise ValueError(f"{what}: expected low <= high, or sd >= 0, got {spread!r:.100}")
    else:
        is_number = isinstance(spread, int | float | np.number) and not isinstance(spread, bool)
        if not is_number or not 0.0 <= spread < 1.0:
            raise ValueError(f"{what}: expected {expected}, got {spread!r:.100}")
        varied = _Varied(name, False, nominal * (1.0 - spread), nominal * (1.0 + spread), nominal)
    trial = Fleet(fleet.vehicle, 2, "float64", threads=1)
    try:
        trial.set_parameters({varied.name: varied.extremes()})
    except ParameterError as error:
        raise ParameterError(f"{what}: {error}") from None
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
