"""Runs the tests of fleets and of the wire under the sanitizers and says how each went.

AddressSanitizer and UndefinedBehaviorSanitizer go together, ThreadSanitizer is a build of its own.
The wire is looked at by the first alone: it has no threads but those of libzmq, which is not built
for the second. What a build or a test prints is shown only where it failed.
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


def run(preset: str, what: str) -> bool:
    """Configure, build and test one preset; whether nothing was found."""
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
    print(f"sanitize, {what}: {'passed' if passed else 'FAILED'}: {result}; {seconds:.0f} s")
    sys.stdout.flush()
    return passed


def main() -> int:
    """Run both; 0 when nothing was found."""
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1")
    os.environ.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    results = [run(preset, what) for preset, what in PRESETS.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
