"""Loops, margins, gains from them, and gains that were flown."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import _tune_command, tune
from propwash.linearize import linearize

DT = 1.0 / 960.0


@pytest.fixture(scope="module")
def tuned() -> tune.Tuning:
    """What the command of the documentation finds."""
    return tune.autotune("flightgoggles", bandwidth=12.0, phase_margin=50.0)


def exact(vehicle: pw.VehicleParameters, frequency: np.ndarray[Any, Any], axis: int) -> Any:
    """The closed loop from the linear model of the whole step, controller states included."""
    model = linearize(vehicle, kind="discrete", dt=DT, command="rate_thrust")
    a, b, c = model.A[9:, 9:], model.B[9:, axis], np.zeros(len(model.A) - 9)
    c[axis] = 1.0
    turned = np.exp(2j * np.pi * frequency * DT)
    return np.array([c @ np.linalg.solve(z * np.eye(len(a)) - a, b) for z in turned])


@pytest.mark.parametrize("name", ["flightgoggles", "hexacopter", "crazyflie"])
def test_the_closed_loop_is_that_of_the_whole_step(name: str) -> None:
    """Loop by loop, with filter, motors, delay and sampling: the same function of frequency."""
    # the crazyflie's own file has no rates to control its yaw by slow rotors alone, but gains
    vehicle = pw.load_vehicle(name).replace(
        rate_controller={"proportional": 12.0, "integral": 5.0, "derivative": 0.2}
    )
    # blow-back and rotor drag couple velocity to the rates, slowly
    vehicle = vehicle.replace(rotor_drag=pw.RotorDragParameters())
    loop = tune.RateLoop(vehicle, DT)
    f = np.geomspace(0.3, 400.0, 40)
    for axis in range(3):
        found = loop.closed_loop(f, axis)
        assert np.allclose(found, exact(vehicle, f, axis), rtol=1e-7, atol=1e-9)
        assert np.allclose(loop.sensitivity(f, axis) * (1 + loop.open_loop(f, axis)), 1.0)


@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_textbook_elements_multiply_to_the_loop_below_nyquist(delay: float) -> None:
    vehicle = pw.load_vehicle("flightgoggles").replace(motor={"command_delay": delay})
    loop = tune.RateLoop(vehicle, DT)
    f = np.array([0.5, 2.0, 10.0])
    product = np.prod(list(loop.parts(f, 0).values()), axis=0)
    assert np.allclose(product / loop.open_loop(f, 0), 1.0, atol=0.05)
    assert abs(product[0] / loop.open_loop(f[:1], 0)[0] - 1.0) < 0.005


def test_margins_of_a_loop_with_a_closed_form() -> None:
    """K e^(-sT) / s: phase margin 90 deg - K T, gain margin pi / (2 K T)."""
    f = np.geomspace(0.01, 100.0, 4000)
    s = 2j * np.pi * f
    k, late = 10.0, 0.05
    loop = k * np.exp(-s * late) / s
    found = tune.margins_of(f, loop, loop / (1 + loop))
    assert found.phase == pytest.approx(90.0 - math.degrees(k * late), abs=0.01)
    assert found.gain == pytest.approx(20 * math.log10(math.pi / (2 * k * late)), abs=0.01)
    assert found.crossover == pytest.approx(k / (2 * math.pi), rel=1e-3)
    assert found.phase_crossover == pytest.approx(0.25 / late, rel=1e-3)
    assert found.delay == pytest.approx(math.radians(found.phase) / k, rel=1e-3)
    assert found.gain_below == -math.inf


def test_margins_are_those_of_python_control() -> None:
    control = pytest.importorskip("control")
    loop = tune.RateLoop("flightgoggles", DT)
    f = loop.frequencies(500)
    response = control.FrequencyResponseData(loop.open_loop(f, 0), 2 * np.pi * f)
    gain, phase, *_ = control.stability_margins(response)
    found = loop.margins(0)
    assert found.phase == pytest.approx(phase, abs=0.1)
    assert found.gain == pytest.approx(20 * math.log10(gain), abs=0.1)


def test_the_gain_margin_is_where_the_loop_becomes_unstable(tuned: tune.Tuning) -> None:
    """Gains raised to just below it leave all poles within the circle; just above, they do not."""
    loop = tuned.loop()
    gain = loop.margins(0).gain
    c = tuned.vehicle.rate_controller
    for share, stable in ((0.98, True), (1.02, False)):
        factor = 10.0 ** (share * gain / 20.0)
        gains = {
            name: [getattr(c, name)[0] * factor, *getattr(c, name)[1:]]
            for name in ("proportional", "integral", "derivative")
        }
        assert loop.stable(gains) is stable


def test_autotune_reaches_what_was_asked_for(tuned: tune.Tuning) -> None:
    for margins in tuned.margins:
        assert margins.phase >= 50.0
        assert margins.gain >= 6.0
        assert margins.bandwidth == pytest.approx(12.0, rel=0.03)
    assert tuned.loop().stable()
    assert "K_P" in tuned.table()
    slower = tune.autotune("flightgoggles", bandwidth=[3.0, 3.0, 6.0], phase_margin=60.0)
    assert slower.gains[0].proportional < tuned.gains[0].proportional
    assert slower.margins[2].bandwidth == pytest.approx(6.0, rel=0.03)


def test_a_flown_step_rises_as_the_linear_loop_says(tuned: tune.Tuning) -> None:
    response = tune.step_response(tuned.vehicle, 0, amplitude=0.1, duration=0.5)
    model = linearize(tuned.vehicle, kind="discrete", dt=DT, command="rate_thrust")
    x = np.zeros(len(model.A))
    linear = []
    for _ in response.time:
        x = model.A @ x + model.B[:, 0] * 0.1
        linear.append(x[9])
    assert np.abs(response.rate - linear).max() < 0.02 * 0.1
    assert 0.0 < response.figures.rise_time < 0.35 / 12.0 * 1.5
    assert response.figures.final == pytest.approx(1.0, abs=0.02)


def test_figures_of_a_step_with_a_closed_form() -> None:
    """Of a second-order system with damping 0.5: overshoot exp(-pi z / sqrt(1 - z^2))."""
    t = np.linspace(1e-4, 10.0, 20_000)
    z = 0.5
    w = math.sqrt(1 - z * z)
    y = 1 - np.exp(-z * t) * (np.cos(w * t) + z / w * np.sin(w * t))
    found = tune.step_figures(t, 3.0 * y, 3.0)
    assert found.overshoot == pytest.approx(math.exp(-math.pi * z / w), rel=1e-3)
    assert found.rise_time == pytest.approx(1.638, rel=0.01)
    assert found.settling_time == pytest.approx(8.08, rel=0.01)
    late = tune.step_figures(t, 0.5 * y, 1.0)
    assert math.isnan(late.settling_time)
    assert math.isnan(late.rise_time)


def crippled(**changes: Any) -> pw.VehicleParameters:
    """The usual vehicle, with something about it that cannot be."""
    return pw.load_vehicle("flightgoggles").replace(**changes)


def test_margins_that_cannot_be_met_are_refused_with_what_limits_them() -> None:
    quick = crippled(rate_controller={"filter": pw.LowPassParameters.butterworth(100.0)})
    with pytest.raises(tune.TuneError, match=r"axis x: .*motors are slower than the bandwidth"):
        tune.autotune(quick, bandwidth=60.0, phase_margin=50.0)
    sluggish = crippled(rate_controller={"filter": pw.LowPassParameters.butterworth(4.0)})
    with pytest.raises(tune.TuneError, match=r"raise the cut-off"):
        tune.autotune(sluggish, bandwidth=5.0, phase_margin=60.0)
    late = crippled(motor={"command_delay": 0.04})
    with pytest.raises(tune.TuneError, match=r"shorten motor.command_delay"):
        tune.autotune(late, bandwidth=6.0, phase_margin=60.0)
    with pytest.raises(tune.TuneError, match=r"quarter of the controller's rate"):
        tune.autotune("flightgoggles", bandwidth=30.0, dt=0.01)
    for arguments in ({"bandwidth": -1.0}, {"phase_margin": 120.0}, {"gain_margin": -3.0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            tune.autotune("flightgoggles", **arguments)


def test_vehicles_that_cannot_be_controlled_are_refused() -> None:
    weak = crippled(motor={"speed_max": 900.0})
    with pytest.raises(pw.ParameterError, match=r"thrust|weight|hover"):
        tune.autotune(weak)
    vehicle = pw.load_vehicle("flightgoggles")
    in_line = tuple(r.replace(position=(r.position[0], 0.0, 0.0)) for r in vehicle.rotors)
    with pytest.raises(pw.ParameterError, match=r"rank"):
        tune.autotune(vehicle.replace(rotors=in_line))
    with pytest.raises(pw.ParameterError, match=r"rank"):
        tune.sweep(vehicle.replace(rotors=in_line), 10)


def test_a_sweep_scores_as_single_flights_do() -> None:
    gains = {"proportional": [4.0, 9.0, 25.0], "derivative": [0.05, 0.2, 0.6]}
    found = tune.sweep("flightgoggles", gains, duration=2.0, threads=1, seed=3)
    assert len(found) == 3
    assert not found.lost.any()
    # faster with more gain, and noisier
    assert np.all(np.diff(found.score) < 0.0)
    assert np.all(np.diff(found.effort) > 0.0)
    assert list(found.pareto()) == [2, 1, 0]
    assert found.best(0.0) == 2
    assert found.best(1.0) == 0
    calm = tune.step_response(found.tuned(2), 0, 0.5, 0.26)
    reached = calm.time[np.argmax(calm.rate >= 0.45)]
    assert abs(found.rise_time[2, 0] - reached) < 2.5 * tune.RECORD_EVERY * DT
    again = tune.sweep("flightgoggles", gains, duration=2.0, threads=1, seed=3)
    assert np.array_equal(found.error, again.error)


def test_gains_beyond_the_margin_are_lost_or_bad() -> None:
    wild = tune.sweep("flightgoggles", {"proportional": [9.0, 3000.0]}, duration=1.0, threads=1)
    assert wild.lost[1] or wild.score[1] > 2.0 * wild.score[0]
    assert wild.pareto()[0] == 0


def test_drawn_gains_spread_about_a_sound_set() -> None:
    sets = tune.gain_sets("flightgoggles", 200, spread=3.0, seed=1)
    assert sets["proportional"].shape == (200, 3)
    ratio = sets["proportional"].max(axis=0) / sets["proportional"].min(axis=0)
    assert np.all((ratio > 6.0) & (ratio <= 9.0))
    for arguments in ({"n": 0}, {"spread": 1.0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            tune.gain_sets("flightgoggles", **arguments)


@pytest.mark.parametrize(
    "gains",
    [
        {"proportional": [1.0, -2.0]},
        {"proportional": [1.0, 2.0], "integral": [1.0, 2.0, 3.0]},
        {"gain": 3.0},
        {"derivative": np.ones((4, 2))},
        {"proportional": [np.nan]},
    ],
)
def test_gains_that_cannot_be_are_refused(gains: Any) -> None:
    with pytest.raises(ValueError, match="gains"):
        tune.sweep("flightgoggles", gains)


def command(*words: str) -> argparse.Namespace:
    """The options of `python -m propwash tune`."""
    parser = argparse.ArgumentParser()
    _tune_command.add_parser(parser.add_subparsers())
    return parser.parse_args(["tune", *words])


def test_the_command_prints_gains_margins_and_steps_and_writes_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "plots"
    options = command(
        "flightgoggles", "--bandwidth", "12", "--phase-margin", "50", "--sweep", "40",
        "--threads", "1", "--out", str(out),
    )  # fmt: skip
    options.run(options)
    text = capsys.readouterr().out
    for word in ("K_P", "phase margin", "rise time", "Pareto", "wrote"):
        assert word in text
    written = {path.name for path in out.iterdir()}
    figures = {"bode_x.png", "bode_y.png", "bode_z.png", "nyquist.png", "filter.png", "step.png"}
    assert written == figures | {"pareto.png", "flightgoggles.toml"}
    assert all(path.stat().st_size > 1000 for path in out.iterdir())
    margins = tune.RateLoop(out / "flightgoggles.toml").margins(0)
    assert margins.phase >= 50.0


def test_the_command_shows_present_gains_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = command("blackbird", "--present", "--no-plots", "--out", str(tmp_path / "no"))
    options.run(options)
    assert "gains that it has" in capsys.readouterr().out
    assert not (tmp_path / "no").exists()
    options = command("flightgoggles", "--bandwidth", "80", "--out", str(tmp_path / "no"))
    with pytest.raises(tune.TuneError, match="cannot be reached"):
        options.run(options)
    assert not (tmp_path / "no").exists()
    options = command("--rate", "0")
    with pytest.raises(ValueError, match="--rate"):
        options.run(options)


def test_allan_figures_take_readings() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    figure = tune.allan_figure(rng.normal(size=(4000, 3)), 0.01, density=0.1)
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert labels == ["x", "white noise", "y", "z"]
