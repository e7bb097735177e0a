"""Arguments of a scene's methods, checked: rows of numbers, or one clear error.

Every function raises ValueError that names the argument.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given


def numbers(name: str, value: ArrayLike, columns: int) -> NDArray[Any]:
    """An array of numbers of shape (…, columns)."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.empty((), dtype=object)
    if array.dtype.kind not in "fiu" or array.ndim < 1 or array.shape[-1] != columns:
        raise ValueError(
            f"{name}: expected numbers of shape (…, {columns}), got {given.described(value)}"
        )
    return array


def rows(name: str, value: ArrayLike, columns: int) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Numbers (…, columns) as rows, and their axes before the last."""
    array = numbers(name, value, columns)
    flat = np.ascontiguousarray(array.reshape(-1, columns), dtype=np.float64)
    return flat, array.shape[:-1]


def two_rows(
    name: str, value: ArrayLike, other_name: str, other: ArrayLike
) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[int, ...], bool]:
    """Both as rows of one type, their axes before the last, and whether the type is float32."""
    a, b = numbers(name, value, 3), numbers(other_name, other, 3)
    if a.shape != b.shape:
        try:
            a, b = np.broadcast_arrays(a, b)
        except ValueError:
            raise ValueError(
                f"{name} and {other_name}: expected shapes that go together, "
                f"got {a.shape} and {b.shape}"
            ) from None
    single = a.dtype == np.float32 and b.dtype == np.float32
    dtype = np.float32 if single else np.float64
    first, second = (np.ascontiguousarray(x.reshape(-1, 3), dtype=dtype) for x in (a, b))
    return (first, second), a.shape[:-1], single


def reach(max_range: float) -> float:
    """A number > 0 [m], infinity included."""
    if not isinstance(max_range, Real) or isinstance(max_range, bool) or not max_range > 0.0:
        raise ValueError(f"max_range: expected a number > 0 [m], got {max_range!r:.100}")
    return float(max_range)


def positive_radius(radius: float) -> float:
    """A finite number > 0 [m]."""
    metres = given.number("radius", radius, "a number > 0 [m]")
    if not metres > 0.0:
        raise ValueError(f"radius: expected a number > 0 [m], got {radius!r:.100}")
    return metres


def edges(size: ArrayLike) -> tuple[float, float, float]:
    """Three finite numbers > 0 [m]."""
    lengths = numbers("size", size, 3)
    if lengths.ndim != 1 or not np.all(np.isfinite(lengths)) or not np.all(lengths > 0.0):
        raise ValueError(f"size: expected 3 finite numbers > 0 [m], got {given.described(size)}")
    x, y, z = (float(length) for length in lengths)
    return x, y, z


def attitudes(attitude: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Unit quaternions for each of the positions, as rows."""
    array = numbers("attitude", attitude, 4).astype(np.float64)
    unit = np.abs(np.sum(array * array, axis=-1) - 1.0)
    if np.any(unit > 1e-3):  # a number that is none passes, as in a position
        raise ValueError(
            f"attitude: expected unit quaternions (w, x, y, z), got {given.described(attitude)}"
        )
    try:
        wide = np.broadcast_to(array, (*shape, 4))
    except ValueError:
        raise ValueError(
            f"attitude: expected shape {(*shape, 4)} as the positions have, got {array.shape}"
        ) from None
    return np.ascontiguousarray(wide.reshape(-1, 4))
