"""Frames for `render()` from the built-in renderer, and the window that shows them.

A frame shows the vehicle and its trail, the task's scene (gates, path, landing pad), a green ball
at the target and, if the scene has no plane, a floor in squares of one metre.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from propwash import _render, _rotation
from propwash.gym._engine import Engine
from propwash.gym._options import MAX_FRAMES, Settings
from propwash.gym._task import GRID, MARKINGS
from propwash.render.bodies import multicopter
from propwash.world import Plane, Scene, Sphere

Array = NDArray[np.float64]
Frame = NDArray[np.uint8]

_FIELD_OF_VIEW = {"chase": 60.0, "onboard": 90.0}
"""degrees, vertical."""
_ELEVATION = float(np.deg2rad(18.0))
"""Elevation of the chase camera seen from the vehicle [rad]."""
_CAMERA_LAG = 0.4
"""Time constant of the chase camera's heading [s]."""
_MAX_YAW, _MAX_PITCH = 0.35, 0.3
"""Maximum rotation of the chase camera from the vehicle towards the target [rad]."""
_BEADS, _TRAIL_SECONDS = 160, 1.5
_FLOOR = 3.0
"""Depth of the floor below the origin or the lowest item [m]; doubled when a vehicle reaches it."""
_CACHE_SIZE = 128
"""Maximum number of cached painters."""
_BLUE, _GREEN = (0.05, 0.30, 0.90), (0.05, 0.75, 0.20)
_LEVEL = np.array([1.0, 0.0, 0.0, 0.0])
_HIDDEN = np.array([0.0, 0.0, -1e5])
"""Position of vehicles that are absent [m]."""


class _World(NamedTuple):
    scenery: Scene
    """From the task."""
    floor: float
    """Height of the highest level plane [m]."""
    painter: _render.Painter
    shown: Scene
    """Referenced by the painter."""
    solid: Scene
    """Items that occlude the vehicle."""


class FrameRenderer:
    """Records the first environments of an engine step by step and draws them on demand."""

    def __init__(self, engine: Engine, chosen: Settings) -> None:
        self._vehicles = engine.task.vehicles
        size = engine.size // self._vehicles
        limit = min(size, MAX_FRAMES)
        self._count = size if chosen.render_envs is None else chosen.render_envs
        if self._count > limit:
            raise ValueError(
                f"render_envs = {self._count}: expected the number of the {size} "
                f"environments to draw, 1 to {limit}; use render_envs={limit}, for example"
            )
        self._rows = slice(0, self._count * self._vehicles, self._vehicles)
        """Vehicles that the cameras follow: the first of each environment that is drawn."""
        self._engine = engine
        self._onboard = chosen.render_camera == "onboard"
        self._width, self._height = chosen.render_size
        angle = np.deg2rad(_FIELD_OF_VIEW[chosen.render_camera])
        self._focal = float(0.5 * self._height / np.tan(0.5 * angle))
        vehicle = engine.fleet.vehicle
        self._size = max(0.02, *(float(np.linalg.norm(r.position)) for r in vehicle.rotors))
        """m, from the vehicle's centre to its farthest rotor."""
        target = _ball("target", 0.3 * self._size + 0.03, _GREEN)
        trail = _ball("trail", 0.07 * self._size, _BLUE)
        body = Scene(multicopter([rotor.position for rotor in vehicle.rotors]))
        self._bodies = [target, *[body] * (self._vehicles - 1)]
        if not self._onboard:
            self._bodies += [body, *[trail] * _BEADS]
        rows = min(1000, max(2, round(_TRAIL_SECONDS / engine.period)))
        self._trail = np.zeros((rows, self._count, 3))
        """Last positions [m], the newest first."""
        self._heading = np.tile([1.0, 0.0], (self._count, 1))
        """Horizontal unit vectors: headings at the start of the episodes."""
        self._forward = self._heading.copy()
        """Horizontal direction of the chase camera."""
        self._worlds: dict[tuple[int, int], _World] = {}

    def follow(self, begun: NDArray[np.bool_] | None = None) -> None:
        """Records the present positions.

        begun: (n,) environments that were reset or placed; None for those in step 0.
        """
        state = self._engine.state
        begun = (state.steps == 0 if begun is None else begun)[self._rows]
        position = state.position[self._rows].astype(np.float64)
        self._trail[1:] = self._trail[:-1]
        self._trail[0] = position
        if begun.any():
            self._heading[begun] = _unit(state.rotation[self._rows][begun, :2, 0])
            self._trail[:, begun] = position[begun]
        # along the velocity and towards the target, else along the first heading
        velocity = state.velocity[self._rows, :2].astype(np.float64)
        to_target = (self._targets() - position)[:, :2]
        distance = np.linalg.norm(to_target, axis=1, keepdims=True)
        direction = _unit(
            0.3 * self._heading + 0.5 * velocity + to_target * (2.0 / np.maximum(distance, 2.0))
        )
        self._forward += (direction - self._forward) * -np.expm1(-self._engine.period / _CAMERA_LAG)
        self._forward[begun] = direction[begun]

    def _targets(self) -> Array:
        target = self._engine.task.target(self._engine.state)
        where = np.zeros(3) if target is None else np.asarray(target, dtype=np.float64)
        return np.broadcast_to(where, (self._engine.size, 3))[self._rows]

    def memory(self) -> dict[str, Array]:
        """The attributes for a snapshot."""
        return {name: getattr(self, name) for name in ("_trail", "_heading", "_forward")}

    def restore(self, memory: dict[str, Array] | None) -> None:
        """Restores attributes from memory(); if they do not fit, the trails restart."""
        if memory is not None and memory["_trail"].shape == self._trail.shape:
            vars(self).update(memory)
        else:
            self.follow(np.ones(self._engine.size, dtype=np.bool_))

    def frames(self) -> tuple[Frame, ...]:
        """Returns a frame (height, width, 3) sRGB of each environment that is drawn."""
        targets = self._targets()
        return tuple(self._frame(row, targets[row]) for row in range(self._count))

    def _frame(self, row: int, target: Array) -> Frame:
        state, first = self._engine.state, row * self._vehicles
        position = self._trail[0, row]
        attitude = state.attitude[first].astype(np.float64)
        world = self._world(self._engine.task.scenery(first), float(position[2]))
        others = slice(first + 1, first + self._vehicles)
        present = np.where(state.active[others, None], state.position[others], _HIDDEN)
        positions = np.concatenate([target[None], present])
        attitudes = np.concatenate([_LEVEL[None], state.attitude[others]])
        if not self._onboard:
            beads = _resampled(self._trail[:, row], _BEADS, 0.1 * self._size)
            positions = np.concatenate([positions, position[None], beads])
            attitudes = np.concatenate([attitudes, attitude[None], np.tile(_LEVEL, (_BEADS, 1))])
        world.painter.move(positions, attitudes, positions, attitudes)
        camera = (position, attitude) if self._onboard else self._chase_camera(row, target, world)
        # the second pose is that of the previous frame, which only optical flow needs
        positions, attitudes = (np.stack([part, part]) for part in camera)
        size = self._width, self._height
        painted = world.painter.paint(positions, attitudes, *size, self._focal, 2, ("rgb",), False)
        frame: Frame = painted["rgb"]
        return frame

    def _chase_camera(self, row: int, target: Array, world: _World) -> tuple[Array, Array]:
        """Position and attitude of a camera behind and above the vehicle.

        It is rotated slightly towards the target, and moves closer if an item would occlude the
        vehicle.
        """
        position, (x, y) = self._trail[0, row], _unit(self._forward[row])
        to_target = float(np.linalg.norm(target - position))
        away = float(np.clip(9.0 * self._size, 0.5, 4.0)) + 0.4 * min(to_target, 2.0)
        level, up = away * np.cos(_ELEVATION), away * np.sin(_ELEVATION)
        camera = position + np.array([-level * x, -level * y, up])
        clearance = 0.5 * self._size
        free = float(world.solid.spherecast(position, camera, clearance).fraction)
        camera = position + max(free, 0.25) * (camera - position)
        camera[2] = max(camera[2], world.floor + clearance)
        yaw, pitch = _bearing(position - camera)
        target_yaw, target_pitch = _bearing(target - camera)
        yaw += _partial(target_yaw - yaw, _MAX_YAW)
        pitch += _partial(target_pitch - pitch, _MAX_PITCH)
        return camera, _rotation.from_euler(0.0, pitch, yaw)

    def _world(self, scenery: Scene, height: float) -> _World:
        """Returns the cached world of a scene for a vehicle at this height."""
        depth, has_plane = 0, any(isinstance(item, Plane) for item in scenery.items)
        lowest = min((item.position[2] for item in scenery.items), default=0.0)
        while not has_plane and height < lowest - _FLOOR * 2**depth + self._size and depth < 30:
            depth += 1
        found = self._worlds.get((id(scenery), depth))
        if found is not None and found.scenery is scenery:
            return found
        shown = scenery
        if not has_plane:
            floor = GRID.replace(position=(0.0, 0.0, lowest - _FLOOR * 2**depth))
            shown = Scene([floor, *scenery.items])
        painter = _render.Painter(shown.core, "noon", 0, None, None)
        for body in self._bodies:
            painter.add_body(body.core)
        solid = Scene(item for item in shown.items if item.category not in MARKINGS)
        made = _World(scenery, _floor_of(shown), painter, shown, solid)
        if len(self._worlds) >= _CACHE_SIZE:
            self._worlds.clear()
        self._worlds[id(scenery), depth] = made
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_worlds": {}}


def tiled(frames: tuple[Frame, ...]) -> Frame:
    """Arranges frames in a grid of about as many columns as rows."""
    if len(frames) == 1:
        return frames[0]
    columns = int(np.ceil(np.sqrt(len(frames))))
    height, width, _ = frames[0].shape
    sheet = np.zeros((-(-len(frames) // columns) * height, columns * width, 3), dtype=np.uint8)
    for number, frame in enumerate(frames):
        y, x = height * (number // columns), width * (number % columns)
        sheet[y : y + height, x : x + width] = frame
    return sheet


def _ball(name: str, radius: float, colour: tuple[float, float, float]) -> Scene:
    return Scene([Sphere(name=name, category=name, colour=colour, radius=radius)])


def _floor_of(scene: Scene) -> float:
    """Height of the highest level plane [m]; -inf without one."""
    planes = [item for item in scene.items if isinstance(item, Plane)]
    level = [plane.position[2] for plane in planes if np.hypot(*plane.attitude[1:3]) < 1e-6]
    return max(level, default=-np.inf)


def _resampled(points: Array, count: int, spacing: float) -> Array:
    """(count, 3) evenly spaced points along a polyline; beyond its end its last point repeats."""
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    # wider spacing for long trails, to reach their end
    step = max(spacing, arc[-1] / count)
    where = step * np.arange(1, count + 1)
    return np.stack([np.interp(where, arc, axis) for axis in points.T], axis=1)


def _bearing(vector: Array) -> tuple[float, float]:
    """Yaw left of x and pitch below the horizon of a vector [rad]."""
    x, y, z = vector
    return float(np.arctan2(y, x)), float(np.arctan2(-z, np.hypot(x, y)))


def _partial(angle: float, limit: float) -> float:
    """Half of an angle, limited, and falling to 0 at pi: the camera does not turn to the rear."""
    angle = float(np.arctan2(np.sin(angle), np.cos(angle)))
    part = min(0.5 * abs(angle), limit * (np.pi - abs(angle)) / (np.pi - 2.0 * limit))
    return float(np.copysign(part, angle))


def _unit(vectors: Any) -> Array:
    """Normalises vectors (…, 2); x for the zero vector."""
    rows = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Array = np.where(length > 1e-6, rows / np.maximum(length, 1e-6), [1.0, 0.0])
    return unit


class Window:
    """A pygame window (extra `show`); the first frame opens it. `fps`: maximum frame rate [Hz]."""

    def __init__(self, title: str, fps: float) -> None:
        try:
            self._pygame: Any = import_module("pygame")
        except ImportError as error:
            raise DependencyNotInstalled(
                "render_mode='human' needs pygame; install it with: pip install \"propwash[show]\""
            ) from error
        self._title, self._fps = title, fps
        self._surface: Any = None
        self._clock: Any = None

    def __reduce__(self) -> tuple[type[Window], tuple[str, float]]:
        return Window, (self._title, self._fps)

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Shows a frame (height, width, 3)."""
        game = self._pygame
        if self._surface is None:
            game.display.init()
            game.display.set_caption(self._title)
            self._surface = game.display.set_mode(frame.shape[1::-1])
            self._clock = game.time.Clock()
        surface = game.image.frombuffer(np.ascontiguousarray(frame), frame.shape[1::-1], "RGB")
        self._surface.blit(surface, (0, 0))
        game.event.pump()
        self._clock.tick(self._fps)
        game.display.flip()

    def close(self) -> None:
        """Closes the window if it is open."""
        if self._surface is not None:
            self._surface = None
            self._pygame.display.quit()
