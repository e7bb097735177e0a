"""Policies as shared libraries of their C code, for the companions of examples/firmware."""

from __future__ import annotations

import subprocess
from pathlib import Path

from propwash.gym.export_c import export_c


def compiled(policy: str, folder: Path) -> Path:
    """The shared library of a policy: the name of a shipped one, or a file."""
    export_c(policy, folder, "policy")
    library = folder / "policy.so"
    sources = [folder / name for name in ("policy.c", "policy_test.c")]
    command: list[str | Path] = ["cc", "-O2", "-shared", "-fPIC", *sources, "-lm", "-o", library]
    subprocess.run(command, check=True)
    return library
