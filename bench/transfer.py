"""Successes of policies as C code: propwash, MuJoCo, scattered parameters, a posterior; a table.

python bench/transfer.py --episodes 20
python bench/transfer.py --policy train_track/policy.onnx
python bench/transfer.py --episodes 5 --px4 PX4-Autopilot/build/px4_sitl_default/bin/px4

A policy that --policy names flies vehicles of a posterior too, if its vehicle has one. With --px4
policies fly behind the estimator and the rate loop of the real PX4.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from policy_transfer import POLICIES, Simulator, successes
from propwash import ParameterError
from propwash.gym.policy import Policy


def behind_px4(policies: Sequence[str], binary: Path, vehicle: str, options: Any) -> None:
    """Prints a row for each policy: its missions, judged by PX4's estimate."""
    from policy_flight import PolicyFlight, episodes

    head = ("policy", "success", "measured", "drift of the estimate, m", "delay, ms, 95 %")
    print(f"| {' | '.join(head)} |", "| --- " * len(head) + "|", sep="\n")
    for name in policies:
        for line in Policy.load(name).differences(vehicle=vehicle):
            print(f"{name}: {line}", file=sys.stderr)
        with (
            tempfile.TemporaryDirectory() as folder,
            PolicyFlight(
                "px4", binary, vehicle, Path(folder), seed=options.seed, noise=not options.no_noise
            ) as flight,
        ):
            found = list(episodes(flight, name, options.episodes, options.seed))
        count = sum(episode.success for episode in found)
        measured = "; ".join(episode.measured for episode in found)
        worst = [max((getattr(e, x) for e in found), default=0.0) for x in ("drift", "delay")]
        cells = (
            f"{count} of {options.episodes} | {measured} | {worst[0]:.2f} | {1e3 * worst[1]:.0f}"
        )
        print(f"| `{name}` | {cells} |", flush=True)


def main() -> None:
    """Prints a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--policy", action="append", help="file; may be repeated")
    parser.add_argument("--px4", type=Path, metavar="BINARY", help="fly behind this PX4 instead")
    parser.add_argument("--vehicle", default="flightgoggles", help="that PX4 flies")
    parser.add_argument("--seed", type=int, default=1, help="of the flights of PX4")
    parser.add_argument("--no-noise", action="store_true", help="of the sensors that PX4 receives")
    options = parser.parse_args()
    if options.px4 is not None:
        behind_px4(options.policy or POLICIES, options.px4.resolve(), options.vehicle, options)
        return
    episodes = options.episodes
    simulators = get_args(Simulator) if options.policy else get_args(Simulator)[:-1]
    head = ("policy", *simulators)
    print(f"| {' | '.join(head)} |", "| --- " * len(head) + "|", sep="\n")
    for name in options.policy or POLICIES:
        cells = []
        for simulator in simulators:
            try:
                with tempfile.TemporaryDirectory() as folder:
                    found = successes(name, simulator, episodes, Path(folder))
                cells.append(f"{sum(found)} of {episodes}")
            except ParameterError:
                if simulator != "posterior":
                    raise
                cells.append("–")  # the vehicle has none
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
