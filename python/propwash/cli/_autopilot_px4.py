"""`python -m propwash autopilot px4` (docs/px4.md)."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from propwash.autopilot import Home, Loop, Px4, TcpLink, px4_parameters
from propwash.cli import autopilot
from propwash.cli._options import check_range, option
from propwash.cli.autopilot import FOLDER, LockstepOptions, report

HELP = "PX4's simulator build, over TCP in lock step (docs/px4.md)"


@dataclass
class Px4Options(LockstepOptions):
    """Options of PX4."""

    folder: Path = option(FOLDER, Path("px4"))
    port: int = option("TCP port", Px4.PORT)
    speed: float = option("simulated seconds per second; 0: as fast as PX4 answers", 1.0)
    rate: float = option("Hz, of HIL_SENSOR", Px4.RATE, low=100.0, high=1000.0)
    home: tuple[float, float, float] = option(
        "degrees, degrees, m, of the start",
        (Home.latitude_deg, Home.longitude_deg, Home.altitude),
        metavar=("LATITUDE", "LONGITUDE", "ALTITUDE"),
    )


OPTIONS = Px4Options


def run(options: Px4Options) -> None:
    """Runs the command."""
    autopilot.check_speed(options.speed)
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
