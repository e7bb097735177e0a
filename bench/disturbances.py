"""Tracking errors in an unknown wind and with an unknown mass, with noise.

Vehicles hover for 10 s, after 5 s to settle, and fly a lemniscate, with each trajectory controller;
geometric and backstepping control also with a disturbance observer. The controllers assume the
shipped vehicle. Prints the table of docs/control/disturbance_observer.md: the RMS position error of
all vehicles and the maximum error of any vehicle.

    python bench/disturbances.py [--vehicles 50] [--bandwidth 20]
"""

import argparse
from dataclasses import replace

import numpy as np
import propwash as pw
from propwash.trajectories import Controller, Lemniscate
from tracking import INTERVAL, errors

MULTICOPTERS = {"flightgoggles": 7.0, "crazyflie": 4.0}
"""Maximum speed on the lemniscate, m/s."""
CONTROLLERS: tuple[tuple[Controller, bool], ...] = (
    ("geometric", False),
    ("geometric", True),
    ("backstepping", False),
    ("backstepping", True),
    ("indi", False),
)
"""With and without an observer."""
DISTURBANCES = {"none": (0.0, 1.0), "wind": (5.0, 1.0), "mass": (0.0, 1.2), "both": (5.0, 1.2)}
"""Wind, m/s, and factor on the mass."""
SETTLED = round(5.0 / (INTERVAL * pw.DEFAULT_DT))  # points


def disturbed(vehicle: str, bandwidth: float, disturbance: tuple[float, float], n: int) -> pw.Fleet:
    """Vehicles in wind, with another mass than their controllers assume."""
    wind, factor = disturbance
    assumed = pw.vehicles.load(vehicle)
    true = assumed.replace(body={"mass": factor * assumed.body.mass})
    fleet = pw.Fleet(true, n, seed=3, control_vehicle=assumed)
    fleet.outer_loops = replace(fleet.outer_loops, disturbance_bandwidth=bandwidth)
    fleet.set_wind([wind, 0.0, 0.0])
    return fleet


def main() -> None:
    """Simulates all flights and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vehicles", type=int, default=50, help="vehicles of each type")
    parser.add_argument("--bandwidth", type=float, default=20.0, help="1/s, of the observer")
    chosen = parser.parse_args()
    columns = [name + (", observer" if has else "") for name, has in CONTROLLERS]
    print(f"| vehicle | flight | disturbance | {' | '.join(columns)} |")
    print("| --- " * (3 + len(columns)) + "|")
    for vehicle, speed in MULTICOPTERS.items():
        path = Lemniscate(5.0, speed, laps=3, ramp=3.0)
        flights = {
            "hover": path.sample(np.zeros(3 * SETTLED)),  # at rest at its start
            "lemniscate": path.sample(period=INTERVAL * pw.DEFAULT_DT),
        }
        for flight, reference in flights.items():
            for name, disturbance in DISTURBANCES.items():
                cells = []
                for controller, has_observer in CONTROLLERS:
                    bandwidth = chosen.bandwidth if has_observer else 0.0
                    fleet = disturbed(vehicle, bandwidth, disturbance, chosen.vehicles)
                    error = errors(fleet, reference, controller)
                    if flight == "hover":
                        error = error[SETTLED:]
                    cells.append(f"{np.sqrt(np.mean(error**2)):.3f} ({error.max():.2f})")
                print(f"| {vehicle} | {flight} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
