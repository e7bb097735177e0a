"""The core of the reference renderer: renders the images and readings of a request.

`Offscreen` calls it in process, `Server` for messages.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core, _render
from propwash._checks import choice, whole_number
from propwash._rotation import rotation
from propwash.render import bodies as prefabs
from propwash.render._blur import STILL, CameraSweep, mean_images, sample_count, sweep_between
from propwash.render._pose import Pose, is_number
from propwash.render._surfaces import put_textures
from propwash.render.cameras import Kind
from propwash.render.frame import Image
from propwash.sensors import Camera
from propwash.world import Item, Scene

RANGE_LIMIT = 20.0
"""m, maximum distance of the range finder."""
RANGE_NOTHING = 21.0
"""m, the reading of the range finder without a hit."""
COLLISION_RADIUS = 0.15
"""m, of the collision sphere about a camera."""
MAX_PIXELS = 64_000_000
"""The maximum number of pixels of a request, which takes minutes."""
MAX_REMEMBERED = 1000
"""The maximum number of cameras with stored poses, which bounds the memory."""
BLUR_ROWS = 8
"""The rows of the depth image that determines the number of images of an exposure."""
MAX_SAMPLES = 8
"""The maximum number of rays along the edge of a pixel."""

LOOKS: tuple[str, ...] = tuple(_render.looks)
"""Times of the day, and "indoor" with a lamp."""

Floats = NDArray[np.float64]
Lens = tuple[float, float, float, float]
PINHOLE: Lens = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ImageView:
    """One image of a request."""

    name: str
    kind: Kind
    pose: Pose
    collision: bool = False
    rendered: bool = True
    """Whether to render the image; the pose is used in either case."""
    sweep: CameraSweep = STILL
    """The motion during the exposure."""
    motion_blur: float = 0.0
    """0 to 1, instead of `sweep`: the exposure as a fraction of the motion since the last image."""
    lens: Lens = PINHOLE
    """k1, k2, p1, p2."""


@dataclass(frozen=True)
class Body:
    """A body of a request, by the name of its prefab."""

    name: str
    prefab: str
    size: tuple[float, float, float]
    pose: Pose


@dataclass(frozen=True)
class Request:
    """The decoded content of a pose message."""

    width: int
    height: int
    vertical_fov_deg: float
    views: Sequence[ImageView]
    bodies: Sequence[Body] = ()


@dataclass(frozen=True)
class Shot:
    """The result of a request."""

    images: dict[str, Image]
    landmarks: list[tuple[str, float, float, float]]
    """Name, u right and v down from the upper left corner [px], depth along the axis [m]."""
    range_m: float
    collision: bool


@dataclass
class _Previous:
    """The poses when a view was last rendered."""

    pose: Pose
    bodies: dict[str, Pose]


@dataclass
class _Group:
    """Views with the same pose, which share their rays."""

    pose: Pose
    previous: _Previous
    sweep: CameraSweep
    lens: Lens
    kinds: dict[Kind, list[str]] = field(default_factory=dict)


def checked_fov(vertical_fov_deg: object) -> float:
    """A field of view that can be rendered. Raises ValueError."""
    if not is_number(vertical_fov_deg) or not 0.1 <= vertical_fov_deg <= 179.0:
        raise ValueError(f"vertical_fov_deg: expected 0.1 to 179, got {vertical_fov_deg!r:.100}")
    return float(vertical_fov_deg)


class SceneRenderer:
    """Renders a scene with a light; stores previous poses for optical flow."""

    def __init__(
        self, scene: Scene, look: str = "auto", seed: int = 0, antialias: int = 2, threads: int = 1
    ) -> None:
        self.scene = scene
        self._antialias = whole_number("antialias", antialias, 1, MAX_SAMPLES)
        count = whole_number("threads", threads, 1, 256)
        self._pool = _core.ThreadPool(count) if count > 1 else None
        lamp = _lamp_of(scene)
        self.look = choice("look", look, ("auto", *LOOKS))
        if look == "auto":
            self.look = "morning" if lamp is None else "indoor"
        used = lamp if self.look == "indoor" else None
        self._painter = _render.Painter(scene.core, self.look, seed & 0xFFFFFFFF, used, self._pool)
        self._marker_names, self._marker_positions = _static_markers(scene)
        self._movers = {item.name: Scene([item]) for item in map(_centred, scene.moving)}
        put_textures(self._painter, scene)
        self._known: tuple[tuple[str, str, tuple[float, float, float]], ...] = ()
        self._previous: dict[str, _Previous] = {}
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Discards the previous poses: the next flow images show no motion."""
        self._previous.clear()

    def take(self, request: Request, bottom_first: bool = False) -> Shot:
        """Renders a request. Raises ValueError for a bad size or lens; nothing changes then."""
        for lens in {view.lens for view in request.views if view.lens != PINHOLE}:
            _geometry(request, lens)
        with self._lock:  # the painter releases the GIL
            return self._render(request, _focal(request), bottom_first)

    def _render(self, request: Request, focal: float, bottom_first: bool) -> Shot:
        now = {body.name: body.pose for body in request.bodies}
        self._place_bodies(request.bodies)
        images: dict[str, Image] = {}
        for group in self._groups(request, now):
            self._move(now, group.previous.bodies)
            for kind, image in self._painted(request, group, focal, bottom_first).items():
                images.update(dict.fromkeys(group.kinds[kind], image))
        self._move(now, now)
        if len(self._previous) > MAX_REMEMBERED:
            self._previous.clear()
        for view in request.views:
            if view.rendered:
                self._previous[view.name] = _Previous(view.pose, now)
        return Shot(
            images,
            self._landmarks(request),
            self._range(request.views),
            self._collision(request.views),
        )

    def image(
        self,
        kind: Kind,
        position: ArrayLike,
        attitude: ArrayLike,
        width: int,
        height: int,
        vertical_fov_deg: float,
    ) -> NDArray[np.uint8]:
        """An image (height, width, …) of the scene, without bodies, from a checked view."""
        focal = height / 2.0 / math.tan(math.radians(vertical_fov_deg) / 2.0)
        poses = np.stack([position] * 2), np.stack([attitude] * 2)
        images = self._painter.paint(*poses, width, height, focal, self._antialias, (kind,), False)
        image: NDArray[np.uint8] = images[kind]
        return image

    def _painted(
        self, request: Request, group: _Group, focal: float, bottom_first: bool
    ) -> dict[Kind, Image]:
        """The images of a group, averaged over its exposure."""
        size, kinds = (request.width, request.height), tuple(group.kinds)
        before = group.previous.pose

        def paint(
            at: Pose, size: tuple[int, int], focal: float, kinds: tuple[Kind, ...]
        ) -> dict[Kind, Image]:
            return self._painter.paint(
                np.array([at[0], before[0]]),
                np.array([at[1], before[1]]),
                *size,
                focal,
                self._antialias,
                kinds,
                bottom_first,
                group.lens,
            )

        if group.sweep == STILL:
            return paint(group.pose, size, focal, kinds)
        # of points in a grid with the field of view of the image
        scale = BLUR_ROWS / request.height
        columns = max(round(request.width * scale), 1)
        coarse = paint(group.pose, (columns, BLUR_ROWS), focal * scale, ("depth",))["depth"]
        rows = coarse[::-1] if bottom_first else coarse
        count = sample_count(rows, _geometry(request, group.lens), group.pose, group.sweep)
        poses = [group.sweep.at(group.pose, (k + 0.5) / count - 0.5) for k in range(count)]
        return mean_images(paint(pose, size, focal, kinds) for pose in poses)

    def _groups(self, request: Request, now: dict[str, Pose]) -> list[_Group]:
        groups: dict[tuple[object, ...], _Group] = {}
        for view in request.views:
            if not view.rendered:
                continue
            previous = self._previous.get(view.name, _Previous(view.pose, now))
            sweep = view.sweep
            if view.motion_blur > 0.0:
                sweep = sweep_between(previous.pose, view.pose, view.motion_blur)
            # only flow depends on previous poses
            before = previous if view.kind == "flow" else _Previous(view.pose, now)
            key = (view.pose, before.pose, id(before.bodies), sweep, view.lens)
            group = groups.setdefault(key, _Group(view.pose, before, sweep, view.lens))
            group.kinds.setdefault(view.kind, []).append(view.name)
        return _joined(list(groups.values()))

    def _place_bodies(self, bodies: Sequence[Body]) -> None:
        known = tuple((body.name, body.prefab, body.size) for body in bodies)
        if known == self._known:
            return
        self._painter.remove_bodies()
        for body in bodies:
            self._painter.add_body(self._parts(body).core)
        self._known = known

    def _parts(self, body: Body) -> Scene:
        """The parts of a body: a moving item of the scene, or a known prefab."""
        mover = self._movers.get(body.prefab)
        return prefabs.body(body.prefab, body.size) if mover is None else mover

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
        """Names and positions of the markers of the scene and of gates among the bodies."""
        names, positions = list(self._marker_names), [np.asarray(self._marker_positions)]
        for body in bodies:
            # clients split the name of a landmark at the underscore
            parts = self._parts(body)
            if parts.gates and "_" not in body.name:
                names += [f"{body.name}_{name.rsplit('_', 1)[1]}" for name in parts.markers.names]
                offsets = parts.markers.positions @ rotation(body.pose[1]).T
                positions.append(offsets + np.array(body.pose[0]))
        return names, np.concatenate(positions)

    def _landmarks(self, request: Request) -> list[tuple[str, float, float, float]]:
        if not request.views:
            return []
        camera, attitude = request.views[0].pose
        names, positions = self._markers(request.bodies)
        if not names:
            return []
        pixels = _geometry(request, request.views[0].lens).project(positions, camera, attitude)
        chosen = np.flatnonzero(pixels.in_view)
        seen = self._painter.visible(camera, positions[chosen])
        return [
            (names[i], float(pixels.u[i]), float(pixels.v[i]), float(pixels.depth[i]))
            for i in chosen[seen].tolist()
        ]

    def _range(self, views: Sequence[ImageView]) -> float:
        if not views:
            return RANGE_NOTHING
        down = -rotation(views[0].pose[1])[:, 2]
        distance = self._painter.range(_mean(views), down, RANGE_LIMIT)
        return distance if distance <= RANGE_LIMIT else RANGE_NOTHING

    def _collision(self, views: Sequence[ImageView]) -> bool:
        return any(
            self._painter.touches(view.pose[0] if number else _mean(views), COLLISION_RADIUS)
            for number, view in enumerate(views)
            if view.collision
        )


def _centred(item: Item) -> Item:
    """An item at the origin, as the part of a body at the item's pose."""
    return item.replace(position=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0))


def _static_markers(scene: Scene) -> tuple[list[str], Floats]:
    """Names and positions (m, 3) of the markers that do not move with a gate."""
    moving = {f"{item.name}_{i}" for item in scene.moving for i in range(1, 5)}
    names, positions = scene.markers.names, scene.markers.positions
    rows = [i for i, name in enumerate(names) if name not in moving]
    return [names[i] for i in rows], positions[rows]


def _joined(groups: list[_Group]) -> list[_Group]:
    """Merges groups without flow into a flow group of the same pose."""
    with_flow = {(group.pose, group.lens): group for group in groups if "flow" in group.kinds}
    rest = []
    for group in groups:
        host = with_flow.get((group.pose, group.lens), group)
        if host is group or group.sweep != STILL:
            rest.append(group)
            continue
        for kind, names in group.kinds.items():
            host.kinds.setdefault(kind, []).extend(names)
    return rest


@lru_cache(maxsize=64)
def _camera(width: int, height: int, vertical_fov_deg: float, lens: Lens) -> Camera:
    return Camera(width, height, vertical_fov_deg, distortion=lens)


def _geometry(request: Request, lens: Lens) -> Camera:
    return _camera(request.width, request.height, request.vertical_fov_deg, lens)


def _focal(request: Request) -> float:
    """The focal length in pixels. Raises ValueError for cameras that cannot be rendered."""
    width, height, angle = request.width, request.height, request.vertical_fov_deg
    if not (1 <= width <= 16384 and 1 <= height <= 16384):
        raise ValueError(f"size: expected 1 to 16384 pixels a side, got {width} x {height}")
    pixels = width * height * sum(view.rendered for view in request.views)
    if pixels > MAX_PIXELS:
        raise ValueError(
            f"size: expected at most {MAX_PIXELS} pixels in all images, got {pixels}; use smaller "
            f"images or fewer cameras"
        )
    return height / 2.0 / math.tan(math.radians(checked_fov(angle)) / 2.0)


def _mean(views: Sequence[ImageView]) -> Floats:
    return np.asarray(np.mean([view.pose[0] for view in views], axis=0))


def _lamp_of(scene: Scene) -> tuple[tuple[float, float, float], float] | None:
    """Position and range [m] of the lamp in a scene with a ceiling; None without a ceiling."""
    for item in scene.items:
        if item.category == "ceiling":
            x, y, z = item.position
            height = max(z, 1.0)
            return (x, y, z - 0.12 * height), 0.9 * height
    return None
