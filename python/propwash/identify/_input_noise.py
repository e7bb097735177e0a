"""Noise of measured rotor speeds and of commands: errors in variables.

Noise in the inputs of a model biases a fit: torques and thrusts of noisy speeds vary more than the
true ones, so that their coefficients shrink, and moments of inertia grow. Regression calibration
(Carroll et al., "Measurement Error in Nonlinear Models", chapter 4) replaces the inputs by their
expected values given all that was measured, whose remaining errors do not correlate with them. For
stationary signals in white noise the non-causal Wiener filter gives these values. The filter is
multivariate, because the sums and differences of rotors (thrust, roll, pitch, yaw) have different
spectra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LENGTHS = (256, 128, 64)
"""Rows of a segment whose spectrum is averaged: the longest with eight segments."""
_MIN_SEGMENTS = 8
_SMOOTHING = 2
"""Bins on each side over which the spectrum is averaged; at high frequencies a third of them."""
_NOISE_BAND = 0.6
"""Fraction of the spectrum above which the lag of the motors leaves noise only."""


def expected(values: Array, rows: slice, deviation: float | None = None) -> Array:
    """Returns the expected true values of noisy inputs (K, N) at equal intervals.

    rows: Those in the air, whose spectrum is that of the signal.
    deviation: Standard deviation of white noise; None: estimated from high frequencies, at which
        the motors' lag leaves no signal.
    """
    flown = values[rows]
    length = next((n for n in _LENGTHS if len(flown) >= 0.5 * n * (_MIN_SEGMENTS + 1)), 0)
    if deviation == 0.0 or length == 0:
        return values
    spectrum = _spectrum(flown, length)
    power, modes = np.linalg.eigh(spectrum)
    high = power[round(_NOISE_BAND * len(power)) :]
    variance = float(np.median(high.mean(axis=1))) if deviation is None else deviation**2
    gain = np.maximum(1.0 - variance / np.maximum(power, 1e-300), 0.0)
    response = np.einsum("fij,fj,fkj->fik", modes, gain, modes.conj())
    kernel = np.roll(np.fft.irfft(response, length, axis=0), length // 2, axis=0)
    kernel = np.concatenate([kernel, kernel[:1]]) * np.hanning(length + 1)[:, None, None]
    mean = flown.mean(axis=0)
    return np.asarray(mean + _filtered(values - mean, kernel))


def _spectrum(values: Array, length: int) -> NDArray[np.complex128]:
    """(F, N, N) spectral density of (K, N) values; white noise has its variance."""
    window = np.hanning(length + 1)[:length, np.newaxis]
    starts = range(0, len(values) - length + 1, length // 2)
    segments = np.stack([values[k : k + length] for k in starts])
    segments = segments - segments.mean(axis=1, keepdims=True)
    lines = np.fft.rfft(segments * window, axis=1)
    density = np.einsum("sfi,sfj->fij", lines, lines.conj()) / (len(segments) * np.sum(window**2))
    density[:2] = density[2]  # without the mean
    bins = np.arange(len(density))
    width = np.maximum(_SMOOTHING, bins // 3)
    first, last = np.maximum(bins - width, 0), np.minimum(bins + width, bins[-1]) + 1
    sums = np.concatenate([np.zeros((1, *density.shape[1:])), np.cumsum(density, axis=0)])
    return np.asarray((sums[last] - sums[first]) / (last - first)[:, np.newaxis, np.newaxis])


def _filtered(values: Array, kernel: Array) -> Array:
    """Convolves (K, N) values with a centred kernel (L, N, N); the ends are reflected."""
    half = len(kernel) // 2
    padded = np.pad(values, ((half, half), (0, 0)), "reflect", reflect_type="odd")
    result = np.zeros_like(values)
    for i in range(values.shape[1]):
        for j in range(values.shape[1]):
            result[:, i] += np.convolve(padded[:, j], kernel[:, i, j], "same")[
                half : half + len(values)
            ]
    return result
