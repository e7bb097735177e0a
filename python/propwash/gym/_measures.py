"""What counts of the flights of a task."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from propwash.gym._evaluate import Flown

RADIUS, LATE = 0.1, 2.0
"""m and s: Hover succeeds within that distance for all of its last seconds."""


def measures(task: str, flown: Flown) -> dict[str, float]:
    """What counts for a task, by name with its unit; the first is what is plotted."""
    infos = flown.infos
    if task == "race":
        finished = np.asarray(infos["finished"], dtype=bool)
        times = infos["time"][finished]
        return {
            "gates passed": float(np.mean(infos["gates"])),
            "finished [%]": 100.0 * float(np.mean(finished)),
            "collided [%]": 100.0 * float(np.mean(infos["collision"])),
            "score": float(np.mean(infos["score"])),
            "best five scores": float(np.mean(np.sort(infos["score"])[-5:])),
            "median time [s]": float(np.median(times)) if len(times) else math.nan,
        }
    told: dict[str, float] = {}
    if task == "hover":
        told[f"within {RADIUS} m for the last {LATE:g} s [%]"] = 100.0 * flown.settled(RADIUS, LATE)
    if task == "track":
        told["error after 2 s, median of RMS [m]"] = _median(flown.error(2.0))
    told["lost [%]"] = 100.0 * float(np.mean(flown.lost))
    told["distance at the end, median [m]"] = float(np.median(infos["distance"]))
    return told


def _median(values: Any) -> float:
    """Of numbers of which those that are none count as endless."""
    return float(np.median(np.nan_to_num(values, nan=np.inf)))
