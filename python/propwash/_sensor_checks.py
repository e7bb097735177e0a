"""What a caller gives to a sensor, checked: arrays, or one clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as given

Array = NDArray[np.float64]
Numbers = NDArray[Any]
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def numbers(name: str, value: object) -> Array:
    """Finite numbers of any shape, in float64."""
    array = given.numeric(name, value, "numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {given.described(value)}")
    return array.astype(np.float64)


def vector(name: str, value: object, unit: str) -> Array:
    """Three finite numbers."""
    array = numbers(name, value)
    if array.shape != (3,):
        raise ValueError(f"{name}: expected 3 numbers [{unit}], got {given.described(value)}")
    return array


def points(name: str, value: object) -> Array:
    """(m, 3) or (3,) finite numbers."""
    array = numbers(name, value)
    if array.ndim not in (1, 2) or array.shape[-1] != 3:
        raise ValueError(
            f"{name}: expected an array of shape (m, 3) or (3,), got {given.described(value)}"
        )
    return array


def triples(name: str, value: object) -> Array:
    """(…, 3) finite numbers."""
    array = numbers(name, value)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise ValueError(f"{name}: expected an array of shape (…, 3), got {given.described(value)}")
    return array


def fixed(name: str, value: object, width: int, unit: str) -> Array:
    """(width,) or (n, width) finite numbers, read-only."""
    array = numbers(name, value)
    if array.ndim not in (1, 2) or array.shape[-1] != width or array.size == 0:
        raise ValueError(
            f"{name}: expected numbers [{unit}] of shape ({width},) or (n, {width}), got "
            f"{given.described(value)}"
        )
    array.flags.writeable = False
    return array


def fixed_attitude(name: str, value: object) -> Array:
    """(4,) or (n, 4) unit quaternions, made exactly unit, read-only."""
    array = unit(name, fixed(name, value, 4, "1"), np.dtype(np.float64))
    array.flags.writeable = False
    return array


def unit(name: str, array: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """Unit quaternions (…, 4), made exactly unit; those that are not finite stay so."""
    exact = array.astype(np.float64)
    squared = np.sum(exact * exact, axis=-1, keepdims=True)
    bad = np.isfinite(squared) & (np.abs(squared - 1.0) >= 1e-3)
    if bad.any():
        first = exact.reshape(-1, 4)[int(np.argmax(bad.reshape(-1)))]
        raise ValueError(
            f"{name}: expected unit quaternions (w, x, y, z), got {first.tolist()!r:.100}"
        )
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(exact / np.sqrt(squared), dtype=dtype)


def poses(
    position: object, attitude: object, dtype: np.dtype[Any] | None = None
) -> tuple[tuple[int, ...], Numbers, Numbers]:
    """The axes (…) of bodies, positions (n, 3) and attitudes (n, 4), n the product of the axes.

    Positions of shape (…, 3); attitudes (…, 4), or (4,) for all alike. float32 where positions are,
    unless a dtype is given. Numbers need not be finite.
    """
    lead, at = _rows("position", position, 3, None)
    if dtype is None:
        dtype = at.dtype if at.dtype == np.float32 else np.dtype(np.float64)
    _, turned = _rows("attitude", LEVEL if attitude is None else attitude, 4, lead)
    return lead, np.ascontiguousarray(at, dtype=dtype), unit("attitude", turned, dtype)


def origins(attitude: object) -> Numbers:
    """Positions (…, 3) at the origin for attitudes (…, 4): float32 where these are."""
    lead, turned = _rows("attitude", attitude, 4, None)
    return np.zeros((*lead, 3), np.float32 if turned.dtype == np.float32 else np.float64)


def rows(name: str, value: object, lead: tuple[int, ...], dtype: np.dtype[Any]) -> Numbers:
    """(n, 3) of numbers (…, 3), or (3,) for all alike; None: zeros."""
    _, array = _rows(name, np.zeros(3) if value is None else value, 3, lead)
    return np.ascontiguousarray(array, dtype=dtype)


def _rows(
    name: str, value: object, width: int, lead: tuple[int, ...] | None
) -> tuple[tuple[int, ...], Numbers]:
    shape = f"(…, {width})" if lead is None else f"{(*lead, width)} or ({width},)"
    array = given.numeric(name, value, f"numbers of shape {shape}")
    fits = array.ndim > 0 and array.shape[-1] == width
    if lead is None:
        lead = array.shape[:-1]
    fits = fits and array.shape[:-1] in ((), lead)
    if not fits:
        raise ValueError(f"{name}: expected numbers of shape {shape}, got {given.described(value)}")
    return lead, np.broadcast_to(array, (*lead, width)).reshape(-1, width)


def at_least(
    name: str, value: object, least: float, unit_name: str, *, open_: bool = False
) -> float:
    """A number >= least, or > least."""
    number = given.number(name, value, f"a finite number [{unit_name}]")
    if number < least or (open_ and number == least):
        sign = ">" if open_ else ">="
        raise ValueError(f"{name}: expected a number {sign} {least:g} [{unit_name}], got {number}")
    return number


def duration(name: str, value: object) -> float:
    """A number > 0 [s]; infinite is allowed."""
    if isinstance(value, float | np.floating) and value == np.inf:
        return np.inf
    return at_least(name, value, 0.0, "s", open_=True)
