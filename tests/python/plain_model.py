"""The equations of the multicopter in NumPy, written from the papers only.

Equations (1) to (15) of Guerra et al., "FlightGoggles" (arXiv 1905.11377), with linear rotor drag,
blow-back moment, (A1) to (A6) of docs/model/inflow.md, ground effect (Cheeseman and Bennett 1955)
and the contact of docs/model/contact.md. Only the names of the parameters come from the library.
The state is one array: position, velocity, attitude (w, x, y, z), body rates, rotor speeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from propwash import MulticopterState, Trajectory, VehicleParameters
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]

POSITION, VELOCITY, ATTITUDE, RATES = slice(0, 3), slice(3, 6), slice(6, 10), slice(10, 13)
ROTORS = slice(13, None)
GROUPS = {
    "position": POSITION,
    "velocity": VELOCITY,
    "attitude": ATTITUDE,
    "body rates": RATES,
    "rotor speeds": ROTORS,
}


def rotation(q: Array) -> Array:
    """The matrix from body to world components, times |q|^2."""
    w, v = q[0], q[1:]
    return np.asarray((w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * skew(v))


def skew(v: Array) -> Array:
    """The matrix of the cross product, v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def packed(state: MulticopterState | Trajectory) -> Array:
    """A state as one array (n,), a trajectory as one of shape (T, n)."""
    parts = (state.position, state.velocity, state.attitude, state.body_rates, state.rotor_speeds)
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=-1)


@dataclass
class PlainModel:
    """The equations of motion of one vehicle."""

    vehicle: VehicleParameters
    wind: Array = field(default_factory=lambda: np.zeros(3))
    noise_force: Array = field(default_factory=lambda: np.zeros(3))
    noise_torque: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        self.mass = self.vehicle.body.mass
        self.inertia = np.array(self.vehicle.body.inertia)
        self.axes = np.array([rotor.axis for rotor in self.vehicle.rotors])
        self.positions = np.array([rotor.position for rotor in self.vehicle.rotors])
        # s_i is -1 for a rotor whose positive speed is a positive rotation about its axis
        self.signs = -np.array([rotor.spin for rotor in self.vehicle.rotors])
        self.k_thrust = np.array([rotor.thrust_coefficient for rotor in self.vehicle.rotors])
        self.k_torque = np.array([rotor.torque_coefficient for rotor in self.vehicle.rotors])
        self.rotor_inertia = np.array([rotor.inertia for rotor in self.vehicle.rotors])

    def rotor_acceleration(self, speeds: Array, command: Array) -> Array:
        """(1), with a time constant for each direction."""
        motor = self.vehicle.motor
        rising = command > speeds
        tau = np.where(rising, motor.time_constant_up, motor.time_constant_down)
        return np.asarray((command - speeds) / tau)

    def air_force_body(self, x: Array) -> Array:
        """(6) and the linear rotor drag, in body components."""
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        v = x[VELOCITY] - self.wind
        quadratic = -self.vehicle.drag.translational * np.linalg.norm(v) * v
        linear = -self.mass * np.array(self.vehicle.rotor_drag.linear) * (r_wb.T @ v)
        return np.asarray(r_wb.T @ quadratic + linear)

    def flow(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """For speeds > 0: thrust by (A1), u, v_z and v_h of each rotor."""
        inflow, speeds, k = self.vehicle.inflow, x[ROTORS], self.k_thrust
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        hubs = r_wb.T @ (x[VELOCITY] - self.wind) + np.cross(x[RATES], self.positions)
        axial = np.sum(hubs * self.axes, axis=1)
        lateral = hubs - axial[:, np.newaxis] * self.axes
        across = np.sum(lateral**2, axis=1)
        hover = induced = self.hover_ratio() * speeds
        for _ in range(3 * (inflow.radius > 0.0)):  # Newton's method for (A3)
            through = axial + induced
            flow = np.sqrt(across + through**2 + 1e-6)
            change = inflow.translational * across - inflow.axial * speeds * (through - hover)
            still = hover * np.sqrt(hover**2 + 1e-6) + self.hover_ratio() ** 2 * change / k
            error = induced * flow - still
            slope = flow + np.maximum(induced * through / flow, 0.0)
            slope = slope + self.hover_ratio() ** 2 * inflow.axial / k * speeds
            induced = np.clip(induced - error / slope, 0.0, 2.0 * hover)
        change = inflow.translational * across
        change = change - inflow.axial * speeds * (axial + induced - hover)
        static = k * speeds**2
        return static + np.clip(change, -static, static), induced, axial, lateral

    def hover_ratio(self) -> Array:
        """(A2), 0 without a radius."""
        radius = self.vehicle.inflow.radius
        disc = 2.0 * 1.225 * np.pi * max(radius, 1e-9) ** 2
        return np.sqrt(self.k_thrust / disc) * (radius > 0.0)

    def hub_wrench(self, x: Array) -> tuple[Array, Array]:
        """(A5), and (A4) with (A6): force on each rotor, torque without that of the lever arms."""
        inflow, speeds = self.vehicle.inflow, x[ROTORS]
        thrusts, induced, axial, lateral = self.flow(x)
        drag = np.maximum(inflow.drag * speeds + inflow.axial_drag * axial, 0.0)
        power = thrusts * (axial + induced) / speeds
        power = power - self.k_thrust * speeds**2 * self.hover_ratio()
        torques = -inflow.flapping * speeds[:, np.newaxis] * np.cross(self.axes, lateral)
        if inflow.radius > 0.0:
            torques = torques + (self.signs * power)[:, np.newaxis] * self.axes
        return -drag[:, np.newaxis] * lateral, torques

    def thrusts(self, x: Array) -> Array:
        """(4) with (A1) and ground effect, for speeds > 0."""
        ground = self.vehicle.ground_effect
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        height = x[POSITION][2] - ground.height + (self.positions @ r_wb.T)[:, 2]
        upward = np.maximum((self.axes @ r_wb.T)[:, 2], 0.0)
        distance = np.maximum(height, 1e-6) / np.maximum(upward, 1e-6)
        ratio = ground.coefficient * (ground.radius / (4.0 * distance)) ** 2
        return np.asarray(self.flow(x)[0] / (1.0 - np.minimum(ratio, 0.25)))

    def thrust_body(self, x: Array) -> Array:
        """(2), (A5), the force on the feet and the residual."""
        forces = self.hub_wrench(x)[0] + self.feet(x)[1]
        return np.asarray(self.thrusts(x) @ self.axes + forces.sum(axis=0) + self.residual(x)[0])

    def feet(self, x: Array) -> tuple[Array, Array]:
        """Positions and forces of the feet, in body components."""
        contact, count = self.vehicle.contact, len(self.positions)
        omega = 2.0 * np.pi * contact.frequency
        stiffness = self.mass * omega**2 / count
        damping = 2.0 * contact.damping * self.mass * omega / count
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        feet = self.positions - [0.0, 0.0, contact.leg]
        height = x[POSITION][2] + (feet @ r_wb.T)[:, 2] - contact.height
        velocity = x[VELOCITY] + np.cross(x[RATES], feet) @ r_wb.T
        spring = stiffness * np.clip(-height, 0.0, 1.0)
        normal = spring + np.clip(-damping * velocity[:, 2], -spring, 3.0 * spring)
        speed = np.hypot(velocity[:, 0], velocity[:, 1])
        grip = np.minimum(damping, contact.friction * normal / np.maximum(speed, 1e-9))
        forces = np.column_stack([-grip * velocity[:, 0], -grip * velocity[:, 1], normal])
        return feet, np.asarray(forces @ r_wb)

    def residual(self, x: Array) -> tuple[Array, Array]:
        """(Q1) to (Q5): force and torque, in body components."""
        its = self.vehicle.residual
        squares = x[ROTORS] * np.abs(x[ROTORS])
        lift = (self.k_thrust * squares)[:, np.newaxis] * self.axes
        torque = np.cross(self.positions, lift).sum(axis=0)
        torque = torque + (self.signs * self.k_torque * squares) @ self.axes
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        velocity = r_wb.T @ (x[VELOCITY] - self.wind) - its.velocity_centre
        thrust = lift[:, 2].sum() - its.thrust_centre
        if not all([*its.velocity, *its.rates, its.thrust, *its.torque]):
            return np.zeros(3), np.zeros(3)
        (u, v, w), (p, q, r) = velocity / its.velocity, x[RATES] / its.rates
        t, (m_x, m_y, m_z) = thrust / its.thrust, torque / its.torque
        square = u * u + v * v + w * w + p * p + q * q + r * r
        square += t * t + m_x * m_x + m_y * m_y + m_z * m_z
        e = np.clip(2.0 - square, 0.0, 1.0)
        fade = e * e * (3.0 - 2.0 * e)
        even = [1.0, u, w, q, t, m_y, u * u, u * w, u * q, u * t, w * w, w * q, w * t, q * q]
        even += [q * t, t * t, v * v, v * p, v * r, p * p, p * r, r * r]
        odd = [v, p, r, m_x, m_z, u * v, u * p, u * r, w * v, w * p, w * r, q * v, q * p, q * r]
        odd += [t * v, t * p, t * r]
        force = [even @ np.array(its.force_x), odd @ np.array(its.force_y)]
        force += [even @ np.array(its.force_z)]
        moment = [odd @ np.array(its.torque_x), even @ np.array(its.torque_y)]
        moment += [odd @ np.array(its.torque_z)]
        return fade * np.array(force), fade * np.array(moment)

    def torque_body(self, x: Array, acceleration: Array) -> Array:
        """(3), (5), (7), the blow-back moment, the residual and the noise."""
        squares = x[ROTORS] * np.abs(x[ROTORS])
        forces, torques = self.hub_wrench(x)
        thrusts = self.thrusts(x)[:, np.newaxis] * self.axes + forces
        about_axis = self.signs * (self.k_torque * squares + self.rotor_inertia * acceleration)
        torque = np.cross(self.positions, thrusts).sum(axis=0) + about_axis @ self.axes
        torque += np.cross(*self.feet(x)).sum(axis=0) + torques.sum(axis=0)
        torque -= (
            np.array(self.vehicle.drag.rotational) @ x[RATES] * float(np.linalg.norm(x[RATES]))
        )
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        v_body = r_wb.T @ (x[VELOCITY] - self.wind)
        blow_back = -self.vehicle.rotor_drag.blow_back * np.cross([0.0, 0.0, 1.0], v_body)
        return np.asarray(torque + blow_back + self.residual(x)[1] + self.noise_torque)

    def momentum(self, x: Array) -> Array:
        """(14), in body components."""
        rotors = (self.signs * self.rotor_inertia * x[ROTORS]) @ self.axes
        return np.asarray(self.inertia @ x[RATES] - rotors)

    def derivative(self, x: Array, command: Array) -> Array:
        """(1), (8), (9), (12) and (13)."""
        q, rates = x[ATTITUDE], x[RATES]
        acceleration = self.rotor_acceleration(x[ROTORS], command)
        r_wb = rotation(q / np.linalg.norm(q))
        force = r_wb @ (self.thrust_body(x) + self.air_force_body(x)) + self.noise_force
        dv = np.array(self.vehicle.body.gravity) + force / self.mass
        dq = 0.5 * np.array([-q[1:] @ rates, *(q[0] * rates + np.cross(q[1:], rates))])
        torque = self.torque_body(x, acceleration) - np.cross(rates, self.momentum(x))
        return np.concatenate(
            [x[VELOCITY], dv, dq, np.linalg.solve(self.inertia, torque), acceleration]
        )

    def imu(self, x: Array, command: Array) -> tuple[Array, Array]:
        """(15) and (16) without bias and noise, at the position and in the axes of the sensor.

        Laechele et al., SIMPAR 2012: a + W x (W x T) + dW/dt x T - g, in sensor axes.
        """
        r_wb = rotation(x[ATTITUDE] / np.linalg.norm(x[ATTITUDE]))
        force = self.thrust_body(x) + self.air_force_body(x) + r_wb.T @ self.noise_force
        lever = np.array(self.vehicle.imu.position)
        angular_acceleration = self.derivative(x, command)[RATES]
        at_sensor = force / self.mass + np.cross(x[RATES], np.cross(x[RATES], lever))
        at_sensor += np.cross(angular_acceleration, lever)
        r_bs = rotation(np.array(self.vehicle.imu.attitude))
        return np.asarray(r_bs.T @ at_sensor), np.asarray(r_bs.T @ x[RATES])

    def fly(self, x: Array, commands: Array, hold: float) -> Array:
        """The state after each of the commands (T, N), each held for `hold` s; nearly exact.

        Uses SciPy's DOP853, with one run for each command, so that each run has a constant input.
        """
        states = []
        for command in commands:
            solution = solve_ivp(
                lambda _, y, c=command: self.derivative(y, c),
                (0.0, hold),
                x,
                method="DOP853",
                rtol=1e-13,
                atol=1e-13,
            )
            x = solution.y[:, -1]
            states.append(x)
        result = np.array(states)
        result[:, ATTITUDE] /= np.linalg.norm(result[:, ATTITUDE], axis=1, keepdims=True)
        return result
