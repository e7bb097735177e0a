"""The flight log of simulated flights: its rows, their names in files, and the recorder."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _core, _rotation
from propwash._checks import shown
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_XYZ = ("x", "y", "z")
_WXYZ = ("w", "x", "y", "z")

PARTS: dict[str, tuple[str, ...] | None] = {
    "time": (),
    "position": _XYZ,
    "velocity": _XYZ,
    "attitude": _WXYZ,
    "body_rates": _XYZ,
    "rotor_speeds": None,
    "duty": None,
    "specific_force": _XYZ,
    "angular_rate": _XYZ,
    "voltage": (),
    "sticks": ("roll", "pitch", "yaw", "throttle"),
    "command_rates": _XYZ,
    "command_thrust": (),
    "command_attitude": _WXYZ,
    "command_yaw_rate": (),
    "command_velocity": _XYZ,
    "gates": (),
}
"""Parts of the quantities in a row: none for a number, None for one for each rotor."""
COMMANDS = tuple(name for name in PARTS if name.startswith("command_"))
"""Parts of commands, NaN in rows with another command."""
OPTIONAL = ("voltage", "sticks", "gates", *COMMANDS)
"""Quantities that a flight may lack."""


@dataclass(frozen=True, eq=False)
class FlightRecord:
    """A simulated flight with the inputs of its pilot, K rows at equal intervals.

    Invalid arrays raise ValueError or TypeError with the name of the field.
    """

    time: Array
    """(K,) s, simulated, increasing."""
    position: Array
    """(K, 3) m, world frame."""
    velocity: Array
    """(K, 3) m/s, world frame."""
    attitude: Array
    """(K, 4) unit quaternions, scalar first, body (forward, left, up) to world."""
    body_rates: Array
    """(K, 3) rad/s, body frame."""
    rotor_speeds: Array
    """(K, N) rad/s."""
    duty: Array
    """(K, N) duty cycles from 0 to 1 that command the motors to their speeds, by the motor map, the
    delay and the voltage of the vehicle; the mean over the interval that ends at the row."""
    specific_force: Array
    """(K, 3) m/s^2, body frame, reading of the accelerometer."""
    angular_rate: Array
    """(K, 3) rad/s, body frame, reading of the gyroscope."""
    voltage: Array | None = None
    """(K,) V, of the battery; None for a vehicle without a nominal voltage."""
    sticks: Array | None = None
    """(K, 4) roll, pitch, yaw from -1 to 1, throttle from 0 to 1, as `arcade.Sticks`."""
    mode: NDArray[np.str_] | None = None
    """(K,) meaning of the sticks, of `arcade.MODES`."""
    command_rates: Array | None = None
    """(K, 3) rad/s, body frame, of a RateThrust; NaN in rows with another command, as in all fields
    of the command."""
    command_thrust: Array | None = None
    """(K,) N, of a RateThrust or AttitudeThrust."""
    command_attitude: Array | None = None
    """(K, 4) quaternions, of an AttitudeThrust."""
    command_yaw_rate: Array | None = None
    """(K,) rad/s, of an AttitudeThrust or VelocityCommand."""
    command_velocity: Array | None = None
    """(K, 3) m/s, world frame, of a VelocityCommand."""
    gates: NDArray[np.int64] | None = None
    """(K,) number of gates passed in order."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the flight, by identifiers; values of JSON: vehicle, course, seed, …
    (docs/logs.md)."""

    def __post_init__(self) -> None:
        rows = np.shape(self.time)[0] if np.ndim(self.time) == 1 else 0
        if rows < 1:
            raise ValueError(f"time: expected (K,) s of at least one row, got {shown(self.time)}")
        rotors = np.shape(self.duty)[-1] if np.ndim(self.duty) == 2 else 0
        for name, parts in PARTS.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            width = rotors if parts is None else len(parts)
            shape = (rows, width) if width or parts is None else (rows,)
            object.__setattr__(self, name, self._checked(name, value, shape))
        if self.mode is not None:
            mode = np.asarray(self.mode, dtype=np.str_)
            if mode.shape != (rows,):
                raise ValueError(f"mode: expected ({rows},) names, got shape {mode.shape}")
            object.__setattr__(self, "mode", mode)
        if np.any(np.diff(self.time) <= 0.0):
            raise ValueError("time: expected times [s] that increase")
        if not np.all((self.duty >= 0.0) & (self.duty <= 1.0)):
            row = int(np.argwhere((self.duty < 0.0) | (self.duty > 1.0))[0, 0])
            raise ValueError(f"duty: expected 0 to 1, row {row} has {self.duty[row]}")
        if self.gates is not None:
            if not np.all((self.gates >= 0) & (self.gates < 2**53) & (self.gates % 1 == 0)):
                raise ValueError(f"gates: expected whole numbers >= 0, got {shown(self.gates)}")
            object.__setattr__(self, "gates", self.gates.astype(np.int64))
        object.__setattr__(self, "info", _json_values(self.info))

    @staticmethod
    def _checked(name: str, value: object, shape: tuple[int, ...]) -> Array:
        values = np.asarray(_checks.numeric(name, value, "numbers"), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {values.shape}")
        is_finite = np.isfinite(values)
        if name in COMMANDS:
            missing = np.isnan(values.reshape(len(values), -1)).all(axis=1)
            is_finite[missing] = True
        if not np.all(is_finite):
            row = int(np.argwhere(~is_finite)[0, 0])
            raise ValueError(f"{name}: expected finite numbers, row {row} has {values[row]}")
        return values

    def __len__(self) -> int:
        return len(self.time)

    def load_vehicle(self, file: str = "flight") -> VehicleParameters | None:
        """The vehicle that flew, of `parameters` in `info`; None without them.

        file: name for messages. Raises ParameterError for an invalid vehicle.
        """
        text = self.info.get("parameters")
        return vehicles.from_toml(text, f"{file}, parameters") if isinstance(text, str) else None

    @property
    def rotors(self) -> int:
        """Number of rotors."""
        return int(self.duty.shape[1])


def _json_values(info: Mapping[str, Any]) -> dict[str, Any]:
    """The information as it is read from a file."""
    for key in info:
        if not (isinstance(key, str) and key.isidentifier()):
            raise ValueError(f"info: expected keys that are identifiers, got {shown(key)}")
    try:
        return dict(json.loads(json.dumps(dict(info), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"info: expected values of JSON, {error}") from None


def duty_of(
    vehicle: VehicleParameters, time: Array, speeds: Array, voltage: Array | None = None
) -> Array:
    """Duty cycles (K, N) that command motors to rotor speeds; the inverse of the motor's map.

    time: (K,) s. speeds: (K, N) rad/s, commands of the motors after delay and battery. voltage:
    (K,) V, if the vehicle has a nominal one.

    The command of a row acts after the delay of the vehicle; those of the last rows are unknown and
    equal the last known one. Below the lowest duty cycle of the map (a motor that is off) it is 0.
    """
    fraction = speeds / np.array(vehicle.motor_values("speed_max"))
    if voltage is not None:
        fraction = fraction * (vehicle.battery.nominal_voltage / voltage)[:, np.newaxis]
    offset = vehicle.motor.speed_offset
    duty = np.clip((fraction - offset) / (1.0 - offset), 0.0, 1.0)
    acts = time + vehicle.motor.command_delay
    return np.stack([np.interp(acts, time, column) for column in duty.T], axis=-1)


class MotionState(Protocol):
    """The motion of a vehicle, such as MulticopterState."""

    @property
    def position(self) -> Array:
        """(3,) m, world frame."""

    @property
    def velocity(self) -> Array:
        """(3,) m/s, world frame."""

    @property
    def attitude(self) -> Array:
        """(4,) unit quaternion, body to world."""

    @property
    def body_rates(self) -> Array:
        """(3,) rad/s, body frame."""

    @property
    def rotor_speeds(self) -> Array:
        """(N,) rad/s."""


class InertialReading(Protocol):
    """A measurement of the inertial sensor, such as ImuReading."""

    @property
    def specific_force(self) -> Array:
        """(3,) m/s^2, sensor axes."""

    @property
    def angular_rate(self) -> Array:
        """(3,) rad/s, sensor axes."""


_NOT_COMMANDED = (np.full(3, np.nan), np.full(1, np.nan), np.full(4, np.nan))


class FlightRecorder:
    """Collects the rows of a FlightRecord during a flight.

    Call `stepped` after each step of the vehicle and `row` at equal intervals.
    """

    def __init__(self, vehicle: VehicleParameters) -> None:
        self._vehicle = vehicle
        self._rotors = len(vehicle.rotors)
        self._has_voltage = vehicle.battery.nominal_voltage > 0.0
        widths = {name: self._rotors if p is None else len(p) or 1 for name, p in PARTS.items()}
        edges = np.cumsum([0, *widths.values()])
        self._columns = {
            name: slice(int(edges[k]), int(edges[k + 1])) for k, name in enumerate(widths)
        }
        self._width = int(edges[-1])
        self.clear()

    def clear(self) -> None:
        """Removes all rows."""
        self._table = array("d")
        self._modes: list[str] = []
        self._speeds, self._steps = np.zeros(self._rotors), 0

    def __len__(self) -> int:
        return len(self._modes)

    def stepped(self, rotor_command: Array) -> None:
        """Adds the rotor speed command (N,) [rad/s] of a step, `uav.rotor_command`."""
        self._speeds = self._speeds + rotor_command
        self._steps += 1

    def row(
        self,
        time: float,
        state: MotionState,
        reading: InertialReading,
        *,
        voltage: float = 0.0,
        sticks: tuple[float, float, float, float] | None = None,
        mode: str = "",
        command: object = None,
        gates: int | None = None,
    ) -> None:
        """Adds a row.

        time: s. voltage: V. sticks: roll, pitch, yaw, throttle. command: a RateThrust,
        AttitudeThrust or VelocityCommand; others are not recorded. Sticks and gates of all rows or
        of none. Raises ValueError for the state of another vehicle.
        """
        values = (
            (time,),
            state.position,
            state.velocity,
            state.attitude,
            state.body_rates,
            state.rotor_speeds,
            self._speeds / max(self._steps, 1),
            reading.specific_force,
            reading.angular_rate,
            (voltage if self._has_voltage else np.nan,),
            (np.nan,) * 4 if sticks is None else sticks,
            *_command_parts(command),
            (np.nan if gates is None else gates,),
        )
        row = np.concatenate(values, dtype=np.float64)
        if len(row) != self._width:
            raise ValueError(
                f"row: expected the state of {self._rotors} rotors and four sticks, got "
                f"{len(state.rotor_speeds)} rotors and sticks {sticks}"
            )
        self._table.frombytes(row.tobytes())
        self._modes.append(mode)
        self._speeds, self._steps = np.zeros(self._rotors), 0

    def keep_last(self, rows: int) -> None:
        """Removes all but the last rows, such as those of a vehicle that waits on the ground."""
        extra = len(self) - rows
        if extra > 0:
            del self._table[: extra * self._width]
            del self._modes[:extra]

    def record(self, info: Mapping[str, Any] | None = None) -> FlightRecord:
        """Returns the rows so far; quantities that no row has are None.

        info: added to `vehicle`, its name, and `parameters`, its file. Raises ValueError without
        rows.
        """
        if not len(self):
            raise ValueError("record: expected at least one row; call row() first")
        table = np.array(self._table).reshape(-1, self._width)
        parts: dict[str, Any] = {}
        for name, columns in self._columns.items():
            values = table[:, columns].copy()
            if name not in OPTIONAL or not np.all(np.isnan(values)):
                parts[name] = values[:, 0] if PARTS[name] == () else values
        to_body = _rotation.rotation(self._vehicle.imu.attitude)
        for name in ("specific_force", "angular_rate"):
            parts[name] = parts[name] @ to_body.T
        parts["duty"] = duty_of(self._vehicle, parts["time"], parts["duty"], parts.get("voltage"))
        if any(self._modes):
            parts["mode"] = np.array(self._modes)
        vehicle = {"vehicle": self._vehicle.name, "parameters": self._vehicle.to_toml()}
        return FlightRecord(**parts, info={**vehicle, **(info or {})})


def _command_parts(command: object) -> tuple[Array, Array, Array, Array, Array]:
    """Rates, thrust, attitude, yaw rate and velocity of a command; NaN for those it lacks."""
    three, one, four = _NOT_COMMANDED
    if isinstance(command, _core.RateThrust):
        return command.rates, np.atleast_1d(command.thrust), four, one, three
    if not isinstance(command, _core.AttitudeThrust | _core.VelocityCommand):
        return three, one, four, one, three
    yaw_rate = one if command.yaw_rate is None else np.atleast_1d(command.yaw_rate)
    if isinstance(command, _core.VelocityCommand):
        return three, one, four, yaw_rate, command.velocity
    return three, np.atleast_1d(command.thrust), command.attitude, yaw_rate, three
