"""Tuning of the rate loop: frequency responses, margins, automatic gains, sweeps of gains.

Plots need matplotlib (`pip install "propwash[tune]"`).

>>> from propwash import tune
>>> tuned = tune.autotune("flightgoggles", bandwidth=12.0, phase_margin=50.0)
>>> loop = tuned.loop()
>>> loop.margins(0).phase > 50.0
True
"""

from propwash.tune._autotune import RANGES, TuneError, Tuning, autotune, bandwidth_limit, design
from propwash.tune._controller import Controller, DifferenceEquations
from propwash.tune._loop import AXES, Gains, Margins, RateLoop, margins_of
from propwash.tune._plots import (
    allan_figure,
    bode_figure,
    filter_figure,
    nyquist_figure,
    pareto_figure,
    step_figure,
)
from propwash.tune._step import StepFigures, StepResponse, milliseconds, step_figures, step_response
from propwash.tune._sweep import RECORD_EVERY, Sweep, gain_sets, sweep
from propwash.viz import save

__all__ = [
    "AXES",
    "RANGES",
    "RECORD_EVERY",
    "Controller",
    "DifferenceEquations",
    "Gains",
    "Margins",
    "RateLoop",
    "StepFigures",
    "StepResponse",
    "Sweep",
    "TuneError",
    "Tuning",
    "allan_figure",
    "autotune",
    "bandwidth_limit",
    "bode_figure",
    "design",
    "filter_figure",
    "gain_sets",
    "margins_of",
    "milliseconds",
    "nyquist_figure",
    "pareto_figure",
    "save",
    "step_figure",
    "step_figures",
    "step_response",
    "sweep",
]
