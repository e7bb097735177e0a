"""A simulated vehicle behind LCM messages, without a network (docs/lcm.md)."""

from __future__ import annotations

import importlib
import math
import random
import shutil
import struct
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from propwash import lcm, vehicles
from propwash._rotation import rotation
from propwash.lcm import COMMANDS, PUBLISHED, LcmVehicle, message_types

TYPES = message_types()
ALL = {**PUBLISHED, **COMMANDS, lcm.CLOCK: "time_t"}


def sample(name: str, rng: random.Random) -> dict[str, Any]:
    """Values of a message with three rotors."""

    def numbers(count: int) -> list[float]:
        return [rng.uniform(-9.0, 9.0) for _ in range(count)]

    samples: dict[str, dict[str, Any]] = {
        "imuRaw_t": {"utime": rng.getrandbits(62), "gyro": numbers(3), "accel": numbers(3)},
        "state_t": {"utime": 1, "position": numbers(3), "orient": numbers(4)},
        "poseRef_t": {"utime": -5, "position": numbers(3), "orientEuler": numbers(3)},
        "motorsWs_t": {"utime": 7, "num": 3, "sample_us": [1, 2, 3], "rpms": numbers(3)},
        "motorsPwms_t": {"utime": 8, "num": 3, "pwms": [1000, 1500, 2000]},
        "rateThrust_t": {"utime": 9, "rates": numbers(3), "thrust": 9.0},
        "rotorSpeeds_t": {"utime": 10, "num": 3, "speeds": numbers(3)},
        "time_t": {"utime": 11},
    }
    return samples[name]


def message(channel: str, **values: Any) -> tuple[str, bytes]:
    return channel, TYPES[ALL[channel]].encode({"utime": 0, **values})


def rate_thrust(rates: tuple[float, float, float], thrust: float) -> tuple[str, bytes]:
    return message("rateThrust", rates=rates, thrust=thrust)


@dataclass
class Peer:
    """Steps a simulation, and decodes what it publishes."""

    simulation: LcmVehicle
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def fly(self, seconds: float, *commands: tuple[str, bytes]) -> Peer:
        for channel, data in commands:
            self.simulation.receive(channel, data)
        end = self.simulation.utime + 1e6 * seconds - 1.0
        while self.simulation.utime < end:
            for channel, data in self.simulation.step():
                self.messages.setdefault(channel, []).append(TYPES[ALL[channel]].decode(data))
        return self

    def table(self, channel: str, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([each[name] for each in self.messages[channel]])


ARM, RESET = message("arm"), message("reset")
HOVER = rate_thrust((0.0, 0.0, 0.0), 0.915 * 9.81)


def quiet(**options: Any) -> Peer:
    return Peer(LcmVehicle("blackbird", noise=False, **options))


# Messages


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The Python code of lcm-gen for our types, in a package of another name."""
    pytest.importorskip("lcm")
    program = Path(sys.executable).with_name("lcm-gen")
    if not program.exists() and shutil.which("lcm-gen") is None:
        pytest.skip("no lcm-gen")
    folder = tmp_path_factory.mktemp("types")
    text = lcm.DEFINITIONS.read_text("utf-8")
    (folder / "agile.lcm").write_text(text.replace("package propwash;", "package agile;"))
    command = [str(program) if program.exists() else "lcm-gen", "--python", "--ppath", str(folder)]
    subprocess.run([*command, str(folder / "agile.lcm")], check=True)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("agile")
    sys.path.remove(str(folder))


@pytest.mark.parametrize("name", TYPES)
def test_messages_are_those_of_lcm_gen(generated: Any, name: str) -> None:
    """Both ways; the name of the package is not part of the fingerprint."""
    values = sample(name, random.Random(name))
    kind = getattr(generated, name)
    theirs = kind()
    for key, value in values.items():
        setattr(theirs, key, value)
    data = TYPES[name].encode(values)
    assert data == theirs.encode()
    assert TYPES[name].fingerprint == theirs.get_hash()
    assert TYPES[name].decode(data) == values
    decoded = kind.decode(data)
    assert {key: getattr(decoded, key) for key in values if key != "num"} == {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if key != "num"
    }


def test_every_channel_has_a_type_and_every_type_a_channel() -> None:
    assert set(ALL.values()) == set(TYPES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "wrong length"),
        (lambda data: data + b"\0", "wrong length"),
        (lambda data: b"", "wrong length"),
        (lambda data: bytes(8) + data[8:], "another type"),
        (lambda data: data[:-8] + struct.pack(">d", math.nan), "not finite"),
        (lambda data: data[:-8] + struct.pack(">d", -math.inf), "not finite"),
        (lambda data: data[:16] + struct.pack(">i", -1) + data[20:], "wrong length"),
        (lambda data: data[:16] + struct.pack(">i", 2**31 - 1) + data[20:], "wrong length"),
    ],
)
def test_invalid_messages_are_counted_with_a_reason(
    change: Callable[[bytes], bytes], reason: str
) -> None:
    peer = quiet()
    channel, data = message("rotorSpeeds", num=4, speeds=[100.0] * 4)
    peer.fly(0.01, ARM, (channel, change(data)))
    assert peer.simulation.refused.counts == {reason: 1}
    assert np.all(peer.simulation.uav.rotor_speeds == 0.0)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (message("rotorSpeeds", num=3, speeds=[1.0] * 3), "wrong number of rotors"),
        (rate_thrust((0.0, 1e300, 0.0), 9.0), "a command above 100000"),
        (message("step"), "no lock step"),
        (message("clock"), "unknown channel"),
    ],
)
def test_commands_that_cannot_be_executed_are_counted(
    command: tuple[str, bytes], reason: str
) -> None:
    assert quiet().fly(0.01, command).simulation.refused.counts == {reason: 1}


def test_a_command_that_the_rotors_cannot_execute_is_counted() -> None:
    """Two rotors have no yaw and roll: the vehicle falls, and the simulation goes on."""
    vehicle = vehicles.load("blackbird")
    simulation = LcmVehicle(vehicle.replace(rotors=vehicle.rotors[:2]), noise=False)
    Peer(simulation).fly(0.1, ARM, HOVER)
    assert simulation.refused.counts == {"a command that the vehicle does not take": 1}
    assert simulation.uav.position[2] < -0.01


def test_fuzzed_messages_leave_the_simulation_alive() -> None:
    """100,000 messages: each is either accepted or counted, and the state remains finite."""
    rng = random.Random(21)
    simulation = LcmVehicle("blackbird", lock_step=True, seed=1)
    valid = [TYPES[name].encode(sample(name, rng)) for name in TYPES]
    valid += [HOVER[1], message("rotorSpeeds", num=4, speeds=[900.0] * 4)[1]]
    channels = [*COMMANDS, *COMMANDS, "imuRaw", "", "\0", "arm "]
    accepted: Counter[str] = Counter()
    for number in range(100_000):
        data = bytearray(rng.choice(valid))
        for _ in range(rng.choice((0, 0, 1, 1, 3))):
            at = rng.randrange(len(data)) if data else 0
            change = rng.randrange(4)
            if change == 0:
                data[at : at + 1] = bytes([rng.getrandbits(8)])
            elif change == 1:
                del data[at : at + rng.randrange(1, 20)]
            elif change == 2:
                data[at:at] = rng.randbytes(rng.randrange(1, 20))
            else:
                data = bytearray(rng.randbytes(rng.randrange(80)))
        channel = rng.choice(channels)
        before = simulation.refused.counts.total()
        simulation.receive(channel, bytes(data))
        accepted[channel] += simulation.refused.counts.total() == before
        if number % 100 == 0:
            simulation.step()
    assert accepted.total() + simulation.refused.counts.total() == 100_000
    assert min(accepted[channel] for channel in COMMANDS) > 100
    reasons = {"another type", "wrong length", "not finite", "unknown channel"}
    assert reasons <= set(simulation.refused.counts)
    assert np.all(np.isfinite(np.concatenate([*vars(simulation.uav.state).values()])))


# Motion


def test_nothing_moves_until_armed_and_then_the_vehicle_falls() -> None:
    peer = quiet(position=(1.0, 2.0, 3.0), yaw=0.5 * math.pi).fly(0.5, HOVER)
    poses = peer.table("poseMoCap", "position")
    assert poses == pytest.approx(np.tile([2.0, 1.0, -3.0], (len(poses), 1)))
    assert rotation(peer.messages["poseMoCap"][0]["orient"]) == pytest.approx(np.eye(3))
    assert "imuRaw" not in peer.messages
    assert np.all(peer.table("rpmFeedback", "rpms") == 0.0)
    fallen = quiet().fly(0.2, ARM).table("poseMoCap", "position")[-1]
    assert fallen == pytest.approx([0.0, 0.0, 0.5 * 9.81 * 0.2**2], rel=0.02, abs=1e-9)


def test_reset_returns_to_the_start_disarmed_without_a_command() -> None:
    peer = quiet(position=(0.0, 0.0, 5.0)).fly(0.3, ARM, rate_thrust((1.0, 0.0, 0.0), 20.0))
    utime = peer.simulation.utime
    peer.fly(0.1, RESET)
    assert not peer.simulation.armed
    assert peer.simulation.utime > utime
    assert peer.simulation.uav.position == pytest.approx([0.0, 0.0, 5.0])
    peer.fly(0.1, ARM)
    assert np.all(peer.table("motorsPwms", "pwms")[-1] == 1000)
    assert peer.table("poseMoCap", "position")[-1][2] > -5.0


@pytest.mark.parametrize(
    ("axis", "element", "sign"),
    [(0, (2, 1), 1.0), (1, (2, 0), -1.0), (2, (1, 0), 1.0)],
    ids=["right side down", "nose up", "nose to the right"],
)
def test_a_positive_rate_turns_in_the_documented_direction(
    axis: int, element: tuple[int, int], sign: float
) -> None:
    """element: of the matrix of body axes forward-right-down in the world north-east-down."""
    rates = tuple(0.5 * (axis == k) for k in range(3))
    peer = quiet(yaw=0.5 * math.pi).fly(0.5, ARM, HOVER)
    peer.fly(1.0, message("rateThrust", rates=rates, thrust=9.0))
    assert rotation(peer.messages["poseMoCap"][0]["orient"]) == pytest.approx(np.eye(3))
    turned = rotation(peer.messages["poseMoCap"][-1]["orient"])
    assert sign * turned[element] == pytest.approx(math.sin(0.5), rel=0.2)
    gyro = peer.table("imuRaw", "gyro")[-1]
    assert gyro == pytest.approx(rates, abs=0.05)


def test_hover_thrust_balances_gravity_which_points_down() -> None:
    peer = quiet().fly(1.0, ARM, HOVER)
    assert peer.table("imuRaw", "accel")[-1] == pytest.approx([0.0, 0.0, -9.81], abs=0.1)


def test_rotor_speeds_are_reached_and_reported() -> None:
    speeds = [900.0, 950.0, 1000.0, 1050.0]
    peer = quiet().fly(0.3, ARM, message("rotorSpeeds", num=4, speeds=speeds))
    last = peer.messages["rpmFeedback"][-1]
    assert last["rpms"] == pytest.approx(np.array(speeds) * 30.0 / math.pi, rel=1e-5)
    assert last["sample_us"] == [last["utime"]] * 4
    full = np.array(peer.simulation.uav.parameters.motor_values("speed_max"))
    expected = 1000.0 + 1000.0 * np.array(speeds) / full
    assert peer.table("motorsPwms", "pwms")[-1] == pytest.approx(expected, abs=0.5)


# Rates


def test_channels_have_their_rates() -> None:
    peer = quiet(rates={"imuRaw": 960, "rpmFeedback": 0}).fly(1.0, ARM)
    counts = {channel: len(found) for channel, found in peer.messages.items()}
    assert counts == {"imuRaw": 960, "poseMoCap": 360, "motorsPwms": 190}
    for channel, rate in (("poseMoCap", 360), ("motorsPwms", 190)):
        times = 1e-6 * peer.table(channel, "utime")
        expected = np.arange(1, rate + 1) / rate
        assert np.all((times >= expected - 1e-6) & (times < expected + 1.0 / 1800))


def test_inertial_readings_are_means_of_the_steps() -> None:
    """Means and their times; so the noise has the density of the IMU at any rate."""
    fast = Peer(LcmVehicle("blackbird", rates={"imuRaw": 1800}, seed=3)).fly(1.0, ARM, HOVER)
    slow = Peer(LcmVehicle("blackbird", seed=3)).fly(1.0, ARM, HOVER)
    for name in ("utime", "gyro", "accel"):
        means = fast.table("imuRaw", name).reshape(100, 18, -1).mean(axis=1).squeeze()
        assert slow.table("imuRaw", name) == pytest.approx(means, abs=1.0 if name == "utime" else 0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"rates": {"imu": 100}}, "rates: expected 'imuRaw'"),
        ({"rates": {"imuRaw": 2000}}, "from 0 to 1800, got 2000"),
        ({"step_rate": 0}, "step_rate: expected a whole number from 100"),
        ({"yaw": math.inf}, "yaw: expected a finite number"),
        ({"position": (0.0, 1.0)}, "position"),
    ],
)
def test_invalid_settings_are_refused(arguments: Mapping[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        LcmVehicle("blackbird", **arguments)


# Lock step


def test_steps_are_neither_lost_nor_doubled() -> None:
    """Repeated, old and irregular requests: each time is simulated once, and each is answered."""
    rng = random.Random(5)
    free = Peer(LcmVehicle("blackbird", seed=2)).fly(0.5, ARM, HOVER)
    simulation = LcmVehicle("blackbird", seed=2, lock_step=True)
    for channel, data in (ARM, HOVER):
        simulation.receive(channel, data)
    goal, answers, found = 0, 0, []
    while simulation.utime < 500_000:
        goal = min(goal + rng.randrange(20_000), 500_000)
        for asked in rng.choices((goal, goal, goal - 5000, 0), k=3):
            simulation.receive(*message("step", utime=asked))
            while not simulation.answer():
                found += [
                    TYPES["imuRaw_t"].decode(d) for c, d in simulation.step() if c == "imuRaw"
                ]
            answers += 1
    assert simulation.utime == 500_000
    assert answers % 3 == 0
    assert found == free.messages["imuRaw"]


def test_a_long_step_is_refused() -> None:
    simulation = LcmVehicle("blackbird", lock_step=True)
    simulation.receive(*message("step", utime=2**60))
    assert simulation.refused.counts == {"a step of more than 10 s": 1}
    assert simulation.asked is None


# Event logs


def write_log(path: Path, events: int = 20) -> list[lcm.Event]:
    rng = random.Random(4)
    written = [
        lcm.Event(1000 * k, rng.choice(("imuRaw", "über")), rng.randbytes(rng.randrange(40)))
        for k in range(events)
    ]
    with lcm.EventWriter(path) as log:
        for event in written:
            log.write(*event)
    return written


def test_event_logs_are_those_of_lcm(tmp_path: Path) -> None:
    library = pytest.importorskip("lcm")
    written = write_log(tmp_path / "ours")
    theirs = list(library.EventLog(str(tmp_path / "ours")))
    assert [(e.timestamp, e.channel, e.data) for e in theirs] == written
    assert [e.eventnum for e in theirs] == list(range(len(written)))
    log = library.EventLog(str(tmp_path / "theirs"), "w")
    for event in written:
        log.write_event(*event)
    log.close()
    assert list(lcm.read_events(tmp_path / "theirs")) == written
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_an_incomplete_last_event_is_omitted_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    written = write_log(path)
    whole = path.read_bytes()
    last = 28 + len(written[-1].channel) + len(written[-1].data)
    for cut in (1, 3, len(written[-1].data) + 5, last - 4, last - 3, last - 1):
        path.write_bytes(whole[:-cut])
        with pytest.warns(UserWarning, match="is not complete"):
            assert list(lcm.read_events(path)) == written[:-1]


def test_a_damaged_log_is_refused_with_the_position(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write_log(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100] + b"\0" + whole[-100:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        events = lcm.read_events(path)
        with pytest.raises(ValueError, match="expected an event of LCM at byte"):
            list(events)
    path.write_bytes(b"time,x\n" * 20)
    assert not lcm.is_event_log(path)
    with pytest.raises(ValueError, match="at byte 0, got 74696d65"):
        list(lcm.read_events(path))


def test_a_run_takes_exactly_its_duration() -> None:
    for tenths in range(1, 30):
        simulation = LcmVehicle("blackbird", step_rate=100)
        lcm.Run(simulation, lcm.Offline(), math.inf).run(tenths / 10)
        assert simulation.utime == 100_000 * tenths
