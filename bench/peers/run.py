"""Times propwash and its peers on one core, one after the other, and prints a Markdown table.

    python bench/peers/run.py [--python PEER=PYTHON] [peer ...]

Peers: one for each `peer_*.py` beside this file; all by default. `--python` names another Python
for a peer whose requirements conflict with those of the others. README.md lists what to install.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


def main() -> int:
    """Returns 1 where a peer could not be timed."""
    peers = {path.stem.removeprefix("peer_"): path for path in sorted(HERE.glob("peer_*.py"))}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PYTHON")
    parser.add_argument("peer", nargs="*", help=f"{', '.join(peers)}; default: all")
    options = parser.parse_args()
    pythons = dict(each.partition("=")[::2] for each in options.python)
    for name in [*options.peer, *pythons]:
        if name not in peers:
            parser.error(f"{name!r}: expected one of {', '.join(peers)}")
    if hasattr(os, "sched_setaffinity"):  # child processes inherit it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results: list[dict[str, Any]] = []
    failed = 0
    for name in options.peer or peers:
        print(f"timing {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:  # some write logs where they run
            done = subprocess.run(
                [pythons.get(name, sys.executable), str(peers[name])],
                env={**os.environ, **ONE_CORE},
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
        results += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0:
            failed = 1
            problem = (done.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"run.py: {name} could not be timed: {problem}", file=sys.stderr)
    results.sort(key=lambda result: -result["steps_per_s"])
    print("| simulator | step | vehicles per call | steps/s | a step includes | it leaves out |")
    print("| --- | --- | ---: | ---: | --- | --- |")
    for r in results:
        print(
            f"| {r['name']} ({r['version']}) | {r['method']} | {r['vehicles']} "
            f"| {r['steps_per_s']:,.0f} | {r['includes']} | {r['leaves_out']} |"
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
