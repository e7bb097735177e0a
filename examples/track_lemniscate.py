"""Follows a lemniscate by each trajectory controller, with all noise, and tells how well.

The vehicle starts in hover, is brought to speed along the figure and flies it for some laps. The
controllers run at 240 Hz on noisy inertial readings, the physics at 960 Hz.

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
    """m, (T, n): how far each vehicle is from where it is to be."""
    fleet = pw.Fleet("flightgoggles", n, seed=3)
    fleet.reset(position=reference.position[0])
    if wind:
        fleet.set_wind([wind, 0.0, 0.0])
    command = reference[:-1].command(controller)
    flown = fleet.rollout(command, substeps=INTERVAL, record="position")
    assert flown.position is not None
    return np.asarray(np.linalg.norm(flown.position - reference.position[1:, None], axis=2))


def main() -> None:
    """Flies, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", type=float, default=7.0, help="m/s, the greatest")
    parser.add_argument("--size", type=float, default=5.0, help="m, half the length")
    parser.add_argument("--laps", type=float, default=3.0)
    parser.add_argument("--vehicles", type=int, default=100)
    parser.add_argument("--wind", type=float, default=0.0, help="m/s, along x")
    chosen = parser.parse_args()
    path = Lemniscate(chosen.size, chosen.speed, laps=chosen.laps, ramp=3.0)
    reference = path.sample(period=INTERVAL / 960)
    fastest = np.linalg.norm(reference.velocity, axis=1).max()
    hardest = np.linalg.norm(reference.acceleration, axis=1).max()
    print(
        f"{path.duration:.1f} s, to {fastest:.1f} m/s and {hardest:.1f} m/s^2, "
        f"{chosen.vehicles} vehicles, wind {chosen.wind:g} m/s"
    )
    print("controller     rms m   worst vehicle's rms m   greatest m")
    controllers: tuple[Controller, ...] = ("geometric", "indi", "backstepping")
    for controller in controllers:
        error = errors(reference, controller, chosen.vehicles, chosen.wind)
        rms = np.sqrt(np.mean(error**2, axis=0))
        total = np.sqrt(np.mean(error**2))
        print(f"{controller:12} {total:7.3f} {rms.max():23.3f} {error.max():12.3f}")


if __name__ == "__main__":
    main()
