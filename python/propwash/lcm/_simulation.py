"""A vehicle that takes LCM commands and gives LCM messages, without network and clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation, frames
from propwash._bridge import Refused
from propwash._core import RateThrust, RotorSpeeds
from propwash.lcm._types import Malformed, Values, message_types
from propwash.vehicle.hosted import HostedVehicle
from propwash.vehicle.multicopter import Multicopter
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from propwash.trajectories import Reference

Array = NDArray[np.float64]

PUBLISHED = {
    "imuRaw": "imuRaw_t",
    "poseMoCap": "state_t",
    "poseRef": "poseRef_t",
    "rpmFeedback": "motorsWs_t",
    "motorsPwms": "motorsPwms_t",
}
"""Types of the channels that the simulation publishes at a rate."""
COMMANDS = {
    "rateThrust": "rateThrust_t",
    "rotorSpeeds": "rotorSpeeds_t",
    "arm": "time_t",
    "reset": "time_t",
    "step": "time_t",
}
"""Types of the channels that the simulation receives."""
CLOCK = "clock"
"""The channel of the answer to `step`, of type time_t."""
RATES = {"imuRaw": 100, "poseMoCap": 360, "poseRef": 100, "rpmFeedback": 190, "motorsPwms": 190}
"""Hz; those of the Blackbird data set."""
STEP_RATE = 1800
"""Rate of the simulation's steps [Hz]."""
_MAX_STEP = 10_000_000
"""us, longest time that one message on `step` may simulate."""
_MAX_COMMAND = 1e5
"""rad/s and N, largest command."""
_PULSE_MIN, _PULSE_SPAN = 1000.0, 1000.0
_RPM = 30.0 / math.pi


class LcmVehicle:
    """A vehicle behind LCM messages: `receive` takes commands, `step` returns what to publish.

    rates: Hz, of published channels, in place of `RATES`; 0 for none. position [m] and yaw [rad]:
    where the vehicle waits, with stopped rotors, until it is armed. reference: a path, sampled at
    `step_rate` from 0 s on, which the vehicle flies by itself (INDI) instead of taking commands.
    lock_step: accept messages on `step`, of which `asked` is the last one.
    refused: counts of refused messages. Raises ValueError for invalid arguments.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters = "blackbird",
        *,
        rates: Mapping[str, int] | None = None,
        step_rate: int = STEP_RATE,
        position: ArrayLike = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
        reference: Reference | None = None,
        lock_step: bool = False,
        seed: int = 0,
        noise: bool = True,
        refused: Refused | None = None,
    ) -> None:
        self._rate = _checks.whole_number("step_rate", step_rate, 100, 100_000)
        self._rates = _checked_rates(rates or {}, self._rate)
        uav = Multicopter(vehicle, seed=seed, noise=noise)
        self._reference = reference
        if reference is not None:
            position, yaw = reference.position[0], float(reference.yaw[0])
        _checks.number("yaw", yaw, "a finite number [rad]")
        start = {
            "position": _checks.shaped("position", position, (3,)),
            "attitude": _rotation.about_z(yaw),
            "rotor_speeds": np.zeros(uav.rotors) if reference is None else None,
        }
        self._host = HostedVehicle(
            uav,
            start,
            1.0 / self._rate,
            idle=RotorSpeeds(np.zeros(uav.rotors)),
            arms_itself=reference is not None,
            averages_imu=True,
        )
        self.refused = Refused() if refused is None else refused
        self._ticks = 0
        self.lock_step = lock_step
        self.asked: int | None = None
        """us, the time until which a message on `step` asked to simulate; None: answered."""

    @property
    def utime(self) -> int:
        """us, simulated time."""
        return self._stamp(self._ticks)

    @property
    def armed(self) -> bool:
        """Whether the vehicle moves."""
        return self._host.armed

    @property
    def uav(self) -> Multicopter:
        """The vehicle."""
        return self._host.vehicle

    def receive(self, channel: str, data: bytes) -> None:
        """Takes a message on a channel of `COMMANDS`; invalid messages are counted in `refused`."""
        try:
            if channel not in COMMANDS:
                raise Malformed("unknown channel")
            values = message_types()[COMMANDS[channel]].decode(data)
            if self._reference is not None and channel != "step":
                raise Malformed("the vehicle flies a path")
            self._take(channel, values)
        except Malformed as error:
            self.refused.add(str(error), f"channel {channel!r:.60}")

    def step(self) -> list[tuple[str, bytes]]:
        """Simulates one step; returns the messages, with their channels, that are due then."""
        self._ticks += 1
        if self._reference is not None:
            self._host.command = self._reference_row().command("indi")
        try:
            self._host.step()
        except ValueError as error:  # such as rates for rotors that cannot produce them
            if self._reference is not None:
                raise
            self.refused.add("a command that the vehicle does not take", str(error))
            self._host.command = None
            self._host.step()
        return self.messages()

    def messages(self) -> list[tuple[str, bytes]]:
        """The messages that are due at the present time, as after a step."""
        due = [channel for channel, rate in self._rates.items() if self._is_due(rate)]
        types = message_types()
        found = []
        for channel in due:
            values = getattr(self, f"_{channel}")()
            if values is not None:
                found.append((channel, types[PUBLISHED[channel]].encode(values)))
        return found

    def answer(self) -> list[tuple[str, bytes]]:
        """The answer to `step` if the time that it asked for is reached, otherwise none."""
        if self.asked is None or self.utime < self.asked:
            return []
        self.asked = None
        return [(CLOCK, message_types()["time_t"].encode({"utime": self.utime}))]

    def _take(self, channel: str, values: Values) -> None:
        if channel == "arm":
            self._host.armed = True
        elif channel == "reset":
            self._host.reset()
        elif channel == "step":
            if not self.lock_step:
                raise Malformed("no lock step")
            if values["utime"] - self.utime > _MAX_STEP:
                raise Malformed(f"a step of more than {_MAX_STEP / 1e6:g} s")
            self.asked = values["utime"]
        elif channel == "rateThrust":
            rates, thrust = values["rates"], values["thrust"]
            _require_moderate([*rates, thrust])
            self._host.command = RateThrust(frames.frd_to_flu(rates), thrust=thrust)
        else:
            if values["num"] != self.uav.rotors:
                raise Malformed("wrong number of rotors")
            _require_moderate(values["speeds"])
            self._host.command = RotorSpeeds(values["speeds"])

    def _reference_row(self) -> Reference:
        assert self._reference is not None
        return self._reference[min(self._ticks, len(self._reference) - 1)]

    def _stamp(self, ticks: float) -> int:
        return round(ticks * 1_000_000 / self._rate)

    def _is_due(self, rate: int) -> bool:
        return self._ticks * rate // self._rate > (self._ticks - 1) * rate // self._rate

    # the values of each channel; None: nothing to publish

    def _imuRaw(self) -> Values | None:
        force, rate, count = self._host.imu_mean()
        if not count:
            return None
        utime = self._stamp(self._ticks - 0.5 * (count - 1))
        gyro, accel = (frames.flu_to_frd(mean).tolist() for mean in (rate, force))
        return {"utime": utime, "gyro": gyro, "accel": accel}

    def _poseMoCap(self) -> Values:
        return {
            "utime": self.utime,
            "position": frames.enu_to_ned(self.uav.position).tolist(),
            "orient": frames.quaternion_enu_flu_to_ned_frd(self.uav.attitude).tolist(),
        }

    def _poseRef(self) -> Values | None:
        if self._reference is None:
            return None
        row = self._reference_row()
        yaw = math.remainder(0.5 * math.pi - float(row.yaw), 2.0 * math.pi)
        position = frames.enu_to_ned(row.position).tolist()
        return {"utime": self.utime, "position": position, "orientEuler": [0.0, 0.0, yaw]}

    def _rpmFeedback(self) -> Values:
        rpms = (_RPM * self.uav.rotor_speeds).tolist()
        count = len(rpms)
        return {"utime": self.utime, "num": count, "sample_us": [self.utime] * count, "rpms": rpms}

    def _motorsPwms(self) -> Values:
        """Duty cycles as pulses; that of a rotor speed as `logs` and `identify` define it."""
        command = self.uav.rotor_command if self.armed else np.zeros(self.uav.rotors)
        motor = self.uav.parameters.motor
        fraction = command / np.array(self.uav.parameters.motor_values("speed_max"))
        duty = (fraction - motor.speed_offset) / (1.0 - motor.speed_offset)
        pulses = np.rint(_PULSE_MIN + _PULSE_SPAN * np.clip(duty, 0.0, 1.0)).astype(int)
        return {"utime": self.utime, "num": len(pulses), "pwms": pulses.tolist()}


def _checked_rates(rates: Mapping[str, int], step_rate: int) -> dict[str, int]:
    for channel, rate in rates.items():
        _checks.choice("rates", channel, tuple(PUBLISHED))
        _checks.whole_number(f"rates[{channel!r}]", rate, 0, step_rate)
    merged = {**RATES, **rates}
    return {channel: rate for channel, rate in merged.items() if rate}


def _require_moderate(numbers: list[float]) -> None:
    if any(abs(number) > _MAX_COMMAND for number in numbers):
        raise Malformed(f"a command above {_MAX_COMMAND:g}")
