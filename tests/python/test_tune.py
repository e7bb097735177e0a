"""Rate loops: models, margins, tuning, and scores of simulated flights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import tune
from propwash.control import linearize

DT = 1.0 / 960.0


@pytest.fixture(scope="module")
def tuned() -> tune.Tuning:
    """The result of the command in the docs."""
    return tune.autotune("flightgoggles", bandwidth=12.0, phase_margin=50.0)


def exact(vehicle: pw.VehicleParameters, frequency: np.ndarray[Any, Any], axis: int) -> Any:
    """The closed loop from the linear model of a complete step, with controller states."""
    model = linearize(vehicle, kind="discrete", dt=DT, command="rate_thrust")
    # without position, which affects no other state
    a, b, c = model.A[3:, 3:], model.B[3:, axis], np.zeros(len(model.A) - 3)
    c[6 + axis] = 1.0
    points = np.exp(2j * np.pi * frequency * DT)
    return np.array([c @ np.linalg.solve(z * np.eye(len(a)) - a, b) for z in points])


@pytest.mark.parametrize("name", ["flightgoggles", "hexacopter", "crazyflie"])
def test_the_closed_loop_equals_that_of_the_linearised_step(name: str) -> None:
    """As a function of frequency, with filter, motors, delay and sampling."""
    # with equal gains for all vehicles
    vehicle = pw.vehicles.load(name).replace(
        rate_controller={"proportional": 12.0, "integral": 5.0, "derivative": 0.2}
    )
    lag = tune.RateLoop(vehicle, DT).lag
    vehicle = vehicle.replace(motor={"time_constant_up": lag, "time_constant_down": lag})
    loop = tune.RateLoop(vehicle, DT)
    f = np.geomspace(0.3, 400.0, 40)
    for axis in range(3):
        found = loop.closed_loop(f, axis)
        assert np.allclose(found, exact(vehicle, f, axis), rtol=1e-7, atol=1e-9)
        assert np.allclose(loop.sensitivity(f, axis) * (1 + loop.open_loop(f, axis)), 1.0)


def flown_response(vehicle: pw.VehicleParameters, frequency: float, axis: int) -> complex:
    """Gain and phase of the simulated rate for a sinusoidal command."""
    settled, length = round(3.0 / DT), round(max(6.0, 2.0 * frequency) / frequency / DT)
    time = np.arange(settled + length) * DT
    rates = np.zeros((len(time), 3))
    rates[:, axis] = np.sin(2.0 * np.pi * frequency * time)
    weight = np.full(len(time), 9.81 * vehicle.body.mass)
    uav = pw.Multicopter(vehicle, noise=False)
    flown = uav.rollout(pw.RateThrust(0.02 * rates, weight), DT).body_rates[settled:, axis]
    angle = 2.0 * np.pi * frequency * (time[settled:] + DT)
    slow = np.linspace(-1.0, 1.0, length)
    columns = np.stack([np.sin(angle), np.cos(angle), np.ones(length), slow], axis=1)
    sine, cosine = np.linalg.lstsq(columns, flown, rcond=None)[0][:2]
    return complex(sine, cosine) / 0.02


@pytest.mark.parametrize(
    ("name", "within"), [("flightgoggles", 0.002), ("hexacopter", 0.03), ("crazyflie", 0.02)]
)
def test_the_closed_loop_predicts_the_response_to_a_sine(name: str, within: float) -> None:
    """The last two vehicles have different motor time constants up and down, and blow-back."""
    vehicle = pw.vehicles.load(name)
    loop = tune.RateLoop(vehicle, DT)
    for axis, frequency in ((0, 0.7), (1, 8.0), (2, 20.0)):
        found = loop.closed_loop(np.array([frequency]), axis)[0]
        assert abs(flown_response(vehicle, frequency, axis) / found - 1.0) < within


@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie"])
def test_the_linear_step_response_equals_that_of_a_flight(name: str) -> None:
    vehicle = pw.vehicles.load(name)
    time, rate = tune.RateLoop(vehicle).step(0, 0.5)
    flown = tune.step_response(vehicle, 0, 0.02, 0.5)
    assert np.allclose(time, flown.time)
    assert np.abs(rate - flown.rate / 0.02).max() < 0.02
    with pytest.raises(ValueError, match="duration"):
        tune.RateLoop(vehicle).step(0, math.nan)


@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_textbook_elements_multiply_to_the_loop_below_nyquist(delay: float) -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(motor={"command_delay": delay})
    loop = tune.RateLoop(vehicle, DT)
    f = np.array([0.5, 2.0, 10.0])
    product = np.prod(list(loop.parts(f, 0).values()), axis=0)
    assert np.allclose(product / loop.open_loop(f, 0), 1.0, atol=0.05)
    assert abs(product[0] / loop.open_loop(f[:1], 0)[0] - 1.0) < 0.005


def test_a_vehicle_that_can_stand_on_the_ground_has_the_same_loop() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    stands = vehicle.replace(contact={"frequency": 12.0, "leg": 0.03})
    assert tune.RateLoop(stands, DT).margins(0) == tune.RateLoop(vehicle, DT).margins(0)


def test_margins_of_a_loop_with_a_closed_form() -> None:
    """K e^(-sT) / s: phase margin 90 deg - K T, gain margin pi / (2 K T)."""
    f = np.geomspace(0.01, 100.0, 4000)
    s = 2j * np.pi * f
    k, delay = 10.0, 0.05
    loop = k * np.exp(-s * delay) / s
    found = tune.margins_of(f, loop, loop / (1 + loop))
    assert found.phase == pytest.approx(90.0 - math.degrees(k * delay), abs=0.01)
    assert found.gain == pytest.approx(20 * math.log10(math.pi / (2 * k * delay)), abs=0.01)
    assert found.crossover == pytest.approx(k / (2 * math.pi), rel=1e-3)
    assert found.phase_crossover == pytest.approx(0.25 / delay, rel=1e-3)
    assert found.delay == pytest.approx(math.radians(found.phase) / k, rel=1e-3)
    assert found.gain_below == -math.inf


@pytest.mark.parametrize(
    ("axis", "cutoff", "delay", "gains"),
    [
        (0, 30.0, 0.0, tune.Gains(9.0, 3.0, 0.3)),
        # the phase reaches -180 deg only at the Nyquist frequency
        (2, 200.0, 0.0, tune.Gains(11.0, 0.0, 0.9)),
        (1, 80.0, 0.0061, tune.Gains(30.0, 200.0, 0.3)),
        # also unstable with less gain
        (0, 80.0, 0.0, tune.Gains(40.0, 5000.0, 0.9)),
    ],
)
def test_at_the_gain_margins_poles_leave_the_unit_circle(
    axis: int, cutoff: float, delay: float, gains: tune.Gains
) -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(
        motor={"command_delay": delay, "time_constant_up": 0.01, "time_constant_down": 0.01},
        rate_controller={"filter": pw.LowPassParameters.butterworth(cutoff)},
    )
    loop = tune.RateLoop(vehicle, 1.0 / 400.0)

    def is_stable(decibel: float) -> bool:
        k = 10.0 ** (decibel / 20.0)
        scaled = tune.Gains(k * gains.proportional, k * gains.integral, k * gains.derivative)
        poles = np.abs(loop.poles(axis, scaled))
        others = {"proportional": 5.0, "integral": 1.0, "derivative": 0.1}
        fields = {name: [x, x, x] for name, x in others.items()}
        for name, each in fields.items():
            each[axis] = getattr(scaled, name)
        assert loop.stable(fields) == bool(poles.max() < 1.0)
        return bool(poles.max() < 1.0)

    found = loop.margins(axis, gains)
    assert found.stable
    assert found.phase > 0.0
    assert math.isfinite(found.gain)
    assert is_stable(found.gain - 0.1)
    assert not is_stable(found.gain + 0.1)
    if math.isfinite(found.gain_below):
        assert is_stable(found.gain_below + 0.1)
        assert not is_stable(found.gain_below - 0.1)
    assert math.isfinite(found.gain_below) == (gains.integral == 5000.0)


def test_an_unstable_loop_has_no_margins() -> None:
    """Even if its phase modulo 360 deg suggests a margin."""
    delayed = with_changes(motor={"command_delay": 0.015})
    loop = tune.RateLoop(delayed)
    found = loop.margins(0, tune.Gains(1684.0, 10.0, 0.0))
    assert not found.stable
    assert found.phase < 0.0
    assert math.isnan(found.gain)
    assert found.delay == 0.0
    high_gain = delayed.replace(rate_controller={"proportional": 1684.0})
    assert "unstable" in tune.RateLoop(high_gain).table()
    assert "unstable" not in loop.table()
    with pytest.raises(tune.TuneError, match=r"axis x: .* are stable.*shorten motor.command_delay"):
        tune.autotune(delayed, bandwidth=(20.0, 1.0, 1.0))
    limit = tune.bandwidth_limit(delayed, axes=[0])[0]
    assert 8.0 < limit < 12.0
    with pytest.raises(tune.TuneError, match="axis x"):
        tune.autotune(delayed, bandwidth=(1.03 * limit, 1.0, 1.0))


def test_blow_back_requires_a_minimum_bandwidth() -> None:
    """With less bandwidth blow-back makes the vehicle unstable."""
    with pytest.raises(tune.TuneError, match=r"blow_back .* raise the bandwidth"):
        tune.autotune("crazyflie", bandwidth=(0.5, 4.0, 4.0), phase_margin=40.0)
    tuning = tune.autotune("crazyflie", bandwidth=4.0, phase_margin=50.0)
    loop = tuning.loop()
    for axis, margins in enumerate(tuning.margins):
        assert vars(loop.margins(axis)) == pytest.approx(vars(margins), rel=1e-6)
    assert loop.margins(0).gain_below > -40.0
    flown = tune.step_response(tuning.vehicle, 0, 0.05, 6.0, dt=DT)
    assert np.abs(flown.rates).max() < 0.06
    sets = tune.gain_sets("crazyflie", 3)
    assert sets["proportional"].min() > 0.0


@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie", "hexacopter"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_margins_equal_those_of_python_control(name: str, axis: int) -> None:
    """Except at the Nyquist frequency, where the phase of a sampled loop may reach -180 deg without
    crossing it: python-control finds no gain margin there, so the poles confirm it.
    """
    control = pytest.importorskip("control")
    loop = tune.RateLoop(name, DT)
    f = np.append(loop.frequencies(300), loop.nyquist)
    response = control.FrequencyResponseData(loop.open_loop(f, axis), 2 * np.pi * f)
    gains, phases, *_ = control.stability_margins(response, returnall=True)
    found = loop.margins(axis)
    assert found.phase == pytest.approx(np.abs(phases).min(), abs=0.1)
    if found.phase_crossover < loop.nyquist:
        decibels = 20.0 * np.log10(gains)
        assert found.gain == pytest.approx(decibels[decibels > 0.0].min(), abs=0.1)
        assert found.gain_below == pytest.approx(
            max(decibels[decibels < 0.0], default=-math.inf), abs=0.1
        )
        return
    assert len(gains) == 0
    g = loop.gains(axis)
    for margin, is_stable in ((found.gain - 0.1, True), (found.gain + 0.1, False)):
        k = 10.0 ** (margin / 20.0)
        scaled = tune.Gains(k * g.proportional, k * g.integral, k * g.derivative)
        assert loop.is_stable(axis, scaled) == is_stable


def test_the_loop_is_unstable_beyond_the_gain_margin(tuned: tune.Tuning) -> None:
    """Just below the margin all poles are within the unit circle, just above it they are not."""
    loop = tuned.loop()
    gain = loop.margins(0).gain
    c = tuned.vehicle.rate_controller
    for fraction, stable in ((0.98, True), (1.02, False)):
        factor = 10.0 ** (fraction * gain / 20.0)
        gains = {
            name: [getattr(c, name)[0] * factor, *getattr(c, name)[1:]]
            for name in ("proportional", "integral", "derivative")
        }
        assert loop.stable(gains) is stable


def test_autotune_reaches_the_requested_margins_and_bandwidth(tuned: tune.Tuning) -> None:
    for margins in tuned.margins:
        assert margins.phase >= 50.0
        assert margins.gain >= 6.0
        assert margins.bandwidth == pytest.approx(12.0, rel=0.03)
    assert tuned.loop().stable()
    assert "K_P" in tuned.table()
    slower = tune.autotune("flightgoggles", bandwidth=[3.0, 3.0, 6.0], phase_margin=60.0)
    assert slower.gains[0].proportional < tuned.gains[0].proportional
    assert slower.margins[2].bandwidth == pytest.approx(6.0, rel=0.03)


def test_a_simulated_step_equals_the_linear_model(tuned: tune.Tuning) -> None:
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
    """A second-order system with damping 0.5 has an overshoot of exp(-pi z / sqrt(1 - z^2))."""
    t = np.linspace(1e-4, 10.0, 20_000)
    z = 0.5
    w = math.sqrt(1 - z * z)
    y = 1 - np.exp(-z * t) * (np.cos(w * t) + z / w * np.sin(w * t))
    found = tune.step_figures(t, 3.0 * y, 3.0)
    assert found.overshoot == pytest.approx(math.exp(-math.pi * z / w), rel=1e-3)
    assert found.rise_time == pytest.approx(1.638, rel=0.01)
    assert found.settling_time == pytest.approx(8.08, rel=0.01)
    half = tune.step_figures(t, 0.5 * y, 1.0)
    assert math.isnan(half.settling_time)
    assert math.isnan(half.rise_time)
    assert tune.step_figures(t, y, 1.0, band=0.05).settling_time == pytest.approx(5.29, rel=0.01)


def test_an_immediate_response_rises_within_one_sample() -> None:
    t = np.arange(1.0, 21.0)
    assert tune.step_figures(t, np.ones(20), 1.0).rise_time == pytest.approx(0.8)
    assert tune.step_figures(t, np.ones(20), 1.0).settling_time == 0.0


def test_a_diverged_response_has_no_figures() -> None:
    t = np.linspace(0.01, 1.0, 100)
    for last in (math.nan, math.inf):
        found = tune.step_figures(t, np.append(np.ones(99), last), 1.0)
        assert math.isnan(found.settling_time)
        assert math.isnan(found.rise_time)
        assert found.overshoot == math.inf
    with pytest.raises(ValueError, match="band"):
        tune.step_figures(t, np.ones(100), 1.0, band=0.0)


@pytest.mark.slow
def test_the_default_bandwidth_is_a_fraction_of_the_limit() -> None:
    """Of the smallest limit of all axes; without a limit the error names the margins."""
    limits = tune.bandwidth_limit("crazyflie")
    tuned = tune.autotune("crazyflie")
    for margins in tuned.margins:
        assert margins.bandwidth == pytest.approx(0.8 * limits.min(), rel=0.03)
        assert margins.phase >= 50.0
    with pytest.raises(tune.TuneError, match=r"axis x: no bandwidth .* lower the margins"):
        tune.autotune("crazyflie", phase_margin=89.0)


def with_changes(**changes: Any) -> pw.VehicleParameters:
    """The default quadcopter with changed parameters."""
    return pw.vehicles.load("flightgoggles").replace(**changes)


def test_errors_name_the_cause_of_unreachable_margins() -> None:
    fast = with_changes(rate_controller={"filter": pw.LowPassParameters.butterworth(100.0)})
    with pytest.raises(tune.TuneError, match=r"axis x: .*motors are slower than"):
        tune.autotune(fast, bandwidth=60.0, phase_margin=50.0)
    slow = with_changes(rate_controller={"filter": pw.LowPassParameters.butterworth(4.0)})
    with pytest.raises(tune.TuneError, match=r"raise the cut-off"):
        tune.autotune(slow, bandwidth=5.0, phase_margin=60.0)
    delayed = with_changes(motor={"command_delay": 0.04})
    with pytest.raises(tune.TuneError, match=r"shorten motor.command_delay"):
        tune.autotune(delayed, bandwidth=6.0, phase_margin=60.0)
    with pytest.raises(tune.TuneError, match=r"quarter of the controller's rate"):
        tune.autotune("flightgoggles", bandwidth=30.0, dt=0.01)
    for arguments in (
        {"bandwidth": -1.0},
        {"bandwidth": [8.0, 9.0]},
        {"phase_margin": 120.0},
        {"gain_margin": -3.0},
    ):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            tune.autotune("flightgoggles", **arguments)


def test_vehicles_that_cannot_be_controlled_are_refused() -> None:
    weak = with_changes(motor={"speed_max": 900.0})
    with pytest.raises(pw.ParameterError, match=r"thrust|weight|hover"):
        tune.autotune(weak)
    vehicle = pw.vehicles.load("flightgoggles")
    in_line = tuple(r.replace(position=(r.position[0], 0.0, 0.0)) for r in vehicle.rotors)
    with pytest.raises(pw.ParameterError, match=r"rank"):
        tune.autotune(vehicle.replace(rotors=in_line))
    with pytest.raises(pw.ParameterError, match=r"rank"):
        tune.sweep(vehicle.replace(rotors=in_line), 10)


def test_a_sweep_scores_like_single_flights() -> None:
    gains = {"proportional": [4.0, 9.0, 25.0], "derivative": [0.05, 0.2, 0.6]}
    found = tune.sweep("flightgoggles", gains, duration=2.0, threads=1, seed=3)
    assert len(found) == 3
    assert not found.lost.any()
    # more gain is faster but noisier
    assert np.all(np.diff(found.score) < 0.0)
    assert np.all(np.diff(found.effort) > 0.0)
    assert list(found.pareto()) == [2, 1, 0]
    assert found.best(0.0) == 2
    assert found.best(1.0) == 0
    response = tune.step_response(found.tuned(2), 0, 0.5, 0.26)
    reached = response.time[np.argmax(response.rate >= 0.45)]
    assert abs(found.rise_time[2, 0] - reached) < 2.5 * tune.RECORD_EVERY * DT
    again = tune.sweep("flightgoggles", gains, duration=2.0, threads=2, seed=3)
    assert np.array_equal(found.error, again.error)
    # the score by its definition, for the step about x
    fleet = pw.Fleet("flightgoggles", 3, dt=DT, seed=3, threads=1)
    for name, sets in gains.items():
        fleet.set_parameters({f"rate_controller.{name}": np.tile(np.array(sets)[:, None], 3)})
    fleet.step(pw.RateThrust(np.zeros(3), 9.81), substeps=48 * tune.RECORD_EVERY)
    errors = []
    for rate in [0.5] * 32 + [0.0] * 32:
        fleet.step(pw.RateThrust([rate, 0.0, 0.0], 9.81), substeps=tune.RECORD_EVERY)
        errors.append((fleet.body_rates[:, 0] - rate) / 0.5)
    assert np.allclose(found.error[:, 0], np.sqrt(np.mean(np.square(errors), axis=0)), rtol=1e-4)


@pytest.mark.parametrize(
    ("gains", "options", "message"),
    [
        (10.0, {}, "n: expected a whole number"),
        (True, {}, "n: expected a whole number"),
        ({}, {"amplitude": 0.0}, "amplitude"),
        ({}, {"amplitude": math.nan}, "amplitude"),
        ({}, {"duration": math.inf}, "duration"),
        ({}, {"duration": 0.1}, "duration"),
    ],
)
def test_invalid_sweeps_are_refused(gains: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tune.sweep("flightgoggles", gains, **options)


def test_gains_beyond_the_margin_lose_the_vehicle_or_score_badly() -> None:
    found = tune.sweep("flightgoggles", {"proportional": [9.0, 3000.0]}, duration=1.0, threads=1)
    assert found.lost[1] or found.score[1] > 2.0 * found.score[0]
    assert found.pareto()[0] == 0


def test_random_gains_are_distributed_about_a_set() -> None:
    sets = tune.gain_sets("flightgoggles", 200, spread=3.0, seed=1)
    assert sets["proportional"].shape == (200, 3)
    ratio = sets["proportional"].max(axis=0) / sets["proportional"].min(axis=0)
    assert np.all((ratio > 6.0) & (ratio <= 9.0))
    about = [tune.Gains(2.0, 3.0, 0.0)] * 3
    sets = tune.gain_sets("flightgoggles", 200, spread=3.0, about=about)
    for name, middle in (("proportional", 2.0), ("integral", 3.0), ("derivative", 1e-3)):
        assert np.all((sets[name] >= middle / 3.0) & (sets[name] <= middle * 3.0))
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
def test_invalid_gains_are_refused(gains: Any) -> None:
    with pytest.raises(ValueError, match="gains"):
        tune.sweep("flightgoggles", gains)


def test_allan_figures_accept_readings() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    figure = tune.allan_figure(rng.normal(size=(4000, 3)), 0.01, density=0.1)
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert labels == ["x", "white noise", "y", "z"]


def test_the_filter_passes_a_constant_rate(tuned: tune.Tuning) -> None:
    """At frequency 0 too, where the integral of the controller has no response."""
    loop = tuned.loop()
    value, slope = loop.filter(np.array([0.0, 7.0]))
    assert np.allclose((value[0], slope[0]), (1.0, 0.0), atol=1e-9)
    whole = loop.controller(0).responses(np.exp(2j * np.pi * np.array([7.0]) * loop.dt))[:, 1, 0]
    assert np.allclose((value[1], slope[1]), -whole[[0, 2]])
