"""Counts the IMU messages that a subscriber in rospy receives from `python -m propwash ros`.

With a master and the node running: `python bench/ros_rate.py --seconds 10`. Arms the vehicle.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from propwash import ros

rospy = ros.import_rospy()
from sensor_msgs.msg import Imu  # noqa: E402
from std_msgs.msg import Empty  # noqa: E402


def main() -> None:
    """Subscribes, waits, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="wall time (default: 10)")
    seconds = parser.parse_args().seconds
    rospy.init_node("rate", disable_rostime=True)
    numbers: list[int] = []
    times: list[float] = []

    def receive(message: Any) -> None:
        numbers.append(message.header.seq)
        times.append(time.monotonic())

    rospy.Subscriber("/uav/sensors/imu", Imu, receive, tcp_nodelay=True)
    arm = rospy.Publisher("/uav/input/arm", Empty, queue_size=1, latch=True)
    arm.publish()
    while len(numbers) < 10 and not rospy.is_shutdown():
        time.sleep(0.01)
    first = len(numbers)
    time.sleep(seconds)
    last = len(numbers) - 1
    if last <= first:
        print("no messages: start the node with --sim-time and without --lock-step")
        return
    sent = numbers[last] - numbers[first]
    received, elapsed = last - first, times[last] - times[first]
    print(f"{received} of {sent} messages in {elapsed:.2f} s: {received / elapsed:.1f} Hz")


if __name__ == "__main__":
    main()
