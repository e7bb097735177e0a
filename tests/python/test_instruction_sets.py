"""Instruction sets of the extension's object files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import propwash as pw
import pytest

ISAS = pw.build_info()["isas"]
BUILT = Path(__file__).resolve().parents[2] / "build" / "python" / "bindings" / "CMakeFiles"
WIDE = re.compile(r"_kernels_(v3|v4)_")


def test_the_widest_instruction_set_is_selected() -> None:
    info = pw.build_info()
    if "PROPWASH_ISA" not in os.environ:
        assert info["isa"] == ISAS[-1]
    assert info["isas"] == tuple(isa for isa in ("baseline", "v3", "v4") if isa in info["isas"])
    assert set(info["lanes"]) == {"float32", "float64"}


def objects() -> list[Path]:
    """The object files of the extension; skips if the build did not keep them."""
    found = sorted(BUILT.glob("**/*.o"))
    if not found:
        pytest.skip("the objects of the extension are missing (make builds it in build/python)")
    if shutil.which("objdump") is None or shutil.which("nm") is None:
        pytest.skip("objdump or nm is missing (Debian: binutils)")
    return found


@pytest.mark.skipif("v3" not in ISAS, reason="this processor is not an x86-64-v3")
def test_baseline_code_has_no_avx() -> None:
    narrow = [path for path in objects() if not WIDE.search(str(path))]
    assert len(narrow) > 3
    avx = re.compile(r"%[yz]mm|\bv[a-z0-9]+\s.*%xmm")
    for path in narrow:
        code = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "%xmm" in code, path
        assert not (hit := avx.search(code)), f"{path}: {hit}"


@pytest.mark.skipif("v3" not in ISAS, reason="this processor is not an x86-64-v3")
def test_kernel_objects_share_no_functions_with_others() -> None:
    wide = [path for path in objects() if WIDE.search(str(path))]
    assert wide
    for path in wide:
        listed = subprocess.run(
            ["nm", "--defined-only", "-C", str(path)], capture_output=True, text=True, check=True
        ).stdout
        shared = [line for line in listed.splitlines() if re.search(r" [TWVu] ", line)]
        assert shared, path  # one entry for each of fleets, worlds, images and open loops
        assert all(re.search(r"::v[34]_(float|double)\(\)$", line) for line in shared), shared
