"""A custom vehicle: a small aircraft as a point mass, simulated with the library's integrators.

Any object with `derivative(state, command)` is a vehicle; `project`, if defined, is applied once
after each step.
"""

from dataclasses import dataclass

import numpy as np
import propwash as pw
from numpy.typing import NDArray

GRAVITY = 9.81
State = NDArray[np.float64]


@dataclass(frozen=True)
class Command:
    thrust: float  # N
    lift_coefficient: float
    bank: float  # rad, to the left


@dataclass(frozen=True)
class Aircraft:
    """State: x, y, z [m, z up], speed [m/s], climb [rad], heading [rad]."""

    mass: float = 2.0  # kg
    area: float = 0.5  # m^2
    air_density: float = 1.225  # kg/m^3
    zero_lift_drag: float = 0.03
    induced_drag: float = 0.05

    def force(self, speed: float, coefficient: float) -> float:
        """The force of a lift or drag coefficient, N."""
        return 0.5 * self.air_density * speed**2 * self.area * coefficient

    def drag_coefficient(self, lift: float) -> float:
        """Parabolic polar."""
        return self.zero_lift_drag + self.induced_drag * lift**2

    def derivative(self, state: State, command: Command) -> State:
        """d/dt of the state."""
        _, _, _, speed, climb, heading = state
        lift = self.force(speed, command.lift_coefficient)
        drag = self.force(speed, self.drag_coefficient(command.lift_coefficient))
        return np.array(
            [
                speed * np.cos(climb) * np.cos(heading),
                speed * np.cos(climb) * np.sin(heading),
                speed * np.sin(climb),
                (command.thrust - drag) / self.mass - GRAVITY * np.sin(climb),
                (lift * np.cos(command.bank) / self.mass - GRAVITY * np.cos(climb)) / speed,
                lift * np.sin(command.bank) / (self.mass * speed * np.cos(climb)),
            ]
        )

    def project(self, state: State) -> State:
        """Heading in [-pi, pi)."""
        state[5] = (state[5] + np.pi) % (2.0 * np.pi) - np.pi
        return state


def main() -> None:
    aircraft = Aircraft()
    state = np.array([0.0, 0.0, 50.0, 12.0, 0.0, 0.0])

    # level turn at 30 degrees of bank: lift balances the weight and curves the path
    bank = np.deg2rad(30.0)
    lift = aircraft.mass * GRAVITY / np.cos(bank) / aircraft.force(12.0, 1.0)
    turn = Command(aircraft.force(12.0, aircraft.drag_coefficient(lift)), lift, bank)

    path = [state]
    for _ in range(600):
        path.append(pw.integrate.step(aircraft, path[-1], turn, dt=0.01, steps=10))
    y = np.array(path)[:, 1]
    radius, expected = (y.max() - y.min()) / 2.0, 12.0**2 / (GRAVITY * np.tan(bank))
    print(f"radius of the turn {radius:.3f} m, v^2 / (g tan bank) = {expected:.3f} m")


if __name__ == "__main__":
    main()
