"""Measures what a subscriber in rospy receives from `python -m propwash ros`.

With a master and the node running, `python bench/ros_rate.py --seconds 10` arms the vehicle and
counts the IMU messages. With `--images`, for a node without --sim-time, it measures the time from
the pose that an image shows to the arrival of the image.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from propwash import ros

rospy = ros.import_rospy()
from sensor_msgs.msg import Image, Imu  # noqa: E402
from std_msgs.msg import Empty  # noqa: E402


def main() -> None:
    """Subscribes, waits, and prints the measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="wall time (default: 10)")
    parser.add_argument("--images", action="store_true", help="measure the latency of images")
    options = parser.parse_args()
    rospy.init_node("rate", disable_rostime=True)
    (images if options.images else rate)(options.seconds)


def images(seconds: float) -> None:
    """Prints the rate and the latency of images."""
    latencies: list[float] = []

    def receive(message: Any) -> None:
        latencies.append(1e3 * (time.time() - message.header.stamp.to_sec()))

    rospy.Subscriber("/uav/camera/left/image_rect_color", Image, receive, buff_size=1 << 24)
    time.sleep(seconds)
    if not 0.0 < np.median(latencies or [0.0]) < 1e5:
        print("no images of real time: start the node without --sim-time and --renderer none")
        return
    low, middle, high = np.percentile(latencies, [5, 50, 95])
    print(
        f"{len(latencies) / seconds:.1f} images a second, latency {middle:.0f} ms "
        f"(5 to 95 %: {low:.0f} to {high:.0f} ms)"
    )


def rate(seconds: float) -> None:
    """Prints the rate of IMU messages, and how many were lost."""
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
