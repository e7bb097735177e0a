"""Procedural scenes: random items from a few parameters and a seed, equal on every platform."""

# Annotations are read at run time (units, file format), so they are not postponed here.
import math
import random
from collections.abc import Iterator
from typing import Annotated, ClassVar

from propwash._checks import ParameterError, refusal
from propwash.vehicle.fields import Field, ParameterSet, Vector2, Vector3
from propwash.world._items import Box, Cylinder, Item, Sphere

_BARK = (0.36, 0.25, 0.16)
_STEEL = (0.20, 0.32, 0.55)
_BOARD = (0.95, 0.85, 0.75)
_WALL = (0.80, 0.80, 0.77)

MAX_ITEMS = 20_000
"""The maximum number of items of a generator, which takes a second or two."""
_LONGEST = 1e5
"""m, so that sums of lengths remain within LARGEST_WORLD."""
_SHORTEST = 1e-3
"""m, the smallest size of an item."""


class Generator(ParameterSet, frozen=True, kw_only=True):
    """Base class of generators of items; subclasses define items() and max_items()."""

    table = "generator"
    kind: ClassVar[str] = ""
    """The name of the class in a scene file."""
    sizes: ClassVar[tuple[str, ...]] = ()
    """Fields that become sizes of items, which must not be zero."""
    ascending: ClassVar[tuple[str, ...]] = ()
    """Fields that hold a minimum and a maximum."""

    def items(self, seed: int) -> list[Item]:
        """The items for a seed, at most MAX_ITEMS."""
        raise NotImplementedError

    def max_items(self) -> float:
        """An upper bound of the number of items, computed without creating them."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.__struct_fields__:
            value = getattr(self, name)
            numbers = value if isinstance(value, tuple) else (value,)
            minimum = _SHORTEST if name in self.sizes else 0.0
            if not all(minimum <= x <= _LONGEST for x in numbers):
                expected = f"numbers from {minimum:g} to {_LONGEST:g}"
                raise refusal(f"generator.{name}", value, f"{expected} {self.field(name).unit}")
            if name in self.ascending and numbers[0] > numbers[1]:
                raise refusal(f"generator.{name}", value, "the minimum first, then the maximum")
        count = self.max_items()
        if count > MAX_ITEMS:
            values_of = (f"{name} = {getattr(self, name)}" for name in self.__struct_fields__)
            raise ParameterError(
                f"generator: expected at most {MAX_ITEMS} items, got {count:.3g} from "
                f"{', '.join(values_of)}"
            )


def _dice(seed: int, what: str) -> random.Random:
    return random.Random(f"{what}/{seed}")


class Forest(Generator, frozen=True, kw_only=True):
    """Random trees, each a cylinder and a sphere, at distances of at least `spacing`.

    With a spacing of 0 trees are independent: a Poisson forest of a fixed number of trees.
    """

    kind = "forest"
    sizes = ("trunk_radius", "trunk_height")
    ascending = (*sizes, "crown_radius")

    size: Annotated[Vector2, Field("m", "of the area, along x and y, about the origin")]
    density: Annotated[
        float, Field("1/m^2", "desired density of trees; lower if `spacing` does not allow it")
    ]
    spacing: Annotated[float, Field("m", "minimum distance between the axes of trunks")]
    clearing: Annotated[float, Field("m", "radius about the origin without trees")]
    trunk_radius: Annotated[Vector2, Field("m", "minimum and maximum")]
    trunk_height: Annotated[Vector2, Field("m", "minimum and maximum")]
    crown_radius: Annotated[Vector2, Field("m", "minimum and maximum; 0 and 0 for no crowns")]

    def max_items(self) -> float:
        """A trunk and a crown for each tree."""
        return 2.0 * self.density * self.size[0] * self.size[1]

    def items(self, seed: int) -> list[Item]:
        """Trunks and crowns, alternating, or trunks only."""
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
            if self.crown_radius[1] == 0.0:
                continue
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
        count = round(self.density * self.size[0] * self.size[1])
        near = _Near(self.spacing)
        places: list[Vector2] = []
        for _ in range(30 * count):
            if len(places) == count:
                break
            x, y = dice.uniform(-half_x, half_x), dice.uniform(-half_y, half_y)
            if math.hypot(x, y) >= self.clearing + self.trunk_radius[1] and near.add((x, y)):
                places.append((x, y))
        return places


class _Near:
    """Places at a minimum distance, in a grid of cells of that size, which bounds each search."""

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._cells: dict[tuple[int, int], list[Vector2]] = {}

    def add(self, place: Vector2) -> bool:
        """Adds a place unless another is nearer than the distance; returns whether it was added."""
        if self._distance < _SHORTEST:
            return True
        x, y = place
        i, j = math.floor(x / self._distance), math.floor(y / self._distance)
        for cell in ((a, b) for a in (i - 1, i, i + 1) for b in (j - 1, j, j + 1)):
            for a, b in self._cells.get(cell, ()):
                if math.hypot(x - a, y - b) < self._distance:
                    return False
        self._cells.setdefault((i, j), []).append(place)
        return True


class Warehouse(Generator, frozen=True, kw_only=True):
    """A hall about the origin with racks along x that hold boards with crates."""

    kind = "warehouse"
    sizes = ("size", "rack_depth", "bay", "level", "crate")
    ascending = ("crate",)

    size: Annotated[Vector3, Field("m", "inner size of the hall, along x, y, z")]
    aisle: Annotated[float, Field("m", "between racks, and between racks and walls")]
    rack_depth: Annotated[float, Field("m", "along y")]
    bay: Annotated[float, Field("m", "length between uprights, along x")]
    level: Annotated[float, Field("m", "between boards; there is none on the floor")]
    levels: Annotated[float, Field("", "boards per rack")]
    crate: Annotated[Vector2, Field("m", "minimum and maximum edge")]
    fill: Annotated[float, Field("", "fraction of places with a crate, 0 to 1")]
    stacks: Annotated[
        float, Field("", "fraction of the bays of each aisle with a stack on the floor, 0 to 1")
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fill", "stacks"):
            if getattr(self, name) > 1.0:
                raise refusal(f"generator.{name}", getattr(self, name), "a number from 0 to 1")

    def max_items(self) -> float:
        """Walls and ceiling, for each rack posts, boards and two crates per bay, and stacks."""
        racks, bays, levels = self._racks(), self._bays(), int(self.levels)
        stacks = (racks + 1.0) * bays if self.stacks > 0.0 else 0.0
        return 5.0 + racks * (2.0 * (bays + 1.0) + levels * (1.0 + 2.0 * bays)) + stacks

    def _racks(self) -> int:
        if self._bays() == 0:
            return 0
        return max(0, int((self.size[1] - self.aisle) / (self.rack_depth + self.aisle)))

    def _bays(self) -> int:
        """The number of bays of a rack."""
        return max(0, int((self.size[0] - 2.0 * self.aisle) / self.bay))

    def items(self, seed: int) -> list[Item]:
        """Walls and ceiling first, then the racks in order, then the stacks in the aisles."""
        dice = _dice(seed, self.kind)
        items: list[Item] = list(self._walls())
        pitch = self.rack_depth + self.aisle
        racks = self._racks()
        for rack in range(racks):
            y = (rack - 0.5 * (racks - 1)) * pitch
            items += self._rack(f"rack{rack}", y, self._bays(), dice)
        if self.stacks > 0.0:
            dice = _dice(seed, "stacks")  # its own, so that crates do not depend on it
            for aisle in range(racks + 1):
                y = (aisle - 0.5 * racks) * pitch
                items += self._stacks(f"aisle{aisle}", y, dice)
        return items

    def _stacks(self, name: str, y: float, dice: random.Random) -> Iterator[Item]:
        """At most one stack for each bay of an aisle, beside one of its racks."""
        bays, edge, top = self._bays(), 0.4 * self.aisle, 0.6 * self.size[2]
        for bay in range(bays):
            x = (bay + 0.5) * self.bay - 0.5 * bays * self.bay
            side = dice.choice((-1.0, 1.0)) * dice.uniform(0.3, 1.0)
            if dice.random() >= self.stacks:
                continue
            yield Box(
                name=f"{name}_stack{bay}",
                category="crate",
                colour=_BOARD,
                position=(x, y + side * 0.5 * (self.aisle - edge), 0.5 * top),
                size=(edge, edge, top),
                texture="labels",
                texture_width=1.4,
            )

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
            yield Box(
                name=name,
                category=category,
                colour=_WALL,
                position=position,
                size=size,
                texture="concrete" if name == "ceiling" else "brick",
                texture_width=4.0,
            )

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
                texture="wood",
                texture_width=2.5,
            )
            for i in range(bays):
                x = (i + 0.5) * self.bay - 0.5 * length
                yield from self._crates(f"{name}_crate{k}_{i}", (x, y, z), dice)

    def _crates(self, name: str, place: Vector3, dice: random.Random) -> Iterator[Item]:
        for part in range(2):
            edges = [dice.uniform(*self.crate) for _ in range(3)]
            brown, yaw = dice.uniform(0.7, 1.1), dice.uniform(-0.1, 0.1)
            if dice.random() >= self.fill:
                continue
            x = place[0] + (part - 0.5) * 0.45 * self.bay
            yield Box(
                name=f"{name}_{part}",
                category="crate",
                colour=(0.88 * brown, 0.78 * brown, 0.66 * brown),
                position=(x, place[1], place[2] + 0.5 * edges[2]),
                size=(edges[0], edges[1], edges[2]),
                texture="labels",
                texture_width=1.4,
            ).moved((0.0, 0.0, 0.0), yaw)


class Walls(Generator, frozen=True, kw_only=True):
    """Parallel walls across x, each with random gaps from the ground to its top."""

    kind = "walls"
    sizes = ("size", "spacing", "thickness", "height", "gap", "pitch")
    ascending = ("gap",)

    size: Annotated[Vector2, Field("m", "of the area, along x and y, about the origin")]
    spacing: Annotated[float, Field("m", "between walls, along x")]
    thickness: Annotated[float, Field("m", "of walls")]
    height: Annotated[float, Field("m", "of walls")]
    gap: Annotated[Vector2, Field("m", "minimum and maximum width of gaps")]
    pitch: Annotated[float, Field("m", "length of wall for each gap, in which it is anywhere")]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gap[1] >= self.pitch:
            raise refusal(
                "generator.gap", self.gap, f"less than generator.pitch = {self.pitch:g} m"
            )
        if self.pitch > self.size[1]:
            expected = f"at most generator.size[1] = {self.size[1]:g} m, or no gap fits"
            raise refusal("generator.pitch", self.pitch, expected)
        if self.spacing > self.size[0]:
            expected = f"at most generator.size[0] = {self.size[0]:g} m, or no wall fits"
            raise refusal("generator.spacing", self.spacing, expected)
        if self.thickness >= self.spacing:
            expected = f"less than generator.spacing = {self.spacing:g} m"
            raise refusal("generator.thickness", self.thickness, expected)

    def _counts(self) -> tuple[int, int]:
        """Numbers of walls, and of gaps in each."""
        return int(self.size[0] / self.spacing), int(self.size[1] / self.pitch)

    def max_items(self) -> float:
        """A box beside each gap, and one more for each wall."""
        walls, gaps = self._counts()
        return walls * (gaps + 1.0)

    def items(self, seed: int) -> list[Item]:
        """The boxes of the walls, from the right to the left of each."""
        dice = _dice(seed, self.kind)
        walls, gaps = self._counts()
        items: list[Item] = []
        for wall in range(walls):
            x, edge = (wall - 0.5 * (walls - 1)) * self.spacing, -0.5 * self.size[1]
            for part in range(gaps + 1):
                width = dice.uniform(*self.gap)
                first = (part - 0.5 * gaps) * self.pitch
                begin = first + dice.uniform(0.0, self.pitch - width)
                end = begin if part < gaps else 0.5 * self.size[1]
                if end - edge >= _SHORTEST:
                    items.append(self._part(f"wall{wall}_{part}", x, edge, end))
                edge = begin + width
        return items

    def _part(self, name: str, x: float, begin: float, end: float) -> Item:
        return Box(
            name=name,
            category="wall",
            colour=_WALL,
            position=(x, 0.5 * (begin + end), 0.5 * self.height),
            size=(self.thickness, end - begin, self.height),
            texture="brick",
            texture_width=4.0,
        )


KINDS: dict[str, type[Generator]] = {kind.kind: kind for kind in (Forest, Warehouse, Walls)}
