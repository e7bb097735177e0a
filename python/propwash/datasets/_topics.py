"""Topics of a Blackbird bag, and the same messages as CSV tables."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation, frames, logs
from propwash._bridge import ros_types
from propwash.datasets._flight import Recording
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

EPOCH_NS = 1_500_000_000 * 10**9
"""ns, time stamp of the start of every flight."""
POSE_RATE, IMU_RATE, ROTOR_RATE, CAMERA_RATE = 360, 100, 190, 120
"""Hz, as published; pulses and references, whose rates are not, have those of rotors and IMU."""
PULSE_MIN, PULSE_SPAN = 1000.0, 1000.0
"""us, pulse of a stopped motor, and its increase up to the maximum speed."""
CAMERAS = ("l", "r", "d")
"""Left, right and down, in the names of topics."""
_DEFINITIONS = {
    "tf/msg/tfMessage": "geometry_msgs/TransformStamped[] transforms",
    "blackbird/msg/MotorRPM": "Header header\ntime[] sample_stamp\nfloat32[] rpm",
    "blackbird/msg/MotorPWM": "Header header\nuint16[] pwm",
}


def stamps_of(time: Array) -> Stamps:
    """ns, time stamps of times [s] since the start; whole microseconds, as published."""
    return EPOCH_NS + np.rint(time * 1e6).astype(np.int64) * 1000


@dataclass(frozen=True)
class TopicMessages:
    """Messages of one topic."""

    name: str
    kind: str
    stamps: Stamps
    """Time stamps [ns]."""
    message: Callable[[int], Any]
    """Returns a message by its number."""

    @property
    def table(self) -> str:
        """The name of its CSV file."""
        return self.name.strip("/").replace("/", "_slash_") + ".csv"


class Topics:
    """The topics of a flight. Raises ImportError without rosbags.

    position, attitude: of the body in the motion capture's frame, at 360 Hz: north-east-down, axes
    forward-right-down.
    """

    def __init__(self, recording: Recording, width: int, height: int, focal_length: float) -> None:
        self.store = ros_types("ROS1_NOETIC", _DEFINITIONS)
        self._types = self.store.types
        self._recording = recording
        rows = recording.rows(POSE_RATE)
        motion = recording.motion
        self.stamps = stamps_of(motion.time[rows])
        self.position = frames.enu_to_ned(motion.position[rows])
        self.attitude = frames.quaternion_enu_flu_to_ned_frd(motion.attitude[rows])
        self.camera_stamps = self.stamps[POSE_RATE // CAMERA_RATE - 1 :: POSE_RATE // CAMERA_RATE]
        self._image = (width, height, focal_length)

    @cached_property
    def all(self) -> list[TopicMessages]:
        """All topics, in the order of their names."""
        cameras = [
            TopicMessages(
                f"/camera_{camera}/camera_info",
                "sensor_msgs/msg/CameraInfo",
                self.camera_stamps,
                self._camera_info(camera),
            )
            for camera in CAMERAS
        ]
        poses = TopicMessages(
            "/blackbird/state",
            "geometry_msgs/msg/PoseStamped",
            self.stamps,
            self._poses(self.stamps, "mocap", self.position, self.attitude),
        )
        transforms = TopicMessages("/tf", "tf/msg/tfMessage", self.stamps, self._transforms())
        found = [self._imu(), self._reference(), *self._rotors(), poses, *cameras, transforms]
        return sorted(found, key=lambda topic: topic.name)

    def write_bag(self, file: Path) -> None:
        """Writes a ROS 1 bag, in the order of time."""
        from rosbags.rosbag1 import Writer

        with Writer(file) as bag:
            connections = [
                bag.add_connection(topic.name, topic.kind, typestore=self.store)
                for topic in self.all
            ]
            streams = (
                zip(topic.stamps.tolist(), repeat(n), range(len(topic.stamps)), strict=False)
                for n, topic in enumerate(self.all)
            )
            for stamp, n, number in heapq.merge(*streams):
                topic = self.all[n]
                data = self.store.serialize_ros1(topic.message(number), topic.kind)
                bag.write(connections[n], stamp, data)

    def write_tables(self, folder: Path) -> None:
        """Writes a CSV file for each topic, as the published bagToCsv.py does."""
        for topic in self.all:
            with (folder / topic.table).open("w", newline="", encoding="utf-8") as file:
                table = csv.writer(file)
                for number, stamp in enumerate(topic.stamps.tolist()):
                    lines = [*printed(topic.message(number))]
                    if number == 0:
                        table.writerow(["rosbagTimestamp", *(name for name, _ in lines)])
                    # a line of a list that has no value has no cell: the rest moves to the left
                    table.writerow([stamp, *(value for _, value in lines if value is not None)])

    def _type(self, kind: str) -> Any:
        return self._types[kind]

    def _time(self, stamp: int) -> Any:
        return self._type("builtin_interfaces/msg/Time")(*divmod(stamp, 10**9))

    def _header(self, stamps: Stamps, number: int, frame: str) -> Any:
        stamp = self._time(int(stamps[number]))
        return self._type("std_msgs/msg/Header")(number + 1, stamp, frame)

    def _imu(self) -> TopicMessages:
        time, gyroscope, accelerometer = self._recording.imu(IMU_RATE)
        from_imu = _rotation.rotation(logs.BLACKBIRD.imu_attitude)
        rates, force = (
            (frames.flu_to_frd(values) @ from_imu).tolist() for values in (gyroscope, accelerometer)
        )
        stamps = stamps_of(time)
        kind = "sensor_msgs/msg/Imu"
        vector = self._type("geometry_msgs/msg/Vector3")
        none = self._type("geometry_msgs/msg/Quaternion")(0.0, 0.0, 0.0, 0.0)
        covariances = [np.eye(3).reshape(-1) * variance for variance in (0.0, 1e-4, 1e-2)]

        def message(k: int) -> Any:
            header = self._header(stamps, k, "imu")
            gyro, acc = vector(*rates[k]), vector(*force[k])
            return self._type(kind)(
                header, none, covariances[0], gyro, covariances[1], acc, covariances[2]
            )

        return TopicMessages("/blackbird/imu", kind, stamps, message)

    def _reference(self) -> TopicMessages:
        rows = self._recording.rows(IMU_RATE)
        reference = self._recording.reference
        half = 0.5 * reference.yaw[rows]
        flat = np.zeros_like(half)
        attitude = np.stack([np.cos(half), flat, flat, np.sin(half)], axis=1)
        stamps = stamps_of(self._recording.motion.time[rows])
        poses = self._poses(
            stamps,
            "pose_ref",
            frames.enu_to_ned(reference.position[rows]),
            frames.quaternion_enu_flu_to_ned_frd(attitude),
        )
        return TopicMessages("/blackbird/pose_ref", "geometry_msgs/msg/PoseStamped", stamps, poses)

    def _rotors(self) -> list[TopicMessages]:
        rows = self._recording.rows(ROTOR_RATE)
        motion = self._recording.motion
        stamps = stamps_of(motion.time[rows])
        rpm = (motion.rotor_speeds[rows] * 30.0 / np.pi).astype(np.float32)
        pulses = pulses_of(motion.rotor_command[rows], self._recording.vehicle)

        def speeds(k: int) -> Any:
            header = self._header(stamps, k, "0")
            return self._type("blackbird/msg/MotorRPM")(
                header, [header.stamp] * rpm.shape[1], rpm[k]
            )

        def widths(k: int) -> Any:
            return self._type("blackbird/msg/MotorPWM")(self._header(stamps, k, "0"), pulses[k])

        return [
            TopicMessages("/blackbird/rotor_rpm", "blackbird/msg/MotorRPM", stamps, speeds),
            TopicMessages("/blackbird/pwm", "blackbird/msg/MotorPWM", stamps, widths),
        ]

    def _poses(
        self, stamps: Stamps, frame: str, position: Array, attitude: Array
    ) -> Callable[[int], Any]:
        point, quaternion, pose, stamped = (
            self._type(f"geometry_msgs/msg/{name}")
            for name in ("Point", "Quaternion", "Pose", "PoseStamped")
        )
        places, turns = position.tolist(), frames.wxyz_to_xyzw(attitude).tolist()

        def message(k: int) -> Any:
            body = pose(point(*places[k]), quaternion(*turns[k]))
            return stamped(self._header(stamps, k, frame), body)

        return message

    def _transforms(self) -> Callable[[int], Any]:
        vector, quaternion, transform, stamped = (
            self._type(f"geometry_msgs/msg/{name}")
            for name in ("Vector3", "Quaternion", "Transform", "TransformStamped")
        )
        places, turns = self.position.tolist(), frames.wxyz_to_xyzw(self.attitude).tolist()

        def message(k: int) -> Any:
            pose = transform(vector(*places[k]), quaternion(*turns[k]))
            header = self._header(self.stamps, k, "mocap_NED")
            return self._type("tf/msg/tfMessage")([stamped(header, "body_frame", pose)])

        return message

    def _camera_info(self, camera: str) -> Callable[[int], Any]:
        width, height, f = self._image
        u, v = 0.5 * (width - 1), 0.5 * (height - 1)
        matrix = np.array([f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0])
        projection = np.array([f, 0.0, u, 0.0, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0])
        make = partial(
            self._type("sensor_msgs/msg/CameraInfo"),
            height=height,
            width=width,
            distortion_model="plumb_bob",
            D=np.zeros(0),
            K=matrix,
            R=np.zeros(9),
            P=projection,
            binning_x=0,
            binning_y=0,
            roi=self._type("sensor_msgs/msg/RegionOfInterest")(0, 0, 0, 0, False),
        )
        return lambda k: make(header=self._header(self.camera_stamps, k, "mocap"))


def pulses_of(rotor_command: Array, vehicle: VehicleParameters) -> NDArray[np.uint16]:
    """Pulses [us] of commanded rotor speeds: 1000 at rest, 2000 at the maximum speed."""
    fraction = rotor_command / np.array(vehicle.motor_values("speed_max"))
    pulses = PULSE_MIN + PULSE_SPAN * np.clip(fraction, 0.0, 1.0)
    return np.asarray(np.rint(pulses), dtype=np.uint16)


def printed(message: Any) -> Iterator[tuple[str, str | None]]:
    """The lines of a message as ROS prints it: names and values; None for the dash of a list."""
    for item in fields(message):
        if item.name.startswith("_"):  # the type, which rosbags adds
            continue
        yield from _lines(item.name, getattr(message, item.name))


def _lines(name: str, value: Any) -> Iterator[tuple[str, str | None]]:
    if hasattr(value, "nanosec"):
        yield name, ""
        yield from _instant(value)
    elif hasattr(value, "__dataclass_fields__"):
        yield name, ""
        yield from printed(value)
    elif isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__"):
        yield name, ""
        for each in value:
            yield "-", None
            yield from _instant(each) if hasattr(each, "nanosec") else printed(each)
    elif isinstance(value, np.ndarray | list):
        yield name, f"[{', '.join(map(repr, np.asarray(value).tolist()))}]"
    else:
        yield name, f'"{value}"' if isinstance(value, str) else repr(value)


def _instant(time: Any) -> Sequence[tuple[str, str]]:
    return ("secs", str(time.sec)), ("nsecs", str(time.nanosec))
