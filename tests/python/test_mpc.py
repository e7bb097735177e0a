"""Model predictive control along references, of one vehicle and of fleets."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.trajectories import Lemniscate, Mpc, MpcParameters, Reference, stack

SUBSTEPS = 8
PERIOD = SUBSTEPS * pw.DEFAULT_DT


@pytest.fixture(scope="module")
def eight() -> Reference:
    """A lap of a figure eight at 6 m/s."""
    return Lemniscate(4.0, 6.0, ramp=1.0).sample(period=PERIOD)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program bench/mpc.py."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module("mpc")


def test_a_fast_figure_is_followed_within_the_range_of_the_motors(eight: Reference) -> None:
    uav = pw.Multicopter("flightgoggles", seed=1)
    uav.reset(position=eight.position[0])
    mpc = Mpc("flightgoggles", eight)
    motor = pw.vehicles.load("flightgoggles").motor
    worst = 0.0
    for k in range(len(eight) - 1):
        command = mpc.command(uav.state, float(eight.time[k]))
        speeds = np.asarray(command.speeds)
        assert (speeds >= motor.speed_min).all()
        assert (speeds <= motor.speed_max).all()
        uav.step(command, substeps=SUBSTEPS)
        worst = max(worst, float(np.linalg.norm(uav.state.position - eight.position[k + 1])))
    assert worst < 0.15
    assert np.array_equal(mpc.plan.shape, (21, 3))
    assert np.linalg.norm(mpc.plan[-1] - eight.position[-1]) < 0.1


def test_a_wind_is_observed_as_a_force(eight: Reference) -> None:
    """Its error is a fraction of that without the observer."""
    errors = []
    for bandwidth in (0.0, 5.0):
        uav = pw.Multicopter("flightgoggles", noise=False)
        uav.reset(position=eight.position[0])
        uav.wind = np.array([0.0, 5.0, 0.0])
        mpc = Mpc("flightgoggles", eight, MpcParameters(disturbance_bandwidth=bandwidth))
        found = []
        for k in range(len(eight) - 1):
            uav.step(mpc.command(uav.state, float(eight.time[k])), substeps=SUBSTEPS)
            found.append(np.linalg.norm(uav.state.position - eight.position[k + 1]))
        errors.append(np.sqrt(np.mean(np.square(found[60:]))))
        force = np.asarray(mpc.disturbance_force)
        assert (force[1] > 0.05) == (bandwidth > 0.0)
    assert errors[1] < 0.5 * errors[0]


def test_a_fleet_is_commanded_as_its_vehicles(eight: Reference) -> None:
    fleet = pw.Fleet("flightgoggles", 3, dtype="float64", seed=4)
    rng = np.random.default_rng(2)
    fleet.reset(position=eight.position[0] + rng.normal(0.0, 0.3, (3, 3)))
    of_fleet = Mpc("flightgoggles", eight, size=3)
    of_vehicles = [Mpc("flightgoggles", eight) for _ in range(3)]
    for k in range(4):
        time = float(eight.time[k])
        state = fleet.state
        command = of_fleet.command(state, time)
        for i, mpc in enumerate(of_vehicles):
            one = pw.MulticopterState(**{name: part[i] for name, part in vars(state).items()})
            assert np.array_equal(np.asarray(mpc.command(one, time).speeds), command.speeds[i])
        fleet.step(command, substeps=SUBSTEPS)
    assert of_fleet.plan.shape == (3, 21, 3)
    assert of_fleet.disturbance_torque.shape == (3, 3)


def test_a_reset_forgets_the_flight(eight: Reference) -> None:
    uav = pw.Multicopter("flightgoggles", seed=1)
    uav.reset(position=eight.position[0] + 0.2)
    mpc = Mpc("flightgoggles", eight)
    first = [np.asarray(mpc.command(uav.state, t).speeds) for t in (0.0, 0.1)]
    mpc.reset()
    again = [np.asarray(mpc.command(uav.state, t).speeds) for t in (0.0, 0.1)]
    assert np.array_equal(first, again)


def test_another_reference_is_followed_with_the_same_disturbance(eight: Reference) -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    uav.reset(position=eight.position[0])
    uav.wind = np.array([0.0, 5.0, 0.0])
    mpc = Mpc("flightgoggles", eight)
    for k in range(60):
        uav.step(mpc.command(uav.state, float(eight.time[k])), substeps=SUBSTEPS)
    force = np.asarray(mpc.disturbance_force)
    higher = replace(eight, position=eight.position + np.array([0.0, 0.0, 0.1]))
    mpc.follow(higher[60:])
    assert np.array_equal(mpc.disturbance_force, force)
    for k in range(60, 160):
        uav.step(mpc.command(uav.state, float(eight.time[k])), substeps=SUBSTEPS)
    assert uav.state.position[2] - eight.position[160, 2] == pytest.approx(0.1, abs=0.05)
    with pytest.raises(ValueError, match="reference: expected one vehicle"):
        mpc.follow(stack([eight, eight]))


def test_a_vehicle_flies_on_after_the_end_of_a_reference_in_motion(eight: Reference) -> None:
    """It does not brake before the end, although the horizon reaches beyond it."""
    count = 150
    uav = pw.Multicopter("flightgoggles", noise=False)
    uav.reset(position=eight.position[0])
    mpc = Mpc("flightgoggles", eight[: count + 1])
    for k in range(count):
        uav.step(mpc.command(uav.state, float(eight.time[k])), substeps=SUBSTEPS)
    assert np.linalg.norm(uav.state.velocity - eight.velocity[count]) < 0.5
    velocity = eight.velocity[count]
    mpc.command(uav.state, float(eight.time[count]))
    assert np.linalg.norm(mpc.plan[-1] - mpc.plan[0] - 0.8 * velocity) < 1.0


def refusals(eight: Reference) -> dict[str, Any]:
    falling = replace(eight, acceleration=np.tile([0.0, 0.0, -9.81], (len(eight), 1)))
    state = pw.Multicopter("flightgoggles").state
    lost = replace(state, velocity=np.array([np.nan, 0.0, 0.0]))
    mpc = Mpc("flightgoggles", eight)
    mpc.command(state, 1.0)
    return {
        r"reference: expected one vehicle": lambda: Mpc("crazyflie", stack([eight, eight])),
        r"reference: row 0 requires free fall": lambda: Mpc("flightgoggles", falling),
        r"horizon: expected a whole number from 1 to 1000, got 0": lambda: MpcParameters(0),
        r"period: expected a finite number > 0": lambda: MpcParameters(period="a"),  # type: ignore[arg-type]
        r"period / substeps .* use 13 substeps": lambda: Mpc(
            "flightgoggles", eight, MpcParameters(period=0.5)
        ),
        r"size: expected a whole number": lambda: Mpc("crazyflie", eight, size=0),
        r"time = 0.5: expected at least 1 s": lambda: mpc.command(state, 0.5),
        r"state.rotor_speeds: expected shape \(4,\), got \(6,\)": lambda: mpc.command(
            pw.Multicopter("hexacopter").state, 1.0
        ),
        r"state: expected finite numbers": lambda: mpc.command(lost, 1.0),
    }


@pytest.mark.parametrize("number", range(9))
def test_mistakes_are_refused(eight: Reference, number: int) -> None:
    message, call = list(refusals(eight).items())[number]
    with pytest.raises(ValueError, match=message):
        call()


def test_a_motion_too_fast_for_the_model_does_not_spoil_later_commands(eight: Reference) -> None:
    state = pw.Multicopter("flightgoggles").trim()
    mpc, fresh = Mpc("flightgoggles", eight), Mpc("flightgoggles", eight)
    for wild in ([200.0, 200.0, 0.0], [300.0, 0.0, 0.0], [1e4, 0.0, -1e4]):
        speeds = np.asarray(mpc.command(replace(state, body_rates=np.array(wild)), 0.0).speeds)
        assert np.isfinite(speeds).all()
    for time in (0.01, 0.02):
        again, first = mpc.command(state, time).speeds, fresh.command(state, time).speeds
        assert np.allclose(again, first, rtol=0.2)
    assert np.isfinite(mpc.plan).all()
    assert np.isfinite(mpc.disturbance_torque).all()


def test_other_types_are_refused(eight: Reference) -> None:
    wrong: Any = Lemniscate(4.0, 6.0)
    with pytest.raises(TypeError, match=r"expected a Reference, such as path.sample"):
        Mpc("flightgoggles", wrong)
    wrong = {"horizon": 5}
    with pytest.raises(TypeError, match="expected MpcParameters or None"):
        Mpc("flightgoggles", eight, wrong)


@pytest.mark.slow
def test_the_benchmark_compares_all_controllers(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["mpc.py", "--speeds", "7"])
    bench.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    for line in lines[2:5]:
        rms = [float(cell.split()[0]) for cell in line.split("|")[3:7]]
        assert rms[3] < min(rms[0], rms[2])
