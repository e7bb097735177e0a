"""`python -m propwash export`: a policy as C code for a flight controller."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    exported = commands.add_parser(
        "export", help="write a policy as C code for flight controllers (docs/firmware.md)"
    )
    exported.add_argument("policy", help="a policy file, or hover, track, race or land")
    exported.add_argument(
        "--c",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="for the header, the source, its test and a README",
    )
    exported.add_argument("--name", help="prefix of the functions (default: that of the policy)")
    exported.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    from propwash.gym.export_c import export_c

    found = export_c(options.policy, options.c, options.name)
    print(f"{found.name}: C code of the policy {options.policy}")
    print(f"  files           {', '.join(str(file) for file in found.files)}")
    print(f"  constants       {found.constant_bytes:,} bytes")
    print(f"  multiplications {found.multiplications:,} for each step")
    print(f"  test            {_tested(found.name, options.c)}")


def _tested(name: str, folder: Path) -> str:
    """Compiles and runs the test, if there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return "not run: no C compiler was found; README.md has the command"
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "test"
        sources = [folder / f"{name}.c", folder / f"{name}_test.c"]
        built = subprocess.run(
            [compiler, "-std=c99", f"-D{name.upper()}_TEST", *sources, "-lm", "-o", program],
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            return f"not run: {compiler} failed: {built.stderr.strip()[:200]}"
        return subprocess.run([program], capture_output=True, text=True, check=False).stdout.strip()
