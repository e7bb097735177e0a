"""Converters: known cases, round trips, and the matrices that scipy makes of the quaternions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

NED_FROM_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FROM_FLU = np.diag([1.0, -1.0, -1.0])

Converter = Callable[[Array], Array]
PAIRS: list[tuple[Converter, Converter, int]] = [
    (pw.frames.ned_to_enu, pw.frames.enu_to_ned, 3),
    (pw.frames.frd_to_flu, pw.frames.flu_to_frd, 3),
    (pw.frames.xyzw_to_wxyz, pw.frames.wxyz_to_xyzw, 4),
    (
        pw.frames.quaternion_ned_frd_to_enu_flu,
        pw.frames.quaternion_enu_flu_to_ned_frd,
        4,
    ),
]


def quaternions(count: int) -> Array:
    """Random rotations, (count, 4), scalar first."""
    q = np.random.default_rng(1).normal(size=(count, 4))
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def matrix(quaternion: Array) -> Array:
    """What scipy makes of quaternions, scalar first."""
    return np.asarray(Rotation.from_quat(pw.frames.wxyz_to_xyzw(quaternion)).as_matrix())


def test_known_vectors() -> None:
    assert pw.frames.ned_to_enu([1.0, 2.0, 3.0]).tolist() == [2.0, 1.0, -3.0]
    assert pw.frames.enu_to_ned([1.0, 2.0, 3.0]).tolist() == [2.0, 1.0, -3.0]
    assert pw.frames.frd_to_flu([1.0, 2.0, 3.0]).tolist() == [1.0, -2.0, -3.0]
    assert pw.frames.flu_to_frd([1.0, 2.0, 3.0]).tolist() == [1.0, -2.0, -3.0]
    assert pw.frames.xyzw_to_wxyz([1.0, 2.0, 3.0, 4.0]).tolist() == [4.0, 1.0, 2.0, 3.0]
    assert pw.frames.wxyz_to_xyzw([1.0, 2.0, 3.0, 4.0]).tolist() == [2.0, 3.0, 4.0, 1.0]


def test_known_attitudes() -> None:
    """Level with the nose north is the identity in NED, a quarter turn from east in ENU."""
    half = np.sqrt(0.5)
    north = pw.frames.quaternion_ned_frd_to_enu_flu([1.0, 0.0, 0.0, 0.0])
    assert np.allclose(matrix(north), matrix(np.array([half, 0.0, 0.0, half])), atol=1e-15)
    east = pw.frames.quaternion_enu_flu_to_ned_frd([1.0, 0.0, 0.0, 0.0])
    assert np.allclose(matrix(east), matrix(np.array([half, 0.0, 0.0, half])), atol=1e-15)


def test_attitudes_turn_the_same_vectors() -> None:
    q = quaternions(50)
    for convert, world, body in (
        (pw.frames.quaternion_enu_flu_to_ned_frd, NED_FROM_ENU, FRD_FROM_FLU),
        (pw.frames.quaternion_ned_frd_to_enu_flu, NED_FROM_ENU.T, FRD_FROM_FLU.T),
    ):
        assert np.allclose(matrix(convert(q)), world @ matrix(q) @ body.T, rtol=0, atol=1e-14)
        assert np.allclose(np.linalg.norm(convert(q), axis=1), 1.0, rtol=1e-15, atol=0)


def test_vectors_are_turned_as_the_frames_are() -> None:
    v = np.random.default_rng(2).normal(size=(20, 3))
    assert np.array_equal(pw.frames.enu_to_ned(v), v @ NED_FROM_ENU.T)
    assert np.array_equal(pw.frames.flu_to_frd(v), v @ FRD_FROM_FLU.T)
    assert np.linalg.det(NED_FROM_ENU) == 1.0


@pytest.mark.parametrize(("there", "back", "size"), PAIRS)
def test_round_trips_and_shapes(there: Converter, back: Converter, size: int) -> None:
    for shape in ((size,), (5, size), (2, 3, size), (0, size)):
        values = np.random.default_rng(3).normal(size=shape)
        kept = values.copy()
        moved = there(values)
        assert moved.shape == shape
        assert moved.dtype == np.float64
        assert np.allclose(back(moved), values, rtol=0, atol=1e-15) or np.allclose(
            back(moved), -values, rtol=0, atol=1e-15
        )
        moved[...] = 0.0
        assert np.array_equal(values, kept)


@given(
    values=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4).map(lambda s: (*s, 3)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_vectors_come_back_bit_for_bit(values: Array) -> None:
    assert np.array_equal(pw.frames.ned_to_enu(pw.frames.enu_to_ned(values)), values)
    assert np.array_equal(pw.frames.frd_to_flu(pw.frames.flu_to_frd(values)), values)


@pytest.mark.parametrize(("there", "back", "size"), PAIRS)
@pytest.mark.parametrize(
    "value", [np.zeros(5), np.zeros((3, 2)), 1.0, "abc", None, {}, [[1], [2, 3]]]
)
def test_wrong_shapes_are_refused(there: Converter, back: Converter, size: int, value: Any) -> None:
    for convert in (there, back):
        with pytest.raises((ValueError, TypeError)):
            convert(value)
        with pytest.raises(ValueError, match=rf"expected .* {size}\), got shape \(2,\)"):
            convert(np.zeros(2))
