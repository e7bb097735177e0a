"""MuJoCo: a free body with a force and a torque at each of four sites, stepped in C."""

from __future__ import annotations

import mujoco
import numpy as np
from common import DT, Result, report, steps_per_second
from mujoco import rollout

VEHICLES = 64
STEPS = 100

# Mass, inertia and arms of propwash's default quadcopter; thrust with a time constant of 0.02 s.
MODEL = f"""
<mujoco>
  <option timestep="{DT}" integrator="RK4" density="0"><flag contact="disable"/></option>
  <worldbody>
    <body name="quadcopter">
      <freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.0049 0.0049 0.0069"/>
      <site name="r0" pos=" 0.08  0.08 0"/>
      <site name="r1" pos="-0.08  0.08 0"/>
      <site name="r2" pos="-0.08 -0.08 0"/>
      <site name="r3" pos=" 0.08 -0.08 0"/>
    </body>
  </worldbody>
  <actuator>
    <general site="r0" gear="0 0 1 0 0 -0.136" dyntype="filter" dynprm="0.02"/>
    <general site="r1" gear="0 0 1 0 0  0.136" dyntype="filter" dynprm="0.02"/>
    <general site="r2" gear="0 0 1 0 0 -0.136" dyntype="filter" dynprm="0.02"/>
    <general site="r3" gear="0 0 1 0 0  0.136" dyntype="filter" dynprm="0.02"/>
  </actuator>
</mujoco>
"""


def main() -> None:
    """Measures a rollout of many vehicles on one thread, and one vehicle per call."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[2] = 10.0
    data.act[:] = 9.81 / 4
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    starts = np.tile(state, (VEHICLES, 1))
    control = np.full((VEHICLES, STEPS, 4), 9.81 / 4)
    control *= 1.0 + 0.01 * np.random.default_rng(7).standard_normal((VEHICLES, 1, 4))

    def fly() -> None:
        rollout.rollout(model, data, initial_state=starts, control=control)

    def one() -> None:
        mujoco.mj_step(model, data)

    data.ctrl[:] = 9.81 / 4
    includes = "rigid body, first-order lag of each thrust, thrust and torque at four sites"
    leaves_out = "thrust from rotor speed, rotor momentum, drag, noise, contacts (switched off)"
    for name, vehicles, call, steps, how in [
        ("rollout", VEHICLES, fly, VEHICLES * STEPS, f"{STEPS} steps per call"),
        ("mj_step", 1, one, 1, "1 step per call"),
    ]:
        rate = steps_per_second(call, steps)
        method = f"RK4, 960 Hz, float64, {how}"
        report(
            Result(f"MuJoCo, {name}", mujoco.__version__, method, vehicles, rate, includes,
                   leaves_out)
        )  # fmt: skip


if __name__ == "__main__":
    main()
