"""Real flights of ArduCopter, PX4 and Betaflight, where a variable names the program.

    PROPWASH_ARDUCOPTER=ardupilot/build/sitl/bin/arducopter \
    PROPWASH_PX4=PX4-Autopilot/build/px4_sitl_default/bin/px4 \
    PROPWASH_BETAFLIGHT=betaflight/obj/main/betaflight_SITL.elf \
    python -m pytest tests/python/test_autopilot_programs.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from propwash import vehicles
from propwash.autopilot._firmware import ProgramName

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_programs import Flight, standard_flight
from autopilot_steps import flown

VARIABLES: dict[ProgramName, str] = {
    "ardupilot": "PROPWASH_ARDUCOPTER",
    "px4": "PROPWASH_PX4",
    "betaflight": "PROPWASH_BETAFLIGHT",
}
PROGRAMS: tuple[ProgramName, ...] = ("ardupilot", "px4")
"""Those with MAVLink."""

pytestmark = pytest.mark.slow


def binary_of(program: ProgramName) -> Path:
    """The program that a variable names; skips the test without it."""
    variable = VARIABLES[program]
    if not os.environ.get(variable):
        pytest.skip(f"{variable} does not name a program")
    return Path(os.environ[variable]).resolve()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie", "blackbird"])
def test_program_arms_holds_flies_north_and_lands(
    program: ProgramName, vehicle: str, tmp_path: Path
) -> None:
    with Flight(program, binary_of(program), vehicle, tmp_path) as flight:
        measured = standard_flight(flight)
    detail = f"{measured}; {flight.messages[-5:]}; {flight.loop.statistics}"
    assert measured.landed, detail
    assert measured.horizontal < 0.5, detail
    assert measured.vertical < 0.3, detail
    assert measured.height == pytest.approx(3.0, abs=1.0), detail
    assert measured.yaw_rate < 0.3, detail
    assert measured.saturated < 0.02, detail
    assert measured.north < 0.8, detail
    own = vehicles.load(vehicle)
    assert measured.output == pytest.approx(own.weight / own.max_thrust, rel=0.03), detail
    assert flight.loop.statistics.restarts == 0, detail
    assert not flight.loop.codec.refused.counts.get("pwm"), detail


def test_restarted_simulator_holds_the_vehicle_until_ardupilot_disarms(tmp_path: Path) -> None:
    with Flight("ardupilot", binary_of("ardupilot"), "crazyflie", tmp_path) as flight:
        assert flight.arm()
        assert flight.take_off()
        flight.restart_simulator()
        flight.samples.clear()
        flight.wait(10.0)
        assert max(sample.position[2] for sample in flight.samples) < 0.01
        assert any("disarm it" in text for text in flight.reports)
        assert flight.disarm()
        flight.wait(5.0)
        assert flight.arm()
        assert flight.take_off()
        assert flight.loop.simulation.sample.position[2] > 2.0


@pytest.mark.parametrize("program", PROGRAMS)
def test_restarted_program_flies_again(program: ProgramName, tmp_path: Path) -> None:
    with Flight(program, binary_of(program), "crazyflie", tmp_path) as flight:
        for restarts in (0, 1):
            assert flight.arm()
            assert flight.loop.statistics.restarts == restarts
            assert flight.take_off()
            assert flight.loop.simulation.sample.position[2] > 2.0
            if restarts == 0:
                flight.restart_program()


@pytest.mark.parametrize("program", VARIABLES)
@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie", "blackbird"])
def test_steps_of_the_body_rate_are_as_predicted(
    program: ProgramName, vehicle: str, tmp_path: Path
) -> None:
    for steps in flown(program, binary_of(program), vehicle, tmp_path):
        assert len(steps) >= 2
        for step in steps:
            measured, predicted = step.rise_time
            assert step.difference < 0.1, steps
            assert measured == pytest.approx(predicted, rel=0.1), steps
