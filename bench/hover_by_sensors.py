"""What the sensors of `train hover --observation sensors` permit: flights on filtered estimates.

python bench/hover_by_sensors.py --episodes 200

The error-state filter estimates the motion of each vehicle from the readings that the policy
observes, 32 times per second: the inertial sensor, the range finder and the beacons of two gates. A
policy that was trained with the true state, by default the shipped `hover`, flies on the estimates,
with its yaw rate replaced by a heading hold. The filter knows the sensors, the scene and the ranges
of the initial states.
"""

from __future__ import annotations

import argparse

import msgspec
import numpy as np
import propwash as pw
import propwash.gym as pg
from numpy.typing import NDArray
from propwash import _rotation
from propwash.estimate import ErrorStateFilter
from propwash.gym.evaluation import evaluate, measures
from propwash.gym.policy import Policy
from propwash.gym.recipes import recipe
from propwash.sensors import Beacons

PIXELS = 0.5
"""Standard deviation of the beacons for the filter; the readings are exact."""
WITHIN_A_PERIOD = {"accelerometer_noise_density": 0.5, "gyroscope_noise_density": 0.2}
"""m/s^2/sqrt(Hz) and rad/s/sqrt(Hz): of the changes between two readings, 1/32 s apart, which
exceed the noise of the sensor."""
HEADING = 0.5
"""1/rad, of the maximum yaw rate: keeps the beacons in view, as the policy observes no heading."""


class Estimator:
    """A policy of the state that flies on the estimates of one filter for each vehicle."""

    def __init__(self, envs: pg.FleetVectorEnv, policy: Policy) -> None:
        self.envs, self.policy = envs, policy
        task = envs.task
        self.beacons = Beacons(task.scene)
        names = [gate.name for gate in task.scene.gates]
        self.gates = np.array([names.index(name) for name in self.beacons.gates])
        self.start = task.scene.start.position
        self.deviations = {
            "position_deviation": task.position / 3**0.5,
            "velocity_deviation": task.velocity / 3**0.5,
            "attitude_deviation": (task.tilt / 2, task.tilt / 2, task.heading / 3**0.5),
        }
        self.imu = msgspec.structs.replace(envs.fleet.vehicle.imu, **WITHIN_A_PERIOD)
        self.errors: list[NDArray[np.float64]] = []
        self.reset()

    def reset(self) -> None:
        """Begins new episodes."""
        level = pw.MotionEstimate(self.start, (0, 0, 0), (1, 0, 0, 0))
        gates = self.envs.task.scene.gates
        self.filters = [
            ErrorStateFilter(self.imu, level, gates, rejection=1e-300, **self.deviations)
            for _ in range(self.envs.num_envs)
        ]
        self.action = np.zeros((self.envs.num_envs, 4), dtype=np.float32)

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns actions for the estimates after the present readings."""
        self._update()
        states = [each.state for each in self.filters]
        position, velocity, attitude = (
            np.array([getattr(each, name) for each in states])
            for name in ("position", "velocity", "attitude")
        )
        self.errors.append(np.linalg.norm(position - self.envs.fleet.position, axis=1))
        rotation = _rotation.rotation(attitude)
        to_body = rotation.transpose(0, 2, 1)
        columns = [
            np.einsum("nij,nj->ni", to_body, position - self.start),
            np.einsum("nij,nj->ni", to_body, velocity),
            rotation.reshape(-1, 9),
            self.envs.fleet.imu.angular_rate,
            self.action,
        ]
        self.action = self.policy.act(np.concatenate(columns, axis=1))
        yaw = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
        self.action[:, 2] = np.clip(-HEADING * yaw, -1.0, 1.0)
        return self.action

    def _update(self) -> None:
        imu, image = self.envs.fleet.imu, self.envs.fleet.sensors["beacons"].reading
        ground = self.envs.fleet.sensors["range_finder"].reading.range
        for row, each in enumerate(self.filters):
            each.propagate(imu.angular_rate[row], imu.specific_force[row], dt=self.envs.period)
            (seen,) = np.nonzero(image.visible[row])
            each.update_beacons(
                self.gates[seen],
                self.beacons.corners[seen],
                image.u[row, seen],
                image.v[row, seen],
                self.beacons.camera,
                deviation=PIXELS,
            )
            if ground[row] <= 20.0:
                each.update_range(ground[row])


def main() -> None:
    """Flies the episodes and prints the measures of the task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--policy", default="hover", help="of the state, in the body frame")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    envs = pg.make_vec(pg.Hover, options.episodes, **recipe("hover", "sensors").options)
    pilot = Estimator(envs, Policy.load(options.policy))
    result = evaluate(pilot, envs, options.seed)
    errors = np.where(np.isnan(result.distance), np.nan, pilot.errors)[result.time >= 3.0]
    print(f"{options.episodes} episodes on the estimates of the error-state filter")
    for name, value in measures(envs.task, result).items():
        print(f"  {name:<46}  {value:8.4f}")
    for name, part in (("median", 0.5), ("99 %", 0.99)):
        label = f"error of the estimate after 3 s, {name} [m]"
        print(f"  {label:<46}  {np.nanquantile(errors, part):8.4f}")


if __name__ == "__main__":
    main()
