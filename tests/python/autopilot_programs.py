"""Flights of the real ArduCopter and PX4: the program, the simulated vehicle, a MAVLink client."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from propwash import vehicles
from propwash.autopilot import (
    QUAD_X,
    ArduPilot,
    Loop,
    Px4,
    Sample,
    Simulation,
    TcpLink,
    UdpLink,
    ardupilot_parameters,
    px4_parameters,
)
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

HEIGHT, NORTH = 3.0, 5.0  # m
WALL = 900.0  # s, after which a program that does not advance has failed
_GUIDED, _LAND = 4, 9  # modes of ArduCopter
_OFFBOARD, _AUTO_LAND = 6 << 16, 4 << 16 | 6 << 24  # modes of PX4
# as sim_vehicle.py sets them: a calibrated accelerometer, a barometer without noise
_SIM_VEHICLE = {f"INS_ACC{n}OFFS_{axis}": 0.001 for n in ("", 2) for axis in "XYZ"}
_SIM_VEHICLE["SIM_BARO_RND"] = 0.0
_BUSY = {"COM_OF_LOSS_T": 10.0}  # s, for setpoints that are late on a busy machine


def _free_instance(first_port: int, step: int, kind: socket.SocketKind) -> int:
    """A number of an instance whose port is free."""
    for number in range(3, 30):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", first_port + step * number))
            except OSError:
                continue
            return number
    raise OSError(f"expected a free port {first_port} + {step} n")


class Flight:
    """A program that flies a vehicle; a context manager.

    folder: empty, for the files of the program. parameters: beside those for the vehicle.
    """

    rate: float | None = None
    """Simulated seconds in one of the wall clock; None: as fast as the program answers."""

    def __init__(
        self,
        program: str,
        binary: Path,
        vehicle: str,
        folder: Path,
        *,
        seed: int = 1,
        noise: bool = True,
        parameters: dict[str, float] | None = None,
    ) -> None:
        self.program, self.samples = program, list[Sample]()
        self.messages: list[str] = []
        self.reports: list[str] = []
        self.schedule: list[tuple[float, Callable[[], None]]] = []
        """Times, s, and what happens then, in the thread of the simulation."""
        self._folder, self._binary = folder, binary
        self._closed = ExitStack()
        self._vehicle, self._seed, self._noise = vehicle, seed, noise
        own = px4_parameters if program == "px4" else ardupilot_parameters
        self.parameters = {**own(vehicles.load(vehicle)), **(parameters or {})}
        self.target: NDArray[np.float64] | None = None
        """m, north, east, down: the position that PX4 is sent."""
        self._beat = 0.0
        self._etc = binary.parents[1] / "etc"

    def __enter__(self) -> Self:
        is_px4 = self.program == "px4"
        kind = socket.SOCK_STREAM if is_px4 else socket.SOCK_DGRAM
        port, step = (Px4.PORT, 1) if is_px4 else (ArduPilot.PORT, 10)
        self._number = _free_instance(port, step, kind)
        self._start_simulator()
        self._closed.callback(self._stop_simulator)
        try:
            self._start_program()
            self._closed.callback(self._stop_program)
        except BaseException:
            self._closed.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.close()

    @property
    def time(self) -> float:
        """s, simulated."""
        return self.loop.simulation.sample.time

    # --- programs

    def _start_simulator(self) -> None:
        simulation = Simulation(
            self._vehicle, QUAD_X[self.program], seed=self._seed, noise=self._noise
        )
        options: dict[str, Any] = {
            "rate": self.rate,
            "lockstep": True,
            "report": self.reports.append,
        }
        if self.program == "px4":
            simulation.period = 1.0 / Px4.RATE
            server = TcpLink(Px4.PORT + self._number)
            codec = Px4(seed=self._seed, noise=self._noise)
            self.loop = Loop(simulation, codec, server, unanswered="step", patience=1.0, **options)
        else:
            simulation.period = 1.0 / ArduPilot.RATE
            port = ArduPilot.PORT + 10 * self._number
            link = UdpLink(port, is_peer=ArduPilot.is_servo_packet)
            self.loop = Loop(simulation, ArduPilot(), link, unanswered="wait", **options)
        self._going, self._failed = True, ""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        def pilot(sample: Sample) -> bool:
            if not self.samples or sample is not self.samples[-1]:
                self.samples.append(sample)
            while self.schedule and sample.time >= self.schedule[0][0]:
                self.schedule.pop(0)[1]()
            self.before_step(sample)
            return self._going

        try:
            self.loop.run(pilot)
        except BaseException as error:
            self._failed = repr(error)
            raise

    def before_step(self, sample: Sample) -> None:
        """In the thread of the simulation, before each of its steps."""

    def _stop_simulator(self) -> None:
        self._going = False
        self._thread.join()
        self.loop.link.close()

    def restart_simulator(self) -> None:
        """Ends the simulation and starts another one, while the program runs."""
        self._stop_simulator()
        self._start_simulator()

    def _start_program(self) -> None:
        n, binary = self._number, str(self._binary)
        variables: dict[str, str] = {}
        if self.program == "px4":
            etc = self._etc
            command = [binary, "-d", "-i", str(n), str(etc)]
            variables = {
                f"PX4_PARAM_{k}": f"{v:.10g}" for k, v in {**_BUSY, **self.parameters}.items()
            }
            variables |= {"PX4_SIM_MODEL": "none_iris", "PX4_SIMULATOR": "none"}
            address = f"udpin:127.0.0.1:{14540 + n}"
        else:
            values = {**_SIM_VEHICLE, **self.parameters}
            text = "".join(f"{name} {value:.10g}\n" for name, value in values.items())
            (self._folder / "vehicle.parm").write_text(text)
            command = [binary, "-w", "--model", "JSON:127.0.0.1", "-I", str(n), "--speedup", "10"]
            command += ["--defaults", "vehicle.parm", "--home", "42.36,-71.09,0,90"]
            address = f"tcp:127.0.0.1:{5760 + 10 * n}"
        with (self._folder / "program.log").open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self._folder,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._closed.callback(self.process.kill)
        self._armed, self._mode, self._place = False, -1, np.full(3, np.nan)
        self._connect(address)

    def _stop_program(self) -> None:
        self.process.kill()
        self.process.wait()
        self.link.close()

    def restart_program(self) -> None:
        """Kills the program and starts it again, while the simulation runs."""
        self._stop_program()
        self._start_program()

    # --- MAVLink

    def _connect(self, address: str) -> None:
        end = time.monotonic() + WALL
        while True:
            try:
                with redirect_stdout(io.StringIO()):  # it prints that it waits
                    self.link = mavutil.mavlink_connection(address, source_system=255)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def until(
        self, condition: Callable[[], bool], seconds: float, ask: Callable[[], None] | None = None
    ) -> bool:
        """Whether a condition comes true within simulated seconds; asks again each second of it."""
        start, asked, end = self.time, -np.inf, time.monotonic() + WALL
        while not condition():
            if self.time - start > seconds:
                return False
            if time.monotonic() > end or self._failed or self.process.poll() is not None:
                raise TimeoutError(f"no progress: {self._failed}; {self.messages[-5:]}")
            if ask is not None and self.time - asked >= 1.0:
                asked = self.time
                ask()
            self._receive()
        return True

    def wait(self, seconds: float) -> None:
        """Lets simulated time pass."""
        self.until(lambda: False, seconds)

    def _receive(self) -> None:
        if abs(self.time - self._beat) > 0.1:  # a ground station, and setpoints of PX4
            self._beat = self.time
            gcs, invalid = mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID
            self.link.mav.heartbeat_send(gcs, invalid, 0, 0, mavlink.MAV_STATE_ACTIVE)
            self.send_setpoint()
        message = self.link.recv_match(blocking=True, timeout=0.02)
        while message is not None:
            self.receive(message)
            message = self.link.recv_match(blocking=False)

    def send_setpoint(self) -> None:
        """Repeats the setpoint."""
        if self.target is not None:
            self._go(self.target)

    def receive(self, message: Any) -> None:
        """Heeds a message of the program."""
        name = message.get_type()
        if name == "HEARTBEAT" and message.autopilot != mavlink.MAV_AUTOPILOT_INVALID:
            self._armed = bool(message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
            self._mode, self.system = message.custom_mode, message.get_srcSystem()
        elif name == "LOCAL_POSITION_NED":
            self._place = np.array([message.x, message.y, message.z])
        elif name == "STATUSTEXT":
            self.messages.append(f"{self.time:.1f} {message.text}")
        elif name == "COMMAND_ACK" and message.result != mavlink.MAV_RESULT_ACCEPTED:
            refused = f"command {message.command} refused: {message.result}"
            self.messages.append(f"{self.time:.1f} {refused}")
        elif name == "ATTITUDE":
            self.yaw = message.yaw

    def _command(self, command: int, *values: float) -> None:
        numbers = [*values, *[0.0] * (7 - len(values))]
        self.link.mav.command_long_send(self.system, 1, command, 0, *numbers)

    def _go(self, place: NDArray[np.float64]) -> None:
        ned, position = mavlink.MAV_FRAME_LOCAL_NED, 0b0000_1101_1111_1000
        self.link.mav.set_position_target_local_ned_send(
            0, self.system, 1, ned, position, *place, 0, 0, 0, 0, 0, 0, 0, 0
        )

    def _set_mode(self, mode: int) -> None:
        if self.program == "px4":
            base = mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
            main, sub = mode >> 16 & 0xFF, mode >> 24
            self._command(mavlink.MAV_CMD_DO_SET_MODE, base, main, sub)
        else:
            self.link.mav.set_mode_send(
                self.system, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, mode
            )

    # --- the flight

    def arm(self) -> bool:
        """Arms; waits for the estimator."""
        if not self.until(lambda: self._mode >= 0, 60.0):
            return False
        rate = 20.0
        interval = mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
        for ident in (mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED, mavlink.MAVLINK_MSG_ID_ATTITUDE):
            self._command(interval, ident, 1e6 / rate)
        if self.program == "px4":
            self.target = np.array([0.0, 0.0, -HEIGHT])

        def ask() -> None:
            self._set_mode(_OFFBOARD if self.program == "px4" else _GUIDED)
            self._command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1.0)

        return self.until(lambda: self._armed, 120.0, ask)

    def take_off(self) -> bool:
        """Climbs to HEIGHT."""

        def ask() -> None:
            if self.program == "ardupilot":
                self._command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, HEIGHT)

        return self.until(lambda: bool(self._place[2] < -0.9 * HEIGHT), 40.0, ask)

    def go_north(self) -> None:
        """Flies NORTH from the place of the last message."""
        place = np.array([self._place[0] + NORTH, self._place[1], -HEIGHT])
        if self.program == "px4":
            self.target = place
        self._go(place)
        self.wait(10.0)

    def disarm(self) -> bool:
        """Stops the motors, in flight too."""
        self.target = None
        disarm, in_flight = mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 21196.0
        return self.until(
            lambda: not self._armed, 20.0, lambda: self._command(disarm, 0, in_flight)
        )

    def land(self) -> bool:
        """Lands; whether it disarms."""
        mode = _AUTO_LAND if self.program == "px4" else _LAND
        self.until(lambda: self._mode == mode, 10.0, lambda: self._set_mode(mode))
        self.target = None
        return self.until(lambda: not self._armed, 60.0)


@dataclass(frozen=True)
class Verdict:
    """Measures of a flight: arm, take off, hold 10 s, 5 m north, land."""

    armed: float
    """s, simulated."""
    horizontal: float
    """m, greatest distance from the mean place while it holds."""
    vertical: float
    """m, greatest distance from the mean height while it holds."""
    height: float
    """m, that mean: HEIGHT but for errors of barometer and GNSS, some decimetres."""
    yaw_rate: float
    """rad/s, standard deviation while it holds."""
    output: float
    """Mean of the motors' outputs while it holds."""
    saturated: float
    """Fraction of the motors' outputs at a limit while it holds."""
    north: float
    """m, error of the way north."""
    landed: bool
    """On the ground, with the motors off."""


def standard_flight(flight: Flight) -> Verdict:
    """Flies and judges by the true state; the fields of parts that failed are NaN."""
    nan = float("nan")
    if not flight.arm():
        return Verdict(nan, nan, nan, nan, nan, nan, nan, nan, False)
    armed = flight.time
    flight.take_off()
    flight.wait(5.0)
    start = flight.time
    flight.wait(10.0)
    end = flight.time
    flight.go_north()
    north_end = flight.time
    landed = flight.land()
    flight.wait(1.0)
    held = [s for s in list(flight.samples) if start <= s.time <= end]
    places = np.array([sample.position for sample in held])
    outputs = np.array([sample.motors for sample in held])
    rates = np.array([sample.body_rates[2] for sample in held])
    mean = places.mean(axis=0)
    away = np.abs(places - mean)
    moved = [s.position[:2] for s in list(flight.samples) if north_end - 1.0 <= s.time <= north_end]
    limits = (0.021, 0.995)
    return Verdict(
        armed,
        float(np.hypot(away[:, 0], away[:, 1]).max()),
        float(away[:, 2].max()),
        float(mean[2]),
        float(rates.std()),
        float(outputs.mean()),
        float(np.mean((outputs < limits[0]) | (outputs > limits[1]))),
        float(np.linalg.norm(np.mean(moved, axis=0) - mean[:2] - (0.0, NORTH))),
        landed and flight.loop.simulation.on_ground and not flight.samples[-1].motors.any(),
    )
