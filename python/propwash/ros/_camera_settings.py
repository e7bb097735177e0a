"""Settings of the camera bridge and frames of its cameras, from FlightGoggles parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from propwash.render import KINDS, RenderCamera
from propwash.render.cameras import Kind
from propwash.ros._transforms import Pose, from_angles

Parameter = Callable[[str, Any], Any]
"""Returns a parameter by its absolute name, or the default value."""

VERTICAL_FOV_DEG = 60.0
"""degrees, of the published bridge, which has no parameter for it."""
_BRIDGE = "/uav/flightgoggles_ros_bridge"
_LASER = "/uav/flightgoggles_laser"
_KIND_OF = {shader: cast(Kind, kind) for kind, shader in KINDS.items()}
_GREY_SHADERS = (2, 5)
_QUARTER = 0.5 * math.pi
RANGE_FRAME = "uav/rangefinder"
"""Frame of positive ranges: x points down, the direction of measurement."""

WORLD_FRAMES: dict[str, Pose] = {
    "scene": from_angles((0.0, 0.0, 0.0), 0.0, 0.0, math.pi),
    "v3": from_angles((0.0, 0.0, -0.5), 1.57079, 3.14159, 0.0),
}
"""Pose of `world/ned` in `world`: as the axes of the scene, or of FlightGoggles 3's launch file."""


@dataclass(frozen=True)
class CameraSettings:
    """A camera of the list /sensors/camera/camera_list."""

    name: str
    frame: str = ""
    """The last part of `path`; the name if empty."""
    shader: int = -1
    motion_blur: float = 0.0
    """Exposure as a fraction of the time between images."""
    collision: bool = True
    baseline: float = 0.0
    """m, to the left camera of a stereo pair; 0 for the left one."""

    @property
    def path(self) -> str:
        """Its frame, with optical axes: x right, y down, z forward."""
        return f"uav/camera/{self.frame or self.name}"

    @property
    def image_topic(self) -> str:
        """The topic of its images."""
        leaf = "grayscale" if self.shader in _GREY_SHADERS else "image_rect_color"
        return f"/uav/camera/{self.name}/{leaf}"

    @property
    def info_topic(self) -> str:
        """The topic of its calibration."""
        return f"/uav/camera/{self.name}/camera_info"


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of the bridge; the defaults are the published ones."""

    cameras: tuple[CameraSettings, ...] = (CameraSettings("left"),)
    scene: str = "Abandoned_Factory_Morning"
    scene_scale: float = 1.0
    width: int = 1024
    height: int = 768
    vertical_fov_deg: float = VERTICAL_FOV_DEG
    rate: float = 60.0
    """Hz; images are rendered at steps that are at least 0.9 / rate apart."""
    world_frame: str = "world/ned"
    body_frame: str = "uav/imu"
    obstacles: tuple[str, ...] = ()
    """Frames of bodies, flightgoggles_obstacle/<prefab>/<number>."""
    stamps: frozenset[int] = frozenset()
    """ns, of the images to render; empty: by the rate."""
    range_max: float = 20.0
    range_variance: float = 0.0009
    range_positive: bool = False
    """False: minus the distance, as published; True: the distance, inf beyond the maximum."""
    world_ned: Pose | None = None
    """Pose of world_frame in `world`; None: from tf_static, and else that of the scene."""
    publish_frames: bool = True
    """Whether the frames of cameras and of world_frame are published."""
    seed: int = 0
    """Seed of the range finder's noise."""

    @staticmethod
    def from_parameters(parameter: Parameter) -> BridgeSettings:
        """Settings from the parameters of FlightGoggles. Raises ValueError for invalid ones.

        With a list of cameras on the parameter server, a launch file publishes the frames.
        """
        base = BridgeSettings()
        body = str(parameter(f"{_BRIDGE}/body_frame", base.body_frame))
        ignored = _names(parameter, f"{_BRIDGE}/ignored_obstacle_frames", [body])
        obstacles = _names(parameter, f"{_BRIDGE}/obstacle_frames", [])
        names = _names(parameter, "/sensors/camera/camera_list", [])
        cameras = tuple(_camera(parameter, name) for name in names)
        if not cameras:
            cameras = base.cameras
            if parameter("/uav/camera/render_stereo", False):
                cameras = (*cameras, CameraSettings("right", baseline=0.1))
        file = str(parameter(f"{_BRIDGE}/timestampfile_path", ""))
        return BridgeSettings(
            cameras=cameras,
            scene=str(parameter(f"{_BRIDGE}/scene_filename", base.scene)),
            scene_scale=_number(parameter, f"{_BRIDGE}/scene_scale", base.scene_scale),
            width=int(_number(parameter, f"{_BRIDGE}/image_width", base.width)),
            height=int(_number(parameter, f"{_BRIDGE}/image_height", base.height)),
            rate=_number(parameter, f"{_BRIDGE}/framerate", base.rate),
            world_frame=str(parameter(f"{_BRIDGE}/world_frame", base.world_frame)),
            body_frame=body,
            obstacles=tuple(name for name in obstacles if name not in ignored),
            stamps=_stamps(file),
            range_max=_number(parameter, f"{_LASER}/rangefinder_max_range", base.range_max),
            range_variance=_number(
                parameter, f"{_LASER}/rangefinder_variance", base.range_variance
            ),
            publish_frames=not names,
        )

    @property
    def render_cameras(self) -> list[RenderCamera]:
        """The cameras of the renderer. Raises ValueError for an unknown shader."""
        exposure = 1.0 / self.rate
        found = []
        for camera in self.cameras:
            kind = _KIND_OF.get(camera.shader)
            if kind is None:
                raise ValueError(
                    f"/sensors/camera/{camera.name}/outputShaderType: expected one of "
                    f"{', '.join(map(str, _KIND_OF))}, got {camera.shader!r:.100}"
                )
            blur = camera.motion_blur * exposure if kind in ("rgb", "grey") else 0.0
            found.append(
                RenderCamera(camera.name, kind, collision=camera.collision, motion_blur=blur)
            )
        return found


def static_frames(settings: BridgeSettings) -> list[tuple[str, str, Pose]]:
    """Parent, child and pose of the frames that a launch file publishes as static transforms."""
    world = settings.world_ned or WORLD_FRAMES["scene"]
    # optical axes: x right, y down, z forward; the third camera looks down, its top forward
    ahead = from_angles((0.0, 0.0, 0.0), -_QUARTER, 0.0, -_QUARTER)
    mounts = {
        "left": ((0.0, 0.05, 0.0), ahead[1]),
        "right": ((0.0, -0.05, 0.0), ahead[1]),
        "down": from_angles((0.0, 0.0, 0.0), -_QUARTER, 0.0, math.pi),
    }
    body = settings.body_frame
    found = [("world", settings.world_frame, world)]
    for camera in settings.cameras:
        mounts.setdefault(camera.frame or camera.name, ahead)
    for place, pose in mounts.items():
        frame = f"uav/camera/{place}"
        found += [
            (body, frame, pose),
            (frame, f"{frame}/ned", from_angles((0.0, 0.0, 0.0), -_QUARTER, -_QUARTER, 0.0)),
            (frame, f"{frame}/nwu", from_angles((0.0, 0.0, 0.0), _QUARTER, -_QUARTER, 0.0)),
        ]
    if settings.range_positive:
        found.append((body, RANGE_FRAME, from_angles((0.0, 0.0, 0.0), 0.0, _QUARTER, 0.0)))
    return found


def _camera(parameter: Parameter, name: str) -> CameraSettings:
    at = f"/sensors/camera/{name}"
    shader = parameter(f"{at}/outputShaderType", -1)
    return CameraSettings(
        name,
        str(parameter(f"{at}/tf", name)),
        shader if isinstance(shader, int) else -99,
        min(max(_number(parameter, f"{at}/motionBlurPercent", 0.0), 0.0), 1.0),
        bool(parameter(f"{at}/hasCollisionCheck", False)),
        _number(parameter, f"{at}/baseline_translation", 0.0),
    )


def _number(parameter: Parameter, name: str, default: float) -> float:
    value = parameter(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, got {value!r:.100}")
    return value


def _names(parameter: Parameter, name: str, default: Sequence[str]) -> list[str]:
    value = parameter(name, list(default))
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name}: expected a list of names, got {value!r:.100}")
    return [each for each in value if each]


def _stamps(file: str) -> frozenset[int]:
    """The time stamps [ns] in a file, separated by white space."""
    if not file:
        return frozenset()
    try:
        return frozenset(map(int, Path(file).read_text(encoding="utf-8").split()))
    except ValueError as error:
        raise ValueError(f"{file}: expected whole numbers [ns], {error}") from None
