"""A task of one's own that remembers: fly to a target that jumps when it is reached.

python examples/own_task.py --envs 256 --steps 200
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
    """Reach as many targets as possible; each lies up to 2 m away along each axis."""

    episode_seconds = 8.0

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        """Makes what is remembered of each vehicle."""
        self.goal = np.zeros((fleet.size, 3), dtype=np.float32)
        self.reached = np.zeros(fleet.size, dtype=np.int64)

    def reset_state(self, draws: pg.Draws) -> Mapping[str, Any]:
        """A target somewhere, the vehicle at the origin."""
        self.goal[draws.rows] = draws.uniform(-2, 2, 3)
        self.reached[draws.rows] = 0
        return {"attitude": draws.attitude(tilt=0.3)}

    def update(self, state: pg.State) -> None:
        """Moves targets that were reached."""
        self.distance = np.linalg.norm(state.position - self.goal, axis=1)
        self.arrived = self.distance < 0.3
        self.goal[self.arrived] *= -1  # to the other side of the origin
        self.reached += self.arrived

    def target(self, state: pg.State) -> Any:
        """What the position error is seen from."""
        return self.goal

    def reward(self, state: pg.State) -> Any:
        """Ten for a target, less the distance."""
        return 10.0 * self.arrived - 0.1 * self.distance

    def terminated(self, state: pg.State) -> Any:
        """Lost."""
        return self.distance > 8.0

    def info(self, state: pg.State) -> Mapping[str, Any]:
        """Told where an episode ends."""
        return {"reached": self.reached}


def guided(observation: Any) -> Any:
    """Actions of a simple pilot: a wanted acceleration, leaned into by body rates."""
    error, velocity = observation[:, 0:3], observation[:, 3:6]
    turn = observation[:, 6:15].reshape(-1, 3, 3)
    wanted = -2.0 * np.clip(error, -2, 2) - 2.5 * velocity + np.array([0, 0, 9.81])
    up = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    lean = np.einsum("nij,ni->nj", turn, np.cross(turn[:, :, 2], up))  # in the body's axes
    thrust = np.einsum("ni,ni->n", wanted, turn[:, :, 2]) / 9.81 - 1.0
    rates = 8.0 * lean / np.array([8.0, 8.0, 4.0])
    return np.column_stack([rates, np.where(thrust < 0, thrust, thrust / 2.8)]).clip(-1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--steps", type=int, default=1000)
    chosen = parser.parse_args()
    pg.check_vector_env(Chase, steps=30)
    print("checked: many environments are single ones, bit for bit")
    envs = pg.make_vec(Chase, chosen.envs, wind=1.0, max_episode_steps=0)
    observation, _ = envs.reset(seed=3)
    began = time.perf_counter()
    ended = 0
    for _ in range(chosen.steps):
        observation, _, terminated, _, _ = envs.step(guided(observation))
        ended += int(terminated.sum())
    took = time.perf_counter() - began
    task: Any = envs.task
    print(f"{chosen.envs * chosen.steps / took:.0f} environment steps a second")
    print(f"targets reached: {task.reached.mean():.1f} of each vehicle, lost: {ended}")


if __name__ == "__main__":
    main()
