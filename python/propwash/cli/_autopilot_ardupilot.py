"""`python -m propwash autopilot ardupilot` (docs/ardupilot.md)."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from propwash.autopilot import ArduPilot, FirmwareLoop, Loop, UdpLink, settings_file
from propwash.cli import autopilot
from propwash.cli._options import option
from propwash.cli.autopilot import FOLDER, LockstepOptions, report

HELP = "ArduPilot's simulator, over UDP in lock step (docs/ardupilot.md)"


@dataclass
class ArduPilotOptions(LockstepOptions):
    """Options of ArduPilot."""

    folder: Path = option(FOLDER, Path("ardupilot"))
    port: int = option("UDP port", ArduPilot.PORT)


OPTIONS = ArduPilotOptions


def run(options: ArduPilotOptions) -> None:
    """Runs the command."""
    simulation = autopilot.make_simulation(options, "ardupilot", ArduPilot.RATE)
    _, text = settings_file(FirmwareLoop("ardupilot", simulation.parameters, options.own_spins))
    if options.config:
        print(text, end="")
        return
    codec = ArduPilot(len(simulation.motor_map.order), refused=autopilot.reporting())
    loop = Loop(
        simulation,
        codec,
        UdpLink(options.port, host=options.host, is_peer=ArduPilot.is_servo_packet),
        rate=None,
        lockstep=True,
        patience=options.patience,
        unanswered="wait",
        report=report,
    )
    file = autopilot.write_settings(options, "vehicle.parm", text)
    report(
        "start ArduPilot with the parameters of the vehicle: sim_vehicle.py -v ArduCopter "
        f"-f JSON:127.0.0.1 -w --add-param-file={shlex.quote(str(file))}"
    )
    autopilot.run_until(loop, options, f"does ArduPilot use the parameters in {file}?")
