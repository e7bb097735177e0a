"""Real flights of ArduCopter or PX4: arm, take off to 3 m, hold 10 s, 5 m north, land; a table.

python bench/autopilot_flights.py ardupilot ardupilot/build/sitl/bin/arducopter --runs 5
python bench/autopilot_flights.py px4 PX4-Autopilot/build/px4_sitl_default/bin/px4 --runs 5
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from autopilot_programs import Flight, standard_flight

VEHICLES = ("flightgoggles", "crazyflie", "blackbird")
COLUMNS = (
    "vehicle", "seed", "armed [s]", "hold, horizontal [m]", "hold, vertical [m]", "height [m]",
    "yaw rate, deviation [rad/s]", "output, mean", "outputs at a limit [%]", "north [m]", "landed",
)  # fmt: skip


def main() -> int:
    """Prints a row for each flight; returns the exit status: 1 if one did not land."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("ardupilot", "px4"))
    parser.add_argument("binary", type=Path)
    parser.add_argument("--runs", type=int, default=5, help="of each vehicle (default: 5)")
    parser.add_argument("--vehicle", action="append", help=f"default: {', '.join(VEHICLES)}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another parameter"
    )
    options = parser.parse_args()
    pairs = (text.partition("=") for text in options.set)
    parameters = {name: float(value) for name, _, value in pairs}
    print("| " + " | ".join(COLUMNS) + " |", "| --- " * len(COLUMNS) + "|", sep="\n", flush=True)
    all_landed, begun = True, time.monotonic()
    for vehicle in options.vehicle or VEHICLES:
        for seed in range(1, options.runs + 1):
            with (
                tempfile.TemporaryDirectory() as folder,
                Flight(
                    options.program,
                    options.binary.resolve(),
                    vehicle,
                    Path(folder),
                    seed=seed,
                    parameters=parameters,
                ) as flight,
            ):
                m = standard_flight(flight)
            all_landed = all_landed and m.landed
            print(
                f"| {vehicle} | {seed} | {m.armed:.1f} | {m.horizontal:.2f} | {m.vertical:.2f} | "
                f"{m.height:.2f} | {m.yaw_rate:.3f} | {m.output:.3f} | "
                f"{100 * m.saturated:.1f} | {m.north:.2f} | {'yes' if m.landed else 'NO'} |",
                flush=True,
            )
            if not m.landed or flight.loop.statistics.restarts:
                print(flight.reports, flight.messages[-10:], flight.loop.statistics, flush=True)
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0 if all_landed else 1


if __name__ == "__main__":
    raise SystemExit(main())
