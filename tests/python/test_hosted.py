"""The vehicle behind the messages of a host: arming, resets, the mean of its IMU, its recorder."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.vehicle.hosted import HostedVehicle

DT = 1e-3
START: dict[str, Any] = {"position": [1.0, 2.0, 3.0], "seed": 4}
HOVER = pw.RateThrust([0.1, 0.0, 0.3], 9.5)


def hosted(**options: Any) -> HostedVehicle[pw.Multicopter]:
    return HostedVehicle(pw.Multicopter("flightgoggles", seed=1), START, DT, **options)


def test_it_moves_while_it_is_armed_and_has_a_command() -> None:
    host = hosted()
    before = host.vehicle.snapshot()
    host.command = HOVER
    host.step(3)
    host.command, host.armed = None, True
    host.step(2)
    assert host.vehicle.snapshot() == before
    assert host.steps == 5
    host.command = HOVER
    host.step(4)
    assert host.vehicle.time == pytest.approx(4 * DT)
    host.armed = False
    host.step()
    assert host.vehicle.time == pytest.approx(4 * DT)


def test_without_a_command_it_has_the_idle_one() -> None:
    host = hosted(idle=pw.RotorSpeeds([0.0, 0.0, 0.0, 0.0]), arms_itself=True)
    host.step(5)
    assert (host.vehicle.rotor_command == 0.0).all()


@pytest.mark.parametrize("arms_itself", [False, True])
def test_a_reset_returns_to_the_start_without_a_command(arms_itself: bool) -> None:
    host = hosted(arms_itself=arms_itself, averages_imu=True)
    start = host.vehicle.snapshot()
    host.armed, host.command = True, HOVER
    host.step(20)
    host.reset()
    assert host.vehicle.snapshot() == start
    assert (host.armed, host.command, host.steps) == (arms_itself, None, 0)
    assert host.imu_mean()[2] == 0


def test_the_mean_of_the_imu_is_that_of_the_steps_since_the_last_one() -> None:
    host, uav = hosted(arms_itself=True, averages_imu=True), pw.Multicopter("flightgoggles")
    uav.reset(**START)
    host.command = HOVER
    for steps in (1, 7, 3):
        host.step(steps)
        rows = uav.rollout(HOVER, DT, steps=steps)
        force, rate, count = host.imu_mean()
        assert count == steps
        assert force == pytest.approx(rows.specific_force.mean(axis=0), rel=1e-12, abs=1e-12)
        assert rate == pytest.approx(rows.angular_rate.mean(axis=0), rel=1e-12, abs=1e-12)
    assert [part.tolist() for part in host.imu_mean()[:2]] == [[0.0] * 3] * 2


def test_the_recorder_receives_the_command_of_each_step() -> None:
    host = hosted(arms_itself=True)
    commands: list[Any] = []
    host.stepped = commands.append
    host.command = HOVER
    host.step(6)
    assert len(commands) == 6
    assert np.array_equal(commands[-1], host.vehicle.rotor_command)


def test_a_command_that_the_vehicle_does_not_accept_changes_nothing() -> None:
    host = hosted(arms_itself=True)
    before = host.vehicle.snapshot()
    host.command = pw.RotorSpeeds([1.0, 2.0])
    with pytest.raises(ValueError, match="expected 4 rotor speeds"):
        host.step()
    assert (host.vehicle.snapshot(), host.steps) == (before, 0)


@pytest.mark.parametrize("dt", [0.0, -DT, float("nan"), float("inf")])
def test_the_step_is_positive(dt: float) -> None:
    uav = pw.Multicopter("flightgoggles", seed=1)
    before = uav.snapshot()
    with pytest.raises(ValueError, match=r"dt: expected a finite number > 0 \[s\]"):
        HostedVehicle(uav, START, dt)
    assert uav.snapshot() == before


@pytest.mark.parametrize("count", [-3, 1.5, True])
@pytest.mark.parametrize("armed", [False, True])
def test_the_number_of_steps_is_a_whole_number(count: Any, armed: bool) -> None:
    host = hosted(arms_itself=armed)
    host.command = HOVER
    host.step(0)
    with pytest.raises(ValueError, match="count: expected a whole number from 0"):
        host.step(count)
    assert (host.steps, host.vehicle.time) == (0, 0.0)


def test_a_car_is_hosted_too() -> None:
    car = HostedVehicle(pw.Car(seed=1), {"x": 1.0, "y": 2.0}, DT, arms_itself=True)
    car.step()
    assert car.vehicle.time == 0.0  # it has no command
    car.command = pw.SpeedYawRate(1.0, 0.0)
    car.step(3)
    assert car.vehicle.time == pytest.approx(3 * DT)


HOSTS = ("arcade", "autopilot", "datasets", "lcm", "ros")


@pytest.mark.parametrize("name", HOSTS)
def test_the_packages_of_hosts_are_experimental(name: str) -> None:
    assert "\nExperimental: " in (importlib.import_module(f"propwash.{name}").__doc__ or "")


def test_the_core_imports_no_host() -> None:
    code = (
        "import sys\n"
        "from propwash import Multicopter, Fleet, RangeFinder, logs, race, trajectories, tune\n"
        f"hosts = {{*{HOSTS}}}\n"
        "found = {n.split('.')[1] for n in sys.modules if n.startswith('propwash.')} & hosts\n"
        "sys.exit(' '.join(found) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
