"""Names, speeds and shapes of the Blackbird data set's trajectories.

Names and speeds are those of the published data set (github.com/mit-aera/Blackbird-Dataset). Its
waypoints are not public: the shapes here are our own closed curves that the names suggest, in a
room of the same size, 11 m x 11 m x 5.5 m.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from propwash import _checks
from propwash.trajectories import Polynomial, minimum_snap
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Yaw = Literal["forward", "constant"]
"""Heading along the path, or constant."""
YAWS: tuple[str, ...] = get_args(Yaw)

SPEEDS: dict[str, dict[str, tuple[float, ...]]] = {
    "3dFigure8": {"constant": (0.5, 1, 2, 3, 4, 5)},
    "ampersand": {"forward": (1, 2), "constant": (1, 2, 3)},
    "bentDice": {"forward": (0.5, 1, 2, 3), "constant": (1, 2, 3, 4)},
    "clover": {"forward": (0.5, 1, 2, 3, 4, 5), "constant": (1, 2, 3, 4, 5, 6)},
    "dice": {"forward": (1, 2, 3), "constant": (2, 3, 4)},
    "egg": {"forward": (5, 6, 7, 8), "constant": (5, 6, 7, 8)},
    "figure8": {"constant": (0.5, 1, 2, 3, 5)},
    "halfMoon": {"forward": (1, 2, 3, 4), "constant": (1, 2, 3, 4)},
    "mouse": {"forward": (0.5, 1, 2, 3, 4, 5, 6, 7), "constant": (1, 2, 3, 4, 5, 6, 7)},
    "oval": {"forward": (1, 2, 3, 4), "constant": (2, 3, 4)},
    "patrick": {"forward": (0.5, 1, 2, 3, 4), "constant": (1, 2, 3, 4, 5)},
    "picasso": {"forward": (0.5, 1, 3, 4, 5), "constant": (0.5, 1, 2, 3, 4, 5, 6)},
    "sid": {"forward": (0.5, 1, 2, 3, 4), "constant": (1, 2, 3, 4, 5, 6, 7)},
    "sphinx": {"forward": (1, 2, 3, 4), "constant": (1, 2, 3, 4)},
    "star": {"forward": (0.5, 1, 2, 3, 4, 5), "constant": (1, 2, 3, 4, 5)},
    "thrice": {"forward": (0.5, 1, 2, 3, 4, 5, 6), "constant": (1, 2, 3, 4, 5, 6, 7)},
    "tiltedThrice": {"forward": (0.5, 1, 2, 3, 4, 5, 6), "constant": (1, 2, 3, 4, 5, 6, 7)},
    "winter": {"forward": (0.5, 2, 3, 4), "constant": (1, 2, 3, 4, 5)},
}
"""Maximum speeds of the published flights [m/s], by trajectory and yaw."""
WITHOUT_CAMERAS = ("3dFigure8", "figure8")
"""Calibration flights, which were published without images."""

_SAMPLES = 4000
"""Samples of a path for its maximum speed."""


def _polar(
    radius: Callable[[Array], Array], points: int, height: Callable[[Array], Array]
) -> Array:
    """Waypoints of a closed curve r(a), z(a) around the origin."""
    angle = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    r = radius(angle)
    return np.stack([r * np.cos(angle), r * np.sin(angle), height(angle)], axis=1)


def _curve(points: int, *harmonics: tuple[float, ...]) -> Array:
    """Waypoints of a Fourier series; of each harmonic: cos and sin parts of x, y and z [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    result = np.zeros((points, 3))
    result[:, 2] = 1.8
    for k, parts in enumerate(harmonics, 1):
        cosine, sine = np.cos(k * angle)[:, None], np.sin(k * angle)[:, None]
        result += cosine * np.array(parts[0::2]) + sine * np.array(parts[1::2])
    return result


def _dice(bend: float) -> Array:
    """The five pips of a die: a cross through the centre, over rounded corners."""
    corners = np.array(
        [[-2.6, -3.0], [2.6, 3.0], [3.4, 0.0], [2.6, -3.0], [-2.6, 3.0], [-3.4, 0.0]]
    )
    x, y = np.insert(corners, [1, 4], [[0.0, 0.0], [0.0, 0.0]], axis=0).T
    return np.stack([x, y, 1.5 + bend * x * x], axis=1)


def _star() -> Array:
    """The pentagram, with rounded tips."""
    tip = 0.5 * np.pi + 0.8 * np.pi * np.arange(5)
    angle = np.stack([tip - 0.16, tip, tip + 0.16, tip + 0.4 * np.pi], axis=1).reshape(-1)
    radius = np.tile([3.9, 4.2, 3.9, 1.3], 5)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.stack([x, y, np.full(len(x), 1.8)], axis=1)


def _half_moon() -> Array:
    """A crescent: an outer and an inner arc, with rounded horns."""
    outer = np.deg2rad(np.linspace(-120.0, 120.0, 9))
    inner = np.deg2rad(np.linspace(100.0, -100.0, 5))
    x = np.concatenate([4.0 * np.cos(outer) - 0.5, 1.9 * np.cos(inner) - 1.3])
    y = np.concatenate([4.0 * np.sin(outer), 2.2 * np.sin(inner)])
    return np.stack([x, y, np.full(len(x), 1.5)], axis=1)


def _sphinx() -> Array:
    """A long body and a raised head."""
    xy = [(-4, 0), (-3, -2), (0, -2.4), (2.6, -2), (3.8, 0), (2.6, 2), (0.4, 1.6), (-2.6, 2.2)]
    z = [1.0, 1.0, 1.2, 2.2, 3.2, 2.2, 1.2, 1.0]
    return np.column_stack([xy, z])


def _ampersand() -> Array:
    """A large loop and a small one, which cross twice."""
    xy = [(3.4, -2.6), (0.6, 0.2), (-1.6, 2.2), (-0.6, 3.8), (0.9, 2.8), (-0.2, 0.8), (-2.4, -1.2)]
    xy += [(-2.2, -3.4), (0.2, -3.6), (2.4, -1.0), (4.0, 0.4), (4.4, -1.6)]
    return np.column_stack([xy, np.full(len(xy), 1.6)])


def _thrice(tilt: float) -> Array:
    """Three laps of different radii, in a plane with a slope along x."""
    angle = np.linspace(0.0, 6.0 * np.pi, 24, endpoint=False)
    radius = 3.6 + 0.6 * np.cos(angle / 3.0)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.stack([x, y, 2.0 + tilt * x + 0.4 * np.sin(angle / 3.0)], axis=1)


_SHAPES: dict[str, Callable[[], Array]] = {
    "3dFigure8": lambda: _curve(12, (0, 3.6, 0, 0, 0.7, 0), (0, 0, 0, 2.0, 0, 0)),
    "ampersand": _ampersand,
    "bentDice": lambda: _dice(0.16),
    "clover": lambda: _polar(
        lambda a: 3.7 + 0.4 * np.cos(3.0 * a), 12, lambda a: 1.8 + 0.4 * np.cos(a)
    ),
    "dice": lambda: _dice(0.0),
    "egg": lambda: _polar(lambda a: 3.8 + 0.4 * np.cos(a) + 0.2 * np.cos(2.0 * a), 8, np.ones_like),
    "figure8": lambda: _curve(12, (0, 3.6, 0, 0, 0, 0), (0, 0, 0, 2.0, 0, 0)),
    "halfMoon": _half_moon,
    "mouse": lambda: _curve(12, (4.3, 0, 0, 3.6, 0.4, 0), (0.2, 0, 0, -0.3, 0, 0.2)),
    "oval": lambda: _curve(8, (4.2, 0, 0, 2.6, 0, 0)),
    "patrick": lambda: _polar(
        lambda a: 3.8 + 0.18 * np.cos(5.0 * a), 20, lambda a: 1.8 + 0.4 * np.sin(a)
    ),
    "picasso": lambda: _curve(
        16,
        (3.4, 0.4, -0.3, 3.2, 0.3, 0.2),
        (0.5, -0.6, 0.5, 0.4, 0.2, -0.2),
        (0.3, 0.2, 0, -0.3, 0, 0),
    ),
    "sid": lambda: _curve(12, (3.9, 0, 0, 3.4, 0, 0.5), (0, 0, 0.5, 0.4, 0.5, 0)),
    "sphinx": _sphinx,
    "star": _star,
    "thrice": lambda: _thrice(0.0),
    "tiltedThrice": lambda: _thrice(0.22),
    "winter": lambda: _polar(
        lambda a: 3.8 + 0.1 * np.cos(6.0 * a), 24, lambda a: 1.8 + 0.5 * np.sin(2.0 * a)
    ),
}


def trajectory_names() -> tuple[str, ...]:
    """The names of the 18 trajectories."""
    return tuple(SPEEDS)


def waypoints(trajectory: str) -> Array:
    """(m, 3) m, waypoints of a closed trajectory in the room. Raises ValueError for other names."""
    return _SHAPES[_checks.choice("trajectory", trajectory, trajectory_names())]()


def closed_path(
    trajectory: str, yaw: Yaw, speed: float, vehicle: str | VehicleParameters = "blackbird"
) -> Polynomial:
    """One lap of a trajectory by minimum snap, with a maximum speed of `speed` [m/s].

    Any speed is accepted; those of the published flights are in `SPEEDS`. Raises ValueError for
    other names, yaws and speeds.
    """
    points = waypoints(trajectory)
    _checks.choice("yaw", yaw, YAWS)
    _checks.positive("speed", speed, "m/s")
    heading: float | str = "along" if yaw == "forward" else 0.0
    nominal = minimum_snap(points, vehicle, duration=30.0, closed=True, yaw=heading)
    times = np.linspace(0.0, nominal.duration, _SAMPLES)
    fastest = float(np.linalg.norm(nominal.sample(times).velocity, axis=1).max())
    lengths = np.diff(nominal.knots) * (fastest / speed)
    return minimum_snap(points, vehicle, times=lengths, closed=True, yaw=heading)


def sequences() -> list[tuple[str, Yaw, float]]:
    """Trajectory, yaw and speed of every flight of the published set, in order."""
    return [
        (trajectory, yaw, float(speed))
        for trajectory, speeds in SPEEDS.items()
        for yaw in ("forward", "constant")
        for speed in speeds.get(yaw, ())
    ]


def folder_of(trajectory: str, yaw: Yaw, speed: float) -> str:
    """The folder of a flight, as "star/yawForward/maxSpeed4p0"."""
    tenths = round(10.0 * speed)
    if abs(10.0 * speed - tenths) > 1e-6:
        raise ValueError(f"speed: expected a multiple of 0.1 m/s, for its folder, got {speed!r}")
    whole, tenth = divmod(tenths, 10)
    return f"{trajectory}/yaw{yaw.capitalize()}/maxSpeed{whole}p{tenth}"


def sequence_seed(seed: int, trajectory: str, yaw: Yaw, speed: float) -> int:
    """A seed of 64 bits for a flight of a set."""
    text = f"{seed} {folder_of(trajectory, yaw, speed)}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
