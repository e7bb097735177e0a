"""Tracks a lemniscate with each trajectory controller, with all noise, and prints the errors.

The reference starts in hover, accelerates along the figure and continues for some laps. The
controllers run at 240 Hz on noisy IMU readings, the physics at 960 Hz.

    python examples/track_lemniscate.py [--speed 7] [--size 5] [--laps 3] [--vehicles 100]
"""

import argparse

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash.trajectories import Controller, Lemniscate, Reference

INTERVAL = 4


def errors(
    reference: Reference, controller: Controller, n: int, wind: float
) -> NDArray[np.float64]:
    """Position errors, m: (T, n)."""
    fleet = pw.Fleet("flightgoggles", n, seed=3)
    fleet.reset(position=reference.position[0])
    if wind:
        fleet.set_wind([wind, 0.0, 0.0])
    command = reference[:-1].command(controller)
    recorded = fleet.rollout(command, substeps=INTERVAL, record="position")
    assert recorded.position is not None
    return np.asarray(np.linalg.norm(recorded.position - reference.position[1:, None], axis=2))


def main() -> None:
    """Simulates each controller and prints its errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", type=float, default=7.0, help="m/s, maximum")
    parser.add_argument("--size", type=float, default=5.0, help="m, half the length")
    parser.add_argument("--laps", type=float, default=3.0)
    parser.add_argument("--vehicles", type=int, default=100)
    parser.add_argument("--wind", type=float, default=0.0, help="m/s, along x")
    arguments = parser.parse_args()
    path = Lemniscate(arguments.size, arguments.speed, laps=arguments.laps, ramp=3.0)
    reference = path.sample(period=INTERVAL / 960)
    max_speed = np.linalg.norm(reference.velocity, axis=1).max()
    max_acceleration = np.linalg.norm(reference.acceleration, axis=1).max()
    print(
        f"{path.duration:.1f} s, up to {max_speed:.1f} m/s and {max_acceleration:.1f} m/s^2, "
        f"{arguments.vehicles} vehicles, wind {arguments.wind:g} m/s"
    )
    print("controller     rms m   worst vehicle's rms m        max m")
    controllers: tuple[Controller, ...] = ("geometric", "indi", "backstepping")
    for controller in controllers:
        error = errors(reference, controller, arguments.vehicles, arguments.wind)
        rms = np.sqrt(np.mean(error**2, axis=0))
        total = np.sqrt(np.mean(error**2))
        print(f"{controller:12} {total:7.3f} {rms.max():23.3f} {error.max():12.3f}")


if __name__ == "__main__":
    main()
