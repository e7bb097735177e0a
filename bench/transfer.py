"""Successes of the shipped policies as C code: propwash, MuJoCo, scattered parameters; a table.

python bench/transfer.py --episodes 20
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from policy_transfer import Simulator, successes
from propwash.gym.policy import KINDS


def main() -> None:
    """Prints a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20)
    episodes = parser.parse_args().episodes
    simulators = get_args(Simulator)
    print(f"| policy | {' | '.join(simulators)} |", "| --- " * 4 + "|", sep="\n")
    for name in KINDS:
        cells = []
        for simulator in simulators:
            with tempfile.TemporaryDirectory() as folder:
                found = successes(name, simulator, episodes, Path(folder))
            cells.append(f"{sum(found)} of {episodes}")
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
