"""Runs the tests of fleets and of the render protocol under sanitizers and prints a summary.

First it compiles and runs an example as a user's instrumented program, within LIMIT.
AddressSanitizer and UndefinedBehaviorSanitizer share a build, ThreadSanitizer has a separate one.
Only the first tests the protocol, which has no threads except those of libzmq.
Outputs are shown only for a build or test that failed.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRESETS = {
    "sanitize-engine": "address and undefined behaviour",
    "sanitize-threads": "threads",
}

LIMIT = 120
"""s of processor time, for the compiler and for the example."""


def run_example() -> bool:
    """Compile and run an example without the project's build; True if it passed."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "host_loop"
        build = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-g"]
        build += ["-fsanitize=address,undefined", f"-I{ROOT / 'include'}"]
        build += [str(ROOT / "examples" / "host_loop.cpp"), "-o", str(program)]
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (LIMIT, LIMIT))
        try:
            for command in (build, [str(program)]):
                subprocess.run(command, check=True, preexec_fn=limit)
            result = "passed"
        except (subprocess.CalledProcessError, OSError) as error:
            result = f"FAILED: {error}"
    print(f"sanitize, a user's program: {result}; {time.monotonic() - start:.0f} s")
    sys.stdout.flush()
    return result == "passed"


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
    """Run all; 0 if all passed."""
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1")
    os.environ.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    results = [run_example(), *(run(preset, kind) for preset, kind in PRESETS.items())]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
