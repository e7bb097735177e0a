"""The reference renderer without its surroundings: one request in, pictures and senses out.

`Offscreen` calls it in process, `Server` for what comes over the wire.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash._rotation import rotation
from propwash.render import bodies as prefabs
from propwash.render._pose import IDENTITY, Pose
from propwash.render.cameras import Kind
from propwash.render.frame import Image
from propwash.world import Scene

RANGE_LIMIT = 20.0
"""m, of the range finder."""
RANGE_NOTHING = 21.0
"""m, its reading where it meets nothing."""
COLLISION_RADIUS = 0.15
"""m, of the sphere about a camera that tells of collisions."""
MOST_PIXELS = 64_000_000
"""Of all pictures of a request: beyond it the machine would be busy for minutes."""
MOST_REMEMBERED = 1000
"""Cameras; a client that names new ones for ever must not fill the memory."""
MOST_SAMPLES = 8
"""Rays along the edge of a pixel."""

LOOKS: tuple[str, ...] = tuple(_core.looks)
"""Times of the day, and "indoor" under a lamp."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """One picture of a request."""

    name: str
    kind: Kind
    pose: Pose
    collision: bool = False
    wanted: bool = True
    """Whether the picture is painted; its place counts all the same."""


@dataclass(frozen=True)
class Body:
    """A body of a request, by the name of its kind."""

    name: str
    prefab: str
    size: tuple[float, float, float]
    pose: Pose


@dataclass(frozen=True)
class Request:
    """A pose message without its wire."""

    width: int
    height: int
    vertical_fov_deg: float
    views: Sequence[View]
    bodies: Sequence[Body] = ()


@dataclass(frozen=True)
class Shot:
    """What came of a request."""

    images: dict[str, Image]
    landmarks: list[tuple[str, float, float, float]]
    """Name, u right and v down from the upper left corner [px], depth along the axis [m]."""
    range_m: float
    collision: bool


@dataclass
class _Before:
    """Where things were when a view was last painted."""

    pose: Pose
    bodies: dict[str, Pose]


@dataclass
class _Group:
    """Views from the same place, which share their rays."""

    pose: Pose
    before: _Before
    kinds: dict[Kind, list[str]] = field(default_factory=dict)


def checked_look(look: str) -> str:
    """A name of LOOKS, or "auto"; ValueError otherwise."""
    if look != "auto" and look not in LOOKS:
        names = ", ".join(map(repr, ("auto", *LOOKS)))
        raise ValueError(f"look: expected one of {names}, got {look!r:.100}")
    return look


def checked_count(name: str, value: object, most: int) -> int:
    """A whole number from 1 to `most`; ValueError otherwise."""
    try:
        count = 0 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if not 1 <= count <= most:
        raise ValueError(f"{name}: expected a whole number from 1 to {most}, got {value!r:.100}")
    return count


class Reference:
    """A scene under a light, and what it remembers from picture to picture for the flow."""

    def __init__(
        self, scene: Scene, look: str = "auto", seed: int = 0, antialias: int = 2, threads: int = 1
    ) -> None:
        self.scene = scene
        self._antialias = checked_count("antialias", antialias, MOST_SAMPLES)
        self._pool = (
            _core.ThreadPool(threads) if checked_count("threads", threads, 256) > 1 else None
        )
        lamp = _lamp_of(scene)
        self.look = checked_look(look)
        if look == "auto":
            self.look = "morning" if lamp is None else "indoor"
        used = lamp if self.look == "indoor" else None
        self._painter = _core.Painter(scene.core, self.look, seed & 0xFFFFFFFF, used, self._pool)
        self._marker_names, self._marker_positions = scene.markers
        self._known: tuple[tuple[str, str, tuple[float, float, float]], ...] = ()
        self._before: dict[str, _Before] = {}
        self._lock = threading.Lock()

    def forget(self) -> None:
        """The next picture of each camera is its first: nothing flows in it."""
        self._before.clear()

    def take(self, request: Request, bottom_first: bool = False) -> Shot:
        """Paints and senses.

        Raises ValueError for sizes that cannot be, and changes nothing then.
        """
        with self._lock:  # the painter lets other threads run
            return self._taken(request, _focal(request), bottom_first)

    def _taken(self, request: Request, focal: float, bottom_first: bool) -> Shot:
        now = {body.name: body.pose for body in request.bodies}
        self._place_bodies(request.bodies)
        images: dict[str, Image] = {}
        for group in self._groups(request, now):
            self._move(now, group.before.bodies)
            painted = self._painter.paint(
                np.array([group.pose[0], group.before.pose[0]]),
                np.array([group.pose[1], group.before.pose[1]]),
                request.width,
                request.height,
                focal,
                self._antialias,
                tuple(group.kinds),
                bottom_first,
            )
            for kind, names in group.kinds.items():
                images.update(dict.fromkeys(names, painted[kind]))
        self._move(now, now)
        if len(self._before) > MOST_REMEMBERED:
            self._before.clear()
        for view in request.views:
            if view.wanted:
                self._before[view.name] = _Before(view.pose, now)
        return Shot(
            images,
            self._landmarks(request, focal),
            self._range(request.views),
            self._collision(request.views),
        )

    def _groups(self, request: Request, now: dict[str, Pose]) -> list[_Group]:
        groups: dict[tuple[Pose, Pose, int], _Group] = {}
        for view in request.views:
            if not view.wanted:
                continue
            before = self._before.get(view.name, _Before(view.pose, now))
            # only flow tells one past from another
            if view.kind != "flow":
                before = _Before(view.pose, now)
            key = (view.pose, before.pose, id(before.bodies))
            group = groups.setdefault(key, _Group(view.pose, before))
            group.kinds.setdefault(view.kind, []).append(view.name)
        return _joined(list(groups.values()))

    def _place_bodies(self, bodies: Sequence[Body]) -> None:
        known = tuple((body.name, body.prefab, body.size) for body in bodies)
        if known == self._known:
            return
        self._painter.remove_bodies()
        for body in bodies:
            self._painter.add_body(prefabs.body(body.prefab, body.size).core)
        self._known = known

    def _move(self, now: dict[str, Pose], before: dict[str, Pose]) -> None:
        if not now:
            return
        then = [before.get(name, pose) for name, pose in now.items()]
        self._painter.move(
            np.array([pose[0] for pose in now.values()]),
            np.array([pose[1] for pose in now.values()]),
            np.array([pose[0] for pose in then]),
            np.array([pose[1] for pose in then]),
        )

    def _markers(self, bodies: Sequence[Body]) -> tuple[list[str], Floats]:
        """Those of the scene, and of the gates among the bodies."""
        names, positions = list(self._marker_names), [np.asarray(self._marker_positions)]
        for body in bodies:
            # clients split the name of a landmark at its underscore
            if prefabs.is_gate(body.prefab) and "_" not in body.name:
                own, places = prefabs.body(body.prefab, body.size).markers
                names += [f"{body.name}_{name.rsplit('_', 1)[1]}" for name in own]
                turned = np.asarray(places) @ rotation(body.pose[1]).T
                positions.append(turned + np.array(body.pose[0]))
        return names, np.concatenate(positions)

    def _landmarks(self, request: Request, focal: float) -> list[tuple[str, float, float, float]]:
        if not request.views:
            return []
        camera, turn = request.views[0].pose
        names, positions = self._markers(request.bodies)
        if not names:
            return []
        forward, left, up = ((positions - np.array(camera)) @ rotation(turn)).T
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = request.width / 2.0 - focal * left / forward
            v = request.height / 2.0 - focal * up / forward
        inside = (forward > 0.0) & (u > 0.0) & (u < request.width)
        inside &= (v > 0.0) & (v < request.height)
        chosen = np.flatnonzero(inside)
        seen = self._painter.visible(camera, positions[chosen])
        return [
            (names[i], float(u[i]), float(v[i]), float(forward[i])) for i in chosen[seen].tolist()
        ]

    def _range(self, views: Sequence[View]) -> float:
        if not views:
            return RANGE_NOTHING
        down = -rotation(views[0].pose[1])[:, 2]
        distance = self._painter.range(_mean(views), down, RANGE_LIMIT)
        return distance if distance <= RANGE_LIMIT else RANGE_NOTHING

    def _collision(self, views: Sequence[View]) -> bool:
        return any(
            self._painter.touches(view.pose[0] if number else _mean(views), COLLISION_RADIUS)
            for number, view in enumerate(views)
            if view.collision
        )


def _joined(groups: list[_Group]) -> list[_Group]:
    """Puts kinds that ask nothing of the past together with a flow picture from the same place."""
    with_past = {group.pose: group for group in groups if "flow" in group.kinds}
    rest = []
    for group in groups:
        host = with_past.get(group.pose, group)
        if host is group:
            rest.append(group)
            continue
        for kind, names in group.kinds.items():
            host.kinds.setdefault(kind, []).extend(names)
    return rest


def _focal(request: Request) -> float:
    """Pixels, of a camera that can be painted; ValueError for others."""
    width, height, angle = request.width, request.height, request.vertical_fov_deg
    if not (1 <= width <= 16384 and 1 <= height <= 16384):
        raise ValueError(f"size: expected 1 to 16384 pixels a side, got {width} x {height}")
    pixels = width * height * sum(view.wanted for view in request.views)
    if pixels > MOST_PIXELS:
        raise ValueError(
            f"size: expected at most {MOST_PIXELS} pixels in all pictures together, got {pixels}; "
            f"take smaller pictures or fewer cameras"
        )
    if not 0.1 <= angle <= 179.0:
        raise ValueError(f"vertical_fov_deg: expected 0.1 to 179, got {angle!r:.100}")
    return height / 2.0 / math.tan(math.radians(angle) / 2.0)


def _mean(views: Sequence[View]) -> Floats:
    return np.asarray(np.mean([view.pose[0] for view in views], axis=0))


def _lamp_of(scene: Scene) -> tuple[tuple[float, float, float], float] | None:
    """Where a lamp hangs in a scene with a ceiling, and how far it reaches [m]."""
    for item in scene.items:
        if item.category == "ceiling":
            x, y, z = item.position
            height = max(z, 1.0)
            return (x, y, z - 0.12 * height), 0.9 * height
    return None


__all__ = ["IDENTITY", "LOOKS", "Body", "Reference", "Request", "Shot", "View"]
