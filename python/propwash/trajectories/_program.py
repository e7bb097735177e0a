"""The nonlinear programs of time-optimal paths: what they contain, and their solution by IPOPT.

CasADi is imported where it is needed, as it is an optional dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash._bridge import uninterrupted
from propwash.trajectories._gates import Opening
from propwash.trajectories._limits import Limits
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Counts = NDArray[np.intp]

BODY = 13
"""Number of states of the rigid body."""
MIN_DURATION = 1e-3
"""s, of a segment."""
_MIN_COUNT = 5
"""Minimum number of intervals of a segment."""
_MAX_ITERATIONS = 250
_MAX_VIOLATION = 1e-3
"""Of a constraint; above it, the constraint is named."""


@dataclass(frozen=True, eq=False)
class Boundary:
    """The motion at an end of a time-optimal path. None: free."""

    velocity: ArrayLike | None = (0.0, 0.0, 0.0)
    """(3,) m/s, world frame."""
    attitude: ArrayLike | Literal["level"] | None = "level"
    """(4,) unit quaternion, scalar first: body to world; "level": body z is vertical, with any
    heading."""
    body_rates: ArrayLike | None = (0.0, 0.0, 0.0)
    """(3,) rad/s, body frame."""

    def __post_init__(self) -> None:
        for name in ("velocity", "body_rates"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checks.shaped(name, value, (3,)))
        if isinstance(self.attitude, str):
            _checks.choice("attitude", self.attitude, ["level"])
        elif self.attitude is not None:
            attitude = _checks.shaped("attitude", self.attitude, (4,))
            object.__setattr__(self, "attitude", _checks.attitudes("attitude", attitude))


@dataclass(frozen=True, eq=False)
class Problem:
    """What a path must satisfy."""

    gates: Sequence[Opening]
    """K + 1, start and end included."""
    vehicle: VehicleParameters
    limits: Limits
    start: Boundary
    end: Boundary
    region: Array
    """(2, 3) m, lowest and highest position."""
    wind: Array
    """(3,) m/s, world frame."""
    motor_lag: bool


@dataclass(frozen=True, eq=False)
class Nodes:
    """A solution, or a guess, at the ends of the intervals."""

    counts: Counts
    """(K,) intervals of each segment, of equal duration."""
    durations: Array
    """(K,) s, of the segments."""
    states: Array
    """(n + 1, 13 + N) in the order of CasadiModel; without motor lag the rotor speeds are the
    commands of the next interval."""
    commands: Array
    """(n, N) rad/s, rotor speeds."""

    @property
    def time(self) -> Array:
        """(n + 1,) s."""
        steps = np.repeat(self.durations / self.counts, self.counts)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def resampled(self, period: float) -> Nodes:
        """The same motion with intervals of at most `period` [s]."""
        counts = np.maximum(np.ceil(self.durations / period), _MIN_COUNT).astype(np.intp)
        time = Nodes(counts, self.durations, self.states, self.commands).time
        states = np.stack([np.interp(time, self.time, each) for each in self.states.T], axis=1)
        rows = np.searchsorted(self.time, time[:-1], "right") - 1
        commands = self.commands[np.minimum(rows, len(self.commands) - 1)]
        return Nodes(counts, self.durations, states, commands)


class Rows:
    """The constraints of a program, with names for messages."""

    def __init__(self) -> None:
        self._expressions: list[Any] = []
        self._names: list[str] = []
        self._lower: list[float] = []
        self._upper: list[float] = []

    def add(self, name: str, expression: Any, lower: float, upper: float) -> None:
        """Adds expressions (m, 1) with the same bounds."""
        count = int(expression.numel())
        self._expressions.append(expression)
        self._names += [name] * count
        self._lower += [lower] * count
        self._upper += [upper] * count

    def add_gates(self, gates: Sequence[Opening], states: Any, counts: Counts) -> None:
        """Adds the gates on positions and velocities, the first rows of states (…, n + 1)."""
        nodes = np.concatenate([[0], np.cumsum(counts)]).tolist()
        for number, (gate, node) in enumerate(zip(gates, nodes, strict=True)):
            for expression, low, high in gate.rows(states[:3, node], states[3:6, node]):
                self.add(f"gates[{number}]", expression, low, high)

    def solve(
        self, variables: Any, objective: Any, guess: Array, bounds: Array,
        *, tolerance: float, barrier: float,
    ) -> Array:  # fmt: skip
        """The variables (m,) of the minimum. bounds: (2, m), lower and upper ones.

        barrier: the first parameter of the interior-point method; small for a good guess.

        Raises ValueError with the name of the constraint that remains violated.
        """
        import casadi

        program = {"x": variables, "f": objective, "g": casadi.vertcat(*self._expressions)}
        ipopt = {
            "print_level": 0, "sb": "yes", "linear_solver": "mumps", "tol": tolerance,
            "max_iter": _MAX_ITERATIONS, "mu_init": barrier,
        }  # fmt: skip
        options: Any = {"print_time": False, "error_on_fail": False, "ipopt": ipopt}
        solver = casadi.nlpsol("plan", "ipopt", program, options)
        with uninterrupted():  # as IPOPT takes a KeyboardInterrupt for a point without values
            found = solver(x0=guess, lbx=bounds[0], ubx=bounds[1], lbg=self._lower, ubg=self._upper)
        stats = solver.stats()
        if not stats["success"]:
            raise ValueError(self._refusal(np.asarray(found["g"])[:, 0], stats))
        return np.asarray(found["x"], dtype=np.float64)[:, 0]

    def _refusal(self, values: Array, stats: dict[str, Any]) -> str:
        excess = np.maximum(self._lower - values, values - self._upper)
        worst = int(np.argmax(excess))
        if excess[worst] > _MAX_VIOLATION:
            return (
                f"gates, limits: no path found that meets all of them: {self._names[worst]} "
                f"violated by {excess[worst]:.3g}; relax the limits, or move the gates"
            )
        return (
            f"gates, limits: no path found: IPOPT stopped with {stats['return_status']} after "
            f"{stats['iter_count']} iterations; relax the limits, or move the gates"
        )


def interval_lengths(durations: Any, counts: Counts) -> Any:
    """(1, n) s, of all intervals, from symbols (K, 1)."""
    import casadi

    n, k = int(np.sum(counts)), len(counts)
    fractions = np.zeros((n, k))
    fractions[np.arange(n), np.repeat(np.arange(k), counts)] = np.repeat(1.0 / counts, counts)
    return casadi.mtimes(casadi.sparsify(casadi.DM(fractions)), durations).T
