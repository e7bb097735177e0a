"""Many multicopters, stepped together in SIMD lanes and on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from propwash import _checks, _core, _float64
from propwash.fleet import _device
from propwash.fleet._device import DeviceFleet
from propwash.fleet._gradient import FleetGradients
from propwash.fleet._parameters import FleetParameters
from propwash.fleet._types import (
    RECORDED,
    Core,
    Flags,
    FleetIntegrator,
    FleetState,
    FleetTrajectory,
    Numbers,
    estimate_rows,
)
from propwash.fleet.threads import pool_of
from propwash.sampling import Sensor, SensorPlan
from propwash.vehicle import files as vehicles
from propwash.vehicle.commands import Command, CommandSource, as_command
from propwash.vehicle.multicopter import DEFAULT_DT, MotionEstimate, MulticopterState
from propwash.vehicle.outer_loops import OuterLoops, as_dict
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.turbulence import Dryden, checked_turbulence
from propwash.vehicle.validation import load_control_vehicle, located


class Fleet(FleetGradients):
    """n multicopters of the FlightGoggles papers, stepped together.

    dt [s] is constant, whereas it is an argument of each call of a Multicopter.

    vehicle: a name of `propwash.vehicles.names()`, the path of a TOML file, or VehicleParameters.
    n: number of vehicles.
    dtype: "float32" or "float64", of all computations and arrays.
    integrator: "rk4" or "euler". dt: s, duration of a step.
    seed, first_id: of the noise. Vehicle i has the id first_id + i; its noise depends only on seed,
        id and step, so a fleet that is split into parts computes the same bits.
    threads: number including the calling thread, 0 for all available processors, or a ThreadPool
        that several fleets use.
    noise: False disables process noise, IMU noise and IMU biases.
    floor: m, height at which vehicles are stopped (`contact`); None: no floor.
    turbulence: Dryden; None: still air.
    max_action_delay: steps, the maximum of set_action_delay().
    control_vehicle: the vehicle that all controllers assume, given as `vehicle`; None: the
        parameters of each vehicle, but outer loops assume `vehicle` with the weight of each.
    outer_loops: gains of the outer loops; None: the defaults for the vehicle.
    device: "cpu", or "cuda" (or "cuda:1" and so on) to step on a GPU with the bits of the CPU:
        docs/gpu-kernels.md. Experimental; requires the extra `cuda`. `threads` is unused then.

    Vehicles start at the origin in hover trim. Raises ParameterError for an invalid vehicle,
    ValueError or TypeError for other arguments. Thread-safe: concurrent calls wait for each other.
    Properties return copies of arrays.

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
        control_vehicle: str | PathLike[str] | VehicleParameters | None = None,
        outer_loops: OuterLoops | None = None,
        device: str = "cpu",
    ) -> None:
        parameters = vehicles.load(vehicle)
        _checks.choice("integrator", integrator, ("rk4", "euler"))
        self._size = _checks.whole_number("n", n, 1, 2**32)
        self._dtype = _checks.numpy_type(dtype)
        self._parameters = parameters
        self._pool = pool_of(threads)
        self._options = {
            "integrator": integrator,
            "dt": _checks.number("dt", dt, "a finite number > 0 [s]"),
            "seed": _checks.seed(seed),
            "first_id": _checks.whole_number("first_id", first_id, 0, 2**32 - self._size),
            "noise": _checks.flag("noise", noise),
            "floor": None if floor is None else _checks.number("floor", floor, "a number [m]"),
            "turbulence": checked_turbulence(turbulence),
            "max_action_delay": _checks.whole_number("max_action_delay", max_action_delay, 0, 1000),
            "control_vehicle": load_control_vehicle(control_vehicle),
            "outer_loops": outer_loops,
            "device": _device.checked_device(device),
        }
        with located(vehicle):
            self._core = self._make_core()
            table = _core.parameter_table(parameters)
        if outer_loops is not None:
            self._core.set_outer_loops(as_dict(outer_loops))
        self._parameter_map = FleetParameters(self._core, self._size, table)
        self._sensors = {}

    def _make_core(self) -> Core:
        if self.device != "cpu":
            driver = _device.open_driver(self.device)
            made = DeviceFleet(self._parameters, self._size, self._dtype, self._options, driver)
            return cast(Core, made)
        kind = _core.FleetFloat32 if self._dtype == np.float32 else _float64.FleetFloat64
        return kind(self._parameters, self._size, self._options, self._pool)

    def step(
        self,
        command: Command | CommandSource | Mapping[str, Any],
        *,
        substeps: int = 1,
        state: MotionEstimate | FleetState | MulticopterState | None = None,
    ) -> None:
        """Advances all vehicles by `substeps` steps of the fleet's dt under a held command.

        command: RateThrust with rates (n, 3) and thrust (n,), for the rate controller, which runs
        in every step on noisy IMU readings; or RotorSpeeds (n, N); or AttitudeThrust,
        VelocityCommand, PositionCommand or TrajectoryCommand, for the outer loops; or one row of a
        trajectories.Reference, for the geometric controller. Arrays without the axis of vehicles,
        (3,), (N,) or a number, are for all vehicles. Arrays of the fleet's dtype in C order are
        the fastest.

        An outer loop is updated at every outer_loops.interval-th step of the fleet, and when the
        kind of command changes; its output is held in between.

        state: the position, velocity and attitude on which the outer loops compute, held during
            the substeps: a MotionEstimate or any object with these attributes, with a row for each
            vehicle or for all vehicles; None: the true state. Body rates and specific force are
            those of the IMU. Not for RateThrust and RotorSpeeds.

        On a GPU, a dict of tensors there, {"rates": (n, 3), "thrust": (n,)} or {"speeds": (n, N)},
        is a command too: of torch or any library with DLPack, in C order, of the fleet's dtype. It
        is read in place, on torch's current stream (or the default stream), and its values are not
        checked.

        Raises ValueError or TypeError for invalid arguments; the fleet is then unchanged.
        """
        self._check_sensors()
        estimate = None if state is None else estimate_rows(state, self._size, self._dtype)
        if isinstance(command, Mapping):
            if not isinstance(self._core, DeviceFleet):
                raise TypeError(
                    "command: expected a fleet with device='cuda' for a dict of tensors"
                )
            return self._core.step(command, substeps, estimate)
        self._core.step(as_command(command), substeps, estimate)

    def read_into(self, **tensors: Any) -> None:
        """Writes fields to tensors on the GPU, on the caller's stream: `position=tensor`.

        tensors: by names of the arrays of FleetTrajectory except time and the IMU's readings,
            (n, …) in C order of the fleet's dtype, of torch or any library with DLPack. Flags are 0
            or 1.

        Raises ValueError or TypeError for others, or for a fleet on the CPU; nothing is written.
        """
        if not isinstance(self._core, DeviceFleet):
            raise ValueError(
                "read_into(): expected a fleet with device='cuda'; read its properties"
            )
        others = {"time", "specific_force", "angular_rate", "readings"}
        known = [name for name in FleetTrajectory.__dataclass_fields__ if name not in others]
        _checks.names("tensors", tensors, known)
        self._core.read_into(tensors)

    def reset_from(self, mask: Any, *, check: bool = True, **tensors: Any) -> None:
        """Restarts vehicles as reset() does, with tensors on the GPU, on the caller's stream.

        mask: (n,) booleans that select vehicles. tensors: parts of the state by name, (n, …) each;
            unit quaternions.
        check: Whether to check that the selected rows are finite and attitudes have length 1. The
            GPU does so, and the call waits for it.

        The state stays on the GPU, unless the last command was one to an outer loop, the IMU is
        slower than dt, or the fleet has not stepped since its last change from the host. Raises
        ValueError or TypeError for other tensors, or for a fleet on the CPU; nothing changes then.
        """
        if not isinstance(self._core, DeviceFleet):
            raise ValueError("reset_from(): expected a fleet with device='cuda'; use reset()")
        names = ("imu.accelerometer_bias_initial", "imu.gyroscope_bias_initial")
        checks = _checks.flag("check", check)
        self._core.reset_from(
            mask, tensors, lambda: [self.parameters[name] for name in names], checks
        )

    def rollout(
        self,
        commands: Command | CommandSource,
        *,
        steps: int | None = None,
        substeps: int = 1,
        record: Iterable[str] = RECORDED,
    ) -> FleetTrajectory:
        """Flies and records a row of arrays (T, n, …) after each command.

        commands: rates (T, n, 3) and thrust (T, n), or rotor speeds (T, n, N), and so on, each
        held for `substeps` steps; n may be 1 for all vehicles. Without the axis T it is one
        command, which is held for `steps` rows. The geometric controller follows a
        trajectories.Reference.
        record: names of the fields of FleetTrajectory.

        Raises ValueError or TypeError as step() does; the fleet is then unchanged.
        """
        names = _checks.names("record", record, list(FleetTrajectory.__dataclass_fields__))
        sensors = dict(self._sensors) if "readings" in names else {}
        samples: dict[str, list[Any]] = {name: [] for name in sensors}

        def read() -> None:
            for name, handle in sensors.items():
                samples[name].append(handle.arrived())

        self._check_sensors()
        fields = [name for name in names if name != "readings"]
        after = read if sensors else None
        arrays = self._core.rollout(as_command(commands), steps, substeps, fields, after)
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
        """Restarts vehicles at time 0 from `state`, by default hover trim at the origin.

        Other arguments replace parts of the state; they have a row for each vehicle, or are for
        all vehicles. mask: (n,) booleans that select vehicles; parts may then have a row for
        each selected vehicle instead. Controller, delays and biases restart and battery circuits
        are fully charged; wind, a voltage that was set and parameters remain. The noise sequence
        continues, so episodes differ, unless a seed is given: then all vehicles restart as newly
        constructed.

        Raises ValueError or TypeError for invalid arguments; nothing changes then.
        """
        chosen = _checks.mask(mask, self._size)
        parts = self._parts(state, position, velocity, attitude, body_rates, rotor_speeds, chosen)
        if seed is not None:
            if chosen is not None:
                raise ValueError(
                    "seed: expected None together with a mask, as it applies to all vehicles"
                )
            seed = _checks.seed(seed)
        self._reset(parts, chosen, seed)

    def _reset(
        self, parts: tuple[Numbers | None, ...], chosen: Flags | None, seed: int | None
    ) -> None:
        with self._core:
            self._check_sensors()
            self._core.reset(parts, chosen, seed)
            self._reset_sensors(chosen, seed)

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
        """Replaces the physical state by `state`, or parts of it, with the arguments of reset().

        Time, controllers, biases, delays and noise continue.
        """
        chosen = _checks.mask(mask, self._size)
        parts = self._parts(state, position, velocity, attitude, body_rates, rotor_speeds, chosen)
        _checks.require_state("a FleetState", *parts)
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
            return _checks.rows(name, value, self._size, (width,), self._dtype, unit, chosen)

        unit = part("attitude", attitude, 4, "1")
        if unit is not None:
            unit = _checks.unit_quaternions("attitude", unit, chosen)
        speeds = part("rotor_speeds", rotor_speeds, self.rotors, "rad/s")
        if speeds is not None:
            self._check_speeds(speeds, chosen)
        return (
            part("position", position, 3, "m"),
            part("velocity", velocity, 3, "m/s"),
            unit,
            part("body_rates", body_rates, 3, "rad/s"),
            speeds,
        )

    def _check_speeds(self, speeds: Numbers, chosen: Flags | None) -> None:
        """Raises ValueError for speeds outside the motors' range, within rounding."""
        low = np.asarray(self.parameters["motor.speed_min"]).reshape(self._size, -1)
        high = np.asarray(self.parameters["motor.speed_max"]).reshape(self._size, -1)
        slack = 8.0 * np.finfo(self._dtype).eps * np.maximum(np.abs(low), np.abs(high))
        bad = (speeds < low - slack) | (speeds > high + slack)
        rows = np.broadcast_to(speeds, bad.shape)
        expected = f"speeds in the motors' range, [{low.min():g}, {high.max():g}] rad/s"
        _checks.refuse_where(bad, "rotor_speeds", rows, 1, expected, chosen)

    @property
    def device(self) -> str:
        """Where the fleet steps: "cpu", or a GPU as "cuda"."""
        return str(self._options["device"])

    def set_wind(self, wind: ArrayLike) -> None:
        """Sets the mean wind, m/s, world frame: (n, 3), or (3,) for all; unchanged by reset()."""
        self._core.set_wind(_checks.rows("wind", wind, self._size, (3,), self._dtype, "m/s"))

    def set_external_wrench(self, force_W: ArrayLike, torque_B: ArrayLike = (0, 0, 0)) -> None:
        """Sets a force and a torque that act on each vehicle in addition to the model.

        force_W: N, world frame, at the centre of mass; torque_B: N m, body frame: (n, 3) each, or
        (3,) for all. They act until they are changed, also after reset(), and the accelerometers
        measure them. `external_force` and `external_torque` return them.
        """
        force = _checks.rows("force_W", force_W, self._size, (3,), self._dtype, "N")
        torque = _checks.rows("torque_B", torque_B, self._size, (3,), self._dtype, "N m")
        self._core.set_external_wrench(force, torque)

    def set_rotor_effectiveness(self, factors: ArrayLike) -> None:
        """Sets factors on the rotors' thrust and aerodynamic torque: (n, N), or (N,) for all.

        1: as in the parameters, 0: a lost propeller. They act until they are changed, also after
        reset(); controllers ignore them. The first call allocates constants for each vehicle, like
        set_parameters().
        """
        width = (self.rotors,)
        values = _checks.rows("factors", factors, self._size, width, self._dtype, "1")
        maximum = _core.max_effectiveness
        bad = (values < 0.0) | (values > maximum)
        _checks.refuse_where(bad, "factors", values, 1, f"numbers from 0 to {maximum:g}")
        self._core.set_rotor_effectiveness(values)

    def set_battery_voltage(self, voltage: ArrayLike) -> None:
        """Sets the voltage, V: (n,), or a number for all; unchanged by reset().

        Without effect on a vehicle whose battery.nominal_voltage is 0. Raises ValueError if the
        vehicles have battery circuits, which compute it.
        """
        values = _checks.rows("voltage", voltage, self._size, (), self._dtype, "V")
        _checks.refuse_where(values < 0.0, "voltage", values, 0, "numbers >= 0 [V]")
        self._core.set_battery_voltage(values.reshape(-1))

    def set_state_of_charge(self, state_of_charge: ArrayLike) -> None:
        """Replaces the batteries by ones at rest with a charge from 0 to 1: (n,), or one for all.

        The voltage changes in the next step; reset() charges to 1. Raises ValueError for vehicles
        without a battery circuit.
        """
        name = "state_of_charge"
        values = _checks.rows(name, state_of_charge, self._size, (), self._dtype, "1")
        bad = (values < 0.0) | (values > 1.0)
        _checks.refuse_where(bad, name, values, 0, "numbers from 0 to 1")
        self._core.set_state_of_charge(values.reshape(-1))

    def set_action_delay(self, steps: ArrayLike) -> None:
        """Sets the delay of commands, 0 to max_action_delay steps: (n,), or one for all."""
        maximum = self._options["max_action_delay"]
        values = np.asarray(steps)
        expected = f"whole numbers from 0 to max_action_delay = {maximum}"
        if values.dtype.kind not in "iu":
            raise TypeError(f"steps: expected {expected}, got {_checks.described(steps)}")
        if values.shape not in ((), (self._size,)):
            got = _checks.described(steps)
            raise ValueError(f"steps: expected shape ({self._size},), or one for all, got {got}")
        _checks.refuse_where((values < 0) | (values > maximum), "steps", values, 0, expected)
        self._core.set_action_delay(values.astype(np.uint32).reshape(-1))

    @property
    def parameters(self) -> FleetParameters:
        """The parameters of each vehicle: a mapping from names to read-only arrays (n, …)."""
        return self._parameter_map

    def set_parameters(
        self,
        values: Mapping[str, ArrayLike] | None = None,
        *,
        mask: ArrayLike | None = None,
        **more: ArrayLike,
    ) -> None:
        """Sets parameters by name, all or, on an error, none; state and time continue.

        values, more: a number, the values of one vehicle, or a row for each vehicle, in SI units:
        `fleet.set_parameters(mass=1.1 * fleet.parameters["mass"])`,
        `fleet.set_parameters({"body.inertia": inertia})`. Names are those of `parameters`.
        mask: (n,) booleans that select m vehicles; values then broadcast to (m, …). The time is
        proportional to m if the fleet already has parameters for each vehicle and the kernels
        remain the same, else to n.

        Raises ParameterError that names the first invalid vehicle, KeyError or TypeError.
        """
        if not isinstance(values, Mapping | None):
            raise TypeError(f"values: expected numbers by name, in a dict, got {values!r:.100}")
        self._parameter_map._set({**(values or {}), **more}, _checks.mask(mask, self._size))

    @property
    def outer_loops(self) -> OuterLoops:
        """Gains and limits of the outer loops; they may be set at any time.

        Setting them raises ParameterError for gains out of range or another type.
        """
        return OuterLoops(**self._core.outer_loops())

    @outer_loops.setter
    def outer_loops(self, loops: OuterLoops) -> None:
        self._core.set_outer_loops(as_dict(loops))
        self._options["outer_loops"] = loops

    @property
    def control_vehicle(self) -> VehicleParameters | None:
        """The vehicle that the controllers assume; None: the parameters of each vehicle."""
        return cast(VehicleParameters | None, self._options["control_vehicle"])

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        with self._core:
            attached = [handle.attachment() for handle in self._sensors.values()]
            state = (self.parameters.own(), attached, self.snapshot())
        arguments = (type(self), self._parameters, self._size, self._dtype.name, self.threads)
        return _rebuilt, (*arguments, self._options, *state)

    def __repr__(self) -> str:
        o = self._options
        return (
            f"{type(self).__name__}({self._parameters.name!r}, {self._size}, "
            f"dtype={self._dtype.name!r}, integrator={o['integrator']!r}, dt={o['dt']:.6g}, "
            f"seed={self.seed}, threads={self.threads}) after {self.steps} steps"
        )


def build_info() -> dict[str, Any]:
    """Build options of the extension, and the instruction set in use."""
    return cast(dict[str, Any], _core.build_info())


def _rebuilt(
    kind: Any,
    parameters: VehicleParameters,
    size: int,
    dtype: str,
    threads: int,
    options: dict[str, Any],
    own: dict[str, Any],
    attached: list[tuple[Sensor[Any], SensorPlan, int]],
    snapshot: bytes,
) -> Any:
    if not isinstance(snapshot, bytes) or not isinstance(size, int) or size > len(snapshot):
        # checked before memory is allocated
        raise ValueError(f"snapshot: expected that of {size!r:.50} vehicles, got {snapshot!r:.50}")
    fleet = kind.__new__(kind)
    # not kind.__init__: a derived class may have other arguments
    Fleet.__init__(fleet, parameters, size, dtype, threads=threads, **options)
    fleet.set_parameters(own)
    for attachment in attached:
        fleet._attach(*attachment)
    fleet.restore(snapshot)
    return fleet
