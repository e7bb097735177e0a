"""Data sets of simulated flights: Blackbird and EuRoC formats.

Experimental: names and behaviour may change in any minor version.

    datasets.Blackbird(environment="room", duration=60.0).write("set", "star", "forward", 4.0)
    datasets.Euroc(environment="warehouse").write("oval", "oval", "forward", 2.0)

`docs/datasets.md` describes the files. Trajectories need extra `tune`, bags `log`, images
`video`.
"""

from __future__ import annotations

from propwash.datasets._blackbird import BLACKBIRD_CAMERAS, Blackbird
from propwash.datasets._catalogue import (
    SPEEDS,
    Yaw,
    closed_path,
    sequences,
    trajectory_names,
    waypoints,
)
from propwash.datasets._euroc import Euroc
from propwash.datasets._flight import check_duration

__all__ = [
    "BLACKBIRD_CAMERAS",
    "SPEEDS",
    "Blackbird",
    "Euroc",
    "Yaw",
    "check_duration",
    "closed_path",
    "sequences",
    "trajectory_names",
    "waypoints",
]
