"""Crazyflow: thousands of vehicles as arrays, compiled by XLA for the CPU."""

from __future__ import annotations

from importlib.metadata import version

import jax
import numpy as np
from common import Result, report, steps_per_second
from crazyflow.control import Control
from crazyflow.dynamics import Dynamics
from crazyflow.sim import Sim
from crazyflow.sim.integration import Integrator

VEHICLES = 4096
STEPS = 10
FREQUENCY = 960
"""Hz."""

PHYSICS = "motor lag and limits, thrust, torques, rotor momentum, linear drag, rigid body, floor"


def simulator(n: int, control: Control) -> Sim:
    """One with first-principles dynamics, RK4, and controllers that run in every step."""
    sim = Sim(
        n_worlds=n,
        dynamics=Dynamics.first_principles,
        control=control,
        integrator=Integrator.rk4,
        freq=FREQUENCY,
        body_rate_freq=FREQUENCY,
        force_torque_freq=FREQUENCY,
        device="cpu",
    )
    sim.reset()
    return sim


def time_one(control: Control, includes: str, leaves_out: str) -> None:
    """Measures a call of ten RK4 steps, without its compilation."""
    sim = simulator(VEHICLES, control)
    rng = np.random.default_rng(7)
    shape = (VEHICLES, 1, 4)
    if control == Control.rotor_vel:
        command = (15_000.0 * (1.0 + 0.01 * rng.standard_normal(shape))).astype(np.float32)
        set_command = sim.rotor_vel_control
    else:
        command = (0.2 * rng.standard_normal(shape)).astype(np.float32)
        command[..., 3] = 0.4  # thrust, N
        set_command = sim.body_rate_control

    def fly() -> None:
        set_command(command)
        sim.step(STEPS)
        jax.block_until_ready(sim.data.states.pos)

    report(
        Result(
            f"Crazyflow, {control}",
            version("crazyflow"),
            f"RK4, {FREQUENCY} Hz, float32, {STEPS} steps per call",
            VEHICLES,
            steps_per_second(fly, VEHICLES * STEPS),
            includes,
            leaves_out,
        )
    )


def main() -> None:
    """Measures rotor-speed commands, then commands of body rates and thrust."""
    time_one(Control.rotor_vel, PHYSICS, "noise")
    time_one(
        Control.body_rate, PHYSICS + "; rate controller on the true rates", "noise, IMU, low-pass"
    )


if __name__ == "__main__":
    main()
