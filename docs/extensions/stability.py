"""Reads docs/stability.md: which Python modules and C++ headers are stable."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "propwash"
NOTE = """.. note::

   Experimental: may change in a minor version (:doc:`/docs/stability`).
"""


def rows(section: str) -> list[tuple[str, str]]:
    """The first two cells of each row of the table in a section of the page."""
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return re.findall(r"^\| `([^`]+)` \| (.+) \|$", text, re.M)


def stable_modules() -> list[str]:
    """The stable modules of the Python package."""
    return [module for module, _ in rows("Python")]


def stable_headers() -> list[str]:
    """The stable headers, relative to include/propwash; FileNotFoundError for a missing one."""
    found: list[str] = []
    for folder, cell in rows("C++"):
        place = HEADERS / folder.removeprefix("propwash/")
        named = [place / f"{name}.hpp" for name in re.findall(r"`(\w+)`", cell)]
        for path in named or sorted(place.glob("*.hpp")):
            if not path.is_file():
                raise FileNotFoundError(
                    f"docs/stability.md: {path.relative_to(ROOT)} does not exist"
                )
            found.append(path.relative_to(HEADERS).as_posix())
    return found
