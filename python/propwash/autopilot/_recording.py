"""The flight logs of a vehicle that a flight controller flies."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

from propwash import logs
from propwash._bridge import uninterrupted
from propwash.autopilot._loop import Pilot
from propwash.autopilot._simulation import Sample, Simulation

_RATE = 250.0
"""Hz, maximum rate of the rows."""
_AT_REST = 10.0
"""s on the ground before the first take-off that are kept."""
_WRITTEN = 0.2
"""s between two writes, in flight."""


class RecordingPilot:
    """A pilot that writes flight logs of the samples before another one decides on them.

    A flight begins when the vehicle is at its start, and gets a file when it takes off; from then
    on its rows are written as it goes. The second flight is written to FILE-2, and so on. Without
    any take-off the last seconds at rest are written at the end.

    file: `.csv` or `.mcap`; an incomplete FILE.mcap is FILE.part.csv. report: receives the error of
    a file that cannot be written; the flight goes on without its log. info: of the logs. A context
    manager: its end completes the last file, and raises the first such error.
    """

    _has_failed: bool
    """Whether the log of this flight cannot be written."""

    def __init__(
        self,
        simulation: Simulation,
        pilot: Pilot,
        file: Path,
        report: Callable[[str], None] = lambda text: None,
        **info: Any,
    ) -> None:
        self.files: list[Path] = []
        """The files of the flights; an incomplete one has the rows so far."""
        self.error: OSError | None = None
        """The first error of a file."""
        self.simulation, self._pilot = simulation, pilot
        self._file, self._report, self._info = logs.check_record_file(file), report, info
        self._flights = 0
        self._last: Sample | None = None
        self._begin()

    def __call__(self, sample: Sample) -> bool:
        if sample is not self._last:
            self._add(sample)
        return self._pilot(sample)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self._flights and len(self._recorder) > 1:
            self._attempt(self._open)
        self._attempt(self._end)
        if kind is None and self.error is not None:
            raise self.error

    def _attempt(self, write: Callable[[], None]) -> None:
        """Writes; after an error this flight has no log from here on."""
        if self._has_failed:
            return
        try:
            with uninterrupted():
                write()
        except OSError as error:
            self._has_failed = True
            if self._stream is not None:
                self._stream.close()
            self.error = self.error or error
            self._report(f"log: {error}; the flight goes on without it")

    def _begin(self) -> None:
        self._recorder = logs.FlightRecorder(self.simulation.parameters)
        self.simulation.host.stepped = self._recorder.stepped
        self._samples, self._due = 0, 0.0
        self._stream: logs.RecordStream | None = None
        self._has_failed = False

    def _open(self) -> None:
        self._flights += 1
        name = self._file.stem if self._flights == 1 else f"{self._file.stem}-{self._flights}"
        self._whole = self._file.with_stem(name)
        is_csv = self._file.suffix.lower() == ".csv"
        self._stream = logs.RecordStream(
            self._whole if is_csv else self._whole.with_suffix(".part.csv")
        )
        self.files.append(self._stream.path)

    def _end(self) -> None:
        """Completes the file of this flight."""
        if self._stream is None:
            return
        with self._stream as stream:
            self._write(stream, complete=True)
        self._stream = None
        if stream.path != self._whole:
            logs.write_record(self._whole, logs.read_record(stream.path))
            stream.path.unlink()
            self.files[-1] = self._whole

    def _add(self, sample: Sample) -> None:
        simulation = self.simulation
        if self._last is not None and sample.time <= self._last.time:
            self._attempt(self._end)
            self._begin()
        self._last = sample
        self._samples += 1
        samples = math.ceil(1.0 / (_RATE * simulation.period) - 1e-9)
        if self._samples < samples:
            return
        self._samples = 0
        voltage = simulation.uav.battery_voltage
        self._recorder.row(sample.time, sample, sample, voltage=voltage)
        if self._stream is None or self._has_failed:
            self._recorder.keep_last(round(_AT_REST / (samples * simulation.period)))
            if not (simulation.on_ground or self._has_failed):
                self._attempt(self._open)
        if self._stream is not None and sample.time >= self._due:
            self._due = sample.time + _WRITTEN
            self._attempt(partial(self._write, self._stream))

    def _write(self, stream: logs.RecordStream, complete: bool = False) -> None:
        """Writes the rows whose commands have acted, or all of them, and forgets them."""
        if not len(self._recorder):
            return
        record = self._recorder.record(self._info)
        acted = record.time + self.simulation.parameters.motor.command_delay <= record.time[-1]
        rows = len(record) if complete else int(acted.sum())
        stream.add(record, rows)
        self._recorder.keep_last(len(record) - rows)
