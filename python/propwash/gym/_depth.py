"""Depth images of the tasks' scenes as observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core, _world
from propwash.gym._images import SceneObservation
from propwash.gym._options import Settings
from propwash.gym._state import State
from propwash.gym._task import MARKINGS, Task
from propwash.sampling.sensor import NoiseKey
from propwash.sensors import Camera
from propwash.world import Scene

Array = NDArray[Any]
Flags = NDArray[np.bool_]

_SEED = 0x6465707468
"""Separates the noise of the images from that of sensors of the same fleet."""
_NEAREST = 0.01
"""m, minimum of a depth with noise."""


class DepthObservation(SceneObservation):
    """Depth images (n, height, width, 1) from a camera in the vehicle, along body x.

    A pixel is the depth along the optical axis as a fraction of `depth_range`, 1 beyond it; with
    the errors of a stereo camera, 0 without a reading. Their noise depends on the seed and the
    numbers of the environment and of the step. The images show the task's scenery without markings.
    """

    _memory: ClassVar[tuple[str, ...]] = ("_late",)
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __init__(self, task: Task, state: State, chosen: Settings) -> None:
        super().__init__(task, state.size)
        half_tilt = np.radians(-0.5 * chosen.depth_tilt)
        mounting = (np.cos(half_tilt), 0.0, np.sin(half_tilt), 0.0)
        width, height = chosen.depth_size
        self.camera = Camera(width, height, chosen.depth_fov, attitude=mounting)
        self._range, self._near = float(chosen.depth_range), float(chosen.depth_near)
        self._noise = float(chosen.depth_noise)
        self._stereo = chosen.stereo_error
        self._is_noisy = self._stereo is not None or self._noise > 0.0
        self._pool = tuple(chosen.depth_pool)
        width, height = chosen.pooled_size
        self._images = np.zeros((state.size, height, width, 1), dtype=chosen.depth_dtype)
        kept = chosen.depth_delay + 1 if chosen.depth_delay else 0
        self._late = np.zeros((kept, *self._images.shape), dtype=chosen.depth_dtype)
        """The last images, the oldest first; none without a delay."""
        self._visible: dict[int, tuple[Scene, Scene]] = {}
        """Each scenery with its scene without markings, by id."""
        self._groups: list[tuple[Scene, NDArray[np.intp]]] = []
        """Scenes and the environments in them."""

    def observe(self, state: State, fresh: Flags | None) -> Array:
        """Returns the images."""
        moved = self._find_moved(state)
        pixels = self._images[..., 0]
        for scene, rows in self._groups:
            chosen = rows[moved[rows]]
            for part in _runs(chosen) if self._is_noisy else [chosen]:
                if len(part) == state.size:
                    pixels[:] = self.measured(scene, state, state.position, state.attitude)
                elif len(part):
                    poses_of_part = state.position[part], state.attitude[part]
                    pixels[part] = self.measured(scene, state, *poses_of_part, int(part[0]))
        images = state.buffer(self._images.shape, self._images.dtype, "depth")
        np.copyto(images, self._delayed(state.steps == 0, fresh is None))
        return images

    def _delayed(self, begins: Flags, advances: bool) -> Array:
        """The images of `depth_delay` steps ago, or the first ones of an episode."""
        if not len(self._late):
            return self._images
        if advances:
            self._late[:-1] = self._late[1:]
        self._late[-1] = self._images
        self._late[:, begins] = self._images[begins]
        oldest: Array = self._late[0]
        return oldest

    def without_errors(self, state: State, chosen: Settings) -> DepthObservation:
        """Returns the observation of these settings with float images, without errors."""
        plain = replace(chosen, depth_dtype="float32", depth_noise=0.0, depth_error={})
        return DepthObservation(self._task, state, plain)

    def measured(
        self, scene: Scene, state: State, position: Array, attitude: Array, first: int = 0
    ) -> Array:
        """Returns images (k, height, width) of a scene from bodies at positions and attitudes.

        first: Number of the first of these k consecutive environments, for the noise.
        """
        core = state.fleet._core
        key = NoiseKey(_core.sensor_key(core.seed, _SEED), core.first_id + first)

        def measured(noise: float) -> Array:
            depth: Array = _world.measure_depth(
                scene.core,
                self.camera.core,
                self._range,
                noise,
                _world.StereoModel() if self._stereo is None else self._stereo.core,
                position,
                attitude,
                key.white(core.steps),
                state.fleet._pool,
            )
            return depth

        depth = measured(self._noise)
        if self._noise:  # a near surface is not a missing reading, 0
            is_read = self._stereo is None or measured(0.0) > 0.0
            np.maximum(depth, _NEAREST, out=depth, where=is_read)
        is_integer = self._images.dtype == np.uint8
        scale = 255.0 if is_integer else 1.0
        if self._near or self._pool != (1, 1):
            depth[depth == 0.0] = self._range  # no reading
            width, height = self._pool
            blocks = len(depth), depth.shape[1] // height, height, depth.shape[2] // width, width
            depth = depth.reshape(blocks).min(axis=(2, 4))
        if self._near:
            depth = scale * self._near / np.maximum(depth, self._near)
        else:
            depth *= scale / self._range
        return np.rint(depth) if is_integer else np.minimum(depth, 1.0)

    def _prepare(self, sceneries: dict[int, Scene]) -> None:
        members: dict[int, list[int]] = {}
        for row, each in enumerate(self._scenery):
            members.setdefault(id(each), []).append(row)
        self._visible = {key: self._entry(key, each) for key, each in sceneries.items()}
        self._groups = [(self._visible[key][1], np.array(rows)) for key, rows in members.items()]
        self._check([scene for scene, _ in self._groups], "depth")

    def _entry(self, key: int, scenery: Scene) -> tuple[Scene, Scene]:
        found = self._visible.get(key)
        if found is not None and found[0] is scenery:
            return found
        items = [item for item in scenery.items if item.category not in MARKINGS]
        return scenery, scenery if len(items) == len(scenery.items) else Scene(items)


def _runs(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Splits increasing numbers into consecutive ones."""
    return np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
