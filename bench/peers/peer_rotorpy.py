"""RotorPy: one vehicle, its equations in numpy under scipy's solve_ivp."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from common import DT, Result, report, steps_per_second
from rotorpy.vehicles.hummingbird_params import quad_params
from rotorpy.vehicles.multirotor import Multirotor


def main() -> None:
    """One step per call, with the default integrator."""
    vehicle = Multirotor(quad_params, control_abstraction="cmd_motor_speeds", aero=True)
    hover = np.sqrt(quad_params["mass"] * 9.81 / (4 * quad_params["k_eta"]))
    state = {**vehicle.initial_state, "rotor_speeds": np.full(4, hover)}
    command = {"cmd_motor_speeds": np.full(4, hover)}

    def fly() -> None:
        nonlocal state
        state = vehicle.step(state, command, DT)

    report(
        Result(
            "RotorPy, Multirotor",
            version("rotorpy"),
            "RK45 of scipy (adaptive: 26 evaluations per step), 960 Hz, float64, 1 step per call",
            1,
            steps_per_second(fly, 1),
            "motor lag and limits, thrust, torques, drag of body and rotors, blade flapping, "
            "translational lift, rigid body, noise of the motor speed",
            "rotor momentum, force and torque noise, IMU",
        )
    )


if __name__ == "__main__":
    main()
