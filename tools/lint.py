"""Checks the style of C++ and Python (ruff, mypy, clang-format), or fixes it with --fix.

Notebooks are stored without outputs (nbstripout).
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON_PLACES = (
    "python",
    "tests/python",
    "tools",
    "examples",
    "bench",
    "docs/conf.py",
    "docs/extensions",
)
CPP_FOLDERS = ("include", "src", "bindings", "tests", "bench", "examples")


def files(folders: tuple[str, ...], *patterns: str) -> list[str]:
    """The files below the folders that match one of the patterns, relative to the root."""
    return sorted(
        str(path.relative_to(ROOT))
        for folder in folders
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
    )


def run(*command: str) -> bool:
    """Run a command in the root; True when it succeeded."""
    print("lint:", " ".join(command[:4]), "…" if len(command) > 4 else "", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run all checks, even after a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format in place")
    fix = parser.parse_args().fix

    python = [sys.executable, "-m"]
    places = [place for place in PYTHON_PLACES if (ROOT / place).exists()]
    cpp = files(CPP_FOLDERS, "*.hpp", "*.cpp", "*.cu")
    notebooks = files(("examples",), "*.ipynb")
    checks = [
        run(*python, "ruff", "check", "--quiet", *(["--fix"] if fix else []), *places),
        run(*python, "ruff", "format", "--quiet", *([] if fix else ["--diff"]), *places),
        run("clang-format", *(["-i"] if fix else ["--dry-run", "-Werror"]), *cpp),
        run(*python, "nbstripout", *([] if fix else ["--verify"]), *notebooks),
        run(*python, "mypy"),
    ]
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
