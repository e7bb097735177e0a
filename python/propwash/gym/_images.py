"""Images of the tasks' scenes as observations: what is common to all, and those of a renderer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.gym._options import Settings
from propwash.gym._state import Observation, State
from propwash.gym._task import Task
from propwash.world import Scene

if TYPE_CHECKING:
    from propwash.render.offscreen import SceneRenderer

Flags = NDArray[np.bool_]
Pixels = NDArray[np.uint8]


class SceneObservation(Observation):
    """Base class of images of the tasks' scenery.

    An image is computed only if the vehicle has moved since the last one, so that resets of some
    environments do not repeat the others.
    """

    def __init__(self, task: Task, size: int) -> None:
        self._task = task
        self._poses = np.full((size, 7), np.nan, dtype=np.float32)
        """Poses of the images; NaN for none."""
        self._scenery: list[Scene | None] = [None] * size
        """Scene of each environment, from the task at the start of its episode."""

    def restored(self) -> None:
        """Discards images and scenes: the task has other attributes now."""
        self._poses[:] = np.nan

    def _find_moved(self, state: State) -> Flags:
        """Returns the environments (n,) that need new images."""
        changed = False
        for row in np.flatnonzero(np.isnan(self._poses[:, 0]) | (state.steps == 0)).tolist():
            scenery = self._task.scenery(row)
            if scenery is not self._scenery[row]:
                self._scenery[row], changed = scenery, True
                self._poses[row] = np.nan
        if changed:
            self._prepare({id(each): each for each in self._scenery if each is not None})
        poses = np.concatenate([state.position, state.attitude], axis=1)
        moved: Flags = (poses != self._poses).any(axis=1)
        self._poses = poses
        return moved

    def _prepare(self, sceneries: dict[int, Scene]) -> None:
        """Prepares images of the present sceneries, by id."""
        raise NotImplementedError

    def _check(self, scenes: Iterable[Scene], kind: str) -> None:
        """Raises ValueError if all scenes are empty."""
        if not any(len(scene.items) for scene in scenes):
            name = type(self._task).__name__
            raise ValueError(
                f"observation: expected a task with a scene for {kind!r}, {name} has none; set "
                "`scene`, an option of Hover and an attribute of custom tasks, or use 'state' or "
                "'sensors'"
            )


class ImageObservation(SceneObservation):
    """Grey or colour images (n, height, width, 1 or 3) of uint8 from a camera along body x.

    They are those of the built-in renderer with its default light. Clouds and textures are random
    numbers of the scene: other gates have other clouds.
    """

    def __init__(
        self, task: Task, state: State, chosen: Settings, kind: Literal["grey", "rgb"]
    ) -> None:
        super().__init__(task, state.size)
        self._kind, self._fov = kind, float(chosen.image_fov)
        self.mounting = _rotation.about_y(float(np.radians(-chosen.image_tilt)))
        width, height = chosen.image_size
        shape = state.size, height, width, 1 if kind == "grey" else 3
        self._images: Pixels = np.zeros(shape, dtype=np.uint8)
        self._renderers: dict[int, SceneRenderer] = {}
        """Of each scenery, by id; they refer to it."""

    def observe(self, state: State, fresh: Flags | None) -> Pixels:
        """Returns the images."""
        height, width = self._images.shape[1:3]
        for row in np.flatnonzero(self._find_moved(state)).tolist():
            attitude = _rotation.product(tuple(self._poses[row, 3:].tolist()), self.mounting)
            renderer = self._renderers[id(self._scenery[row])]
            place = self._poses[row, :3]
            image = renderer.image(self._kind, place, attitude, width, height, self._fov)
            self._images[row] = image.reshape(self._images[row].shape)
        images: Pixels = state.buffer(self._images.shape, self._images.dtype, self._kind)
        np.copyto(images, self._images)
        return images

    def _prepare(self, sceneries: dict[int, Scene]) -> None:
        from propwash.render.offscreen import SceneRenderer  # only images need this part

        self._check(sceneries.values(), self._kind)
        for scene in sceneries.values():
            if scene.moving:
                raise ValueError(
                    f"observation: expected a scene without moving items for {self._kind!r}, got "
                    f"{scene.moving[0].name!r:.50} in {scene.name!r:.50}"
                )
        self._renderers = {
            key: self._renderers.get(key) or SceneRenderer(each, seed=texture_seed(each))
            for key, each in sceneries.items()
        }


def texture_seed(scene: Scene) -> int:
    """A seed for the textures of a scene, from the places of its items."""
    places = [each for item in scene.items for each in getattr(item, "position", ())]
    words: Any = np.round(1000.0 * np.asarray(places)).astype(np.int64).astype(np.uint32)
    return int(np.random.SeedSequence(words.tolist()).generate_state(1)[0])
