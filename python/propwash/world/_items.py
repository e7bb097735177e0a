"""The items of a scene, as frozen parameters; propwash.world exports them."""

# Annotations are read at run time (units, file format), so they are not postponed here.
import math
import operator
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash._checks import LEVEL, refusal
from propwash.vehicle.fields import Convert, Field, ParameterSet, Quaternion, Vector3, vector3
from propwash.world import _textures as textures
from propwash.world._motion import Motion, motion_of, pose_at

MarkerCorners = tuple[int, int, int, int]

_ORIGIN: Vector3 = (0.0, 0.0, 0.0)
_GREY: Vector3 = (0.6, 0.6, 0.6)

LARGEST_WORLD = 1e6
"""m, the largest coordinate and size of a scene, as `largest_world` of world/scene.hpp."""


def _corners(value: object, key: str, _unit: str) -> MarkerCorners:
    try:
        a, b, c, d = (operator.index(corner) for corner in value)  # type: ignore[attr-defined]
        if sorted((a, b, c, d)) == [0, 1, 2, 3]:
            return (a, b, c, d)
    except (TypeError, ValueError):
        pass
    raise refusal(key, value, "each of 0, 1, 2, 3 once")


def _bounds(value: object, key: str, unit: str) -> Vector3:
    bounds = vector3(value, key, unit)
    if not all(0.0 <= bound <= LARGEST_WORLD for bound in bounds):
        raise refusal(key, bounds, f"3 numbers from 0 to {LARGEST_WORLD:g}: m, m, rad")
    return bounds


def _rows(dtype: type[Any], expected: str) -> Convert:
    """Converts rows of three numbers into a read-only array."""

    def convert(value: object, key: str, _unit: str) -> NDArray[Any]:
        try:
            array = np.asarray(value)
            if array.dtype.kind not in ("iu" if dtype is np.int32 else "iuf"):
                raise TypeError
            rows = array.astype(dtype)
            if not np.array_equal(rows, array):
                raise ValueError
        except (TypeError, ValueError):
            raise refusal(key, value, expected) from None
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise refusal(key, value, expected)
        rows.setflags(write=False)
        return rows

    return convert


class Item(ParameterSet, frozen=True, kw_only=True):
    """An item of a scene: name, category, colour, pose, and how far a seed may move it.

    The pose and the perturbation of an item with a `motion` are relative to the body that moves, so
    that several items may share a motion.
    """

    shape: ClassVar[str] = ""
    """The name of the class in a scene file."""

    name: Annotated[str, Field("", "unique in the scene")]
    category: Annotated[str, Field("", "class for segmentation")] = "obstacle"
    colour: Annotated[Vector3, Field("", "sRGB, 0 to 1")] = _GREY
    position: Annotated[Vector3, Field("m", "of its centre, world frame")] = _ORIGIN
    attitude: Annotated[Quaternion, Field("", "(w, x, y, z), from item axes to world axes")] = LEVEL
    motion: Annotated[
        Motion | None,
        motion_of,
        Field(
            "", "pose of its body as a function of time; position and attitude are then relative"
        ),
    ] = None
    perturbation: Annotated[
        Vector3,
        _bounds,
        Field("", "bounds within which a seed moves it: x, y [m], yaw [rad], world axes"),
    ] = _ORIGIN
    texture: Annotated[
        str,
        Field("", "of images: a .png or .jpg file or a name of texture_names(), times `colour`"),
    ] = ""
    texture_width: Annotated[float, Field("m", "of the texture on the surface")] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.texture:
            textures.is_file(self.texture)
        if not 1e-3 <= self.texture_width <= LARGEST_WORLD:
            expected = f"a number from 0.001 to {LARGEST_WORLD:g} m"
            raise refusal(f"item {self.name!r}: texture_width", self.texture_width, expected)

    @property
    def yaw(self) -> float:
        """rad, the heading of its x axis in the world."""
        return _rotation.yaw(self.attitude)

    def moved(self, offset: Vector3, yaw: float = 0.0) -> Self:
        """A copy translated by `offset` [m] and rotated about the world's z axis by `yaw` [rad]."""
        return self.replace(
            position=[a + b for a, b in zip(self.position, offset, strict=True)],
            attitude=_rotation.product(_rotation.about_z(yaw), self.attitude),
        )


class Plane(Item, frozen=True, kw_only=True):
    """The infinite plane z = 0 of its item frame; solid below."""

    shape = "plane"


class Box(Item, frozen=True, kw_only=True):
    """A box."""

    shape = "box"

    size: Annotated[Vector3, Field("m", "edge lengths along x, y, z")]


class Sphere(Item, frozen=True, kw_only=True):
    """A sphere."""

    shape = "sphere"

    radius: Annotated[float, Field("m", "")]


class Cylinder(Item, frozen=True, kw_only=True):
    """A capped cylinder about the z axis of its item frame."""

    shape = "cylinder"

    radius: Annotated[float, Field("m", "")]
    height: Annotated[float, Field("m", "from cap to cap")]


class Capsule(Item, frozen=True, kw_only=True):
    """The points within `radius` of a line along the z axis of its item frame."""

    shape = "capsule"

    radius: Annotated[float, Field("m", "")]
    length: Annotated[float, Field("m", "of the line, between the centres of the round ends")]


class Gate(Item, frozen=True, kw_only=True):
    """Four bars around a rectangular opening, which vehicles pass along +x of the item frame.

    Its four markers "<name>_1" to "<name>_4" are at the corners of the opening, on the front face
    (-x).
    """

    shape = "gate"

    width: Annotated[float, Field("m", "of the opening, along y")]
    height: Annotated[float, Field("m", "of the opening, along z")]
    border: Annotated[float, Field("m", "width of the bars")] = 0.2
    depth: Annotated[float, Field("m", "of the bars, along x")] = 0.1
    marker_corners: Annotated[
        MarkerCorners,
        _corners,
        Field(
            "",
            "the corner of each marker: 0 upper left, 1 upper right, 2 lower right, 3 lower left, "
            "seen along +x",
        ),
    ] = (0, 1, 2, 3)


class Mesh(Item, frozen=True, kw_only=True, eq=False):
    """A two-sided surface of triangles, without an inside."""

    shape = "mesh"

    vertices: Annotated[
        NDArray[np.float64],
        _rows(np.float64, "rows of 3 numbers in m"),
        Field("m", "(k, 3), item frame"),
    ]
    triangles: Annotated[
        NDArray[np.int32],
        _rows(np.int32, "rows of 3 indices of vertices"),
        Field("", "(n, 3), indices of vertices"),
    ]

    def __eq__(self, other: object) -> bool:
        if type(other) is not Mesh:
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in self.__struct_fields__
        )

    def __hash__(self) -> int:
        return hash((self.name, self.position, len(self.vertices), len(self.triangles)))


class Marker(ParameterSet, frozen=True, kw_only=True):
    """An infrared beacon, in addition to those of the gates."""

    table = "markers"

    name: Annotated[str, Field("", "unique among all markers")]
    position: Annotated[Vector3, Field("m", "world frame")]


class Start(ParameterSet, frozen=True, kw_only=True):
    """The initial position and heading of a vehicle."""

    table = "start"

    position: Annotated[Vector3, Field("m", "world frame")]
    yaw: Annotated[float, Field("rad", "heading, from x towards y")] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(math.fabs(x) <= LARGEST_WORLD for x in self.position):
            raise refusal(
                "start.position", self.position, f"numbers of at most {LARGEST_WORLD:g} m"
            )
        if not math.isfinite(self.yaw):
            raise refusal("start.yaw", self.yaw, "a finite number in rad")


KINDS: dict[str, type[Item]] = {
    kind.shape: kind for kind in (Plane, Box, Sphere, Cylinder, Capsule, Gate, Mesh)
}


def poses_of(items: Iterable[Item], time: float) -> NDArray[np.float64]:
    """(k, 7) poses of the bodies of the moving items at a time [s]."""
    rows: list[NDArray[np.float64]] = []
    found: dict[int, NDArray[np.float64]] = {}  # items of one body have the same motion
    for item in items:
        if item.motion is not None:
            key = id(item.motion)
            if key not in found:
                found[key] = pose_at(item.motion, item.name, time)
            rows.append(found[key])
    return np.array(rows).reshape(-1, 7)
