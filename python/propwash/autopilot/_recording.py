"""The flight log of a vehicle that a flight controller flies."""

from __future__ import annotations

import math
from typing import Any

from propwash.autopilot._loop import Pilot
from propwash.autopilot._simulation import Sample, Simulation
from propwash.logs import FlightRecord, FlightRecorder

_RATE = 250.0
"""Hz, maximum rate of the rows."""
_AT_REST = 10.0
"""s on the ground before the first take-off that are kept."""


class Recording:
    """A pilot that records the samples before another one decides on them.

    When the vehicle returns to its start, a new flight begins; `record` returns the longest one.
    """

    def __init__(self, simulation: Simulation, pilot: Pilot) -> None:
        self.simulation, self._pilot = simulation, pilot
        self._longest: FlightRecorder | None = None
        self._last: Sample | None = None
        self._restart()

    def __call__(self, sample: Sample) -> bool:
        if sample is not self._last:
            self._add(sample)
        return self._pilot(sample)

    def record(self, **info: Any) -> FlightRecord | None:
        """The longest flight; None before two samples. info: additional information."""
        recorder = self._longer()
        if len(recorder) < 2:
            return None
        return recorder.record(info)

    def _restart(self) -> None:
        self._recorder = FlightRecorder(self.simulation.parameters)
        self._samples, self._has_flown = 0, False

    def _longer(self) -> FlightRecorder:
        if self._longest is not None and len(self._longest) >= len(self._recorder):
            return self._longest
        return self._recorder

    def _add(self, sample: Sample) -> None:
        simulation = self.simulation
        if self._last is not None and sample.time <= self._last.time:
            self._longest = self._longer()
            self._restart()
        self._last = sample
        self._recorder.stepped(simulation.uav.rotor_command)
        self._samples += 1
        samples = math.ceil(1.0 / (_RATE * simulation.period) - 1e-9)
        if self._samples < samples:
            return
        self._samples = 0
        voltage = simulation.uav.battery_voltage
        self._recorder.row(sample.time, sample, sample, voltage=voltage)
        self._has_flown = self._has_flown or not simulation.on_ground
        if not self._has_flown:
            self._recorder.keep_last(round(_AT_REST / (samples * simulation.period)))
