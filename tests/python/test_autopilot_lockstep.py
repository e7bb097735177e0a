"""PX4 and ArduPilot in lock step with strict peers (autopilot_peers.py)."""

from __future__ import annotations

import dataclasses
import inspect
import random
import struct
from typing import Any

import numpy as np
import pytest
from propwash.autopilot import QUAD_X, ArduPilot, Home, Loop, Px4, Simulation
from propwash.sensors import Magnetometer

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_loops import ardupilot_loop, px4_loop
from autopilot_peers import ArduPilotPeer, Px4Peer, Wire, heading
from propwash.autopilot._px4 import magnetic_field
from pymavlink.dialects.v20 import common as mavlink

RATES = {"baro": 50.0, "mag": 50.0, "HIL_GPS": 10.0, "HIL_STATE_QUATERNION": 200.0, "imu": 250.0}


def flown(program: str, land: float = 13.0, rate: int = 300) -> tuple[Any, Loop]:
    """A flight that lands again."""
    if program == "px4":
        px4 = Px4Peer(land)
        loop = px4_loop(Wire(px4, b"", px4.hello()))
        peer: Any = px4
    else:
        peer = ArduPilotPeer(rate, land)
        loop = ardupilot_loop(Wire(peer, peer.frame()))
    loop.run(lambda sample: sample.time < land + 6.0)
    return peer, loop


@pytest.fixture(scope="module", params=["px4", "ardupilot"])
def flight(request: pytest.FixtureRequest) -> tuple[Any, Loop]:
    """A flight with one of the programs."""
    return flown(request.param)


def at(peer: Any, t: float) -> tuple[Any, Any]:
    """Place (north, east, down) and attitude at a time."""
    return next((p, m) for when, p, m in peer.path if when >= t)


def test_every_sample_has_one_answer(flight: tuple[Any, Loop]) -> None:
    peer, loop = flight
    counts = loop.statistics
    assert not peer.errors
    assert not peer.pilot.verdicts()
    assert counts.steps == counts.answered > 1000
    assert (counts.missed, counts.extra, counts.repeated, counts.lost) == (0, 0, 0, 0)
    assert counts.restarts == 0
    assert not loop.codec.refused.counts


def test_commands_move_the_vehicle_as_documented(flight: tuple[Any, Loop]) -> None:
    """A wrong sign or order on any axis of motors or sensors ends in a crash within a second."""
    peer, loop = flight
    place, matrix = at(peer, 7.5)
    assert place == pytest.approx([0.0, 0.0, -3.0], abs=0.7)
    assert heading(matrix) == pytest.approx(np.pi / 2, abs=0.05)
    place, matrix = at(peer, 12.9)
    assert place[:2] == pytest.approx([2.0, 0.0], abs=0.2)
    assert abs(heading(matrix)) == pytest.approx(np.pi, abs=0.05)
    end = loop.simulation.sample
    assert end.position[1] == pytest.approx(2.0, abs=0.3)  # y is north
    assert end.position[2] == pytest.approx(0.0, abs=0.02)
    assert loop.simulation.on_ground


def test_inertial_readings_agree_with_the_motion(flight: tuple[Any, Loop]) -> None:
    """Integrated over a quarter of a second; bounds of ten deviations of the IMU's noise."""
    peer, _ = flight
    rest = np.mean(peer.at_rest, axis=0)
    assert rest[:3] == pytest.approx([0.0, 0.0, -9.81], abs=0.02)
    assert rest[3:] == pytest.approx([0.0, 0.0, 0.0], abs=0.01)
    # velocities of HIL_STATE_QUATERNION have a resolution of 0.01 m/s
    rounding = 0.01 if isinstance(peer, Px4Peer) else 0.0
    assert np.median(peer.physics.accelerations) < 10 * 0.0023 * np.sqrt(0.25) + rounding
    assert np.max(peer.physics.turns) < 10 * 0.0018 * np.sqrt(0.25)


def test_px4_sensors_have_their_rates_and_units() -> None:
    peer, loop = flown("px4", land=4.5)
    seconds = loop.simulation.sample.time
    for name, rate in RATES.items():
        assert peer.seen[name] == pytest.approx(rate * seconds, abs=3.0), name
    assert np.mean(peer.compass) == pytest.approx(-14.04, abs=0.3)  # declination in Cambridge
    pressure, true = np.array(peer.heights).T
    assert np.std(pressure - true) < 0.3
    assert np.ptp(true) > 2.0


def test_px4_fixes_of_a_vehicle_at_rest_do_not_drift() -> None:
    """PX4 arms only if the filtered drift of the fixes stays below 0.1 m/s."""
    codec, reader = Px4(seed=3), mavlink.MAVLink(None)
    rest = Simulation("flightgoggles", QUAD_X["px4"]).sample
    fixes = []
    for k in range(600):
        data = codec.sensors(dataclasses.replace(rest, time=0.1 * k))
        found = {m.get_type(): m for m in reader.parse_buffer(data)}
        fixes.append(found["HIL_GPS"])
    places = np.array([(m.lat, m.lon) for m in fixes], dtype=np.float64)
    metres = (places - places[0]) * [0.0111195, 0.0111195 * np.cos(np.radians(42.36))]
    drift, most = np.zeros(2), 0.0
    for step in np.diff(metres, axis=0):
        drift += (np.clip(step / 0.1, -1.0, 1.0) - drift) * 0.1 / 10.0
        most = max(most, float(np.linalg.norm(drift)))
    assert most < 0.1
    assert max(abs(v) for m in fixes for v in (m.vn, m.ve, m.vd)) < 6 * 9.5  # cm/s
    assert places[0] / 1e7 == pytest.approx([42.36, -71.09], abs=5e-5)


def test_without_noise_the_fix_is_the_place() -> None:
    peer = Px4Peer(land=0.0)
    loop = px4_loop(Wire(peer, b"", peer.hello()), noise=False)
    loop.run(lambda sample: sample.time < 0.5)
    assert {tuple(place) for _, place, _ in peer.fixes} == {(423600000, -710900000, 0)}
    assert all(not velocity.any() for _, _, velocity in peer.fixes)


def test_field_at_home_is_that_of_the_world_magnetic_model() -> None:
    default = inspect.signature(Magnetometer).parameters["field"].default
    assert magnetic_field(Home()) == pytest.approx(default, abs=2e-9)
    assert magnetic_field(Home(47.397742, 8.545594, 488.0))[1] == pytest.approx(21.52e-6, abs=1e-8)


def test_px4_runs_freely_until_the_first_answer_and_passes_over_a_missing_one() -> None:
    class Slow(Px4Peer):
        def feed(self, data: bytes) -> bytes:
            answer = super().feed(data)
            return answer if self.seen["HIL_SENSOR"] > 10 and self.seen["HIL_SENSOR"] != 20 else b""

    peer = Slow()
    loop = px4_loop(Wire(peer, b"", peer.hello()), patience=0.0)
    loop.run(lambda sample: sample.time < 0.2)
    assert not peer.errors
    assert loop.statistics.missed == 1
    assert loop.statistics.steps == loop.statistics.answered + 10 + 1


def test_second_answer_for_the_same_time_is_not_an_answer() -> None:
    codec = Px4()
    link = mavlink.MAVLink(None, 1, 1)

    def answer(usec: int, level: float, armed: bool = True) -> bytes:
        mode = 128 if armed else 0
        message = mavlink.MAVLink_hil_actuator_controls_message(usec, [level] * 16, mode, 1)
        return bytes(message.pack(link))

    outputs = codec.motors(answer(4000, 0.25))
    assert outputs is not None
    assert outputs.tolist() == [0.25] * 4
    assert codec.motors(answer(4000, 0.5)) is None
    assert codec.refused.counts.total() == 1
    held = codec.motors(answer(8000, float("nan")))
    assert held is not None
    assert held.tolist() == [0.25] * 4
    off = codec.motors(answer(12000, 0.5, armed=False))
    assert off is not None
    assert not off.any()


@pytest.mark.parametrize("interval", [-1.0, 0.0, 20000.0])
def test_px4_chooses_the_rate_of_the_true_state(interval: float) -> None:
    peer = Px4Peer()
    ask = mavlink.MAVLink_command_long_message(0, 0, 511, 0, 115, interval, 0, 0, 0, 0, 0)
    loop = px4_loop(Wire(peer, b"", peer.pack(ask)))
    loop.run(lambda sample: sample.time < 1.0)
    assert peer.seen["HIL_STATE_QUATERNION"] == pytest.approx(0 if interval < 0 else 50, abs=2)


def test_ardupilot_determines_the_time_step_and_may_send_32_channels() -> None:
    for rate, magic in ((400, 29569), (1200, 18458), (50, 18458)):
        peer = ArduPilotPeer(rate, magic=magic)
        loop = ardupilot_loop(Wire(peer, peer.frame()))
        loop.run(lambda sample: sample.time < 0.5)
        assert not peer.errors
        assert loop.simulation.period == pytest.approx(1 / rate)
        assert loop.simulation.dt <= 1e-3 + 1e-12


def test_frame_that_ardupilot_repeats_gets_the_same_line_and_no_step() -> None:
    peer = ArduPilotPeer()
    wire = Wire(peer, peer.frame())
    now = [0.0]
    loop = ardupilot_loop(wire, patience=0.0, clock=lambda: now[0], sleep=lambda seconds: None)
    for _ in range(5):
        loop.tick()
    sent: list[bytes] = []
    wire.send = sent.append  # type: ignore[assignment, method-assign]  # the answers are lost from here on
    loop.tick()
    steps = loop.statistics.steps
    wire.arriving = [peer.frame()]  # sent before the line can have arrived
    loop.tick()
    assert len(sent) == 1
    for repeated in (1, 2):
        now[0] += 1.0
        wire.arriving = [peer.frame()]
        loop.tick()
        assert loop.statistics.repeated == repeated
    assert loop.statistics.steps == steps
    assert len(sent) == 3
    assert len(set(sent)) == 1


def servo_packet(count: int, *pwm: int) -> bytes:
    """A servo packet of ArduPilot for four motors."""
    return struct.pack("<HHI16H", 18458, 1000, count, *pwm, *[0] * 12)


def test_pwm_out_of_range_is_limited_and_counted() -> None:
    """ArduPilot would wait forever for the answer to a packet that is refused."""
    codec = ArduPilot()
    outputs = codec.motors(servo_packet(0, 2600, 499, 0, 1500))
    assert outputs is not None
    assert outputs.tolist() == [1.0, 0.0, 0.0, 0.5]
    assert list(codec.refused.counts.values()) == [1]
    assert codec.motors(servo_packet(1, 2500, 500, 0, 1500)) is not None
    assert codec.refused.counts.total() == 1


class Flying:
    """A link to an ArduPilot that flew another vehicle before, and runs its motors at once."""

    port = 0

    def __init__(self, first: int) -> None:
        self.count, self.pwm, self.waiting = first, 1600, True

    def send(self, data: bytes) -> None:
        self.waiting = True

    def receive(self, timeout: float) -> bytes | None:
        if not self.waiting:
            return None
        self.count, self.waiting = self.count + 1, False
        return servo_packet(self.count, *[self.pwm] * 4)

    def close(self) -> None: ...


@pytest.mark.parametrize("first", [0, 54321])
def test_program_that_flies_already_is_held_on_the_ground_until_it_stops(first: int) -> None:
    """As after a restart of propwash; it may fly again after it has stopped the motors."""
    link, reports = Flying(first), list[str]()
    loop = ardupilot_loop(link, report=reports.append)
    loop.run(lambda sample: sample.time < 2.0)
    assert loop.simulation.on_ground
    assert not loop.simulation.sample.motors.any()
    assert sum("disarm it" in text for text in reports) == 1
    link.pwm = 1000
    loop.run(lambda sample: sample.time < 2.9)
    link.pwm = 1600  # as in a descent that reached the least thrust
    loop.run(lambda sample: sample.time < 4.0)
    assert loop.simulation.on_ground
    link.pwm = 1000
    loop.run(lambda sample: sample.time < 5.1)
    link.pwm = 1600
    loop.run(lambda sample: sample.time < 7.0)
    assert loop.simulation.sample.position[2] > 1.0
    assert loop.statistics.restarts == 0


def test_frame_count_that_falls_is_a_restart_and_the_first_one_is_not() -> None:
    link, reports = Flying(0), list[str]()
    link.pwm = 1000
    loop = ardupilot_loop(link, report=reports.append)
    loop.run(lambda sample: sample.time < 0.5)
    assert loop.statistics.restarts == 0
    assert [text.split(" at ")[0] for text in reports] == ["flight controller answers"]
    link.count = 0
    loop.tick()
    assert loop.simulation.sample.time < 0.01
    assert loop.statistics.restarts == 1
    assert "the vehicle is back at its start" in reports[1]


def mutated(packet: bytes, draw: random.Random) -> bytes:
    """A packet with changed, missing or additional bytes, or any bytes at all."""
    data = bytearray(packet)
    kind = draw.randrange(4)
    if kind == 0:
        return draw.randbytes(draw.randrange(1, 120))
    if kind == 1:
        return bytes(data[: draw.randrange(1, len(data))])
    if kind == 2:
        data += draw.randbytes(draw.randrange(1, 40))
    for _ in range(draw.randrange(1, 5)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["px4", "ardupilot"])
def test_loop_flies_on_after_100000_fuzzed_packets(program: str) -> None:
    draw = random.Random(5)
    peer: Any
    if program == "px4":
        peer = Px4Peer()
        wire = Wire(peer, b"", peer.hello())
        loop = px4_loop(wire)
        numbers = mavlink.MAVLink_hil_actuator_controls_message(1, [0.3] * 16, 129, 1)
        packet = bytes(numbers.pack(peer.link))
    else:
        peer = ArduPilotPeer()
        wire = Wire(peer, peer.frame())
        loop = ardupilot_loop(wire)
        packet = struct.pack("<HHI16H", 18458, 1000, 7, *[1200] * 16)
    loop.run(lambda sample: sample.time < 0.1)
    usable = 0
    for _ in range(100_000):
        outputs = loop.codec.motors(mutated(packet, draw))
        if outputs is not None:
            usable += 1
            assert np.all((outputs >= 0.0) & (outputs <= 1.0))
    counts = loop.codec.refused.counts
    assert counts.total() > 20_000
    assert 2 <= len(counts) < 20  # reasons, not packets
    loop.codec.motors(b"\0" * 600)  # ends a message that the reader waits for
    loop.codec.restarted = loop.codec.asks_again = False
    if program == "ardupilot":  # fuzzed frame counts: as after a restart of ArduPilot
        peer.count, peer.time = 0, 0.0
        wire.arriving = [peer.frame()]
    answered = loop.statistics.answered
    for _ in range(100):
        loop.tick()
    assert loop.statistics.answered >= answered + 99
