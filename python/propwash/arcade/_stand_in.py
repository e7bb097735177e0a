"""A stand-in of the thread of physics: moves as the sticks command, without dynamics."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from propwash import _rotation, race
from propwash.arcade._interface import Mode, Snapshot, Sticks


class StandIn:
    """Moves a point."""

    def __init__(self, course: Any, vehicle: str, seed: int) -> None:
        self._stop, self._paused, self._scale = threading.Event(), False, 1.0
        self._input: tuple[Sticks, Mode, int] = (Sticks(throttle=0.5), "assisted", 0)
        self.select(course, vehicle, seed)
        threading.Thread(target=self._run, daemon=True).start()

    def select(self, course: Any, vehicle: str, seed: int) -> None:
        self._scene = course.scene(seed)
        self.reset()

    def reset(self) -> None:
        start = self._scene.start
        self._time, self._flown, self._passed = 0.0, 0.0, ()
        self._at = np.array([start.position[0], start.position[1], 0.05])
        self._yaw = start.yaw
        self._take(np.zeros(3))

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        self._input = (sticks, mode, number)

    def pause(self, paused: bool) -> None:
        self._paused = paused

    def set_scale(self, scale: float) -> None:
        self._scale = scale

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(1.0 / 240.0 / self._scale):
            if not self._paused:
                self._tick(1.0 / 240.0)

    def _tick(self, dt: float) -> None:
        sticks, _, _ = self._input
        self._yaw -= 1.5 * sticks.yaw * dt
        ahead, left, up = 6.0 * sticks.pitch, -6.0 * sticks.roll, 6.0 * (sticks.throttle - 0.5)
        cos, sin = np.cos(self._yaw), np.sin(self._yaw)
        velocity = np.array([cos * ahead - sin * left, sin * ahead + cos * left, up])
        before = self._at
        self._at = np.maximum(before + dt * velocity, [-np.inf, -np.inf, 0.05])
        self._time += dt
        if self._at[2] > 0.2 or self._flown:
            self._flown += dt
        gates = self._scene.gates
        if len(self._passed) < len(gates):
            gate = gates[len(self._passed)]
            if race.passages(gate, np.array([0.0, dt]), np.array([before, self._at])):
                self._passed = (*self._passed, (gate.name, self._flown))
        self._take(velocity)

    def _take(self, velocity: Any) -> None:
        sticks, mode, number = self._input
        self.snapshot = Snapshot(
            time=self._time,
            race_time=self._flown,
            phase="flying" if self._flown else "ready",
            position=self._at,
            attitude=np.array(_rotation.about_z(self._yaw)),
            velocity=velocity,
            body_rates=np.zeros(3),
            passed=self._passed,
            collision=None,
            mode=mode,
            sticks=sticks,
            number=number,
        )


time  # noqa
