"""Resets and validity of the estimates of PX4's EKF.

A reset moves the estimate without motion. The log counts resets and records the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from propwash.logs._columns import Invalid

Array = NDArray[np.float64]
Topic = dict[str, Array]

POSITION = "vehicle_local_position"
ATTITUDE = "vehicle_attitude"
_MAX_VELOCITY_STEP = 0.1
"""m/s; a reset of the velocity by less is within the noise of the estimate."""
_VALID = ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid")


def corrected(topics: Mapping[str, Topic]) -> tuple[dict[str, Topic], list[Invalid]]:
    """Returns the topics with continuous positions and attitudes, and sections to reject.

    Positions after a reset are moved back. Attitudes before a reset are rotated by it, as it
    corrects the heading. A section is invalid where the velocity is reset by more than 0.1 m/s,
    where a message follows several resets, and without a valid position.
    """
    result = dict(topics)
    invalid: list[Invalid] = []
    if POSITION in topics:
        result[POSITION] = _position(topics[POSITION], invalid)
    if ATTITUDE in topics:
        result[ATTITUDE] = _attitude(topics[ATTITUDE], invalid)
    return result, invalid


def has_position(topic: Topic) -> bool:
    """Whether the estimator has a valid position in any message."""
    return bool(np.any(_valid(topic)))


def _position(topic: Topic, invalid: list[Invalid]) -> Topic:
    topic = dict(topic)
    for counter, fields, steps in (
        ("xy_reset_counter", ("x", "y"), ("delta_xy[0]", "delta_xy[1]")),
        ("z_reset_counter", ("z",), ("delta_z",)),
    ):
        for row in _resets(topic, POSITION, counter, (*fields, *steps), invalid):
            for field, step in zip(fields, steps, strict=True):
                moved = topic[field].copy()
                moved[row:] -= topic[step][row]
                topic[field] = moved
    for counter, steps in (
        ("vxy_reset_counter", ("delta_vxy[0]", "delta_vxy[1]")),
        ("vz_reset_counter", ("delta_vz",)),
    ):
        for row in _resets(topic, POSITION, counter, steps, invalid):
            size = float(np.linalg.norm([topic[name][row] for name in steps]))
            if size > _MAX_VELOCITY_STEP:
                reason = f"the estimator resets the velocity by {size:.3g} m/s"
                invalid.append(_section(topic, POSITION, row - 1, row, reason))
    bad = np.concatenate([[0], ~_valid(topic), [0]]).astype(int)
    for first, last in np.flatnonzero(np.diff(bad)).reshape(-1, 2):
        reason = "the estimator has no valid position and velocity"
        invalid.append(_section(topic, POSITION, first - 1, last, reason))
    return topic


def _attitude(topic: Topic, invalid: list[Invalid]) -> Topic:
    names = [f"q[{k}]" for k in range(4)]
    steps = [f"delta_q_reset[{k}]" for k in range(4)]
    rows = list(_resets(topic, ATTITUDE, "quat_reset_counter", (*names, *steps), invalid))
    if not rows:
        return topic
    attitude = np.stack([topic[name] for name in names], axis=-1).astype(np.float64)
    for row in rows:
        w, x, y, z = (float(topic[name][row]) for name in steps)
        left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
        attitude[:row] = attitude[:row] @ left.T
    return {**topic, **dict(zip(names, attitude.T, strict=True))}


def _resets(
    topic: Topic, name: str, counter: str, fields: Sequence[str], invalid: list[Invalid]
) -> Iterator[int]:
    """Yields the rows that follow one reset; those that follow several are invalid.

    fields: Fields without which the topic records no resets.
    """
    if any(field not in topic for field in (counter, *fields)):
        return
    with np.errstate(invalid="ignore"):
        counts = np.diff(topic[counter].astype(np.uint8))  # modulo 256, as PX4 counts
    for before in np.flatnonzero(counts).tolist():
        if counts[before] == 1:
            yield before + 1
        else:
            reason = f"{counts[before]} resets of the estimator between two messages of {name}"
            invalid.append(_section(topic, name, before, before + 1, reason))


def _valid(topic: Topic) -> NDArray[np.bool_]:
    """(K,) whether position and velocity are valid; logs without flags are valid."""
    valid = np.ones(len(topic["timestamp"]), dtype=bool)
    for name in _VALID:
        if name in topic:
            valid &= topic[name] != 0
    if "dead_reckoning" in topic:
        valid &= topic["dead_reckoning"] == 0
    return valid


def _section(topic: Topic, name: str, first: int, last: int, reason: str) -> Invalid:
    time = topic["timestamp"] * 1e-6
    last = min(last, len(time) - 1)
    return Invalid(name, float(time[max(first, 0)]), float(time[last]), reason)
