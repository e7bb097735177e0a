"""Feeds readers mutated inputs: python fuzz_child.py SEED FIRST COUNT SECONDS READER...

A crash, a hang or a huge allocation affects only this process. Each reader receives the inputs
FIRST to FIRST + COUNT, fewer if they take longer than SECONDS, but at least five. Prints a line of
JSON for every finding, and one with the numbers of inputs for every reader. The file `current` in
the current folder names the present input, whose files are beside it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import random
import resource
import shutil
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzz_memory import MEMORY_READERS
from fuzz_readers import FILE_READERS, Reader, quiet

READERS: Mapping[str, Reader] = {**FILE_READERS, **MEMORY_READERS}
SECONDS_PER_INPUT = 10.0
FEWEST = 5  # inputs of a reader, however slow the machine is
MEMORY_PER_INPUT = 1 << 30


def limit_memory() -> None:
    """Limits memory to 1 GB more than now; inputs of some kilobytes must not need more."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY_PER_INPUT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def outcome_of(reader: Reader, seed: int, index: int, folder: Path) -> str:
    """Outcome of an input: accepted, refused, or a finding."""
    case = reader.make(random.Random(f"{reader.name}/{seed}/{index}"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    faulthandler.dump_traceback_later(SECONDS_PER_INPUT, exit=True)
    try:
        return "accepted" if reader.run(case, folder) else "refused"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return f"{type(error).__name__} at {where}: {str(error)[:400]}"
    finally:
        faulthandler.cancel_dump_traceback_later()


def warm_up(reader: Reader) -> None:
    """Fills imports and caches before memory is limited."""
    for index in range(20):
        reader.make(random.Random(index))
    with contextlib.suppress(Exception):
        reader.run(reader.make(random.Random("first")), Path("warm").resolve())


def feed(reader: Reader, seed: int, indices: range, seconds: float) -> None:
    """Runs the reader on the inputs for at most `seconds`, except for the first ones."""
    totals: dict[str, Any] = {"tried": 0, "accepted": 0, "refused": 0, "slowest": 0.0}
    end = time.monotonic() + seconds
    for index in indices:
        start = time.monotonic()
        if start > end and totals["tried"] >= FEWEST:
            break
        Path("current").write_text(f"{reader.name} {seed} {index}", encoding="ascii")
        outcome = outcome_of(reader, seed, index, Path("input").resolve())
        totals["slowest"] = max(totals["slowest"], time.monotonic() - start)
        totals["tried"] += 1
        if outcome in totals:
            totals[outcome] += 1
        else:
            print(json.dumps({"reader": reader.name, "index": index, "found": outcome}), flush=True)
    totals["resident"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps({"reader": reader.name, **totals}), flush=True)


def main(seed: str, first: str, count: str, seconds: str, *names: str) -> None:
    """Feeds the named readers one after the other."""
    faulthandler.enable()
    quiet()
    readers = [READERS[name] for name in names]
    for reader in readers:
        warm_up(reader)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps({"resident at the start": start}), flush=True)
    limit_memory()
    indices = range(int(first), int(first) + int(count))
    for reader in readers:
        feed(reader, int(seed), indices, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
