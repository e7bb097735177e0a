"""Privileged observations: what a simulator knows, for critics and teachers."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.gym._options import Settings
from propwash.gym._randomize import Randomizer
from propwash.gym._state import Observation, State
from propwash.gym._task import Task

Numbers = NDArray[np.float32]


class PrivilegedObservation(Observation):
    """Columns of the groups in the option `privileged`, in that order.

    state: the default observation of the task. rotors: rotor speeds, as fractions of their maxima.
    parameters: the parameters of `randomize` as drawn, relative to the nominal values. wind: mean
    wind, m/s, world frame. delay: of commands, s. imu_bias: accelerometer, m/s^2, and gyroscope,
    rad/s.
    """

    def __init__(self, task: Task, state: State, chosen: Settings, randomizer: Randomizer) -> None:
        self._task, self._randomizer = task, randomizer
        fastest = state.fleet.vehicle.motor_values("speed_max")
        self._fastest = np.array(fastest, dtype=np.float32)
        self._groups = chosen.privileged_groups
        self.columns: dict[str, slice] = {}
        """Columns of each group, known after the first observation."""

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Numbers:
        """Returns the columns (n, p)."""
        parts = [self._group(name, state) for name in self._groups]
        ends = list(accumulate(part.shape[1] for part in parts))
        self.columns = dict(zip(self._groups, map(slice, [0, *ends[:-1]], ends), strict=True))
        seen: Numbers = state.buffer((state.size, ends[-1]), name="privileged")
        np.concatenate(parts, axis=1, out=seen)
        if state.any_diverged:
            seen[state.diverged] = 0.0
        return seen

    def _group(self, name: str, state: State) -> NDArray[Any]:
        fleet = state.fleet
        if name == "state":
            return np.asarray(Task.observation(self._task, state))
        if name == "rotors":
            return state.rotor_speeds / self._fastest
        if name == "parameters":
            return self._randomizer.ratios
        if name == "wind":
            return fleet.wind
        if name == "delay":
            return self._randomizer.delays
        return np.concatenate([fleet.accelerometer_bias, fleet.gyroscope_bias], axis=1)
