"""Images of a flight from the built-in renderer or one that is connected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propwash.render import Client, Offscreen, RenderCamera
from propwash.vehicle.multicopter import Trajectory

_FIRST_IMAGE = 60.0
"""s, time for a renderer to connect and load its scene."""


class CameraViews:
    """Renders cameras of a vehicle; a context manager.

    connect: None: the built-in renderer; ports for poses and images: a renderer that connects to
    them, and shows its scene of this name.
    """

    def __init__(
        self,
        cameras: Iterable[RenderCamera],
        scene: str | Path,
        size: tuple[int, int],
        vertical_fov_deg: float,
        *,
        connect: tuple[int, int] | None = None,
        seed: int = 0,
    ) -> None:
        self._cameras = {camera.name: camera for camera in cameras}
        width, height = size
        self._client: Client | None = None
        if connect is not None:
            self._client = Client(
                str(scene),
                self._cameras.values(),
                width=width,
                height=height,
                vertical_fov_deg=vertical_fov_deg,
                ports=connect,
                timeout=_FIRST_IMAGE,
            )
        else:
            self._renderer = Offscreen(
                scene, width=width, height=height, vertical_fov_deg=vertical_fov_deg, seed=seed
            )

    def take(self, names: list[str], motion: Trajectory, row: int) -> Mapping[str, NDArray[Any]]:
        """Images of some cameras, by name, at a row of a flight and at its time."""
        time = float(motion.time[row])
        pose = motion.position[row], motion.attitude[row]
        if self._client is not None:
            return self._client.request_vehicle(round(time * 1e9), *pose, render=names).images
        return self._renderer.render(
            [self._cameras[name] for name in names],
            *pose,
            velocity=motion.velocity[row],
            body_rates=motion.body_rates[row],
            time=time,
        ).images

    def labels(self) -> list[str]:
        """Categories of the items of the built-in renderer's scene."""
        if self._client is not None:
            return []
        return [item.category for item in self._renderer.scene.items]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()


def focal_length(height: int, vertical_fov_deg: float) -> float:
    """px, of a camera with this field of view."""
    return float(0.5 * height / np.tan(np.deg2rad(0.5 * vertical_fov_deg)))
