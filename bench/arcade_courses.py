"""The courses of the arcade: times of the built-in pilot and of scripted sticks.

    python bench/arcade_courses.py [--course NAME ...] [--seeds 1] [--speed 4] [--log FOLDER]

The built-in pilot is the plan of `race.fly`, from hover. The scripted sticks, those of
`examples/arcade_pilot.py`, fly in assisted mode from the ground, at up to `--speed` [m/s].
Times are those of the last gate. `--log` writes the flights of the sticks, for
`python -m propwash arcade --film`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from propwash import race
from propwash.arcade import Game
from propwash.logs import write_record
from propwash.race import courses, find_course

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from arcade_pilot import Pilot, fly


def main() -> None:
    """Prints a row for each course and seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--course", nargs="+", default=list(courses()), metavar="NAME|FILE")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--vehicle", default="flightgoggles")
    parser.add_argument("--log", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    print(f"{'course':12s}{'seed':>5s}{'gates':>7s}{'built-in [s]':>14s}{'sticks [s]':>12s}")
    for name in options.course:
        course = find_course(name)
        for seed in range(options.seeds):
            plan = race.fly(seed, options.vehicle, scene=course.scene(seed))
            game = Game(course, options.vehicle, seed=seed)
            fly(game, Pilot(game, "assisted", options.speed))
            record, flown = game.flown()
            times = []
            for result in (plan, flown):
                note = "" if result.finished else f" ({len(result.passages)} gates)"
                times.append(f"{result.time:.1f}{note}")
            print(
                f"{course.name:12s}{seed:5d}{len(course.gates):7d}{times[0]:>14s}{times[1]:>12s}",
                flush=True,
            )
            if options.log is not None:
                options.log.mkdir(parents=True, exist_ok=True)
                write_record(options.log / f"{course.name}-{seed}.csv", record)


if __name__ == "__main__":
    main()
