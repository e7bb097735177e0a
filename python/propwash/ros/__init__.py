"""The ROS nodes of FlightGoggles: topics, parameters and special cases, with or without ROS.

The logic of each node is a class without middleware, `Uav` or `Car`; `Node` runs several of them on
one clock. `RospyShell` connects it to ROS 1, as `python -m propwash ros` does.
"""

from __future__ import annotations

from propwash.ros._car import Car
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
from propwash.ros._parameters import (
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
from propwash.ros._rospy import RospyShell, connect, import_rospy, message_class
from propwash.ros._shell import Recorder, Shell
from propwash.ros._uav import Uav

__all__ = [
    "CLOCK_SCALES",
    "Car",
    "CarSettings",
    "InputError",
    "Message",
    "Node",
    "Outputs",
    "Part",
    "Recorder",
    "RospyShell",
    "Shell",
    "Topic",
    "Uav",
    "UavSettings",
    "car_settings",
    "connect",
    "definition",
    "deserialized",
    "flag",
    "get",
    "import_rospy",
    "merged",
    "message_class",
    "number",
    "numbers",
    "serialized",
    "started",
    "type_of",
    "typestore",
    "uav_settings",
]
