"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

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
        turbulence: Any,
    ) -> None: ...
    def _attach_sampler(self, sampler: Any, dt: Float) -> None: ...
    def _check_time_step(self, dt: Any) -> None: ...
    def _derivative(self) -> tuple: ...
    def _derivative_of(self, fields: tuple, command: Any) -> tuple: ...
    def _detach_sampler(self, sampler: Any) -> None: ...
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

class SampleNoise:
    """Normally distributed random numbers of one sample of a sensor."""
    def __init__(self, key: Int, sample: Int, first_id: Int, stream: Int) -> None: ...

class RateThrustAction:
    """Converts actions (n, 4) to body rates and thrust."""
    def __getstate__(self) -> tuple[float, float, float, float, float]: ...
    def __init__(self, max_rates: Sequence[Float], weight: Float, reserve: Float) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def command(self, action: NDArray[Any]) -> RateThrust:
        """Returns the command for a fleet."""

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

def fma_peak(dtype: str) -> float:
    """Measures the peak multiply-add rate of one core in GFLOP/s, in about 0.1 s."""

def in_body(attitude: NDArray[Any], vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Transforms k vectors for each vehicle (n, 3 k) from the world frame to the body frame."""

def judge_hover(
    position: NDArray[Any],
    attitude: NDArray[Any],
    body_rates: NDArray[Any],
    action: NDArray[Any],
    previous: NDArray[Any],
    weights: Any,
    bound: Float,
) -> tuple:
    """Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Hover.

    weights: a HoverReward.
    """

def kernels(set: Int) -> Any:
    """The kernels of float32 fleets, for an instruction set."""

def latency_in_steps(latency: Float, dt: Float) -> int: ...
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
def parameter_table(parameters: Any = None) -> list: ...
def rotations(attitude: NDArray[Any]) -> NDArray[np.float32]:
    """Returns rotation matrices (n, 3, 3), body to world."""

def sample_step(sample: Int, rate: Float, dt: Float, start: Int) -> int: ...
def sensor_defaults(kind: str) -> dict: ...
def sensor_key(seed: Int, sensor_seed: Int) -> int: ...
def take_actions(actions: NDArray[Any], ignored: NDArray[Any] | None, steps: NDArray[Any]) -> tuple:
    """Clips actions to [-1, 1] and increments steps. Returns the clipped actions (n, A) and the number of clipped ones in each row (n,), or None if there are none.

    ignored: (n,) rows that may contain any values, or None. steps: (n,), updated in place. Raises ValueError for NaN.
    """

def validate_car(parameters: Any) -> None: ...
def validate_vehicle(parameters: Any) -> None: ...

__version__: str = "0.3.0"
max_effectiveness: float = 10.0
