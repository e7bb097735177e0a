"""A simulated flight with known parameters and noise on the recorded signals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import propwash as pw
from propwash.identify import Noise
from propwash.logs import Flight
from propwash.vehicle.multicopter import Array

PERIOD = 4e-3
NOISE = Noise(
    position=5e-4, velocity=5e-3, body_rates=0.02, specific_force=0.1, push=0.0, twist=0.0
)


def true_vehicle() -> pw.VehicleParameters:
    """A Crazyflie with other values of all identifiable parameters."""
    guess = pw.vehicles.load("crazyflie")
    inertia = np.array([1.1, 0.9, 1.0]) * np.diag(np.array(guess.body.inertia))
    positions = np.array([rotor.position for rotor in guess.rotors])
    balance = 1.0 + 0.03 * np.sign(positions[:, 1]) + 0.02 * np.sign(positions[:, 0])
    axis = np.array([0.012, -0.008, 1.0])
    rotors = tuple(
        rotor.replace(
            thrust_coefficient=1.1 * rotor.thrust_coefficient * factor,
            torque_coefficient=0.8 * rotor.torque_coefficient * factor,
            axis=(axis / np.linalg.norm(axis)).tolist(),
        )
        for rotor, factor in zip(guess.rotors, balance, strict=True)
    )
    return guess.replace(
        name="true",
        body={"inertia": inertia.tolist()},
        rotors=rotors,
        motor={
            "time_constant_up": 0.045,
            "time_constant_down": 0.075,
            "speed_offset": 0.16,
            "command_delay": 0.009,
        },
        rotor_drag={"linear": (0.5, 0.3, 0.2), "blow_back": 2e-4},
    )


def speeds_at(vehicle: pw.VehicleParameters, duty: Array) -> Array:
    """Rotor speeds [rad/s] of duty cycles at the nominal voltage."""
    offset = vehicle.motor.speed_offset
    return vehicle.motor_values("speed_max")[0] * (offset + (1.0 - offset) * duty)


def duty_at(vehicle: pw.VehicleParameters, speeds: Array) -> Array:
    """The inverse of `speeds_at`."""
    offset = vehicle.motor.speed_offset
    return (speeds / vehicle.motor_values("speed_max")[0] - offset) / (1.0 - offset)


@dataclass
class _Pilot:
    """Keeps the attitude near level, with excitation."""

    vehicle: pw.VehicleParameters
    phases: Array

    def duty(self, state: pw.MulticopterState, time: float) -> Array:
        waves = np.sin(np.outer([2.3, 5.1, 9.7, 17.0], [1.0, 1.1, 0.9, 1.3]) * time + self.phases)
        excitation = waves.mean(axis=0)
        w, x, y, z = np.asarray(state.attitude)
        drift = np.clip(np.asarray(state.position)[:2] + np.asarray(state.velocity)[:2], -3.0, 3.0)
        desired = np.array([0.1 * drift[1], -0.1 * drift[0], 0.0]) + 0.5 * excitation[:3]
        rates = 6.0 * (desired - 2.0 * np.sign(w) * np.array([x, y, z]))
        climb = -2.0 * state.position[2] - 2.0 * state.velocity[2] + 4.0 * excitation[3]
        gains = np.array([12.0, 12.0, 4.0])
        torque = gains * (rates - state.body_rates) * np.diag(np.array(self.vehicle.body.inertia))
        thrust = self.vehicle.body.mass * (9.81 + climb)
        effect = np.array(
            [
                [
                    rotor.thrust_coefficient,
                    rotor.position[1] * rotor.thrust_coefficient,
                    -rotor.position[0] * rotor.thrust_coefficient,
                    -rotor.spin * rotor.torque_coefficient,
                ]
                for rotor in self.vehicle.rotors
            ]
        ).T
        squares = np.linalg.solve(effect, np.r_[thrust, torque])
        return np.clip(duty_at(self.vehicle, np.sqrt(np.maximum(squares, 0.0))), 0.1, 1.0)


def simulated_flight(
    seconds: float, seed: int = 1, vehicle: pw.VehicleParameters | None = None
) -> Flight:
    """A flight at 250 Hz, with one clock, white noise and no bias; by default true_vehicle()."""
    rng = np.random.default_rng(seed)
    return noisy(clean_flight(seconds, rng, vehicle), rng)


def noisy(flight: Flight, rng: np.random.Generator) -> Flight:
    """The flight with white noise on all measured signals except the attitude."""

    def recorded(name: str) -> Array:
        values = getattr(flight, name)
        return np.asarray(values + getattr(NOISE, name) * rng.standard_normal(values.shape))

    return replace(
        flight,
        body_rates=recorded("body_rates"),
        specific_force=recorded("specific_force"),
        position=recorded("position"),
        velocity=recorded("velocity"),
    )


def clean_flight(
    seconds: float,
    rng: np.random.Generator,
    vehicle: pw.VehicleParameters | None = None,
    measured: bool = False,
) -> Flight:
    """A flight, by default of the true vehicle, with random excitation and without noise.

    measured: whether with rotor speeds.
    """
    vehicle = vehicle or true_vehicle()
    uav = pw.Multicopter(vehicle, noise=False)
    pilot = _Pilot(vehicle, rng.uniform(0.0, 2.0 * np.pi, (4, 4)))
    time: Array = np.asarray(PERIOD * np.arange(round(seconds / PERIOD)), dtype=np.float64)
    hover = duty_at(vehicle, np.asarray(uav.trim().rotor_speeds)).mean()
    duty = np.full((len(time), 4), hover)
    states, force = [], np.empty((len(time), 3))
    uav.battery_voltage = vehicle.battery.nominal_voltage
    for k, t in enumerate(time):
        state = uav.state
        states.append(state)
        force[k] = uav.imu.specific_force
        if k + 1 < len(time):
            duty[k + 1] = pilot.duty(state, float(t))
            speeds = speeds_at(vehicle, 0.5 * (duty[k] + duty[k + 1]))
            uav.step(pw.RotorSpeeds(speeds), dt=1e-3, substeps=round(PERIOD / 1e-3))
    return Flight(
        path=Path("simulated"),
        time=time,
        duty=duty,
        body_rates=np.array([state.body_rates for state in states]),
        specific_force=force,
        voltage=np.full(len(time), vehicle.battery.nominal_voltage),
        position=np.array([state.position for state in states]),
        velocity=np.array([state.velocity for state in states]),
        attitude=np.array([state.attitude for state in states]),
        rotor_speeds=np.array([state.rotor_speeds for state in states]) if measured else None,
    )
