"""The contents of a pose message: cameras on a vehicle and moving bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from propwash._checks import whole_number
from propwash.render import _pose

Listed = TypeVar("Listed")

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
"""Kinds of camera and their `outputShaderType` in messages."""

CHANNELS: dict[str, int] = {kind: 3 for kind in KINDS} | {"depth8": 1, "depth": 2, "grey": 1}
"""`channels` of an answer: 3: 8-bit RGB, 2: uint16, 1: one byte per pixel."""

DISTORTION = "k1, k2, p1, p2 of the lens, 4 finite numbers"


@dataclass(frozen=True)
class RenderCamera:
    """A camera of a renderer: name, kind of image and mounting.

    The client defines the image size and field of view of all cameras; `propwash.Camera` describes
    the geometry of an image. Camera axes: x forward along the optical axis, y left, z up. Raises
    ValueError for invalid fields.
    """

    name: str
    """The ID in messages: ASCII, unique among cameras and objects."""
    kind: Kind = "rgb"
    """"rgb", "grey", "depth" (16 bit), "flow", "semantic", "normals", "instance", "depth8"."""
    position: _pose.Position = (0.0, 0.0, 0.0)
    """m, body frame of the vehicle."""
    attitude: _pose.Attitude = (1.0, 0.0, 0.0, 0.0)
    """From camera axes to body axes."""
    collision: bool = True
    """Whether this camera takes part in the frame's `collision`."""
    motion_blur: float = 0.0
    """s, the exposure time of "rgb" and "grey" images, centred on the pose. Messages contain its
    fraction of the time since the camera's last image, at most 1 (published renderers: v3)."""
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """k1, k2, p1, p2 of the lens, as of `propwash.Camera`; for `Offscreen` only."""
    renderer: int | None = None
    """The index of its renderer, if there are several; None: the client chooses."""

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
            raise ValueError(f"{where}: motion_blur: expected 0 to 1 s, got {blur!r:.100}")
        if blur > 0.0 and self.kind not in ("rgb", "grey"):
            raise ValueError(
                f"{where}: motion_blur: expected 0 for kind {self.kind!r}; only 'rgb' and 'grey' "
                f"have an exposure time, got {blur!r}"
            )
        lens = _pose.numbers(f"{where}: distortion", self.distortion, 4, DISTORTION)
        object.__setattr__(self, "distortion", tuple(lens))
        _set_pose(self, where)


@dataclass(frozen=True)
class RenderObject:
    """A body with a pose set by the client: a gate, another vehicle, a person."""

    name: str
    """The ID in messages: ASCII, unique among cameras and objects."""
    prefab: str
    """The name of the body in the renderer ("BlackEagle", "gate")."""
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Edges; v2 renderers ignore it."""
    position: _pose.Position = (0.0, 0.0, 0.0)
    """m, world frame, until it is moved."""
    attitude: _pose.Attitude = (1.0, 0.0, 0.0, 0.0)
    """From body axes to the world."""
    renderer: int | None = None
    """The index of the renderer that shows it; None: all."""

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
    """Raises ValueError unless a name is printable ASCII, as the protocol requires."""
    if not isinstance(name, str) or not name or not (name.isascii() and name.isprintable()):
        raise ValueError(
            f"{what}: expected a name of printable ASCII characters, as the protocol requires, "
            f"got {name!r:.100}"
        )


def check_image(width: object, height: object, vertical_fov_deg: object) -> None:
    """Raises ValueError for an invalid image size or field of view."""
    for name, value in (("width", width), ("height", height)):
        whole_number(name, value, 1, 16384)
    if not _pose.is_number(vertical_fov_deg) or not 0.0 < vertical_fov_deg < 180.0:
        raise ValueError(
            f"vertical_fov_deg: expected degrees between 0 and 180, got {vertical_fov_deg!r:.100}"
        )


def listed(what: str, kind: type[Listed], value: object) -> list[Listed]:
    """A list of cameras or objects. Raises ValueError for other types."""
    items: list[Listed] = []
    for item in value if isinstance(value, Iterable) else [value]:
        if not isinstance(item, kind):
            raise ValueError(
                f"{what}: expected a list of propwash.render.{kind.__name__}, got {item!r:.100}"
            )
        items.append(item)
    return items


def check_unique(cameras: Iterable[RenderCamera], objects: Iterable[RenderObject]) -> None:
    """Raises ValueError if two cameras or objects share a name."""
    seen: set[str] = set()
    items: list[RenderCamera | RenderObject] = [*cameras, *objects]
    for item in items:
        if item.name in seen:
            raise ValueError(
                f"names: expected unique names of cameras and objects, got {item.name!r} twice"
            )
        seen.add(item.name)


def distribute(cameras: Sequence[RenderCamera], renderers: int) -> list[list[RenderCamera]]:
    """The cameras of each renderer; cameras without `renderer` go to the one with the fewest.

    Raises ValueError for a missing renderer, or one without a camera, which would never start.
    """
    groups: list[list[RenderCamera]] = [[] for _ in range(renderers)]
    for camera in cameras:
        check_renderer(f"camera {camera.name!r}", camera.renderer, renderers)
        if camera.renderer is not None:
            groups[camera.renderer].append(camera)
    for camera in cameras:
        if camera.renderer is None:
            min(groups, key=len).append(camera)
    for number, group in enumerate(groups):
        if not group:
            raise ValueError(
                f"cameras: renderer {number} has none, but does not start without one; use at "
                f"least {renderers} cameras or fewer port pairs"
            )
    order = {camera.name: place for place, camera in enumerate(cameras)}
    return [sorted(group, key=lambda camera: order[camera.name]) for group in groups]


def check_renderer(what: str, renderer: int | None, renderers: int) -> None:
    """Raises ValueError unless a renderer is None or a valid index."""
    if renderer is not None and (type(renderer) is not int or not 0 <= renderer < renderers):
        raise ValueError(
            f"{what}: renderer: expected None or a number from 0 to {renderers - 1}, got "
            f"{renderer!r:.100}"
        )


def _set_pose(item: Any, where: str) -> None:
    """Checks and stores the pose of a frozen dataclass."""
    position = _pose.position(f"{where}: position", item.position)
    object.__setattr__(item, "position", position)
    attitude = _pose.attitude(f"{where}: attitude", item.attitude)
    object.__setattr__(item, "attitude", attitude)
