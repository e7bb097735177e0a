"""Writes the type stubs of the extension, or with --check compares them with the committed ones.

pybind11-stubgen generates the stubs from the installed extension and ruff formats them, so that the
same extension always gives the same text.
"""

import argparse
import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "propwash"
MODULES = ("_core", "_derivatives", "_float64", "_learn", "_models", "_render", "_world")

HEADER = """
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core, _float64, _world

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex
"""

SHORTER = (
    (r"__all__: list\[str\] = \[[^\]]*\]\n", ""),  # the extension has none
    (r"typing\.SupportsFloat \| typing\.SupportsIndex", "Float"),
    (r"typing\.SupportsInt \| typing\.SupportsIndex", "Int"),
    (r"numpy\.ndarray\[typing\.Any, numpy\.dtype\[typing\.Any\]\]", "NDArray[Any]"),
    (r'typing\.Annotated\[([\w.]+(?:\[[\w.]+\])?), (?:"[^"]*"|[\w.]+)\]', r"\1"),
    (r"\b(?:typing|numpy\.typing|collections\.abc)\.", ""),
    (r"\bnumpy\.", "np."),
    (r"\bpropwash\.(_\w+)\.", r"\1."),
    (r"\*args\)", "*args: Any)"),
    (r'(:\n +""")\n +', r"\1"),
    (r'(:\n +"""[^"\n]*)\n +"""', r'\1"""'),
    (r"from __future__ import annotations\n(import .*\n)+", HEADER),
)
"""Patterns and replacements: the same types by short names, docstrings without empty lines."""


def generate(folder: Path) -> Path:
    """Generate the stubs below `folder`; returns the folder that mirrors the package."""
    python = [sys.executable, "-m"]
    for module in MODULES:
        subprocess.run(
            [*python, "pybind11_stubgen", f"propwash.{module}", "--output-dir", str(folder),
             "--numpy-array-use-type-var", "--exit-code"],
            check=True, cwd=folder, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    for path in folder.rglob("*.pyi"):
        text = path.read_text()
        for pattern, replacement in SHORTER:
            text = re.sub(pattern, replacement, text)
        path.write_text(text)
    configuration = PACKAGE.parents[1] / "pyproject.toml"
    for command in (["check", "--fix", "--select=I,F401"], ["format"]):
        subprocess.run(
            [*python, "ruff", *command, "--quiet", "--isolated", "--line-length=100", str(folder)],
            check=True, cwd=configuration.parent,
        )  # fmt: skip
    return folder / "propwash"


def contents(folder: Path) -> dict[str, list[str]]:
    """The lines of the stubs below `folder`, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_text().splitlines(keepends=True)
        for path in sorted(folder.rglob("*.pyi"))
        if path.relative_to(folder).parts[0].partition(".")[0] in MODULES
    }


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare only; exit status 1 if they differ"
    )
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as temporary:
        made = generate(Path(temporary))
        new, old = contents(made), contents(PACKAGE)
        if check:
            difference = [
                line
                for name in sorted({*new, *old})
                for line in difflib.unified_diff(
                    old.get(name, []), new.get(name, []), f"committed {name}", f"generated {name}"
                )
            ]
            sys.stdout.writelines(difference)
            if difference:
                print("The committed stubs are not those of the extension: run `make stubs`.")
            return 1 if difference else 0
        for name in old:
            (PACKAGE / name).unlink()
        for name in new:
            (PACKAGE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made / name, PACKAGE / name)
            print(f"wrote python/propwash/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
