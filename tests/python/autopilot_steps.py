"""Steps of the body rate that real programs fly, compared with the loop of `FirmwareLoop`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from autopilot_programs import Flight
from numpy.typing import NDArray
from propwash import tune
from propwash.autopilot import FirmwareLoop, Sample, ScriptedFlight
from propwash.autopilot._firmware import ProgramName
from propwash.autopilot._script import MAX_RATE
from propwash.cli import _autopilot_betaflight
from propwash.cli._autopilot_betaflight import BetaflightOptions

Array = NDArray[np.float64]
_RATES_ONLY = 1 << 7
_ACRO = 1  # mode of ArduCopter
_GUIDED = 4
AMPLITUDE = 0.5
"""rad/s."""
HOLDS = (0.45, 0.45, 1.2)
"""s, before the next step."""
PATTERNS = ((1, -1, -1, 1, 0), (1, -1, -1, 1, 0), (1, -1))
"""Rates over the amplitude; roll and pitch return to level."""
_ACRO_PARAMETERS = {
    "ACRO_OPTIONS": 2,  # the rate loop alone
    "ACRO_TRAINER": 0,
    "ACRO_RP_RATE": math.degrees(AMPLITUDE),
    "ACRO_Y_RATE": math.degrees(AMPLITUDE),
    **{f"ACRO_{axis}_{name}": 0 for axis in ("RP", "Y") for name in ("EXPO", "RATE_TC")},
    **{f"ATC_ACCEL_{axis}_MAX": 0 for axis in "RPY"},  # steps, not ramps
}


@dataclass(frozen=True)
class Comparison:
    """A measured step and the prediction."""

    difference: float
    """The greatest, as a fraction of the step."""
    rise_time: tuple[float, float]
    """s, measured and predicted."""
    overshoot: tuple[float, float]
    """Fraction of the step, measured and predicted, while it is held."""


def compared(
    loop: FirmwareLoop,
    axis: int,
    samples: Sequence[Sample],
    steps: Sequence[tuple[float, float]],
    hold: float | None = None,
) -> list[Comparison]:
    """Compares the true rate after each setpoint with the prediction.

    steps: time [s] at which a setpoint was sent, and its change [rad/s]. The delay of its way is
    fitted: a program takes it between two of its periods. hold: s, that a setpoint is held.
    """
    hold = HOLDS[axis] if hold is None else hold
    times = np.array([sample.time for sample in samples])
    rates = np.array([sample.body_rates[axis] for sample in samples])
    t, predicted = loop.step(axis, 5.0)
    earlier = np.full(len(times), rates[times <= steps[0][0]][-1])
    found = []
    for sent, step in steps:
        window = (times >= sent) & (times <= sent + hold)
        since, measured = times[window] - sent, (rates - earlier)[window] / step

        def expected(delay: float, at: Array) -> Array:
            return np.interp(at - delay, t, predicted, left=0.0)

        delays = np.linspace(0.0, 0.3, 601)
        squares = [np.sum((measured - expected(delay, since)) ** 2) for delay in delays]
        delay = float(delays[np.argmin(squares)])
        shown = [
            tune.step_figures(since, values, 1.0) for values in (measured, expected(delay, since))
        ]
        found.append(
            Comparison(
                float(np.abs(measured - expected(delay, since)).max()),
                (shown[0].rise_time, shown[1].rise_time),
                (shown[0].overshoot, shown[1].overshoot),
            )
        )
        earlier = earlier + step * expected(delay, times - sent)
    return found


class StepFlight(Flight):
    """A flight with setpoints of the body rate, without noise: PX4's offboard mode, or acro."""

    def __init__(self, program: str, binary: Path, vehicle: str, folder: Path) -> None:
        options: dict[str, Any] = {"noise": False}
        if program == "ardupilot":
            options["parameters"] = _ACRO_PARAMETERS
        super().__init__(program, binary, vehicle, folder, **options)
        self.demand: Array | None = None
        """rad/s, forward-left-up."""

    def send_setpoint(self) -> None:
        """Repeats the rates, or the position."""
        if self.demand is None:
            super().send_setpoint()
            return
        roll, pitch, yaw = self.demand * (1.0, -1.0, -1.0)
        if self.program == "px4":
            self.link.mav.set_attitude_target_send(
                0, self.system, 1, _RATES_ONLY, [1, 0, 0, 0], roll, pitch, yaw,
                self.parameters["MPC_THR_HOVER"],
            )  # fmt: skip
        else:
            sticks = (roll, pitch, 0.0, yaw)  # the throttle of hover
            channels = [round(1500 + 400 * stick / AMPLITUDE) for stick in sticks]
            self.link.mav.rc_channels_override_send(self.system, 1, *channels, 0, 0, 0, 0)

    def steps(self, axis: int) -> list[tuple[float, float]]:
        """Flies steps to and fro; returns times and heights of the first two."""
        hold, pattern = HOLDS[axis], PATTERNS[axis]
        self.demand = np.zeros(3)
        self.send_setpoint()
        if self.program == "ardupilot":
            assert self.until(lambda: self._mode == _ACRO, 5.0, lambda: self._set_mode(_ACRO))
        sent = list[float]()

        def demand(value: float) -> None:
            assert self.demand is not None
            self.demand[axis] = value * AMPLITUDE
            sent.append(self.time)
            self.send_setpoint()

        # PX4's attitude loop sends rates for some tenths of a second more; then on time, on a busy
        # machine too, so that the tilt remains small
        start = self.time + 1.5
        self.schedule += [
            (start + k * hold, partial(demand, value)) for k, value in enumerate(pattern)
        ]
        assert self.until(lambda: len(sent) == len(pattern), 10.0)
        self.wait(hold)
        self.demand = None
        if self.program == "ardupilot":
            assert self.until(lambda: self._mode == _GUIDED, 5.0, lambda: self._set_mode(_GUIDED))
        self.wait(6.0)
        # the next steps return to level, from which the linear model is then far
        return [(sent[0], AMPLITUDE), (sent[1], -2.0 * AMPLITUDE)]


class RecordedSticks(ScriptedFlight):
    """Betaflight's scripted flight with its samples, and its steps of the sticks in rate mode."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.samples = list[Sample]()
        self.steps: tuple[list[tuple[float, float]], ...] = ([], [], [])
        """Of each axis: times, and changes of the rate."""
        self._last = np.zeros(3)

    HOLD = 0.5  # s

    def __call__(self, sample: Sample) -> bool:
        """Flies on."""
        going = super().__call__(sample)
        self.samples.append(sample)
        sticks = self._sticks
        rates = MAX_RATE * np.array([sticks.roll, sticks.pitch, -sticks.yaw])
        if sticks.angle:
            rates[:] = 0.0
        else:
            for axis in np.flatnonzero(rates != self._last):
                self.steps[axis].append((sample.time, rates[axis] - self._last[axis]))
        self._last = rates
        return going


def flown(program: ProgramName, binary: Path, vehicle: str, folder: Path) -> list[list[Comparison]]:
    """The steps about x, y, z of a real program that flies with the designed gains."""
    loop = FirmwareLoop(program, vehicle)
    if program == "betaflight":
        script = _flown_by_betaflight(binary, vehicle, folder)
        return [
            compared(loop, axis, script.samples, steps, RecordedSticks.HOLD)
            for axis, steps in enumerate(script.steps)
        ]
    found = []
    with StepFlight(program, binary, vehicle, folder) as flight:
        assert flight.arm()
        assert flight.take_off()
        flight.wait(5.0)
        for axis in range(3):
            flight.samples.clear()
            steps = flight.steps(axis)
            found.append(compared(loop, axis, list(flight.samples), steps))
        assert flight.land()
    return found


def _flown_by_betaflight(binary: Path, vehicle: str, folder: Path) -> RecordedSticks:
    """Flies the sticks; without filters of the setpoint, which are no part of the rate loop."""
    settings = _autopilot_betaflight._settings

    def unfiltered(*arguments: Any) -> str:
        return settings(*arguments) + "set rc_smoothing = OFF\nset iterm_relax = OFF\n"

    options = BetaflightOptions(
        vehicle=vehicle, program=binary, folder=folder, script="sticks", speed=0.0, rate=1000,
        no_noise=True,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_autopilot_betaflight, "_settings", unfiltered)
        patch.setattr(_autopilot_betaflight, "ScriptedFlight", RecordedSticks)
        script = _autopilot_betaflight.fly(options).script
    assert isinstance(script, RecordedSticks)
    assert script.passed, script.checks
    return script
