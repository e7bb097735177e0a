"""Rotations: Euler angles, products and interpolation of unit quaternions."""

from __future__ import annotations

import numpy as np
import pytest
from propwash import _rotation

rng = np.random.default_rng(1)
ROLL, PITCH, YAW = (rng.uniform(-limit, limit, 50) for limit in (3.1, 1.5, 3.1))


def test_euler_angles_are_rotations_about_z_then_y_then_x() -> None:
    found = _rotation.from_euler(ROLL, PITCH, YAW)
    for q, roll, pitch, yaw in zip(found, ROLL, PITCH, YAW, strict=True):
        about_x = (np.cos(0.5 * roll), np.sin(0.5 * roll), 0.0, 0.0)
        about_zy = _rotation.product(_rotation.about_z(yaw), _rotation.about_y(pitch))
        np.testing.assert_allclose(q, _rotation.product(about_zy, about_x), atol=1e-15)
        assert _rotation.euler(q) == pytest.approx((roll, pitch, yaw), abs=1e-9)
        assert _rotation.yaw(q) == _rotation.euler(q)[2]


def test_interpolation_takes_the_shorter_arc() -> None:
    angles = np.array([0.0, 0.4, 1.0])
    q = _rotation.from_euler(0.0, 0.0, angles) * np.array([[1.0], [-1.0], [1.0]])
    found = _rotation.interpolated(np.array([0.5, 1.0, 1.5]), np.arange(3.0), q)
    yaws = [_rotation.yaw(each) for each in found]
    assert yaws == pytest.approx([0.2, 0.4, 0.7], abs=1e-12)
