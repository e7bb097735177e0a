"""Conversion of recorded flights to one form for all figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash._rotation import rotation
from propwash.world import Gate

Array = NDArray[np.float64]

MAX_VEHICLES = 64
"""The maximum number of vehicles in one figure."""
SERIES = {
    "attitude": 4,
    "body_rates": 3,
    "rotor_speeds": 0,
    "specific_force": 3,
    "angular_rate": 3,
}
"""Recorded quantities other than position and velocity, and their widths; 0: any."""

SQUARE = np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
"""The corners of a square about the x axis, in order."""


@dataclass(frozen=True, eq=False)
class VehicleFlight:
    """The flight of one vehicle."""

    name: str
    position: Array
    """(T, 3) m, world frame; figures omit rows that are not finite."""
    time: Array | None = None
    """(T,) s."""
    velocity: Array | None = None
    """(T, 3) m/s, world frame."""
    series: dict[str, Array] = field(default_factory=dict)
    """Recorded quantities (T, …), by the names of SERIES."""

    @property
    def speed(self) -> Array | None:
        """(T,) m/s, from velocity, or position and time; None if neither is known."""
        if self.velocity is not None:
            return np.asarray(np.linalg.norm(self.velocity, axis=1))
        if self.time is None or len(self.time) < 2:
            return None
        return np.asarray(np.linalg.norm(np.gradient(self.position, self.time, axis=0), axis=1))


def flights(
    recorded: Any, time: ArrayLike | None = None, vehicles: Iterable[int] | None = None
) -> list[VehicleFlight]:
    """The flight of each vehicle.

    recorded: an object with `position` (T, 3) or (T, n, 3) [m] and optionally time, velocity and
        others: a Trajectory, FleetTrajectory, race.RaceFlight or trajectories.Reference; or an
        array of positions; or several of these in a list or, by name, in a dict.
    time: s, (T,) or (T, n), of positions without time. vehicles: indices along the axis n; None:
        all.

    Raises TypeError or ValueError that names the invalid argument.
    """
    if isinstance(recorded, Mapping):
        named = [(str(name), each) for name, each in recorded.items()]
    elif isinstance(recorded, list | tuple) and any(_is_flight(each) for each in recorded):
        named = [(f"{i}", each) for i, each in enumerate(recorded)]
    else:
        named = [("", recorded)]
    chosen = None if vehicles is None else list(vehicles)
    found = [flight for name, each in named for flight in _vehicles_of(name, each, time, chosen)]
    if not found:
        raise ValueError("recorded: expected at least one vehicle, got none")
    if len(found) > MAX_VEHICLES:
        raise ValueError(
            f"vehicles: expected a choice of at most {MAX_VEHICLES} of the {len(found)}, such as "
            f"vehicles=range(8)"
        )
    return found


def landmarks(named: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """Points (1, 3) or lines (k, 3) m by name. Raises TypeError or ValueError."""
    found = {}
    for name, value in (named or {}).items():
        points = _checks.shaped(f"landmarks[{name!r}]", value, (3,), ("k", 3), unit="m")
        found[str(name)] = np.atleast_2d(points)
    return found


def described(flights: Sequence[VehicleFlight]) -> str:
    """A title with number, duration and maximum speed of flights."""
    name = flights[0].name
    single = "1 flight" if not name or name.isdigit() else name
    parts = [single if len(flights) == 1 else f"{len(flights)} flights"]
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
    name: str, flight: Any, time: ArrayLike | None, chosen: Sequence[int] | None
) -> list[VehicleFlight]:
    label = f"recorded[{name!r}]" if name else "recorded"
    if hasattr(flight, "position"):
        if flight.position is None:
            raise ValueError(f"{label}.position: expected positions, but they were not recorded")
        recorded = {key: getattr(flight, key, None) for key in ("time", "velocity", *SERIES)}
        position, label = _numbers(f"{label}.position", flight.position), f"{label}."
    else:
        recorded, position, label = {}, _numbers(label, flight), f"{label} "
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
        return [_vehicle_flight(name, position, arrays)]
    count = leading[1]
    columns = range(count) if chosen is None else chosen
    wrong = [column for column in columns if not -count <= column < count]
    if wrong:
        raise ValueError(f"vehicles: expected numbers from 0 to {count - 1}, got {wrong[0]}")
    if len(columns) > MAX_VEHICLES:
        raise ValueError(
            f"vehicles: expected a choice of at most {MAX_VEHICLES} of the {count}, such as "
            f"vehicles=range(8)"
        )
    return [
        _vehicle_flight(
            f"{name} {column % count}".strip(),
            position[:, column],
            {key: array[:, column] for key, array in arrays.items()},
        )
        for column in columns
    ]


def _vehicle_flight(name: str, position: Array, arrays: dict[str, Array]) -> VehicleFlight:
    if not np.isfinite(position).all(axis=1).any():
        raise ValueError(f"recorded {name}: expected positions, none of {len(position)} is finite")
    series = {key: array for key, array in arrays.items() if key in SERIES}
    return VehicleFlight(name, position, arrays.get("time"), arrays.get("velocity"), series)


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
            f"{label}{key}: expected shape {(*leading, width)} like position, got {array.shape}"
        )
    return array


def _numbers(name: str, value: Any) -> Array:
    expected = "a flight or an array of positions (T, 3) or (T, n, 3)"
    return _checks.numeric(name, value, expected).astype(np.float64)


def gate_bars(gate: Gate) -> tuple[Array, Array]:
    """(4, 3) m centres, world frame, and (4, 3) m half edges, gate frame, of a gate's bars."""
    w, h, b, d = gate.width, gate.height, gate.border, gate.depth
    across, up = 0.5 * (w + b), 0.5 * (h + b)
    centres = np.array([[0, across, 0], [0, -across, 0], [0, 0, up], [0, 0, -up]])
    upright, level = [0.5 * d, 0.5 * b, 0.5 * h], [0.5 * d, 0.5 * w + b, 0.5 * b]
    centres = centres @ rotation(gate.attitude).T + gate.position
    return centres, np.array([upright, upright, level, level])


def gate_corners(gate: Gate) -> Array:
    """(4, 3) m outer corners of a gate in its middle plane, in order, world frame."""
    outer = 0.5 * np.array([0.0, gate.width, gate.height]) + gate.border * np.array([0, 1, 1])
    return np.asarray((SQUARE * outer) @ rotation(gate.attitude).T + gate.position)
