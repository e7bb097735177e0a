"""Checks of arguments: numbers and arrays of the expected type, shape and range.

Each function returns the checked value, or raises ValueError or TypeError that names the argument,
what was expected and the invalid value; for arrays over vehicles also the first invalid vehicle.
"""

from __future__ import annotations

import difflib
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import index
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Numbers = NDArray[Any]
Flags = NDArray[np.bool_]
T = TypeVar("T")
LEVEL = (1.0, 0.0, 0.0, 0.0)
"""The attitude of axes that are parallel to the world's."""


class ParameterError(ValueError):
    """An invalid parameter, key or vehicle; the message says what was expected (docs/errors.md)."""


ParameterError.__module__ = "propwash"  # where users find it


def require_scipy(what: str) -> None:
    """Raises ImportError, with the command that installs it, where scipy is missing."""
    try:
        import scipy  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{what} needs scipy: pip install "propwash[tune]"') from error


def require_casadi(what: str) -> None:
    """Raises ImportError, with the command that installs it, where casadi is missing."""
    try:
        import casadi  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{what} needs casadi: pip install "propwash[optimal]"') from error


@contextmanager
def checked_parameters() -> Iterator[None]:
    """Converts errors of checks in its body into ParameterError; also decorates constructors."""
    try:
        yield
    except ParameterError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(str(error)) from error


class _Short(reprlib.Repr):
    """A repr of bounded time and length: YAML aliases can expand to 10^9 items."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 4, 8, 12, 12
        self.maxstring, self.maxother = 80, 200

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return f"an integer of {bits} bits" if bits > 256 else repr(x)


_SHORT = _Short()


def shown(value: object, length: int = 80) -> str:
    """The repr of a value in at most `length` characters."""
    text = _SHORT.repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def refusal(key: str, value: object, expected: str) -> ParameterError:
    """The error for a value of the wrong type or form."""
    return ParameterError(f"{key} = {shown(value)}: expected {expected}")


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion of the most similar known name, for the end of a message, or an empty string."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def described(value: object) -> str:
    """The type, shape and shortened repr of an invalid value, for a message."""
    text = f"{value!r:.100}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}: {text}"
    return text


def whole_number(name: str, value: object, minimum: int, maximum: int) -> int:
    """A whole number in [minimum, maximum]."""
    try:
        number = None if isinstance(value, bool | np.bool_) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not minimum <= number <= maximum:
        raise ValueError(
            f"{name}: expected a whole number from {minimum} to {maximum}, got {value!r:.100}"
        )
    return number


def seed(value: object, name: str = "seed", bits: int = 64) -> int:
    """A whole number of `bits` bits: a seed, or the id of a vehicle."""
    return whole_number(name, value, 0, 2**bits - 1)


def number(
    name: str,
    value: object,
    expected: str = "a finite number",
    valid: Callable[[float], bool] = math.isfinite,
) -> float:
    """A number for which `valid` returns True; `expected` describes it in the message."""
    array = numeric(name, value, expected)
    if array.ndim != 0 or not valid(float(array)):
        raise ValueError(f"{name}: expected {expected}, got {described(value)}")
    return float(array)


def positive(name: str, value: object, unit: str = "", *, infinite: bool = False) -> float:
    """A number > 0, which must be finite unless `infinite` is set."""
    expected = f"a number > 0{_in(unit)}" if infinite else f"a finite number > 0{_in(unit)}"
    return number(name, value, expected, lambda x: x > 0.0 and (infinite or x < math.inf))


def not_negative(name: str, value: object, unit: str = "") -> float:
    """A finite number >= 0."""
    return number(name, value, f"a finite number >= 0{_in(unit)}", lambda x: 0.0 <= x < math.inf)


def probability(name: str, value: object) -> float:
    """A number in [0, 1]."""
    return number(name, value, "a number in [0, 1]", lambda x: 0.0 <= x <= 1.0)


def half_turn(name: str, value: object) -> float:
    """An angle in [0, pi]."""
    return number(name, value, "a number in [0, pi] [rad]", lambda x: 0.0 <= x <= math.pi)


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: expected True or False, got {value!r:.100}")
    return bool(value)


def choice(name: str, value: object, known: Sequence[str]) -> str:
    """One of the known names."""
    if not isinstance(value, str) or value not in known:
        expected = " or ".join([", ".join(map(repr, known[:-1])), repr(known[-1])])
        hint = nearest(value, known) if isinstance(value, str) else ""
        raise ValueError(f"{name}: expected {expected}, got {value!r:.100}{hint}")
    return value


def names(name: str, value: object, known: Sequence[str]) -> list[str]:
    """Some of the known names, each once; a single name may be passed by itself."""
    chosen = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    for item in chosen:
        if item not in known:
            raise ValueError(f"{name}: expected some of {', '.join(known)}, got {item!r:.100}")
    return list(dict.fromkeys(chosen))


def numpy_type(dtype: object) -> np.dtype[Any]:
    """The dtype float32 or float64."""
    name = ""
    if dtype is not None:  # numpy converts None to float64
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


def require_state(expected: str, *parts: object) -> None:
    """Raises TypeError if set_state() was called without a state and without parts of one."""
    if all(part is None for part in parts):
        raise TypeError(f"state: expected {expected}, or parts of one by name, got None")


def numeric(name: str, value: object, expected: str) -> Numbers:
    """An array of real numbers of any shape. Raises TypeError for other types."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected {expected}, got {described(value)}")
    return array


def of_shape(
    name: str, value: object, *shapes: tuple[int | str, ...], unit: str = "", finite: bool = False
) -> Numbers:
    """An array of real numbers of one of some shapes.

    In a shape, a letter stands for any extent and "…" for any leading axes; () is a number.
    """
    texts = (
        f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})" if shape else "a number"
        for shape in shapes
    )
    expected = f"{'finite ' * finite}numbers{_in(unit)} of shape {' or '.join(texts)}"
    array = numeric(name, value, expected)
    if not any(_has_shape(array, shape) for shape in shapes):
        raise ValueError(f"{name}: expected {expected}, got {described(value)}")
    if finite:
        _require_finite(name, array, expected)
    return array


def shaped(
    name: str, value: object, *shapes: tuple[int | str, ...], unit: str = "", finite: bool = True
) -> Array:
    """A float64 array of one of some shapes, as of_shape(); a copy."""
    return of_shape(name, value, *shapes, unit=unit, finite=finite).astype(np.float64)


def broadcast(
    name: str,
    value: object,
    shape: tuple[int, ...],
    *,
    per_vehicle: bool = False,
    finite: bool = False,
    hint: str = "",
) -> Array:
    """A contiguous float64 array of `shape` from numbers that broadcast to it.

    per_vehicle: numbers (n,) that are not one row are one number for each vehicle. hint: the end
    of the message for another shape.
    """
    expected = f"{'finite ' * finite}numbers of shape {shape}, or that broadcast to it"
    array = numeric(name, value, expected)
    if per_vehicle and array.ndim == 1 and len(shape) > 1 and array.shape != shape[1:]:
        array = array.reshape(-1, *(1 for _ in shape[1:]))
    try:
        full = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name}: expected {expected}, got {described(value)}{hint}") from None
    if finite:
        _require_finite(name, array, expected)
    return np.ascontiguousarray(full, dtype=np.float64)


def _require_finite(name: str, array: Numbers, expected: str) -> None:
    if np.isfinite(array).all():
        return
    first = np.argwhere(~np.isfinite(array))[0].tolist()
    place = f" at {first}" if first else ""
    raise ValueError(f"{name}: expected {expected}, got {array[tuple(first)]}{place}")


def _has_shape(array: Numbers, shape: tuple[int | str, ...]) -> bool:
    extents = array.shape
    if shape and shape[0] == "…":
        shape = shape[1:]
        extents = extents[max(0, len(extents) - len(shape)) :]
    return len(extents) == len(shape) and all(
        isinstance(expected, str) or extent == expected
        for extent, expected in zip(extents, shape, strict=True)
    )


def mask(value: object, size: int) -> Flags | None:
    """(size,) booleans, one for each vehicle; None for all vehicles."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"mask: expected {size} booleans, got {described(value)}")
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
    """Finite numbers of `dtype`: (size, *shape) for each vehicle, or (*shape) for all vehicles.

    With a mask, rows of other vehicles are not checked; alternatively the array has one row for
    each chosen vehicle.
    """
    shapes = [(size, *shape), shape]
    if chosen is not None:
        shapes.append((int(np.count_nonzero(chosen)), *shape))
    array = of_shape(name, value, *shapes, unit=unit)
    if array.shape not in shapes[:2]:
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
    """Raises ValueError for the first chosen vehicle with a bad number.

    The last `axes` axes are those of one vehicle.
    """
    if not bad.any():
        return
    wrong = bad.reshape(*bad.shape[: bad.ndim - axes], -1).any(axis=-1)
    if wrong.ndim == 0:
        raise ValueError(f"{name}: expected {expected}, got {array.tolist()!r:.100}")
    if chosen is not None:
        wrong &= chosen
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    numbers = f"{array[first].tolist()!r:.100}"
    raise ValueError(f"{name}: expected {expected}, got {numbers} for vehicle {first}")


def unit_quaternions(name: str, array: Numbers, chosen: Flags | None = None) -> Numbers:
    """Normalises unit quaternions (n, 4) or (4,), which may have small errors.

    Rows with NaN remain NaN. Raises ValueError for other lengths.
    """
    exact = array.astype(np.float64)
    squared = np.sum(exact * exact, axis=-1, keepdims=True)
    bad = np.isfinite(squared) & (np.abs(squared - 1.0) >= 1e-3)
    refuse_where(bad, name, array, 1, "unit quaternions (w, x, y, z)", chosen)
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(exact / np.sqrt(np.where(bad, 1.0, squared)), dtype=array.dtype)


def attitudes(name: str, value: object) -> Array:
    """(4,) or (n, 4) unit quaternions, normalised, read-only."""
    array = unit_quaternions(name, shaped(name, value, (4,), ("n", 4)))
    array.flags.writeable = False
    return array


def poses(
    position: object, attitude: object, dtype: np.dtype[Any] | None = None
) -> tuple[tuple[int, ...], Numbers, Numbers]:
    """The leading axes (…) of bodies, positions (n, 3) and attitudes (n, 4); n = product of axes.

    Positions have shape (…, 3); attitudes broadcast to (…, 4). The dtype is float32 if that is the
    dtype of the positions, else float64, unless `dtype` is set. Numbers need not be finite.
    """
    lead, positions = flattened("position", position, 3)
    if dtype is None:
        dtype = positions.dtype if positions.dtype == np.float32 else np.dtype(np.float64)
    _, attitudes = flattened("attitude", LEVEL if attitude is None else attitude, 4, lead)
    attitudes = unit_quaternions("attitude", attitudes.astype(np.float64))
    return lead, np.ascontiguousarray(positions, dtype=dtype), attitudes.astype(dtype)


def vectors(name: str, value: object, lead: tuple[int, ...], dtype: np.dtype[Any]) -> Numbers:
    """(n, 3) from numbers that broadcast to (*lead, 3); zeros for None."""
    return np.ascontiguousarray(
        flattened(name, (0, 0, 0) if value is None else value, 3, lead)[1], dtype
    )


def vector_pairs(
    name: str, value: object, other_name: str, other: object
) -> tuple[tuple[int, ...], tuple[Numbers, Numbers]]:
    """The leading axes of two arrays (…, 3), broadcast against each other, and both as (n, 3).

    The dtype is float32 if both arrays have it, else float64.
    """
    a, b = (
        of_shape(label, array, ("…", 3)) for label, array in ((name, value), (other_name, other))
    )
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError:
        raise ValueError(
            f"{name} and {other_name}: expected shapes that broadcast, got {a.shape} and {b.shape}"
        ) from None
    dtype = np.float32 if a.dtype == b.dtype == np.float32 else np.float64
    first, second = (np.ascontiguousarray(each.reshape(-1, 3), dtype=dtype) for each in (a, b))
    return a.shape[:-1], (first, second)


def flattened(
    name: str, value: object, width: int, lead: tuple[int, ...] | None = None
) -> tuple[tuple[int, ...], Numbers]:
    """The leading axes of an array (…, width), and the array as (n, width).

    If `lead` is not None, the array is broadcast to (*lead, width).
    """
    array = of_shape(name, value, ("…", width))
    if lead is not None:
        try:
            array = np.broadcast_to(array, (*lead, width))
        except ValueError:
            raise ValueError(
                f"{name}: expected shape {(*lead, width)} or ({width},), got {described(value)}"
            ) from None
    return array.shape[:-1], array.reshape(-1, width)


def rows_of(
    scenes: T | Sequence[T], kind: type[T], scene_of: ArrayLike | None, n: int, what: str
) -> list[tuple[T, NDArray[np.intp]]]:
    """Returns scenes and the rows of n points or bodies in them. Raises ValueError or TypeError.

    kind: Class of scenes. scene_of: n indices in `scenes`; None: the one scene, or n scenes.
    what: Name of a row.
    """
    known = [scenes] if isinstance(scenes, kind) else list(cast(Sequence[T], scenes))
    if not known or not all(isinstance(each, kind) for each in known):
        raise TypeError(
            f"scenes: expected a Scene or a sequence of one or more, got {shown(scenes)}"
        )
    if scene_of is None and len(known) not in (1, n):
        raise ValueError(
            f"scene_of: expected {n} indices, one for each {what}, for {len(known)} scenes, got "
            "None"
        )
    default = np.zeros(n, int) if len(known) == 1 else np.arange(n)
    numbers: NDArray[Any] = default if scene_of is None else np.asarray(scene_of)
    if numbers.dtype.kind not in "iu" or numbers.size != n:
        raise ValueError(
            f"scene_of: expected {n} whole numbers, one for each {what}, got {described(scene_of)}"
        )
    numbers = numbers.reshape(n)
    if ((numbers < 0) | (numbers >= len(known))).any():
        raise ValueError(f"scene_of: expected indices of {len(known)} scenes, got {numbers!s:.100}")
    return [(known[number], np.flatnonzero(numbers == number)) for number in np.unique(numbers)]
