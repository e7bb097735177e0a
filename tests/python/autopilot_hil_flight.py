"""The real PX4 in its hardware-in-the-loop mode.

The simulator build of PX4 runs with the start script of its HIL mode: sensors and outputs pass
through `mavlink`, over a serial port or UDP. A build without lock step (the board configuration
px4_sitl_nolockstep) lives by the wall clock, as a board does. One with lock step has no clock: a
thread sends it the time, slower than the wall clock, so that a busy machine is fast enough; it does
not arm, as the module that receives the time claims the first gyroscope.
"""

from __future__ import annotations

import os
import pty
import shutil
import threading
import time
import tty
from pathlib import Path
from typing import Any, Literal

from autopilot_programs import Flight
from propwash.autopilot import (
    QUAD_X,
    Link,
    Loop,
    Px4,
    Px4Hil,
    SerialLink,
    Simulation,
    TcpLink,
    UdpLink,
    px4_hil_parameters,
)
from pymavlink.dialects.v20 import common as mavlink

SPEED = 0.25
"""Seconds of a PX4 with lock step in a second of the wall clock."""
_TICK = 2e-3
"""s of the wall clock, between two times that are sent."""
_PORT = 15_300
_SCRIPT = {
    "sensors start": "sensors start -h",
    "commander start": "commander start -h",
    "pwm_out_sim start -m sim": "pwm_out_sim start -m hil",
}
"""Lines of the start script for the simulator, and for HIL (rcS of PX4's boards)."""
_DEFAULTS = "; ".join(
    f"param set-default {name} {value}"
    for name, value in {"IMU_INTEG_RATE": 250, "EKF2_MULTI_IMU": 3, "SENS_IMU_MODE": 0}.items()
)
"""Instead of the script of the simulator's module, which only a build with lock step needs."""


class HilFlight(Flight):
    """A flight of PX4 in its HIL mode; arguments as for Flight.

    lockstep: whether PX4 is built with lock step.
    """

    def __init__(
        self,
        *arguments: Any,
        link: Literal["udp", "serial"],
        lockstep: bool = True,
        **options: Any,
    ) -> None:
        super().__init__("px4", *arguments, **options)
        self.parameters |= px4_hil_parameters()
        self._kind, self._lockstep = link, lockstep
        self._speed = SPEED if lockstep else 1.0
        self.received: dict[str, Any] = {}
        """The last message of PX4 of each type."""

    def receive(self, message: Any) -> None:
        """Also keeps the message."""
        super().receive(message)
        if message.get_srcComponent() == 1:
            self.received[message.get_type()] = message

    def command(self, command: int, *values: float) -> None:
        """Sends a COMMAND_LONG."""
        self._command(command, *values)

    def _start_simulator(self) -> None:
        simulation = Simulation(self._vehicle, QUAD_X["px4"], seed=self._seed, noise=self._noise)
        simulation.period = 1.0 / Px4.RATE
        self.codec = Px4Hil(
            seed=self._seed, noise=self._noise, report=self.reports.append, clock=self._now
        )
        link: Link
        if self._kind == "udp":
            port = _PORT + self._number
            self._by = f"-u {port + 100} -o {port}"
            link = UdpLink(port, is_peer=Px4Hil.is_mavlink)
        else:
            near, far = pty.openpty(), pty.openpty()
            self._by = f"-d {os.ttyname(far[1])} -b 921600"
            self._terminals = (*near, *far)
            for file in self._terminals:
                tty.setraw(file)
            threading.Thread(target=_copy, args=(near[0], far[0]), daemon=True).start()
            threading.Thread(target=_copy, args=(far[0], near[0]), daemon=True).start()
            link = SerialLink(os.ttyname(near[1]))
        self.loop = Loop(
            simulation,
            self.codec,
            link,
            report=self.reports.append,
            clock=self._now,
            sleep=lambda seconds: time.sleep(seconds / self._speed),
        )
        self._going, self._failed = True, ""
        self._clock = TcpLink(Px4.PORT + self._number)  # also reserves the number
        if self._lockstep:
            self._ticks = threading.Thread(target=self._send_time, daemon=True)
            self._ticks.start()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _stop_simulator(self) -> None:
        super()._stop_simulator()
        if self._lockstep:
            self._ticks.join()
        self._clock.close()

    def _now(self) -> float:
        return self._speed * time.monotonic()

    def _send_time(self) -> None:
        """Sends HIL_SENSOR without any sensor: its time only."""
        link, start = mavlink.MAVLink(None, 1, 200), self._now()
        while self._going:
            usec = round(1e6 * (self._now() - start)) + 1
            message = mavlink.MAVLink_hil_sensor_message(usec, *[0.0] * 13, 0)
            self._clock.send(message.pack(link))
            self._clock.receive(_TICK)

    def _start_program(self) -> None:
        etc = self._folder / "etc"
        shutil.copytree(self._binary.parents[1] / "etc", etc)
        script = etc / "init.d-posix/rcS"
        text = script.read_text()
        lines = _SCRIPT if self._lockstep else {**_SCRIPT, ". px4-rc.simulator": _DEFAULTS}
        for line, hil in lines.items():
            assert f"{line}\n" in text or f"{line};" in text, line
            text = text.replace(line, hil)
        script.write_text(text)
        links = etc / "init.d-posix/px4-rc.mavlink"
        links.write_text(f"{links.read_text()}\nmavlink start -x {self._by} -r 80000 -m onboard\n")
        self._etc: Path = etc
        super()._start_program()


def _copy(source: int, target: int) -> None:
    """Copies bytes from a terminal to another one until one is closed."""
    while True:
        try:
            os.write(target, os.read(source, 4096))
        except OSError:
            return
