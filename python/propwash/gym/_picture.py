"""Frames of environments as they fly: what `render()` gives, by the built-in renderer.

A frame shows the vehicle and its trail, the task's world (gates, path, landing pad), a floor in
squares of a metre where that has none, and a green ball at the target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.gym._engine import Engine
from propwash.gym._options import MOST_FRAMES, Settings
from propwash.gym._scenery import GRID, MARKINGS
from propwash.render.bodies import multicopter
from propwash.vehicle.parameters import VehicleParameters
from propwash.world import Plane, Scene, Sphere

Array = NDArray[np.float64]
Frame = NDArray[np.uint8]

_FIELD_OF_VIEW = {"chase": 60.0, "onboard": 90.0}
"""degrees, vertical."""
_ELEVATION = float(np.deg2rad(18.0))
"""Of the chasing camera above the horizon of the vehicle."""
_CAMERA_LAG = 0.4
"""s, by which the chasing camera turns after the vehicle."""
_MOST_YAW, _MOST_PITCH = 0.35, 0.3
"""rad, by which it turns from the vehicle to the target."""
_BEADS, _TRAIL_SECONDS = 160, 1.5
_FLOOR = 3.0
"""m below the origin or the lowest item; twice as deep as soon as a vehicle gets there."""
_KEPT = 128
"""Worlds that painters are kept for."""
_BLUE, _GREEN = (0.05, 0.30, 0.90), (0.05, 0.75, 0.20)
_LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class _World(NamedTuple):
    scenery: Scene
    """As the task gave it."""
    floor: float
    """m, height of the highest level plane."""
    painter: _core.Painter
    shown: Scene
    """What the painter refers to."""
    solid: Scene
    """What the camera does not look through."""


class Pictures:
    """The first environments of an engine, followed step by step and drawn on demand."""

    def __init__(self, engine: Engine, chosen: Settings) -> None:
        most = min(engine.size, MOST_FRAMES)
        self._count = engine.size if chosen.render_envs is None else chosen.render_envs
        if self._count > most:
            raise ValueError(
                f"render_envs = {self._count}: expected how many of the {engine.size} environments "
                f"to draw, from 1 to {most}; make them with render_envs={most}, for example"
            )
        self._engine = engine
        self._onboard = chosen.render_camera == "onboard"
        self._width, self._height = chosen.render_size
        angle = np.deg2rad(_FIELD_OF_VIEW[chosen.render_camera])
        self._focal = float(0.5 * self._height / np.tan(0.5 * angle))
        vehicle = engine.fleet.vehicle
        self._size = _size_of(vehicle)
        """m, from the vehicle's centre to its farthest rotor."""
        target = _ball("target", 0.3 * self._size + 0.03, _GREEN)
        trail = _ball("trail", 0.07 * self._size, _BLUE)
        self._bodies = [target]
        if not self._onboard:
            self._bodies += [_body_of(vehicle), *[trail] * _BEADS]
        rows = min(1000, max(2, round(_TRAIL_SECONDS / engine.period)))
        self._trail = np.zeros((rows, self._count, 3))
        """m, the last positions, the newest one first."""
        self._heading = np.tile([1.0, 0.0], (self._count, 1))
        """Unit vectors, level: of the vehicles at the start of their episodes."""
        self._forward = self._heading.copy()
        """Level: where the chasing camera looks."""
        self._worlds: dict[tuple[int, int], _World] = {}

    def follow(self, begun: NDArray[np.bool_] | None = None) -> None:
        """Takes up what a step has made of the vehicles.

        begun: (n,) those that were put somewhere; None for those whose episodes have just begun.
        """
        state = self._engine.state
        begun = (state.steps == 0 if begun is None else begun)[: self._count]
        position = state.position[: self._count].astype(np.float64)
        self._trail[1:] = self._trail[:-1]
        self._trail[0] = position
        if begun.any():
            self._heading[begun] = _unit(state.rotation[: self._count][begun, :2, 0])
            self._trail[:, begun] = position[begun]
        towards = _unit(self._wanted(position))
        self._forward += (towards - self._forward) * -np.expm1(-self._engine.period / _CAMERA_LAG)
        self._forward[begun] = towards[begun]

    def _wanted(self, position: Array) -> Array:
        """Where to look: along velocity and way to the target, else along the first heading."""
        velocity = self._engine.state.velocity[: self._count, :2].astype(np.float64)
        way = (self._targets() - position)[:, :2]
        far = np.linalg.norm(way, axis=1, keepdims=True)
        wanted: Array = 0.3 * self._heading + 0.5 * velocity + way * (2.0 / np.maximum(far, 2.0))
        return wanted

    def _targets(self) -> Array:
        target = self._engine.task.target(self._engine.state)
        where = np.zeros(3) if target is None else np.asarray(target, dtype=np.float64)
        return np.broadcast_to(where, (self._engine.size, 3))[: self._count]

    def memory(self) -> dict[str, Array]:
        """For a snapshot."""
        return {name: getattr(self, name) for name in ("_trail", "_heading", "_forward")}

    def recall(self, memory: dict[str, Array] | None) -> None:
        """Takes up what memory() gave; without it the trails begin anew."""
        if memory is not None and memory["_trail"].shape == self._trail.shape:
            vars(self).update(memory)
        else:
            self.follow(np.ones(self._engine.size, dtype=np.bool_))

    def frames(self) -> tuple[Frame, ...]:
        """(height, width, 3), sRGB, of each environment that is drawn."""
        targets = self._targets()
        return tuple(self._frame(row, targets[row]) for row in range(self._count))

    def _frame(self, row: int, target: Array) -> Frame:
        position = self._trail[0, row]
        attitude = self._engine.state.attitude[row].astype(np.float64)
        world = self._world(self._engine.task.scenery(row), float(position[2]))
        places, turns = target[None], _LEVEL[None]
        if not self._onboard:
            beads = _along(self._trail[:, row], _BEADS, 0.1 * self._size)
            places = np.concatenate([places, position[None], beads])
            turns = np.concatenate([turns, attitude[None], np.tile(_LEVEL, (_BEADS, 1))])
        world.painter.move(places, turns, places, turns)
        camera = (position, attitude) if self._onboard else self._chasing(row, target, world)
        # the second pose is that of the previous frame, which only optical flow needs
        places, turns = (np.stack([part, part]) for part in camera)
        size = self._width, self._height
        painted = world.painter.paint(places, turns, *size, self._focal, 2, ("rgb",), False)
        frame: Frame = painted["rgb"]
        return frame

    def _chasing(self, row: int, target: Array, world: _World) -> tuple[Array, Array]:
        """Position and attitude of a camera behind and above the vehicle.

        It turns a little from the vehicle to the target, and comes nearer where an item is between
        it and the vehicle.
        """
        position, (x, y) = self._trail[0, row], _unit(self._forward[row])
        far = float(np.linalg.norm(target - position))
        away = float(np.clip(9.0 * self._size, 0.5, 4.0)) + 0.4 * min(far, 2.0)
        level, up = away * np.cos(_ELEVATION), away * np.sin(_ELEVATION)
        eye = position + np.array([-level * x, -level * y, up])
        clearance = 0.5 * self._size
        free = float(world.solid.spherecast(position, eye, clearance).fraction)
        eye = position + max(free, 0.25) * (eye - position)
        eye[2] = max(eye[2], world.floor + clearance)
        yaw, pitch = _bearing(position - eye)
        other_yaw, other_pitch = _bearing(target - eye)
        yaw += _part_of(other_yaw - yaw, _MOST_YAW)
        pitch += _part_of(other_pitch - pitch, _MOST_PITCH)
        (c, s), (cp, sp) = ((np.cos(0.5 * a), np.sin(0.5 * a)) for a in (yaw, pitch))
        return eye, np.array([c * cp, -s * sp, c * sp, s * cp])

    def _world(self, scenery: Scene, height: float) -> _World:
        """What is painted of a scene for a vehicle at this height, kept for the next frame."""
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
        painter = _core.Painter(shown.core, "noon", 0, None, None)
        for body in self._bodies:
            painter.add_body(body.core)
        solid = Scene(item for item in shown.items if item.category not in MARKINGS)
        made = _World(scenery, _floor_of(shown), painter, shown, solid)
        if len(self._worlds) >= _KEPT:
            self._worlds.clear()
        self._worlds[id(scenery), depth] = made
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_worlds": {}}


def tiled(frames: tuple[Frame, ...]) -> Frame:
    """Frames beside and below each other, in about as many columns as rows."""
    if len(frames) == 1:
        return frames[0]
    columns = int(np.ceil(np.sqrt(len(frames))))
    height, width, _ = frames[0].shape
    sheet = np.zeros((-(-len(frames) // columns) * height, columns * width, 3), dtype=np.uint8)
    for number, frame in enumerate(frames):
        y, x = height * (number // columns), width * (number % columns)
        sheet[y : y + height, x : x + width] = frame
    return sheet


def _size_of(vehicle: VehicleParameters) -> float:
    return max(0.02, *(float(np.linalg.norm(rotor.position)) for rotor in vehicle.rotors))


def _body_of(vehicle: VehicleParameters) -> Scene:
    return Scene(multicopter([rotor.position for rotor in vehicle.rotors]))


def _ball(name: str, radius: float, colour: tuple[float, float, float]) -> Scene:
    return Scene([Sphere(name=name, category=name, colour=colour, radius=radius)])


def _floor_of(scene: Scene) -> float:
    """m, of the highest level plane; -inf without one."""
    planes = [item for item in scene.items if isinstance(item, Plane)]
    level = [plane.position[2] for plane in planes if np.hypot(*plane.attitude[1:3]) < 1e-6]
    return max(level, default=-np.inf)


def _along(points: Array, count: int, spacing: float) -> Array:
    """(count, 3) at even distances along a line of points; where it ends the rest is its end."""
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    # long trails are followed to their ends, in wider steps
    step = max(spacing, ways[-1] / count)
    where = step * np.arange(1, count + 1)
    return np.stack([np.interp(where, ways, axis) for axis in points.T], axis=1)


def _bearing(way: Array) -> tuple[float, float]:
    """rad, to the left of x and below the horizon."""
    return float(np.arctan2(way[1], way[0])), float(np.arctan2(-way[2], np.hypot(*way[:2])))


def _part_of(angle: float, most: float) -> float:
    """Half of an angle, limited, and less towards half a turn: what is behind is not looked at."""
    angle = float(np.arctan2(np.sin(angle), np.cos(angle)))
    part = min(0.5 * abs(angle), most * (np.pi - abs(angle)) / (np.pi - 2.0 * most))
    return float(np.copysign(part, angle))


def _unit(vectors: Any) -> Array:
    """Vectors (…, 2) of unit length; x where there is none."""
    rows = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Array = np.where(length > 1e-6, rows / np.maximum(length, 1e-6), [1.0, 0.0])
    return unit
