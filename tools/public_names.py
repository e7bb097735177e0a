"""Writes tests/data/public_names.txt, the stable names of both languages; with --check compares.

docs/stability.md lists the modules and headers. A line has a name and, after a colon, the members
of a class. Python functions are followed by their parameters, with `=…` where they have a default.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "extensions"))

from cpp_api import names_of, run_doxygen  # noqa: E402
from python_api import members_of  # noqa: E402
from stability import HEADERS, stable_headers, stable_modules  # noqa: E402

FILE = ROOT / "tests" / "data" / "public_names.txt"


class Default:
    """Stands for any default of a parameter."""

    def __repr__(self) -> str:
        return "…"


def parameters(value: Any) -> str:
    """The parameters of a function or class, empty for others and for the extension's functions."""
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return ""
    empty = inspect.Parameter.empty
    plain = [
        each.replace(annotation=empty, default=empty if each.default is empty else Default())
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    bare = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return str(bare).replace(" = …", "=…")


def line(name: str, members: Iterable[str]) -> str:
    """A name, and the members of a class."""
    return f"{name}: {' '.join(members)}" if (members := sorted(members)) else name


def python_names() -> Iterator[str]:
    """The names that the stable modules export; the members of a class where it occurs first."""
    described: set[int] = set()
    for module in map(importlib.import_module, stable_modules()):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            members = []
            if inspect.isclass(value) and id(value) not in described:
                described.add(id(value))
                for member in members_of(value, set()):
                    found = inspect.getattr_static(value, member, None)
                    routine = getattr(value, member) if inspect.isroutine(found) else None
                    members.append(member + parameters(routine))
            yield line(f"{module.__name__}.{name}{parameters(value)}", members)


def cpp_names() -> Iterator[str]:
    """The names that the stable headers declare."""
    headers = [HEADERS / header for header in stable_headers()]
    with tempfile.TemporaryDirectory() as folder:
        names = names_of(run_doxygen(headers, Path(folder) / "doxygen"))
    members = defaultdict(set)
    for name in names:
        if name.owner:
            members[name.owner].add(name.qualified.rpartition("::")[2])
    for name in sorted(names, key=lambda name: (name.header, name.qualified)):
        if not name.owner:
            short = name.qualified.removeprefix("propwash::")
            header = name.header.removeprefix("propwash/")
            yield line(f"{header} {short}", members[name.qualified])


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare only; status 1 if they differ"
    )
    check = parser.parse_args().check
    new = [f"{line}\n" for line in ["# Python", *python_names(), "# C++", *cpp_names()]]
    if not check:
        FILE.write_text("".join(new), encoding="utf-8")
        return 0
    old = FILE.read_text(encoding="utf-8").splitlines(keepends=True)
    difference = list(difflib.unified_diff(old, new, "listed", "found", n=0))
    if difference:
        sys.stdout.writelines(difference)
        print("Stable names have changed. If that is intended: `make names`, and CHANGELOG.md.")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
