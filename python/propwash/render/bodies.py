"""Bodies of the reference renderer: the shapes that it draws for a `prefabID`.

A body is a small scene in body axes: x forward, y left, z up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from propwash._rotation import about_z
from propwash.world import Box, Cylinder, Gate, Item, Scene, Sphere, person

Size = tuple[float, float, float]
Vector = tuple[float, float, float]

_Part = Box | Cylinder | Gate | Sphere
PartT = TypeVar("PartT", Box, Cylinder, Sphere)

ORANGE = (0.93, 0.35, 0.10)
CARBON = (0.10, 0.10, 0.11)
YELLOW = (0.95, 0.72, 0.10)
GREY = (0.55, 0.55, 0.57)

GATE_OPENING = 1.85
"""m, width and height: close to those of the published course."""


def body(prefab: str, size: Size) -> Scene:
    """The parts of the body with this name; a grey box of `size` [m] for an unknown name.

    Only "box", "sphere", "cylinder" and unknown names use the size: published configurations give
    gates sizes of 100 to 200 in an unspecified unit.
    """
    x, y, z = size
    return _body(prefab.lower(), (float(x), float(y), float(z)))


@functools.lru_cache(maxsize=256)
def _body(prefab: str, size: Size) -> Scene:
    for words, make in _KINDS:
        if any(word in prefab for word in words):
            return Scene(make())
    x, y, z = (edge if 0.0 < edge <= 50.0 else 1.0 for edge in size)
    if "sphere" in prefab or "ball" in prefab:
        return Scene([_part(Sphere, "ball", GREY, category="obstacle", radius=x / 2.0)])
    if "cylinder" in prefab or "pole" in prefab:
        pole = _part(Cylinder, "pole", GREY, category="obstacle", radius=x / 2.0, height=z)
        return Scene([pole])
    return Scene([_part(Box, "box", GREY, category="obstacle", size=(x, y, z))])


def _part(
    kind: type[PartT],
    name: str,
    colour: Vector,
    position: Vector = (0.0, 0.0, 0.0),
    *,
    category: str = "vehicle",
    **fields: Any,
) -> PartT:
    return kind(name=name, category=category, colour=colour, position=position, **fields)


def _gate() -> list[_Part]:
    """A gate; its origin is the centre of the opening."""
    w = GATE_OPENING
    frame = Gate(
        name="frame", category="gate", colour=ORANGE, width=w, height=w, border=0.3, depth=0.12
    )
    return [frame]


def _quadcopter() -> list[_Part]:
    """A quadcopter of half a metre from motor to motor, about its centre."""
    bearings = (math.radians(bearing) for bearing in (45.0, 135.0, 225.0, 315.0))
    return multicopter([(0.25 * math.cos(b), 0.25 * math.sin(b), 0.0) for b in bearings])


def multicopter(rotors: Sequence[Vector]) -> list[_Part]:
    """A hull, and an arm, a motor and a disc for each rotor; the front discs are orange.

    rotors: (x, y, z) m, body frame.
    """
    span = max(1e-3, *(math.hypot(x, y) for x, y, _ in rotors))
    k = span / 0.25  # the sizes below are those of a vehicle of half a metre
    gaps = [math.dist(a[:2], b[:2]) for i, a in enumerate(rotors) for b in rotors[:i]]
    # coaxial rotors do not limit each other
    disc = min(0.125 * k, *(0.48 * gap for gap in gaps if gap > 0.02 * k))
    black, battery = (0.02, 0.02, 0.03), (0.14 * k, 0.06 * k, 0.03 * k)
    parts: list[_Part] = [
        _part(Box, "hull", CARBON, size=(0.24 * k, 0.10 * k, 0.05 * k)),
        _part(Box, "battery", YELLOW, (-0.02 * k, 0.0, 0.04 * k), size=battery),
        _part(Box, "camera", black, (0.13 * k, 0.0, 0.0), size=(0.03 * k, 0.04 * k, 0.03 * k)),
    ]
    for i, (x, y, z) in enumerate(rotors):
        size = (max(math.hypot(x, y), 1e-3), 0.025 * k, 0.02 * k)
        along = about_z(math.atan2(y, x))
        motor, rotor = (x, y, z + 0.02 * k), (x, y, z + 0.045 * k)
        colour = ORANGE if x > 0.1 * span else GREY
        parts += [
            _part(Box, f"arm{i}", CARBON, (0.5 * x, 0.5 * y, z), size=size, attitude=along),
            _part(Cylinder, f"motor{i}", CARBON, motor, radius=0.016 * k, height=0.04 * k),
            _part(Cylinder, f"rotor{i}", colour, rotor, radius=disc, height=0.006 * k),
        ]
    return parts


def _car() -> list[_Part]:
    """A car of 4.3 m length, on the ground at its origin."""
    parts: list[_Part] = [
        _part(Box, "body", (0.55, 0.08, 0.08), (0.0, 0.0, 0.65), size=(4.3, 1.8, 0.65)),
        _part(Box, "cabin", (0.12, 0.14, 0.17), (-0.25, 0.0, 1.22), size=(2.0, 1.6, 0.5)),
    ]
    look: dict[str, Any] = {"radius": 0.33, "height": 0.22}
    look["attitude"] = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
    for i, (x, y) in enumerate(((1.35, 0.8), (1.35, -0.8), (-1.35, 0.8), (-1.35, -0.8))):
        parts.append(_part(Cylinder, f"wheel{i}", CARBON, (x, y, 0.33), **look))
    return parts


def _person() -> list[Item]:
    """A person of 1.75 m height, on the ground at its origin, facing x."""
    return list(person())


_KINDS: tuple[tuple[tuple[str, ...], Callable[[], Sequence[Item]]], ...] = (
    (("gate",), _gate),
    (("car", "truck"), _car),
    (("person", "people", "human", "pedestrian"), _person),
    (("eagle", "quad", "drone", "copter", "vehicle", "uav"), _quadcopter),
)
