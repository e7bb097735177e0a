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
    "AttitudeThrust",
    "BarometerModel",
    "CameraModel",
    "Car",
    "Command",
    "FleetFloat32",
    "FleetFloat64",
    "FleetSampler",
    "GnssModel",
    "Imu",
    "LowPass",
    "MagnetometerModel",
    "Multicopter",
    "POSE_TOPIC",
    "Painter",
    "Pid",
    "PoseCamera",
    "PoseMessage",
    "PoseObject",
    "PositionCommand",
    "ProtocolError",
    "RaceCourses",
    "RangeFinderModel",
    "RateController",
    "RateThrust",
    "RateThrustAction",
    "RenderAnswer",
    "RenderSession",
    "RotorSpeeds",
    "SampleNoise",
    "SceneIndex",
    "SpeedYawRate",
    "ThreadPool",
    "TrackPath",
    "TrajectoryCommand",
    "VelocityCommand",
    "bias_next",
    "bias_start",
    "build_info",
    "car_parameter_table",
    "category_id",
    "conclude",
    "decode_answer",
    "decode_pose",
    "drive_open_loop",
    "encode_answer",
    "encode_pose",
    "flatness",
    "fly_open_loop",
    "fma_peak",
    "focal_length",
    "in_body",
    "integrate_step",
    "isa_altitude",
    "isa_pressure",
    "judge_hover",
    "judge_landing",
    "judge_track",
    "latency_in_steps",
    "linearize",
    "looks",
    "luma",
    "max_effectiveness",
    "measure_barometer",
    "measure_beacons",
    "measure_depth",
    "measure_gnss",
    "measure_magnetometer",
    "measure_range",
    "observe_state",
    "outer_loop_table",
    "outer_loops_for",
    "parameter_table",
    "rotations",
    "sample_step",
    "sensor_key",
    "take_actions",
    "to_geodetic",
    "to_local",
    "validate_car",
    "validate_vehicle",
]

class Command:
    """
    What all commands have in common.
    """
    def __reduce__(self) -> tuple: ...
    def __repr__(self) -> str: ...

class RateThrust(Command):
    """
    Body rates and thrust, for the rate controller.

    rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, what has no n is for all vehicles alike. Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(self, rates: typing.Any, thrust: typing.Any) -> None: ...
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

class RotorSpeeds(Command):
    """
    Rotor speeds, in the vehicle's order of rotors.

    speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed gives thrust along the rotor's axis. Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(self, speeds: typing.Any) -> None: ...
    @property
    def speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        rad/s, read-only
        """

class SpeedYawRate(Command):
    """
    Speed and yaw rate of a car.

    speed: number, m/s. yaw_rate: number, rad/s, counter-clockwise. Each also (T,) for a rollout. Numbers in float32 stay so.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(self, speed: typing.Any, yaw_rate: typing.Any) -> None: ...
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

class AttitudeThrust(Command):
    """
    Attitude and thrust, for the attitude loop.

    attitude: (4,) unit quaternion, scalar first, body to world; thrust: number, N, along body z. With yaw_rate, rad/s, the attitude says where the thrust axis points, and the vehicle turns about it at that rate. As in RateThrust there may be rows (T, …), vehicles (n, …) or both.
    Raises ValueError for another shape, a number that is not finite or no unit quaternion.
    """
    def __init__(
        self, attitude: typing.Any, thrust: typing.Any, yaw_rate: typing.Any = None
    ) -> None: ...
    @property
    def attitude(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        1, read-only
        """
    @property
    def thrust(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        N, read-only
        """
    @property
    def yaw_rate(self) -> typing.Any:
        """
        rad/s, read-only
        """

class VelocityCommand(Command):
    """
    A velocity, for the velocity loop.

    velocity: (3,) m/s, world frame. yaw: rad, heading of body x; or yaw_rate: rad/s; without both the heading is left as it is. As in RateThrust there may be rows (T, …), vehicles (n, …) or both.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(
        self, velocity: typing.Any, yaw: typing.Any = None, yaw_rate: typing.Any = None
    ) -> None: ...
    @property
    def velocity(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        m/s, read-only
        """
    @property
    def yaw(self) -> typing.Any:
        """
        rad, read-only
        """
    @property
    def yaw_rate(self) -> typing.Any:
        """
        rad/s, read-only
        """

class PositionCommand(Command):
    """
    A position, for the position loop.

    position: (3,) m, world frame. yaw: rad, heading of body x; without it the heading is left as it is. As in RateThrust there may be rows (T, …), vehicles (n, …) or both.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(self, position: typing.Any, yaw: typing.Any = None) -> None: ...
    @property
    def position(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        m, read-only
        """
    @property
    def yaw(self) -> typing.Any:
        """
        rad, read-only
        """

class TrajectoryCommand(Command):
    """
    A point of a trajectory, and the controller that is to follow it.

    position, velocity, acceleration, jerk, snap: (3,) m, m/s, … m/s^4, world frame. yaw, yaw_rate, yaw_acceleration: rad, rad/s, rad/s^2, of the heading of body x. What is None is zero. controller: 'geometric', 'backstepping' or 'indi'. As in RateThrust there may be rows (T, …), vehicles (n, …) or both.
    Raises ValueError for another shape or a number that is not finite.
    """
    def __init__(
        self,
        position: typing.Any,
        velocity: typing.Any = None,
        acceleration: typing.Any = None,
        jerk: typing.Any = None,
        snap: typing.Any = None,
        yaw: typing.Any = None,
        yaw_rate: typing.Any = None,
        yaw_acceleration: typing.Any = None,
        controller: str = "geometric",
    ) -> None: ...
    @property
    def acceleration(self) -> typing.Any:
        """
        m/s^2, read-only
        """
    @property
    def controller(self) -> str: ...
    @property
    def jerk(self) -> typing.Any:
        """
        m/s^3, read-only
        """
    @property
    def position(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        m, read-only
        """
    @property
    def snap(self) -> typing.Any:
        """
        m/s^4, read-only
        """
    @property
    def velocity(self) -> typing.Any:
        """
        m/s, read-only
        """
    @property
    def yaw(self) -> typing.Any:
        """
        rad, read-only
        """
    @property
    def yaw_acceleration(self) -> typing.Any:
        """
        rad/s^2, read-only
        """
    @property
    def yaw_rate(self) -> typing.Any:
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
        self, torque: typing.Any, thrust: typing.Any, prioritised: bool = False
    ) -> numpy.typing.NDArray[numpy.float64]:
        """
        Rotor speeds (N,) [rad/s] for a torque (3,) [N m] and a thrust [N]. Where the motors' range is too small each is limited to it, the papers' clipping; prioritised: torque about x and y is kept, then thrust, then torque about z.
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
    def reset(self) -> None:
        """
        Forgets filter and integrals.
        """
    def restore(self, snapshot: tuple) -> None:
        """
        Continues, bit for bit, from what snapshot() gave.
        """
    def snapshot(
        self,
    ) -> tuple[
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
    ]:
        """
        Everything that affects the future: filtered rates [rad/s], their derivative [rad/s^2] and the integrals [rad], each (3,).
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
    def _derivative_of(self, fields: tuple, command: typing.Any) -> tuple: ...
    def _imu(self) -> tuple: ...
    def _outer_loops(self) -> dict: ...
    def _reset(
        self, fields: tuple, seed: typing.SupportsInt | typing.SupportsIndex | None
    ) -> None: ...
    def _rollout(
        self, command: typing.Any, dt: typing.Any, steps: typing.Any, substeps: typing.Any
    ) -> dict: ...
    def _set_outer_loops(self, values: dict) -> None: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple: ...
    def _steady(self, velocity: typing.Any, climb: typing.Any, yaw_rate: typing.Any) -> tuple: ...
    def _trim(self) -> tuple: ...
    def restore(self, snapshot: bytes) -> None:
        """
        Continues, bit for bit, from what snapshot() gave for the same vehicle.

        Raises ValueError for a snapshot of another kind of vehicle; nothing changes then.
        """
    def set_external_wrench(
        self, force_W: typing.Any, torque_B: typing.Any = (0.0, 0.0, 0.0)
    ) -> None:
        """
        Applies a force [N, world frame] at the centre of mass and a torque [N m, body frame] beside those of the model until they are changed; kept by reset().

        A payload, a tether, contact in a host simulator. The accelerometer measures them.
        Raises ValueError for anything but 3 finite numbers each; nothing changes then.
        """
    def snapshot(self) -> bytes:
        """
        Everything that affects the future, as bytes: state, filters, integrators, biases, delays, time, and key and counter of the noise.
        """
    def step(
        self,
        command: typing.Any,
        dt: typing.Any = 0.0010416666666666667,
        *,
        substeps: typing.Any = 1,
    ) -> None:
        """
        Advances by `substeps` steps of dt [s] under a held command. dt is given per call; a Fleet has one from its construction.

        command: a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, TrajectoryCommand, or one row of a trajectories.Reference, which the geometric controller then follows. With RateThrust the rate controller runs at every step, on the gyroscope reading of the step before; rotor speeds are limited to the motors' range.
        Raises ValueError or TypeError for invalid arguments; the state is then unchanged. Warns where dt is too long for the motors. Ctrl-C stops between steps.
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
    def external_force(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) N, world frame, set by set_external_wrench()
        """
    @property
    def external_torque(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) N m, body frame, set by set_external_wrench()
        """
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
    def rotor_effectiveness(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (N,) factors on the thrust and aerodynamic torque of each rotor, unknown to the controllers: 1 as in the parameters, 0 for a lost propeller; kept by reset()
        """
    @rotor_effectiveness.setter
    def rotor_effectiveness(self, arg1: typing.Any) -> None: ...
    @property
    def rotors(self) -> int:
        """
        number of rotors
        """
    @property
    def seed(self) -> int:
        """
        key of all noise
        """
    @property
    def steps(self) -> int:
        """
        steps since construction or since a reset with a seed: the counter of the noise
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

class Imu:
    """
    See propwash.Imu.
    """
    def __init__(
        self,
        parameters: typing.Any,
        seed: typing.SupportsInt | typing.SupportsIndex,
        id: typing.SupportsInt | typing.SupportsIndex,
        noise: bool,
    ) -> None: ...
    def _read(
        self,
        specific_force: typing.Any,
        rates: typing.Any,
        angular_acceleration: typing.Any,
        dt: typing.Any,
    ) -> tuple: ...
    def _reading(self) -> tuple: ...
    def _reset(self, seed: typing.SupportsInt | typing.SupportsIndex | None) -> None: ...
    def restore(self, snapshot: bytes) -> None:
        """
        Continues, bit for bit, from what snapshot() gave, with its seed and id.

        Raises ValueError for other bytes and for a snapshot of a sensor with other parameters or another noise switch; nothing changes then.
        """
    def snapshot(self) -> bytes:
        """
        Everything that affects the future, as bytes: biases, last reading, time and noise counter.
        """
    @property
    def accelerometer_bias(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) m/s^2, sensor axes
        """
    @property
    def gyroscope_bias(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (3,) rad/s, sensor axes
        """
    @property
    def seed(self) -> int:
        """
        key of all noise
        """
    @property
    def steps(self) -> int:
        """
        steps since construction or since a reset with a seed: the counter of the noise
        """
    @property
    def time(self) -> float:
        """
        s, since reset
        """

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
    def _reset(
        self, fields: tuple, seed: typing.SupportsInt | typing.SupportsIndex | None
    ) -> None: ...
    def _rollout(
        self, command: typing.Any, dt: typing.Any, steps: typing.Any, substeps: typing.Any
    ) -> dict: ...
    def _set_state(self, fields: tuple) -> None: ...
    def _state(self) -> tuple[float, float, float]: ...
    def restore(self, snapshot: bytes) -> None:
        """
        Continues, bit for bit, from what snapshot() gave for the same parameters.

        Raises ValueError for other bytes; nothing changes then.
        """
    def snapshot(self) -> bytes:
        """
        Everything that affects the future, as bytes: state, time, and key and counter of the noise.
        """
    def step(
        self,
        command: typing.Any,
        dt: typing.Any = 0.0010416666666666667,
        *,
        substeps: typing.Any = 1,
    ) -> None:
        """
        Advances by `substeps` steps of dt [s] under a held SpeedYawRate, limited to the car's range.

        Raises ValueError or TypeError for invalid arguments; the state is then unchanged.
        """
    @property
    def seed(self) -> int:
        """
        key of all noise
        """
    @property
    def steps(self) -> int:
        """
        steps since construction or since a reset with a seed: the counter of the noise
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

class FleetSampler:
    """
    Samples a fleet where steps reach next_step: a subclass has sample(step).
    """
    def __init__(self) -> None: ...
    @property
    def next_step(self) -> int: ...
    @next_step.setter
    def next_step(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...

class FleetFloat32:
    """
    See propwash.Fleet.
    """
    def __enter__(self) -> None:
        """
        Keeps other threads out, until __exit__.
        """
    def __exit__(self, arg0: typing.Any, arg1: typing.Any, arg2: typing.Any) -> None: ...
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
        nominal_controller: bool,
        pool: ThreadPool | None,
    ) -> None: ...
    def attach(self, sampler: FleetSampler) -> None: ...
    def detach(self, sampler: FleetSampler) -> None: ...
    def imu(self) -> tuple: ...
    def kinematics(self, most: typing.SupportsFloat | typing.SupportsIndex) -> tuple:
        """
        (position, velocity, attitude, body_rates, whether all are within most).
        """
    def outer_loops(self) -> dict: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def rollout(
        self,
        command: typing.Any,
        steps: typing.Any,
        substeps: typing.Any,
        record: collections.abc.Sequence[str],
        after: typing.Any = None,
    ) -> dict: ...
    def set_action_delay(self, steps: numpy.typing.NDArray[numpy.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: numpy.typing.NDArray[numpy.float32]) -> None: ...
    def set_external_wrench(
        self,
        force_W: numpy.typing.NDArray[numpy.float32],
        torque_B: numpy.typing.NDArray[numpy.float32],
    ) -> None: ...
    def set_outer_loops(self, values: dict) -> None: ...
    def set_parameters(
        self,
        values: collections.abc.Mapping[
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        ],
        some: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None,
    ) -> None: ...
    def set_rotor_effectiveness(self, factors: numpy.typing.NDArray[numpy.float32]) -> None: ...
    def set_state(self, parts: tuple, mask: typing.Any) -> None: ...
    def set_wind(self, wind: numpy.typing.NDArray[numpy.float32]) -> None: ...
    def snapshot(self) -> bytes: ...
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
    def dt(self) -> float: ...
    @property
    def external_force(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) N, world frame
        """
    @property
    def external_torque(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) N m, body frame
        """
    @property
    def first_id(self) -> int: ...
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
    def rotor_effectiveness(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) factors on the rotors' thrust and aerodynamic torque
        """
    @property
    def rotor_speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s
        """
    @property
    def seed(self) -> int: ...
    @property
    def size(self) -> int: ...
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
    def __enter__(self) -> None:
        """
        Keeps other threads out, until __exit__.
        """
    def __exit__(self, arg0: typing.Any, arg1: typing.Any, arg2: typing.Any) -> None: ...
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
        nominal_controller: bool,
        pool: ThreadPool | None,
    ) -> None: ...
    def attach(self, sampler: FleetSampler) -> None: ...
    def detach(self, sampler: FleetSampler) -> None: ...
    def imu(self) -> tuple: ...
    def kinematics(self, most: typing.SupportsFloat | typing.SupportsIndex) -> tuple:
        """
        (position, velocity, attitude, body_rates, whether all are within most).
        """
    def outer_loops(self) -> dict: ...
    def own_parameters(self) -> list[int]: ...
    def parameter(
        self, field: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def reset(self, parts: tuple, mask: typing.Any, seed: typing.Any) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def rollout(
        self,
        command: typing.Any,
        steps: typing.Any,
        substeps: typing.Any,
        record: collections.abc.Sequence[str],
        after: typing.Any = None,
    ) -> dict: ...
    def set_action_delay(self, steps: numpy.typing.NDArray[numpy.uint32]) -> None: ...
    def set_battery_voltage(self, voltage: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def set_external_wrench(
        self,
        force_W: numpy.typing.NDArray[numpy.float64],
        torque_B: numpy.typing.NDArray[numpy.float64],
    ) -> None: ...
    def set_outer_loops(self, values: dict) -> None: ...
    def set_parameters(
        self,
        values: collections.abc.Mapping[
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        ],
        some: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None,
    ) -> None: ...
    def set_rotor_effectiveness(self, factors: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def set_state(self, parts: tuple, mask: typing.Any) -> None: ...
    def set_wind(self, wind: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def snapshot(self) -> bytes: ...
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
    def dt(self) -> float: ...
    @property
    def external_force(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) N, world frame
        """
    @property
    def external_torque(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, 3) N m, body frame
        """
    @property
    def first_id(self) -> int: ...
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
    def rotor_effectiveness(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) factors on the rotors' thrust and aerodynamic torque
        """
    @property
    def rotor_speeds(self) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        (n, N) rad/s
        """
    @property
    def seed(self) -> int: ...
    @property
    def size(self) -> int: ...
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

class SceneIndex:
    """
    See propwash.Scene.
    """
    def __init__(
        self,
        items: collections.abc.Iterable,
        markers: collections.abc.Iterable,
        most_triangles: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None: ...
    def collide(
        self,
        positions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitudes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] | None,
        radius: typing.SupportsFloat | typing.SupportsIndex,
        size: typing.Annotated[
            collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(3)"
        ],
    ) -> numpy.typing.NDArray[numpy.int32]: ...
    def markers(self) -> tuple: ...
    def raycast_float32(
        self,
        origins: numpy.typing.NDArray[numpy.float32],
        directions: numpy.typing.NDArray[numpy.float32],
        max_range: typing.SupportsFloat | typing.SupportsIndex,
        normals: bool,
        pool: ThreadPool | None,
    ) -> tuple: ...
    def raycast_float64(
        self,
        origins: numpy.typing.NDArray[numpy.float64],
        directions: numpy.typing.NDArray[numpy.float64],
        max_range: typing.SupportsFloat | typing.SupportsIndex,
        normals: bool,
        pool: ThreadPool | None,
    ) -> tuple: ...
    def spherecast(
        self,
        start: numpy.typing.NDArray[numpy.float64],
        end: numpy.typing.NDArray[numpy.float64],
        radius: typing.SupportsFloat | typing.SupportsIndex,
    ) -> tuple: ...
    def visible_float32(
        self,
        start: numpy.typing.NDArray[numpy.float32],
        end: numpy.typing.NDArray[numpy.float32],
        pool: ThreadPool | None,
    ) -> numpy.typing.NDArray[numpy.bool]: ...
    def visible_float64(
        self,
        start: numpy.typing.NDArray[numpy.float64],
        end: numpy.typing.NDArray[numpy.float64],
        pool: ThreadPool | None,
    ) -> numpy.typing.NDArray[numpy.bool]: ...
    @property
    def isa(self) -> str: ...

class SampleNoise:
    """
    The normals of one sample of a sensor.
    """
    def __init__(
        self,
        key: typing.SupportsInt | typing.SupportsIndex,
        sample: typing.SupportsInt | typing.SupportsIndex,
        first_id: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...

class GnssModel:
    """
    See propwash.Gnss.
    """
    def __init__(
        self,
        position_noise_horizontal: typing.SupportsFloat | typing.SupportsIndex,
        position_noise_vertical: typing.SupportsFloat | typing.SupportsIndex,
        velocity_noise_horizontal: typing.SupportsFloat | typing.SupportsIndex,
        velocity_noise_vertical: typing.SupportsFloat | typing.SupportsIndex,
        position: typing.Any,
    ) -> None: ...

class BarometerModel:
    """
    See propwash.Barometer.
    """
    def __init__(
        self,
        noise_density: typing.SupportsFloat | typing.SupportsIndex,
        sea_level_pressure: typing.SupportsFloat | typing.SupportsIndex,
        altitude: typing.SupportsFloat | typing.SupportsIndex,
        position: typing.Any,
    ) -> None: ...

class MagnetometerModel:
    """
    See propwash.Magnetometer.
    """
    def __init__(
        self,
        field: typing.Any,
        soft_iron: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        hard_iron: typing.Any,
        noise_density: typing.SupportsFloat | typing.SupportsIndex,
        attitude: typing.Any,
    ) -> None: ...

class RangeFinderModel:
    """
    See propwash.RangeFinder.
    """
    def __init__(
        self,
        directions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        max_range: typing.SupportsFloat | typing.SupportsIndex,
        variance: typing.SupportsFloat | typing.SupportsIndex,
        position: typing.Any,
    ) -> None: ...

class CameraModel:
    """
    See propwash.Camera.
    """
    def __init__(
        self,
        width: typing.SupportsFloat | typing.SupportsIndex,
        height: typing.SupportsFloat | typing.SupportsIndex,
        focal: typing.SupportsFloat | typing.SupportsIndex,
        position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitude: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    ) -> None: ...
    def matrix(self) -> numpy.typing.NDArray[numpy.float64]: ...
    def poses(
        self,
        position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitude: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    ) -> tuple: ...
    def project(
        self,
        position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitude: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        points: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    ) -> tuple: ...
    def rays(self) -> numpy.typing.NDArray[numpy.float64]: ...
    def unproject(
        self, pixels: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def count(self) -> int: ...

class Painter:
    """
    See propwash.render.Offscreen.
    """
    def __init__(
        self,
        scene: SceneIndex,
        look: str,
        seed: typing.SupportsInt | typing.SupportsIndex,
        lamp: tuple[typing.Any, typing.SupportsFloat | typing.SupportsIndex] | None,
        pool: ThreadPool | None,
    ) -> None: ...
    def add_body(self, parts: SceneIndex) -> int: ...
    def move(
        self,
        positions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitudes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        positions_before: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitudes_before: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    ) -> None: ...
    def paint(
        self,
        positions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        attitudes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        width: typing.SupportsInt | typing.SupportsIndex,
        height: typing.SupportsInt | typing.SupportsIndex,
        focal: typing.SupportsFloat | typing.SupportsIndex,
        antialias: typing.SupportsInt | typing.SupportsIndex,
        kinds: tuple,
        bottom_first: bool,
    ) -> dict: ...
    def range(
        self,
        origin: typing.Any,
        direction: typing.Any,
        limit: typing.SupportsFloat | typing.SupportsIndex,
    ) -> float: ...
    def remove_bodies(self) -> None: ...
    def touches(
        self, position: typing.Any, radius: typing.SupportsFloat | typing.SupportsIndex
    ) -> bool: ...
    def visible(
        self, start: typing.Any, ends: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]
    ) -> numpy.typing.NDArray[numpy.bool]: ...

class ProtocolError(ValueError):
    pass

class PoseCamera:
    """
    A camera of a PoseMessage.
    """
    def __init__(
        self,
        *,
        id: str,
        type: typing.Any = "rgb",
        position: typing.Any = (0.0, 0.0, 0.0),
        attitude: typing.Any = (1.0, 0.0, 0.0, 0.0),
        collision_check: bool = False,
        landmarks: bool = False,
        render: bool = True,
        motion_blur: typing.SupportsFloat | typing.SupportsIndex = 0.0,
    ) -> None: ...
    @property
    def attitude(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def collision_check(self) -> bool: ...
    @property
    def id(self) -> str: ...
    @property
    def landmarks(self) -> bool: ...
    @property
    def motion_blur(self) -> float: ...
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def render(self) -> bool: ...
    @property
    def type(self) -> str: ...

class PoseObject:
    """
    A body of a PoseMessage.
    """
    def __init__(
        self,
        *,
        id: str,
        prefab: str = "",
        position: typing.Any = (0.0, 0.0, 0.0),
        attitude: typing.Any = (1.0, 0.0, 0.0, 0.0),
        size: typing.Any = (1.0, 1.0, 1.0),
    ) -> None: ...
    @property
    def attitude(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def id(self) -> str: ...
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def prefab(self) -> str: ...
    @property
    def size(self) -> numpy.typing.NDArray[numpy.float64]: ...

class PoseMessage:
    """
    What a renderer is asked for.
    """
    def __init__(
        self,
        scene: str,
        cameras: list,
        objects: list = [],
        *,
        width: typing.SupportsInt | typing.SupportsIndex = 1024,
        height: typing.SupportsInt | typing.SupportsIndex = 768,
        vertical_fov_deg: typing.SupportsFloat | typing.SupportsIndex = 70.0,
        depth_scale: typing.SupportsFloat | typing.SupportsIndex = 0.2,
        perturbation_file: str = "",
        ntime: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def encode(self) -> bytes: ...
    def place(
        self,
        ntime: typing.SupportsInt | typing.SupportsIndex,
        camera_position: typing.Any,
        camera_attitude: typing.Any,
        object_position: typing.Any = None,
        object_attitude: typing.Any = None,
        render: collections.abc.Sequence[bool] | None = None,
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
    """
    What a renderer sent for a pose.
    """
    @property
    def channels(self) -> dict: ...
    @property
    def collision(self) -> bool: ...
    @property
    def depth_scale(self) -> float: ...
    @property
    def half_done(self) -> bool: ...
    @property
    def height(self) -> int: ...
    @property
    def images(self) -> dict: ...
    @property
    def landmark_ids(self) -> list: ...
    @property
    def landmark_pixel(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def landmark_position(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def latency(self) -> float: ...
    @property
    def ntime(self) -> int: ...
    @property
    def range(self) -> float | None: ...
    @property
    def width(self) -> int: ...

class RenderSession:
    """
    Which pose to send when, and which answer to take.
    """
    def __init__(
        self,
        *,
        in_flight: typing.SupportsInt | typing.SupportsIndex = 2,
        queue: typing.SupportsInt | typing.SupportsIndex = 1,
        resend_after: typing.SupportsFloat | typing.SupportsIndex = 0.5,
        keep_alive: typing.SupportsFloat | typing.SupportsIndex = 0.5,
        start_interval: typing.SupportsFloat | typing.SupportsIndex = 0.2,
        lost_after: typing.SupportsFloat | typing.SupportsIndex = 0.75,
        revive_after: typing.SupportsFloat | typing.SupportsIndex = 10.0,
        silence: typing.SupportsFloat | typing.SupportsIndex = 2.5,
    ) -> None: ...
    def next_time(self) -> float: ...
    def poll(self, now: typing.SupportsFloat | typing.SupportsIndex) -> list: ...
    def receive(
        self, frames: collections.abc.Sequence, now: typing.SupportsFloat | typing.SupportsIndex
    ) -> RenderAnswer | None: ...
    def renderer_connected(self, now: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    def restart(self, now: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    def submit(
        self, pose: PoseMessage, now: typing.SupportsFloat | typing.SupportsIndex
    ) -> list: ...
    @property
    def counts(self) -> dict: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def pace(self) -> float: ...
    @property
    def state(self) -> str: ...
    @property
    def waiting(self) -> int: ...

class RateThrustAction:
    """
    From actions (n, 4) to body rates and thrust.
    """
    def __getstate__(self) -> tuple[float, float, float, float, float]: ...
    def __init__(
        self,
        max_rates: typing.Annotated[
            collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(3)"
        ],
        weight: typing.SupportsFloat | typing.SupportsIndex,
        reserve: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def command(self, action: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]) -> RateThrust:
        """
        The command of a fleet.
        """

class TrackPath:
    """
    A closed path, and the speed along it.
    """
    def __getstate__(self) -> tuple: ...
    def __init__(
        self,
        table: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        length: typing.SupportsFloat | typing.SupportsIndex,
        speed: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def follow(
        self,
        phase: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        steps: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        period: typing.SupportsFloat | typing.SupportsIndex,
        later: typing.SupportsFloat | typing.SupportsIndex = 0.0,
    ) -> tuple:
        """
        Places [m] and velocities [m/s], (n, 3).
        """
    def look_ahead(
        self,
        phase: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        steps: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        period: typing.SupportsFloat | typing.SupportsIndex,
        position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        velocity: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ) -> numpy.typing.NDArray[numpy.float32]:
        """
        (n, 12), see propwash.gym.Track.
        """

class RaceCourses:
    """
    Courses of gates, and what can be touched there.
    """
    def __init__(
        self,
        scenes: list,
        centre: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        turn: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        half: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ) -> None: ...
    def judge(
        self,
        position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        body_rates: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        steps: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        course: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        next: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        time: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        passed: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        collided: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        before: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        clearance: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        weights: typing.Annotated[
            collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(4)"
        ],
        radius: typing.SupportsFloat | typing.SupportsIndex,
        bound: typing.SupportsFloat | typing.SupportsIndex,
        period: typing.SupportsFloat | typing.SupportsIndex,
    ) -> tuple:
        """
        (reward, over), (n,) each, of propwash.gym.Race; its memory is updated in place.

        weights: the fields of RaceReward in their order.
        """
    def look(
        self,
        position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        course: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
        next: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ) -> tuple:
        """
        (n, 3) m, the middle of the next gate, and (n, 9), see propwash.gym.Race.
        """

def bias_next(
    bias: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    deviations: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
    times: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
    dt: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> numpy.typing.NDArray[numpy.float64]: ...
def bias_start(
    bias: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    mask: typing.Annotated[numpy.typing.ArrayLike, numpy.bool],
    deviations: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
    noise: SampleNoise,
) -> numpy.typing.NDArray[numpy.float64]: ...
def build_info() -> dict: ...
def car_parameter_table() -> list: ...
def category_id(category: str) -> int:
    """
    The number of a category in pictures of categories.
    """

def conclude(
    seen: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    reward: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ended: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    diverged: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]] | None,
    steps: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    limit: typing.SupportsInt | typing.SupportsIndex,
    pending: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]] | None,
) -> tuple:
    """
    (reward, terminated, truncated, done, any of done, whether all numbers are finite).

    limit: steps of an episode, 0 for no limit. pending: those that have just begun, or None.
    """

def decode_answer(frames: collections.abc.Sequence) -> RenderAnswer: ...
def decode_pose(frame: typing.Any) -> PoseMessage: ...
def drive_open_loop(
    parameters: typing.Any,
    slopes: dict,
    unknowns: typing.SupportsInt | typing.SupportsIndex,
    log: dict,
    period: typing.SupportsFloat | typing.SupportsIndex,
) -> tuple: ...
def encode_answer(
    ntime: typing.SupportsInt | typing.SupportsIndex,
    width: typing.SupportsInt | typing.SupportsIndex,
    height: typing.SupportsInt | typing.SupportsIndex,
    camera_ids: collections.abc.Sequence[str],
    channels: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    *,
    camera_indexes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    | None = None,
    collision: bool = False,
    landmark_ids: collections.abc.Sequence[str] = [],
    landmark_position: typing.Any = None,
    range: typing.SupportsFloat | typing.SupportsIndex | None = None,
    depth_scale: typing.SupportsFloat | typing.SupportsIndex = 0.0,
) -> bytes: ...
def encode_pose(pose: PoseMessage) -> bytes: ...
def flatness(
    parameters: typing.Any, columns: dict, vehicles: typing.SupportsInt | typing.SupportsIndex = 1
) -> dict:
    """
    What N points of trajectories ask of a vehicle, in air at rest: flat_motion() of control/tracking.hpp.

    columns: velocity, acceleration, jerk, snap (N, 3) [m/s ... m/s^4], world frame; yaw, yaw_rate, yaw_acceleration (N,) [rad ... rad/s^2]. vehicles: n, of N = T n rows in the order (T, n); quaternions keep their sign from one time to the next.

    Returns attitude (N, 4), body to world, scalar first; body_rates [rad/s] and angular_acceleration [rad/s^2] (N, 3), body frame; specific_force of the rotors (N, 3) [m/s^2], world frame; thrust (N,) [N], torque (N, 3) [N m], body frame; rotor_thrusts [N] and rotor_speeds [rad/s] (N, rotors). All but specific_force are NaN in free fall and where the vehicle is rolled by 90 degrees.
    Raises ParameterError where the rotors cannot give torque about each axis, ValueError for other shapes and numbers that are not finite.
    """

def fly_open_loop(
    parameters: typing.Any,
    slopes: dict,
    unknowns: typing.SupportsInt | typing.SupportsIndex,
    log: dict,
    period: typing.SupportsFloat | typing.SupportsIndex,
    substeps: typing.SupportsInt | typing.SupportsIndex,
    starts: typing.Any,
    samples: typing.SupportsInt | typing.SupportsIndex,
    attitude_every: typing.SupportsInt | typing.SupportsIndex,
    record: collections.abc.Sequence[str],
    pool: ThreadPool | None,
) -> dict: ...
def fma_peak(dtype: str) -> float:
    """
    GFLOP/s of one core in multiply-adds, measured for about a tenth of a second.
    """

def focal_length(
    height: typing.SupportsFloat | typing.SupportsIndex,
    vertical_fov: typing.SupportsFloat | typing.SupportsIndex,
) -> float:
    """
    pixels, from a height in pixels and a vertical field of view [rad].
    """

def in_body(
    attitude: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    vectors: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
) -> numpy.typing.NDArray[numpy.float32]:
    """
    (n, 3 k) numbers, vectors of the world, in components of each vehicle's body.
    """

def integrate_step(
    derivative: collections.abc.Callable, state: typing.Any, dt: typing.Any, method: str
) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
    """
    One step of dt [s] from a state (n,) with derivative(state) -> (n,); method 'euler' or 'rk4'.
    """

def isa_altitude(pressure: typing.SupportsFloat | typing.SupportsIndex) -> float:
    """
    m, where the standard atmosphere has a pressure [Pa].
    """

def isa_pressure(altitude: typing.SupportsFloat | typing.SupportsIndex) -> float:
    """
    Pa, of the standard atmosphere at a height [m].
    """

def judge_hover(
    position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    attitude: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    body_rates: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    action: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    previous: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    weights: typing.Annotated[
        collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(5)"
    ],
    bound: typing.SupportsFloat | typing.SupportsIndex,
) -> tuple:
    """
    (reward, over, distance [m]), (n,) each, of propwash.gym.Hover.

    weights: the fields of HoverReward in their order.
    """

def judge_landing(
    position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    velocity: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    attitude: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    body_rates: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    bounds: typing.Annotated[
        collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(5)"
    ],
    weights: typing.Annotated[
        collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"
    ],
    distance: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
) -> tuple:
    """
    (reward, over, landed, speed [m/s]), (n,) each, of propwash.gym.Land.

    bounds: gear, bound, radius, speed, cosine of the tilt. weights: the fields of LandReward in their order. distance: (n,) m, of the step before, which becomes that of now.
    """

def judge_track(
    position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    velocity: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    body_rates: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    action: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    previous: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    place: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    pace: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    weights: typing.Annotated[
        collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(5)"
    ],
    bound: typing.SupportsFloat | typing.SupportsIndex,
) -> tuple:
    """
    (reward, over, distance [m]), (n,) each, of propwash.gym.Track.

    weights: the fields of TrackReward in their order.
    """

def latency_in_steps(
    latency: typing.SupportsFloat | typing.SupportsIndex,
    dt: typing.SupportsFloat | typing.SupportsIndex,
) -> int: ...
def linearize(
    parameters: typing.Any,
    own: dict,
    points: dict,
    discrete: bool,
    integrator: str,
    dt: typing.SupportsFloat | typing.SupportsIndex,
    rate_thrust: bool,
) -> tuple: ...
def luma(
    image: typing.Annotated[numpy.typing.ArrayLike, numpy.uint8],
) -> numpy.typing.NDArray[numpy.uint8]: ...
@typing.overload
def measure_barometer(
    barometer: BarometerModel,
    position: numpy.typing.NDArray[numpy.float32],
    attitude: numpy.typing.NDArray[numpy.float32],
    drift: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> tuple: ...
@typing.overload
def measure_barometer(
    barometer: BarometerModel,
    position: numpy.typing.NDArray[numpy.float64],
    attitude: numpy.typing.NDArray[numpy.float64],
    drift: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> tuple: ...
@typing.overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    position: numpy.typing.NDArray[numpy.float32],
    attitude: numpy.typing.NDArray[numpy.float32],
    deviation: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> tuple: ...
@typing.overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
    position: numpy.typing.NDArray[numpy.float64],
    attitude: numpy.typing.NDArray[numpy.float64],
    deviation: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> tuple: ...
@typing.overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: typing.SupportsFloat | typing.SupportsIndex,
    deviation: typing.SupportsFloat | typing.SupportsIndex,
    position: numpy.typing.NDArray[numpy.float32],
    attitude: numpy.typing.NDArray[numpy.float32],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
@typing.overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: typing.SupportsFloat | typing.SupportsIndex,
    deviation: typing.SupportsFloat | typing.SupportsIndex,
    position: numpy.typing.NDArray[numpy.float64],
    attitude: numpy.typing.NDArray[numpy.float64],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
@typing.overload
def measure_gnss(
    gnss: GnssModel,
    position: numpy.typing.NDArray[numpy.float32],
    velocity: numpy.typing.NDArray[numpy.float32],
    attitude: numpy.typing.NDArray[numpy.float32],
    body_rates: numpy.typing.NDArray[numpy.float32],
    bias: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> tuple: ...
@typing.overload
def measure_gnss(
    gnss: GnssModel,
    position: numpy.typing.NDArray[numpy.float64],
    velocity: numpy.typing.NDArray[numpy.float64],
    attitude: numpy.typing.NDArray[numpy.float64],
    body_rates: numpy.typing.NDArray[numpy.float64],
    bias: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> tuple: ...
@typing.overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: numpy.typing.NDArray[numpy.float32],
    bias: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
@typing.overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: numpy.typing.NDArray[numpy.float64],
    bias: numpy.typing.NDArray[numpy.float64],
    rate: typing.SupportsFloat | typing.SupportsIndex,
    noise: SampleNoise,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
@typing.overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: numpy.typing.NDArray[numpy.float32],
    attitude: numpy.typing.NDArray[numpy.float32],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
@typing.overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: numpy.typing.NDArray[numpy.float64],
    attitude: numpy.typing.NDArray[numpy.float64],
    noise: SampleNoise,
    pool: ThreadPool | None,
) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]: ...
def observe_state(
    position: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    velocity: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    attitude: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    body_rates: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    action: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    target: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]] | None,
    in_body: bool,
    extras: collections.abc.Sequence[numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]],
    seen: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
) -> None:
    """
    Writes the layout of an observed state to (n, k), see propwash.gym.Task.observation.
    """

def outer_loop_table() -> list: ...
def outer_loops_for(
    parameters: typing.Any, dt: typing.SupportsFloat | typing.SupportsIndex
) -> dict: ...
def parameter_table(parameters: typing.Any) -> list: ...
def rotations(
    attitude: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
) -> numpy.typing.NDArray[numpy.float32]:
    """
    (n, 3, 3) from body to world.
    """

def sample_step(
    sample: typing.SupportsInt | typing.SupportsIndex,
    rate: typing.SupportsFloat | typing.SupportsIndex,
    dt: typing.SupportsFloat | typing.SupportsIndex,
    start: typing.SupportsInt | typing.SupportsIndex,
) -> int: ...
def sensor_key(
    seed: typing.SupportsInt | typing.SupportsIndex,
    sensor_seed: typing.SupportsInt | typing.SupportsIndex,
) -> int: ...
def take_actions(
    actions: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
    ignored: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]] | None,
    steps: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]],
) -> tuple:
    """
    (n, A) numbers within [-1, 1], and how many of each row were not, or None for none.

    ignored: (n,) rows that may hold anything, or None. steps: (n,), becomes one more. Raises ValueError for a number that is none.
    """

def to_geodetic(
    origin: typing.Any,
    x_heading: typing.SupportsFloat | typing.SupportsIndex,
    position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
) -> numpy.typing.NDArray[numpy.float64]: ...
def to_local(
    origin: typing.Any,
    x_heading: typing.SupportsFloat | typing.SupportsIndex,
    points: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
) -> numpy.typing.NDArray[numpy.float64]: ...
def validate_car(parameters: typing.Any) -> None: ...
def validate_vehicle(parameters: typing.Any) -> None: ...

POSE_TOPIC: bytes
__version__: str = "0.1.0"
looks: tuple = ("morning", "noon", "sunset", "overcast", "indoor")
max_effectiveness: float = 10.0
