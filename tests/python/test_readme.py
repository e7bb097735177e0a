"""The code of README and docs runs: Python blocks in order, C++ programs compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import code_blocks, compiler, run_in_order

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/fleet.md")
PYTHON_PAGES = (
    *PAGES,
    "docs/trim.md",
    "docs/lcm.md",
    "docs/model/dryden.md",
    "docs/model/imu.md",
    "docs/model/external_wrench.md",
    "docs/control/control-vehicle.md",
    "docs/control/disturbance_observer.md",
)
CPP_PAGES = (*PAGES, "docs/embedding.md", "docs/custom-vehicle.md")

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="README.md is missing")


def blocks(page: str, language: str) -> list[tuple[int, str]]:
    """The fenced code blocks of a page, each with the number of its first line."""
    return code_blocks(ROOT / page, language)


def programs() -> list[tuple[str, int, str]]:
    """The C++ blocks that are complete programs, with page and line."""
    return [
        (page, line, code)
        for page in CPP_PAGES
        for line, code in blocks(page, "cpp")
        if "int main" in code
    ]


def eigen() -> list[str]:
    """The compiler's flags for Eigen; skips if it is missing."""
    if (folders := os.environ.get("CPLUS_INCLUDE_PATH")) and any(
        (Path(folder) / "Eigen" / "Core").exists() for folder in folders.split(os.pathsep)
    ):
        return []
    for folder in sys.path:
        header = Path(folder) / "cmeel.prefix" / "include" / "eigen3"
        if (header / "Eigen" / "Core").exists():
            return ["-isystem", str(header)]
    for name in ("pkg-config", "pkgconf"):
        if (tool := shutil.which(name)) is None:
            continue
        result = subprocess.run(
            [tool, "--cflags", "eigen3"], capture_output=True, text=True, check=False
        )
        if result.returncode == 0:
            return result.stdout.split()
    for folder in ("/usr/include", "/usr/local/include", "/opt/homebrew/include"):
        if (Path(folder) / "eigen3" / "Eigen" / "Core").exists():
            return ["-isystem", f"{folder}/eigen3"]
    pytest.skip("Eigen's headers are missing (pip install cmeel-eigen)")


def test_there_is_code_to_run() -> None:
    assert all(blocks(page, "python") for page in PYTHON_PAGES)
    assert {page for page, _, _ in programs()} == set(CPP_PAGES)


@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_python_blocks_run_in_order(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_in_order(blocks(page, "python"), page)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "line", "code"),
    programs(),
    ids=[f"{page} line {line}" for page, line, _ in programs()],
)
def test_cpp_programs_compile_and_run(page: str, line: int, code: str, tmp_path: Path) -> None:
    command = [compiler(), "-std=c++17", "-I", str(ROOT / "include"), *eigen()]
    source, program = tmp_path / "main.cpp", tmp_path / "program"
    source.write_text(f'#line {line} "{page}"\n{code}', encoding="utf-8")
    command += ["-Wall", "-Wextra", "-Wpedantic", "-Werror", str(source), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run(
        [str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
