"""The frames of the ROS nodes: composition, interpolation, lookups over time."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rosbags")

from propwash._rotation import rotation
from propwash.ros._node import STEP_NS
from propwash.ros._transforms import (
    FrameError,
    Transforms,
    between,
    compose,
    from_angles,
    inverse,
)
from ros_helpers import TILTED, assert_same


def test_composition_and_inverse_are_those_of_rigid_motions() -> None:
    other = from_angles((0.3, 0.1, -2.0), 0.4, -0.7, 1.1)
    joined = compose(TILTED, other)
    matrix = rotation(TILTED[1])
    assert joined[0] == pytest.approx(np.array(TILTED[0]) + matrix @ other[0])
    assert rotation(joined[1]) == pytest.approx(matrix @ rotation(other[1]))
    assert_same(compose(inverse(joined), joined), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))


def test_angles_are_those_of_the_static_transform_publisher() -> None:
    # yaw about z, then pitch about the new y, then roll about the new x
    _, attitude = from_angles((0.0, 0.0, 0.0), 0.5 * math.pi, 0.0, 0.5 * math.pi)
    assert rotation(attitude) == pytest.approx(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]))


def test_interpolation_keeps_a_constant_rate() -> None:
    a, b = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)), from_angles((4.0, 0.0, 0.0), 1.2, 0.0, 0.0)
    assert_same(between(a, b, 0.25), from_angles((1.0, 0.0, 0.0), 0.3, 0.0, 0.0))
    w, x, y, z = b[1]
    assert_same(between(a, (b[0], (-w, -x, -y, -z)), 0.25), between(a, b, 0.25))


def test_lookups_follow_the_tree_at_a_time() -> None:
    tree = Transforms()
    tree.put_static("a", "/b", from_angles((1.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    for stamp in (100, 200):
        tree.put("b", "c", stamp, from_angles((float(stamp), 0.0, 0.0), 0.0, 0.0, 0.0))
    assert tree.lookup("a", "c", 150)[0][0] == pytest.approx(151.0)
    assert tree.lookup("c", "a", 150)[0][0] == pytest.approx(-151.0)
    assert tree.lookup("/a", "c")[0][0] == pytest.approx(201.0)
    for frame_, child, stamp in [("a", "c", 99), ("a", "c", 201), ("a", "x", 150)]:
        with pytest.raises(FrameError):
            tree.lookup(frame_, child, stamp)
    tree.put_static("c", "a", TILTED)
    with pytest.raises(FrameError, match="loop"):
        tree.lookup("a", "c", 150)


def test_transforms_are_stored_for_a_limited_time() -> None:
    tree = Transforms()
    for k in range(10 * 960):
        tree.put("a", "b", k * STEP_NS, TILTED)
    assert_same(tree.lookup("a", "b", 9600 * STEP_NS - 10**9), TILTED)
    with pytest.raises(FrameError):
        tree.lookup("a", "b", 0)
    tree.put("a", "b", 5, TILTED)  # time starts again
    assert_same(tree.lookup("a", "b", 5), TILTED)
