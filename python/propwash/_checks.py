"""What a caller gives to a fleet, checked: arrays of the fleet's own type, or one clear error.

Every function raises ValueError or TypeError that names the argument, what was expected, what came
and, for numbers, the first vehicle that is wrong.
"""

from __future__ import annotations

import difflib
import os
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Flags = NDArray[np.bool_]


class ParameterError(ValueError):
    """An invalid parameter, key or vehicle; the message says what was expected (docs/errors.md)."""


ParameterError.__module__ = "propwash"  # where users find it


def require_scipy(what: str) -> None:
    """Raises ImportError, with the command that installs it, where scipy is missing."""
    try:
        import scipy  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{what} needs scipy: pip install "propwash[tune]"') from error


@contextmanager
def checked_parameters() -> Iterator[None]:
    """Raises what is refused within as ParameterError; also a decorator, of constructors."""
    try:
        yield
    except ParameterError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(str(error)) from error


class _Short(reprlib.Repr):
    """Bounded in time and length whatever the value: YAML's aliases can hold 10^9 items."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 4, 8, 12, 12
        self.maxstring, self.maxother = 80, 200

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return f"an integer of {bits} bits" if bits > 256 else repr(x)


_SHORT = _Short()


def shown(value: object, length: int = 80) -> str:
    """What a value is, in at most `length` characters."""
    text = _SHORT.repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def refusal(key: str, value: object, expected: str) -> ParameterError:
    """The error for a value that has not the expected form."""
    return ParameterError(f"{key} = {shown(value)}: expected {expected}")


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after the nearest known name, or nothing where none is near."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """A whole number in [least, most]."""
    try:
        number = None if isinstance(value, bool | np.bool_) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(
            f"{name}: expected a whole number from {least} to {most}, got {value!r:.100}"
        )
    return number


def number(name: str, value: object, expected: str = "a finite number") -> float:
    """A finite number."""
    array = numeric(name, value, expected)
    if array.ndim != 0 or not np.isfinite(array):
        raise ValueError(f"{name}: expected {expected}, got {described(value)}")
    return float(array)


def positive(name: str, value: object) -> float:
    """A finite number > 0."""
    found = number(name, value, "a finite number > 0")
    if not found > 0.0:
        raise ValueError(f"{name}: expected a finite number > 0, got {value!r:.100}")
    return found


def numpy_type(dtype: object) -> np.dtype[Any]:
    """float32 or float64."""
    name = ""
    if dtype is not None:  # which numpy takes for float64
        with suppress(TypeError):
            name = np.dtype(dtype).name  # type: ignore[call-overload]
    if name not in ("float32", "float64"):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r:.100}")
    return np.dtype(name)


def available_threads() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def described(value: object) -> str:
    """What came, short enough for a message."""
    text = f"{value!r:.100}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}: {text}"
    return text


def mask(value: object, size: int) -> Flags | None:
    """One truth value for each vehicle; None for all vehicles."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"mask: expected {size} truth values, got {described(value)}")
    if array.shape != (size,):
        raise ValueError(f"mask: expected shape ({size},), got {described(value)}")
    return np.ascontiguousarray(array)


def rows(
    name: str,
    value: object,
    size: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    unit: str,
    chosen: Flags | None = None,
) -> Numbers:
    """Numbers for each vehicle, (size, *shape), or for all alike, (*shape): finite, of `dtype`.

    With a mask, rows of vehicles that it leaves out are not looked at; there may be as many rows as
    it chooses vehicles instead, which then are theirs.
    """
    each = ", ".join(str(extent) for extent in (size, *shape)) + ("" if shape else ",")
    alike = f"shape {shape} for all vehicles alike" if shape else "a number for all vehicles alike"
    expected = f"numbers [{unit}] of shape ({each}), or of {alike}"
    array = numeric(name, value, expected)
    if array.shape not in (shape, (size, *shape)):
        count = -1 if chosen is None else int(np.count_nonzero(chosen))
        if array.shape != (count, *shape):
            raise ValueError(f"{name}: expected {expected}, got {described(value)}")
        all_rows = np.zeros((size, *shape), dtype=array.dtype)
        all_rows[chosen] = array
        array = all_rows
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=dtype)
    refuse_where(~np.isfinite(array), name, array, len(shape), "finite numbers", chosen)
    return array


def refuse_where(
    bad: NDArray[np.bool_],
    name: str,
    array: Numbers,
    axes: int,
    expected: str,
    chosen: Flags | None = None,
) -> None:
    """Raises ValueError for the first vehicle with a bad number, of `axes` axes for each."""
    if not bad.any():
        return
    wrong = bad.reshape(*bad.shape[: bad.ndim - axes], -1).any(axis=-1)
    if wrong.ndim == 0:
        raise ValueError(f"{name}: expected {expected}, got {_listed(array)}")
    if chosen is not None:
        wrong &= chosen
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    raise ValueError(
        f"{name}: expected {expected}, got {_listed(array[first])} for vehicle {first}"
    )


def unit_quaternions(name: str, array: Numbers, chosen: Flags | None) -> Numbers:
    """Quaternions made exactly unit, as those of a single vehicle are."""
    exact = array.astype(np.float64)
    squared = np.sum(exact * exact, axis=-1, keepdims=True)
    bad = ~(np.abs(squared - 1.0) < 1e-3)
    refuse_where(bad, name, array, 1, "unit quaternions (w, x, y, z)", chosen)
    return np.ascontiguousarray(exact / np.sqrt(np.where(bad, 1.0, squared)), dtype=array.dtype)


def names(name: str, value: object, known: Sequence[str]) -> list[str]:
    """Some of the known names."""
    given = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    for item in given:
        if item not in known:
            raise ValueError(f"{name}: expected some of {', '.join(known)}, got {item!r:.100}")
    return list(dict.fromkeys(given))


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: expected True or False, got {value!r:.100}")
    return bool(value)


def _listed(numbers: Numbers) -> str:
    return f"{numbers.tolist()!r:.100}"


def numeric(name: str, value: object, expected: str) -> Numbers:
    """An array of real numbers. Raises TypeError for what is none."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected {expected}, got {described(value)}")
    return array


def finite(
    name: str, value: object, shape: str, axes: int, last: int | None = None
) -> NDArray[np.float64]:
    """Finite numbers of so many axes; `shape` is what the message calls them."""
    array: NDArray[np.float64] = numeric(name, value, f"numbers of shape {shape}").astype(
        np.float64
    )
    if array.ndim != axes or (last is not None and array.shape[-1] != last):
        raise ValueError(f"{name}: expected shape {shape}, got {described(value)}")
    if not np.isfinite(array).all():
        first = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name}: expected finite numbers, got {array[tuple(first)]} at {first}")
    return array


def require_state(expected: str, *parts: object) -> None:
    """Refuses a call of set_state() with nothing to set. Raises TypeError."""
    if all(part is None for part in parts):
        raise TypeError(f"state: expected {expected}, or parts of one by name, got None")
