"""What flew, in one form for every picture of it: one vehicle's rows, whatever recorded them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._rotation import rotation
from propwash.world import Gate

Array = NDArray[np.float64]

MOST = 64
"""Vehicles in one picture."""
SERIES = {
    "attitude": 4,
    "body_rates": 3,
    "rotor_speeds": 0,
    "specific_force": 3,
    "angular_rate": 3,
}
"""What may be recorded beside position and velocity, and its width; 0: any."""


@dataclass(frozen=True, eq=False)
class Flown:
    """The flight of one vehicle."""

    name: str
    position: Array
    """(T, 3) m, world frame; rows that are not finite are left out of pictures."""
    time: Array | None = None
    """(T,) s."""
    velocity: Array | None = None
    """(T, 3) m/s, world frame."""
    series: dict[str, Array] = field(default_factory=dict)
    """By the names of SERIES, (T, …): what was recorded of it."""

    @property
    def speed(self) -> Array | None:
        """(T,) m/s: of the velocity, or of the way over time; None where neither is known."""
        if self.velocity is not None:
            return np.asarray(np.linalg.norm(self.velocity, axis=1))
        if self.time is None or len(self.time) < 2:
            return None
        return np.asarray(np.linalg.norm(np.gradient(self.position, self.time, axis=0), axis=1))


def flights(
    flown: Any, time: ArrayLike | None = None, vehicles: Iterable[int] | None = None
) -> list[Flown]:
    """The flight of each vehicle.

    flown: what has `position` (T, 3) or (T, n, 3) [m] and may have time, velocity and the rest: a
        Trajectory, a FleetTrajectory, a race.Flight, a trajectories.Reference; or such an array of
        positions alone; or several of these, in a list or, by name, in a dict.
    time: s, (T,) or (T, n), of positions that come without it. vehicles: which of (T, n, …); None
        for all.

    Raises TypeError or ValueError that names what cannot be drawn.
    """
    if isinstance(flown, Mapping):
        named = [(str(name), each) for name, each in flown.items()]
    elif isinstance(flown, list | tuple) and any(_is_flight(each) for each in flown):
        named = [(f"{i}", each) for i, each in enumerate(flown)]
    else:
        named = [("", flown)]
    chosen = None if vehicles is None else list(vehicles)
    found = [flight for name, each in named for flight in _vehicles_of(name, each, time, chosen)]
    if not found:
        raise ValueError("flown: expected at least one vehicle, got none")
    if len(found) > MOST:
        raise ValueError(
            f"vehicles: expected to be told which of the {len(found)} to draw, at most {MOST}: "
            f"vehicles=range(8), say"
        )
    return found


def landmarks(given: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """By name (k, 3) m: points where k is 1, else lines. Raises TypeError or ValueError."""
    found = {}
    for name, value in (given or {}).items():
        points = np.atleast_2d(_numbers(f"landmarks[{name!r}]", value))
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise ValueError(
                f"landmarks[{name!r}]: expected finite numbers of shape (3,) or (k, 3) [m], got "
                f"shape {np.shape(value)}"
            )
        found[str(name)] = points
    return found


def described(flights: Sequence[Flown]) -> str:
    """What flew, in a line: how many, how long, how fast."""
    name = flights[0].name
    alone = "1 flight" if not name or name.isdigit() else name
    parts = [alone if len(flights) == 1 else f"{len(flights)} flights"]
    times = [flight.time for flight in flights if flight.time is not None]
    if times:
        parts.append(f"{max(float(time[-1] - time[0]) for time in times):.3g} s")
    speeds = [flight.speed for flight in flights if flight.speed is not None]
    fastest = [float(np.nanmax(speed)) for speed in speeds if np.isfinite(speed).any()]
    if fastest:
        parts.append(f"at most {max(fastest):.3g} m/s")
    return ", ".join(parts)


def _is_flight(value: object) -> bool:
    return hasattr(value, "position") or (isinstance(value, np.ndarray) and value.ndim > 1)


def _vehicles_of(
    name: str, flown: Any, time: ArrayLike | None, chosen: Sequence[int] | None
) -> list[Flown]:
    label = f"flown[{name!r}]" if name else "flown"
    if hasattr(flown, "position"):
        if flown.position is None:
            raise ValueError(f"{label}.position: expected positions, but they were not recorded")
        recorded = {key: getattr(flown, key, None) for key in ("time", "velocity", *SERIES)}
        position, label = _numbers(f"{label}.position", flown.position), f"{label}."
    else:
        recorded, position, label = {}, _numbers(label, flown), f"{label} "
    if position.ndim not in (2, 3) or position.shape[-1] != 3 or len(position) == 0:
        raise ValueError(
            f"{label}position: expected shape (T, 3) or (T, n, 3) [m], got {position.shape}"
        )
    if recorded.get("time") is None:
        recorded["time"] = time
    leading = position.shape[:-1]
    arrays = {
        key: _series(label, key, value, leading)
        for key, value in recorded.items()
        if value is not None
    }
    if position.ndim == 2:
        if chosen not in (None, [0]):
            raise ValueError(f"vehicles: expected None for one vehicle, got {chosen}")
        return [_flown(name, position, arrays)]
    count = leading[1]
    columns = range(count) if chosen is None else chosen
    wrong = [column for column in columns if not -count <= column < count]
    if wrong:
        raise ValueError(f"vehicles: expected numbers from 0 to {count - 1}, got {wrong[0]}")
    if len(columns) > MOST:
        raise ValueError(
            f"vehicles: expected to be told which of {count} to draw, at most {MOST}: "
            f"vehicles=range(8), say"
        )
    return [
        _flown(
            f"{name} {column % count}".strip(),
            position[:, column],
            {key: array[:, column] for key, array in arrays.items()},
        )
        for column in columns
    ]


def _flown(name: str, position: Array, arrays: dict[str, Array]) -> Flown:
    if not np.isfinite(position).all(axis=1).any():
        raise ValueError(f"flown {name}: expected positions, none of {len(position)} is finite")
    series = {key: array for key, array in arrays.items() if key in SERIES}
    return Flown(name, position, arrays.get("time"), arrays.get("velocity"), series)


def _series(label: str, key: str, value: Any, leading: tuple[int, ...]) -> Array:
    array = _numbers(label + key, value)
    if key == "time":
        if array.shape == leading[:1]:
            array = np.broadcast_to(array.reshape(-1, *[1] * (len(leading) - 1)), leading)
        if array.shape != leading or not (np.diff(array, axis=0) > 0.0).all():
            raise ValueError(
                f"{label}time: expected increasing times [s] of shape {leading}, got shape "
                f"{array.shape}"
            )
        return array
    width = SERIES.get(key, 3) or (array.shape[-1] if array.ndim else 0)
    if array.shape != (*leading, width):
        raise ValueError(
            f"{label}{key}: expected shape {(*leading, width)}, as position has it, got "
            f"{array.shape}"
        )
    return array


def _numbers(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError("not numbers")
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: expected a flight or an array of positions (T, 3) or (T, n, 3), got "
            f"{value!r:.100}"
        ) from None
    return array.astype(np.float64)


def gate_bars(gate: Gate) -> tuple[Array, Array]:
    """(4, 3) m centres and (4, 3) m half edges of a gate's bars, in its own frame."""
    w, h, b, d = gate.width, gate.height, gate.border, gate.depth
    across, up = 0.5 * (w + b), 0.5 * (h + b)
    centres = np.array([[0, across, 0], [0, -across, 0], [0, 0, up], [0, 0, -up]])
    upright, level = [0.5 * d, 0.5 * b, 0.5 * h], [0.5 * d, 0.5 * w + b, 0.5 * b]
    return centres, np.array([upright, upright, level, level])


def gate_corners(gate: Gate) -> Array:
    """(4, 3) m, of the frame's outer edge in its middle plane, world frame, around once."""
    square = np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
    outer = 0.5 * np.array([0.0, gate.width, gate.height]) + gate.border * np.array([0, 1, 1])
    corners: Array = (square * outer) @ rotation(np.asarray(gate.attitude)).T
    corners += np.asarray(gate.position)
    return corners
