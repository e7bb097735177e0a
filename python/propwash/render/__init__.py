"""Eyes: images and exteroceptive readings from a renderer, on the published FlightGoggles wire.

>>> import propwash as pw
>>> from propwash import render
>>> uav = pw.Multicopter("blackbird")
>>> with render.Client.launch(scene="alphapilot", cameras=[render.RenderCamera("front")]) as eyes:
...     frame = eyes.request_vehicle(0, uav.position, uav.attitude)
>>> frame.images["front"].shape
(768, 1024, 3)

`Client` and `PoseStream` need pyzmq (the extra `render`), `compensate` needs OpenCV (`vision`);
everything else, `Offscreen` among it, does without. Modules are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propwash._core import ProtocolError as ProtocolError
    from propwash.render._images import CATEGORIES as CATEGORIES
    from propwash.render._images import category_number as category_number
    from propwash.render._images import id_colours as id_colours
    from propwash.render._images import id_numbers as id_numbers
    from propwash.render._images import unit_normals as unit_normals
    from propwash.render.cameras import KINDS as KINDS
    from propwash.render.cameras import RenderCamera as RenderCamera
    from propwash.render.cameras import RenderObject as RenderObject
    from propwash.render.cameras import stereo as stereo
    from propwash.render.client import Client as Client
    from propwash.render.clock import Clock as Clock
    from propwash.render.clock import DynamicClock as DynamicClock
    from propwash.render.clock import LockStep as LockStep
    from propwash.render.clock import RealTime as RealTime
    from propwash.render.compensation import camera_motion as camera_motion
    from propwash.render.compensation import compensate as compensate
    from propwash.render.compensation import homography as homography
    from propwash.render.errors import PortInUseError as PortInUseError
    from propwash.render.errors import RendererError as RendererError
    from propwash.render.errors import RenderTimeoutError as RenderTimeoutError
    from propwash.render.frame import Frame as Frame
    from propwash.render.frame import Landmarks as Landmarks
    from propwash.render.images import depth8_in_metres as depth8_in_metres
    from propwash.render.images import depth_in_metres as depth_in_metres
    from propwash.render.images import flow_in_pixels as flow_in_pixels
    from propwash.render.in_the_loop import PoseSample as PoseSample
    from propwash.render.in_the_loop import PoseStream as PoseStream
    from propwash.render.in_the_loop import VehicleInTheLoop as VehicleInTheLoop
    from propwash.render.in_the_loop import recorded as recorded
    from propwash.render.offscreen import Offscreen as Offscreen
    from propwash.render.server import Server as Server
    from propwash.render.statistics import Latency as Latency
    from propwash.render.statistics import Statistics as Statistics

_HOMES = {
    "propwash._core": ["ProtocolError"],
    "propwash.render._images": [
        "CATEGORIES",
        "category_number",
        "id_colours",
        "id_numbers",
        "unit_normals",
    ],
    "propwash.render.cameras": ["KINDS", "RenderCamera", "RenderObject", "stereo"],
    "propwash.render.client": ["Client"],
    "propwash.render.clock": ["Clock", "DynamicClock", "LockStep", "RealTime"],
    "propwash.render.compensation": ["camera_motion", "compensate", "homography"],
    "propwash.render.errors": ["PortInUseError", "RenderTimeoutError", "RendererError"],
    "propwash.render.frame": ["Frame", "Landmarks"],
    "propwash.render.images": ["depth8_in_metres", "depth_in_metres", "flow_in_pixels"],
    "propwash.render.in_the_loop": ["PoseSample", "PoseStream", "VehicleInTheLoop", "recorded"],
    "propwash.render.offscreen": ["Offscreen"],
    "propwash.render.server": ["Server"],
    "propwash.render.statistics": ["Latency", "Statistics"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'propwash.render' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
