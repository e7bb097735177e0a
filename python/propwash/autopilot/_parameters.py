"""Parameters of PX4 and ArduPilot for a vehicle, derived from its file (docs/autopilot.md).

Both programs compute a torque without unit on each axis, u = C(s) (rate setpoint - rate), and add
it to the outputs of the motors with fixed factors. The response depends on the vehicle:

    rate / u = a (1 + T_z s) exp(-T_d s) / (s (1 + T_m s))                                    (1)

    a    authority, rad/s^2: torque of the motors at u = 1 over the moment of inertia
    T_m  time constant of the motors; T_d their delay
    T_z  in yaw, by the torque that accelerates a rotor: J / (2 k_q w) at the speed w of hover

    C(s) = P (1 + i / s + T_m s / (1 + T_f s)) F(s)                                           (2)

The ratio i and the filters F and T_f are those of the program's default parameters. The derivative
cancels the lag of the motors. P is 1 / |L(w_c)|, where L is the loop of (1) and (2) with P = 1, and
w_c the highest frequency at which its phase margin is 50 degrees; in yaw at most the corner of the
program's yaw filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.autopilot._motors import QUAD_X, MotorMap, match, with_reversed_spins
from propwash.control import Allocation
from propwash.vehicle import VehicleParameters

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_PHASE_MARGIN = math.radians(50.0)
_SEPARATION = 3.0
"""Crossover of a rate loop over the gain of the attitude loop around it, at least."""
_FREQUENCIES = np.geomspace(0.5, 500.0, 3000)
"""rad/s, among which the crossover is searched."""


@dataclass(frozen=True)
class _RateLoop:
    """The rate loop of a program on one axis: equation (2) without P and T_m."""

    delay: float
    """s, of sampling and computation: one and a half periods."""
    gyroscope: float
    """Hz, second-order low-pass filter of the gyroscope."""
    integral: float
    """1/s, I / P."""
    attitude: float
    """1/s, gain of the attitude loop around it."""
    derivative: float | None = None
    """Hz, low-pass filter of the derivative; None without a derivative."""
    torque: float | None = None
    """Hz, low-pass filter of the error or torque; None without a filter."""

    def response(self, s: Complex, lag: float) -> Complex:
        """C(s) for P = 1. lag: T_m."""
        control = 1.0 + self.integral / s
        if self.derivative is not None:
            control += lag * s / (1.0 + s / _corner(self.derivative))
        if self.torque is not None:
            control /= 1.0 + s / _corner(self.torque)
        x = s / _corner(self.gyroscope)
        return np.asarray(control * np.exp(-self.delay * s) / (1.0 + math.sqrt(2.0) * x + x**2))


# ArduCopter 4.6: SCHED_LOOP_RATE 400 Hz, INS_GYRO_FILTER, ATC_RAT_RLL_FLTD, ATC_RAT_YAW_FLTE,
# ATC_ANG_RLL_P; I / P of ATC_RAT_RLL and ATC_RAT_YAW
_ARDUPILOT_TILT = _RateLoop(1.5 / 400.0, 20.0, 1.0, 4.5, derivative=20.0)
_ARDUPILOT_YAW = _RateLoop(1.5 / 400.0, 20.0, 0.1, 4.5, torque=2.5)
# PX4 1.16: HIL_SENSOR at 250 Hz, IMU_GYRO_CUTOFF, IMU_DGYRO_CUTOFF, MC_YAW_TQ_CUTOFF, MC_ROLL_P,
# MC_YAW_P; I / P of MC_ROLLRATE and MC_YAWRATE
_PX4_TILT = _RateLoop(1.5 / 250.0, 40.0, 4.0 / 3.0, 6.5, derivative=30.0)
_PX4_YAW = _RateLoop(1.5 / 250.0, 40.0, 0.5, 2.8, torque=2.0)


def ardupilot_parameters(vehicle: VehicleParameters, own_spins: bool = False) -> dict[str, float]:
    """The parameters with which ArduCopter flies a vehicle, by name.

    own_spins: whether the rotors keep the spins of the vehicle (`Simulation`). Raises ValueError
    for a vehicle that is no quad-x, or without torque about its rotors' axes.
    """
    vehicle, motor_map = _as_simulated(vehicle, "ardupilot", own_spins)
    parameters: dict[str, float] = {"FRAME_CLASS": 1, "FRAME_TYPE": 1}  # quadcopter, X
    if motor_map.reversed:
        # X with reversed spins has the motors in the order RR FR RL FL: outputs in that of X
        parameters["FRAME_TYPE"] = 18
        parameters |= {f"SERVO{k}_FUNCTION": 32 + motor for k, motor in enumerate((2, 3, 4, 1), 1)}
    parameters |= {
        "MOT_THST_EXPO": 0,  # an output is a fraction of the maximum thrust
        "MOT_SPIN_ARM": 0.01,
        "MOT_SPIN_MIN": 0.02,
        "MOT_SPIN_MAX": 1,
        "MOT_BAT_VOLT_MAX": 0,  # no compensation of the battery's voltage
        "MOT_THST_HOVER": _hover(vehicle, 0.125, 0.6875),
    }
    # u adds u / 2 to, or subtracts it from, the output of each motor
    torque = 0.5 * np.abs(_levers(vehicle)).T @ np.array(vehicle.max_rotor_thrust)
    loops = {"RLL": _ARDUPILOT_TILT, "PIT": _ARDUPILOT_TILT, "YAW": _ARDUPILOT_YAW}
    for (axis, loop), plant in zip(loops.items(), _plants(vehicle, torque), strict=True):
        p, i, d, attitude = _gains(loop, plant)
        rate = f"ATC_RAT_{axis}"
        parameters |= {
            f"{rate}_P": p,
            f"{rate}_I": i,
            f"{rate}_D": d,
            f"ATC_ANG_{axis}_P": attitude,
        }
    return _rounded(parameters)


def px4_parameters(vehicle: VehicleParameters, own_spins: bool = False) -> dict[str, float]:
    """The parameters with which PX4 flies a vehicle, by name; as `ardupilot_parameters`."""
    vehicle, motor_map = _as_simulated(vehicle, "px4", own_spins)
    hover = _hover(vehicle, 0.1, 0.8)
    parameters: dict[str, float] = {
        "THR_MDL_FAC": 0,  # an output is a fraction of the maximum thrust
        "MPC_THR_HOVER": hover,
        "MPC_THR_MIN": min(0.12, 0.5 * hover),
        "CA_ROTOR_COUNT": len(vehicle.rotors),
    }
    levers = _levers(vehicle)
    for rotor, motor in sorted(enumerate(motor_map.order), key=lambda pair: pair[1]):
        roll, pitch, yaw = levers[rotor]
        parameters |= {
            f"CA_ROTOR{motor}_PX": -pitch,
            f"CA_ROTOR{motor}_PY": -roll,
            f"CA_ROTOR{motor}_KM": -yaw,  # positive: counter-clockwise from above
        }
    plants = _plants(vehicle, _px4_torque(vehicle))
    loops = {"ROLL": _PX4_TILT, "PITCH": _PX4_TILT, "YAW": _PX4_YAW}
    for (axis, loop), plant in zip(loops.items(), plants, strict=True):
        p, i, d, attitude = _gains(loop, plant)
        rate = f"MC_{axis}RATE"
        parameters |= {f"{rate}_P": p, f"{rate}_I": i, f"{rate}_D": d, f"MC_{axis}_P": attitude}
    return _rounded(parameters)


def _as_simulated(
    vehicle: VehicleParameters, program: str, own_spins: bool
) -> tuple[VehicleParameters, MotorMap]:
    """The vehicle with the spins that are simulated, and its match with the program's motors."""
    if not np.all(_levers(vehicle)[:, 2] != 0.0):
        raise ValueError(
            f"vehicle {vehicle.name!r}, rotor.torque_coefficient: expected > 0 on all rotors, "
            "without which it has no control of yaw; set it"
        )
    layout = QUAD_X[program]
    if match(vehicle, layout).reversed and not own_spins:
        vehicle = with_reversed_spins(vehicle)
    return vehicle, match(vehicle, layout)


def _rounded(parameters: dict[str, float]) -> dict[str, float]:
    """The parameters with four digits."""
    return {name: float(f"{value:.4g}") for name, value in parameters.items()}


def _hover(vehicle: VehicleParameters, low: float, high: float) -> float:
    """The output of hover, within the range of the parameter."""
    return min(max(vehicle.weight / vehicle.max_thrust, low), high)


def _levers(vehicle: VehicleParameters) -> Array:
    """(N, 3) m, torque about x, y, z over the thrust of each rotor."""
    matrix = Allocation(vehicle).matrix
    return np.asarray((matrix[:3] / matrix[3]).T)


def _px4_torque(vehicle: VehicleParameters) -> Array:
    """(3,) N m, at u = 1 with the mixer of PX4.

    Its columns are those of the inverse of the effectiveness of the motors, divided by one scale
    for roll and pitch and by one for yaw (ControlAllocationPseudoInverse).
    """
    levers = _levers(vehicle)
    mixer = np.linalg.pinv(np.column_stack([levers, np.ones(len(levers))]).T)
    tilt = np.sqrt(np.sum(mixer[:, :2] ** 2, axis=0) / (0.5 * len(levers))).max()
    thrust = float(np.mean(vehicle.max_rotor_thrust))
    return thrust / np.array([tilt, tilt, mixer[:, 2].max()])


@dataclass(frozen=True)
class _Plant:
    """Equation (1) about one axis."""

    authority: float
    lag: float
    delay: float
    zero: float

    def response(self, s: Complex) -> Complex:
        """Body rate over u."""
        rate = self.authority * np.exp(-self.delay * s) / (s * (1.0 + self.lag * s))
        return np.asarray(rate * (1.0 + self.zero * s))


def _plants(vehicle: VehicleParameters, torque: Array) -> list[_Plant]:
    """Equation (1) about x, y and z. torque: (3,) N m at u = 1."""
    inertia = np.array(vehicle.body.inertia, dtype=np.float64)
    moments = inertia if inertia.ndim == 1 else np.diag(inertia)
    names = ("time_constant_up", "time_constant_down", "speed_max")
    up, down, fastest = (float(np.mean(vehicle.motor_values(name))) for name in names)
    lag, delay = 0.5 * (up + down), vehicle.motor.command_delay
    speed = math.sqrt(vehicle.weight / vehicle.max_thrust) * fastest
    inertias = np.array([rotor.inertia for rotor in vehicle.rotors])
    zeros = inertias / (2.0 * np.abs(Allocation(vehicle).matrix[2]) * speed)
    authority = torque / moments
    return [
        _Plant(float(a), lag, delay, zero)
        for a, zero in zip(authority, (0.0, 0.0, float(zeros.mean())), strict=True)
    ]


def _gains(loop: _RateLoop, plant: _Plant) -> tuple[float, float, float, float]:
    """P, I and D of the rate loop, and the gain of the attitude loop around it [1/s]."""
    s: Complex = np.asarray(1j * _FREQUENCIES, dtype=np.complex128)
    response = np.asarray(loop.response(s, plant.lag) * plant.response(s))
    phase = np.unwrap(np.angle(response))
    has_margin = phase >= _PHASE_MARGIN - math.pi
    if loop.torque is not None:
        has_margin &= _corner(loop.torque) >= _FREQUENCIES
    k = int(np.flatnonzero(has_margin)[-1]) if has_margin.any() else int(np.argmax(phase))
    p = 1.0 / float(np.abs(response[k]))
    d = p * plant.lag if loop.derivative is not None else 0.0
    return p, p * loop.integral, d, min(loop.attitude, float(_FREQUENCIES[k]) / _SEPARATION)


def _corner(frequency: float) -> float:
    """rad/s, from Hz."""
    return 2.0 * math.pi * frequency
