"""One multicopter: rate controller, motors, forces, rigid body, inertial sensor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core
from propwash._core import RotorSpeeds
from propwash.sampling import Sensor, SensorCarrier
from propwash.vehicle import files as vehicles
from propwash.vehicle._sensors import SampledVehicle, VehicleSensor
from propwash.vehicle.commands import Command, CommandSource
from propwash.vehicle.outer_loops import OuterLoops, as_dict
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.turbulence import Dryden, checked_turbulence
from propwash.vehicle.validation import load_control_vehicle, located

Integrator = Literal["euler", "rk4", "symplectic_euler"]
"""Integrators of a single vehicle."""
Array = NDArray[np.float64]
Reading = TypeVar("Reading")

DEFAULT_DT = 1.0 / 960.0
"""s, the time step of the papers."""


@dataclass(eq=False)
class MulticopterState:
    """The physical state of a multicopter.

    World frame: z up, right-handed. Body frame: origin at the centre of mass, x forward, y left,
    z up.
    """

    position: Array
    """(3,) m, of the centre of mass, world frame."""
    velocity: Array
    """(3,) m/s, world frame."""
    attitude: Array
    """(4,) unit quaternion, scalar first, from body to world."""
    body_rates: Array
    """(3,) rad/s, body frame."""
    rotor_speeds: Array
    """(N,) rad/s, positive for thrust along the rotor's axis."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            # the vehicle rejects other values with a message that names the field
            with suppress(TypeError, ValueError, OverflowError):
                setattr(self, name, np.array(value, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class MotionEstimate:
    """An estimate of the motion of one vehicle or of n, on which outer loops compute."""

    position: Array
    """(3,) or (n, 3) m, of the centre of mass, world frame."""
    velocity: Array
    """(3,) or (n, 3) m/s, world frame."""
    attitude: Array
    """(4,) or (n, 4) unit quaternions, scalar first, from body to world."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            with suppress(TypeError, ValueError):  # as for a MulticopterState
                object.__setattr__(self, name, np.array(value))


@dataclass(frozen=True, eq=False)
class ImuReading:
    """One measurement of the inertial sensor, in sensor axes."""

    specific_force: Array
    """(3,) m/s^2; (0, 0, 9.81) in hover."""
    angular_rate: Array
    """(3,) rad/s."""
    time: float
    """s, time of the measurement."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The recording of a rollout, with a row after each command: arrays of shape (T, …)."""

    time: Array
    """(T,) s."""
    position: Array
    """(T, 3) m, world frame."""
    velocity: Array
    """(T, 3) m/s, world frame."""
    attitude: Array
    """(T, 4) unit quaternions, scalar first."""
    body_rates: Array
    """(T, 3) rad/s, body frame."""
    rotor_speeds: Array
    """(T, N) rad/s."""
    rotor_command: Array
    """(T, N) rad/s, commanded rotor speeds."""
    specific_force: Array
    """(T, 3) m/s^2, the IMU's readings."""
    angular_rate: Array
    """(T, 3) rad/s, the IMU's readings."""
    accelerometer_bias: Array
    """(T, 3) m/s^2, bias of the readings."""
    gyroscope_bias: Array
    """(T, 3) rad/s, bias of the readings."""

    def __len__(self) -> int:
        return len(self.time)


class Multicopter(SensorCarrier[VehicleSensor[Any]], _core.Multicopter):
    """A multicopter of the FlightGoggles papers, with one to twelve rotors.

    dt [s] is an argument of each call, whereas a Fleet has a constant dt. With attached sensors it
    is that of attach().

    vehicle: a name of `propwash.vehicles.names()`, the path of a TOML file, or VehicleParameters.
    integrator: "rk4", "euler" or "symplectic_euler".
    seed, id: of the noise: vehicles with one seed differ by their id.
    noise: False disables process noise, IMU noise and IMU biases.
    control_vehicle: the vehicle that the controllers assume, given as `vehicle`; None: `vehicle`.
    turbulence: Dryden, gusts that are added to `wind`; None: none.

    It starts at the origin in hover trim. Raises ParameterError for an invalid vehicle.

    >>> uav = Multicopter("blackbird", seed=1)
    >>> uav.step(RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)
    """

    parameters: VehicleParameters
    _attached_type = VehicleSensor
    _noun = "vehicle"

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
        integrator: Integrator = "rk4",
        seed: int = 0,
        id: int = 0,
        noise: bool = True,
        control_vehicle: str | PathLike[str] | VehicleParameters | None = None,
        turbulence: Dryden | None = None,
    ) -> None:
        parameters = vehicles.load(vehicle)
        control, air = load_control_vehicle(control_vehicle), checked_turbulence(turbulence)
        seed, id, noise = (
            _checks.seed(seed),
            _checks.seed(id, "id", 32),
            _checks.flag("noise", noise),
        )
        _checks.choice("integrator", integrator, ("rk4", "euler", "symplectic_euler"))
        with located(vehicle):
            super().__init__(parameters, integrator, seed, id, noise, control, air)
        self.parameters, self._control_vehicle, self._turbulence = parameters, control, air
        self._options: tuple[Integrator, int, int, bool] = (integrator, seed, id, noise)
        self._loops: OuterLoops | None = None
        self._sensors = {}
        self._sensor_dt = DEFAULT_DT

    @property
    def control_vehicle(self) -> VehicleParameters | None:
        """The vehicle that the controllers assume; None: that of `parameters`."""
        return self._control_vehicle

    @property
    def turbulence(self) -> Dryden | None:
        """The turbulence of the wind; None: none."""
        return self._turbulence

    if TYPE_CHECKING:

        def step(
            self,
            command: Command | CommandSource,
            dt: float = DEFAULT_DT,
            *,
            substeps: int = 1,
            state: MotionEstimate | MulticopterState | None = None,
        ) -> None:
            """Advances by `substeps` steps of dt [s] under a held command.

            state: on which the outer loops compute; None: the true state.
            """

    def rollout(
        self,
        commands: Command | CommandSource,
        dt: float = DEFAULT_DT,
        *,
        steps: int | None = None,
        substeps: int = 1,
    ) -> Trajectory:
        """Flies and records a row after each command, which is held for `substeps` steps of dt.

        commands: with T rows, or one command that is held for `steps` rows. The geometric
            controller follows a trajectories.Reference.
        dt: s.

        Raises ValueError or TypeError as step() does; the state is then unchanged.
        """
        return Trajectory(**self._rollout(commands, dt, steps, substeps))

    def attach(
        self,
        sensor: Sensor[Reading],
        rate: float,
        latency: float = 0.0,
        *,
        dt: float = DEFAULT_DT,
        name: str | None = None,
    ) -> VehicleSensor[Reading]:
        """Attaches a sensor; the first sample is taken immediately.

        The sensor is sampled as by Fleet.attach, with the readings of a fleet of one with the same
        seed and dt. rate: Hz, at most that of the steps. latency: s, rounded up to whole steps.
        dt: s, of all steps while a sensor is attached; step() raises ValueError for another one.
        Moving items are where they are at the vehicle's time, which reset() sets to zero.
        name: key in `sensors`; by default the kind of the sensor.

        Raises ValueError or TypeError for invalid arguments; the vehicle is then unchanged.

        >>> ground = uav.attach(RangeFinder(scene), rate=20.0, latency=0.01)
        >>> uav.step(command, substeps=96)
        >>> ground.reading.range, ground.time
        """
        dt = _checks.positive("dt", dt, "s")
        if self._sensors and dt != self._sensor_dt:
            raise ValueError(
                f"dt: expected {self._sensor_dt:g} s, as of the sensors that are attached, got "
                f"{dt:g}; detach them first"
            )
        self._check_time_step(dt)
        previous, self._sensor_dt = self._sensor_dt, dt
        try:
            return self._attach_new(sensor, rate, latency, name)
        except Exception:  # not for an interrupt, after which it may be attached
            self._sensor_dt = previous
            raise

    @property
    def _sampled(self) -> SampledVehicle:
        return SampledVehicle(self, self._options[2], self._sensor_dt)

    def trim(
        self,
        velocity: float | None = None,
        climb: float | None = None,
        yaw_rate: float | None = None,
    ) -> MulticopterState:
        """The state of hover at the origin, or of a steady flight if an argument is set.

        velocity: m/s, horizontal, along the heading, which is the world's x axis; < 0: backwards.
        climb: m/s, up.
        yaw_rate: rad/s, about the world's z axis: a circle of radius velocity / yaw_rate.

        Attitude, body rates and rotor speeds are solved for zero acceleration in the frame that
        rotates with the vehicle, to 1e-9 m/s^2 and rad/s^2; the rotor speeds are the command that
        sustains the flight. Velocities are relative to the air: the present wind is added. Raises
        ParameterError if no such flight exists within the limits of the rotors.
        """
        flight = [0.0 if part is None else part for part in (velocity, climb, yaw_rate)]
        is_hover = velocity is None and climb is None and yaw_rate is None
        return MulticopterState(*(self._trim() if is_hover else self._steady(*flight)))

    def derivative(
        self, state: MulticopterState | None = None, command: RotorSpeeds | None = None
    ) -> MulticopterState:
        """The time derivative of the state during the last step, or of another state.

        With a state and rotor speeds: for those speeds within the limits of the motors, with the
        present battery voltage and wind, without command delay and noise. Raises ValueError or
        TypeError for arguments of a wrong shape or not finite.
        """
        if state is None and command is None:
            return MulticopterState(*self._derivative())
        if state is None or not isinstance(command, RotorSpeeds):
            raise TypeError(
                "derivative: expected no arguments, or a MulticopterState and RotorSpeeds, got "
                f"{state!r:.60} and {command!r:.60}"
            )
        return MulticopterState(*self._derivative_of(_fields(state), command))

    def reset(
        self,
        state: MulticopterState | None = None,
        *,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        rotor_speeds: ArrayLike | None = None,
        seed: int | None = None,
    ) -> None:
        """Restarts at time 0 from `state`, by default hover trim; other arguments replace parts.

        Controller and delays restart, biases are drawn again and a battery circuit is fully
        charged; wind, a battery voltage that was set, external wrench and rotor effectiveness
        remain. The noise sequence continues, so episodes differ, unless a seed is given: then the
        vehicle restarts as newly constructed.

        Raises ValueError or TypeError for invalid arguments; nothing changes then.
        """
        start = self.trim() if state is None else state
        parts = (position, velocity, attitude, body_rates, rotor_speeds)
        key = None if seed is None else _checks.seed(seed)
        self._reset(_replaced(start, parts), key)
        self._reset_sensors(None, key)

    def set_state(
        self,
        state: MulticopterState | None = None,
        *,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        rotor_speeds: ArrayLike | None = None,
    ) -> None:
        """Replaces the physical state by `state`, or parts of it.

        Time, controller, biases, delays and noise continue. Attitudes are normalised. Raises
        ValueError or TypeError for invalid arguments; nothing changes then.
        """
        parts = (position, velocity, attitude, body_rates, rotor_speeds)
        _checks.require_state("a MulticopterState", state, *parts)
        self._set_state(_replaced(state, parts))

    @property
    def state(self) -> MulticopterState:
        """A copy of the physical state."""
        return MulticopterState(*self._state())

    @property
    def position(self) -> Array:
        """(3,) m, world frame."""
        return np.asarray(self._state()[0])

    @property
    def velocity(self) -> Array:
        """(3,) m/s, world frame."""
        return np.asarray(self._state()[1])

    @property
    def attitude(self) -> Array:
        """(4,) unit quaternion, scalar first, from body to world."""
        return np.asarray(self._state()[2])

    @property
    def body_rates(self) -> Array:
        """(3,) rad/s, body frame."""
        return np.asarray(self._state()[3])

    @property
    def rotor_speeds(self) -> Array:
        """(N,) rad/s."""
        return np.asarray(self._state()[4])

    @property
    def outer_loops(self) -> OuterLoops:
        """Gains and limits of the outer loops; they may be set at any time.

        By default they follow from the vehicle and the dt of the last step. Setting them raises
        ParameterError for gains out of range or another type.
        """
        return OuterLoops(**self._outer_loops())

    @outer_loops.setter
    def outer_loops(self, loops: OuterLoops) -> None:
        self._set_outer_loops(as_dict(loops))
        self._loops = loops

    @property
    def imu(self) -> ImuReading:
        """The present reading of the IMU, or the last one if it is slower than the steps."""
        return ImuReading(*self._imu())

    def __reduce__(self) -> tuple[Callable[..., Multicopter], tuple[Any, ...], dict[str, Any]]:
        arguments = (self.parameters, *self._options, self._control_vehicle, self._turbulence)
        own = {name: value for name, value in vars(self).items() if name != "_sensors"}
        attached = [handle.attachment() for handle in self._sensors.values()]
        state = (type(self), Multicopter, arguments, self.snapshot(), self._loops)
        return rebuilt, (*state, (self._sensor_dt, attached)), own

    def __repr__(self) -> str:
        integrator, _, number, noise = self._options
        return (
            f"Multicopter({self.parameters.name!r}, integrator={integrator!r}, seed={self.seed}, "
            f"id={number}, noise={noise}) at {self.time:.6g} s"
        )


def _fields(state: MulticopterState) -> tuple[ArrayLike, ...]:
    if not isinstance(state, MulticopterState):
        raise TypeError(f"state: expected a MulticopterState, got {state!r:.100}")
    return (state.position, state.velocity, state.attitude, state.body_rates, state.rotor_speeds)


def _replaced(
    state: MulticopterState | None, parts: tuple[ArrayLike | None, ...]
) -> tuple[ArrayLike | None, ...]:
    """The fields of a state with some parts replaced; None: unchanged."""
    whole = (None,) * len(parts) if state is None else _fields(state)
    return tuple(w if p is None else p for w, p in zip(whole, parts, strict=True))


def rebuilt(
    kind: Any,
    base: Any,
    arguments: tuple[Any, ...],
    snapshot: bytes,
    loops: OuterLoops | None = None,
    sensors: tuple[float, list[Any]] | None = None,
) -> Any:
    """Unpickles a vehicle or sensor of class `kind`, whose public base class is `base`.

    Calls base.__init__, as the constructor of a derived class may have other arguments.
    """
    instance = kind.__new__(kind)
    base.__init__(instance, *arguments)
    if loops is not None:
        instance.outer_loops = loops
    if sensors is not None:
        instance._sensor_dt, attached = sensors
        for attachment in attached:
            instance._attach(*attachment)
    instance.restore(snapshot)
    return instance
