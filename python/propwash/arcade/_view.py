"""Images of a flight: a camera behind the vehicle, or on board, and where the next gate is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.arcade._interface import Array, FlightSnapshot
from propwash.arcade._messages import ViewName
from propwash.render import Offscreen, RenderCamera, RenderObject
from propwash.world import Gate, Scene, texture_names

VERTICAL_FOV_DEG = 75.0
DISTANCE, RISE = 2.2, 0.75
"""m, of the camera behind and above the vehicle."""
PITCH = 0.17
"""rad, of the camera behind the vehicle, downwards."""
TILT = 0.35
"""rad, of the camera on board, upwards."""
SMOOTHING = 0.18
"""s, time constant of the heading behind the vehicle, and of the way back after an obstacle."""
CLEARANCE = 0.15
"""m, between the camera and what is behind it."""
HIDDEN = 0.5
"""m, from the camera, within which vehicles are not drawn: they would fill the image."""
NEXT_COLOUR, OTHER_COLOUR = (0.95, 0.42, 0.03), (0.30, 0.33, 0.37)
"""sRGB, of the next gate and of all others."""
_JUMP = 0.5
"""s between two images, above which the camera is put to its place without smoothing."""
_NEAR = 0.05
"""m, in front of the camera, where outlines are clipped."""

Pose = tuple[Array, Array]
"""Position (3,) m and attitude (4,), scalar first, in the world."""


class FlightView:
    """Draws the snapshots of a flight.

    The camera depends on the snapshots and their simulated times only. Images must be requested in
    the order of time; after a reset, or a pause between images, it starts behind the vehicle.

    scene: with its course. size: px, width and height. threads, antialias: of the renderer.
    """

    def __init__(
        self,
        scene: Scene,
        size: tuple[int, int] = (640, 360),
        threads: int = 1,
        antialias: int = 2,
    ) -> None:
        self.scene, self.size = scene, size
        self._threads, self._antialias = threads, antialias
        self._gates = {gate.name: gate for gate in scene.gates}
        self._recolours = _is_light(scene)
        self._offscreen = self._renderer(0)
        self._chase = Chase(scene)
        self.camera: Pose = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        """Pose of the camera in the last image."""

    def render(
        self, snapshot: FlightSnapshot, ghosts: Sequence[Pose] = (), view: ViewName = "chase"
    ) -> NDArray[np.uint8]:
        """The image (height, width, 3), RGB. ghosts: poses of the other vehicles."""
        if len(snapshot.passed) != self._passed and self._recolours:
            self._offscreen = self._renderer(len(snapshot.passed))
        behind = self._chase.follow(snapshot)
        self.camera = behind if view == "chase" else on_board(snapshot)
        others = [*ghosts, (snapshot.position, snapshot.attitude)]
        bodies = [
            _quad(f"vehicle{i}", pose)
            for i, pose in enumerate(others)
            if np.linalg.norm(pose[0] - self.camera[0]) > HIDDEN
        ]
        frame = self._offscreen.render(
            RenderCamera("front"),
            *self.camera,
            objects=bodies,
            time=max(0.0, snapshot.time),
        )
        return frame.images["front"]

    def _renderer(self, passed: int) -> Offscreen:
        """The renderer after so many gates."""
        self._passed = passed
        return Offscreen(
            _coloured(self.scene, passed) if self._recolours else self.scene,
            width=self.size[0],
            height=self.size[1],
            vertical_fov_deg=VERTICAL_FOV_DEG,
            threads=self._threads,
            antialias=self._antialias,
        )

    def target(self, gate: str | None) -> tuple[float, float, bool] | None:
        """The centre of a gate in the last image: u, v [px], and whether it is in front.

        Behind the camera, (u, v) is a point far outside the image, to the left or right: the side
        to turn to.
        """
        if gate is None:
            return None
        (point,) = self._in_camera(np.array([self._gates[gate].position]))
        x, y, z = (float(c) for c in point)
        centre_u, centre_v = 0.5 * self.size[0], 0.5 * self.size[1]
        if x < _NEAR:
            return centre_u - math.copysign(10.0 * sum(self.size), y), centre_v, False
        scale = self._focal / x
        return centre_u - scale * y, centre_v - scale * z, True

    def outline(self, gate: str | None) -> list[tuple[float, float]]:
        """The corners [px] of a gate's opening in the last image, clipped at the near plane."""
        if gate is None:
            return []
        corners = list(self._in_camera(_corners(self._gates[gate])))
        clipped = []
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            if a[0] >= _NEAR:
                clipped.append(a)
            if (a[0] >= _NEAR) != (b[0] >= _NEAR):
                clipped.append(a + (_NEAR - a[0]) / (b[0] - a[0]) * (b - a))
        focal, (width, height) = self._focal, self.size
        return [
            (float(0.5 * width - focal * y / x), float(0.5 * height - focal * z / x))
            for x, y, z in clipped
        ]

    @property
    def _focal(self) -> float:
        return 0.5 * self.size[1] / math.tan(0.5 * math.radians(VERTICAL_FOV_DEG))

    def _in_camera(self, points: Array) -> Array:
        position, attitude = self.camera
        inside: Array = (points - position) @ _rotation.rotation(attitude)
        return inside


class Chase:
    """The camera behind the vehicle: a smoothed heading, and never behind a wall."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._time = -math.inf
        self._yaw = self._heading = self._distance = 0.0

    def follow(self, snapshot: FlightSnapshot) -> Pose:
        """The pose of the camera for the next snapshot."""
        yaw = _rotation.heading(snapshot.attitude)
        elapsed = snapshot.time - self._time
        self._time = snapshot.time
        is_new = not 0.0 <= elapsed < _JUMP
        if is_new:
            self._yaw = self._heading = yaw
        previous, self._yaw = self._yaw, self._yaw + math.remainder(yaw - self._yaw, math.tau)
        if elapsed > 0.0 and not is_new:
            # the exact response of a first-order lag to a heading that is linear between images
            lag = SMOOTHING * (self._yaw - previous) / elapsed
            decay = math.exp(-elapsed / SMOOTHING)
            self._heading = self._yaw - lag + (self._heading - previous + lag) * decay
        cos, sin = math.cos(self._heading), math.sin(self._heading)
        arm = np.array([-DISTANCE * cos, -DISTANCE * sin, RISE])
        free = self._free(snapshot.position, arm)
        if is_new or free < self._distance:
            self._distance = free
        else:
            self._distance = free + (self._distance - free) * math.exp(-elapsed / SMOOTHING)
        position = snapshot.position + self._distance * arm
        down = _rotation.about_z(self._heading), _rotation.about_y(PITCH)
        return position, np.array(_rotation.product(*down))

    def _free(self, point: Array, arm: Array) -> float:
        """The fraction of the arm, from the vehicle, that is free of items."""
        length = float(np.linalg.norm(arm))
        hits = self._scene.raycast(point, arm, length + CLEARANCE, normals=False)
        return max(0.0, min(1.0, (float(hits.distance) - CLEARANCE) / length))


def _is_light(scene: Scene) -> bool:
    """Whether another renderer takes milliseconds; meshes and files of textures take seconds."""
    kept = ("", *texture_names())
    return all(item.shape != "mesh" and item.texture in kept for item in scene.items)


def _coloured(scene: Scene, passed: int) -> Scene:
    """The scene with the colours of its gates after so many passages."""
    gates = [gate.name for gate in scene.gates]
    colours = dict.fromkeys(gates, OTHER_COLOUR) | dict.fromkeys(gates[passed:][:1], NEXT_COLOUR)
    items = [
        item.replace(colour=colours[item.name]) if item.name in colours else item
        for item in scene.items
    ]
    return Scene(items, name=scene.name, start=scene.start)


def on_board(snapshot: FlightSnapshot) -> Pose:
    """The pose of the camera on board."""
    w, x, y, z = (float(c) for c in snapshot.attitude)
    return snapshot.position, np.array(_rotation.product((w, x, y, z), _rotation.about_y(-TILT)))


def _corners(gate: Gate) -> Array:
    """(4, 3) m, of the opening, in order around it."""
    y, z = 0.5 * gate.width, 0.5 * gate.height
    local = np.array([[0.0, y, z], [0.0, -y, z], [0.0, -y, -z], [0.0, y, -z]])
    corners: Array = np.asarray(gate.position) + local @ _rotation.rotation(gate.attitude).T
    return corners


def _quad(name: str, pose: Pose) -> RenderObject:
    x, y, z = (float(c) for c in pose[0])
    w, i, j, k = (float(c) for c in pose[1])
    return RenderObject(name, "quad", position=(x, y, z), attitude=(w, i, j, k))
