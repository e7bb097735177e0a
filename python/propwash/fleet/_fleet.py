"""Many multicopters, stepped together: in SIMD lanes, and on as many threads as wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from propwash import _checks as given
from propwash import _core
from propwash._checks import ParameterError
from propwash.fleet._attach import SensorCarrier
from propwash.fleet._fields import FleetFields
from propwash.fleet._parameters import FleetParameters
from propwash.fleet._sensors import SensorPlan
from propwash.fleet._types import (
    RECORDED,
    Dryden,
    Flags,
    FleetIntegrator,
    FleetState,
    FleetTrajectory,
    Numbers,
)
from propwash.fleet.sensor import Sensor
from propwash.fleet.threads import pool_of
from propwash.vehicle import files as vehicles
from propwash.vehicle.commands import Command, CommandSource, as_command
from propwash.vehicle.multicopter import DEFAULT_DT, MulticopterState
from propwash.vehicle.outer_loops import OuterLoops, as_dict
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located


class Fleet(FleetFields, SensorCarrier):
    """n multicopters of the FlightGoggles papers, stepped together.

    dt [s] is given at construction; a single Multicopter takes it with each call.

    vehicle: a name of `propwash.vehicles.names()`, the path of a TOML file, or VehicleParameters.
    n: number of vehicles.
    dtype: "float32" or "float64", of all that is computed, and of the arrays that are read.
    integrator: "rk4" or "euler". dt: s, of every step.
    seed, first_id: of the noise. Vehicle i is number first_id + i, and its noise depends on seed,
        number and step alone: a fleet that is split into parts flies the same bits.
    threads: 0 for all processors of the process, a number with the caller's included, or a
        ThreadPool that fleets share.
    noise: False turns process noise, IMU noise and IMU biases off.
    floor: m, height at which vehicles are stopped (`contact`); None for none.
    turbulence: Dryden, or None for still air.
    max_action_delay: steps, the longest that set_action_delay() will take.
    nominal_controller: whether the rate controllers go by the inertia, rotors and motors of
        `vehicle`, whatever `parameters` gives to each: a controller that does not know what it
        flies. False: each knows its own vehicle. The outer loops always go by `vehicle`.
    outer_loops: gains of the outer loops, or None for what follows from the vehicle.

    They start at the origin in hover trim. Raises ParameterError for an invalid vehicle,
    ValueError or TypeError for other arguments. Threads of Python may share a fleet: they take
    turns. Arrays that are read are the caller's own.

    >>> fleet = Fleet("flightgoggles", 4096, seed=7)
    >>> fleet.step(RateThrust(rates=[0, 0, 1], thrust=9.81), substeps=10)
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
        n: int = 1,
        dtype: DTypeLike = "float32",
        integrator: FleetIntegrator = "rk4",
        dt: float = DEFAULT_DT,
        seed: int = 0,
        threads: int | _core.ThreadPool = 0,
        *,
        first_id: int = 0,
        noise: bool = True,
        floor: float | None = None,
        turbulence: Dryden | None = None,
        max_action_delay: int = 0,
        nominal_controller: bool = False,
        outer_loops: OuterLoops | None = None,
    ) -> None:
        parameters = vehicles.load(vehicle)
        if integrator not in ("rk4", "euler"):
            raise ValueError(f"integrator: expected 'rk4' or 'euler', got {integrator!r:.100}")
        self._size = given.whole_number("n", n, 1, 2**32)
        self._dtype = given.numpy_type(dtype)
        if turbulence is not None and not isinstance(turbulence, Dryden):
            raise ParameterError(f"turbulence: expected a Dryden or None, got {turbulence!r:.100}")
        self._parameters = parameters
        self._pool = pool_of(threads)
        self._options = {
            "integrator": integrator,
            "dt": given.number("dt", dt, "a finite number > 0 [s]"),
            "seed": given.whole_number("seed", seed, 0, 2**64 - 1),
            "first_id": given.whole_number("first_id", first_id, 0, 2**32 - self._size),
            "noise": given.flag("noise", noise),
            "floor": None if floor is None else given.number("floor", floor, "a number [m]"),
            "turbulence": turbulence,
            "max_action_delay": given.whole_number("max_action_delay", max_action_delay, 0, 1000),
            "nominal_controller": given.flag("nominal_controller", nominal_controller),
            "outer_loops": outer_loops,
        }
        with located(vehicle):
            self._core = self._make_core()
            table = _core.parameter_table(parameters)
        if outer_loops is not None:
            self._core.set_outer_loops(as_dict(outer_loops))
        self._parameter_map = FleetParameters(self._core, self._size, table)
        self._sensors = {}

    def _make_core(self) -> _core.FleetFloat32 | _core.FleetFloat64:
        kind = _core.FleetFloat32 if self._dtype == np.float32 else _core.FleetFloat64
        return kind(self._parameters, self._size, self._options, self._pool)

    def step(self, command: Command | CommandSource, *, substeps: int = 1) -> None:
        """Advances all vehicles by `substeps` steps of the fleet's dt under a held command.

        command: RateThrust of rates (n, 3) and thrust (n,), for which the rate controller runs in
        every step, on noisy IMU readings; or RotorSpeeds of (n, N); or AttitudeThrust,
        VelocityCommand, PositionCommand or TrajectoryCommand, for the outer loops; or one row of a
        trajectories.Reference, which the geometric controller then follows. What has no axis of
        vehicles, (3,), a number, (N,), is for all alike. Arrays of the fleet's dtype in C order
        are the fastest.

        An outer loop runs at every outer_loops.interval-th step of the fleet's counter, and where
        it was not the one flown before; between its runs what it gave is held.

        Raises ValueError or TypeError for invalid arguments; the fleet is then unchanged.
        """
        self._check_sensors()
        self._core.step(as_command(command), substeps)

    def rollout(
        self,
        commands: Command | CommandSource,
        *,
        steps: int | None = None,
        substeps: int = 1,
        record: Iterable[str] = RECORDED,
    ) -> FleetTrajectory:
        """Flies and records: one entry of arrays (T, n, …) after each command.

        commands: rates (T, n, 3) and thrust (T, n), or rotor speeds (T, n, N), and so on, each
        held for `substeps` steps of the fleet's dt; n may be 1 for what is for all vehicles alike.
        Without the axis T it is one command, held for all of `steps` entries. A
        trajectories.Reference is followed by the geometric controller.
        record: names of the fields of FleetTrajectory.

        Raises ValueError or TypeError as step() does; the fleet is then unchanged.
        """
        names = given.names("record", record, list(FleetTrajectory.__dataclass_fields__))
        sensors = dict(self._sensors) if "readings" in names else {}
        samples: dict[str, list[Any]] = {name: [] for name in sensors}

        def read() -> None:
            for name, handle in sensors.items():
                samples[name].append(handle.arrived())

        self._check_sensors()
        flown = as_command(commands)
        fields = [name for name in names if name != "readings"]
        after = read if sensors else None
        arrays = self._core.rollout(flown, steps, substeps, fields, after)
        readings = {name: handle.record(samples[name]) for name, handle in sensors.items()}
        return FleetTrajectory(**arrays, readings=readings)

    def reset(
        self,
        state: FleetState | MulticopterState | None = None,
        *,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        rotor_speeds: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        seed: int | None = None,
    ) -> None:
        """Starts vehicles again at time 0: from `state`, or in hover trim at the origin.

        The given parts replace those of the state. Parts have a row for each vehicle, or are for
        all alike. mask: (n,) truth values, which vehicles; parts may then have a row for each of
        these instead. Controller, delays and biases start again; wind, voltage and parameters stay.
        The noise goes on, so that no two episodes are alike, unless a seed is given: then all
        vehicles start as if new.

        Raises ValueError or TypeError for invalid parts; nothing changes then.
        """
        chosen = given.mask(mask, self._size)
        parts = self._parts(state, position, velocity, attitude, body_rates, rotor_speeds, chosen)
        if seed is not None:
            if chosen is not None:
                raise ValueError("seed: expected None together with a mask; it is of all vehicles")
            seed = given.whole_number("seed", seed, 0, 2**64 - 1)
        self._reset(parts, chosen, seed)

    def _reset(
        self, parts: tuple[Numbers | None, ...], chosen: Flags | None, seed: int | None
    ) -> None:
        with self._core:
            self._check_sensors()
            self._core.reset(parts, chosen, seed)
            for handle in self._sensors.values():
                handle.reset(chosen, seed)

    def set_state(
        self,
        state: FleetState | MulticopterState | None = None,
        *,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        rotor_speeds: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces the physical state by `state`, or only the given parts of it, as reset() does.

        Time, controllers, biases, delays and noise go on.
        """
        chosen = given.mask(mask, self._size)
        parts = self._parts(state, position, velocity, attitude, body_rates, rotor_speeds, chosen)
        given.require_state("a FleetState", *parts)
        self._core.set_state(parts, chosen)

    def _parts(
        self,
        state: object,
        position: object,
        velocity: object,
        attitude: object,
        body_rates: object,
        rotor_speeds: object,
        chosen: Flags | None,
    ) -> tuple[Numbers | None, ...]:
        if not isinstance(state, FleetState | MulticopterState | None):
            raise TypeError(
                f"state: expected a FleetState or a MulticopterState, got {state!r:.100}"
            )

        def part(name: str, value: object, width: int, unit: str) -> Numbers | None:
            value = getattr(state, name, None) if value is None else value
            if value is None:
                return None
            return given.rows(name, value, self._size, (width,), self._dtype, unit, chosen)

        turned = part("attitude", attitude, 4, "1")
        if turned is not None:
            turned = given.unit_quaternions("attitude", turned, chosen)
        speeds = part("rotor_speeds", rotor_speeds, self.rotors, "rad/s")
        if speeds is not None:
            self._check_speeds(speeds, chosen)
        return (
            part("position", position, 3, "m"),
            part("velocity", velocity, 3, "m/s"),
            turned,
            part("body_rates", body_rates, 3, "rad/s"),
            speeds,
        )

    def _check_speeds(self, speeds: Numbers, chosen: Flags | None) -> None:
        """Within the motors' range, but for rounding."""
        least = np.asarray(self.parameters["motor.speed_min"]).reshape(self._size, -1)
        most = np.asarray(self.parameters["motor.speed_max"]).reshape(self._size, -1)
        slack = 8.0 * np.finfo(self._dtype).eps * np.maximum(np.abs(least), np.abs(most))
        bad = (speeds < least - slack) | (speeds > most + slack)
        rows = np.broadcast_to(speeds, bad.shape)
        expected = f"speeds in the motors' range, [{least.min():g}, {most.max():g}] rad/s"
        given.refuse_where(bad, "rotor_speeds", rows, 1, expected, chosen)

    def set_wind(self, wind: ArrayLike) -> None:
        """Sets the mean wind, m/s, world frame: (n, 3), or (3,) for all; kept by reset()."""
        self._core.set_wind(given.rows("wind", wind, self._size, (3,), self._dtype, "m/s"))

    def set_external_wrench(self, force_W: ArrayLike, torque_B: ArrayLike = (0, 0, 0)) -> None:
        """Sets a force and a torque that act on each vehicle beside those of the model.

        force_W: N, world frame, at the centre of mass; torque_B: N m, body frame: (n, 3) each, or
        (3,) for all. They act until they are changed, and the accelerometers measure them; kept by
        reset(). `external_force` and `external_torque` give them back.
        """
        force = given.rows("force_W", force_W, self._size, (3,), self._dtype, "N")
        torque = given.rows("torque_B", torque_B, self._size, (3,), self._dtype, "N m")
        self._core.set_external_wrench(force, torque)

    def set_rotor_effectiveness(self, factors: ArrayLike) -> None:
        """Sets factors on the rotors' thrust and aerodynamic torque: (n, N), or (N,) for all.

        1 as in the parameters, 0 for a lost propeller. They act until they are changed; controllers
        do not know of them; kept by reset(). The first call makes constants for each vehicle, as
        own parameters do.
        """
        width = (self.rotors,)
        values = given.rows("factors", factors, self._size, width, self._dtype, "1")
        most = _core.max_effectiveness
        bad = (values < 0.0) | (values > most)
        given.refuse_where(bad, "factors", values, 1, f"numbers from 0 to {most:g}")
        self._core.set_rotor_effectiveness(values)

    def set_battery_voltage(self, voltage: ArrayLike) -> None:
        """Sets the voltage, V: (n,), or a number for all; kept by reset().

        Without effect on a vehicle whose battery.nominal_voltage is 0.
        """
        values = given.rows("voltage", voltage, self._size, (), self._dtype, "V")
        given.refuse_where(values < 0.0, "voltage", values, 0, "numbers >= 0 [V]")
        self._core.set_battery_voltage(values.reshape(-1))

    def set_action_delay(self, steps: ArrayLike) -> None:
        """Sets by how many steps commands act late, 0 to max_action_delay: (n,), or one for all."""
        most = self._options["max_action_delay"]
        values = np.asarray(steps)
        expected = f"whole numbers from 0 to max_action_delay = {most}"
        if values.dtype.kind not in "iu":
            raise TypeError(f"steps: expected {expected}, got {given.described(steps)}")
        if values.shape not in ((), (self._size,)):
            got = given.described(steps)
            raise ValueError(f"steps: expected shape ({self._size},), or one for all, got {got}")
        given.refuse_where((values < 0) | (values > most), "steps", values, 0, expected)
        self._core.set_action_delay(values.astype(np.uint32).reshape(-1))

    @property
    def parameters(self) -> FleetParameters:
        """The vehicles' parameters: a mapping from names to read-only arrays (n, …)."""
        return self._parameter_map

    def set_parameters(
        self,
        values: Mapping[str, ArrayLike] | None = None,
        *,
        mask: ArrayLike | None = None,
        **more: ArrayLike,
    ) -> None:
        """Sets parameters by name, all of them or, on an error, none; state and time go on.

        values, more: a number, or what one vehicle has, or a row for each vehicle, in SI units:
        `fleet.set_parameters(mass=1.1 * fleet.parameters["mass"])`,
        `fleet.set_parameters({"body.inertia": inertia})`. Names are those of `parameters`.
        mask: (n,) truth values, which vehicles; values then broadcast to (m, …), a row for each of
        the m chosen ones. That takes as long as m multicopters do where the fleet already has
        parameters for each vehicle and the new ones need the same kernels, else as long as all.

        Raises ParameterError, which names the first invalid vehicle; KeyError or TypeError.
        """
        if not isinstance(values, Mapping | None):
            raise TypeError(f"values: expected numbers by name, in a dict, got {values!r:.100}")
        self._parameter_map._set({**(values or {}), **more}, given.mask(mask, self._size))

    @property
    def outer_loops(self) -> OuterLoops:
        """Gains and limits of the outer loops; they may be set at any time.

        Raises ParameterError for gains out of range, and for what is no OuterLoops.
        """
        return OuterLoops(**self._core.outer_loops())

    @outer_loops.setter
    def outer_loops(self, loops: OuterLoops) -> None:
        self._core.set_outer_loops(as_dict(loops))
        self._options["outer_loops"] = loops

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        with self._core:
            carried = [handle.attachment() for handle in self._sensors.values()]
            memory = (self.parameters.own(), carried, self.snapshot())
        made_by = (type(self), self._parameters, self._size, self._dtype.name, self.threads)
        return _rebuilt, (*made_by, self._options, *memory)

    def __repr__(self) -> str:
        o = self._options
        return (
            f"{type(self).__name__}({self._parameters.name!r}, {self._size}, "
            f"dtype={self._dtype.name!r}, integrator={o['integrator']!r}, dt={o['dt']:.6g}, "
            f"seed={self.seed}, threads={self.threads}) after {self.steps} steps"
        )


def build_info() -> dict[str, Any]:
    """How the extension was built, and which instruction set this process uses."""
    return cast(dict[str, Any], _core.build_info())


def _rebuilt(
    kind: Any,
    parameters: VehicleParameters,
    size: int,
    dtype: str,
    threads: int,
    options: dict[str, Any],
    own: dict[str, Any],
    carried: list[tuple[Sensor[Any], SensorPlan, int]],
    snapshot: bytes,
) -> Any:
    if not isinstance(snapshot, bytes) or not isinstance(size, int) or size > len(snapshot):
        # before memory is taken for as many
        raise ValueError(f"snapshot: expected that of {size!r:.50} vehicles, got {snapshot!r:.50}")
    fleet = kind.__new__(kind)
    # not kind.__init__: a user's class may take other arguments
    Fleet.__init__(fleet, parameters, size, dtype, threads=threads, **options)
    fleet.set_parameters(own)
    for attachment in carried:
        fleet._carry(*attachment)
    fleet.restore(snapshot)
    return fleet
