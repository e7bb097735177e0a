"""PyFlyt: one quadcopter as a PyBullet body, its motors and drag in numpy and numba."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from common import Result, report, steps_per_second
from PyFlyt.core import Aviary

FREQUENCY = 960
"""Hz."""


def main() -> None:
    """Motor commands at every physics step, without a controller."""
    options = {"control_hz": FREQUENCY}
    aviary = Aviary(
        start_pos=np.array([[0.0, 0.0, 100.0]]),
        start_orn=np.zeros((1, 3)),
        drone_type="quadx",
        drone_options=options,
        physics_hz=FREQUENCY,
    )
    aviary.set_mode(-1)
    hover = np.full(4, 0.5)

    def fly() -> None:
        aviary.set_setpoint(0, hover)
        aviary.step()

    report(
        Result(
            "PyFlyt, QuadX",
            version("PyFlyt"),
            f"PyBullet, {FREQUENCY} Hz, float64, 1 step per call",
            1,
            steps_per_second(fly, 1),
            "rigid body, contacts, motor lag and noise, thrust, torques, quadratic drag",
            "rotor momentum, force and torque noise, IMU",
        )
    )
    aviary.disconnect()


if __name__ == "__main__":
    main()
