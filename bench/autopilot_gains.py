"""Steps of the body rate of a real program with designed gains, measured and predicted; a table.

python bench/autopilot_gains.py px4 PX4-Autopilot/build/px4_sitl_default/bin/px4
python bench/autopilot_gains.py ardupilot ardupilot/build/sitl/bin/arducopter
python bench/autopilot_gains.py betaflight betaflight/obj/main/betaflight_SITL.elf
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from autopilot_steps import flown

VEHICLES = ("flightgoggles", "crazyflie", "blackbird")


def main() -> None:
    """Prints a row for each axis of each vehicle: means over the steps, the greatest difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("betaflight", "px4", "ardupilot"))
    parser.add_argument("binary", type=Path)
    parser.add_argument("--vehicle", action="append", help=f"default: {', '.join(VEHICLES)}")
    options = parser.parse_args()
    print("| vehicle | axis | steps | rise time, predicted [ms] | overshoot, predicted [%] | "
          "difference [%] |\n| --- | --- | --- | --- | --- | --- |", flush=True)  # fmt: skip
    for vehicle in options.vehicle or VEHICLES:
        with tempfile.TemporaryDirectory() as folder:
            found = flown(options.program, options.binary.resolve(), vehicle, Path(folder))
        for axis, steps in zip("xyz", found, strict=True):
            rise, rise_predicted = 1e3 * np.mean([step.rise_time for step in steps], axis=0)
            over, over_predicted = 100 * np.mean([step.overshoot for step in steps], axis=0)
            print(
                f"| {vehicle} | {axis} | {len(steps)} | {rise:.0f}, {rise_predicted:.0f} | "
                f"{over:.0f}, {over_predicted:.0f} | "
                f"{100 * max(step.difference for step in steps):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
