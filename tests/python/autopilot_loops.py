"""Loops of a simulated vehicle with the codecs of PX4 and ArduPilot."""

from __future__ import annotations

from typing import Any

from propwash.autopilot import QUAD_X, ArduPilot, Loop, Px4, Simulation


def px4_loop(link: Any, noise: bool = True, **options: Any) -> Loop:
    """A loop with PX4 at 250 Hz, as fast as it answers."""
    simulation = Simulation("flightgoggles", QUAD_X["px4"], seed=1, noise=noise)
    simulation.period = 1.0 / 250.0
    codec = Px4(seed=1, noise=noise)
    options = {"rate": None, "unanswered": "step"} | options
    return Loop(simulation, codec, link, lockstep=True, **options)


def ardupilot_loop(link: Any, **options: Any) -> Loop:
    """A loop with ArduPilot, as fast as it answers."""
    simulation = Simulation("flightgoggles", QUAD_X["ardupilot"], seed=1)
    options = {"rate": None, "unanswered": "wait"} | options
    return Loop(simulation, ArduPilot(), link, lockstep=True, **options)
