"""What a pose message shows: cameras on a vehicle, and bodies that move in the scene."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from propwash.render import _pose

Item = TypeVar("Item")

Kind = Literal["rgb", "instance", "semantic", "depth8", "depth", "normals", "grey", "flow"]

KINDS: dict[str, int] = {
    "rgb": -1,
    "instance": 0,
    "semantic": 1,
    "depth8": 2,
    "depth": 3,
    "normals": 4,
    "grey": 5,
    "flow": 6,
}
"""Kinds of camera, and their `outputShaderType` on the wire."""

CHANNELS: dict[str, int] = {kind: 3 for kind in KINDS} | {"depth8": 1, "depth": 2, "grey": 1}
"""`channels` of an answer: 3 is RGB of 8 bits, 2 one uint16, 1 one byte a pixel."""


@dataclass(frozen=True)
class RenderCamera:
    """A camera of a renderer: its name and kind of picture on the wire, and its mounting.

    Size and field of view are the client's, the same for all cameras; `propwash.Camera` is the
    geometry of a picture.

    A camera frame is like a body's: x forward (along the optical axis), y left, z up. Raises
    ValueError for what cannot go on the wire.
    """

    name: str
    """Its ID on the wire, ASCII, unique among cameras and objects."""
    kind: Kind = "rgb"
    """"rgb", "grey", "depth" (16 bit), "flow", "semantic", "normals", "instance", "depth8"."""
    position: _pose.Position = (0.0, 0.0, 0.0)
    """m, of the camera in the vehicle's axes."""
    attitude: _pose.Attitude = (1.0, 0.0, 0.0, 0.0)
    """From the camera's axes to the vehicle's."""
    collision: bool = True
    """Whether this camera takes part in the frame's `collision`."""
    motion_blur: float = 0.0
    """0 to 1; 1: the shutter is open for the whole exposure (v3 renderers)."""
    renderer: int | None = None
    """Which of several renderers draws it; None: the client chooses."""

    def __post_init__(self) -> None:
        check_name("camera", self.name)
        where = f"camera {self.name!r}"
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ValueError(
                f"{where}: kind: expected one of {', '.join(map(repr, get_args(Kind)))}, got "
                f"{self.kind!r:.100}"
            )
        blur = self.motion_blur
        if not _pose.is_number(blur) or not 0.0 <= blur <= 1.0:
            raise ValueError(f"{where}: motion_blur: expected 0 to 1, got {blur!r:.100}")
        _set_pose(self, where)


@dataclass(frozen=True)
class RenderObject:
    """A body that a renderer draws where it is told: a gate, another vehicle, a person."""

    name: str
    """Its ID on the wire, ASCII, unique among cameras and objects."""
    prefab: str
    """The name under which the renderer knows the body ("BlackEagle", "gate")."""
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Edges; v2 renderers ignore it."""
    position: _pose.Position = (0.0, 0.0, 0.0)
    """m, world frame, until it is moved."""
    attitude: _pose.Attitude = (1.0, 0.0, 0.0, 0.0)
    """From the body's axes to the world."""
    renderer: int | None = None
    """The one of several renderers that shows it; None: all."""

    def __post_init__(self) -> None:
        check_name("object", self.name)
        where = f"object {self.name!r}"
        check_name(f"{where}: prefab", self.prefab)
        size = _pose.position(f"{where}: size", self.size)
        if min(size) <= 0.0:
            raise ValueError(f"{where}: size: expected three numbers > 0, got {self.size!r:.100}")
        object.__setattr__(self, "size", size)
        _set_pose(self, where)


def stereo(
    kind: Kind = "rgb",
    baseline: float = 0.32,
    position: _pose.Position = (0.0, 0.0, 0.0),
    names: tuple[str, str] = ("left", "right"),
) -> list[RenderCamera]:
    """Two cameras that look forward, left one first, `baseline` [m] apart about `position`."""
    if not _pose.is_positive(baseline):
        raise ValueError(f"baseline: expected a finite number > 0 [m], got {baseline!r:.100}")
    x, y, z = _pose.position("position", position)
    if len(names) != 2:
        raise ValueError(f"names: expected two, left camera first, got {names!r:.100}")
    return [
        RenderCamera(name, kind, (x, y + side * baseline / 2.0, z))
        for name, side in zip(names, (1.0, -1.0), strict=True)
    ]


def check_name(what: str, name: object) -> None:
    """Raises ValueError for a name that does not survive the wire: it is ASCII there."""
    if not isinstance(name, str) or not name or not (name.isascii() and name.isprintable()):
        raise ValueError(
            f"{what}: expected a name of printable ASCII characters, as the wire carries no "
            f"others, got {name!r:.100}"
        )


def check_picture(width: object, height: object, vertical_fov_deg: object) -> None:
    """Raises ValueError for a size or a field of view that no camera has."""
    for name, value in (("width", width), ("height", height)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not 1 <= value <= 16384:  # type: ignore[operator]
            raise ValueError(
                f"{name}: expected a whole number of pixels from 1 to 16384, got {value!r:.100}"
            )
    if not _pose.is_number(vertical_fov_deg) or not 0.0 < vertical_fov_deg < 180.0:
        raise ValueError(
            f"vertical_fov_deg: expected degrees between 0 and 180, got {vertical_fov_deg!r:.100}"
        )


def listed(what: str, kind: type[Item], given: object) -> list[Item]:
    """The cameras or objects given, as a list; ValueError for what is neither."""
    items: list[Item] = []
    for item in given if isinstance(given, Iterable) else [given]:
        if not isinstance(item, kind):
            raise ValueError(
                f"{what}: expected a list of propwash.render.{kind.__name__}, got {item!r:.100}"
            )
        items.append(item)
    return items


def check_unique(cameras: Iterable[RenderCamera], objects: Iterable[RenderObject]) -> None:
    """Raises ValueError where two cameras or objects share a name: renderers keep one table."""
    seen: set[str] = set()
    items: list[RenderCamera | RenderObject] = [*cameras, *objects]
    for item in items:
        if item.name in seen:
            raise ValueError(
                f"names: {item.name!r} is given twice; renderers keep cameras and objects in one "
                f"table, so each needs a name of its own"
            )
        seen.add(item.name)


def distribute(cameras: Sequence[RenderCamera], renderers: int) -> list[list[RenderCamera]]:
    """The cameras of each renderer: those that name theirs, the others where there are fewest.

    Raises ValueError for a renderer that does not exist or would have no camera: one without a
    camera never starts.
    """
    shares: list[list[RenderCamera]] = [[] for _ in range(renderers)]
    for camera in cameras:
        check_renderer(f"camera {camera.name!r}", camera.renderer, renderers)
        if camera.renderer is not None:
            shares[camera.renderer].append(camera)
    for camera in cameras:
        if camera.renderer is None:
            min(shares, key=len).append(camera)
    for number, share in enumerate(shares):
        if not share:
            raise ValueError(
                f"cameras: renderer {number} would have none, and one without a camera never "
                f"starts; give at least {renderers} cameras or fewer port pairs"
            )
    order = {camera.name: place for place, camera in enumerate(cameras)}
    return [sorted(share, key=lambda camera: order[camera.name]) for share in shares]


def check_renderer(what: str, renderer: int | None, renderers: int) -> None:
    """Raises ValueError for a renderer that is not there."""
    if renderer is not None and (type(renderer) is not int or not 0 <= renderer < renderers):
        raise ValueError(
            f"{what}: renderer: expected None or a number from 0 to {renderers - 1}, got "
            f"{renderer!r:.100}"
        )


def _set_pose(item: Any, where: str) -> None:
    """Stores the checked pose of a frozen dataclass."""
    position = _pose.position(f"{where}: position", item.position)
    object.__setattr__(item, "position", position)
    attitude = _pose.attitude(f"{where}: attitude", item.attitude)
    object.__setattr__(item, "attitude", attitude)
