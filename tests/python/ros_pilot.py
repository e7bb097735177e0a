"""A controller node in rospy: flies from the AlphaPilot start through the first gate, in lock step.

Prints a row of time [s] and position [m] for each command. Arguments: waypoints as x,y,z [m].
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from propwash import ros

rospy = ros.import_rospy()
from nav_msgs.msg import Odometry  # noqa: E402
from std_msgs.msg import Empty, Header  # noqa: E402

RateThrust = ros.message_class("mav_msgs/msg/RateThrust")
MASS, GRAVITY = 1.0, np.array([0.0, 0.0, 9.81])
REACHED = 0.4  # m


class Pilot:
    """Answers each request on /uav/step with body rates and thrust, from the odometry."""

    def __init__(self, waypoints: list[Any]) -> None:
        self.waypoints = waypoints
        self.odometry: dict[int, Any] = {}
        self.changed = threading.Condition()
        self.command = rospy.Publisher(
            "/uav/input/rateThrust", RateThrust, queue_size=1, latch=True, tcp_nodelay=True
        )
        self.arm = rospy.Publisher("/uav/input/arm", Empty, queue_size=1, latch=True)
        rospy.Subscriber("/uav/odometry", Odometry, self.on_odometry)
        rospy.Subscriber("/uav/step", Header, self.on_request)
        self.arm.publish()

    def on_odometry(self, message: Any) -> None:
        """Keeps the last messages by their time stamp."""
        with self.changed:
            self.odometry[message.header.stamp.to_nsec()] = message
            while len(self.odometry) > 100:
                self.odometry.pop(next(iter(self.odometry)))
            self.changed.notify_all()

    def on_request(self, request: Any) -> None:
        """Publishes the command for the state at the time of the request."""
        stamp = request.stamp.to_nsec()
        with self.changed:
            self.changed.wait_for(lambda: stamp in self.odometry)
            odometry = self.odometry[stamp]
        position, message = self.control(odometry)
        print(f"{stamp * 1e-9:.9f} {position[0]:.6f} {position[1]:.6f} {position[2]:.6f}")
        if self.waypoints:
            self.command.publish(message)
        else:
            rospy.signal_shutdown("done")

    def control(self, odometry: Any) -> tuple[Any, Any]:
        """Position to acceleration to thrust vector to body rates."""
        point, turn = odometry.pose.pose.position, odometry.pose.pose.orientation
        position = np.array([point.x, point.y, point.z])
        if np.linalg.norm(self.waypoints[0] - position) < REACHED:
            self.waypoints.pop(0)
        target = self.waypoints[0] if self.waypoints else position
        twist = odometry.twist.twist.linear
        w, v = turn.w, np.array([turn.x, turn.y, turn.z])
        x, y, z = (
            axis + 2.0 * (w * np.cross(v, axis) + np.cross(v, np.cross(v, axis)))
            for axis in np.eye(3)
        )
        velocity = twist.x * x + twist.y * y + twist.z * z
        error = target - position
        desired = 3.0 * error / max(1.0, float(np.linalg.norm(error)) / 1.5)
        force = MASS * (2.5 * (desired - velocity) + GRAVITY)
        tilt = np.cross(z, force / np.linalg.norm(force))
        message = RateThrust()
        message.thrust.z = max(float(force @ z), 1.0)
        message.angular_rates.x, message.angular_rates.y = 8.0 * tilt @ x, 8.0 * tilt @ y
        message.angular_rates.z = -1.0 * float(np.arctan2(x[1], x[0]) - 0.5 * np.pi)
        return position, message


if __name__ == "__main__":
    rospy.init_node("pilot", disable_signals=False)
    Pilot([np.array([float(part) for part in text.split(",")]) for text in sys.argv[1:]])
    rospy.spin()
