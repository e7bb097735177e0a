"""Gradients of propwash and of Crazyflow, by jax.grad, on one core, in turns.

python bench/peers/gradients.py [vehicles]

Prints a Markdown table of CPU time per vehicle and step: of a rollout, and of a rollout with the
gradient of the sum of all recorded positions and velocities with respect to all commands.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from run import ONE_CORE

os.environ.update(ONE_CORE)  # before jax starts

import jax
import jax.numpy as jnp
import numpy as np
import propwash as pw
from common import DT
from crazyflow.control import Control
from crazyflow.sim import functional
from peer_crazyflow import simulator

ROUNDS, COMMANDS, SUBSTEPS = 3, 32, 10


class Case(NamedTuple):
    """A simulator with one kind of commands."""

    simulator: str
    command: str
    plain: Callable[[], object]
    """A rollout."""
    both: Callable[[], object]
    """The same with its gradient."""


def rotor_speeds(n: int, hover: float) -> Any:
    """Commands near hover, which differ between vehicles and over time."""
    rng = np.random.default_rng(7)
    return hover * (1.0 + 0.01 * rng.standard_normal((COMMANDS, n, 4)))


def rates_and_thrust(n: int, hover: float) -> Any:
    """Body rates of some 0.1 rad/s, and the thrust of hover, in the last column."""
    command = 0.1 * np.random.default_rng(7).standard_normal((COMMANDS, n, 4))
    command[..., 3] = hover
    return command


def of_propwash(n: int) -> list[Case]:
    """Fleets of float64 and float32 numbers; both compute gradients in double."""
    cases = []
    for dtype in ("float64", "float32"):
        fleet = pw.Fleet("flightgoggles", n, dt=DT, dtype=dtype, noise=False, floor=0.0, threads=1)
        speeds = rotor_speeds(n, float(fleet.rotor_speeds.mean())).astype(dtype)
        rates = rates_and_thrust(n, 9.81 * float(fleet.parameters["mass"][0])).astype(dtype)
        cases += [
            propwash_case(fleet, "rotor speeds", pw.RotorSpeeds(speeds)),
            propwash_case(fleet, "rates and thrust", pw.RateThrust(rates[..., :3], rates[..., 3])),
        ]
    return cases


def propwash_case(fleet: pw.Fleet, name: str, command: pw.Command) -> Case:
    """A flight that starts 10 m above the floor."""

    def plain() -> object:
        fleet.reset(position=[0, 0, 10])
        return fleet.rollout(command, substeps=SUBSTEPS, record=("position", "velocity"))

    def both() -> object:
        fleet.reset(position=[0, 0, 10])
        _, pullback = fleet.vjp(command, substeps=SUBSTEPS)
        return pullback(position=1.0, velocity=1.0)

    return Case(f"propwash {pw.__version__}, fleet of {fleet.dtype}", name, plain, both)


def of_crazyflow(n: int) -> list[Case]:
    """Compiled by XLA for the CPU; with jax.checkpoint, the steps of a command are repeated."""
    return [
        crazyflow_case(n, control, uses_checkpoint)
        for control in (Control.rotor_vel, Control.body_rate)
        for uses_checkpoint in (False, True)
    ]


def crazyflow_case(n: int, control: Control, uses_checkpoint: bool) -> Case:
    """A flight that starts 10 m above the floor."""
    sim = simulator(n, control)
    states = sim.data.states
    start = sim.data.replace(states=states.replace(pos=states.pos.at[..., 2].set(10.0)))
    has_rates = control == Control.body_rate
    numbers = rates_and_thrust(n, 0.425) if has_rates else rotor_speeds(n, 15_000.0)  # N; rpm
    commands = jnp.asarray(numbers[:, :, None], dtype=states.pos.dtype)
    set_command = functional.body_rate_control if has_rates else functional.rotor_vel_control
    step = sim.build_step_fn()

    def advance(data: Any, command: Any) -> Any:
        data = step(set_command(data, command), n_steps=SUBSTEPS)
        return data, (data.states.pos, data.states.vel)

    def states_of(commands: Any) -> Any:
        f = jax.checkpoint(advance) if uses_checkpoint else advance
        return jax.lax.scan(f, start, commands)[1]

    def total(commands: Any) -> Any:
        position, velocity = states_of(commands)
        return position.sum() + velocity.sum()

    return Case(
        f"Crazyflow {version('crazyflow')}, {commands.dtype}"
        + ", with jax.checkpoint" * uses_checkpoint,
        "rates and thrust" if has_rates else "rotor speeds",
        run_of(jax.jit(states_of), commands),
        run_of(jax.jit(jax.value_and_grad(total)), commands),
    )


def run_of(compiled: Callable[[Any], Any], commands: Any) -> Callable[[], object]:
    """A call that waits for its result."""
    return lambda: jax.block_until_ready(compiled(commands))


def main() -> None:
    """Prints one row for each simulator and kind of command."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cases = of_propwash(n) + of_crazyflow(n)
    jax.config.update("jax_enable_x64", True)
    cases += of_crazyflow(n)
    times: list[list[tuple[float, float]]] = [[] for _ in cases]
    for _ in range(ROUNDS + 1):  # the first compiles
        for case, rows in zip(cases, times, strict=True):
            marks = [time.process_time()]
            for call in (case.plain, case.both):
                call()
                marks.append(time.process_time())
            rows.append((marks[1] - marks[0], marks[2] - marks[1]))
    steps = n * COMMANDS * SUBSTEPS
    print(f"{n} vehicles, {COMMANDS} commands of {SUBSTEPS} RK4 steps, one core\n")
    print("| simulator | command | rollout | with gradient | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    for case, rows in sorted(zip(cases, times, strict=True), key=lambda each: each[0].command):
        plain, both = (statistics.median(row[k] for row in rows[1:]) * 1e9 / steps for k in (0, 1))
        print(
            f"| {case.simulator} | {case.command} | {plain:,.0f} ns | {both:,.0f} ns "
            f"| {both / plain:.1f} |"
        )


if __name__ == "__main__":
    main()
