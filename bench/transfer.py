"""Successes of policies as C code: propwash, MuJoCo, scattered parameters, a posterior; a table.

python bench/transfer.py --episodes 20
python bench/transfer.py --policy train_track/policy.onnx

Policies that --policy names fly an identified vehicle, and vehicles of its posterior too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from policy_transfer import POLICIES, Simulator, successes


def main() -> None:
    """Prints a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--policy", action="append", help="file; may be repeated")
    options = parser.parse_args()
    episodes = options.episodes
    simulators = get_args(Simulator) if options.policy else get_args(Simulator)[:-1]
    head = ("policy", *simulators)
    print(f"| {' | '.join(head)} |", "| --- " * len(head) + "|", sep="\n")
    for name in options.policy or POLICIES:
        cells = []
        for simulator in simulators:
            with tempfile.TemporaryDirectory() as folder:
                found = successes(name, simulator, episodes, Path(folder))
            cells.append(f"{sum(found)} of {episodes}")
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
