"""
The compiled part of propwash; use it through the package.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing

__all__: list[str] = [
    "Allocation",
    "Car",
    "CarFleetFloat32",
    "CarFleetFloat64",
    "FleetFloat32",
    "FleetFloat64",
    "LowPass",
    "Multicopter",
    "Pid",
    "RateController",
    "RateThrust",
    "RotorSpeeds",
    "SpeedYawRate",
    "ThreadPool",
    "build_info",
    "car_parameter_table",
    "fma_peak",
    "integrate_step",
    "parameter_table",
    "validate_car",
    "validate_vehicle",
]

class RateThrust:
    """
    Body rates and thrust, for the rate controller.

    rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, what has no n is for all vehicles alike. Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __getstate__(
        self,
    ) -> tuple[
        numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ]: ...
    def __init__(self, rates: typing.Any, thrust: typing.Any) -> None: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    @property
    def rates(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        rad/s, read-only
        """
    @property
    def thrust(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        N, read-only
        """

class RotorSpeeds:
    """
    Rotor speeds, in the vehicle's order of rotors.

    speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed gives thrust along the rotor's axis. Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __getstate__(self) -> tuple[numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]]: ...
    def __init__(self, speeds: typing.Any) -> None: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    @property
    def speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        rad/s, read-only
        """

class SpeedYawRate:
    """
    Speed and yaw rate of a car.

    speed: number, m/s. yaw_rate: number, rad/s, counter-clockwise. Each also (T,) for a rollout; for a fleet of cars (n,) or (T, n). Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __getstate__(
        self,
    ) -> tuple[
        numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ]: ...
    def __init__(self, speed: typing.Any, yaw_rate: typing.Any) -> None: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    @property
    def speed(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        m/s, read-only
        """
    @property
    def yaw_rate(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        rad/s, read-only
        """

class LowPass:
    """
    See propwash.LowPass.
    """
    def __getstate__(self) -> tuple: ...
    def __init__(
        self,
        stiffness: typing.Any,
        damping: typing.Any,
        dt: typing.Any,
        exact: bool,
        channels: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def apply(self, signal: typing.Any) -> numpy.typing.NDArray[numpy.float64]: ...
    def derivative(self) -> numpy.typing.NDArray[numpy.float64]: ...
    def reset(self, value: typing.Any) -> None: ...

class Pid:
    """
    PID of one axis: derivative on the measurement, bounded integral.

    Guerra et al., arXiv 1905.11377, eq. (20). dt [s] is the time between updates; integral_bound bounds the integral of the error.
    Raises ValueError for a gain < 0 or a dt that is not > 0.
    """
    def __getstate__(self) -> tuple: ...
    def __init__(
        self,
        proportional: typing.Any,
        integral: typing.Any = 0.0,
        derivative: typing.Any = 0.0,
        integral_bound: typing.Any = 1000.0,
        dt: typing.Any = 0.0010416666666666667,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def reset(self) -> None:
        """
        Forgets the integral.
        """
    def update(self, error: typing.Any, measurement_derivative: typing.Any = 0.0) -> float:
        """
        Advances the integral and returns the output.
        """
    @property
    def integral(self) -> float:
        """
        of the error, unit of the error times s
        """

class Allocation:
    """
    See propwash.Allocation.
    """
    def __init__(self, parameters: typing.Any) -> None: ...
    def _attained(self, speeds: typing.Any) -> tuple: ...
    def allocate(
        self, torque: typing.Any, thrust: typing.Any
    ) -> numpy.typing.NDArray[numpy.float64]:
        """
        Rotor speeds (N,) [rad/s] for a torque (3,) [N m] and a thrust [N], each limited to the motors' range.
        """
    @property
    def inverse(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        (N, 4): the inverse, or the pseudo-inverse where there are not four rotors
        """
    @property
    def matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        (4, N): torque x, y, z [N m] and thrust [N] from the signed squares of rotor speeds [(rad/s)^2], eq. (23)
        """
    @property
    def rank(self) -> int:
        """
        of the matrix; 4: torque on every axis and thrust can be commanded
        """

class RateController:
    """
    See propwash.RateController.
    """
    def __init__(self, parameters: typing.Any, dt: typing.Any) -> None: ...
    def _update(self, gyroscope: typing.Any, command: typing.Any) -> tuple: ...
    def get_state(
        self,
    ) -> tuple[
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
    ]:
        """
        Everything that affects the future: filtered rates [rad/s], their derivative [rad/s^2] and the integrals [rad], each (3,).
        """
    def reset(self) -> None:
        """
        Forgets filter and integrals.
        """
    def set_state(self, snapshot: tuple) -> None:
        """
        Continues, bit for bit, from what get_state() gave.
        """
    @property
    def filtered_rates(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) rad/s, what the low-pass makes of the gyroscope's readings
        """
    @property
    def integral(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) rad, the bounded integrals of the rate error
        """

class Multicopter:
    """
    See propwash.Multicopter.
    """
    def __init__(
        self,
        parameters: typing.Any,
        integrator: str,
        seed: typing.SupportsInt | typing.SupportsIndex,
        id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
    ) -> None: ...
    def _derivative(self) -> tuple: ...
    def _imu(self) -> tuple: ...
    def _reset(self, fields: tuple) -> None: ...
    def _rollout(
        self, command: typing.Any, dt: typing.Any, steps: typing.Any, substeps: typing.Any
    ) -> dict: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple: ...
    def _trim(self) -> tuple: ...
    def get_state(self) -> bytes:
        """
        Everything that affects the future, as bytes: state, filters, integrators, biases, delays, time and noise counter.
        """
    def set_state(self, snapshot: bytes) -> None:
        """
        Continues, bit for bit, from what get_state() gave for the same vehicle, seed and id.

        Raises ValueError for a snapshot of another kind of vehicle; nothing changes then.
        """
    def step(
        self, command: typing.Any, dt: typing.Any = 0.0010416666666666667, steps: typing.Any = 1
    ) -> None:
        """
        Advances `steps` steps of dt [s] under a held RateThrust or RotorSpeeds.

        With RateThrust the rate controller runs at every step, on the gyroscope reading of the step before; rotor speeds are limited to the motors' range.
        Raises ValueError or TypeError for a command, dt or steps that cannot be; the state is then unchanged. Warns where dt is too long for the motors. Ctrl-C stops between steps.
        """
    @property
    def accelerometer_bias(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) m/s^2, sensor axes
        """
    @property
    def battery_voltage(self) -> float:
        """
        V; without effect on a vehicle whose battery.nominal_voltage is 0
        """
    @battery_voltage.setter
    def battery_voltage(self, arg1: typing.Any) -> None: ...
    @property
    def gyroscope_bias(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) rad/s, sensor axes
        """
    @property
    def rotor_command(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (N,) rad/s, what the motors were driven to in the last step
        """
    @property
    def rotors(self) -> int:
        """
        number of rotors
        """
    @property
    def steps(self) -> int:
        """
        number of steps since reset
        """
    @property
    def time(self) -> float:
        """
        s, since reset
        """
    @property
    def wind(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) m/s, velocity of the air, world frame; kept by reset()
        """
    @wind.setter
    def wind(self, arg1: typing.Any) -> None: ...

class Car:
    """
    See propwash.Car.
    """
    def __init__(
        self,
        parameters: typing.Any,
        integrator: str,
        seed: typing.SupportsInt | typing.SupportsIndex,
        id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
    ) -> None: ...
    def _reset(self, fields: tuple) -> None: ...
    def _rollout(
        self, command: typing.Any, dt: typing.Any, steps: typing.Any, substeps: typing.Any
    ) -> dict: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple[float, float, float]: ...
    def get_state(self) -> tuple:
        """
        Everything that affects the future: (x, y, heading, time, steps).
        """
    def set_state(self, snapshot: tuple) -> None:
        """
        Continues, bit for bit, from what get_state() gave.
        """
    def step(
        self, command: typing.Any, dt: typing.Any = 0.0010416666666666667, steps: typing.Any = 1
    ) -> None:
        """
        Advances `steps` steps of dt [s] under a held SpeedYawRate, limited to the car's range.

        Raises ValueError or TypeError for a command, dt or steps that cannot be; the state is then unchanged.
        """
    @property
    def steps(self) -> int:
        """
        number of steps since reset
        """
    @property
    def time(self) -> float:
        """
        s, since reset
        """

class ThreadPool:
    """
    See propwash.ThreadPool.
    """
    def __init__(self, threads: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def threads(self) -> int:
        """
        the caller's thread included
        """

class FleetFloat32:
    """
    See propwash.Fleet.
    """
    def __init__(
        self,
        parameters: typing.Any,
        size: typing.SupportsInt | typing.SupportsIndex,
        integrator: str,
        dt: typing.SupportsFloat | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
        first_id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
        floor: typing.SupportsFloat | typing.SupportsIndex,
        turbulence: tuple,
        max_action_delay: typing.SupportsInt | typing.SupportsIndex,
        pool: ThreadPool | None,
        reproducible: bool,
    ) -> None: ...
    def get_state(self) -> bytes: ...
    def imu(self) -> tuple: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def place(self, parts: tuple, mask: typing.Any) -> None: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def rollout(
        self,
        command: typing.Any,
        steps: typing.Any,
        substeps: typing.Any,
        record: collections.abc.Sequence[str],
    ) -> dict: ...
    def set_action_delay(self, steps: numpy.typing.NDArray[numpy.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: numpy.typing.NDArray[numpy.float32]) -> None: ...
    def set_parameters(self, values: dict) -> None: ...
    def set_state(self, snapshot: bytes) -> None: ...
    def set_wind(self, wind: numpy.typing.NDArray[numpy.float32]) -> None: ...
    def step(self, command: typing.Any, substeps: typing.Any) -> None: ...
    @property
    def accelerometer_bias(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s^2, sensor axes
        """
    @property
    def attitude(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 4) unit quaternions, scalar first
        """
    @property
    def body_rates(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) rad/s, body frame
        """
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def contact(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) whether the floor was touched in the last call
        """
    @property
    def diverged(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) whether a number of the state is not finite
        """
    @property
    def gyroscope_bias(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) rad/s, sensor axes
        """
    @property
    def isa(self) -> str: ...
    @property
    def position(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m, world frame
        """
    @property
    def rotor_command(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s, what the motors were driven to in the last step
        """
    @property
    def rotor_speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s
        """
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) s, since each vehicle's reset
        """
    @property
    def velocity(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s, world frame
        """
    @property
    def wind(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s, mean wind, world frame
        """

class FleetFloat64:
    """
    See propwash.Fleet.
    """
    def __init__(
        self,
        parameters: typing.Any,
        size: typing.SupportsInt | typing.SupportsIndex,
        integrator: str,
        dt: typing.SupportsFloat | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
        first_id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
        floor: typing.SupportsFloat | typing.SupportsIndex,
        turbulence: tuple,
        max_action_delay: typing.SupportsInt | typing.SupportsIndex,
        pool: ThreadPool | None,
        reproducible: bool,
    ) -> None: ...
    def get_state(self) -> bytes: ...
    def imu(self) -> tuple: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def place(self, parts: tuple, mask: typing.Any) -> None: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def rollout(
        self,
        command: typing.Any,
        steps: typing.Any,
        substeps: typing.Any,
        record: collections.abc.Sequence[str],
    ) -> dict: ...
    def set_action_delay(self, steps: numpy.typing.NDArray[numpy.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def set_parameters(self, values: dict) -> None: ...
    def set_state(self, snapshot: bytes) -> None: ...
    def set_wind(self, wind: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def step(self, command: typing.Any, substeps: typing.Any) -> None: ...
    @property
    def accelerometer_bias(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s^2, sensor axes
        """
    @property
    def attitude(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 4) unit quaternions, scalar first
        """
    @property
    def body_rates(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) rad/s, body frame
        """
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def contact(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) whether the floor was touched in the last call
        """
    @property
    def diverged(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) whether a number of the state is not finite
        """
    @property
    def gyroscope_bias(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) rad/s, sensor axes
        """
    @property
    def isa(self) -> str: ...
    @property
    def position(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m, world frame
        """
    @property
    def rotor_command(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s, what the motors were driven to in the last step
        """
    @property
    def rotor_speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s
        """
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n,) s, since each vehicle's reset
        """
    @property
    def velocity(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s, world frame
        """
    @property
    def wind(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) m/s, mean wind, world frame
        """

class CarFleetFloat32:
    """
    See propwash.CarFleet.
    """
    def __init__(
        self,
        parameters: typing.Any,
        size: typing.SupportsInt | typing.SupportsIndex,
        integrator: str,
        dt: typing.SupportsFloat | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
        first_id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
        pool: ThreadPool | None,
    ) -> None: ...
    def get_state(self) -> bytes: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def place(self, parts: tuple, mask: typing.Any) -> None: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def rollout(self, command: typing.Any, steps: typing.Any, substeps: typing.Any) -> dict: ...
    def set_parameters(
        self,
        values: collections.abc.Mapping[
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        ],
    ) -> None: ...
    def set_state(self, snapshot: bytes) -> None: ...
    def step(self, command: typing.Any, substeps: typing.Any) -> None: ...
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def diverged(self) -> numpy.typing.NDArray[numpy.bool]:
        """
        (n,) whether a number of the state is not finite
        """
    @property
    def heading(self) -> numpy.typing.NDArray[numpy.float32]:
        """
        (n,) rad, from world x, not wrapped
        """
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float32]:
        """
        (n, 2) m, world frame
        """
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (n,) s, since each vehicle's reset
        """

class CarFleetFloat64:
    """
    See propwash.CarFleet.
    """
    def __init__(
        self,
        parameters: typing.Any,
        size: typing.SupportsInt | typing.SupportsIndex,
        integrator: str,
        dt: typing.SupportsFloat | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
        first_id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
        pool: ThreadPool | None,
    ) -> None: ...
    def get_state(self) -> bytes: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def place(self, parts: tuple, mask: typing.Any) -> None: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def rollout(self, command: typing.Any, steps: typing.Any, substeps: typing.Any) -> dict: ...
    def set_parameters(
        self,
        values: collections.abc.Mapping[
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        ],
    ) -> None: ...
    def set_state(self, snapshot: bytes) -> None: ...
    def step(self, command: typing.Any, substeps: typing.Any) -> None: ...
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def diverged(self) -> numpy.typing.NDArray[numpy.bool]:
        """
        (n,) whether a number of the state is not finite
        """
    @property
    def heading(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (n,) rad, from world x, not wrapped
        """
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (n, 2) m, world frame
        """
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (n,) s, since each vehicle's reset
        """

def build_info() -> dict: ...
def car_parameter_table(parameters: typing.Any) -> list: ...
def fma_peak(dtype: str) -> float:
    """
    GFLOP/s of one core in multiply-adds, measured for about a tenth of a second.
    """

def integrate_step(
    derivative: collections.abc.Callable, state: typing.Any, dt: typing.Any, method: str
) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
    """
    One step of dt [s] from a state (n,) with derivative(state) -> (n,); method 'euler' or 'rk4'.
    """

def parameter_table(parameters: typing.Any) -> list: ...
def validate_car(parameters: typing.Any) -> None: ...
def validate_vehicle(parameters: typing.Any) -> None: ...

__version__: str = "0.1.0"
