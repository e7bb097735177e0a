"""Processor time of the reference renderer for an image, on one thread.

    python bench/bench_render_image.py [--markdown] [--size WIDTH HEIGHT]

Medians over images from several positions in the scene.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

from propwash import _core
from propwash.render.cameras import Kind
from propwash.render.offscreen import Offscreen

SCENES = ("alphapilot", "forest", "warehouse", "room")
CASES: tuple[tuple[str, tuple[Kind, ...], int], ...] = (
    ("rgb + depth", ("rgb", "depth"), 1),
    ("rgb + depth, antialias 2", ("rgb", "depth"), 2),
    ("rgb", ("rgb",), 1),
    ("grey", ("grey",), 1),
    ("grey, antialias 2", ("grey",), 2),
    ("depth", ("depth",), 1),
    (
        "all eight kinds",
        ("rgb", "depth", "grey", "depth8", "normals", "flow", "instance", "semantic"),
        1,
    ),
)
VIEWS = 24


def milliseconds(
    scene: str, kinds: tuple[Kind, ...], antialias: int, size: tuple[int, int]
) -> float:
    """Processor time of an image, the median over the views."""
    studio = Offscreen(scene, width=size[0], height=size[1], antialias=antialias, seed=1)
    times = []
    for view in range(VIEWS):
        angle = 2.0 * math.pi * view / VIEWS
        attitude = (math.cos(angle / 2.0), 0.0, 0.0, math.sin(angle / 2.0))
        position = (3.0 * math.cos(angle), 3.0 * math.sin(angle), 2.0)
        start = time.process_time()
        studio.render(kinds, position, attitude)
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480), help="pixels")
    arguments = parser.parse_args()
    mark, size = " | " if arguments.markdown else "  ", tuple(arguments.size)
    isa = _core.build_info()["isa"]
    print(f"{isa}, ms for an image of {size[0]} x {size[1]} (and images per second)")
    rows = [["", *SCENES]]
    for name, kinds, antialias in CASES:
        row = [name]
        for scene in SCENES:
            median = milliseconds(scene, kinds, antialias, size)
            row.append(f"{median:.1f} ({1e3 / median:.0f})")
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = mark.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {cells} |" if mark == " | " else cells.rstrip())
        if number == 0 and mark == " | ":
            print("|" + "|".join(" --- " for _ in row) + "|")


if __name__ == "__main__":
    main()
