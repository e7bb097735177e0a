"""Times propwash and its peers on one core, one after the other, and prints a Markdown table.

    python bench/peers/run.py [peer ...]

Peers: propwash, mujoco, rotorpy, crazyflow; all by default. README.md says what to install.
"""

from __future__ import annotations

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


def main(arguments: list[str]) -> int:
    """Returns 1 where a peer could not be timed, 2 for a name that is none."""
    peers = {path.stem.removeprefix("peer_"): path for path in sorted(HERE.glob("peer_*.py"))}
    unknown = [name for name in arguments if name not in peers]
    if unknown:
        print(f"run.py: expected some of {', '.join(peers)}, got {unknown[0]!r}", file=sys.stderr)
        return 2
    if hasattr(os, "sched_setaffinity"):  # what is started inherits it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results: list[dict[str, Any]] = []
    failed = 0
    for name in arguments or peers:
        print(f"timing {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:  # some leave logs where they run
            done = subprocess.run(
                [sys.executable, str(peers[name])],
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
    print("| simulator | step | vehicles a call | steps/s | a step includes | it leaves out |")
    print("| --- | --- | ---: | ---: | --- | --- |")
    for r in results:
        print(
            f"| {r['name']} ({r['version']}) | {r['method']} | {r['vehicles']} "
            f"| {r['steps_per_s']:,.0f} | {r['includes']} | {r['leaves_out']} |"
        )
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
