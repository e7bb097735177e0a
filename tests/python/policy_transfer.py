"""Flights of policies as C code: propwash, MuJoCo, scattered parameters, those of a posterior."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from propwash import RateThrust
from propwash.gym._c_parts import inputs_of
from propwash.gym.evaluation import evaluate, measures
from propwash.gym.export_c import export_c
from propwash.gym.policy import DifferenceWarning, Policy
from propwash.vehicle import VehicleParameters

Array = NDArray[np.float64]
Simulator = Literal["propwash", "MuJoCo", "scattered", "posterior"]
POLICIES = ("hover", "track", "race", "land")
"""The shipped policies that C code exists for: not those of images."""
SCATTER = {
    "mass": 0.2,
    "body.inertia": 0.2,
    "thrust_coefficient": 0.2,
    "time_constant_up": 0.2,
    "time_constant_down": 0.2,
}
"""The nominal vehicle's parameters in the C code differ from those that fly by up to 20 %."""
_CHANGES: dict[str, Any] = {
    "scattered": {"randomize": SCATTER},
    "posterior": {"randomize": "posterior"},  # of an identified vehicle
}
_BODY = """
<mujoco>
  <option timestep="{dt}" gravity="{gravity}" integrator="RK4"/>
  <worldbody><body><freejoint/>
    <inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia}"/>
    <geom type="box" size="0.1 0.1 0.03"/>
  </body></worldbody>
</mujoco>"""


class MujocoBody:
    """A rigid body that MuJoCo integrates."""

    def __init__(self, vehicle: VehicleParameters, dt: float) -> None:
        import mujoco

        inertia = np.array(vehicle.body.inertia)
        self._inertia = inertia if inertia.ndim == 2 else np.diag(inertia)
        self._mass, self._gravity = vehicle.body.mass, np.array(vehicle.body.gravity)
        self._dt, self._step = dt, mujoco.mj_step
        text = _BODY.format(
            dt=dt,
            gravity=" ".join(map(str, self._gravity)),
            mass=self._mass,
            inertia=" ".join(map(str, np.diag(self._inertia))),
        )
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)

    def step(self, fleet: Any, core: Any, command: Any) -> None:
        """Steps a fleet of one, whose rigid body MuJoCo moves under the same force and torque."""
        data, before = self._data, fleet.state
        data.qpos[:] = np.concatenate([before.position[0], before.attitude[0]])
        data.qvel[:] = np.concatenate([before.velocity[0], before.body_rates[0]])
        velocity, rates = (np.array(x[0], float) for x in (before.velocity, before.body_rates))
        core.step(command, 1)
        after = fleet.state
        force_W = self._mass * ((after.velocity[0] - velocity) / self._dt - self._gravity)
        torque_B = self._inertia @ (after.body_rates[0] - rates) / self._dt
        torque_B += np.cross(rates, self._inertia @ rates)
        data.xfrc_applied[1, :3] = force_W
        data.xfrc_applied[1, 3:] = data.xmat[1].reshape(3, 3) @ torque_B
        self._step(self._model, data)
        fleet.set_state(
            position=data.qpos[np.newaxis, :3],
            attitude=data.qpos[np.newaxis, 3:],
            velocity=data.qvel[np.newaxis, :3],
            body_rates=data.qvel[np.newaxis, 3:],
        )


class _Core:
    """The fleet of an environment that flies the command of the C code."""

    def __init__(self, fleet: Any, body: MujocoBody | None) -> None:
        self._fleet, self._core, self._body = fleet, fleet._core, body
        self.command: RateThrust | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def __enter__(self) -> Any:
        return self._core.__enter__()

    def __exit__(self, *error: object) -> Any:
        return self._core.__exit__(*error)

    def step(self, command: Any, substeps: int) -> None:
        if self._body is None:
            self._core.step(self.command, substeps)
            return
        for _ in range(substeps):
            self._body.step(self._fleet, self._core, self.command)


class CodePilot:
    """The C code of a policy: an actor for `evaluate`, whose commands the vehicle flies."""

    def __init__(self, name: str, folder: Path, envs: Any, core: _Core) -> None:
        exported = export_c(name, folder)
        file = folder / f"{exported.name}.so"
        compiler = next(c for c in ("cc", "gcc", "clang") if shutil.which(c))
        source = folder / f"{exported.name}.c"
        subprocess.run(
            [compiler, "-std=c99", "-O2", "-shared", "-fPIC", source, "-lm", "-o", file], check=True
        )
        self._code: Any = ctypes.CDLL(str(file))
        self._name, self._envs, self._core = exported.name, envs, core
        self._inputs = inputs_of(Policy.load(name), envs, name)
        self._memory, self._command = (ctypes.c_float * 64)(), (ctypes.c_float * 8)()

    def reset(self) -> None:
        """Begins an episode."""
        getattr(self._code, f"{self._name}_reset")(self._memory)

    def act(self, observation: Any) -> NDArray[np.float32]:
        """Computes the action, and the command, from the true state and the goal."""
        row = self._inputs.read(self._envs, observation)
        state, goal = ((ctypes.c_float * len(part))(*part) for part in (row[:13], row[13:]))
        step = getattr(self._code, f"{self._name}_step")
        assert step(self._memory, state, goal, self._command) == 0
        numbers = np.array(self._command[:4], np.float32)
        self._core.command = RateThrust(numbers[np.newaxis, :3], numbers[3:])
        return np.array([self._memory[:4]], np.float32)


def succeeds(task: str, measured: dict[str, float]) -> bool:
    """Whether an episode has the result that a policy of the task was trained for."""
    if task == "track":
        return measured["error after 2 s, median of RMS [m]"] < 0.1
    wanted = {"hover": "within 0.1 m for the last 2 s [%]", "race": "finished [%]"}
    return measured[wanted.get(task, "landed [%]")] == 100.0


def successes(name: str, simulator: Simulator, episodes: int, folder: Path) -> list[bool]:
    """The results of episodes with seeds from 0; name: of a shipped policy, or a file."""
    changes = {"randomize": {}, **_CHANGES.get(simulator, {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DifferenceWarning)
        envs = Policy.load(name).make_vec(1, autoreset_mode="DISABLED", **changes)
    fleet: Any = envs.fleet
    body = MujocoBody(fleet.vehicle, fleet.dt) if simulator == "MuJoCo" else None
    core = _Core(fleet, body)
    fleet._core = core
    pilot = CodePilot(name, folder, envs, core)
    found = []
    task = Policy.load(name).description.task
    for seed in range(episodes):
        found.append(succeeds(task, measures(envs.task, evaluate(pilot, envs, seed))))
    return found
