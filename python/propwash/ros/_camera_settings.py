"""Settings of the camera bridge and frames of its cameras, from FlightGoggles parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from propwash._checks import refusal
from propwash.render import KINDS, RenderCamera
from propwash.render.cameras import Kind
from propwash.ros._parameters import Tree, flag, get, number
from propwash.ros._transforms import Pose, from_angles

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
    """In its topics."""
    frame: str = ""
    """The last part of `path`; the name if empty."""
    shader: int = -1
    """Number of the kind of image, as in FlightGoggles: -1 colour, 2 and 5 grey."""
    motion_blur: float = 0.0
    """Exposure as a fraction of the time between images."""
    collision: bool = True
    """Whether it reports collisions."""
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
    """The cameras."""
    scene: str = "Abandoned_Factory_Morning"
    """The name of the scene in the published renderer."""
    scene_scale: float = 1.0
    """Scale of the scene in the published renderer."""
    width: int = 1024
    """Pixels."""
    height: int = 768
    """Pixels."""
    vertical_fov_deg: float = VERTICAL_FOV_DEG
    """Degrees, of all cameras."""
    rate: float = 60.0
    """Hz; images are rendered at steps that are at least 0.9 / rate apart."""
    world_frame: str = "world/ned"
    """The frame in which the renderer gets poses."""
    body_frame: str = "uav/imu"
    """The frame of the vehicle."""
    obstacles: tuple[str, ...] = ()
    """Frames of bodies, flightgoggles_obstacle/<prefab>/<number>; x forward, y right, z down."""
    stamps: frozenset[int] = frozenset()
    """ns, of the images to render; empty: by the rate."""
    range_max: float = 20.0
    """m, of the range finder."""
    range_variance: float = 0.0009
    """m^2, of its noise."""
    range_positive: bool = False
    """False: minus the distance, as published; True: the distance, inf beyond the maximum."""
    world_ned: Pose | None = None
    """Pose of world_frame in `world`; None: from tf_static, and else that of the scene."""
    publish_frames: bool = True
    """Whether the frames of cameras and of world_frame are published."""
    remote_tf: bool = True
    """Whether transforms of other processes are received: of obstacles, or of the body."""
    seed: int = 0
    """Seed of the range finder's noise."""

    @staticmethod
    def from_parameters(tree: Tree) -> BridgeSettings:
        """Settings from the parameters of FlightGoggles. Raises ParameterError for invalid ones.

        With a list of cameras on the parameter server, a launch file publishes the frames.
        """
        base = BridgeSettings()
        body = _text(tree, f"{_BRIDGE}/body_frame", base.body_frame)
        ignored = _names(tree, f"{_BRIDGE}/ignored_obstacle_frames", (body,))
        obstacles = _names(tree, f"{_BRIDGE}/obstacle_frames", ())
        names = _names(tree, "/sensors/camera/camera_list", ())
        cameras = tuple(_camera(tree, name) for name in names)
        if not cameras:
            cameras = base.cameras
            if flag(tree, "/uav/camera/render_stereo", False):
                cameras = (*cameras, CameraSettings("right", baseline=0.1))
        return BridgeSettings(
            cameras=cameras,
            scene=_text(tree, f"{_BRIDGE}/scene_filename", base.scene),
            scene_scale=_positive(tree, f"{_BRIDGE}/scene_scale", base.scene_scale),
            width=int(_positive(tree, f"{_BRIDGE}/image_width", base.width)),
            height=int(_positive(tree, f"{_BRIDGE}/image_height", base.height)),
            rate=_positive(tree, f"{_BRIDGE}/framerate", base.rate),
            world_frame=_text(tree, f"{_BRIDGE}/world_frame", base.world_frame),
            body_frame=body,
            obstacles=tuple(name for name in obstacles if name not in ignored),
            stamps=_stamps(_text(tree, f"{_BRIDGE}/timestampfile_path", "")),
            range_max=_positive(tree, f"{_LASER}/rangefinder_max_range", base.range_max),
            range_variance=max(number(tree, f"{_LASER}/rangefinder_variance", 0.0009), 0.0),
            publish_frames=not names,
        )

    @property
    def render_cameras(self) -> list[RenderCamera]:
        """The cameras of the renderer."""
        found = []
        for camera in self.cameras:
            kind = _KIND_OF[camera.shader]
            blur = camera.motion_blur / self.rate if kind in ("rgb", "grey") else 0.0
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
    found = [("world", settings.world_frame, world)] if settings.world_frame != "world" else []
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


def _camera(tree: Tree, name: str) -> CameraSettings:
    at = f"/sensors/camera/{name}"
    shader = number(tree, f"{at}/outputShaderType", -1)
    if shader not in _KIND_OF:
        raise refusal(f"{at}/outputShaderType", shader, f"one of {', '.join(map(str, _KIND_OF))}")
    blur = number(tree, f"{at}/motionBlurPercent", 0.0)
    if not 0.0 <= blur <= 1.0:
        raise refusal(f"{at}/motionBlurPercent", blur, "a fraction from 0 to 1")
    return CameraSettings(
        name,
        _text(tree, f"{at}/tf", name),
        int(shader),
        blur,
        flag(tree, f"{at}/hasCollisionCheck", False),
        number(tree, f"{at}/baseline_translation", 0.0),
    )


def _text(tree: Tree, path: str, default: str) -> str:
    value = get(tree, path, default)
    if not isinstance(value, str):
        raise refusal(path, value, "a text")
    return value


def _positive(tree: Tree, path: str, default: float) -> float:
    value = number(tree, path, default)
    if not value > 0.0:
        raise refusal(path, value, "a number > 0")
    return value


def _names(tree: Tree, path: str, default: tuple[str, ...]) -> list[str]:
    value = get(tree, path, list(default))
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise refusal(path, value, "a list of names")
    return [each for each in value if each]


def _stamps(file: str) -> frozenset[int]:
    """The time stamps [ns] in a file, separated by white space."""
    if not file:
        return frozenset()
    try:
        return frozenset(map(int, Path(file).read_text(encoding="utf-8").split()))
    except ValueError as error:
        raise ValueError(f"{file}: expected whole numbers [ns], {error}") from None
