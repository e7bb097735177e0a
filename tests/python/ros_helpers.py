"""Messages for the tests of the ROS nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags")

from propwash import ros
from propwash.ros import _messages
from propwash.ros._transforms import Pose

ARM, RESET, COLLISION = "/uav/input/arm", "/uav/input/reset", "/uav/collision"
RATE_THRUST, MOTOR_SPEED = "/uav/input/rateThrust", "/uav/input/motorspeed"
IMU, ODOMETRY, FPS = "/uav/sensors/imu", "/uav/odometry", "/uav/camera/debug/fps"
TILTED: Pose = ((1.0, -2.0, 3.0), (0.5, 0.5, -0.5, 0.5))


def assert_same(a: Pose, b: Pose, tolerance: float = 1e-12) -> None:
    """Fails unless two poses are equal; q and -q are."""
    assert a[0] == pytest.approx(b[0], abs=tolerance)
    assert abs(np.dot(a[1], b[1])) == pytest.approx(1.0, abs=tolerance)


def empty() -> Any:
    """A std_msgs/Empty."""
    return _messages.empty()


def rate_thrust(rates: Sequence[float], thrust: float) -> Any:
    """A mav_msgs/RateThrust: rad/s and N."""
    vector = ros.type_of("geometry_msgs/msg/Vector3")
    return ros.type_of("mav_msgs/msg/RateThrust")(
        _messages.header(0), vector(*rates), vector(0.0, 0.0, thrust)
    )


def motor_speeds(speeds: Sequence[float]) -> Any:
    """A mav_msgs/Actuators: rad/s."""
    none = np.zeros(0)
    return ros.type_of("mav_msgs/msg/Actuators")(
        _messages.header(0), none, np.array(speeds, dtype=float), none
    )


def fps(value: float) -> Any:
    """A std_msgs/Float32."""
    return ros.type_of("std_msgs/msg/Float32")(value)


def uav(parameters: dict[str, Any] | None = None, noise: bool = False) -> ros.Uav:
    """A multicopter; parameters of its section, and `pid` of that of its controller."""
    dynamics = dict(parameters or {})
    sections = {
        "flightgoggles_pid": dynamics.pop("pid", {}),
        "flightgoggles_uav_dynamics": dynamics,
    }
    return ros.Uav(ros.uav_settings({"uav": sections}), noise=noise)


def steps(node: ros.Node, count: int) -> list[dict[str, Any]]:
    """Messages of so many steps, by topic."""
    made = [node.step() for _ in range(count)]
    assert None not in made
    return [dict(outputs or []) for outputs in made]
