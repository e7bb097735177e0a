"""A custom task with state: fly to a target that moves when it is reached.

python examples/custom_task.py --envs 256 --steps 200
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg


class Chase(pg.Task):
    """Reach as many targets as possible, each up to 2 m from the origin along each axis."""

    episode_seconds = 8.0

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        """Allocates the state of the task."""
        self.goal = np.zeros((fleet.size, 3), dtype=np.float32)
        self.reached = np.zeros(fleet.size, dtype=np.int64)

    def reset_state(self, draws: pg.Draws) -> Mapping[str, Any]:
        """Draws a target; the vehicle starts at the origin."""
        self.goal[draws.rows] = draws.uniform(-2, 2, 3)
        self.reached[draws.rows] = 0
        return {"attitude": draws.attitude(tilt=0.3)}

    def update(self, state: pg.State) -> None:
        """Moves the targets that were reached."""
        error = state.position - self.goal
        self.distance = np.linalg.norm(error, axis=1)
        self.approach = -np.sum(error * state.velocity, axis=1) / self.distance  # m/s
        self.arrived = self.distance < 0.3
        self.goal[self.arrived] *= -1  # to the other side of the origin
        self.reached += self.arrived

    def target(self, state: pg.State) -> Any:
        """The reference of the observed position error."""
        return self.goal

    def reward(self, state: pg.State) -> Any:
        """2 for a target, and 1 for each metre towards it."""
        return 2.0 * self.arrived + self.approach * state.period

    def terminated(self, state: pg.State) -> Any:
        """Ends episodes too far from the target."""
        return self.distance > 8.0

    def info(self, state: pg.State) -> Mapping[str, Any]:
        """Reported at the end of an episode."""
        return {"reached": self.reached}


def guided(observation: Any) -> Any:
    """Actions of a PD guidance law: body rates align the thrust with the desired acceleration."""
    error, velocity = observation[:, 0:3], observation[:, 3:6]
    rotation = observation[:, 6:15].reshape(-1, 3, 3)
    desired = -2.0 * np.clip(error, -2, 2) - 2.5 * velocity + np.array([0, 0, 9.81])
    up = desired / np.linalg.norm(desired, axis=1, keepdims=True)
    tilt = np.einsum("nij,ni->nj", rotation, np.cross(rotation[:, :, 2], up))  # body frame
    thrust = np.einsum("ni,ni->n", desired, rotation[:, :, 2]) / 9.81 - 1.0
    rates = 8.0 * tilt / np.array([8.0, 8.0, 4.0])
    return np.column_stack([rates, np.where(thrust < 0, thrust, thrust / 2.8)]).clip(-1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    pg.check_vector_env(Chase, steps=30)
    print("checked: a vector of environments equals single ones, bit for bit")
    envs = pg.make_vec(Chase, arguments.envs, wind=1.0, max_episode_steps=0)
    observation, _ = envs.reset(seed=3)
    started = time.perf_counter()
    ended = 0
    for _ in range(arguments.steps):
        observation, _, terminated, _, _ = envs.step(guided(observation))
        ended += int(terminated.sum())
    elapsed = time.perf_counter() - started
    task: Any = envs.task
    print(f"{arguments.envs * arguments.steps / elapsed:.0f} environment steps per second")
    print(f"targets reached: {task.reached.mean():.1f} per vehicle, failed episodes: {ended}")


if __name__ == "__main__":
    main()
