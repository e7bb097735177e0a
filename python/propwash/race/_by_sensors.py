"""Simulated flights in which a pilot receives sensor readings and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.race import _plan
from propwash.race._instruments import Instruments
from propwash.race._interface import Briefing, PilotMaker
from propwash.vehicle.multicopter import Multicopter
from propwash.world import Gate, Scene

Array = NDArray[np.float64]

ROW_STEPS = 8
"""Time steps between rows of a recorded flight."""
_CHECK_ROWS = 60
"""Rows between two tests whether the flight is over."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of a pilot, in the rows of the flight."""

    position: Array
    """(T, 3) m, world frame."""
    velocity: Array
    """(T, 3) m/s, world frame."""
    attitude: Array
    """(T, 4) unit quaternions, scalar first."""
    gates: Array | None
    """(T, g, 3) offsets of the gates from their nominal poses: x, y [m] and yaw [rad]; None if the
    pilot does not estimate them."""
    true_gates: Array
    """(g, 3) the true offsets."""
    nominal: tuple[Gate, ...]
    """The g gates at their nominal poses."""


@dataclass(frozen=True)
class EstimationErrors:
    """Root mean squares of the errors of a pilot's estimate."""

    position: float
    """m, over the flight."""
    attitude: float
    """rad, over the flight."""
    gates: float
    """m, of the horizontal position of the gates, each at its passage; NaN if not estimated."""


def fly_by_sensors(
    vehicle: Multicopter,
    maker: PilotMaker,
    briefing: Briefing,
    scene: Scene,
    true_gates: Sequence[Gate],
    seed: int,
    time_limit: float,
    is_over: Callable[[Array, dict[str, Array]], bool],
    progress: Callable[[float], None] | None,
) -> tuple[Array, dict[str, Array], Estimates | None]:
    """Flies until the time limit [s] or until is_over(time, rows).

    Returns times (T,), rows of position, attitude and velocity, and the estimates.
    """
    half = 0.5 * briefing.yaw
    vehicle.reset(
        position=briefing.position, attitude=(np.cos(half), 0.0, 0.0, np.sin(half))
    )
    vehicle.outer_loops = replace(vehicle.outer_loops, tracking_tilt_limit=_plan.TILT)
    instruments = Instruments(vehicle, scene, true_gates, briefing.sensors, briefing.dt, seed)
    pilot = maker(briefing)
    rows: list[tuple[Any, ...]] = []
    estimates: list[Any] = []
    count = int(time_limit / (ROW_STEPS * briefing.dt))
    for step in range(count * ROW_STEPS + 1):
        command, estimate = pilot(instruments.read())
        if step % ROW_STEPS == 0:
            state = vehicle.state
            rows.append((state.position, state.attitude, state.velocity))
            estimates.append(estimate)
            if len(rows) % _CHECK_ROWS == 0 and is_over(*_arrays(rows, briefing.dt)):
                break
            if progress is not None and len(rows) % _CHECK_ROWS == 0:
                progress(min(1.0, len(rows) / count))
        vehicle.step(command, briefing.dt, state=estimate)
    return *_arrays(rows, briefing.dt), _estimates(estimates, briefing.gates, true_gates)


def _arrays(rows: list[tuple[Any, ...]], dt: float) -> tuple[Array, dict[str, Array]]:
    columns = (np.array(column) for column in zip(*rows, strict=True))
    time = np.arange(len(rows)) * (ROW_STEPS * dt)
    return time, dict(zip(("position", "attitude", "velocity"), columns, strict=True))


def _estimates(
    rows: list[Any], nominal: Sequence[Gate], true_gates: Sequence[Gate]
) -> Estimates | None:
    if any(row is None for row in rows):
        return None
    gates = [getattr(row, "gates", None) for row in rows]
    return Estimates(
        *(np.array([getattr(row, name) for row in rows]) for name in
          ("position", "velocity", "attitude")),
        None if any(each is None for each in gates) else np.array(gates),
        np.array([offset_of(*pair) for pair in zip(nominal, true_gates, strict=True)]),
        tuple(nominal),
    )  # fmt: skip


def offset_of(nominal: Gate, true: Gate) -> Array:
    """(3,) x, y [m] and yaw [rad] from the nominal to the true pose of a gate."""
    yaw = (true.yaw - nominal.yaw + np.pi) % (2.0 * np.pi) - np.pi
    return np.array(
        [true.position[0] - nominal.position[0], true.position[1] - nominal.position[1], yaw]
    )


def errors_of(
    estimates: Estimates, time: Array, position: Array, attitude: Array, passed: Sequence[float]
) -> EstimationErrors:
    """The errors of estimates over a flight (T rows); passed: s, times of the gates passed."""
    distance = np.linalg.norm(estimates.position - position, axis=1)
    relative = np.abs(np.sum(estimates.attitude * attitude, axis=1))
    angle = 2.0 * np.arccos(np.clip(relative, 0.0, 1.0))
    gates = np.nan
    if estimates.gates is not None and len(passed):
        rows = np.searchsorted(time, passed).clip(0, len(time) - 1)
        each = np.arange(len(passed))
        error = (estimates.gates[rows, each] - estimates.true_gates[each])[:, :2]
        gates = float(np.sqrt(np.mean(np.sum(error**2, axis=1))))
    return EstimationErrors(
        float(np.sqrt(np.mean(distance**2))), float(np.sqrt(np.mean(angle**2))), gates
    )
