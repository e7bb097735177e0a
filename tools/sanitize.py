"""Runs the tests of fleets and of the render protocol under sanitizers and prints a summary.

AddressSanitizer and UndefinedBehaviorSanitizer share a build, ThreadSanitizer has a separate one.
Only the first tests the protocol, which has no threads except those of libzmq.
Outputs are shown only for a build or test that failed.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRESETS = {
    "sanitize-engine": "address and undefined behaviour",
    "sanitize-threads": "threads",
}


def run(preset: str, kind: str) -> bool:
    """Configure, build and test one preset; True if it passed."""
    start = time.monotonic()
    done = subprocess.run(
        ["cmake", "--workflow", "--preset", preset],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    passed = done.returncode == 0
    if not passed:
        print("\n".join(done.stdout.splitlines()[-200:]))
    totals = [line.strip() for line in done.stdout.splitlines() if "tests passed" in line]
    result = totals[-1] if totals else "not built"
    seconds = time.monotonic() - start
    print(f"sanitize, {kind}: {'passed' if passed else 'FAILED'}: {result}; {seconds:.0f} s")
    sys.stdout.flush()
    return passed


def main() -> int:
    """Run both; 0 if both passed."""
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1")
    os.environ.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    results = [run(preset, kind) for preset, kind in PRESETS.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
