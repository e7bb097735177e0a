"""Grey and colour images of the tasks' scenes as observations."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.gym._options import Settings
from propwash.gym._state import Observation, State
from propwash.gym._task import Task
from propwash.world import Scene

Pixels = NDArray[np.uint8]


class GreyObservation(Observation):
    """Grey images (n, height, width, 1) of uint8 from a camera in the vehicle, along body x.

    They are those of the built-in renderer with its default light. Clouds and textures are random
    numbers of the scene: other gates have other clouds. An image is computed only if the vehicle
    has moved since the last one.
    """

    kind: ClassVar[Literal["grey", "rgb"]] = "grey"
    channels: ClassVar[int] = 1

    def __init__(self, task: Task, state: State, chosen: Settings) -> None:
        self._task = task
        size, fov, tilt = (getattr(chosen, f"{self.kind}_{x}") for x in ("size", "fov", "tilt"))
        width, height = size
        self._fov = float(fov)
        self.mounting = _rotation.about_y(float(np.radians(-tilt)))
        shape = state.size, height, width, self.channels
        self._images: Pixels = np.zeros(shape, dtype=np.uint8)
        self._poses = np.full((state.size, 7), np.nan, dtype=np.float32)
        """Poses of the images; NaN for none."""
        self._scenery: list[Scene | None] = [None] * state.size
        """Scene of each environment, from the task at the start of its episode."""
        self._renderers: dict[int, Any] = {}
        """A SceneRenderer of each scenery, by id."""

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Pixels:
        """Returns the images."""
        self._find_scenes(np.flatnonzero(np.isnan(self._poses[:, 0]) | (state.steps == 0)))
        poses = np.concatenate([state.position, state.attitude], axis=1)
        moved = np.flatnonzero((poses != self._poses).any(axis=1))
        self._poses = poses
        height, width = self._images.shape[1:3]
        for row in moved.tolist():
            attitude = _rotation.product(tuple(poses[row, 3:].tolist()), self.mounting)
            renderer = self._renderers[id(self._scenery[row])]
            image = renderer.image(self.kind, poses[row, :3], attitude, width, height, self._fov)
            self._images[row] = image.reshape(self._images[row].shape)
        images: Pixels = state.buffer(self._images.shape, self._images.dtype, self.kind)
        np.copyto(images, self._images)
        return images

    def restored(self) -> None:
        """Discards images and scenes: the task has other attributes now."""
        self._poses[:] = np.nan

    def _find_scenes(self, rows: NDArray[np.intp]) -> None:
        """Reads the sceneries of environments whose episode has begun."""
        changed = False
        for row in rows.tolist():
            scenery = self._task.scenery(row)
            if scenery is not self._scenery[row]:
                self._scenery[row], changed = scenery, True
                self._poses[row] = np.nan
        if changed:
            from propwash.render.offscreen import SceneRenderer  # only images need this part

            self._check()
            used = {id(each): each for each in self._scenery if each is not None}
            self._renderers = {
                key: self._renderers.get(key) or SceneRenderer(each, seed=texture_seed(each))
                for key, each in used.items()
            }

    def _check(self) -> None:
        """Raises ValueError for sceneries that are empty or have moving items."""
        name, sceneries = type(self._task).__name__, [each for each in self._scenery if each]
        if not any(len(each.items) for each in sceneries):
            raise ValueError(
                f"observation: expected a task with a scene for {self.kind!r}, {name} has none; "
                "set `scene`, an option of Hover and an attribute of custom tasks"
            )
        for scene in sceneries:
            if scene.moving:
                raise ValueError(
                    f"observation: expected a scene without moving items for {self.kind!r}, got "
                    f"{scene.moving[0].name!r:.50} in {scene.name!r:.50}"
                )


class RgbObservation(GreyObservation):
    """Colour images (n, height, width, 3) of uint8, as GreyObservation."""

    kind: ClassVar[Literal["grey", "rgb"]] = "rgb"
    channels: ClassVar[int] = 3


def texture_seed(scene: Scene) -> int:
    """A seed for the textures of a scene, from the places of its items."""
    places = [each for item in scene.items for each in getattr(item, "position", ())]
    words: Any = np.round(1000.0 * np.asarray(places)).astype(np.int64).astype(np.uint32)
    return int(np.random.SeedSequence(words.tolist()).generate_state(1)[0])
