"""A pilot that flies by sensors alone: filter, planner, tracking."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash.race import _plan
from propwash.race._interface import Briefing, PilotEstimate, Readings
from propwash.race._navigation import Navigation
from propwash.race._plan import PlanStart
from propwash.race._route import route
from propwash.race._wind import WindEstimate
from propwash.trajectories import Limits, Reference
from propwash.vehicle.commands import Command

if TYPE_CHECKING:
    from propwash.estimate import ErrorStateFilter

Array = NDArray[np.float64]

_COMMAND_STEPS = 4
"""Time steps between two commands; the outer loops run as often."""
_PLAN_PERIOD = 0.1
"""s, between two plans."""
_COMMIT = 0.15
"""s, before a gate, in which the plan is kept."""
_PASSED = 0.05
"""s, before a point, from which a new plan leaves it out."""
_HORIZON = 60.0
"""m, length of a plan in flight."""
_SIDE_ACCELERATION = 15.0
"""m/s^2, with which a path is moved sideways to a gate that is seen late."""
_REACTION = 0.3
"""s, from the first view of a gate until the path changes."""
_SLOW = 6.0
"""m/s, below which a path is kept while the gates remain where it expects them."""
_ROUNDS = 1
"""Speed profiles of a plan in motion."""
_LEG_ROUNDS = 2
"""Speed profiles of a plan from rest, whose speeds are known from the plan before the flight."""
_MIN_AHEAD = 1.5
"""s, minimum duration of the path that is ahead."""
_UPWARD_APPROACH_SPEED = 5.0
"""m/s, near a point that is approached slowly: a vehicle that brakes tilts backwards, and a camera
that looks upwards loses the gate."""
_MOVED = 0.03
"""m, change of a gate one second ahead from which the path is planned again."""
_MAX_ERROR = 0.3
"""m, of the tracking, above which a plan starts at the estimated motion."""
_REJOIN = 0.5
"""s, before a point, in which plans start on the path in spite of such an error: a plan from the
estimated motion would come to the point from the side."""


class SensorPilot:
    """Estimates motion and gates by a Kalman filter, and plans through the estimated gates.

    briefing: what is known before the flight. limits: of the plans; None: those of the briefing, or
    else LIMITS.
    """

    def __init__(self, briefing: Briefing, limits: Limits | None = None) -> None:
        self._briefing = briefing
        gates = briefing.gates
        vehicle = briefing.vehicle
        self._navigation = Navigation(briefing)
        self._limits = limits or briefing.limits or _plan.LIMITS
        self._wind = WindEstimate(vehicle, _plan.drag_of(vehicle))
        elevation = self._navigation.view.hover_elevation
        self._route = route(briefing.position, gates, elevation)
        points = self._route.points(gates)
        self._courses = self._route.courses(gates)
        self._points = points
        """The points of the route for which the path was planned."""
        self._next = 1
        """Number of the first point of the route that is still ahead."""
        self._uncertain = self._navigation.uncertainty(self._courses)
        self._ends = [*np.flatnonzero(self._route.is_stop).tolist(), len(points) - 1]
        """Numbers of the points at which the legs of the route end, at rest."""
        slowest = _UPWARD_APPROACH_SPEED if elevation > 0.0 else _plan.MIN_APPROACH_SPEED
        self._planners = [
            _plan.Planner(vehicle, self._limits, self._look, slowest) for _ in self._ends
        ]
        first = 0
        for planner, end in zip(self._planners, self._ends, strict=True):
            # the speeds that these plans find are remembered; those of a slow approach are not
            # the speeds of the leg when its gates are known
            leg = slice(first, end + 1)
            approach = self._approach()[leg] if first == 0 else None
            path = planner.plan(points[leg], briefing.yaw, approach=approach)
            if first == 0:
                self._path = path
            first = end
        self._begin = 0.0
        """s, when the path begins."""
        self._rows: Reference | None = None
        self._row = 0
        self._tick = 0
        self._command: Command | None = None
        self._estimate: PilotEstimate | None = None

    @property
    def filter(self) -> ErrorStateFilter:
        """The filter, whose covariance states how accurate the estimate is."""
        return self._navigation.filter

    @property
    def wind(self) -> Array:
        """(3,) m/s, world frame: the estimate of the wind, in which plans must be possible."""
        return self._wind.wind.copy()

    def __call__(self, readings: Readings) -> tuple[Command, PilotEstimate]:
        """Returns the command of the tracking controller, and the estimate that it is based on."""
        dt = self._navigation.update(readings)
        if self._tick % _COMMAND_STEPS == 0 or self._command is None or self._estimate is None:
            self._estimate = motion = self._navigation.estimate
            if self._command is not None:
                self._wind.update(
                    readings.accelerometer, motion.velocity, motion.attitude, _COMMAND_STEPS * dt
                )
            self._command = self._next_command(readings.time)
        self._tick += 1
        return self._command, self._estimate

    def _next_command(self, time: float) -> Command:
        if self._rows is None or self._row >= len(self._rows):
            self._replan(time)
            period = _COMMAND_STEPS * self._briefing.dt
            count = max(1, round(_PLAN_PERIOD / period))
            at = time - self._begin + period * np.arange(count)
            self._rows, self._row = self._path.sample(at), 0
        command = self._rows[self._row].command()
        self._row += 1
        return command

    def _replan(self, time: float) -> None:
        """Plans from the present motion of the path through the estimated gates."""
        now = time - self._begin
        if now <= 0.0:
            return
        for planner in self._planners:
            planner.wind = self.wind
        end = self._ends[0]
        points = self._route.points(self._briefing.gates, self.filter.gates)
        uncertain = self._navigation.uncertainty(self._courses)
        if now >= self._path.duration and len(self._ends) > 1:
            self._start_leg(time, points, uncertain)
            return
        ahead = self._path.point_times[1:]
        count = int(np.searchsorted(ahead, now + _PASSED, side="right"))
        is_ahead = self._route.is_passage[self._next + count : end + 1]
        if not is_ahead.any() or (is_ahead[0] and ahead[count] < now + _COMMIT):
            return
        start = self._anchored(self._path.motion(now))
        is_slow = float(np.linalg.norm(start.position[1])) < _SLOW
        if is_slow and not self._is_outdated(points, uncertain, now):
            return
        self._next += count
        self._points, self._uncertain = points, uncertain
        leg = slice(self._next, end + 1)
        self._path = self._planners[0].plan(
            points[leg],
            start=start,
            horizon=_HORIZON,
            rounds=_ROUNDS,
            approach=self._approach()[leg],
        )
        self._begin = time

    def _anchored(self, motion: PlanStart) -> PlanStart:
        """The motion at which a plan starts: of the path, or if it is far, the estimated one."""
        estimate = self.filter.state
        if np.linalg.norm(motion.position[0] - estimate.position) < _MAX_ERROR:
            return motion
        speed = float(np.linalg.norm(estimate.velocity))
        if motion.ahead[0] < _REJOIN * max(speed, 1.0):
            return motion
        position, curve = motion.position.copy(), motion.curve.copy()
        position[0], position[1] = estimate.position, estimate.velocity
        curve[0] = estimate.position
        if speed > 1.0:
            curve[1] = np.linalg.norm(curve[1]) / speed * estimate.velocity
        return replace(motion, position=position, curve=curve)

    def _start_leg(self, time: float, points: Array, uncertain: Array) -> None:
        """Plans the next leg, from rest."""
        self._next = self._ends.pop(0) + 1
        self._planners.pop(0)
        self._points, self._uncertain = points, uncertain
        leg = slice(self._next, self._ends[0] + 1)
        motion = self._path.motion(self._path.duration)
        self._path = self._planners[0].plan(
            np.vstack([motion.position[:1], points[leg]]),
            float(motion.yaw[0]),
            horizon=_HORIZON,
            rounds=_LEG_ROUNDS,
            approach=np.append(0.0, self._approach()[leg]),
        )
        self._begin = time

    def _is_outdated(self, points: Array, uncertain: Array, now: float) -> bool:
        """Whether the path ends soon, or the gates are no longer where it expects them."""
        times = self._path.point_times[1:]
        if np.isinf(times[-1]) and self._path.duration < now + _MIN_AHEAD:
            return True
        if (np.abs(uncertain - self._uncertain) > _MOVED).any():
            return True
        moved = np.linalg.norm(points - self._points, axis=1)[self._next :]
        moved = moved[: len(times)]
        is_near = (times > now) & np.isfinite(times)
        return bool((moved > _MOVED * np.maximum(times - now, 1.0))[is_near].any())

    def _approach(self) -> Array:
        """(n,) s, times before the points of the route in which the path may have to change."""
        aside = self._uncertain[self._route.gate] * self._route.is_passage
        return np.where(aside > 0.0, _REACTION + 2.0 * np.sqrt(aside / _SIDE_ACCELERATION), 0.0)

    def _look(self, position: Array, thrust_axis: Array, default: Array) -> Array:
        """Directions in which the camera sees the gates that are not known well enough."""
        ahead = np.unique(self._route.gate[self._next :])
        chosen = ahead[self._uncertain[ahead] > 0.0]
        poses = self._route.axes(self._briefing.gates, self.filter.gates)
        return self._navigation.view.directions(
            position, thrust_axis, default, poses[0][chosen], poses[1][chosen, :, 0]
        )
