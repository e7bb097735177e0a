"""Damaged files and snapshots: a reader returns a valid result or reports the error.

Inputs are mutations of valid ones, equal in every run. PROPWASH_FUZZ=100 multiplies their number
and the time limit by 100; PROPWASH_FUZZ_SEED selects other inputs. `fuzz_child.py` repeats a single
input.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_memory import MEMORY_READERS
from fuzz_readers import FILE_READERS
from helpers import slow_if

CHILD = Path(__file__).with_name("fuzz_child.py")
INPUTS, SECONDS = 400, 1.2
FACTOR = float(os.environ.get("PROPWASH_FUZZ", "1"))
SEED = os.environ.get("PROPWASH_FUZZ_SEED", "0")
PACKAGES = {
    "ulog": ("pyulog",),
    "bag_ros1": ("rosbags",),
    "bag_sqlite": ("rosbags",),
    "bag_mcap": ("rosbags",),
    "mcap": ("mcap", "mcap_protobuf", "rosbags"),
    "flight_log_mcap": ("mcap", "rosbags"),
    "policy": ("onnx", "onnxruntime", "gymnasium"),
    "checkpoint": ("torch", "gymnasium"),
    "flightgoggles": ("yaml",),
}
LOGS = [
    "csv", "flight_log", "flight_log_mcap", "columns", "ulog", "bag_ros1", "bag_sqlite", "bag_mcap",
    "mcap", "lcm",
]  # fmt: skip
LEARNING = ["policy", "checkpoint"]
# one process for each group, because starting one takes as long as hundreds of inputs
GROUPS = {
    "parameters and scenes": [name for name in FILE_READERS if name not in (*LOGS, *LEARNING)],
    "logs": LOGS,
    "learning": LEARNING,
    "values in memory": list(MEMORY_READERS),
}


def _is_available(reader: str) -> bool:
    return all(importlib.util.find_spec(package) for package in PACKAGES.get(reader, ()))


@pytest.mark.parametrize(
    "group",
    [pytest.param(group, marks=slow_if(group != "values in memory")) for group in GROUPS],
)
def test_damaged_inputs_are_refused_or_valid(group: str, tmp_path: Path) -> None:
    readers = [name for name in GROUPS[group] if _is_available(name)]
    if not readers:
        pytest.skip(f"packages for {', '.join(GROUPS[group])} are missing")
    numbers = [SEED, "0", str(round(INPUTS * FACTOR)), str(SECONDS * FACTOR)]
    child = subprocess.run(
        [sys.executable, str(CHILD), *numbers, *readers],
        cwd=tmp_path,
        capture_output=True,
        timeout=60.0 + 3.0 * len(readers) * SECONDS * FACTOR,
        check=False,
    )
    current = tmp_path / "current"
    last = current.read_text(encoding="ascii") if current.exists() else "none"
    assert child.returncode == 0, (
        f"status {child.returncode}: crashed, hung or ran out of memory at (reader, seed, input) "
        f"{last}\n{child.stderr.decode()[-3000:]}"
    )
    lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith(b"{")]
    findings = [line for line in lines if "found" in line]
    repeat = f"python {CHILD} {SEED} INDEX 1 60 READER"
    assert not findings, "\n".join([repeat, *(json.dumps(line) for line in findings)])
    totals = {line["reader"]: line for line in lines if "tried" in line}
    for reader in readers:
        grown = totals[reader]["resident"] - lines[0]["resident at the start"]
        assert grown < 200e6, f"{reader}: used {grown:g} bytes for inputs of some kilobytes"
    # a reader that accepts all inputs, or refuses all, is not tested
    assert sum(total["refused"] for total in totals.values()) > 0
    assert sum(total["accepted"] for total in totals.values()) > 0


def test_every_reader_is_in_a_group() -> None:
    grouped = [name for group in GROUPS.values() for name in group]
    assert sorted(grouped) == sorted([*FILE_READERS, *MEMORY_READERS])
