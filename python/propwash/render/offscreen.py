"""The reference renderer in process, without sockets and extra dependencies.

from propwash.render import Offscreen, RenderCamera

renderer = Offscreen("alphapilot", width=640, height=480)
cameras = [RenderCamera("front"), RenderCamera("range", "depth")]
frame = renderer.render(cameras, position=(18.5, 6.5, 1.5))
frame.images["front"]  # (480, 640, 3) uint8, top row first
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from propwash._checks import number, whole_number
from propwash.render import _pose
from propwash.render._blur import STILL, sweep_of
from propwash.render._reference import Body, ImageView, Request, checked_fov
from propwash.render._reference import SceneRenderer as SceneRenderer  # for environments too
from propwash.render.cameras import KINDS, Kind, RenderCamera, RenderObject, check_unique, listed
from propwash.render.frame import Frame, Landmarks
from propwash.render.moving import moving_objects
from propwash.world import Scene

Numbers = list[float]
Cameras = RenderCamera | Kind | Iterable[RenderCamera | Kind]


class Offscreen:
    """Renders images of a scene on demand (docs/render-reference.md).

    Args:
        scene: a Scene, the name of a shipped scene or a scene file.
        width: px, of all images.
        height: px.
        vertical_fov_deg: degrees.
        look: "morning", "noon", "sunset", "overcast", "indoor"; "auto": "indoor" if the
            scene has a ceiling, else "morning".
        antialias: rays along each edge of a pixel where colours change, 1 to 8; 1: one per pixel.
        threads: number of rendering threads, including the calling one.
        seed: of textures and clouds; and of the scene if it is given by name or file.

    Raises ValueError for invalid arguments. Thread-safe: concurrent calls wait for each other.
    """

    def __init__(
        self,
        scene: Scene | str | Path = "alphapilot",
        *,
        width: int = 640,
        height: int = 480,
        vertical_fov_deg: float = 70.0,
        look: str = "auto",
        antialias: int = 2,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        self.scene = scene if isinstance(scene, Scene) else Scene.load(scene, seed=seed)
        self.width = whole_number("width", width, 1, 16384)
        self.height = whole_number("height", height, 1, 16384)
        self.vertical_fov_deg = checked_fov(vertical_fov_deg)
        self._reference = SceneRenderer(self.scene, look, seed or 0, antialias, threads)

    @property
    def look(self) -> str:
        """The light of the scene."""
        return self._reference.look

    def render(
        self,
        cameras: Cameras = "rgb",
        position: ArrayLike = (0.0, 0.0, 0.0),
        attitude: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        *,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        body_rates: ArrayLike = (0.0, 0.0, 0.0),
        objects: Iterable[RenderObject] = (),
        time: float = 0.0,
    ) -> Frame:
        """Renders an image from each camera of a vehicle.

        Optical flow refers to the previous image of the camera with the same name; the first image
        has none. The name of a kind, such as "rgb", means a camera of that name and kind at the
        origin of the vehicle.

        Args:
            cameras: one or several, mounted on the vehicle.
            position: (3,) m, of the vehicle in the world.
            attitude: (4,) from body axes to the world, scalar first.
            velocity: (3,) m/s, world frame, of the vehicle; with `body_rates` for cameras with
                motion blur.
            body_rates: (3,) rad/s, body frame.
            objects: bodies in the scene, for this image only.
            time: s, of the scene's moving items; `time_ns` of the frame is it in whole nanoseconds.

        Raises ValueError for invalid arguments.
        """
        started = perf_counter()
        several = isinstance(cameras, Iterable) and not isinstance(cameras, str)
        chosen: Iterable[object] = cameras if several else [cameras]  # type: ignore[assignment]
        mounted = listed("cameras", RenderCamera, [_camera(each) for each in chosen])
        bodies = listed("objects", RenderObject, objects)
        moment = number("time", time, "0 to 9.2e9 s", lambda x: 0.0 <= x <= 9.2e9)
        if self.scene.moving:
            at_time = self.scene.at(moment) if self.scene.has_motion else self.scene
            bodies += moving_objects(at_time)
        check_unique(mounted, bodies)
        vehicle = (_pose.position("position", position), _pose.attitude("attitude", attitude))
        motion = (
            _pose.numbers("velocity", velocity, 3, "3 finite numbers [m/s]"),
            _pose.numbers("body_rates", body_rates, 3, "3 finite numbers [rad/s]"),
        )
        request = Request(
            self.width,
            self.height,
            self.vertical_fov_deg,
            [_view(each, vehicle, motion) for each in mounted],
            [
                Body(each.name, each.prefab, each.size, (each.position, each.attitude))
                for each in bodies
            ],
        )
        shot = self._reference.take(request)
        for image in shot.images.values():
            image.flags.writeable = False
        u, v, depth = np.array([each[1:] for each in shot.landmarks]).reshape(-1, 3).T
        return Frame(
            round(moment * 1e9),
            {each.name: shot.images[each.name] for each in mounted},
            Landmarks(tuple(each[0] for each in shot.landmarks), u, v, depth),
            shot.range_m,
            shot.collision,
            perf_counter() - started,
        )

    def forget(self) -> None:
        """Discards the previous images: the next flow images show no motion."""
        self._reference.forget()


def _view(camera: RenderCamera, vehicle: _pose.Pose, motion: tuple[Numbers, Numbers]) -> ImageView:
    pose = _pose.compose(vehicle, (camera.position, camera.attitude))
    sweep = sweep_of(vehicle, pose, *motion, camera.motion_blur) if camera.motion_blur else STILL
    return ImageView(
        camera.name, camera.kind, pose, camera.collision, sweep=sweep, lens=camera.distortion
    )


def _camera(value: object) -> object:
    """Converts the name of a kind into a camera of that name and kind; returns other values."""
    if not isinstance(value, str):
        return value
    if value not in KINDS:
        expected = f"a RenderCamera or a kind, one of {', '.join(map(repr, KINDS))}"
        raise ValueError(f"cameras: expected {expected}, got {value!r:.99}")
    return RenderCamera(value, value)  # type: ignore[arg-type]
