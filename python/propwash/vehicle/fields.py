"""Conversion of arguments and values of vehicle files to the fields of parameter sets.

Each conversion takes a value, its key and unit, and raises ParameterError for a value of the wrong
form. The C++ function `validate` checks ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeGuard, get_args, get_origin

import msgspec

from propwash._checks import ParameterError, nearest, refusal

Vector2 = tuple[float, float]
Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]
PerRotor = float | tuple[float, ...]


class Field(NamedTuple):
    """Unit and meaning of a field, in its annotation."""

    unit: str
    meaning: str

    @property
    def description(self) -> str:
        """Meaning and unit; empty if there are none."""
        return ", ".join(text for text in (self.meaning, self.unit) if text)


def is_field(hint: Any) -> bool:
    """Whether an annotation belongs to a field and not to a class variable."""
    origin: Any = get_origin(hint)
    return origin is not ClassVar


def field_of(hint: Any) -> Field:
    """Unit and meaning in an annotation."""
    metadata = getattr(hint, "__metadata__", ())
    return next((item for item in metadata if isinstance(item, Field)), Field("", ""))


def _in_unit(unit: str) -> str:
    return f" in {unit}" if unit else ""


def _is_number(value: object) -> bool:
    if isinstance(value, int):  # unbounded in Python
        return not isinstance(value, bool) and value.bit_length() <= 1023
    return isinstance(value, Real)


def _items(value: object) -> list[Any] | None:
    """The items of a list, tuple or array; None for other values."""
    if isinstance(value, str | bytes):
        return None
    if isinstance(value, Sequence):
        return list(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) > 0:
        return list(value)  # type: ignore[call-overload, no-any-return]
    return None


def number(value: object, key: str, unit: str = "") -> float:
    """A number; strings and booleans are invalid."""
    if not _is_number(value):
        raise refusal(key, value, f"a number{_in_unit(unit)}")
    return float(value)  # type: ignore[arg-type]


def number_or_each(value: object, key: str, unit: str = "") -> PerRotor:
    """A number for all rotors, or one for each rotor."""
    items = _items(value)
    if items is None:
        return number(value, key, unit)
    if not 1 <= len(items) <= 12 or not all(_is_number(item) for item in items):
        raise refusal(key, value, f"a number{_in_unit(unit)}, or one for each rotor")
    return tuple(float(item) for item in items)


def each(value: PerRotor, rotors: int) -> tuple[float, ...]:
    """One number for each of `rotors` rotors."""
    return value if isinstance(value, tuple) else (value,) * rotors


def _numbers(value: object, key: str, count: int, unit: str) -> tuple[float, ...]:
    items = _items(value)
    if items is None or len(items) != count or not all(_is_number(item) for item in items):
        raise refusal(key, value, f"{count} numbers{_in_unit(unit)}")
    return tuple(float(item) for item in items)


def vector2(value: object, key: str, unit: str = "") -> Vector2:
    """Two numbers."""
    a, b = _numbers(value, key, 2, unit)
    return (a, b)


def vector3(value: object, key: str, unit: str = "") -> Vector3:
    """Three numbers."""
    a, b, c = _numbers(value, key, 3, unit)
    return (a, b, c)


def quaternion(value: object, key: str, unit: str = "") -> Quaternion:
    """Four numbers, scalar first."""
    w, x, y, z = _numbers(value, key, 4, unit)
    return (w, x, y, z)


def vector3_or_number(value: object, key: str, unit: str = "") -> Vector3:
    """Three numbers, or one number for all three."""
    if _is_number(value):
        a = number(value, key, unit)
        return (a, a, a)
    try:
        return vector3(value, key, unit)
    except ParameterError:
        raise refusal(key, value, f"a number or 3 numbers{_in_unit(unit)}") from None


def matrix3(value: object, key: str, unit: str = "") -> Matrix3:
    """Three rows of three numbers, or the three numbers of a diagonal."""
    expected = f"3 numbers (the diagonal) or 3 rows of 3 numbers{_in_unit(unit)}"
    rows = _items(value)
    if rows is None or len(rows) != 3:
        raise refusal(key, value, expected)
    try:
        if all(_is_number(row) for row in rows):
            return diagonal(*(float(row) for row in rows))
        a, b, c = (vector3(row, key) for row in rows)
    except ParameterError:
        raise refusal(key, value, expected) from None
    return (a, b, c)


def matrix3_or_number(value: object, key: str, unit: str = "") -> Matrix3:
    """As matrix3, or one number for a multiple of the identity."""
    if _is_number(value):
        a = number(value, key, unit)
        return diagonal(a, a, a)
    return matrix3(value, key, unit)


def spin(value: object, key: str, _unit: str = "") -> float:
    """+1 for "ccw", -1 for "cw", seen from the tip of the rotor's axis."""
    if value == "ccw" or (_is_number(value) and value == 1):
        return 1.0
    if value == "cw" or (_is_number(value) and value == -1):
        return -1.0
    raise refusal(key, value, '"ccw" (counter-clockwise seen from above) or "cw"')


def boolean(value: object, key: str, _unit: str = "") -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refusal(key, value, "true or false")
    return value


def text(value: object, key: str, _unit: str = "") -> str:
    """A string."""
    if not isinstance(value, str):
        raise refusal(key, value, "a text")
    return value


def discretisation(value: object, key: str, _unit: str = "") -> str:
    """A discretisation of the low-pass filter."""
    if value not in ("exact", "backward_euler"):
        raise refusal(key, value, '"exact" or "backward_euler"')
    return str(value)


def diagonal(a: float, b: float, c: float) -> Matrix3:
    """The 3x3 matrix with this diagonal."""
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


def is_diagonal(matrix: Matrix3) -> bool:
    """Whether all off-diagonal elements are +0.0, so that `diagonal` restores the matrix."""
    return all(
        matrix[i][j] == 0.0 and math.copysign(1.0, matrix[i][j]) > 0.0
        for i in range(3)
        for j in range(3)
        if i != j
    )


Conversion = Callable[[object, str, str], Any]


def group(kind: type[Any]) -> Conversion:
    """A conversion that accepts an object of a class or a dict of its fields."""

    def convert(value: object, key: str, _unit: str) -> Any:
        if isinstance(value, kind):
            return value
        if has_names(value):
            return kind(**value)
        raise refusal(key, value, f"{kind.__name__} or a dict of its fields")

    return convert


def groups(kind: type[Any]) -> Conversion:
    """A conversion of a list of objects or dicts to a tuple of objects of a class."""
    convert_item = group(kind)

    def convert(value: object, key: str, unit: str) -> Any:
        items = _items(value)
        if items is None:
            raise refusal(key, value, f"a list of {kind.__name__}")
        return tuple(item(i, each, key, unit) for i, each in enumerate(items))

    def item(i: int, value: object, key: str, unit: str) -> Any:
        place = f"{key}[{i}]"
        if not isinstance(value, Mapping):
            return convert_item(value, place, unit)
        try:
            return convert_item(value, place, unit)
        except ParameterError as error:
            raise ParameterError(f"{place}: {error}") from None

    return convert


_BY_TYPE: dict[Any, Conversion] = {
    float: number,
    str: text,
    bool: boolean,
    Vector2: vector2,
    Vector3: vector3,
    Quaternion: quaternion,
    Matrix3: matrix3,
    PerRotor: number_or_each,
}


def plain_type(hint: Any) -> Any:
    """The type in an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def is_group(form: Any) -> bool:
    """Whether a type is a class of parameters."""
    return isinstance(form, msgspec.StructMeta)


def conversion_of(hint: Any) -> Conversion:
    """The conversion of a field: a function in its annotation, or that of its type."""
    for item in getattr(hint, "__metadata__", ()):
        if callable(item):
            return item  # type: ignore[no-any-return]
    plain = plain_type(hint)
    if plain in _BY_TYPE:
        return _BY_TYPE[plain]
    return group(plain) if is_group(plain) else groups(get_args(plain)[0])


def has_names(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a mapping from strings."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def wrong_fields(
    kind: str, names: Iterable[str], known: Iterable[str], needed: Iterable[str]
) -> str:
    """A message about unknown or missing fields of a group; empty if there are none."""
    names, known = list(names), list(known)
    for name in names:
        if name not in known:
            parts = [each for each in known if each.startswith(f"{name}_")]
            both = f"; did you mean {' and '.join(parts)}?" if len(parts) > 1 else ""
            return f"{kind} has no field {name!r}" + (both or nearest(name, known))
    missing = [name for name in needed if name not in names]
    return f"{kind}: expected {' and '.join(missing)} as well" if missing else ""


class ParameterSetMeta(msgspec.StructMeta):
    """Raises ParameterError for unknown and missing fields of a group."""

    def __call__(cls, *arguments: Any, **fields: Any) -> Any:
        """Constructs a parameter set from its fields."""
        try:
            return super().__call__(*arguments, **fields)
        except TypeError:
            of = msgspec.structs.fields(cls)  # type: ignore[arg-type]
            wrong = wrong_fields(
                cls.__name__,
                fields,
                (field.name for field in of),
                (field.name for field in of if field.required),
            )
            if arguments or not wrong:
                raise
            raise ParameterError(wrong) from None


class ParameterSet(
    msgspec.Struct,
    metaclass=ParameterSetMeta,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """A frozen group of parameters that converts and checks its fields."""

    table: ClassVar[str] = ""
    """The name of the group's table in a vehicle file."""
    conversions: ClassVar[dict[str, Conversion]] = {}
    """The conversion of each field, from its annotation."""
    _fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls, **_options: Any) -> None:
        hints = {n: hint for n, hint in cls.__annotations__.items() if is_field(hint)}
        cls.conversions = cls.conversions | {n: conversion_of(hints[n]) for n in hints}
        cls._fields = cls._fields | {n: field_of(hints[n]) for n in hints}

    def __post_init__(self) -> None:
        prefix = f"{self.table}." if self.table else ""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            value = self.conversions[name](value, prefix + name, self.field(name).unit)
            msgspec.structs.force_setattr(self, name, value)

    @classmethod
    def field(cls, name: str) -> Field:
        """Unit and meaning of a field."""
        return cls._fields[name]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; a dict changes fields of a group.

        `vehicle.replace(name="heavier", body={"mass": 1.2})`. Raises ParameterError for an unknown
        field or a value of the wrong form.
        """
        wrong = wrong_fields(type(self).__name__, changes, self.__struct_fields__, ())
        if wrong:
            raise ParameterError(wrong)
        for name, value in changes.items():
            group = getattr(self, name)
            if isinstance(group, ParameterSet) and has_names(value):
                changes[name] = group.replace(**value)
        return msgspec.structs.replace(self, **changes)
