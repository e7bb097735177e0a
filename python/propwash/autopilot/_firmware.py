"""Rate controllers of PX4, ArduPilot and Betaflight: conventions, and the loop with a vehicle.

Each program computes on each axis a torque u without unit from the commanded rate r and the rate y,
u = P p + I i + D d, with the signals p, i, d of its filters, and adds it to the outputs of the
motors with fixed factors. The torque at u = 1 depends on the vehicle. Over the moment of inertia it
is the authority [rad/s^2], the factor between the gains of `propwash.tune`, from a rate to an
angular acceleration, and those of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import control, tune
from propwash.autopilot._motors import QUAD_X, MotorMap, match, with_reversed_spins
from propwash.tune import Controller, DifferenceEquations, Gains
from propwash.vehicle import VehicleParameters
from propwash.vehicle import files as vehicles

Array = NDArray[np.float64]
ProgramName = Literal["betaflight", "px4", "ardupilot"]
_SEPARATION = 3.0
"""Crossover of a rate loop over the gain of the attitude loop around it, at least."""


@dataclass(frozen=True)
class Firmware:
    """The conventions of a program. Pairs are those of roll and pitch, and of yaw."""

    rate: float
    """Hz, of the rate controller."""
    controller: Callable[[DifferenceEquations, bool], Controller]
    """The filters, with default or exported parameters; the flag is true for yaw."""
    torque: Callable[[VehicleParameters], Array]
    """(3,) N m about x, y, z at u = 1."""
    units: tuple[float, float, float]
    """P, I and D as numbers of the program, per (u per rad/s, per rad, per rad/s^2)."""
    integral: tuple[float, float]
    """1/s, the default I / P, which is not exceeded."""
    attitude: tuple[float, float]
    """1/s, the default gain of the attitude loop, which is not exceeded."""
    yaw_integral: float = 1.0
    """Further factor of I in yaw."""
    integers: bool = False
    """Whether gains are integers; else they have four digits."""


def significant(values: ArrayLike) -> Array:
    """The values with four digits."""
    return np.asarray(np.vectorize(lambda x: float(f"{x:.4g}"), otypes=[float])(values))


def levers(vehicle: VehicleParameters) -> Array:
    """(N, 3) m, torque about x, y, z over the thrust of each rotor."""
    matrix = control.Allocation(vehicle).matrix
    return np.asarray((matrix[:3] / matrix[3]).T)


def _full_torque(vehicle: VehicleParameters) -> Array:
    """(3,) N m, if each rotor changes its thrust by its maximum thrust."""
    return np.asarray(np.abs(levers(vehicle)).T @ np.array(vehicle.max_rotor_thrust))


def _px4_torque(vehicle: VehicleParameters) -> Array:
    """With the mixer of PX4 (ControlAllocationPseudoInverse).

    Its columns are those of the inverse of the effectiveness of the motors, divided by one scale
    for roll and pitch and by one for yaw.
    """
    arms = levers(vehicle)
    mixer = np.linalg.pinv(np.column_stack([arms, np.ones(len(arms))]).T)
    tilt = np.sqrt(np.sum(mixer[:, :2] ** 2, axis=0) / (0.5 * len(arms))).max()
    thrust = float(np.mean(vehicle.max_rotor_thrust))
    return thrust / np.array([tilt, tilt, mixer[:, 2].max()])


def _mean(equations: DifferenceEquations) -> Array:
    """The reading of the gyroscope: the mean rate over the period."""
    return np.asarray(0.5 * (equations.rate + equations.before(equations.rate)))


def _px4(equations: DifferenceEquations, yaw: bool) -> Controller:
    """IMU_GYRO_CUTOFF, IMU_DGYRO_CUTOFF; in yaw MC_YAW_TQ_CUTOFF of the torque."""
    filtered = equations.low_pass_2(_mean(equations), 40.0)
    error = equations.command - filtered
    slope = equations.low_pass(equations.derivative(filtered), 30.0)
    signals = [error, equations.before(equations.integral(error)), -slope]
    if yaw:
        signals = [equations.low_pass(signal, 2.0) for signal in signals]
    return equations.controller(*signals)


def _ardupilot(equations: DifferenceEquations, yaw: bool) -> Controller:
    """INS_GYRO_FILTER, ATC_RAT_*_FLTT, _FLTD; in yaw _FLTE of the error."""
    filtered = equations.low_pass_2(equations.rate, 20.0)
    error = equations.low_pass(equations.command, 20.0) - filtered
    if yaw:
        error = equations.low_pass(error, 2.5)
    slope = equations.low_pass(equations.derivative(error), 20.0)
    return equations.controller(error, equations.integral(error), slope)


BETAFLIGHT_FILTERS = {
    "gyro_lpf1_dyn_min_hz": 0.0,
    "gyro_lpf1_static_hz": 250.0,
    "gyro_lpf2_static_hz": 500.0,
    "dterm_lpf1_dyn_min_hz": 0.0,
    "dterm_lpf1_static_hz": 75.0,
    "dterm_lpf2_static_hz": 150.0,
    "yaw_lowpass_hz": 100.0,
}
"""Hz: the defaults, without their change with the throttle (`dyn`), all of first order."""


def _betaflight(equations: DifferenceEquations, yaw: bool) -> Controller:
    _, gyro_1, gyro_2, _, slope_1, slope_2, yaw_p = BETAFLIGHT_FILTERS.values()
    filtered = equations.low_pass(equations.low_pass(_mean(equations), gyro_2), gyro_1)
    error = equations.command - filtered
    slope = equations.derivative(equations.low_pass(equations.low_pass(filtered, slope_1), slope_2))
    proportional = equations.low_pass(error, yaw_p) if yaw else error
    return equations.controller(proportional, equations.integral(error), -slope)


IDLE, SPIN_MIN = 0.055, 0.02
"""Outputs of the motors at zero throttle in Betaflight and ArduPilot, by the exported settings."""

_PER_DEGREE = 1000.0 * math.pi / 180.0

FIRMWARES: dict[ProgramName, Firmware] = {
    # PX4 1.16: HIL_SENSOR at 250 Hz
    "px4": Firmware(
        rate=250.0,
        controller=_px4,
        torque=_px4_torque,
        units=(1.0, 1.0, 1.0),
        integral=(4.0 / 3.0, 0.5),
        attitude=(6.5, 2.8),
    ),
    # ArduCopter 4.6: SCHED_LOOP_RATE 400 Hz; u adds u / 2 to the motors' outputs
    "ardupilot": Firmware(
        rate=400.0,
        controller=_ardupilot,
        torque=lambda vehicle: 0.5 * (1.0 - SPIN_MIN) * _full_torque(vehicle),
        units=(1.0, 1.0, 1.0),
        integral=(1.0, 0.1),
        attitude=(4.5, 4.5),
    ),
    # Betaflight 2026.12: the simulator build's loop; rates in deg/s, and 1000 u adds u
    "betaflight": Firmware(
        rate=1000.0,
        controller=_betaflight,
        torque=lambda vehicle: (1.0 - IDLE) * _full_torque(vehicle),
        units=(_PER_DEGREE / 0.032029, _PER_DEGREE / 0.244381, _PER_DEGREE / 0.000529),
        integral=(13.6, 33.9),
        attitude=(5.0, 5.0),
        yaw_integral=1.0 / 2.5,
        integers=True,
    ),
}
"""The table of conventions."""


class FirmwareLoop(tune.RateLoop):
    """The body-rate loop of a program around a vehicle.

    Margins, step responses and Bode plots are those of `tune.RateLoop`, with the rate, the filters
    and the PID structure of the program. Its gains are those of `design()`, in the units of
    `tune.Gains`, after rounding to those of the program.

    Args:
        program: "betaflight", "px4" or "ardupilot".
        vehicle: Name, TOML file or parameters; a quad-x.
        own_spins: Whether the rotors keep the spins of the vehicle (`Simulation`).
        bandwidth, phase_margin, gain_margin: As in `tune.design`.

    Raises:
        ValueError: For a vehicle that is no quad-x, or without torque about its rotors' axes.
        tune.TuneError: For margins and bandwidths out of reach.
    """

    filters = "the filters of the program"
    has_fixed_rate = True

    def __init__(
        self,
        program: ProgramName,
        vehicle: str | PathLike[str] | VehicleParameters,
        own_spins: bool = False,
        *,
        bandwidth: ArrayLike | None = None,
        phase_margin: float = 50.0,
        gain_margin: float = 6.0,
    ) -> None:
        self.program = program
        self.firmware = FIRMWARES[program]
        flown, self.motor_map = _as_simulated(vehicles.load(vehicle), program, own_spins)
        super().__init__(flown, 1.0 / self.firmware.rate)
        inertia = np.array(flown.body.inertia, dtype=np.float64)
        moments = inertia if inertia.ndim == 1 else np.diag(inertia)
        self.authority = self.firmware.torque(flown) / moments
        """(3,) rad/s^2 at u = 1."""
        self._factors = np.array(self.firmware.units) / self.authority[:, np.newaxis]
        self._factors[2, 1] *= self.firmware.yaw_integral
        self.numbers = np.zeros((3, 3))
        """P, I, D of roll, pitch and yaw in the units of the program, as it rounds them."""
        designed, _ = tune.design(self, bandwidth, phase_margin, gain_margin=gain_margin)
        exact = self._factors * [[g.proportional, g.integral, g.derivative] for g in designed]
        self.numbers = np.round(exact) if self.firmware.integers else significant(exact)

    def gains(self, axis: int) -> Gains:
        """Returns the program's gains for an axis (0, 1, 2)."""
        return Gains(*(self.numbers[axis] / self._factors[axis]).tolist())

    def controller(self, axis: int) -> Controller:
        """Returns the controller of an axis."""
        return self.firmware.controller(DifferenceEquations(self.dt), axis == 2)

    def default_bandwidths(self, limits: Array) -> Array:
        """Returns 0.9 times the limit of each axis, in yaw at most that of the others."""
        return np.asarray(0.9 * np.minimum(limits, limits[:2].min()))

    def ratios(self, axis: int, bandwidth: float, integral: float) -> tuple[float, Array]:
        """Returns K_I / K_P, at most the default, and values of K_D / K_P: none in yaw."""
        found, _ = super().ratios(axis, bandwidth, integral)
        derivative = np.linspace(0.0, 1.0, 11) * self.lag if axis < 2 else np.zeros(1)
        return min(found, self.firmware.integral[axis == 2]), derivative

    def attitude_gain(self, axis: int) -> float:
        """Returns the gain of the attitude loop around an axis [1/s]."""
        crossover = 2.0 * math.pi * self.margins(axis).crossover
        return min(self.firmware.attitude[axis == 2], crossover / _SEPARATION)


def _as_simulated(
    vehicle: VehicleParameters, program: ProgramName, own_spins: bool
) -> tuple[VehicleParameters, MotorMap]:
    """The vehicle with the spins that are simulated, and its match with the program's motors."""
    if not np.all(levers(vehicle)[:, 2] != 0.0):
        raise ValueError(
            f"vehicle {vehicle.name!r}, rotor.torque_coefficient: expected > 0 on all rotors, "
            "without which it has no control of yaw; set it"
        )
    layout = QUAD_X[program]
    if match(vehicle, layout).reversed and not own_spins:
        vehicle = with_reversed_spins(vehicle)
    return vehicle, match(vehicle, layout)
