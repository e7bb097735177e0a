"""Conversion of arguments and values of vehicle files to the fields of parameter sets.

Each conversion takes a value, its key and unit, and raises ParameterError for a value of the wrong
form. The C++ function `validate` checks ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
)

import msgspec

from propwash import _core
from propwash._checks import ParameterError, nearest, refusal

Vector2 = tuple[float, float]
Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]
PerRotor = float | tuple[float, ...]

T = TypeVar("T")
_CLASS_VAR: Any = ClassVar


class Field(NamedTuple):
    """Unit and meaning of a field, in its annotation or in the table of the C++ parameters."""

    unit: str
    meaning: str

    @property
    def description(self) -> str:
        """Meaning and unit; empty if there are none."""
        return ", ".join(text for text in (self.meaning, self.unit) if text)


_TABLE = {
    name.replace("rotors.", "rotor."): Field(unit, meaning)
    for name, _, _, unit, meaning, *_ in (*_core.parameter_table(), *_core.car_parameter_table())
}
"""Unit and meaning of each parameter of the C++ structs, by table and name."""


_PLAIN = (float, str, int, bool)


def _plain(value: Any) -> Any:
    """Arrays and sequences as lists, numbers of any type as float."""
    if type(value) in _PLAIN:  # the usual types, without the slow checks of abstract ones
        return value
    if isinstance(value, str | bytes | bool | int):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value) in (tuple, list) or isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Real) else value


class Conversion(Generic[T]):
    """Converts a value to the type of a field.

    Args:
        form: Type of the value in a file; lists and arrays are tuples.
        expected: The form in a message; {} stands for the unit.
        finish: Converts from `form` to the type of the field; ValueError: it has the wrong form.
        schema: Type in the JSON Schema of a file; by default `form`.
    """

    def __init__(
        self, form: Any, expected: str, finish: Callable[[Any], T] | None = None, schema: Any = None
    ) -> None:
        self.schema = form if schema is None else schema
        self._form, self._expected, self._finish = form, expected, finish

    def __call__(self, value: object, key: str, unit: str = "") -> T:
        """Returns the converted value. Raises ParameterError that names the key."""
        try:
            converted: T = msgspec.convert(_plain(value), self._form)
            return self._finish(converted) if self._finish else converted
        except ValueError:
            expected = self._expected.format(f" in {unit}" if unit else "")
            raise refusal(key, value, expected) from None


def diagonal(a: float, b: float, c: float) -> Matrix3:
    """The 3x3 matrix with this diagonal."""
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


def is_diagonal(matrix: Matrix3) -> bool:
    """Whether all off-diagonal elements are +0.0, so that `diagonal` restores the matrix."""
    return repr(matrix) == repr(diagonal(*(matrix[i][i] for i in range(3))))


def each(value: PerRotor, rotors: int) -> tuple[float, ...]:
    """One number for each of `rotors` rotors."""
    return value if isinstance(value, tuple) else (value,) * rotors


def _matrix(value: Any) -> Matrix3:
    numbers = [isinstance(row, float) for row in value]
    if any(numbers) and not all(numbers):
        raise ValueError
    return diagonal(*value) if all(numbers) else value


def _spin(value: Any) -> float:
    if value not in ("ccw", "cw", 1.0, -1.0):
        raise ValueError
    return 1.0 if value in ("ccw", 1.0) else -1.0


_Row = float | Vector3
_Each: Any = float | Annotated[tuple[float, ...], msgspec.Meta(min_length=1, max_length=12)]
_DIAGONAL = "3 numbers (the diagonal) or 3 rows of 3 numbers{}"
number = Conversion[float](float, "a number{}")
number_or_each = Conversion[PerRotor](_Each, "a number{}, or one for each rotor")
vector2 = Conversion[Vector2](Vector2, "2 numbers{}")
vector3 = Conversion[Vector3](Vector3, "3 numbers{}")
quaternion = Conversion[Quaternion](Quaternion, "4 numbers{}")
vector3_or_number = Conversion[Vector3](
    _Row, "a number or 3 numbers{}", lambda x: (x, x, x) if isinstance(x, float) else x
)
matrix3 = Conversion[Matrix3](tuple[_Row, _Row, _Row], _DIAGONAL, _matrix)
matrix3_or_number = Conversion[Matrix3](
    float | tuple[_Row, _Row, _Row],
    _DIAGONAL,
    lambda x: diagonal(x, x, x) if isinstance(x, float) else _matrix(x),
)
spin = Conversion[float](
    float | Literal["ccw", "cw"],
    '"ccw" (counter-clockwise seen from above) or "cw"',
    _spin,
    Literal["ccw", "cw"],
)


def list_of(count: int) -> Conversion[tuple[float, ...]]:
    """A conversion of `count` numbers to a tuple."""
    size = msgspec.Meta(min_length=count, max_length=count)
    return Conversion(Annotated[tuple[float, ...], size], f"{count} numbers{{}}")


boolean = Conversion[bool](bool, "true or false")
text = Conversion[str](str, "a text")
discretisation = Conversion[str](Literal["exact", "backward_euler"], '"exact" or "backward_euler"')

_BY_TYPE: dict[Any, Conversion[Any]] = {
    float: number,
    str: text,
    bool: boolean,
    Vector2: vector2,
    Vector3: vector3,
    Quaternion: quaternion,
    Matrix3: matrix3,
    PerRotor: number_or_each,
}

Convert = Callable[[object, str, str], Any]
"""A Conversion, or a function in the annotation of a field."""


def group(kind: type[Any]) -> Convert:
    """A conversion that accepts an object of a class or a dict of its fields."""

    def convert(value: object, key: str, _unit: str) -> Any:
        if isinstance(value, kind):
            return value
        if has_names(value):
            return kind(**value)
        raise refusal(key, value, f"{kind.__name__} or a dict of its fields")

    return convert


def groups(kind: type[Any]) -> Convert:
    """A conversion of a list of objects or dicts to a tuple of objects of a class."""
    convert_item = group(kind)

    def convert(value: object, key: str, unit: str) -> Any:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise refusal(key, value, f"a list of {kind.__name__}")
        return tuple(item(each, f"{key}[{i}]", unit) for i, each in enumerate(value))

    def item(value: object, place: str, unit: str) -> Any:
        try:
            return convert_item(value, place, unit)
        except ParameterError as error:
            if not isinstance(value, Mapping):
                raise
            raise ParameterError(f"{place}: {error}") from None

    return convert


def plain_type(hint: Any) -> Any:
    """The type in an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def is_group(form: Any) -> bool:
    """Whether a type is a class of parameters."""
    return isinstance(form, msgspec.StructMeta)


def _conversion_of(hint: Any) -> Convert:
    """The conversion of a field: a function in its annotation, or that of its type."""
    for item in getattr(hint, "__metadata__", ()):
        if callable(item):
            return item  # type: ignore[no-any-return]
    plain = plain_type(hint)
    if plain in _BY_TYPE:
        return _BY_TYPE[plain]
    return group(plain) if is_group(plain) else groups(get_args(plain)[0])


def _field_of(hint: Any, table: str, name: str) -> Field:
    """Unit and meaning of a field: in its annotation, or in the table of the C++ parameters."""
    for item in getattr(hint, "__metadata__", ()):
        if isinstance(item, Field):
            return item
    none = Field("", "")
    return none if is_group(hint) else _TABLE.get(f"{table}.{name}".lstrip("."), none)


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
    conversions: ClassVar[dict[str, Convert]] = {}
    """The conversion of each field, from its annotation."""
    _fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls, **_options: Any) -> None:
        hints = {n: h for n, h in cls.__annotations__.items() if get_origin(h) is not _CLASS_VAR}
        cls.conversions = cls.conversions | {n: _conversion_of(h) for n, h in hints.items()}
        added = {name: _field_of(hint, cls.table, name) for name, hint in hints.items()}
        cls._fields = cls._fields | added
        texts = [f"    {n}: {field.description}" for n, field in added.items() if any(field)]
        if texts:
            cls.__doc__ = "\n".join([cls.__doc__ or "", "", "Attributes:", *texts])

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
