"""gym-pybullet-drones: one quadcopter as a PyBullet body, commanded by rotor speeds."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from common import Result, report, steps_per_second
from gym_pybullet_drones.envs.CtrlAviary import CtrlAviary
from gym_pybullet_drones.utils.enums import Physics

FREQUENCY = 960
"""Hz."""


def main() -> None:
    """Its PyBullet dynamics with drag, and its explicit dynamics, a step in each call."""
    for physics, method, includes, leaves_out in (
        (
            Physics.PYB_DRAG,
            "PyBullet",
            "rigid body, contacts, thrust, torques, rotor drag",
            "motor lag, rotor momentum, noise, IMU",
        ),
        (
            Physics.DYN,
            "semi-implicit Euler",
            "rigid body, thrust, torques",
            "motor lag, rotor momentum, drag, contacts, noise, IMU",
        ),
    ):
        env = CtrlAviary(physics=physics, pyb_freq=FREQUENCY, ctrl_freq=FREQUENCY)
        env.reset()
        hover = np.full((1, 4), env.HOVER_RPM)
        report(
            Result(
                f"gym-pybullet-drones, {physics.value}",
                version("gym-pybullet-drones"),
                f"{method}, {FREQUENCY} Hz, float64, 1 step per call",
                1,
                steps_per_second(lambda env=env, hover=hover: env.step(hover), 1),
                includes,
                leaves_out,
            )
        )
        env.close()


if __name__ == "__main__":
    main()
