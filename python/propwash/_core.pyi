"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class Command:
    """Base class of all commands."""
    def __reduce__(self) -> tuple: ...
    def __repr__(self) -> str: ...

class RateThrust(Command):
    """Body rates and thrust, for the rate controller.

    rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, an argument without the axis n applies to all vehicles. float32 arrays stay float32.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(self, rates: Any, thrust: Any) -> None: ...
    @property
    def rates(self) -> NDArray[Any]:
        """rad/s, read-only"""
    @property
    def thrust(self) -> NDArray[Any]:
        """N, read-only"""

class RotorSpeeds(Command):
    """Rotor speeds, in the vehicle's order of rotors.

    speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed gives thrust along the rotor's axis. float32 arrays stay float32.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(self, speeds: Any) -> None: ...
    @property
    def speeds(self) -> NDArray[Any]:
        """rad/s, read-only"""

class SpeedYawRate(Command):
    """Speed and yaw rate of a car.

    speed: number, m/s. yaw_rate: number, rad/s, counter-clockwise. Each also (T,) for a rollout. float32 arrays stay float32.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(self, speed: Any, yaw_rate: Any) -> None: ...
    @property
    def speed(self) -> NDArray[Any]:
        """m/s, read-only"""
    @property
    def yaw_rate(self) -> NDArray[Any]:
        """rad/s, read-only"""

class AttitudeThrust(Command):
    """Attitude and thrust, for the attitude loop.

    attitude: (4,) unit quaternion, scalar first, body to world; thrust: number, N, along body z. With yaw_rate, rad/s, the attitude specifies only the direction of the thrust axis; the vehicle rotates about that axis at this rate. As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.
    Raises ValueError for a wrong shape, non-finite numbers or a quaternion that is not of unit length.
    """
    def __init__(self, attitude: Any, thrust: Any, yaw_rate: Any = None) -> None: ...
    @property
    def attitude(self) -> NDArray[Any]:
        """1, read-only"""
    @property
    def thrust(self) -> NDArray[Any]:
        """N, read-only"""
    @property
    def yaw_rate(self) -> Any:
        """rad/s, read-only"""

class VelocityCommand(Command):
    """A velocity, for the velocity loop.

    velocity: (3,) m/s, world frame. yaw: rad, heading of body x; or yaw_rate: rad/s. With neither, the yaw rate is 0. As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(self, velocity: Any, yaw: Any = None, yaw_rate: Any = None) -> None: ...
    @property
    def velocity(self) -> NDArray[Any]:
        """m/s, read-only"""
    @property
    def yaw(self) -> Any:
        """rad, read-only"""
    @property
    def yaw_rate(self) -> Any:
        """rad/s, read-only"""

class PositionCommand(Command):
    """A position, for the position loop.

    position: (3,) m, world frame. yaw: rad, heading of body x; None: the yaw rate is 0. As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(self, position: Any, yaw: Any = None) -> None: ...
    @property
    def position(self) -> NDArray[Any]:
        """m, read-only"""
    @property
    def yaw(self) -> Any:
        """rad, read-only"""

class TrajectoryCommand(Command):
    """A point of a trajectory, and the controller that tracks it.

    position, velocity, acceleration, jerk, snap: (3,) m, m/s, … m/s^4, world frame. yaw, yaw_rate, yaw_acceleration: rad, rad/s, rad/s^2, of the heading of body x. None means zero. controller: 'geometric', 'backstepping' or 'indi'. As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.
    Raises ValueError for a wrong shape or non-finite numbers.
    """
    def __init__(
        self,
        position: Any,
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
        snap: Any = None,
        yaw: Any = None,
        yaw_rate: Any = None,
        yaw_acceleration: Any = None,
        controller: str = "geometric",
    ) -> None: ...
    @property
    def acceleration(self) -> Any:
        """m/s^2, read-only"""
    @property
    def controller(self) -> str:
        """name of the controller"""
    @property
    def jerk(self) -> Any:
        """m/s^3, read-only"""
    @property
    def position(self) -> NDArray[Any]:
        """m, read-only"""
    @property
    def snap(self) -> Any:
        """m/s^4, read-only"""
    @property
    def velocity(self) -> Any:
        """m/s, read-only"""
    @property
    def yaw(self) -> Any:
        """rad, read-only"""
    @property
    def yaw_acceleration(self) -> Any:
        """rad/s^2, read-only"""
    @property
    def yaw_rate(self) -> Any:
        """rad/s, read-only"""

class LowPass:
    """See propwash.LowPass."""
    def __getstate__(self) -> tuple: ...
    def __init__(
        self, stiffness: Any, damping: Any, dt: Any, exact: bool, channels: Int
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def apply(self, signal: Any) -> NDArray[np.float64]: ...
    def derivative(self) -> NDArray[np.float64]: ...
    def reset(self, value: Any) -> None: ...

class Pid:
    """PID of one axis: derivative on the measurement, bounded integral.

    Guerra et al., arXiv 1905.11377, eq. (20). dt [s] is the time between updates; integral_bound bounds the integral of the error.
    Raises ValueError for a gain < 0 or a dt that is not > 0.
    """
    def __getstate__(self) -> tuple: ...
    def __init__(
        self,
        proportional: Any,
        integral: Any = 0.0,
        derivative: Any = 0.0,
        integral_bound: Any = 1000.0,
        dt: Any = 0.0010416666666666667,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def reset(self) -> None:
        """Sets the integral to zero."""
    def update(self, error: Any, measurement_derivative: Any = 0.0) -> float:
        """Advances the integral and returns the output."""
    @property
    def integral(self) -> float:
        """integral of the error, unit of the error times s"""

class Allocation:
    """See propwash.Allocation."""
    def __init__(self, parameters: Any) -> None: ...
    def _attained(self, speeds: Any) -> tuple: ...
    def allocate(self, torque: Any, thrust: Any, prioritised: bool = False) -> NDArray[np.float64]:
        """Returns rotor speeds (N,) [rad/s] for a torque (3,) [N m] and a thrust [N]. By default each rotor is clipped to its motor's range, as in the papers. With prioritised, a wrench outside that range is reduced: torque about z first, then thrust, then torque about x and y."""
    @property
    def inverse(self) -> NDArray[np.float64]:
        """(N, 4): the inverse, or the pseudo-inverse if the vehicle does not have four rotors"""
    @property
    def matrix(self) -> NDArray[np.float64]:
        """(4, N): torque x, y, z [N m] and thrust [N] from the signed squares of rotor speeds [(rad/s)^2], eq. (23)"""
    @property
    def rank(self) -> int:
        """rank of the matrix; 4: torque and thrust can be commanded independently"""

class RateController:
    """See propwash.RateController."""
    def __init__(self, parameters: Any, dt: Any) -> None: ...
    def _update(self, gyroscope: Any, command: Any) -> tuple: ...
    def reset(self) -> None:
        """Resets the filter and the integrals."""
    def restore(self, snapshot: tuple) -> None:
        """Restores the state that snapshot() returned; results are then bitwise equal."""
    def snapshot(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns the complete state: filtered rates [rad/s], their derivative [rad/s^2] and the integrals [rad], each (3,)."""
    @property
    def filtered_rates(self) -> NDArray[np.float64]:
        """(3,) rad/s, low-pass filtered gyroscope readings"""
    @property
    def integral(self) -> NDArray[np.float64]:
        """(3,) rad, the bounded integrals of the rate error"""

class Multicopter:
    """See propwash.Multicopter."""
    def __init__(
        self,
        parameters: Any,
        integrator: str,
        seed: Int,
        id: Int,
        noise: bool,
        control_vehicle: Any,
    ) -> None: ...
    def _derivative(self) -> tuple: ...
    def _derivative_of(self, fields: tuple, command: Any) -> tuple: ...
    def _imu(self) -> tuple: ...
    def _outer_loops(self) -> dict: ...
    def _reset(self, fields: tuple, seed: Int | None) -> None: ...
    def _rollout(self, command: Any, dt: Any, steps: Any, substeps: Any) -> dict: ...
    def _set_outer_loops(self, values: dict) -> None: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple: ...
    def _steady(self, velocity: Any, climb: Any, yaw_rate: Any) -> tuple: ...
    def _trim(self) -> tuple: ...
    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot() of the same vehicle; results are then bitwise equal.

        Raises ValueError for a snapshot of another kind of vehicle; the state is then unchanged.
        """
    def set_external_wrench(self, force_W: Any, torque_B: Any = (0.0, 0.0, 0.0)) -> None:
        """Applies a force [N, world frame] at the centre of mass and a torque [N m, body frame] in addition to those of the model until the next call; kept by reset().

        For example a payload, a tether, or contact in a host simulator. The accelerometer measures them.
        Raises ValueError for anything but 3 finite numbers each; the wrench is then unchanged.
        """
    def snapshot(self) -> bytes:
        """Returns the complete state as bytes: state, filters, integrators, biases, delays, time, and key and counter of the noise."""
    def step(
        self, command: Any, dt: Any = 0.0010416666666666667, *, substeps: Any = 1, state: Any = None
    ) -> None:
        """Advances by `substeps` steps of dt [s] under a held command. dt may differ between calls; a Fleet has a fixed dt.

        command: a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, TrajectoryCommand, or one row of a trajectories.Reference, which the geometric controller tracks. With RateThrust the rate controller runs at every step, with the gyroscope reading of the previous step; rotor speeds are limited to the motors' range.
        state: the position, velocity and attitude on which the outer loops compute, held during the substeps: a MotionEstimate or any object with these attributes; None: the true state. Body rates and specific force are those of the IMU. Not for RateThrust and RotorSpeeds.
        Raises ValueError or TypeError for invalid arguments; the state is then unchanged. Warns if dt is too long for the motor dynamics. Ctrl-C interrupts between steps.
        """
    @property
    def accelerometer_bias(self) -> NDArray[np.float64]:
        """(3,) m/s^2, sensor axes"""
    @property
    def battery_current(self) -> float:
        """A, in the last step; 0 without a battery circuit"""
    @property
    def battery_voltage(self) -> float:
        """V; has no effect if battery.nominal_voltage is 0, and cannot be set if the vehicle has a battery circuit, which computes it"""
    @battery_voltage.setter
    def battery_voltage(self, arg1: Any) -> None: ...
    @property
    def external_force(self) -> NDArray[np.float64]:
        """(3,) N, world frame, set by set_external_wrench()"""
    @property
    def external_torque(self) -> NDArray[np.float64]:
        """(3,) N m, body frame, set by set_external_wrench()"""
    @property
    def gyroscope_bias(self) -> NDArray[np.float64]:
        """(3,) rad/s, sensor axes"""
    @property
    def rotor_command(self) -> NDArray[np.float64]:
        """(N,) rad/s, command of the motors in the last step"""
    @property
    def rotor_effectiveness(self) -> NDArray[np.float64]:
        """(N,) factors on the thrust and aerodynamic torque of each rotor, unknown to the controllers: 1 is nominal, 0 a lost propeller; kept by reset()"""
    @rotor_effectiveness.setter
    def rotor_effectiveness(self, arg1: Any) -> None: ...
    @property
    def rotors(self) -> int:
        """number of rotors"""
    @property
    def seed(self) -> int:
        """seed of all noise"""
    @property
    def state_of_charge(self) -> float:
        """Remaining fraction of the battery's capacity, 1 without a battery circuit. Setting it replaces the battery by one at rest; reset() charges it to 1"""
    @state_of_charge.setter
    def state_of_charge(self, arg1: Any) -> None: ...
    @property
    def steps(self) -> int:
        """steps since construction or the last reset with a seed; counter of the noise generator"""
    @property
    def time(self) -> float:
        """s, since reset"""
    @property
    def wind(self) -> NDArray[np.float64]:
        """(3,) m/s, velocity of the air, world frame; kept by reset()"""
    @wind.setter
    def wind(self, arg1: Any) -> None: ...

class Imu:
    """See propwash.Imu."""
    def __init__(self, parameters: Any, seed: Int, id: Int, noise: bool) -> None: ...
    def _read(
        self, specific_force: Any, rates: Any, angular_acceleration: Any, dt: Any
    ) -> tuple: ...
    def _reading(self) -> tuple: ...
    def _reset(self, seed: Int | None) -> None: ...
    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot(), including its seed and id; readings are then bitwise equal.

        Raises ValueError for other bytes and for a snapshot of a sensor with other parameters or another setting of noise; the sensor is then unchanged.
        """
    def snapshot(self) -> bytes:
        """Returns the complete state as bytes: biases, last reading, time and noise counter."""
    @property
    def accelerometer_bias(self) -> NDArray[np.float64]:
        """(3,) m/s^2, sensor axes"""
    @property
    def gyroscope_bias(self) -> NDArray[np.float64]:
        """(3,) rad/s, sensor axes"""
    @property
    def seed(self) -> int:
        """seed of all noise"""
    @property
    def steps(self) -> int:
        """steps since construction or the last reset with a seed; counter of the noise generator"""
    @property
    def time(self) -> float:
        """s, since reset"""

class Car:
    """See propwash.Car."""
    def __init__(
        self, parameters: Any, integrator: str, seed: Int, id: Int, noise: bool
    ) -> None: ...
    def _reset(self, fields: tuple, seed: Int | None) -> None: ...
    def _rollout(self, command: Any, dt: Any, steps: Any, substeps: Any) -> dict: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple[float, float, float]: ...
    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot() of a car with the same parameters; results are then bitwise equal.

        Raises ValueError for other bytes; the car is then unchanged.
        """
    def snapshot(self) -> bytes:
        """Returns the complete state as bytes: state, time, and key and counter of the noise."""
    def step(self, command: Any, dt: Any = 0.0010416666666666667, *, substeps: Any = 1) -> None:
        """Advances by `substeps` steps of dt [s] under a held SpeedYawRate, limited to the car's range.

        Raises ValueError or TypeError for invalid arguments; the state is then unchanged.
        """
    @property
    def seed(self) -> int:
        """seed of all noise"""
    @property
    def steps(self) -> int:
        """steps since construction or the last reset with a seed; counter of the noise generator"""
    @property
    def time(self) -> float:
        """s, since reset"""

class ThreadPool:
    """See propwash.ThreadPool."""
    def __init__(self, threads: Int) -> None: ...
    @property
    def threads(self) -> int:
        """number of threads, including the caller's"""

class FleetSampler:
    """Base class: the fleet calls sample(step) of a subclass when its steps reach next_step."""
    def __init__(self) -> None: ...
    @property
    def next_step(self) -> int:
        """step count of the next sample"""
    @next_step.setter
    def next_step(self, arg0: Int) -> None: ...

class FleetFloat32:
    """See propwash.Fleet."""
    def __enter__(self) -> None:
        """Locks the fleet for this thread until __exit__."""
    def __exit__(self, *args: Any) -> None: ...
    def __init__(
        self, parameters: Any, size: Int, options: dict, pool: ThreadPool | None
    ) -> None: ...
    def attach(self, sampler: FleetSampler) -> None: ...
    def detach(self, sampler: FleetSampler) -> None: ...
    def imu(self) -> tuple: ...
    def kinematics(self, bound: Float) -> tuple: ...
    def outer_loops(self) -> dict: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(self, field: Int) -> NDArray[np.float64]: ...
    def read(self, field: str) -> NDArray[Any]: ...
    def reset(self, parts: tuple, mask: Any, seed: Any) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def rollout(
        self, command: Any, steps: Any, substeps: Any, record: Sequence[str], after: Any = None
    ) -> dict: ...
    def set_action_delay(self, steps: NDArray[np.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: NDArray[np.float32]) -> None: ...
    def set_external_wrench(
        self, force_W: NDArray[np.float32], torque_B: NDArray[np.float32]
    ) -> None: ...
    def set_outer_loops(self, values: dict) -> None: ...
    def set_parameters(
        self, values: Mapping[Int, ArrayLike], some: Sequence[Int] | None = None
    ) -> None: ...
    def set_rotor_effectiveness(self, factors: NDArray[np.float32]) -> None: ...
    def set_state(self, parts: tuple, mask: Any) -> None: ...
    def set_state_of_charge(self, state_of_charge: NDArray[np.float32]) -> None: ...
    def set_wind(self, wind: NDArray[np.float32]) -> None: ...
    def snapshot(self) -> bytes: ...
    def step(self, command: Any, substeps: Any, estimate: Any = None) -> None: ...
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def first_id(self) -> int: ...
    @property
    def isa(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> NDArray[Any]: ...

class FleetFloat64:
    """See propwash.Fleet."""
    def __enter__(self) -> None:
        """Locks the fleet for this thread until __exit__."""
    def __exit__(self, *args: Any) -> None: ...
    def __init__(
        self, parameters: Any, size: Int, options: dict, pool: ThreadPool | None
    ) -> None: ...
    def attach(self, sampler: FleetSampler) -> None: ...
    def detach(self, sampler: FleetSampler) -> None: ...
    def imu(self) -> tuple: ...
    def kinematics(self, bound: Float) -> tuple: ...
    def outer_loops(self) -> dict: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(self, field: Int) -> NDArray[np.float64]: ...
    def read(self, field: str) -> NDArray[Any]: ...
    def reset(self, parts: tuple, mask: Any, seed: Any) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def rollout(
        self, command: Any, steps: Any, substeps: Any, record: Sequence[str], after: Any = None
    ) -> dict: ...
    def set_action_delay(self, steps: NDArray[np.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: NDArray[np.float64]) -> None: ...
    def set_external_wrench(
        self, force_W: NDArray[np.float64], torque_B: NDArray[np.float64]
    ) -> None: ...
    def set_outer_loops(self, values: dict) -> None: ...
    def set_parameters(
        self, values: Mapping[Int, ArrayLike], some: Sequence[Int] | None = None
    ) -> None: ...
    def set_rotor_effectiveness(self, factors: NDArray[np.float64]) -> None: ...
    def set_state(self, parts: tuple, mask: Any) -> None: ...
    def set_state_of_charge(self, state_of_charge: NDArray[np.float64]) -> None: ...
    def set_wind(self, wind: NDArray[np.float64]) -> None: ...
    def snapshot(self) -> bytes: ...
    def step(self, command: Any, substeps: Any, estimate: Any = None) -> None: ...
    @property
    def bytes_per_vehicle(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def first_id(self) -> int: ...
    @property
    def isa(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> NDArray[Any]: ...

class GradientFloat32:
    """A flight that is recorded for its derivatives; see Fleet.vjp."""
    def __init__(
        self, fleet: FleetFloat32, command: Any, steps: Any, substeps: Any, requested: Sequence[Int]
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(self, cotangents: Mapping[str, ArrayLike], window: Int) -> dict: ...
    def push(self, tangents: Mapping[str, ArrayLike]) -> dict: ...
    def states(self) -> dict: ...

class GradientFloat64:
    """A flight that is recorded for its derivatives; see Fleet.vjp."""
    def __init__(
        self, fleet: FleetFloat64, command: Any, steps: Any, substeps: Any, requested: Sequence[Int]
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(self, cotangents: Mapping[str, ArrayLike], window: Int) -> dict: ...
    def push(self, tangents: Mapping[str, ArrayLike]) -> dict: ...
    def states(self) -> dict: ...

class FlightFloat32:
    """A flight in closed loop; see propwash.torch.Flight."""
    class Step:
        """A command of the flight."""

    def __init__(self, fleet: FleetFloat32, substeps: Any, requested: Sequence[Int]) -> None: ...
    def parts(self) -> dict: ...
    def pull(
        self,
        step: FlightFloat32.Step,
        cotangents: Sequence[ArrayLike | None],
        memory: ArrayLike | None,
    ) -> tuple: ...
    def step(self, command: Any) -> tuple: ...
    def widths(self) -> tuple: ...

class FlightFloat64:
    """A flight in closed loop; see propwash.torch.Flight."""
    class Step:
        """A command of the flight."""

    def __init__(self, fleet: FleetFloat64, substeps: Any, requested: Sequence[Int]) -> None: ...
    def parts(self) -> dict: ...
    def pull(
        self,
        step: FlightFloat64.Step,
        cotangents: Sequence[ArrayLike | None],
        memory: ArrayLike | None,
    ) -> tuple: ...
    def step(self, command: Any) -> tuple: ...
    def widths(self) -> tuple: ...

class Waypoints:
    """See propwash.world.Waypoints."""
    def __call__(self, time: Float) -> NDArray[np.float64]: ...
    def __init__(
        self, times: Sequence[Float], poses: NDArray[np.float64], repeat: bool
    ) -> None: ...

class SceneIndex:
    """See propwash.Scene."""
    def __init__(
        self, items: Iterable, markers: Iterable, max_triangles: Int | None = None
    ) -> None: ...
    def at(
        self, bodies: NDArray[np.float64], vehicles: NDArray[np.float64], vehicle: Any
    ) -> SceneIndex: ...
    def collide(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike | None,
        radius: Float,
        size: Sequence[Float],
        of_vehicles: bool = False,
    ) -> NDArray[np.int32]: ...
    def markers(self) -> tuple: ...
    def placed(self) -> NDArray[np.float64]: ...
    def raycast_float32(
        self,
        origins: NDArray[np.float32],
        directions: NDArray[np.float32],
        max_range: Float,
        normals: bool,
        pool: ThreadPool | None,
    ) -> tuple: ...
    def raycast_float64(
        self,
        origins: NDArray[np.float64],
        directions: NDArray[np.float64],
        max_range: Float,
        normals: bool,
        pool: ThreadPool | None,
    ) -> tuple: ...
    def spherecast(
        self, start: NDArray[np.float64], end: NDArray[np.float64], radius: Float
    ) -> tuple: ...
    def visible_float32(
        self, start: NDArray[np.float32], end: NDArray[np.float32], pool: ThreadPool | None
    ) -> NDArray[np.bool]: ...
    def visible_float64(
        self, start: NDArray[np.float64], end: NDArray[np.float64], pool: ThreadPool | None
    ) -> NDArray[np.bool]: ...

class SampleNoise:
    """Normally distributed random numbers of one sample of a sensor."""
    def __init__(self, key: Int, sample: Int, first_id: Int, stream: Int) -> None: ...

class GnssModel:
    """See propwash.Gnss."""
    def __init__(
        self,
        position_noise_horizontal: Float,
        position_noise_vertical: Float,
        velocity_noise_horizontal: Float,
        velocity_noise_vertical: Float,
        position: Any,
    ) -> None: ...

class BarometerModel:
    """See propwash.Barometer."""
    def __init__(
        self, noise_density: Float, sea_level_pressure: Float, altitude: Float, position: Any
    ) -> None: ...

class MagnetometerModel:
    """See propwash.Magnetometer."""
    def __init__(
        self, field: Any, soft_iron: ArrayLike, hard_iron: Any, noise_density: Float, attitude: Any
    ) -> None: ...

class RangeFinderModel:
    """See propwash.RangeFinder."""
    def __init__(
        self, directions: ArrayLike, max_range: Float, variance: Float, position: Any
    ) -> None: ...

class StereoModel:
    """See propwash.StereoError."""
    def __init__(
        self,
        baseline: Float = 0.0,
        focal: Float = 0.0,
        disparity_deviation: Float = 0.0,
        disparity_step: Float = 0.0,
        dropout_rate: Float = 0.0,
        shadow: bool = True,
    ) -> None: ...

class CameraModel:
    """See propwash.Camera."""
    def __init__(
        self,
        width: Float,
        height: Float,
        focal: Float,
        position: ArrayLike,
        attitude: ArrayLike,
        lens: Sequence[Float],
    ) -> None: ...
    def matrix(self) -> NDArray[np.float64]: ...
    def poses(self, position: ArrayLike, attitude: ArrayLike) -> tuple: ...
    def project(self, position: ArrayLike, attitude: ArrayLike, points: ArrayLike) -> tuple: ...
    def rays(self) -> NDArray[np.float64]: ...
    def unproject(self, pixels: ArrayLike) -> NDArray[np.float64]: ...
    @property
    def count(self) -> int: ...

class Texture:
    """An image on surfaces; see propwash.world.Item.texture."""
    def __init__(self, image: ArrayLike) -> None: ...

class Painter:
    """See propwash.render.Offscreen."""
    def __init__(
        self,
        scene: SceneIndex,
        look: str,
        seed: Int,
        lamp: tuple[Any, Float] | None,
        pool: ThreadPool | None,
    ) -> None: ...
    def add_body(self, parts: SceneIndex) -> int: ...
    def move(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike,
        positions_before: ArrayLike,
        attitudes_before: ArrayLike,
    ) -> None: ...
    def paint(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike,
        width: Int,
        height: Int,
        focal: Float,
        antialias: Int,
        kinds: tuple,
        bottom_first: bool,
        lens: Sequence[Float] = [0.0, 0.0, 0.0, 0.0],
    ) -> dict: ...
    def range(self, origin: Any, direction: Any, limit: Float) -> float: ...
    def remove_bodies(self) -> None: ...
    def set_texture(
        self, item: Int, texture: Texture, size: Sequence[Float], shift: Sequence[Float]
    ) -> None: ...
    def touches(self, position: Any, radius: Float) -> bool: ...
    def visible(self, start: Any, ends: ArrayLike) -> NDArray[np.bool]: ...

class ProtocolError(ValueError):
    pass

class PoseCamera:
    """A camera of a PoseMessage."""
    def __init__(
        self,
        *,
        id: str,
        type: Any = "rgb",
        position: Any = (0.0, 0.0, 0.0),
        attitude: Any = (1.0, 0.0, 0.0, 0.0),
        collision_check: bool = False,
        landmarks: bool = False,
        render: bool = True,
        motion_blur: Float = 0.0,
    ) -> None: ...
    @property
    def attitude(self) -> NDArray[np.float64]: ...
    @property
    def collision_check(self) -> bool: ...
    @property
    def id(self) -> str: ...
    @property
    def landmarks(self) -> bool: ...
    @property
    def motion_blur(self) -> float: ...
    @property
    def position(self) -> NDArray[np.float64]: ...
    @property
    def render(self) -> bool: ...
    @property
    def type(self) -> str: ...

class PoseObject:
    """A body of a PoseMessage."""
    def __init__(
        self,
        *,
        id: str,
        prefab: str = "",
        position: Any = (0.0, 0.0, 0.0),
        attitude: Any = (1.0, 0.0, 0.0, 0.0),
        size: Any = (1.0, 1.0, 1.0),
    ) -> None: ...
    @property
    def attitude(self) -> NDArray[np.float64]: ...
    @property
    def id(self) -> str: ...
    @property
    def position(self) -> NDArray[np.float64]: ...
    @property
    def prefab(self) -> str: ...
    @property
    def size(self) -> NDArray[np.float64]: ...

class PoseMessage:
    """Message that requests images of a renderer."""
    def __init__(
        self,
        scene: str,
        cameras: list,
        objects: list = [],
        *,
        width: Int = 1024,
        height: Int = 768,
        vertical_fov_deg: Float = 70.0,
        depth_scale: Float = 0.2,
        perturbation_file: str = "",
        ntime: Int = 0,
    ) -> None: ...
    def encode(self) -> bytes: ...
    def place(
        self,
        ntime: Int,
        camera_position: Any,
        camera_attitude: Any,
        object_position: Any = None,
        object_attitude: Any = None,
        render: Sequence[bool] | None = None,
        motion_blur: Sequence[Float] | None = None,
    ) -> None: ...
    @property
    def cameras(self) -> list[PoseCamera]: ...
    @property
    def depth_scale(self) -> float: ...
    @property
    def height(self) -> int: ...
    @property
    def image_layouts(self) -> list[tuple[int, int]]: ...
    @property
    def ntime(self) -> int: ...
    @property
    def objects(self) -> list[PoseObject]: ...
    @property
    def scene(self) -> str: ...
    @property
    def vertical_fov_deg(self) -> float: ...
    @property
    def width(self) -> int: ...

class RenderAnswer:
    """Answer of a renderer to a pose message."""
    @property
    def collision(self) -> bool: ...
    @property
    def depth_scale(self) -> float: ...
    @property
    def height(self) -> int: ...
    @property
    def images(self) -> dict: ...
    @property
    def incomplete(self) -> bool: ...
    @property
    def landmark_ids(self) -> list: ...
    @property
    def landmark_pixel(self) -> NDArray[np.float64]: ...
    @property
    def landmark_position(self) -> NDArray[np.float64]: ...
    @property
    def latency(self) -> float: ...
    @property
    def ntime(self) -> int: ...
    @property
    def range(self) -> float | None: ...
    @property
    def width(self) -> int: ...

class RenderSession:
    """Decides when to send which pose and which answers to accept."""
    def __init__(self, *, in_flight: Int, resend_after: Float) -> None: ...
    def next_time(self) -> float: ...
    def poll(self, now: Float) -> list: ...
    def receive(self, frames: Sequence, now: Float) -> RenderAnswer | None: ...
    def renderer_connected(self, now: Float) -> None: ...
    def restart(self, now: Float) -> None: ...
    def submit(self, pose: PoseMessage, now: Float) -> list: ...
    @property
    def counts(self) -> dict: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def waiting(self) -> int: ...

class RateThrustAction:
    """Converts actions (n, 4) to body rates and thrust."""
    def __getstate__(self) -> tuple[float, float, float, float, float]: ...
    def __init__(self, max_rates: Sequence[Float], weight: Float, reserve: Float) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def command(self, action: NDArray[Any]) -> RateThrust:
        """Returns the command for a fleet."""

class TrackPath:
    """A closed path and the speed along it."""
    def __getstate__(self) -> tuple: ...
    def __init__(self, table: NDArray[Any], length: Float, speed: Float) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def follow(
        self, phase: NDArray[Any], steps: NDArray[Any], period: Float, ahead: Float = 0.0
    ) -> tuple:
        """Returns positions [m] and velocities [m/s] of the reference points, (n, 3) each."""
    def look_ahead(
        self,
        phase: NDArray[Any],
        steps: NDArray[Any],
        period: Float,
        position: NDArray[Any],
        velocity: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Returns the extras (n, 12) of propwash.gym.Track."""

class RaceCourses:
    """Courses of gates and their scenes, for collision checks."""
    def __init__(
        self, scenes: list, centre: NDArray[Any], rotation: NDArray[Any], half: NDArray[Any]
    ) -> None: ...
    def judge(
        self,
        position: NDArray[Any],
        body_rates: NDArray[Any],
        steps: NDArray[Any],
        course: NDArray[Any],
        next: NDArray[Any],
        time: NDArray[Any],
        passed: NDArray[Any],
        collided: NDArray[Any],
        before: NDArray[Any],
        clearance: NDArray[Any],
        weights: Sequence[Float],
        radius: Float,
        bound: Float,
        period: Float,
    ) -> tuple:
        """Returns (reward, over), (n,) each, of propwash.gym.Race; updates its state in place.

        weights: the fields of RaceReward in their order.
        """
    def look(self, position: NDArray[Any], course: NDArray[Any], next: NDArray[Any]) -> tuple:
        """Returns the centre of the next gate (n, 3) [m] and the extras (n, 12) and (n, 4) of propwash.gym.Race."""

class ErrorStateFilter:
    """See propwash.estimate.ErrorStateFilter."""
    def __init__(
        self,
        imu: Any,
        start: ArrayLike,
        deviations: ArrayLike,
        gates: ArrayLike,
        gravity: Any,
        time: Float,
        history: Int,
        rejection: Float,
    ) -> None: ...
    def _motion(self) -> tuple: ...
    def _propagate(self, gyroscope: ArrayLike, accelerometer: ArrayLike, dt: Float) -> None: ...
    def _update_beacons(
        self,
        gates: ArrayLike,
        corners: ArrayLike,
        u: ArrayLike,
        v: ArrayLike,
        camera: ArrayLike,
        deviation: Float,
        time: Float,
    ) -> NDArray[np.bool]: ...
    def _update_range(
        self, range: Float, variance: Float, position: Any, direction: Any, time: Float
    ) -> bool: ...
    @property
    def accelerometer_bias(self) -> NDArray[np.float64]:
        """(3,) m/s^2, sensor axes"""
    @property
    def covariance(self) -> NDArray[np.float64]:
        """(e, e) covariance of the errors at `time`; see the class for their order"""
    @property
    def gates(self) -> NDArray[np.float64]:
        """(g, 3) estimated offsets of the gates from their nominal poses: x, y m, yaw rad"""
    @property
    def gyroscope_bias(self) -> NDArray[np.float64]:
        """(3,) rad/s, sensor axes"""
    @property
    def time(self) -> float:
        """s, of the last IMU reading"""
    @property
    def update_time(self) -> float:
        """s, of the last measurement, or of the oldest IMU reading kept if that is later; measurements from before are refused"""

def bias_next(
    bias: ArrayLike,
    deviations: Sequence[Float],
    times: Sequence[Float],
    dt: Float,
    noise: SampleNoise,
) -> NDArray[np.float64]: ...
def bias_start(
    bias: ArrayLike, mask: ArrayLike, deviations: Sequence[Float], noise: SampleNoise
) -> NDArray[np.float64]: ...
def build_info() -> dict: ...
def car_parameter_table() -> list: ...
def category_id(category: str) -> int: ...
def conclude(
    seen: Sequence[NDArray[Any]],
    reward: NDArray[Any],
    ended: NDArray[Any],
    diverged: NDArray[Any] | None,
    steps: NDArray[Any],
    limit: Int,
    pending: NDArray[Any] | None,
) -> tuple:
    """Returns (reward, terminated, truncated, done, whether any is done, whether all numbers are finite).

    limit: maximum number of steps of an episode, 0 for no limit. pending: (n,) whether the step only began a new episode, or None.
    """

def decode_answer(frames: Sequence) -> RenderAnswer: ...
def decode_pose(frame: Any) -> PoseMessage: ...
def downwash_forces(
    position: NDArray[Any],
    attitude: NDArray[Any],
    rotor_speeds: NDArray[Any],
    coefficients: NDArray[Any],
    active: NDArray[Any],
    vehicles: Int,
    jet: Sequence[Float],
) -> NDArray[np.float32]:
    """Returns the forces of the downwash of the others (n, 3) [N], world axes.

    coefficients: (n, N) N/(rad/s)^2, of the rotors. jet: area of the rotor discs of a vehicle [m^2], spread, coefficient.
    """

def drive_open_loop(
    parameters: Any, slopes: dict, unknowns: Int, log: dict, period: Float
) -> tuple: ...
def encode_answer(
    ntime: Int,
    width: Int,
    height: Int,
    camera_ids: Sequence[str],
    channels: Sequence[Int],
    *,
    camera_indexes: Sequence[Int] | None = None,
    collision: bool = False,
    landmark_ids: Sequence[str] = [],
    landmark_position: Any = None,
    range: Float | None = None,
    depth_scale: Float = 0.0,
) -> bytes: ...
def flatness(parameters: Any, columns: dict, vehicles: Int) -> dict:
    """See propwash.trajectories.flatness."""

def fly_open_loop(
    parameters: Any,
    slopes: dict,
    unknowns: Any,
    log: dict,
    period: Float,
    substeps: Int,
    starts: Any,
    samples: Any,
    attitude_every: Any,
    record: Sequence[str],
    pool: ThreadPool | None,
) -> dict: ...
def fma_peak(dtype: str) -> float:
    """Measures the peak multiply-add rate of one core in GFLOP/s, in about 0.1 s."""

def focal_length(height: Float, vertical_fov: Float) -> float: ...
def in_body(attitude: NDArray[Any], vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Transforms k vectors for each vehicle (n, 3 k) from the world frame to the body frame."""

def integrate_step(derivative: Callable, state: Any, dt: Any, method: str) -> NDArray[np.float64]:
    """Returns the state (n,) after one step of dt [s]. derivative: function of a state (n,) that returns its derivative (n,); method: 'euler' or 'rk4'."""

def isa_altitude(pressure: Float) -> float: ...
def isa_pressure(altitude: Float) -> float: ...
def judge_hover(
    position: NDArray[Any],
    attitude: NDArray[Any],
    body_rates: NDArray[Any],
    action: NDArray[Any],
    previous: NDArray[Any],
    weights: Sequence[Float],
    bound: Float,
) -> tuple:
    """Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Hover.

    weights: the fields of HoverReward in their order.
    """

def judge_landing(
    position: NDArray[Any],
    velocity: NDArray[Any],
    attitude: NDArray[Any],
    body_rates: NDArray[Any],
    bounds: Sequence[Float],
    weights: Sequence[Float],
    distance: NDArray[Any],
) -> tuple:
    """Returns (reward, over, landed, speed [m/s]), (n,) each, of propwash.gym.Land.

    bounds: gear, bound, radius, speed, cosine of the tilt. weights: the fields of LandReward in their order. distance: (n,) m, from the previous step, updated in place.
    """

def judge_meetings(
    position: NDArray[Any], before: NDArray[Any], active: NDArray[Any], vehicles: Int, radius: Float
) -> tuple:
    """Returns, for vehicles of scenes in consecutive rows, the distance to the nearest other (n,) [m], inf without one, and whether the vehicle's sphere touched another (n,) on the straight paths from `before` (n, 3)."""

def judge_track(
    position: NDArray[Any],
    velocity: NDArray[Any],
    body_rates: NDArray[Any],
    action: NDArray[Any],
    previous: NDArray[Any],
    target: NDArray[Any],
    target_velocity: NDArray[Any],
    weights: Sequence[Float],
    bound: Float,
) -> tuple:
    """Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Track.

    weights: the fields of TrackReward in their order.
    """

def latency_in_steps(latency: Float, dt: Float) -> int: ...
def linearize(
    parameters: Any,
    individual: dict,
    points: dict,
    discrete: bool,
    integrator: str,
    dt: Float,
    rate_thrust: bool,
    control_vehicle: Any,
) -> tuple: ...
def luma(image: ArrayLike) -> NDArray[np.uint8]: ...
@overload
def measure_barometer(
    barometer: BarometerModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    drift: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> tuple: ...
@overload
def measure_barometer(
    barometer: BarometerModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    drift: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> tuple: ...
@overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: ArrayLike,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    deviation: Float,
    reach: Float,
    miss_rate: Float,
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> tuple: ...
@overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: ArrayLike,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    deviation: Float,
    reach: Float,
    miss_rate: Float,
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> tuple: ...
@overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: Float,
    deviation: Float,
    stereo: StereoModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: Float,
    deviation: Float,
    stereo: StereoModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_gnss(
    gnss: GnssModel,
    position: NDArray[np.float32],
    velocity: NDArray[np.float32],
    attitude: NDArray[np.float32],
    body_rates: NDArray[np.float32],
    bias: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> tuple: ...
@overload
def measure_gnss(
    gnss: GnssModel,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    attitude: NDArray[np.float64],
    body_rates: NDArray[np.float64],
    bias: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> tuple: ...
@overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: NDArray[np.float32],
    bias: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> NDArray[Any]: ...
@overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: NDArray[np.float64],
    bias: NDArray[np.float64],
    rate: Float,
    noise: SampleNoise,
) -> NDArray[Any]: ...
@overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> NDArray[Any]: ...
def observe_state(
    position: NDArray[Any],
    velocity: NDArray[Any],
    attitude: NDArray[Any],
    body_rates: NDArray[Any],
    action: NDArray[Any],
    target: NDArray[Any] | None,
    in_body: bool,
    extras: Sequence[NDArray[Any]],
    seen: NDArray[Any],
) -> None:
    """Writes observed states to seen (n, k) in the layout of propwash.gym.Task.observation."""

def outer_loop_table() -> list: ...
def outer_loops_for(parameters: Any, dt: Float) -> dict: ...
def parameter_table(parameters: Any) -> list: ...
def rotations(attitude: NDArray[Any]) -> NDArray[np.float32]:
    """Returns rotation matrices (n, 3, 3), body to world."""

def sample_step(sample: Int, rate: Float, dt: Float, start: Int) -> int: ...
def see_others(
    position: NDArray[Any],
    velocity: NDArray[Any],
    attitude: NDArray[Any] | None,
    active: NDArray[Any],
    vehicles: Int,
    count: Int,
) -> NDArray[np.float32]:
    """Returns the nearest others (n, 7 count); see propwash.gym.multi.SceneState.neighbours.

    attitude: for vectors in the body frame, or None.
    """

def sensor_defaults(kind: str) -> dict: ...
def sensor_key(seed: Int, sensor_seed: Int) -> int: ...
def take_actions(actions: NDArray[Any], ignored: NDArray[Any] | None, steps: NDArray[Any]) -> tuple:
    """Clips actions to [-1, 1] and increments steps. Returns the clipped actions (n, A) and the number of clipped ones in each row (n,), or None if there are none.

    ignored: (n,) rows that may contain any values, or None. steps: (n,), updated in place. Raises ValueError for NaN.
    """

def to_geodetic(origin: Any, x_heading: Float, position: ArrayLike) -> NDArray[np.float64]: ...
def to_local(origin: Any, x_heading: Float, points: ArrayLike) -> NDArray[np.float64]: ...
def trace_dynamics(parameters: Any, symbols: Sequence[str]) -> tuple: ...
def validate_car(parameters: Any) -> None: ...
def validate_vehicle(parameters: Any) -> None: ...

POSE_TOPIC: bytes
__version__: str = "0.1.0"
looks: tuple = ("morning", "noon", "sunset", "overcast", "indoor")
max_effectiveness: float = 10.0
