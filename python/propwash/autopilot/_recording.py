"""The flight logs of a vehicle that a flight controller flies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Self

from propwash import logs
from propwash.autopilot._loop import Pilot
from propwash.autopilot._simulation import Sample, Simulation

_RATE = 250.0
"""Hz, maximum rate of the rows."""
_AT_REST = 10.0
"""s on the ground before the first take-off that are kept."""
_WRITTEN = 0.2
"""s between two writes, in flight."""


class Recording:
    """A pilot that writes flight logs of the samples before another one decides on them.

    A flight begins when the vehicle is at its start, and gets a file when it takes off; from then
    on its rows are written as it goes. The second flight is written to FILE-2, and so on. Without
    any take-off the last seconds at rest are written at the end.

    file: `.csv` or `.mcap`; an incomplete FILE.mcap is FILE.part.csv. info: of the logs. A context
    manager: its end completes the last file.
    """

    def __init__(self, simulation: Simulation, pilot: Pilot, file: Path, **info: Any) -> None:
        self.files: list[Path] = []
        """The flight logs, the last one perhaps not complete."""
        self.simulation, self._pilot = simulation, pilot
        self._file, self._info = logs.check_record_file(file), info
        self._last: Sample | None = None
        self._begin()

    def __call__(self, sample: Sample) -> bool:
        if sample is not self._last:
            self._add(sample)
        return self._pilot(sample)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if not self.files and len(self._recorder) > 1:
            self._open()
        self._end()

    def _begin(self) -> None:
        self._recorder = logs.FlightRecorder(self.simulation.parameters)
        self._samples = 0
        self._stream: logs.RecordStream | None = None

    def _open(self) -> None:
        number = len(self.files) + 1
        name = self._file.stem if number == 1 else f"{self._file.stem}-{number}"
        self.files.append(self._file.with_stem(name))
        is_csv = self._file.suffix.lower() == ".csv"
        part = self.files[-1] if is_csv else self.files[-1].with_suffix(".part.csv")
        self._stream = logs.RecordStream(part)
        self._due = 0.0

    def _end(self) -> None:
        """Completes the file of this flight."""
        if self._stream is None:
            return
        self._write(complete=True)
        self._stream.close()
        file, self._stream = self._stream.path, None
        if file != self.files[-1]:
            logs.write_record(self.files[-1], logs.read_record(file))
            file.unlink()

    def _add(self, sample: Sample) -> None:
        simulation = self.simulation
        if self._last is not None and sample.time <= self._last.time:
            self._end()
            self._begin()
        self._last = sample
        self._recorder.stepped(simulation.uav.rotor_command)
        self._samples += 1
        samples = math.ceil(1.0 / (_RATE * simulation.period) - 1e-9)
        if self._samples < samples:
            return
        self._samples = 0
        voltage = simulation.uav.battery_voltage
        self._recorder.row(sample.time, sample, sample, voltage=voltage)
        if self._stream is None:
            self._recorder.keep_last(round(_AT_REST / (samples * simulation.period)))
            if not simulation.on_ground:
                self._open()
        if self._stream is not None and sample.time >= self._due:
            self._due = sample.time + _WRITTEN
            self._write()

    def _write(self, complete: bool = False) -> None:
        """Writes the rows whose commands have acted, or all of them, and forgets them."""
        if self._stream is None or not len(self._recorder):
            return
        record = self._recorder.record(self._info)
        acted = record.time + self.simulation.parameters.motor.command_delay <= record.time[-1]
        rows = len(record) if complete else int(acted.sum())
        self._recorder.keep_last(len(record) - rows)  # first: Ctrl-C must not write rows twice
        self._stream.add(record, rows)
