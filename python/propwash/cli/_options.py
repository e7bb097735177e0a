"""Options of commands: a dataclass has the name, type, default, range and help of each.

    @dataclass
    class FlyOptions:
        policy: str = option("the policy file", required=True)
        seed: int = option("seed of the episodes", 0, low=0)

    add_command(commands, "fly", "fly a policy", FlyOptions, run)    # calls run(FlyOptions(…))

`bool` is a flag, a `Literal` a choice, a `list` may be repeated, a `tuple` takes one value for each
of its types, and `| None` is for an option without a default.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True)
class _Option:
    """What argparse and the check of the range need besides name, type and default."""

    text: str
    low: float
    high: float
    group: str
    arguments: dict[str, Any]


def option(
    text: str,
    default: Any = None,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    group: str = "",
    **arguments: Any,
) -> Any:
    """A field of the options of a command.

    Args:
        text: Help, to which the default is added unless it describes one.
        default: Value without the option; a list is copied.
        low: Smallest number.
        high: Largest number.
        group: Title of the group in the help.
        arguments: More of `argparse.ArgumentParser.add_argument`. positional=True: without a flag.
    """
    metadata = {"option": _Option(text, low, high, group, arguments)}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def add_command(
    commands: Any, name: str, about: str, kind: type[OptionsT], run: Callable[[OptionsT], None]
) -> argparse.ArgumentParser:
    """Adds a command with the options of a dataclass to subparsers; returns its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about)
    hints = get_type_hints(kind)
    groups: dict[str, Any] = {"": parser}
    for each in fields(kind):  # type: ignore[arg-type]
        chosen: _Option = each.metadata["option"]
        if chosen.group not in groups:
            groups[chosen.group] = parser.add_argument_group(chosen.group)
        default = each.default_factory() if callable(each.default_factory) else each.default
        arguments = {**_form(hints[each.name], chosen), **chosen.arguments, "default": default}
        flag = f"--{each.name.replace('_', '-')}"
        if arguments.pop("positional", False):
            flag = each.name
        elif arguments.get("required"):
            del arguments["default"]
        groups[chosen.group].add_argument(flag, help=_help(chosen.text, default), **arguments)
    parser.set_defaults(run=lambda parsed: run(parsed_options(kind, parsed)))
    return parser


def parsed_options(kind: type[OptionsT], parsed: argparse.Namespace) -> OptionsT:
    """The options from what argparse returned. Raises ValueError for one out of its range."""
    hints, values = get_type_hints(kind), {}
    for each in fields(kind):  # type: ignore[arg-type]
        value, chosen = getattr(parsed, each.name), each.metadata["option"]
        if (chosen.low, chosen.high) != (-math.inf, math.inf):
            check_range(each.name.replace("_", "-"), value, chosen.low, chosen.high)
        is_tuple = get_origin(_present(hints[each.name])) is tuple
        values[each.name] = tuple(value) if is_tuple and value is not None else value
    return kind(**values)


def check_range(name: str, value: float | None, low: float, high: float) -> None:
    """Raises ValueError unless `value` is None or from `low` to `high`."""
    if value is not None and not low <= value <= high:
        raise ValueError(f"--{name}: expected from {low:.10g} to {high:.10g}, got {value:.10g}")


def _form(hint: Any, chosen: _Option) -> dict[str, Any]:
    """Arguments of add_argument for a type."""
    hint = _present(hint)
    inner = get_args(hint)
    if hint is bool:
        return {"action": "store_true"}
    if "type" in chosen.arguments:
        return {}
    if get_origin(hint) is Literal:
        return {"choices": inner}
    if get_origin(hint) is tuple:
        return {"nargs": len(inner), "type": inner[0]}
    if get_origin(hint) is list:
        several = {} if "nargs" in chosen.arguments else {"action": "append"}
        return {**several, **_form(inner[0], chosen)}
    return {"type": hint}


def _present(hint: Any) -> Any:
    """A type without `| None`."""
    if get_origin(hint) in (Union, UnionType):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _help(text: str, default: Any) -> str:
    """The help with the default, and % as argparse needs it."""
    if "(default: " not in text and (default or default == 0) and default is not False:
        values = default if isinstance(default, tuple) else (default,)
        shown = (f"{each:g}" if isinstance(each, float) else str(each) for each in values)
        text += f" (default: {' '.join(shown)})"
    return text.replace("%", "%%")
