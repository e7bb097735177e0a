"""Detects oscillations of a vehicle that a flight controller flies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from propwash.autopilot._loop import Pilot
from propwash.autopilot._simulation import Sample, Simulation

Array = NDArray[np.float64]

_WINDOW = 2.0
"""s of flight that are evaluated at once."""
_FREQUENCY = 2.0
"""Hz, lowest frequency of an oscillation; flights by sticks or setpoints are slower."""
_RATE = 1.0
"""rad/s, standard deviation of a body rate above which it oscillates."""
_OUTPUT = 0.2
"""Standard deviation of a motor's output about the mean of all motors, likewise."""


class OscillationMonitor:
    """A pilot that reports an oscillation, once, before another one decides on the sample.

    advice: end of the message.
    """

    def __init__(
        self, simulation: Simulation, pilot: Pilot, report: Callable[[str], None], advice: str
    ) -> None:
        self._simulation, self._pilot = simulation, pilot
        self._report, self._advice = report, advice
        self._window: list[Sample] = []
        self._reported = False

    def __call__(self, sample: Sample) -> bool:
        if not self._reported:
            self._add(sample)
        return self._pilot(sample)

    def _add(self, sample: Sample) -> None:
        window = self._window
        if window and sample.time <= window[-1].time:  # the same sample again, or a new flight
            if sample is not window[-1]:
                window.clear()
            return
        if self._simulation.on_ground:
            window.clear()
            return
        window.append(sample)
        duration = sample.time - window[0].time
        if duration < _WINDOW:
            return
        found = oscillations(window)
        window.clear()
        if found:
            self._reported = True
            self._report(f"oscillation at {sample.time:.1f} s: {'; '.join(found)}; {self._advice}")


def oscillations(samples: list[Sample]) -> list[str]:
    """Quantities that oscillate over samples at equal intervals, with deviation and frequency."""
    duration = samples[-1].time - samples[0].time
    rates = np.array([sample.body_rates for sample in samples])
    outputs = np.array([sample.motors for sample in samples])
    outputs = outputs - outputs.mean(axis=1, keepdims=True)
    worst = int(np.argmax(outputs.std(axis=0)))
    signals = [
        ("roll rate", rates[:, 0], _RATE, "rad/s "),
        ("pitch rate", rates[:, 1], _RATE, "rad/s "),
        ("yaw rate", rates[:, 2], _RATE, "rad/s "),
        ("motor outputs", outputs[:, worst], _OUTPUT, ""),
    ]
    found = []
    for name, values, limit, unit in signals:
        centred = values - values.mean()
        frequency = np.count_nonzero(np.diff(np.sign(centred))) / (2.0 * duration)
        deviation = float(centred.std())
        if deviation > limit and frequency >= _FREQUENCY:
            found.append(f"{name} ±{deviation:.2g} {unit}at {frequency:.0f} Hz")
    return found
