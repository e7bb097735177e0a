"""`python -m propwash autopilot px4` (docs/px4.md)."""

from __future__ import annotations

import argparse
import shlex

from propwash.autopilot import Home, Loop, Px4, TcpLink, px4_parameters
from propwash.cli import autopilot
from propwash.cli._shared import check_range
from propwash.cli.autopilot import report

HELP = "PX4's simulator build, over TCP in lock step (docs/px4.md)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of PX4."""
    autopilot.add_lockstep(parser, Px4.PORT, "TCP")
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        help="simulated seconds per second; 0: as fast as PX4 answers (default: %(default)s)",
    )
    parser.add_argument(
        "--rate", type=float, default=Px4.RATE, help="Hz, of HIL_SENSOR (default: %(default)s)"
    )
    parser.add_argument(
        "--home",
        type=float,
        nargs=3,
        metavar=("LATITUDE", "LONGITUDE", "ALTITUDE"),
        default=(Home.latitude_deg, Home.longitude_deg, Home.altitude),
        help="degrees, degrees, m, of the start (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    autopilot.check_speed(options.speed)
    autopilot.check_patience(options)
    check_range("rate", options.rate, 100.0, 1000.0)
    for name, value, limit in zip(
        ("latitude", "longitude", "altitude"), options.home, (90.0, 180.0, 10_000.0), strict=True
    ):
        check_range(f"home, {name}", value, -limit, limit)
    simulation = autopilot.make_simulation(options, "px4", options.rate)
    parameters = px4_parameters(simulation.parameters, options.own_spins)
    text = "".join(f"export PX4_PARAM_{name}={value:.10g}\n" for name, value in parameters.items())
    if options.config:
        print(text, end="")
        return
    codec = Px4(
        len(simulation.motor_map.order),
        Home(*options.home),
        seed=options.seed,
        noise=not options.no_noise,
        refused=autopilot.reporting(),
    )
    loop = Loop(
        simulation,
        codec,
        TcpLink(options.port, options.host),
        rate=options.speed or None,
        lockstep=True,
        patience=options.patience,
        unanswered="step",
        report=report,
    )
    file = autopilot.write_settings(options, "vehicle.sh", text)
    name = shlex.quote(str(file))
    report(f"start PX4 with the parameters of the vehicle: . {name} && make px4_sitl none_iris")
    hint = "; a PX4 that was connected before does not connect again: start it anew"
    autopilot.run_until(loop, options, f"does PX4 use the parameters in {file}?", hint)
