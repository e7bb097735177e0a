"""The ROS nodes of FlightGoggles: topics, parameters and special cases, with or without ROS.

Experimental: names and behaviour may change in any minor version.

The logic of each node is a class without middleware, `Uav` or `CarDynamics`; `Node` runs several of
them on one clock. `RospyShell` connects it to ROS 1, as `python -m propwash ros` does, `RclpyShell`
to ROS 2, and `play` runs it over a bag without ROS. `CameraBridge` and `Reporter` are further
parts.
"""

from __future__ import annotations

from propwash.ros._bags import BagRecorder
from propwash.ros._camera_settings import WORLD_FRAMES, BridgeSettings, CameraSettings
from propwash.ros._cameras import CameraBridge
from propwash.ros._car import CarDynamics
from propwash.ros._messages import (
    Message,
    Topic,
    definition,
    deserialized,
    serialized,
    type_of,
    typestore,
)
from propwash.ros._node import CLOCK_SCALES, InputError, Node, Outputs, Part
from propwash.ros._offline import Bag, play
from propwash.ros._packages import write_packages
from propwash.ros._parameters import (
    UAV,
    CarSettings,
    UavSettings,
    car_settings,
    flag,
    get,
    merged,
    number,
    numbers,
    started,
    uav_settings,
)
from propwash.ros._rclpy import RclpyShell, connect_ros2
from propwash.ros._renderers import InProcess, Job, Published, Renderer, stage_of
from propwash.ros._reporter import Reporter
from propwash.ros._rospy import RospyShell, connect, import_rospy, message_class
from propwash.ros._shell import Recorder, Shell
from propwash.ros._uav import Uav

__all__ = [
    "CLOCK_SCALES",
    "UAV",
    "WORLD_FRAMES",
    "Bag",
    "BagRecorder",
    "BridgeSettings",
    "CameraBridge",
    "CameraSettings",
    "CarDynamics",
    "CarSettings",
    "InProcess",
    "InputError",
    "Job",
    "Message",
    "Node",
    "Outputs",
    "Part",
    "Published",
    "RclpyShell",
    "Recorder",
    "Renderer",
    "Reporter",
    "RospyShell",
    "Shell",
    "Topic",
    "Uav",
    "UavSettings",
    "car_settings",
    "connect",
    "connect_ros2",
    "definition",
    "deserialized",
    "flag",
    "get",
    "import_rospy",
    "merged",
    "message_class",
    "number",
    "numbers",
    "play",
    "serialized",
    "stage_of",
    "started",
    "type_of",
    "typestore",
    "uav_settings",
    "write_packages",
]
