"""The bodies that the reference renderer knows: what it shows for a `prefabID`.

A body is a small scene of its own, in the body's axes: x forward, y left, z up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from propwash.world import Box, Cylinder, Gate, Scene, Sphere

Size = tuple[float, float, float]

_Part = Box | Cylinder | Gate | Sphere

ORANGE = (0.93, 0.35, 0.10)
CARBON = (0.10, 0.10, 0.11)
YELLOW = (0.95, 0.72, 0.10)
SKIN = (0.80, 0.60, 0.48)
GREY = (0.55, 0.55, 0.57)

GATE_OPENING = 1.85
"""m, width and height: near those of the published course."""


def body(prefab: str, size: Size) -> Scene:
    """The parts of the body of this name; a grey box of `size` [m] where the name says nothing.

    A size is in metres only for "box", "sphere" and "cylinder", and for names that are not known:
    published configurations give gates sizes of 100 to 200, in a unit that nobody tells.
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
        return Scene([Sphere(name="ball", category="obstacle", colour=GREY, radius=x / 2.0)])
    if "cylinder" in prefab or "pole" in prefab:
        pole = Cylinder(name="pole", category="obstacle", colour=GREY, radius=x / 2.0, height=z)
        return Scene([pole])
    return Scene([Box(name="box", category="obstacle", colour=GREY, size=(x, y, z))])


def is_gate(prefab: str) -> bool:
    """Whether the body of this name is a gate, with four markers."""
    return "gate" in prefab.lower()


def _gate() -> list[_Part]:
    """Its origin is the centre of the opening."""
    gate = Gate(
        name="frame",
        category="gate",
        colour=ORANGE,
        width=GATE_OPENING,
        height=GATE_OPENING,
        border=0.3,
        depth=0.12,
    )
    return [gate]


def _quadcopter() -> list[_Part]:
    """Half a metre from motor to motor, about its centre."""
    bearings = (math.radians(bearing) for bearing in (45.0, 135.0, 225.0, 315.0))
    return multicopter([(0.25 * math.cos(b), 0.25 * math.sin(b), 0.0) for b in bearings])


def multicopter(rotors: Sequence[tuple[float, float, float]]) -> list[_Part]:
    """A hull, and an arm, a motor and a disc for each rotor; the discs in front are orange.

    rotors: (x, y, z) m, body frame.
    """
    span = max(1e-3, *(math.hypot(x, y) for x, y, _ in rotors))
    k = span / 0.25  # the sizes below are those of a vehicle of half a metre
    gaps = [math.dist(a[:2], b[:2]) for i, a in enumerate(rotors) for b in rotors[:i]]
    # rotors above each other do not limit each other
    disc = min(0.125 * k, *(0.48 * gap for gap in gaps if gap > 0.02 * k))
    parts: list[_Part] = [
        Box(
            name="hull",
            category="vehicle",
            colour=CARBON,
            size=(0.24 * k, 0.10 * k, 0.05 * k),
        ),
        Box(
            name="battery",
            category="vehicle",
            colour=YELLOW,
            size=(0.14 * k, 0.06 * k, 0.03 * k),
            position=(-0.02 * k, 0.0, 0.04 * k),
        ),
        Box(
            name="camera",
            category="vehicle",
            colour=(0.02, 0.02, 0.03),
            size=(0.03 * k, 0.04 * k, 0.03 * k),
            position=(0.13 * k, 0.0, 0.0),
        ),
    ]
    for number, (x, y, z) in enumerate(rotors):
        angle, arm = math.atan2(y, x), max(math.hypot(x, y), 1e-3)
        parts += [
            Box(
                name=f"arm{number}",
                category="vehicle",
                colour=CARBON,
                size=(arm, 0.025 * k, 0.02 * k),
                position=(0.5 * x, 0.5 * y, z),
                attitude=(math.cos(angle / 2.0), 0.0, 0.0, math.sin(angle / 2.0)),
            ),
            Cylinder(
                name=f"motor{number}",
                category="vehicle",
                colour=CARBON,
                radius=0.016 * k,
                height=0.04 * k,
                position=(x, y, z + 0.02 * k),
            ),
            Cylinder(
                name=f"rotor{number}",
                category="vehicle",
                colour=ORANGE if x > 0.1 * span else GREY,
                radius=disc,
                height=0.006 * k,
                position=(x, y, z + 0.045 * k),
            ),
        ]
    return parts


def _car() -> list[_Part]:
    """4.3 m long, on the ground at its origin."""
    parts: list[_Part] = [
        Box(
            name="body",
            category="vehicle",
            colour=(0.55, 0.08, 0.08),
            size=(4.3, 1.8, 0.65),
            position=(0.0, 0.0, 0.65),
        ),
        Box(
            name="cabin",
            category="vehicle",
            colour=(0.12, 0.14, 0.17),
            size=(2.0, 1.6, 0.5),
            position=(-0.25, 0.0, 1.22),
        ),
    ]
    lying = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
    for number, (x, y) in enumerate(((1.35, 0.8), (1.35, -0.8), (-1.35, 0.8), (-1.35, -0.8))):
        wheel = Cylinder(
            name=f"wheel{number}",
            category="vehicle",
            colour=CARBON,
            radius=0.33,
            height=0.22,
            position=(x, y, 0.33),
            attitude=lying,
        )
        parts.append(wheel)
    return parts


def _person() -> list[_Part]:
    """1.75 m tall, on the ground at its origin, facing x."""
    trousers, shirt = (0.16, 0.20, 0.32), (0.75, 0.20, 0.22)
    parts: list[_Part] = [
        Sphere(
            name="head", category="person", colour=SKIN, radius=0.115, position=(0.0, 0.0, 1.635)
        ),
        Cylinder(
            name="trunk",
            category="person",
            colour=shirt,
            radius=0.17,
            height=0.66,
            position=(0.0, 0.0, 1.17),
        ),
    ]
    for side, y in (("left", 1.0), ("right", -1.0)):
        parts += [
            Cylinder(
                name=f"{side} leg",
                category="person",
                colour=trousers,
                radius=0.085,
                height=0.84,
                position=(0.0, 0.09 * y, 0.42),
            ),
            Cylinder(
                name=f"{side} arm",
                category="person",
                colour=shirt,
                radius=0.055,
                height=0.62,
                position=(0.0, 0.23 * y, 1.16),
            ),
        ]
    return parts


_KINDS: tuple[tuple[tuple[str, ...], Callable[[], list[_Part]]], ...] = (
    (("gate",), _gate),
    (("car", "truck"), _car),
    (("person", "people", "human", "pedestrian"), _person),
    (("eagle", "quad", "drone", "copter", "vehicle", "uav"), _quadcopter),
)
