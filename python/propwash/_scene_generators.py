"""Procedural scenes: items from a few numbers and a seed, the same on every platform."""

# Annotations are read at run time (units, file format), so they are not postponed here.
import math
import random
from collections.abc import Iterator
from typing import Annotated, ClassVar

from . import _parameter_values as values
from ._parameter_values import Conversion, Field, Vector2, Vector3, refusal
from ._scene_items import Box, Cylinder, Item, Sphere
from .parameters import ParameterSet

_BARK = (0.36, 0.25, 0.16)
_STEEL = (0.20, 0.32, 0.55)
_BOARD = (0.82, 0.48, 0.16)
_WALL = (0.80, 0.80, 0.77)
_MOST_TREES = 5000  # each is asked whether it stands clear of all before it


class Generator(ParameterSet, frozen=True, kw_only=True):
    """Makes the items of a scene."""

    table = "generator"
    kind: ClassVar[str] = ""
    """What the class is called in a scene file."""

    def items(self, seed: int) -> list[Item]:
        """The items for a seed."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.__struct_fields__:
            value = getattr(self, name)
            numbers = value if isinstance(value, tuple) else (value,)
            if not all(math.isfinite(x) and x >= 0.0 for x in numbers):
                raise refusal(f"generator.{name}", value, "finite numbers of at least 0")


def _dice(seed: int, what: str) -> random.Random:
    return random.Random(f"{what}/{seed}")


class Forest(Generator, frozen=True, kw_only=True):
    """Trees at random, a cylinder and a sphere each, none nearer to another than `spacing`."""

    kind = "forest"
    conversions: ClassVar[dict[str, Conversion]] = {
        "size": values.vector2,
        "trunk_radius": values.vector2,
        "trunk_height": values.vector2,
        "crown_radius": values.vector2,
    }

    size: Annotated[Vector2, Field("m", "of the wood, along x and y, about the origin")]
    density: Annotated[float, Field("1/m^2", "trees wanted; fewer stand where there is no room")]
    spacing: Annotated[float, Field("m", "the least distance between trunks' axes")]
    clearing: Annotated[float, Field("m", "radius about the origin without trees")]
    trunk_radius: Annotated[Vector2, Field("m", "least and greatest")]
    trunk_height: Annotated[Vector2, Field("m", "least and greatest")]
    crown_radius: Annotated[Vector2, Field("m", "least and greatest")]

    def __post_init__(self) -> None:
        super().__post_init__()
        trees = self.density * self.size[0] * self.size[1]
        if trees > _MOST_TREES:
            expected = f"at most {_MOST_TREES} trees, got {trees:.3g}"
            raise refusal("generator.density", self.density, expected)

    def items(self, seed: int) -> list[Item]:
        """Trunks and crowns by turns."""
        dice = _dice(seed, self.kind)
        items: list[Item] = []
        for i, (x, y) in enumerate(self._places(dice)):
            height = dice.uniform(*self.trunk_height)
            crown = dice.uniform(*self.crown_radius)
            green = dice.uniform(0.30, 0.50)
            items.append(
                Cylinder(
                    name=f"trunk{i}",
                    category="trunk",
                    colour=_BARK,
                    position=(x, y, 0.5 * height),
                    radius=dice.uniform(*self.trunk_radius),
                    height=height,
                )
            )
            items.append(
                Sphere(
                    name=f"crown{i}",
                    category="crown",
                    colour=(0.45 * green, green, 0.30 * green),
                    position=(x, y, height + 0.5 * crown),
                    radius=crown,
                )
            )
        return items

    def _places(self, dice: random.Random) -> list[Vector2]:
        half_x, half_y = 0.5 * self.size[0], 0.5 * self.size[1]
        wanted = round(self.density * self.size[0] * self.size[1])
        places: list[Vector2] = []
        for _ in range(30 * wanted):
            if len(places) == wanted:
                break
            x, y = dice.uniform(-half_x, half_x), dice.uniform(-half_y, half_y)
            if math.hypot(x, y) >= self.clearing + self.trunk_radius[1] and all(
                math.hypot(x - a, y - b) >= self.spacing for a, b in places
            ):
                places.append((x, y))
        return places


class Warehouse(Generator, frozen=True, kw_only=True):
    """A hall about the origin with racks along x, boards in them and crates on the boards."""

    kind = "warehouse"
    conversions: ClassVar[dict[str, Conversion]] = {"size": values.vector3, "crate": values.vector2}

    size: Annotated[Vector3, Field("m", "of the hall inside, along x, y, z")]
    aisle: Annotated[float, Field("m", "between racks, and between racks and walls")]
    rack_depth: Annotated[float, Field("m", "along y")]
    bay: Annotated[float, Field("m", "length between uprights, along x")]
    level: Annotated[float, Field("m", "from board to board; no board lies on the floor")]
    levels: Annotated[float, Field("", "boards of a rack")]
    crate: Annotated[Vector2, Field("m", "least and greatest edge")]
    fill: Annotated[float, Field("", "the part of the places that have a crate, 0 to 1")]

    def items(self, seed: int) -> list[Item]:
        """Walls and ceiling first, then rack by rack."""
        dice = _dice(seed, self.kind)
        items: list[Item] = list(self._walls())
        pitch = self.rack_depth + self.aisle
        racks = int((self.size[1] - self.aisle) / pitch) if pitch > 0.0 else 0
        bays = int((self.size[0] - 2.0 * self.aisle) / self.bay) if self.bay > 0.0 else 0
        for rack in range(racks):
            y = (rack - 0.5 * (racks - 1)) * pitch
            items += self._rack(f"rack{rack}", y, bays, dice)
        return items

    def _walls(self) -> Iterator[Item]:
        x, y, z = self.size
        t = 0.2
        places: tuple[tuple[str, Vector3, Vector3], ...] = (
            ("wall_east", (0.5 * (x + t), 0.0, 0.5 * z), (t, y + 2.0 * t, z)),
            ("wall_west", (-0.5 * (x + t), 0.0, 0.5 * z), (t, y + 2.0 * t, z)),
            ("wall_north", (0.0, 0.5 * (y + t), 0.5 * z), (x, t, z)),
            ("wall_south", (0.0, -0.5 * (y + t), 0.5 * z), (x, t, z)),
            ("ceiling", (0.0, 0.0, z + 0.5 * t), (x + 2.0 * t, y + 2.0 * t, t)),
        )
        for name, position, size in places:
            category = "ceiling" if name == "ceiling" else "wall"
            yield Box(name=name, category=category, colour=_WALL, position=position, size=size)

    def _rack(self, name: str, y: float, bays: int, dice: random.Random) -> Iterator[Item]:
        levels = int(self.levels)
        length, top, post, board = bays * self.bay, self.level * levels, 0.1, 0.06
        for i in range(bays + 1):
            x = i * self.bay - 0.5 * length
            for side in (-1, 1):
                yield Box(
                    name=f"{name}_post{2 * i + (side > 0)}",
                    category="shelf",
                    colour=_STEEL,
                    position=(x, y + side * 0.5 * (self.rack_depth - post), 0.5 * top + 0.25),
                    size=(post, post, top + 0.5),
                )
        for k in range(levels):
            z = (k + 1) * self.level
            yield Box(
                name=f"{name}_board{k}",
                category="shelf",
                colour=_BOARD,
                position=(0.0, y, z - 0.5 * board),
                size=(length, self.rack_depth, board),
            )
            for i in range(bays):
                x = (i + 0.5) * self.bay - 0.5 * length
                yield from self._crates(f"{name}_crate{k}_{i}", (x, y, z), dice)

    def _crates(self, name: str, place: Vector3, dice: random.Random) -> Iterator[Item]:
        for part in range(2):
            edges = [dice.uniform(*self.crate) for _ in range(3)]
            brown, yaw, there = dice.uniform(0.7, 1.1), dice.uniform(-0.1, 0.1), dice.random()
            if there >= self.fill:
                continue
            x = place[0] + (part - 0.5) * 0.45 * self.bay
            yield Box(
                name=f"{name}_{part}",
                category="crate",
                colour=(0.62 * brown, 0.45 * brown, 0.28 * brown),
                position=(x, place[1], place[2] + 0.5 * edges[2]),
                size=(edges[0], edges[1], edges[2]),
            ).moved((0.0, 0.0, 0.0), yaw)


KINDS: dict[str, type[Generator]] = {kind.kind: kind for kind in (Forest, Warehouse)}
