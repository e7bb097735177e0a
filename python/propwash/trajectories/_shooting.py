"""Direct multiple shooting: the fastest motion of a multicopter through gates, with CasADi.

Each segment between two gates has a fixed number of intervals of equal, free duration, so that
gates are passed at nodes. In an interval the rotor commands are constant; the motion follows from
casadi_model() by the method of Runge and Kutta.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import control
from propwash.trajectories._program import (
    BODY,
    MIN_DURATION,
    Counts,
    Nodes,
    Problem,
    Rows,
    interval_lengths,
)

Array = NDArray[np.float64]

_MIN_THRUST = 1e-4
"""Minimum thrust of a rotor, as a fraction of the largest: at 0 the slope of its speed is
infinite."""
_RATE_MAX = 20.0
"""rad/s; an interval is too long for faster rotation."""
_SMOOTHNESS = 1e-5
"""s, weight of the mean squared change of the normalised commands in a segment. Time alone does
not determine commands, as not all of them affect it."""
_MIN_TIME_CONSTANT = 1e-6
"""s; a motor without lag has 0."""
_LAG_PERIOD = 0.03
"""s, maximum step of the integration with motor lag."""


class Shooting:
    """The programs of a problem.

    Normalised commands u are thrusts without motor lag, and speeds with it, as fractions of those
    at the maximum speed.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._model = control.casadi_model(problem.vehicle)
        self._speed_max = self._model.input_max
        self._rotors = len(self._speed_max)
        self._size = BODY + self._rotors * problem.motor_lag
        hover = control.Allocation(problem.vehicle).inverse[:, 3] * problem.vehicle.weight
        slowest = self._model.input_min * np.abs(self._model.input_min)
        least = slowest + problem.limits.rotor_thrust_min * (hover - slowest)
        self._thrust_min = np.maximum(least / self._speed_max**2, _MIN_THRUST)

    def derivative(self, states: Array, commands: Array) -> Array:
        """(n, 13) time derivatives of the rigid body in states (n, 13 + N)."""
        function, still = self._model.function.map(len(states)), np.zeros(3)
        rates = function(states.T, commands.T, self.problem.wind, still, still, self._model.p)
        return np.asarray(rates, dtype=np.float64).T[:, :BODY]

    def solve(self, guess: Nodes, tolerance: float, barrier: float) -> Nodes:
        """The motion of minimum time with the intervals of a guess; see Rows.solve()."""
        import casadi

        n, k = int(np.sum(guess.counts)), len(guess.counts)
        x, u = casadi.MX.sym("x", self._size, n + 1), casadi.MX.sym("u", self._rotors, n)
        durations = casadi.MX.sym("durations", k)
        step = self._step(float(np.max(guess.durations / guess.counts))).map(n)
        reached = step(x[:, :-1], u, interval_lengths(durations, guess.counts))
        rows = Rows()
        rows.add("the dynamics", casadi.vec(reached - x[:, 1:]), 0.0, 0.0)
        rows.add_gates(self.problem.gates, x, guess.counts)
        self._add_ends(rows, x)
        self._add_limits(rows, x, u)
        changes = casadi.sumsqr(u[:, 1:] - u[:, :-1]) * (k / n)
        found = rows.solve(
            casadi.veccat(x, u, durations),
            casadi.sum1(durations) + _SMOOTHNESS * changes,
            self._variables(guess), self._bounds(n, k), tolerance=tolerance, barrier=barrier,
        )  # fmt: skip
        return self._nodes(found, guess.counts)

    def _step(self, period: float) -> Any:
        """The state after h [s], a function of x, u and h."""
        import casadi

        x, u = casadi.SX.sym("x", self._size), casadi.SX.sym("u", self._rotors)
        h = casadi.SX.sym("h")
        start, lag = x[BODY:], self.problem.motor_lag
        commands = u if lag else casadi.sqrt(u)
        motor = self.problem.vehicle.motor_values
        up, down = (
            np.maximum(motor(f"time_constant_{way}"), _MIN_TIME_CONSTANT) for way in ("up", "down")
        )
        is_one = not lag or (up == down).all()  # without lag there is no speed at the start
        constant = up if is_one else casadi.if_else(u > start, up, down)

        def rotors(time: Any) -> Any:
            # the exact solution of the motors, which may be faster than a step
            return u + (start - u) * casadi.exp(-time / constant) if lag else commands

        def derivative(body: Any, time: Any) -> Any:
            speeds = self._speed_max * rotors(time)
            state = casadi.vertcat(body, speeds)
            return self._model(state, self._speed_max * commands, wind=self.problem.wind)[:BODY]

        body = x[:BODY]
        steps = math.ceil(period / _LAG_PERIOD) if lag else 1
        dt = h / steps
        for t in (number * dt for number in range(steps)):
            k1 = derivative(body, t)
            k2 = derivative(body + dt / 2 * k1, t + dt / 2)
            k3 = derivative(body + dt / 2 * k2, t + dt / 2)
            k4 = derivative(body + dt * k3, t + dt)
            body += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q = body[6:10]
        parts = [body[:6], q / casadi.norm_2(q), body[10:]] + [rotors(h)] * lag
        return casadi.Function("step", [x, u, h], [casadi.vertcat(*parts)])

    def _add_ends(self, rows: Rows, x: Any) -> None:
        import casadi

        for name, each, at in (("start", self.problem.start, 0), ("end", self.problem.end, -1)):
            velocity, q, rates = x[3:6, at], x[6:10, at], x[10:13, at]
            if each.velocity is not None:
                rows.add(f"{name}.velocity", velocity - np.asarray(each.velocity), 0.0, 0.0)
            if each.body_rates is not None:
                rows.add(f"{name}.body_rates", rates - np.asarray(each.body_rates), 0.0, 0.0)
            if isinstance(each.attitude, str):
                rows.add(f"{name}.attitude", q[1:3], 0.0, 0.0)
            elif each.attitude is not None:
                w, i, j, k = np.asarray(each.attitude)
                # the vector part of the rotation from one to the other, either sign of q
                to_vector = casadi.DM([[-i, w, k, -j], [-j, -k, w, i], [-k, j, -i, w]])
                rows.add(f"{name}.attitude", casadi.mtimes(to_vector, q), 0.0, 0.0)
        # the steps preserve the length
        rows.add("the length of the quaternion", casadi.sumsqr(x[6:10, 0]), 1.0, 1.0)

    def _add_limits(self, rows: Rows, x: Any, u: Any) -> None:
        import casadi

        limits, vehicle = self.problem.limits, self.problem.vehicle
        if np.isfinite(limits.speed):
            squares = casadi.sum1(x[3:6, :] ** 2).T / limits.speed**2
            rows.add("limits.speed", squares, -np.inf, 1.0)
        cosine = 1.0 - 2.0 * casadi.sum1(x[7:9, :] ** 2)
        if limits.tilt < np.pi:
            rows.add("limits.tilt", cosine.T, math.cos(limits.tilt), np.inf)
        if np.isfinite(limits.vertical_thrust_min):
            thrust_per_square = control.Allocation(vehicle).matrix[3]
            shares = casadi.DM(thrust_per_square * self._speed_max**2 / vehicle.weight).T
            if self.problem.motor_lag:
                forces = [casadi.mtimes(shares, x[BODY:, :] ** 2) * cosine]
            else:  # constant in an interval, at both ends of which it is checked
                thrust = casadi.mtimes(shares, u)
                forces = [thrust * cosine[:, :-1], thrust * cosine[:, 1:]]
            for force in forces:
                low = limits.vertical_thrust_min
                rows.add("limits.vertical_thrust_min", force.T, low, np.inf)

    def _bounds(self, n: int, k: int) -> Array:
        """(2, m) lower and upper bounds of the variables."""
        limits = self.problem.limits
        states = np.full((2, n + 1, self._size), [[[-np.inf]], [[np.inf]]])
        states[:, :, :3] = self.problem.region[:, None]
        states[:, :, 10:13] = np.array([-1.0, 1.0])[:, None, None] * np.minimum(
            limits.rates, _RATE_MAX
        )
        commands = np.array([self._thrust_min, np.full(self._rotors, limits.thrust)])
        if self.problem.motor_lag:
            states[:, :, BODY:] = np.sqrt(commands)[:, None]
            slowest = np.maximum(self._model.input_min / self._speed_max, 0.0)
            commands = np.array([slowest, np.ones(self._rotors)])
        durations = np.repeat([[MIN_DURATION], [np.inf]], k, axis=1)
        return np.concatenate([states.reshape(2, -1), np.tile(commands, n), durations], axis=1)

    def _variables(self, nodes: Nodes) -> Array:
        states, commands = nodes.states.copy(), nodes.commands / self._speed_max
        states[:, BODY:] /= self._speed_max
        if not self.problem.motor_lag:
            states, commands = states[:, :BODY], commands**2
        return np.concatenate([states.ravel(), commands.ravel(), nodes.durations])

    def _nodes(self, variables: Array, counts: Counts) -> Nodes:
        n, k = int(np.sum(counts)), len(counts)
        states, commands = np.split(variables[:-k], [(n + 1) * self._size])
        states, commands = states.reshape(n + 1, -1), commands.reshape(n, -1)
        if not self.problem.motor_lag:
            commands = np.sqrt(commands)
            states = np.concatenate([states, commands[[*range(n), -1]]], axis=1)
        states[:, BODY:] *= self._speed_max
        return Nodes(counts, variables[-k:], states, commands * self._speed_max)
