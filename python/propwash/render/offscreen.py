"""The reference renderer in the same process: no sockets, no other program, no extra.

from propwash.render import Offscreen, RenderCamera

studio = Offscreen("alphapilot", width=640, height=480)
cameras = [RenderCamera("front"), RenderCamera("range", "depth")]
frame = studio.render(cameras, position=(18.5, 6.5, 1.5))
frame.images["front"]        # (480, 640, 3) uint8, top row first
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from propwash.render import _pose
from propwash.render._reference import Body, Reference, Request, View, checked_count
from propwash.render.cameras import KINDS, Kind, RenderCamera, RenderObject, check_unique, listed
from propwash.render.frame import Frame, Landmarks
from propwash.world import Scene

Cameras = RenderCamera | Kind | Iterable[RenderCamera | Kind]


class Offscreen:
    """A scene, and pictures of it on demand (docs/render-reference.md).

    Args:
        scene: a Scene, the name of a shipped one or a scene file.
        width: px, of all pictures.
        height: px.
        vertical_fov_deg: degrees.
        look: "morning", "noon", "sunset", "overcast", "indoor"; "auto": the lamp where the scene
            has a ceiling, the morning elsewhere.
        antialias: rays along each edge of a pixel where colours change, 1 to 8; 1: one a pixel.
        threads: that paint, the caller's included.
        seed: of tiles, grain and clouds; with a scene's name also of the scene, where it has one.

    Raises ValueError for what cannot be. Threads that call one at once wait for each other.
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
        self.width = checked_count("width", width, 16384)
        self.height = checked_count("height", height, 16384)
        if not _pose.is_number(vertical_fov_deg) or not 0.1 <= vertical_fov_deg <= 179.0:
            raise ValueError(
                f"vertical_fov_deg: expected 0.1 to 179, got {vertical_fov_deg!r:.100}"
            )
        self.vertical_fov_deg = float(vertical_fov_deg)
        self._reference = Reference(self.scene, look, seed or 0, antialias, threads)

    @property
    def look(self) -> str:
        """The light that is used."""
        return self._reference.look

    def render(
        self,
        cameras: Cameras = "rgb",
        position: ArrayLike = (0.0, 0.0, 0.0),
        attitude: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        *,
        objects: Iterable[RenderObject] = (),
        time_ns: int = 0,
    ) -> Frame:
        """A picture from each camera of a vehicle.

        Optical flow is from the picture that the camera of the same name took before; its first
        has none. Names of kinds, such as "rgb", stand for cameras of that kind and name, without a
        mounting.

        Args:
            cameras: one or several; their poses are on the vehicle.
            position: (3,) m, of the vehicle in the world.
            attitude: (4,) from the vehicle's axes to the world, scalar first.
            objects: bodies that stand in the scene for this picture.
            time_ns: what the frame is to say.

        Raises ValueError for what cannot be.
        """
        started = time.perf_counter()
        several = isinstance(cameras, Iterable) and not isinstance(cameras, str)
        given: Iterable[object] = cameras if several else [cameras]  # type: ignore[assignment]
        mounted = listed("cameras", RenderCamera, [_camera(each) for each in given])
        bodies = listed("objects", RenderObject, objects)
        check_unique(mounted, bodies)
        vehicle = (_pose.position("position", position), _pose.attitude("attitude", attitude))
        request = Request(
            self.width,
            self.height,
            self.vertical_fov_deg,
            [
                View(
                    each.name,
                    each.kind,
                    _pose.compose(vehicle, (each.position, each.attitude)),
                    each.collision,
                )
                for each in mounted
            ],
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
            _pose.time_stamp(time_ns),
            {each.name: shot.images[each.name] for each in mounted},
            Landmarks(tuple(each[0] for each in shot.landmarks), u, v, depth),
            shot.range_m,
            shot.collision,
            time.perf_counter() - started,
        )

    def forget(self) -> None:
        """The next picture of each camera is its first: nothing flows in it."""
        self._reference.forget()


def _camera(given: object) -> object:
    """A camera of the kind given and of its name; what is no kind's name remains."""
    if not isinstance(given, str):
        return given
    if given not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(
            f"cameras: expected a RenderCamera or a kind, one of {known}, got {given!r:.99}"
        )
    return RenderCamera(given, given)  # type: ignore[arg-type]
