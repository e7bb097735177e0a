"""One multicopter: rate controller, motors, forces, rigid body, inertial sensor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core
from propwash._core import RotorSpeeds
from propwash.vehicle import files as vehicles
from propwash.vehicle.commands import Command, CommandSource
from propwash.vehicle.outer_loops import OuterLoops, as_dict
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

Integrator = Literal["euler", "rk4", "symplectic_euler"]
"""Integrators of a single vehicle."""
Array = NDArray[np.float64]

DEFAULT_DT = 1.0 / 960.0
"""s, the papers' time step."""


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
    """(4,) unit quaternion, scalar first: turns body components into the world."""
    body_rates: Array
    """(3,) rad/s, body frame."""
    rotor_speeds: Array
    """(N,) rad/s, positive for thrust along the rotor's axis."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            # what is no array of numbers is left for the vehicle to refuse by its name
            with suppress(TypeError, ValueError, OverflowError):
                setattr(self, name, np.array(value, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class ImuReading:
    """One measurement of the inertial sensor, in its own axes."""

    specific_force: Array
    """(3,) m/s^2; (0, 0, 9.81) in hover."""
    angular_rate: Array
    """(3,) rad/s."""
    time: float
    """s, when it was taken."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What a rollout recorded, one row after each command: arrays of shape (T, …)."""

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
    """(T, N) rad/s, what the motors were driven to."""
    specific_force: Array
    """(T, 3) m/s^2, the IMU's readings."""
    angular_rate: Array
    """(T, 3) rad/s, the IMU's readings."""
    accelerometer_bias: Array
    """(T, 3) m/s^2, in the readings."""
    gyroscope_bias: Array
    """(T, 3) rad/s, in the readings."""

    def __len__(self) -> int:
        return len(self.time)


class Multicopter(_core.Multicopter):
    """A multicopter of the FlightGoggles papers, with one to twelve rotors.

    dt [s] is given with each call; a Fleet takes it at construction.

    vehicle: a name of `propwash.vehicles.names()`, the path of a TOML file, or VehicleParameters.
    integrator: "rk4", "euler" or "symplectic_euler".
    seed, id: of the noise: vehicles with one seed differ by their id.
    noise: False turns process noise, IMU noise and IMU biases off.

    It starts at the origin in hover trim. Raises ParameterError for an invalid vehicle.

    >>> uav = Multicopter("blackbird", seed=1)
    >>> uav.step(RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)
    """

    parameters: VehicleParameters

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
        integrator: Integrator = "rk4",
        seed: int = 0,
        id: int = 0,
        noise: bool = True,
    ) -> None:
        parameters = vehicles.load(vehicle)
        seed, id, noise = _key("seed", seed, 64), _key("id", id, 32), given.flag("noise", noise)
        if integrator not in ("rk4", "euler", "symplectic_euler"):
            expected = "'rk4', 'euler' or 'symplectic_euler'"
            raise ValueError(f"integrator: expected {expected}, got {integrator!r:.100}")
        with located(vehicle):
            super().__init__(parameters, integrator, seed, id, noise)
        self.parameters = parameters
        self._options: tuple[Integrator, int, int, bool] = (integrator, seed, id, noise)
        self._loops: OuterLoops | None = None

    if TYPE_CHECKING:

        def step(
            self, command: Command | CommandSource, dt: float = DEFAULT_DT, *, substeps: int = 1
        ) -> None:
            """Advances by `substeps` steps of dt [s] under a held command."""

    def rollout(
        self,
        commands: Command | CommandSource,
        dt: float = DEFAULT_DT,
        *,
        steps: int | None = None,
        substeps: int = 1,
    ) -> Trajectory:
        """Flies and records: one row of arrays after each command, held for `substeps` steps of dt.

        commands: with T rows; or one command, held for all of `steps` rows. A
            trajectories.Reference is followed by the geometric controller.
        dt: s, of this call; a Fleet has one from its construction.

        Raises ValueError or TypeError as step() does; the state is then unchanged.
        """
        return Trajectory(**self._rollout(commands, dt, steps, substeps))

    def trim(
        self,
        velocity: float | None = None,
        climb: float | None = None,
        yaw_rate: float | None = None,
    ) -> MulticopterState:
        """At rest at the origin, level, rotors at hover speed; or in a steady flight.

        velocity: m/s, horizontal, along the heading, which is the world's x axis; < 0: backwards.
        climb: m/s, up.
        yaw_rate: rad/s, about the world's z axis: a turn of radius velocity / yaw_rate.

        With any of them, attitude, body rates and rotor speeds are solved for such that nothing
        changes in the frame that turns with the vehicle, to 1e-9 m/s^2 and rad/s^2; the rotor
        speeds are the command that keeps the flight. It is a flight through the air: the present
        wind is added to the velocity. Raises ParameterError where there is no such flight within
        the rotors' limits.
        """
        flight = [0.0 if part is None else part for part in (velocity, climb, yaw_rate)]
        is_hover = velocity is None and climb is None and yaw_rate is None
        return MulticopterState(*(self._trim() if is_hover else self._steady(*flight)))

    def derivative(
        self, state: MulticopterState | None = None, command: RotorSpeeds | None = None
    ) -> MulticopterState:
        """d/dt of the state under what acted during the last step, or of any state.

        With a state and rotor speeds: under those speeds within the motors' limits, at the present
        battery voltage, in the present wind; without command delay and noise. Raises ValueError or
        TypeError for parts of a wrong shape or not finite.
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
        """Starts again at time 0: from `state`, or from hover trim, with the given parts replaced.

        Controller and delays start again, biases are drawn anew; wind, battery voltage, external
        wrench and rotor effectiveness stay. The noise goes on, so that no two episodes are alike,
        unless a seed is given: then the vehicle starts as if new.

        Raises ValueError or TypeError for invalid parts; nothing changes then.
        """
        start = self.trim() if state is None else state
        parts = (position, velocity, attitude, body_rates, rotor_speeds)
        key = None if seed is None else _key("seed", seed, 64)
        self._reset(_replaced(start, parts), key)

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
        """Replaces the physical state by `state`, or only the given parts of it.

        Time, controller, biases, delays and noise go on. Attitudes are normalised. Raises
        ValueError or TypeError for invalid parts; nothing changes then.
        """
        parts = (position, velocity, attitude, body_rates, rotor_speeds)
        given.require_state("a MulticopterState", state, *parts)
        self._set_state(_replaced(state, parts))

    @property
    def state(self) -> MulticopterState:
        """The physical state after the last step, copied."""
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
        """(4,) unit quaternion, scalar first: turns body components into the world."""
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

        Until then they follow from the vehicle and the dt of the last step. Raises ParameterError
        for gains out of range, and for what is no OuterLoops.
        """
        return OuterLoops(**self._outer_loops())

    @outer_loops.setter
    def outer_loops(self, loops: OuterLoops) -> None:
        self._set_outer_loops(as_dict(loops))
        self._loops = loops

    @property
    def imu(self) -> ImuReading:
        """The IMU's reading now, or its last one where it is slower than the steps."""
        return ImuReading(*self._imu())

    def __reduce__(self) -> tuple[Callable[..., Multicopter], tuple[Any, ...], dict[str, Any]]:
        arguments = (type(self), self.parameters, self._options, self.snapshot(), self._loops)
        return _rebuilt, arguments, vars(self)

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
    """The fields of a state with the given parts in their place; None: as the vehicle has it."""
    whole = (None,) * len(parts) if state is None else _fields(state)
    return tuple(w if p is None else p for w, p in zip(whole, parts, strict=True))


def _rebuilt(
    kind: type[Multicopter],
    parameters: VehicleParameters,
    options: tuple[Integrator, int, int, bool],
    snapshot: bytes,
    loops: OuterLoops | None = None,
) -> Multicopter:
    vehicle = kind.__new__(kind)
    Multicopter.__init__(vehicle, parameters, *options)
    if loops is not None:
        vehicle.outer_loops = loops
    vehicle.restore(snapshot)
    return vehicle


def _key(name: str, value: int, bits: int) -> int:
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 2**bits:
        raise ValueError(f"{name}: expected a whole number in [0, 2**{bits}), got {value!r:.100}")
    return number
