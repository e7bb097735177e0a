"""`python -m propwash tune`: finds gains of the rate loop and plots margins and responses."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from propwash import tune, viz
from propwash._files import check_folder, written_whole
from propwash.autopilot import FirmwareLoop, settings_file
from propwash.cli._options import add_command, check_range, option
from propwash.tune import RANGES, milliseconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ProgramName = Literal["betaflight", "px4", "ardupilot"]
_MARGINS = {"phase_margin": 50.0, "gain_margin": 6.0}
"""Default margins, deg and dB."""
_RATE = 960.0
"""Hz, default."""
_MIN_RATE = 20.0
"""Hz: a step response lasts 1 s and needs at least 20 samples."""
_MIN_RATE_SWEEP = 240.0
"""Hz: a flight of a sweep lasts 2 s and needs at least 60 recorded rows."""


@dataclass
class TuneOptions:
    """Options of the command."""

    vehicle: str = option("a name or a TOML file", "flightgoggles", positional=True, nargs="?")
    bandwidth: float | None = option(
        "closed loop, -3 dB (default: 0.8 times the lowest limit of an axis)", metavar="HZ"
    )
    phase_margin: float | None = option(
        f"minimum (default: {_MARGINS['phase_margin']:g})", metavar="DEG"
    )
    gain_margin: float | None = option(
        f"minimum (default: {_MARGINS['gain_margin']:g})", metavar="DB"
    )
    rate: float = option("controller rate", _RATE, metavar="HZ")
    present: bool = option("show the vehicle's present gains instead", False)
    firmware: ProgramName | None = option(
        "gains for the rate controller of this program instead, at its own rate, and the file of "
        "its parameters for the vehicle (docs/autopilot.md)"
    )
    own_spins: bool = option("with --firmware: keep the rotor spins of the vehicle", False)
    sweep: int | None = option(
        "then fly N sets of gains around these under noise, plot the Pareto front, and write the "
        "vehicle with the set that weighs error and noise equally",
        metavar="N",
    )
    threads: int | None = option("for the sweep (default: all processors)")
    out: Path = option("for the plots and the vehicle file", Path("tune"), metavar="FOLDER")
    no_plots: bool = option("print only, write no files", False)


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "find gains of the rate loop and show their margins (docs/tune.md)"
    add_command(commands, "tune", about, TuneOptions, run)


def run(options: TuneOptions) -> None:
    """Runs the command."""
    _check(options)
    if options.firmware is not None:
        _run_firmware(options, options.firmware)
        return
    dt = 1.0 / options.rate
    if options.present:
        loop = tune.RateLoop(options.vehicle, dt)
        x, y, z = (loop.margins(axis) for axis in range(3))
        found = tune.Tuning(loop.vehicle, dt, (x, y, z))
        print(f"{found.vehicle.name}: present gains, at {options.rate:g} Hz")
    else:
        margins = _margins(options)
        try:
            found = tune.autotune(options.vehicle, options.bandwidth, **margins, dt=dt)
        except tune.TuneError as error:
            raise tune.TuneError(error.for_command()) from None
        bandwidth = options.bandwidth or min(each.bandwidth for each in found.margins)
        print(
            f"{found.vehicle.name}: bandwidth {bandwidth:.3g} Hz, phase margin at least "
            f"{margins['phase_margin']:g} deg, at {options.rate:g} Hz"
        )
    print(found.table())
    responses = [tune.step_response(found.vehicle, axis, dt=dt) for axis in range(3)]
    print("\nsteps of 0.5 rad/s without noise")
    print("axis        rise time   overshoot    settled (2 %)    end")
    for response in responses:
        s, duration = response.figures, float(response.time[-1])
        rise, settled = (milliseconds(each, duration) for each in (s.rise_time, s.settling_time))
        print(
            f"{tune.AXES[response.axis]:4s} {rise:>16s} {100 * s.overshoot:9.1f} % {settled:>16s} "
            f"{100 * s.final:6.1f} %"
        )
    swept = _swept(options, options.sweep, found, dt) if options.sweep is not None else None
    if not options.no_plots:
        _write_tuning(options, found, responses, swept)


def _margins(options: TuneOptions) -> dict[str, float]:
    return {
        name: default if getattr(options, name) is None else getattr(options, name)
        for name, default in _MARGINS.items()
    }


def _run_firmware(options: TuneOptions, program: ProgramName) -> None:
    """Designs the gains of a program, prints them, and writes plots and its parameters."""
    try:
        loop = FirmwareLoop(
            program,
            options.vehicle,
            options.own_spins,
            bandwidth=options.bandwidth,
            **_margins(options),
        )
    except tune.TuneError as error:
        raise tune.TuneError(error.for_command()) from None
    name = loop.vehicle.name
    suffix, text = settings_file(loop)
    print(f"{name}: gains of {program}, at {1.0 / loop.dt:g} Hz")
    print(loop.table())
    print("\naxis           P          I          D   in units of the program")
    for axis, numbers in enumerate(loop.numbers):
        print(f"{tune.AXES[axis]:4s} " + " ".join(f"{number:10.4g}" for number in numbers))
    print("\nlinear steps\naxis        rise time   overshoot")
    for axis in range(3):
        time, rate = loop.step(axis)
        shown = tune.step_figures(time, rate, 1.0)
        rise = milliseconds(shown.rise_time, float(time[-1]))
        print(f"{tune.AXES[axis]:4s} {rise:>16s} {100 * shown.overshoot:9.1f} %")
    if not options.no_plots:
        _write(options.out, _loop_figures(loop), {f"{_file_name(name)}{suffix}": text})


def _check(options: TuneOptions) -> None:
    """Checks the options before any computation."""
    if options.firmware is None:
        if options.own_spins:
            raise ValueError("--own-spins: expected with --firmware; add it")
    elif options.present or options.sweep is not None or options.rate != _RATE:
        raise ValueError(
            "--firmware: expected without --present, --sweep and --rate, which are those of "
            "propwash's own rate controller; omit them"
        )
    check_range("sweep", options.sweep, 1, 1_000_000)
    low = _MIN_RATE if options.sweep is None else _MIN_RATE_SWEEP
    if not low <= options.rate <= 1e6:
        why = "" if options.sweep is None else " with --sweep"
        raise ValueError(f"--rate: expected from {low:g} to 1e6 Hz{why}, got {options.rate:g}")
    _check_margins(options)
    if options.threads is not None and options.sweep is None:
        raise ValueError("--threads: expected with --sweep N, which alone uses threads")
    if options.threads is not None and options.threads < 0:
        raise ValueError(
            f"--threads: expected a number of threads, or 0 for all processors, got "
            f"{options.threads}"
        )
    if not options.no_plots:
        viz.require_matplotlib()
        check_folder(options.out)


def _check_margins(options: TuneOptions) -> None:
    for name in ("bandwidth", *_MARGINS):
        value, option = getattr(options, name), f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if options.present:
            raise ValueError(f"{option}: expected without --present, which does not tune")
        low, high = RANGES.get(name, (0.0, 0.25 * options.rate))
        if low < value < high:
            continue
        until = f"a quarter of --rate, {high:g} Hz" if name == "bandwidth" else f"{high:g}"
        raise ValueError(f"{option}: expected above {low:g} and below {until}, got {value:g}")


def _swept(options: TuneOptions, count: int, found: tune.Tuning, dt: float) -> tune.Sweep:
    sets = tune.gain_sets(found.vehicle, count, dt=dt, about=found.gains)
    swept = tune.sweep(found.vehicle, sets, dt=dt, threads=options.threads or 0)
    best = swept.best()
    print(f"\n{len(swept)} sets of gains simulated for 2 s under noise, {swept.lost.sum()} lost")
    print(f"{len(swept.pareto())} on the Pareto front; the best for equal weights:")
    for name in ("proportional", "integral", "derivative"):
        row = "  ".join(f"{x:9.4g}" for x in getattr(swept, name)[best])
        print(f"  {name:13s}{row}")
    print(
        f"  error {100 * swept.score[best]:.1f} % of the step, noise in the rotors' command "
        f"{swept.effort[best]:.2f} rad/s"
    )
    return swept


def _file_name(vehicle: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", vehicle)


def _loop_figures(loop: tune.RateLoop) -> dict[str, Figure]:
    return {
        **{f"bode_{tune.AXES[i]}.png": tune.bode_figure(loop, i) for i in range(3)},
        "nyquist.png": tune.nyquist_figure(loop),
        "filter.png": tune.filter_figure(loop),
    }


def _write_tuning(
    options: TuneOptions,
    found: tune.Tuning,
    responses: list[tune.StepResponse],
    swept: tune.Sweep | None,
) -> None:
    name = found.vehicle.name
    figures = _loop_figures(found.loop())
    figures["step.png"] = tune.step_figure(responses, f"{name}: simulated steps")
    texts = {}
    if not options.present:
        texts[f"{_file_name(name)}.toml"] = found.vehicle.to_toml()
    if swept is not None:
        figures["pareto.png"] = tune.pareto_figure(swept, swept.best())
        texts["swept.toml"] = swept.tuned(swept.best()).to_toml()
    _write(options.out, figures, texts)


def _write(folder: Path, figures: dict[str, Figure], texts: dict[str, str]) -> None:
    """Writes all files or none."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as whole:
            for file, figure in figures.items():
                tune.save(figure, whole.enter_context(written_whole(folder / file)))
            for file, text in texts.items():
                part = whole.enter_context(written_whole(folder / file))
                part.write_text(text, encoding="utf-8")
    except BaseException:
        for empty in made:
            if not any(empty.iterdir()):
                empty.rmdir()
        raise
    print(f"\nwrote {', '.join([*figures, *texts])} to {folder}")
