"""Exteroceptive sensors of one body or many: range, beacons, depth, collisions, GNSS and others.

Attach a sensor to a fleet with `handle = fleet.attach(sensor, rate=50.0)`, or call
`sensor.measure(position, attitude)`.
"""

from __future__ import annotations

from propwash.sampling.sensor import Sensor
from propwash.sensors._camera import STEREO_BASELINE, Camera, Pixels
from propwash.sensors._depth_images import depth_images
from propwash.sensors._navigation import (
    Barometer,
    BarometerReading,
    Gnss,
    GnssReading,
    Magnetometer,
    MagnetometerReading,
    isa_altitude,
    isa_pressure,
)
from propwash.sensors._scene_sensors import (
    BeaconReading,
    Beacons,
    CollisionReading,
    CollisionSensor,
    DepthCamera,
    DepthReading,
    RangeFinder,
    RangeReading,
)
from propwash.sensors._stereo_error import StereoError

__all__ = [
    "STEREO_BASELINE",
    "Barometer",
    "BarometerReading",
    "BeaconReading",
    "Beacons",
    "Camera",
    "CollisionReading",
    "CollisionSensor",
    "DepthCamera",
    "DepthReading",
    "Gnss",
    "GnssReading",
    "Magnetometer",
    "MagnetometerReading",
    "Pixels",
    "RangeFinder",
    "RangeReading",
    "Sensor",
    "StereoError",
    "depth_images",
    "isa_altitude",
    "isa_pressure",
]
