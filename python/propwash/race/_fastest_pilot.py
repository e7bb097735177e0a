"""A pilot that flies time-optimal paths by sensors alone: filter, planner, predictive control."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash.race import _fastest, _plan
from propwash.race._interface import Briefing, PilotEstimate, Readings
from propwash.race._navigation import Navigation
from propwash.race._route import route
from propwash.trajectories import (
    ROTOR_LIMITS,
    Ball,
    Limits,
    Mpc,
    Rectangle,
    Reference,
    TimeOptimal,
    time_optimal,
)
from propwash.vehicle.commands import Command
from propwash.vehicle.multicopter import MulticopterState

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

Array = NDArray[np.float64]

_COMMAND_STEPS = 8
"""Time steps between two commands."""
_THRUST = 0.95
"""Of the rotors, that paths use if no disturbance is observed."""
_MARGIN = 0.3
"""m, between path and frames."""
_PLAN_PERIOD = 0.2
"""s, between two tests whether a new path is needed."""
_DELAY = 0.05
"""s, from which on a new path replaces the present one, at a node of it."""
_MOVED = 0.05
"""m, change of a gate one second ahead from which the path is planned again."""
_GATES_AHEAD = 3
"""Places whose changes are compared with it."""
_HORIZON = 4.0
"""s, for which a heading is planned."""
_MIN_AHEAD = 1.5
"""s, of the reference that remain."""
_HOLD = 3.0
"""s, in which the largest observed disturbance is forgotten."""
_MAX_RESERVE = 0.35
"""Of the thrust of the rotors."""
_RESERVE_STEP = 0.03
"""Change of the reserve from which the path is planned again."""
_MAX_ERROR = 0.15
"""m, of the tracking, above which a path starts at the estimated motion."""


class FastestPilot:
    """Flies the fastest path through the estimated gates by predictive control.

    briefing: what is known before the flight. limits: of the paths; None: those of the briefing, or
    else FASTEST_LIMITS with 0.95 of the thrust. The thrust that the observed disturbance requires
    is kept in reserve. Requires casadi and scipy.

    The poses of the gates should be known well before they are reached; for sensors that see only
    near gates, use SensorPilot.
    """

    def __init__(self, briefing: Briefing, limits: Limits | None = None) -> None:
        vehicle, gates, point = briefing.vehicle, briefing.gates, briefing.position
        self._briefing = briefing
        self._limits = limits or briefing.limits or replace(_fastest.FASTEST_LIMITS, thrust=_THRUST)
        self._navigation = Navigation(briefing)
        self._route = route(point, gates)
        self._courses = self._route.courses(gates)
        self._sides = _fastest.sides(point, gates)
        self._gate_of = np.repeat(np.arange(len(gates)), np.where(self._sides, 4, 1))
        """Number of the gate of each place of the path."""
        self._path = time_optimal(
            [Ball(point), *self._places()], vehicle, limits=self._limits, level="fast",
            start=_fastest.start(briefing.yaw), end=_fastest.FREE, region=_fastest.above(_MARGIN),
        )  # fmt: skip
        self._begin = 0.0
        """s, when the path begins."""
        self._first = 0
        """Number of the place to which the path begins."""
        self._next: tuple[float, TimeOptimal, int] | None = None
        """The same of the path that follows."""
        self._planned = self._navigation.filter.gates
        self._reserve = self._planned_reserve = 0.0
        self._yaw = np.array([briefing.yaw, 0.0, 0.0])
        self._mpc = Mpc(vehicle, self._reference(0.0))
        self._motors = _Motors(briefing)
        self._tested = 0.0
        self._tick = 0
        self._answer: tuple[Command, PilotEstimate] | None = None
        self.plans = 1
        """Number of paths planned."""

    @property
    def navigation(self) -> Navigation:
        """The estimates of motion and gates."""
        return self._navigation

    @property
    def reserve(self) -> float:
        """Fraction of the thrust that paths leave for the observed disturbance."""
        return self._reserve

    def __call__(self, readings: Readings) -> tuple[Command, PilotEstimate]:
        """Returns the rotor speeds to command, and the estimate that they are based on."""
        dt = self._navigation.update(readings)
        self._motors.step(dt)
        if self._answer is None or self._tick % _COMMAND_STEPS == 0:
            estimate = self._navigation.estimate
            rates = readings.gyroscope - self._navigation.filter.gyroscope_bias
            self._plan(readings.time, estimate)
            state = MulticopterState(
                estimate.position, estimate.velocity, estimate.attitude, rates, self._motors.speeds
            )
            command = self._mpc.command(state, readings.time)
            self._motors.command = np.asarray(command.speeds)
            self._answer = command, estimate
            self._observe()
        self._tick += 1
        return self._answer

    def _observe(self) -> None:
        """Holds the largest observed disturbance, as a fraction of the thrust."""
        period = _COMMAND_STEPS * self._briefing.dt
        force = float(np.linalg.norm(self._mpc.disturbance_force))
        now = min(force / self._briefing.vehicle.max_thrust, _MAX_RESERVE)
        self._reserve = max(now, self._reserve * (1.0 - period / _HOLD))

    def _places(self) -> list[Ball | Rectangle]:
        gates = self._navigation.gates
        turn = _MARGIN + _fastest.TURN_MARGIN
        places = _fastest.openings(gates, self._sides, _MARGIN, turn)
        return [*places, _fastest.run_out(gates[-1])]

    def _plan(self, time: float, estimate: PilotEstimate) -> None:
        """Changes to the next path, or plans it, or continues the reference of the present one."""
        if self._next is not None and time >= self._next[0] - 1e-9:
            self._yaw = self._heading(time)
            self._begin, self._path, self._first = self._next
            self._next = None
            self._mpc.follow(self._reference(time))
        elif self._next is None and time >= self._tested + _PLAN_PERIOD:
            self._tested = time
            self._replan(time, estimate)
        if self._is_short(time):
            self._yaw = self._heading(time)
            self._mpc.follow(self._reference(time))

    def _is_short(self, time: float) -> bool:
        end = self._yaw_begin + self._yaw_duration
        return end < min(time + _MIN_AHEAD, self._begin + self._path.duration - _DELAY)

    def _replan(self, time: float, estimate: PilotEstimate) -> None:
        """Plans the path that follows, from a node ahead, if gates or disturbance have changed."""
        path, now = self._path, time - self._begin
        node = int(np.searchsorted(path.time, now + _DELAY))
        if node >= len(path.time) - 1:
            return
        x = _node(path, node)
        reference = path.sample(np.array([now]))
        error = estimate.position - reference.position[0]
        is_far = float(np.linalg.norm(error)) > _MAX_ERROR
        has_changed = abs(self._reserve - self._planned_reserve) > _RESERVE_STEP
        if not (is_far or has_changed or self._has_moved(now)):
            return
        if is_far:
            slip = estimate.velocity - reference.velocity[0]
            ahead = float(path.time[node]) - now
            x = replace(x, position=x.position + error + ahead * slip, velocity=x.velocity + slip)
        thrust = self._limits.thrust
        # limits below _THRUST leave a reserve themselves
        left = max(thrust, _THRUST) - self._reserve
        limits = replace(self._limits, thrust=min(thrust, left))
        first = self._first + int(np.sum(path.knots[1:] <= path.time[node] + 1e-9))
        gates = self._navigation.filter.gates
        for allowed in (limits, ROTOR_LIMITS):
            try:
                following = path.replanned(node, self._places()[first:], limits=allowed, motion=x)
            except ValueError:
                continue  # the gate is too near for the limits
            self._next = self._begin + float(path.time[node]), following, first
            self._planned, self._planned_reserve = gates, self._reserve
            self.plans += 1
            return

    def _has_moved(self, now: float) -> bool:
        """Whether gates ahead are no longer where the path expects them."""
        moved = np.linalg.norm((self._navigation.filter.gates - self._planned)[:, :2], axis=1)
        ahead = self._path.knots[1:-1] - now
        of = self._gate_of[self._first :][: len(ahead)]
        is_near = (ahead > 0.0) & (np.cumsum(ahead > 0.0) <= _GATES_AHEAD)
        return bool((moved[of] > _MOVED * np.maximum(ahead, 1.0))[is_near].any())

    def _heading(self, time: float) -> Array:
        """(3,) yaw of the reference, with two derivatives."""
        at = min(time - self._yaw_begin, self._yaw_duration)
        return np.array([float(self._yaw_spline(at, order)) for order in range(3)])

    def _reference(self, time: float) -> Reference:
        """The path from now on, with a heading that directs the camera to gates."""
        start = time - self._begin
        path, vehicle = self._path, self._briefing.vehicle
        self._yaw_begin = time
        self._yaw_duration = min(path.duration - start, _HORIZON)
        self._yaw_spline: BSpline = _plan.look_spline(
            lambda at: path.sample(start + at), self._yaw_duration, vehicle, self._look, self._yaw
        )
        period = _COMMAND_STEPS * self._briefing.dt
        at = np.arange(0.0, self._yaw_duration, period)
        yaw, rate, acceleration = (self._yaw_spline(at, order) for order in range(3))
        return replace(
            path.sample(start + at), time=time + at, yaw=yaw, yaw_rate=rate,
            yaw_acceleration=acceleration,
        )  # fmt: skip

    def _look(self, position: Array, thrust_axis: Array, default: Array) -> Array:
        """Directions in which the camera sees the gates that are not known well enough."""
        navigation = self._navigation
        ahead = np.unique(self._gate_of[self._first :])
        chosen = ahead[navigation.uncertainty(self._courses)[ahead] > 0.0]
        centres, axes = self._route.axes(self._briefing.gates, navigation.filter.gates)
        return navigation.view.directions(
            position, thrust_axis, default, centres[chosen], axes[chosen, :, 0]
        )


class _Motors:
    """The speeds of the rotors, which are not measured, from the commands."""

    def __init__(self, briefing: Briefing) -> None:
        vehicle = briefing.vehicle
        self._up, self._down = (
            np.maximum(vehicle.motor_values(f"time_constant_{way}"), 1e-9) for way in ("up", "down")
        )
        hover = np.sqrt(vehicle.weight / vehicle.max_thrust)
        self.speeds = np.asarray(vehicle.motor_values("speed_max")) * hover
        self.command = self.speeds

    def step(self, dt: float) -> None:
        constants = np.where(self.command > self.speeds, self._up, self._down)
        self.speeds = self.command + (self.speeds - self.command) * np.exp(-dt / constants)


def _node(path: TimeOptimal, node: int) -> MulticopterState:
    """The state of a path at a node."""
    return MulticopterState(*(part[node] for part in vars(path.states).values()))
