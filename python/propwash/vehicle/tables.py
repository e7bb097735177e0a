"""Conversion of TOML tables to parameter sets, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Self, TypeVar

import msgspec

from propwash._checks import ParameterError, refusal, shown
from propwash.vehicle import fields as values
from propwash.vehicle.fields import ParameterSet

SetT = TypeVar("SetT", bound=ParameterSet)
Hint = Callable[[str, Sequence[str]], str]
"""Maps an unknown key and the known keys to the end of an error message."""

_UNSET: Any = msgspec.UNSET
SOURCES = Annotated[
    dict[str, str], msgspec.Meta(description="source of the numbers: key or table to text")
]


class PosteriorTable(msgspec.Struct, forbid_unknown_fields=True):
    """The table [posterior] of a vehicle file: see `identify.Posterior`."""

    parameters: Annotated[list[str], msgspec.Meta(min_length=1)]
    standard_deviations: list[float]
    correlations: list[list[float]]

    @classmethod
    def of(cls, value: object) -> Self:
        """Converts the table of a file. Raises ParameterError for an invalid one."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise ParameterError(f"posterior: {error}") from None


def table(value: object, key: str, expected: str = "a table") -> dict[str, Any]:
    """A table of a file. Raises ParameterError for other values."""
    if not isinstance(value, dict):
        raise refusal(key, value, expected)
    return value


def refuse_missing(
    table: dict[str, Any], needed: Iterable[str], key: str, reason: str = ""
) -> None:
    """Raises ParameterError if a key is missing from a table."""
    missing = [_dotted(key, name) for name in needed if name not in table]
    if missing:
        raise ParameterError(f"missing {', '.join(missing)}{reason}")


def refuse_unknown(table: dict[str, Any], known: Sequence[str], key: str, hint: Hint) -> None:
    """Raises ParameterError for an unknown key. hint: returns the end of the message."""
    for name, value in table.items():
        if name in known:
            continue
        text = hint(name, known) or f"; known here: {', '.join(known)}"
        place = _dotted(key, f"{name:.80}")
        if isinstance(value, dict):
            raise ParameterError(f"unknown table [{place}]{text}")
        raise ParameterError(f"unknown key {place} = {shown(value)}{text}")


def _dotted(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def made(
    kind: type[SetT],
    table: dict[str, Any],
    key: str,
    hint: Hint,
    *,
    extra: Sequence[str] = (),
    required: Sequence[str] = (),
    reason: str = "",
) -> SetT:
    """Converts a table to a parameter set; errors name the keys of the file.

    extra: allowed keys that are not fields. required: fields that a file must have although the
    class has a default. reason: end of the message for a missing field.
    """
    refuse_unknown(table, (*kind.__struct_fields__, *extra), key, hint)
    needed = [field.name for field in msgspec.structs.fields(kind) if field.required]
    refuse_missing(table, (*required, *needed), key, reason)
    return kind(
        **{
            name: kind.conversions[name](value, _dotted(key, name), kind.field(name).unit)
            for name, value in table.items()
        }
    )


def described(form: Any, meaning: str) -> Any:
    """The type of a key, annotated with its description."""
    return Annotated[form, msgspec.Meta(description=meaning)] if meaning else form


def file_struct(
    kind: type[ParameterSet],
    name: str,
    *,
    head: Iterable[tuple[str, Any]] = (),
    extra: Iterable[tuple[str, Any, str]] = (),
    optional: Iterable[str] = (),
    only: Iterable[str] | None = None,
    forms: dict[str, Any] | None = None,
) -> type[msgspec.Struct]:
    """The type of a table in a file, for its JSON Schema.

    head, extra: keys before and after the fields. optional: fields that a file may omit although
    the class requires them. only: the included fields, by default all except groups. forms: types
    of fields that differ in a file.
    """
    fields: list[Any] = list(head)
    for field in msgspec.structs.fields(kind):
        form = values.plain_type(field.type)
        if values.is_group(form) or (only is not None and field.name not in only):
            continue
        form = getattr(kind.conversions[field.name], "schema", form)
        form = described((forms or {}).get(field.name, form), kind.field(field.name).description)
        if field.required and field.name not in optional:
            fields.append((field.name, form))
        else:
            fields.append((field.name, form | msgspec.UnsetType, _UNSET))
    for key, form, meaning in extra:
        fields.append((key, described(form, meaning) | msgspec.UnsetType, _UNSET))
    struct = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    struct.__doc__ = (kind.__doc__ or "").split("\n")[0]
    return struct
