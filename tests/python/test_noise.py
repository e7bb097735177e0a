"""Noise: its densities do not depend on the time step, and its streams are independent.

Seeds are fixed, so the results are reproducible. Each test states its significance.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import propwash as pw
import pytest
from helpers import Array
from scipy import stats

WHITE = {"accelerometer_noise_density": 0.02, "gyroscope_noise_density": 0.003}
WALK = {"accelerometer_bias_walk": 0.01, "gyroscope_bias_walk": 0.002}
READINGS = {"accelerometer": "specific_force", "gyroscope": "angular_rate"}


def resting(**imu: float) -> pw.VehicleParameters:
    """A vehicle in exact hover, whose IMU has these densities and which has no other noise."""
    return (
        pw.vehicles.load("flightgoggles").without_noise().replace(drag=pw.DragParameters(), imu=imu)
    )


@cache
def record(kind: str, rate: int, device_rate: float = 0.0) -> dict[str, Array]:
    """600 s of readings at rest, each (T, 3), measured at every step of 1/rate."""
    densities = {"white": WHITE, "walk": WALK, "both": WHITE | WALK}[kind]
    uav = pw.Multicopter(resting(**densities, rate=device_rate), seed=rate)
    flown = uav.rollout(pw.RotorSpeeds(uav.rotor_speeds), 1.0 / rate, steps=600 * rate)
    step = max(1, round(rate / device_rate)) if device_rate else 1
    return {
        sensor: getattr(flown, reading)[step - 1 :: step] for sensor, reading in READINGS.items()
    }


def allan_variance(signal: Array, clusters_of: int) -> tuple[float, float]:
    """Allan variance of (T, 3), averaged over the axes, and its relative standard deviation.

    The clusters do not overlap. Adjacent differences of cluster means have a correlation of -1/2
    for white noise and 1/4 for a random walk, so the variance of their mean square is at most
    3/n of its square.
    """
    count = len(signal) // clusters_of
    means = signal[: count * clusters_of].reshape(count, clusters_of, 3).mean(axis=1)
    differences = np.diff(means, axis=0)
    return 0.5 * float(np.mean(differences**2)), float(np.sqrt(3.0 / differences.size))


@pytest.mark.parametrize("kind", ["white", "walk", "both"])
@pytest.mark.parametrize("sensor", READINGS)
def test_allan_deviation_does_not_depend_on_the_step(kind: str, sensor: str) -> None:
    for tau in (1 / 60, 0.1, 0.5, 2.0, 10.0):
        fast, fast_sigma = allan_variance(record(kind, 960)[sensor], round(960 * tau))
        slow, slow_sigma = allan_variance(record(kind, 240)[sensor], round(240 * tau))
        sampled = 1.0
        if kind != "white":  # a random walk is observed only at samples: 1 + 1/(2 m^2)
            sampled += 0.5 / round(240 * tau) ** 2
        sigma = np.hypot(fast_sigma, slow_sigma)
        assert abs(np.log(slow / fast)) < 3.0 * sigma + (sampled - 1.0)


@pytest.mark.parametrize("rate", [960, 240])
@pytest.mark.parametrize("sensor", READINGS)
def test_white_noise_has_its_density_and_slope(rate: int, sensor: str) -> None:
    """The Allan variance is density^2 / tau; 4 sigma, 6e-5 for one tau."""
    density = WHITE[f"{sensor}_noise_density"]
    taus = np.array([1 / 240, 0.025, 0.1, 0.5, 2.0])
    found = [allan_variance(record("white", rate)[sensor], round(rate * tau)) for tau in taus]
    for tau, (variance, sigma) in zip(taus, found, strict=True):
        assert abs(variance * tau / density**2 - 1.0) < 4.0 * sigma
    deviations = np.sqrt([variance for variance, _ in found])
    slope = np.polyfit(np.log(taus), np.log(deviations), 1, w=[1 / s for _, s in found])[0]
    assert slope == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize("rate", [960, 240])
@pytest.mark.parametrize("sensor", READINGS)
def test_bias_random_walk_has_its_density_and_slope(rate: int, sensor: str) -> None:
    """The Allan variance is K^2 tau / 3 times 1 + 1/(2 m^2) for m samples in tau; 4 sigma."""
    density = WALK[f"{sensor}_bias_walk"]
    taus = np.array([0.05, 0.2, 1.0, 4.0])
    found = [allan_variance(record("walk", rate)[sensor], round(rate * tau)) for tau in taus]
    for tau, (variance, sigma) in zip(taus, found, strict=True):
        expected = density**2 * tau / 3.0 * (1.0 + 0.5 / (rate * tau) ** 2)
        assert abs(variance / expected - 1.0) < 4.0 * sigma
    deviations = np.sqrt([variance for variance, _ in found])
    slope = np.polyfit(np.log(taus), np.log(deviations), 1, w=[1 / s for _, s in found])[0]
    assert slope == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("sensor", READINGS)
def test_slow_imu_has_the_same_density(sensor: str) -> None:
    """Readings at 120 Hz, physics at 960 Hz; 4 sigma."""
    density = WHITE[f"{sensor}_noise_density"]
    slow = record("white", 960, 120.0)[sensor]
    for tau in (1 / 120, 0.1, 1.0):
        variance, sigma = allan_variance(slow, round(120 * tau))
        assert abs(variance * tau / density**2 - 1.0) < 4.0 * sigma


def check_chi2(normals: Array) -> None:
    """Checks the sum of squares of standard normals, two-sided at 1e-4."""
    p = stats.chi2.cdf(float(np.sum(normals**2)), normals.size)
    assert 0.5e-4 < p < 1.0 - 0.5e-4, p


@pytest.mark.parametrize("dt", [1 / 960, 1 / 240, 1 / 100])
def test_bias_grows_with_the_square_root_of_time(dt: float) -> None:
    fleet = [pw.Multicopter(resting(**WALK), seed=5, id=i) for i in range(100)]
    for duration, end in ((0.5, 0.5), (1.5, 2.0)):
        for uav in fleet:
            uav.step(pw.RotorSpeeds(uav.rotor_speeds), dt, substeps=round(duration / dt))
        deviation = np.sqrt(end)
        biases = np.array([uav.accelerometer_bias for uav in fleet])
        check_chi2(biases / (WALK["accelerometer_bias_walk"] * deviation))
        biases = np.array([uav.gyroscope_bias for uav in fleet])
        check_chi2(biases / (WALK["gyroscope_bias_walk"] * deviation))


def test_readings_include_the_initial_bias_with_its_deviation() -> None:
    vehicle = resting(accelerometer_bias_initial=0.2, gyroscope_bias_initial=0.01)
    fleet = [pw.Multicopter(vehicle, seed=1, id=i) for i in range(200)]
    check_chi2(np.array([uav.accelerometer_bias for uav in fleet]) / 0.2)
    check_chi2(np.array([uav.gyroscope_bias for uav in fleet]) / 0.01)
    for uav in fleet[:5]:
        assert np.allclose(uav.imu.angular_rate, uav.gyroscope_bias, rtol=0, atol=1e-15)
        error = uav.imu.specific_force - np.array([0.0, 0.0, 9.81])
        assert np.allclose(error, uav.accelerometer_bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dt", [1 / 960, 1 / 240, 1 / 60])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_process_noise_does_not_depend_on_the_step(
    dt: float, integrator: pw.vehicle.Integrator
) -> None:
    """Velocity and rates are random walks with variances W_f t / m^2 and W_mu t / J^2."""
    force, torque, duration = 2e-4, 1e-10, 0.5
    quiet = resting().replace(drag=pw.DragParameters())
    vehicle = quiet.replace(process_noise={"force": force, "torque": torque})
    velocities, rates = [], []
    for i in range(200):
        uav = pw.Multicopter(vehicle, integrator, seed=3, id=i)
        uav.step(pw.RotorSpeeds(uav.rotor_speeds), dt, substeps=round(duration / dt))
        velocities.append(uav.velocity)
        rates.append(uav.body_rates)
    deviation = np.sqrt(force * duration) / vehicle.body.mass
    check_chi2(np.array(velocities) / deviation)
    inertia = np.diag(np.array(vehicle.body.inertia))
    check_chi2(np.array(rates) * inertia / np.sqrt(torque * duration))


def test_samples_are_white_and_streams_independent() -> None:
    """Correlations within and between force, torque and IMU noise; 5 sigma, 6e-7 each."""
    noise = {"force": 2e-4, "torque": 1e-12}
    vehicle = resting(**WHITE).replace(process_noise=noise)
    count = 20000
    uav = pw.Multicopter(vehicle, "euler", seed=8)
    flown = uav.rollout(pw.RotorSpeeds(uav.rotor_speeds), steps=count)
    moved = np.diff(np.hstack([flown.velocity, flown.body_rates]), axis=0)
    quiet = flown.specific_force[1:] - np.diff(flown.velocity, axis=0) * 960.0
    gyroscope = (flown.angular_rate - flown.body_rates)[1:]
    samples = np.hstack([moved, quiet - quiet.mean(axis=0), gyroscope])
    samples = (samples - samples.mean(axis=0)) / samples.std(axis=0)
    simultaneous = samples.T @ samples / count - np.eye(12)
    lagged = samples[:-1].T @ samples[1:] / count
    assert np.abs(simultaneous).max() < 5.0 / np.sqrt(count)
    assert np.abs(lagged).max() < 5.0 / np.sqrt(count)
    for column in samples.T:
        assert stats.kstest(column, "norm").pvalue > 1e-4


def test_noise_off_equals_a_vehicle_without_noise() -> None:
    vehicle = pw.vehicles.load("hexacopter")
    off = pw.Multicopter(vehicle, seed=1, noise=False)
    without = pw.Multicopter(vehicle.without_noise(), seed=2)
    command = pw.RateThrust([0.5, -0.2, 0.1], 16.0)
    a, b = (uav.rollout(command, steps=100) for uav in (off, without))
    for name in vars(a):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.array_equal(off.accelerometer_bias, np.zeros(3))
    assert pw.vehicles.load("car", pw.CarParameters).without_noise().process_noise == (0.0, 0.0)
