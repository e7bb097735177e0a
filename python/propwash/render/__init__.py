"""Camera images and exteroceptive readings from a renderer, over the FlightGoggles protocol.

>>> import propwash as pw
>>> from propwash import render
>>> uav = pw.Multicopter("blackbird")
>>> with render.Client.launch(scene="alphapilot", cameras=[render.RenderCamera("front")]) as client:
...     frame = client.request_vehicle(0, uav.position, uav.attitude)
>>> frame.images["front"].shape
(768, 1024, 3)

`Client`, `Server.run` and `PoseStream` need pyzmq (extra `render`), `compensate` needs OpenCV
(extra `vision`); everything else, such as `Offscreen`, has no extra dependencies.
"""

from __future__ import annotations

from propwash import _render
from propwash.render._transport import PortInUseError, RendererError, RenderTimeoutError
from propwash.render.cameras import KINDS, RenderCamera, RenderObject, stereo
from propwash.render.client import Client
from propwash.render.clock import Clock, DynamicClock, LockStep, RealTime
from propwash.render.compensation import camera_motion, compensate, homography
from propwash.render.frame import Frame, Landmarks
from propwash.render.images import (
    CATEGORIES,
    category_number,
    depth8_in_metres,
    depth_in_metres,
    flow_in_pixels,
    id_colours,
    id_numbers,
    unit_normals,
)
from propwash.render.in_the_loop import PoseSample, PoseStream, VehicleInTheLoop, recorded
from propwash.render.moving import moving_objects
from propwash.render.offscreen import Offscreen
from propwash.render.server import Server
from propwash.render.statistics import Latency, Statistics

ProtocolError = _render.ProtocolError

__all__ = [
    "CATEGORIES",
    "KINDS",
    "Client",
    "Clock",
    "DynamicClock",
    "Frame",
    "Landmarks",
    "Latency",
    "LockStep",
    "Offscreen",
    "PortInUseError",
    "PoseSample",
    "PoseStream",
    "ProtocolError",
    "RealTime",
    "RenderCamera",
    "RenderObject",
    "RenderTimeoutError",
    "RendererError",
    "Server",
    "Statistics",
    "VehicleInTheLoop",
    "camera_motion",
    "category_number",
    "compensate",
    "depth8_in_metres",
    "depth_in_metres",
    "flow_in_pixels",
    "homography",
    "id_colours",
    "id_numbers",
    "moving_objects",
    "recorded",
    "stereo",
    "unit_normals",
]
