"""`python -m propwash export`: a policy as C code for a flight controller."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from propwash.cli._options import add_command, option


@dataclass
class ExportOptions:
    """Options of the command."""

    policy: str = option("a policy file, or hover, track, race or land", positional=True)
    c: Path = option(
        "for the header, the source, its test and a README", required=True, metavar="FOLDER"
    )
    name: str | None = option("prefix of the functions (default: the name of the policy)")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "write a policy as C code for flight controllers (docs/firmware.md)"
    add_command(commands, "export", about, ExportOptions, run)


def run(options: ExportOptions) -> None:
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
        tested = subprocess.run([program], capture_output=True, text=True, check=False)
        if tested.returncode:
            raise ValueError(
                f"{folder}: expected the actions of the policy, the test of the C code ended with "
                f"status {tested.returncode}: {tested.stdout.strip() or 'no output'}"
            )
        return tested.stdout.strip()
