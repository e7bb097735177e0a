"""Model predictive control of the rotor speeds with the symbolic model, solved by IPOPT.

The optimiser plans the rotor commands of a horizon on the model of CasADi. The simulated vehicle
executes the first one, with noise and a wind that the optimiser does not know.

    pip install "propwash[optimal]"
    python examples/mpc_casadi.py [--seconds 4] [--speed 2] [--wind 1]
"""

from __future__ import annotations

import argparse
from typing import Any

import casadi as ca
import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash.control import CasadiModel, casadi_model
from propwash.trajectories import Lemniscate

Array = NDArray[np.float64]

PERIOD, SUBSTEPS, HORIZON = 0.04, 40, 12  # s between plans, steps of the simulation, periods
POSITION, VELOCITY, RATES, INPUT = 100.0, 5.0, 0.5, 2e-5  # weights


def stacked(state: pw.MulticopterState) -> Array:
    """The state in the order of the model."""
    return np.concatenate([*vars(state).values()])


def step_of(model: CasadiModel) -> ca.Function:
    """The state after one period with a constant input: two steps of Runge-Kutta."""
    start, u = ca.SX.sym("x", len(model.states)), ca.SX.sym("u", len(model.inputs))
    x, h = start, PERIOD / 2
    for _ in range(2):
        k1 = model(x, u)
        k2 = model(x + h / 2 * k1, u)
        k3 = model(x + h / 2 * k2, u)
        k4 = model(x + h * k3, u)
        x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return ca.Function("step", [start, u], [x])


class Planner:
    """An optimal control problem that is solved from the solution before."""

    def __init__(self, model: CasadiModel, hover: Array) -> None:
        rotors = len(model.inputs)
        self.problem = ca.Opti()
        self.x = self.problem.variable(len(hover), HORIZON + 1)
        self.u = self.problem.variable(rotors, HORIZON)
        self.start = self.problem.parameter(len(hover))
        self.reference = self.problem.parameter(6, HORIZON + 1)  # position, velocity
        step = step_of(model)
        cost: Any = 0
        self.problem.subject_to(self.x[:, 0] == self.start)
        for k in range(HORIZON):
            self.problem.subject_to(self.x[:, k + 1] == step(self.x[:, k], self.u[:, k]))
            self.problem.subject_to(
                self.problem.bounded(model.input_min, self.u[:, k], model.input_max)
            )
            error = self.x[:6, k + 1] - self.reference[:, k + 1]
            cost += POSITION * ca.sumsqr(error[:3]) + VELOCITY * ca.sumsqr(error[3:])
            cost += RATES * ca.sumsqr(self.x[10:13, k + 1])
            cost += INPUT * ca.sumsqr(self.u[:, k] - hover[-rotors:])
        self.problem.minimize(cost)
        quiet = {"print_level": 0, "sb": "yes", "max_iter": 30, "tol": 1e-4}
        self.problem.solver("ipopt", {"print_time": False}, quiet)
        self.problem.set_initial(self.x, np.tile(hover[:, None], HORIZON + 1))
        self.problem.set_initial(self.u, np.tile(hover[-rotors:, None], HORIZON))

    def command(self, state: Array, reference: Array) -> tuple[Array, int]:
        """The rotor speeds of the next period, rad/s, and the iterations of the solver."""
        self.problem.set_value(self.start, state)
        self.problem.set_value(self.reference, reference)
        solution = self.problem.solve()
        x, u = solution.value(self.x), solution.value(self.u)
        self.problem.set_initial(self.x, np.hstack([x[:, 1:], x[:, -1:]]))  # one period later
        self.problem.set_initial(self.u, np.hstack([u[:, 1:], u[:, -1:]]))
        return u[:, 0], solution.stats()["iter_count"]


def main() -> None:
    """Flies the figure and prints the tracking error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--speed", type=float, default=2.0, help="m/s, maximum")
    parser.add_argument("--wind", type=float, default=1.0, help="m/s, along x")
    arguments = parser.parse_args()
    reference = Lemniscate(2.0, arguments.speed, laps=3.0, ramp=1.0).sample(period=PERIOD)
    rows = np.concatenate([reference.position, reference.velocity], axis=1).T
    count = min(round(arguments.seconds / PERIOD), rows.shape[1] - HORIZON - 1)

    uav = pw.Multicopter("flightgoggles", seed=1)
    hover = stacked(uav.trim())
    uav.reset(position=rows[:3, 0])
    uav.wind = np.array([arguments.wind, 0.0, 0.0])
    planner = Planner(casadi_model("flightgoggles"), hover)
    errors, iterations = [], []
    for k in range(count):
        command, iteration = planner.command(stacked(uav.state), rows[:, k : k + HORIZON + 1])
        uav.step(pw.RotorSpeeds(command), dt=PERIOD / SUBSTEPS, substeps=SUBSTEPS)
        errors.append(np.linalg.norm(uav.state.position - rows[:3, k + 1]))
        iterations.append(iteration)
    print(f"{count} plans, {np.median(iterations):.0f} iterations each (median)")
    print(
        f"position error: rms {np.sqrt(np.mean(np.square(errors))):.3f} m, max {max(errors):.3f} m"
    )


if __name__ == "__main__":
    main()
