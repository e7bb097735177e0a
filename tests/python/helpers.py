"""Helpers for several Python tests."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

MULTICOPTERS = pw.vehicles.names()  # all shipped vehicles


def slow_if(condition: bool) -> list[pytest.MarkDecorator]:
    """The marks of a case of a test that is slow only in some cases."""
    return [pytest.mark.slow] if condition else []


def compiler() -> str:
    """A C++ compiler; skips if it is missing."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    pytest.skip("a C++ compiler is missing (none of $CXX, c++, g++, clang++)")


def code_blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced code blocks of a language, each with the number of its first line."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    found = re.finditer(rf"^```{re.escape(language)}[^\S\n]*\n(.*?)^```", text, re.M | re.S)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


def run_in_order(blocks: list[tuple[int, str]], page: str) -> None:
    """Runs the blocks of a page as one program; errors report line numbers of the page."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for line, code in blocks:
        exec(compile("\n" * (line - 1) + code, page, "exec"), namespace)


def restore_signals() -> None:
    """Restores signals in a child process: background jobs ignore SIGINT, those of nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_until(
    done: Callable[[], bool], sleep: Callable[[float], object] = time.sleep, seconds: float = 30.0
) -> None:
    """Waits until `done()`. sleep: that of a client serves its renderers meanwhile."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"timeout of {seconds:g} s"
        sleep(0.01)


class WallClock:
    """A clock that advances only in sleep()."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0.0
        self.now += seconds


def axis_angle(axis: ArrayLike, angle: float) -> Array:
    """The unit quaternion of a rotation about an axis."""
    unit = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * unit)])


def rotation_matrices(attitudes: ArrayLike) -> Array:
    """The rotation matrices (…, 3, 3) of unit quaternions (…, 4)."""
    q = np.asarray(attitudes, dtype=np.float64)
    w, v = q[..., :1, None], q[..., 1:, None]
    cross = np.cross(q[..., None, 1:], np.eye(3)).swapaxes(-1, -2)
    outer = v @ v.swapaxes(-1, -2)
    scalar = (w * w - np.sum(v * v, axis=-2, keepdims=True)) * np.eye(3)
    return np.asarray(scalar + 2.0 * (outer + w * cross), dtype=np.float64)


def some_residual(force: float = 0.2, torque: float = 0.01) -> pw.ResidualParameters:
    """A residual with all coefficients, in a domain of slow flight of a vehicle of about 1 kg."""
    count = itertools.count(1)

    def numbers(size: int, scale: float) -> tuple[float, ...]:
        return tuple(scale * math.sin(1.7 * next(count)) for _ in range(size))

    return pw.ResidualParameters(
        velocity=(9.0, 8.0, 7.0),
        velocity_centre=(0.6, 0.0, -0.2),
        rates=(9.0, 8.0, 7.0),
        thrust=30.0,
        thrust_centre=12.0,
        torque=(4.0, 5.0, 2.0),
        force_x=numbers(22, force),
        force_y=numbers(17, force),
        force_z=numbers(22, force),
        torque_x=numbers(17, torque),
        torque_y=numbers(22, torque),
        torque_z=numbers(17, torque),
    )


def tilted_hexacopter() -> pw.VehicleParameters:
    """A vehicle that uses every term of the model: none of its matrices is diagonal."""
    rotors = []
    for i in range(6):
        angle = math.radians(60.0 * i + 11.0)
        tilt = math.radians(12.0 if i % 2 else -9.0)
        axis = (
            -math.sin(angle) * math.sin(tilt),
            math.cos(angle) * math.sin(tilt),
            math.cos(tilt),
        )
        rotors.append(
            pw.RotorParameters(
                position=(0.21 * math.cos(angle), 0.19 * math.sin(angle), 0.01 * i - 0.02),
                axis=axis,
                spin=1 if i % 2 else -1,
                thrust_coefficient=8.5e-6 * (1.0 + 0.02 * i),
                torque_coefficient=1.4e-7 * (1.0 + 0.03 * i),
                inertia=4.0e-6,
            )
        )
    return pw.VehicleParameters(
        name="tilted",
        body=pw.BodyParameters(
            mass=1.6,
            inertia=((0.035, 0.002, -0.001), (0.002, 0.046, 0.003), (-0.001, 0.003, 0.070)),
            gravity=(0.3, -0.2, -9.7),
        ),
        rotors=tuple(rotors),
        motor=pw.MotorParameters(
            time_constant_up=0.03, time_constant_down=0.05, speed_min=0.0, speed_max=1200.0
        ),
        drag=pw.DragParameters(
            translational=0.08,
            rotational=((0.004, 0.0005, 0.0), (0.0005, 0.003, -0.0002), (0.0, -0.0002, 0.005)),
        ),
        rotor_drag=pw.RotorDragParameters(linear=(0.35, 0.25, 0.1), blow_back=0.004),
        inflow=pw.InflowParameters(
            axial=2e-4,
            translational=0.006,
            radius=0.12,
            drag=4e-5,
            axial_drag=0.003,
            flapping=5e-6,
        ),
        ground_effect=pw.GroundEffectParameters(radius=0.4, coefficient=1.3, height=-3.0),
        contact=pw.ContactParameters(frequency=12.0, leg=0.15, height=-4.0),
        residual=some_residual(),
        imu=pw.ImuParameters(position=(0.05, -0.03, 0.02), attitude=(0.5, 0.5, -0.5, 0.5)),
        rate_controller=pw.vehicles.load("hexacopter").rate_controller,
    )


def in_flight(uav: pw.Multicopter) -> pw.Multicopter:
    """A vehicle during an aggressive manoeuvre, so that all its internal states are nonzero."""
    thrust = 1.1 * uav.parameters.body.mass * 9.81
    uav.reset(position=[1.0, -2.0, 30.0], velocity=[3.0, 1.0, -0.5])
    uav.step(pw.RateThrust([1.5, -1.0, 0.7], thrust), substeps=97)
    return uav


def wrong(*values: Any) -> list[Any]:
    """The values with type Any, so that mypy accepts arguments of invalid types."""
    return list(values)


@contextmanager
def refused(argument: str, value: object, *types: type[Exception]) -> Iterator[None]:
    """Requires a ValueError or TypeError that names the argument and the received value."""
    with pytest.raises(types or (ValueError, TypeError)) as caught:
        yield
    message = str(caught.value)
    assert argument in message, f"{argument!r} is not in: {message}"
    text = str(value) if isinstance(value, str) else repr(value)
    short = f"{value:g}" if isinstance(value, float) else text[:20]
    assert short in message or "shape" in message, f"{text} is not in: {message}"


class ChangingSensor(pw.Barometer):
    """A barometer that tries to change what it is attached to while it samples."""

    def __init__(self, change: Callable[[], Any]) -> None:
        super().__init__()
        self.change, self.refused, self.is_active = change, 0, False

    def _read(self, *arguments: Any) -> Any:
        if self.is_active:
            with pytest.raises(RuntimeError, match=r"^expected no change while sensors sample"):
                self.change()
            self.refused += 1
        return super()._read(*arguments)
