"""Each numbered equation is on one page, in a header that the page links, and in notation.md.

Numbers are (1) to (26) as in Guerra et al., (A1) and up for the air at the rotors, (O1) and up for
the outer loops, (M1) and up for predictive control, (Q1) and up for the residual, and (E1) and up
for the filter, which are defined on its page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HEADERS = ROOT / "include" / "propwash"
NUMBER = re.compile(r"\(([AEMOQ]?\d+)\)(?:(?: to |–)\(([AEMOQ]?\d+)\))?")

pytestmark = pytest.mark.skipif(not (DOCS / "conf.py").exists(), reason="docs are missing")


def numbers(text: str) -> set[str]:
    """The equation numbers in a text, including all of ranges such as "(O1) to (O4)"."""
    found = set()
    for first, last in NUMBER.findall(text):
        prefix = first.rstrip("0123456789")
        start = int(first[len(prefix) :])
        stop = int((last or first)[len(prefix) :])
        found |= {f"{prefix}{i}" for i in range(start, stop + 1)}
    return found


def linked(page: Path) -> list[Path]:
    """The headers and C++ tests that a page links before its first section."""
    head = page.read_text(encoding="utf-8").partition("\n## ")[0]
    links = re.findall(r"\]\(([^)#]+\.[ch]pp)\)", head)
    return [(page.parent / link).resolve() for link in links]


def tags() -> dict[str, Path]:
    """The page of each equation number."""
    pages: dict[str, Path] = {}
    for page in sorted([*DOCS.glob("model/*.md"), *DOCS.glob("control/*.md")]):
        for tag in re.findall(r"\\tag\{([^}]+)\}", page.read_text(encoding="utf-8")):
            assert tag not in pages, f"({tag}) is on {pages[tag].name} and on {page.name}"
            pages[tag] = page
    return pages


def test_headers_have_the_equations_of_their_pages() -> None:
    for tag, page in tags().items():
        headers = [path for path in linked(page) if HEADERS in path.parents]
        assert any(tag in numbers(path.read_text(encoding="utf-8")) for path in headers), (
            f"({tag}) of {page.name} is in none of {[path.name for path in headers]}"
        )


def test_pages_link_a_header_and_a_test() -> None:
    for page in set(tags().values()):
        for path in linked(page):
            assert path.exists(), f"{page.name} links {path.name}"
        folders = {path.parent for path in linked(page)}
        assert ROOT / "tests" / "cpp" in folders, f"{page.name} links no test"
        assert {page.parent.name, "vehicle"} & {folder.name for folder in folders}, (
            f"{page.name}: no header"
        )


def test_equations_of_the_outer_loops_are_complete() -> None:
    pages = tags()
    outer = sorted(int(tag[1:]) for tag in pages if tag.startswith("O"))
    assert outer == list(range(1, len(outer) + 1))
    assert len(outer) >= 30
    for header in HEADERS.glob("control/*.hpp"):
        text = header.read_text(encoding="utf-8")
        for number in {x for x in numbers(text) if x.startswith("O")}:
            assert number in pages, f"({number}) of {header.name} is on no page"
        for page in re.findall(r"docs/[\w/.-]+\.md", text):
            assert (ROOT / page).exists(), f"{header.name} names {page}"


def test_equations_of_the_filter_are_complete() -> None:
    page = DOCS / "estimate.md"
    tagged = re.findall(r"\\tag\{(E\d+)\}", page.read_text(encoding="utf-8"))
    assert tagged == [f"E{number}" for number in range(1, 18)]
    headers = [path for path in linked(page) if HEADERS in path.parents]
    used = numbers("\n".join(path.read_text(encoding="utf-8") for path in headers))
    assert {number for number in used if number.startswith("E")} == set(tagged)


def test_the_notation_names_every_equation() -> None:
    rows = (DOCS / "notation.md").read_text(encoding="utf-8").splitlines()
    listed = numbers("\n".join(row for row in rows if row.startswith("|")))
    assert not set(tags()) - listed, "equations without a symbol in notation.md"


# public fields with a fixed frame, and vectors without a frame
WITHOUT_FRAME = {"position", "velocity", "acceleration", "jerk", "snap", "attitude", "rates"}
WITHOUT_FRAME |= {"value", "first", "second", "integral", "vector", "reading", "v"}
WITHOUT_FRAME |= {"axis", "axis_dot"}


def test_vectors_of_the_control_laws_end_in_their_frame() -> None:
    for header in sorted(HEADERS.glob("control/*.hpp")):
        code = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
        for name in re.findall(r"\b(?:Vec3|Quat)<T>\s*&?\s*(\w+)\s*[,)={;\[]", code):
            is_euler = name.startswith(("angle_", "goal_"))  # roll, pitch and yaw
            framed = re.search(r"_[WBRSC]$|^q_[A-Z]{2}$", name)
            assert framed or is_euler or name in WITHOUT_FRAME, f"{header.name}: {name}"
