"""Figures and recordings of flights, with matplotlib (extra `viz`) or Rerun (extra `rerun`)."""

from __future__ import annotations

from propwash.viz._plots import (
    check,
    reference_figure,
    save,
    show,
    trajectory_figure,
)
from propwash.viz.figures import require_matplotlib

__all__ = [
    "check",
    "reference_figure",
    "require_matplotlib",
    "save",
    "show",
    "trajectory_figure",
]
