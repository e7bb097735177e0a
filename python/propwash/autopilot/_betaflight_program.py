"""Starts Betaflight's simulator build, and starts it again where its main loop does not run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from propwash.autopilot._firmware import IDLE, FirmwareLoop
from propwash.autopilot._links import LOOPBACK, Link
from propwash.autopilot._parameters import betaflight_lines, firmware_parameters
from propwash.autopilot._simulated_clock import SimulatedClock
from propwash.vehicle import VehicleParameters

_ATTEMPTS = 20
_START_TIME = 5.0  # s, for the first packet
_CONFIGURATION_TIME = 60.0  # s, to write eeprom.bin
_GYRO_RATE = 1000  # Hz, of the simulator build's gyroscope
_CONFIGURATION = """\
# Betaflight SITL for the propwash vehicle {name!r}
set motor_pwm_protocol = PWM
set motor_idle = {idle}
set pid_process_denom = {denominator}
set yaw_motors_reversed = {reversed}
set gyro_calib_noise_limit = 0
set acc_calibration = 0,0,0,1
set failsafe_delay = 200
set failsafe_throttle_low_delay = 300
rxfail 0 h
rxfail 1 h
rxfail 2 h
rxfail 3 h
aux 0 0 0 1700 2100 0 0
aux 1 1 1 1700 2100 0 0
rateprofile 0
set rates_type = ACTUAL
set roll_rc_rate = 20
set pitch_rc_rate = 20
set yaw_rc_rate = 20
set roll_srate = 20
set pitch_srate = 20
set yaw_srate = 20
"""


def configuration(
    vehicle: VehicleParameters, own_spins: bool = False, sync: int | None = None
) -> str:
    """The command-line settings with which Betaflight flies a vehicle.

    Switch 1 arms, switch 2 selects angle mode; full sticks are 200 deg/s in rate mode.

    own_spins: whether the rotors spin opposite to Betaflight's table, outwards at the front.
    sync: state packets per second of a build that runs one control step for each.
    """
    text = _CONFIGURATION.format(
        name=vehicle.name,
        idle=round(1e4 * IDLE),
        reversed="ON" if own_spins else "OFF",
        denominator=1 if sync is None else round(_GYRO_RATE / sync),
    )
    return text + betaflight_lines(firmware_parameters(FirmwareLoop("betaflight", vehicle)))


class Program:
    """A running Betaflight; `close()` ends it.

    path: the program, obj/main/betaflight_SITL.elf after `make TARGET=SITL`.
    folder: its working directory, with eeprom.bin and betaflight.log.
    settings: text of `configuration()`, written to eeprom.bin first; None keeps that file.
    clock: the program's clock; None for that of the wall.

    Raises OSError without a program that can be executed, ValueError for settings that it rejects.
    """

    def __init__(
        self,
        path: Path,
        folder: Path,
        settings: str | None = None,
        clock: SimulatedClock | None = None,
    ) -> None:
        self.check_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._folder, self._clock = path.resolve(), folder, clock
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        """Number of times the program was started."""
        if settings is not None:
            self._configure(settings)

    @staticmethod
    def check_path(path: Path) -> None:
        """Raises FileNotFoundError or PermissionError unless `path` is a program."""
        expected = (
            f"--program {path}: expected Betaflight's program, such as "
            "obj/main/betaflight_SITL.elf after `make TARGET=SITL`"
        )
        if not path.is_file():
            raise FileNotFoundError(f"{expected}, found none")
        if not os.access(path, os.X_OK):
            raise PermissionError(f"{expected}, this file cannot be executed")

    def start(
        self, link: Link, host: str = LOOPBACK, report: Callable[[str], None] = lambda text: None
    ) -> None:
        """Starts the program and returns when its main loop runs.

        Betaflight's scheduler skips the gyroscope and control tasks for ever, if at its start they
        are late by more than a period of 1 ms. A main loop that runs sends one packet of motor
        outputs by itself; without it the program is ended and started again.

        Raises OSError if it ends by itself or never runs.
        """
        log = self._folder / "betaflight.log"
        variables = {} if self._clock is None else self._clock.environment
        for attempt in range(1, _ATTEMPTS + 1):
            while link.receive(0.0) is not None:
                pass
            if self._clock is not None:
                self._clock.restart()
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    [self._path, "--ip", host],
                    cwd=self._folder,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **variables},
                )
            self.starts += 1
            end = time.monotonic() + _START_TIME
            while time.monotonic() < end and self._process.poll() is None:
                if link.receive(0.1) is not None:
                    return
            self.check()
            self.close()
            report(f"Betaflight's main loop did not start, attempt {attempt}; starting it again")
        raise OSError(
            f"{self._path}: expected a motor packet at its start, got none in {_ATTEMPTS} "
            f"attempts; read {log}"
        )

    def check(self) -> None:
        """Raises OSError if the program was started and has ended by itself."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            raise OSError(
                f"{self._path}: expected a program that keeps running, but it ended with code "
                f"{code}; read {self._folder / 'betaflight.log'}"
            )

    def close(self) -> None:
        """Ends the program."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def _configure(self, settings: str) -> None:
        file = self._folder / "betaflight.txt"
        file.write_text(settings, encoding="utf-8")
        (self._folder / "eeprom.bin").unlink(missing_ok=True)
        try:
            done = subprocess.run(
                [self._path, "--config", file.resolve()],
                cwd=self._folder,
                capture_output=True,
                timeout=_CONFIGURATION_TIME,
                check=False,
            )
        except subprocess.TimeoutExpired:
            detail = f"a program that does not end within {_CONFIGURATION_TIME:.0f} s"
        else:
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
            errors = [line for line in output.splitlines() if "###ERROR" in line]
            if done.returncode == 0 and not errors and (self._folder / "eeprom.bin").is_file():
                return
            last = " ".join(output[-300:].split()) or f"no eeprom.bin, code {done.returncode}"
            detail = "; ".join(errors) or last
        raise ValueError(
            f"{file}: expected settings that {self._path.name} accepts, got {detail}; "
            "write them by hand and pass --keep-settings"
        )
