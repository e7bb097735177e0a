"""The tutorials run and print the output that they show.

Python blocks run in order in one namespace. C++ and CMake blocks whose first line names a file are
written to it. Shell blocks run in the same folder. A text block is the output of the block above
it: `python tests/python/test_tutorials.py` updates these blocks.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import compiler, slow_if

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NEEDS = {
    "camera": ("zmq",),
    "embedding": ("cmeel",),
    "fleet-in-pytorch": ("torch", "gymnasium"),
    "fly-by-depth": ("torch", "gymnasium", "onnxruntime"),
    "rate-loop": ("scipy", "control"),
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.M | re.S)
FILE = re.compile(r"(?://|#) (\S+)\n")


def printed_by(code: str, source: str, namespace: dict[str, Any]) -> str:
    """The output of a Python block."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, source, "exec"), namespace)
    return printed.getvalue()


def printed_by_shell(code: str) -> str:
    """The output of a shell block, with the programs beside this Python first in the path."""
    packages = sysconfig.get_path("purelib")  # Eigen may be there
    first = {"PATH": Path(sys.executable).parent, "CMAKE_PREFIX_PATH": packages}
    paths = {name: f"{path}{os.pathsep}{os.environ.get(name, '')}" for name, path in first.items()}
    done = subprocess.run(
        ["sh", "-e", "-c", code],
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_page(page: Path) -> Iterator[str]:
    """Runs a page in the current folder; yields its text in parts, with the new output."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__page__"}
    printed, end = "", 0
    for block in BLOCK.finditer(text):
        between = text[end : block.start()]
        language, code = block.groups()
        end = block.end()
        yield between
        if language == "text":
            assert between.strip() == "", f"{page.name}: output without its block"
            yield f"```text\n{printed}```\n"
            printed = ""
            continue
        line = text.count("\n", 0, block.start(2))
        assert not printed, f"{page.name}: above line {line}, output is not shown"
        if language == "python":
            printed = printed_by("\n" * line + code, page.name, namespace)
        elif language == "sh":
            printed = printed_by_shell(code)
            if not text[end:].lstrip().startswith("```text"):
                printed = ""  # the output of builds
        elif named := FILE.match(code):
            Path(named[1]).write_text(code, encoding="utf-8")
        else:
            raise AssertionError(f"{page.name}: line {line} is neither run nor a file")
        yield block.group()
    assert not printed, f"{page.name}: the last output is not shown"
    yield text[end:]


def test_there_are_six_tutorials() -> None:
    if not (ROOT / "docs").exists():
        pytest.skip("docs are missing")
    assert {page.stem for page in PAGES} == {"first-flight", *NEEDS}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=slow_if(page.stem != "first-flight"))
        for page in PAGES
    ],
)
def test_tutorials_print_the_output_that_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in NEEDS.get(page.stem, ()):
        pytest.importorskip(module)
    if page.stem == "embedding" and not (compiler() and shutil.which("cmake")):
        pytest.skip("CMake is missing")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert "".join(run_page(page)) == page.read_text(encoding="utf-8")


if __name__ == "__main__":
    for tutorial in PAGES:
        if len(sys.argv) == 1 or tutorial.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                updated = "".join(run_page(tutorial))
            tutorial.write_text(updated, encoding="utf-8")
