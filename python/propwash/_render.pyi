"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from propwash import _core, _world

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class Texture:
    """An image on surfaces; see propwash.world.Item.texture."""
    def __init__(self, image: ArrayLike) -> None: ...

class Painter:
    """See propwash.render.Offscreen."""
    def __init__(
        self,
        scene: _world.SceneIndex,
        look: str,
        seed: Int,
        lamp: tuple[Any, Float] | None,
        pool: _core.ThreadPool | None,
    ) -> None: ...
    def add_body(self, parts: _world.SceneIndex) -> int: ...
    def move(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike,
        positions_before: ArrayLike,
        attitudes_before: ArrayLike,
    ) -> None: ...
    def paint(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike,
        width: Int,
        height: Int,
        focal: Float,
        antialias: Int,
        kinds: tuple,
        bottom_first: bool,
        lens: Sequence[Float] = [0.0, 0.0, 0.0, 0.0],
    ) -> dict: ...
    def range(self, origin: Any, direction: Any, limit: Float) -> float: ...
    def remove_bodies(self) -> None: ...
    def set_texture(
        self, item: Int, texture: Texture, size: Sequence[Float], shift: Sequence[Float]
    ) -> None: ...
    def touches(self, position: Any, radius: Float) -> bool: ...
    def visible(self, start: Any, ends: ArrayLike) -> NDArray[np.bool]: ...

class ProtocolError(ValueError):
    pass

class PoseCamera:
    """A camera of a PoseMessage."""
    def __init__(
        self,
        *,
        id: str,
        type: Any = "rgb",
        position: Any = (0.0, 0.0, 0.0),
        attitude: Any = (1.0, 0.0, 0.0, 0.0),
        collision_check: bool = False,
        landmarks: bool = False,
        render: bool = True,
        motion_blur: Float = 0.0,
    ) -> None: ...
    @property
    def attitude(self) -> NDArray[np.float64]: ...
    @property
    def collision_check(self) -> bool: ...
    @property
    def id(self) -> str: ...
    @property
    def landmarks(self) -> bool: ...
    @property
    def motion_blur(self) -> float: ...
    @property
    def position(self) -> NDArray[np.float64]: ...
    @property
    def render(self) -> bool: ...
    @property
    def type(self) -> str: ...

class PoseObject:
    """A body of a PoseMessage."""
    def __init__(
        self,
        *,
        id: str,
        prefab: str = "",
        position: Any = (0.0, 0.0, 0.0),
        attitude: Any = (1.0, 0.0, 0.0, 0.0),
        size: Any = (1.0, 1.0, 1.0),
    ) -> None: ...
    @property
    def attitude(self) -> NDArray[np.float64]: ...
    @property
    def id(self) -> str: ...
    @property
    def position(self) -> NDArray[np.float64]: ...
    @property
    def prefab(self) -> str: ...
    @property
    def size(self) -> NDArray[np.float64]: ...

class PoseMessage:
    """Message that requests images of a renderer."""
    def __init__(
        self,
        scene: str,
        cameras: list,
        objects: list = [],
        *,
        width: Int = 1024,
        height: Int = 768,
        vertical_fov_deg: Float = 70.0,
        depth_scale: Float = 0.2,
        perturbation_file: str = "",
        ntime: Int = 0,
    ) -> None: ...
    def encode(self) -> bytes: ...
    def place(
        self,
        ntime: Int,
        camera_position: Any,
        camera_attitude: Any,
        object_position: Any = None,
        object_attitude: Any = None,
        render: Sequence[bool] | None = None,
        motion_blur: Sequence[Float] | None = None,
    ) -> None: ...
    @property
    def cameras(self) -> list[PoseCamera]: ...
    @property
    def depth_scale(self) -> float: ...
    @property
    def height(self) -> int: ...
    @property
    def image_layouts(self) -> list[tuple[int, int]]: ...
    @property
    def ntime(self) -> int: ...
    @property
    def objects(self) -> list[PoseObject]: ...
    @property
    def scene(self) -> str: ...
    @property
    def vertical_fov_deg(self) -> float: ...
    @property
    def width(self) -> int: ...

class RenderAnswer:
    """Answer of a renderer to a pose message."""
    @property
    def collision(self) -> bool: ...
    @property
    def depth_scale(self) -> float: ...
    @property
    def height(self) -> int: ...
    @property
    def images(self) -> dict: ...
    @property
    def incomplete(self) -> bool: ...
    @property
    def landmark_ids(self) -> list: ...
    @property
    def landmark_pixel(self) -> NDArray[np.float64]: ...
    @property
    def landmark_position(self) -> NDArray[np.float64]: ...
    @property
    def latency(self) -> float: ...
    @property
    def ntime(self) -> int: ...
    @property
    def range(self) -> float | None: ...
    @property
    def width(self) -> int: ...

class RenderSession:
    """Decides when to send which pose and which answers to accept."""
    def __init__(self, *, in_flight: Int, resend_after: Float) -> None: ...
    def next_time(self) -> float: ...
    def poll(self, now: Float) -> list: ...
    def receive(self, frames: Sequence, now: Float) -> RenderAnswer | None: ...
    def renderer_connected(self, now: Float) -> None: ...
    def restart(self, now: Float) -> None: ...
    def submit(self, pose: PoseMessage, now: Float) -> list: ...
    @property
    def counts(self) -> dict: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def waiting(self) -> int: ...

def category_id(category: str) -> int: ...
def decode_answer(frames: Sequence) -> RenderAnswer: ...
def decode_pose(frame: Any) -> PoseMessage: ...
def encode_answer(
    ntime: Int,
    width: Int,
    height: Int,
    camera_ids: Sequence[str],
    channels: Sequence[Int],
    *,
    camera_indexes: Sequence[Int] | None = None,
    collision: bool = False,
    landmark_ids: Sequence[str] = [],
    landmark_position: Any = None,
    range: Float | None = None,
    depth_scale: Float = 0.0,
) -> bytes: ...
def luma(image: ArrayLike) -> NDArray[np.uint8]: ...

POSE_TOPIC: bytes
looks: tuple = ("morning", "noon", "sunset", "overcast", "indoor")
