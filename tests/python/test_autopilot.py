"""The loop with flight controllers: motor tables, simulation, lock step, lost and noisy peers."""

from __future__ import annotations

import math
import socket

import numpy as np
import propwash as pw
import pytest
from betaflight_peer import StrictBetaflight
from numpy.typing import NDArray
from propwash.autopilot import QUAD_X, Loop, Sample, Simulation, TcpLink, UdpLink, match
from propwash.autopilot._betaflight import Betaflight
from propwash.cli.main import main

Array = NDArray[np.float64]
QUADS = ("flightgoggles", "blackbird", "crazyflie", "penguin")


class Clock:
    """A wall clock that advances only by sleeping, shared with the peer."""

    def __init__(self, peer: StrictBetaflight) -> None:
        self.peer = peer

    def __call__(self) -> float:
        return self.peer.now

    def sleep(self, seconds: float) -> None:
        self.peer.now += seconds


def make_loop(peer: StrictBetaflight, **options: object) -> Loop:
    """A loop with the peer as link and a clock of its own."""
    clock = Clock(peer)
    simulation = Simulation("flightgoggles", QUAD_X["betaflight"], dt=1e-3, substeps=2, seed=3)
    arguments = {"lockstep": True, "resend": 0.01, **options}
    codec = Betaflight()
    return Loop(simulation, codec, peer, clock=clock, sleep=clock.sleep, **arguments)  # type: ignore[arg-type]


def turned(program: str, vehicle: str, brighter: list[str]) -> Array:
    """Body rates after 20 ms with more output of some motors, given by position."""
    simulation = Simulation(vehicle, QUAD_X[program], noise=False)
    simulation.uav.reset(position=(0.0, 0.0, 100.0))
    names = {(1.0, -1.0): "FR", (-1.0, -1.0): "RR", (-1.0, 1.0): "RL", (1.0, 1.0): "FL"}
    order = [names[x, y] for x, y in QUAD_X[program].positions]
    parameters = simulation.parameters
    hover = parameters.weight / parameters.max_thrust
    motors = np.array([hover * (1.1 if name in brighter else 0.9) for name in order])
    for _ in range(20):
        simulation.step(motors)
    return simulation.sample.body_rates


@pytest.mark.parametrize("program", ["betaflight", "px4", "ardupilot"])
@pytest.mark.parametrize("vehicle", QUADS)
def test_motors_turn_the_vehicle_as_the_tables_say(program: str, vehicle: str) -> None:
    clockwise = {"betaflight": ["RR", "FL"], "px4": ["FL", "RR"], "ardupilot": ["FL", "RR"]}
    for brighter, axis in [(["FL", "RL"], 0), (["RL", "RR"], 1), (clockwise[program], 2)]:
        # left motors: right side down; rear motors: nose down; clockwise propellers: turn left
        rates = turned(program, vehicle, brighter)
        assert rates[axis] > 0.0
        others = np.delete(np.abs(rates), axis)
        assert others.max() < 0.05 * rates[axis]


@pytest.mark.parametrize("program", sorted(QUAD_X))
def test_a_match_finds_the_same_corner(program: str) -> None:
    for vehicle in QUADS:
        parameters = pw.vehicles.load(vehicle)
        layout = QUAD_X[program]
        order = match(parameters, layout).order
        for rotor, motor in zip(parameters.rotors, order, strict=True):
            assert np.all(np.sign(rotor.position[:2]) == layout.positions[motor])


def test_rotors_turn_as_the_table_or_as_the_vehicle_file_says() -> None:
    spins = [rotor.spin for rotor in pw.vehicles.load("flightgoggles").rotors]
    layout = QUAD_X["px4"]
    ours = Simulation("flightgoggles", layout, own_spins=True)
    theirs = Simulation("flightgoggles", layout)
    assert ours.motor_map.reversed
    assert [rotor.spin for rotor in ours.parameters.rotors] == spins
    assert [rotor.spin for rotor in theirs.parameters.rotors] == [-spin for spin in spins]


def test_a_vehicle_with_other_rotors_is_refused_with_both_geometries() -> None:
    with pytest.raises(ValueError, match="'hexacopter': expected rotors that match") as caught:
        Simulation("hexacopter", QUAD_X["px4"])
    assert "6 cw" in str(caught.value)
    assert "4 cw" in str(caught.value)


@pytest.mark.parametrize("vehicle", QUADS)
def test_a_vehicle_stands_at_rest_and_measures_its_weight(vehicle: str) -> None:
    simulation = Simulation(vehicle, QUAD_X["betaflight"], noise=False)
    gravity = -simulation.parameters.body.gravity[2]
    for _ in range(3000):
        simulation.step(np.zeros(4))
    sample = simulation.sample
    assert np.abs(sample.position).max() < 0.005
    assert np.abs(sample.velocity).max() < 1e-3
    np.testing.assert_allclose(sample.specific_force, [0.0, 0.0, gravity], atol=0.05)
    np.testing.assert_allclose(sample.angular_rate, 0.0, atol=1e-3)
    assert simulation.on_ground


def test_outputs_are_fractions_of_the_thrust() -> None:
    simulation = Simulation("crazyflie", QUAD_X["betaflight"], noise=False)
    maximum = simulation.parameters.motor_values("speed_max")[0]
    for _ in range(1000):
        simulation.step(np.array([0.04, 0.09, 0.16, 0.25]))
    order = list(simulation.motor_map.order)
    expected = maximum * np.array([0.2, 0.3, 0.4, 0.5])[order]
    np.testing.assert_allclose(simulation.sample.rotor_speeds, expected, rtol=1e-3)


def test_every_step_uses_the_answer_to_its_sample() -> None:
    peer = StrictBetaflight()
    loop = make_loop(peer)
    for _ in range(5000):
        loop.tick()
    counts = loop.statistics
    assert (counts.steps, counts.answered, peer.received) == (5000, 5000, 5000)
    assert (counts.repeated, counts.extra, counts.lost) == (0, 0, 0)
    assert peer.violations == []


def test_lost_and_doubled_answers_neither_lose_nor_double_a_step() -> None:
    peer = StrictBetaflight()
    loop = make_loop(peer)
    for number in range(2000):
        peer.drop_next = number % 10 == 3
        peer.double_next = number % 10 == 7
        loop.tick()
    counts = loop.statistics
    assert (counts.steps, counts.answered) == (2000, 2000)
    assert (counts.repeated, counts.extra, counts.lost) == (200, 200, 0)


def test_a_killed_peer_stops_the_motors_and_a_restarted_one_goes_on() -> None:
    reports: list[str] = []
    peer = StrictBetaflight()
    loop = make_loop(peer, patience=0.2, report=reports.append)
    for alive in (True, False, True):
        peer.alive = alive
        for _ in range(500):
            loop.tick()
        assert loop.connected == alive
    assert loop.statistics.lost == 1
    assert loop.statistics.steps == 1500
    assert loop.simulation.sample.time == pytest.approx(3.0)
    assert [text.split(" at ")[0] for text in reports] == [
        "flight controller answers",
        "flight controller stopped answering",
        "flight controller answers",
    ]


def test_time_runs_before_the_first_answer() -> None:
    peer = StrictBetaflight()
    peer.alive = False
    loop = make_loop(peer)
    for _ in range(100):
        loop.tick()
    assert loop.statistics.steps == 100
    assert not loop.connected
    assert peer.now == pytest.approx(0.2, rel=0.02)


def test_the_time_of_a_step_does_not_slow_the_clock_down() -> None:
    """Before the first answer too: the wait for packets ends when the next period is due."""
    peer = StrictBetaflight()
    peer.alive = False
    loop = make_loop(peer)
    step = loop.simulation.step

    def slow(motors: Array) -> Sample:
        peer.now += 0.001
        return step(motors)

    loop.simulation.step = slow  # type: ignore[method-assign]
    for _ in range(500):
        loop.tick()
    assert peer.now == pytest.approx(1.0, abs=0.01)
    assert loop.statistics.skipped == 0.0


def test_a_late_loop_continues_from_where_it_was() -> None:
    peer = StrictBetaflight()
    loop = make_loop(peer, tolerance=0.004)
    for _ in range(100):
        loop.tick()
    peer.now += 1.0  # the machine was busy
    for _ in range(100):
        loop.tick()
    assert loop.statistics.skipped == pytest.approx(1.0, abs=0.01)
    assert peer.now == pytest.approx(1.4, abs=0.01)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"lockstep": False, "rate": None}, "rate = None: expected a number without lock step"),
        ({"rate": 0.0}, "rate = 0.0: expected None or a number > 0"),
        ({"rate": math.nan}, "rate = nan: expected None or a number > 0"),
        ({"patience": -1.0}, "patience = -1.0: expected a time >= 0"),
        ({"patience": math.nan}, "patience = nan: expected a time >= 0"),
    ],
)
def test_invalid_times_of_a_loop_are_refused(options: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make_loop(StrictBetaflight(), **options)


def test_a_link_answers_the_sender_and_names_a_port_in_use() -> None:
    with UdpLink(0) as link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        link.send(b"nobody is there")
        peer.settimeout(2.0)
        peer.sendto(b"motors", ("127.0.0.1", link.port))
        assert link.receive(2.0) == b"motors"
        assert link.receive(0.0) is None
        link.send(b"state")
        assert peer.recv(64) == b"state"
        with pytest.raises(OSError, match=f"UDP 127.0.0.1:{link.port}: expected a free port"):
            UdpLink(link.port)


@pytest.mark.parametrize("link", [UdpLink, TcpLink])
def test_ports_that_do_not_exist_are_refused(link: type[UdpLink] | type[TcpLink]) -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.1:65536: expected a free port"):
        link(65536)


def test_the_pilot_ends_the_flight() -> None:
    loop = make_loop(StrictBetaflight())
    times: list[float] = []

    def pilot(sample: Sample) -> bool:
        times.append(sample.time)
        return sample.time < 0.1

    loop.run(pilot)
    np.testing.assert_allclose(np.diff(times), 0.002, rtol=1e-6)


def test_the_command_names_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["autopilot"])
    assert "betaflight" in capsys.readouterr().err
