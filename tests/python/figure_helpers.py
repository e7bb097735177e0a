"""Checks of the texts in figures and of their positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNITS = re.compile(r"\[[^\]]+\]$")
"""The unit at the end of an axis label: [m], [rad/s], [1] for a dimensionless number."""


@contextmanager
def drawn_texts(figure: Any) -> Iterator[list[tuple[str, Any]]]:
    """Collects all texts drawn within the context, with their bounding boxes in pixels."""
    from matplotlib.text import Text

    shown: list[tuple[str, Any]] = []
    original = Text.draw

    def draw(self: Any, renderer: Any, *others: Any, **options: Any) -> None:
        if self.get_visible() and self.get_text().strip() and self.figure is not None:
            # of the text only: the box of an annotation includes its arrow
            shown.append((self.get_text(), Text.get_window_extent(self, renderer)))
        original(self, renderer, *others, **options)

    Text.draw = draw  # type: ignore[method-assign]
    try:
        yield shown
    finally:
        Text.draw = original  # type: ignore[method-assign]


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """The texts of a drawn figure, with their bounding boxes in pixels."""
    figure.canvas.draw()  # computes the layout
    with drawn_texts(figure) as shown:
        figure.canvas.draw()
    return shown


def check_texts(figure: Any, texts: list[tuple[str, Any]]) -> None:
    """Checks that no text overlaps another or extends beyond the figure."""
    width, height = figure.bbox.size
    for number, (text, box) in enumerate(texts):
        inside = (
            box.x0 >= -1.0 and box.x1 <= width + 1.0 and -1.0 <= box.y0 <= box.y1 <= height + 1.0
        )
        assert inside, f"{text!r} leaves the figure: {box}"
        for other, its in texts[:number]:
            across = min(box.x1, its.x1) - max(box.x0, its.x0)
            up = min(box.y1, its.y1) - max(box.y0, its.y0)
            assert across <= 1.0 or up <= 1.0, f"{text!r} covers {other!r}"


def check_axes(figure: Any) -> None:
    """Checks that each axis with numbers has a label that ends in its unit."""
    for axes in figure.axes:
        if not axes.axison or not axes.get_visible():
            continue
        kinds = [axes.xaxis, axes.yaxis, *([axes.zaxis] if hasattr(axes, "zaxis") else [])]
        for axis in [each for each in kinds if each.get_visible()]:
            numbers = [
                label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()
            ]
            label = axis.label.get_text()
            assert not numbers or UNITS.search(label), f"{axes.get_title()!r}: {label!r}"


def check_figure(figure: Any) -> list[str]:
    """Checks texts, axes and title of a figure; returns its texts."""
    texts = texts_of(figure)
    check_texts(figure, texts)
    check_axes(figure)
    assert figure.get_suptitle() or any(axes.get_title() for axes in figure.axes)
    return [text for text, _ in texts]
