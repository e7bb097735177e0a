"""The error-state filter: alignment, consistency, late measurements, refused arguments."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import _rotation
from propwash.estimate import ErrorStateFilter
from propwash.vehicle import ImuParameters
from propwash.world import Gate

Array = NDArray[np.float64]
RATE = 960
DT = 1.0 / RATE
G = 9.81
SENSOR = ImuParameters(
    accelerometer_noise_density=2e-3,
    gyroscope_noise_density=1e-3,
    accelerometer_bias_walk=3e-4,
    gyroscope_bias_walk=1e-4,
    accelerometer_bias_initial=0.1,
    gyroscope_bias_initial=0.02,
)
CAMERA = pw.Camera()
GATES = tuple(
    Gate(name=f"g{k}", width=2.0, height=1.5, position=(8.0, y, z), perturbation=bounds)
    for k, (y, z, bounds) in enumerate(
        [(-3.0, 2.0, (0.0, 0.0, 0.0)), (0.0, 3.0, (0.5, 0.5, 0.1)), (3.0, 1.5, (0.0, 1.0, 0.0))]
    )
)
MOVING = 15 + np.array([3, 4, 5, 7])  # the errors of gates that are not zero


@pytest.fixture
def consistency(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark of the same name."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module("estimate_consistency")


def at_rest(
    position: Any = (0, 0, 1), attitude: Any = (1, 0, 0, 0), velocity: Any = (0, 0, 0)
) -> pw.MotionEstimate:
    return pw.MotionEstimate(position, velocity, attitude)


def new_filter(**options: Any) -> ErrorStateFilter:
    start = options.pop("start", at_rest())
    return ErrorStateFilter(
        options.pop("imu", SENSOR), start, options.pop("gates", GATES), **options
    )


def corners(gate: Gate) -> Array:
    """(4, 3) m, upper left, upper right, lower right, lower left."""
    sides = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
    half = 0.5 * np.array([gate.width, gate.height])
    local = np.column_stack([np.full(4, -0.5 * gate.depth), sides * half])
    return np.asarray(gate.position) + local @ _rotation.rotation(gate.attitude).T


def sightings(
    position: Any, attitude: Any, gates: tuple[Gate, ...] = GATES, camera: pw.Camera = CAMERA
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]:
    """Indices of gates and corners, and pixels, of the corners in view."""
    points = np.concatenate([corners(gate) for gate in gates])
    pixels = camera.project(points, position, attitude)
    (seen,) = np.nonzero(pixels.in_view)
    return (
        np.asarray(seen // 4, np.intp),
        np.asarray(seen % 4, np.intp),
        pixels.u[seen],
        pixels.v[seen],
    )


def numbers(f: ErrorStateFilter) -> Array:
    """All that a filter estimates."""
    state = f.state
    parts = [state.position, state.velocity, state.attitude, f.gyroscope_bias, f.accelerometer_bias]
    return np.concatenate(
        [*map(np.ravel, [*parts, f.gates, f.covariance]), [f.time, f.update_time]]
    )


def moved_readings(steps: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return 0.5 * rng.standard_normal((steps, 3)), rng.normal((0, 0, G), 1.0, (steps, 3))


def test_free_fall_and_hover_without_noise() -> None:
    f = new_filter(imu=ImuParameters(), start=at_rest((0, 0, 50), velocity=(2, 0, 0)), gates=())
    f.propagate(np.zeros((RATE, 3)), np.zeros((RATE, 3)), DT)
    np.testing.assert_allclose(f.state.position, [2.0, 0.0, 50.0 - 0.5 * G], atol=1e-9)
    f.propagate(np.zeros((1, 3)), [[0, 0, G]], DT)  # the force is linear in time during the step
    np.testing.assert_allclose(f.state.velocity, [2.0, 0.0, -G * (1 + 0.5 * DT)], atol=1e-9)
    assert f.time == pytest.approx(1.0 + DT)


def test_a_flight_is_integrated_to_second_order() -> None:
    """A reading belongs to the end of its step: half the step is a quarter of the error."""
    path = pw.trajectories.Lemniscate(size=6.0, speed=8.0, centre=(0, 0, 3), ramp=1.0)
    errors = []
    for rate in (480, 960):
        vehicle = pw.Multicopter("flightgoggles", integrator="rk4", noise=False)
        reference = path.sample(period=1 / rate)
        vehicle.reset(position=reference.position[0])
        f = ErrorStateFilter(ImuParameters(), vehicle.state)
        flight = vehicle.rollout(reference[: 3 * rate], dt=1 / rate)
        f.propagate(flight.angular_rate, flight.specific_force, 1 / rate)
        errors.append(np.linalg.norm(f.state.position - flight.position[-1]))
    assert errors[1] < 2e-4
    assert 0.2 < errors[1] / errors[0] < 0.3


@pytest.mark.parametrize("moving", [False, True])
def test_alignment(moving: bool) -> None:
    """Known gates and gravity give attitude, position and biases: errors within four sigma."""
    rng = np.random.default_rng(4)
    truth = pw.Imu(SENSOR, seed=8)
    seconds, f = (
        8,
        new_filter(
            start=at_rest((0.2, -0.3, 1.25), (0.99875, 0.03, 0.03, -0.026)),
            position_deviation=0.4,
            velocity_deviation=0.1,
            attitude_deviation=0.08,
        ),
    )
    before = np.sqrt(np.diag(f.covariance))
    position, size = np.array([0.0, 0.0, 1.0]), 0.5 if moving else 0.0
    for step in range(1, seconds * RATE + 1):
        w, t = 3.0, step * DT
        place = position + size * np.array([0.0, np.sin(w * t), 1 - np.cos(w * t)])
        force = size * w * w * np.array([0.0, -np.sin(w * t), np.cos(w * t)]) + [0, 0, G]
        reading = truth.read(force, [0, 0, 0], dt=DT)
        f.propagate(reading.angular_rate, reading.specific_force, DT)
        if step == 1:
            f.update_range(1.0, variance=0.1)
        if step % 16 == 0:
            g, c, u, v = sightings(place, (1, 0, 0, 0))
            u, v = u + rng.standard_normal(len(u)), v + rng.standard_normal(len(v))
            assert f.update_beacons(g, c, u, v, CAMERA, deviation=1.0).all()
    velocity = size * w * np.array([0.0, np.cos(w * t), np.sin(w * t)])
    error = np.concatenate(
        [
            -2.0 * np.asarray(f.state.attitude[1:]) / f.state.attitude[0],
            velocity - f.state.velocity,
            place - f.state.position,
            truth.gyroscope_bias - f.gyroscope_bias,
            truth.accelerometer_bias - f.accelerometer_bias,
            -f.gates.ravel(),
        ]
    )
    deviation = np.sqrt(np.diag(f.covariance))
    assert (np.abs(error) <= 4.0 * deviation).all()
    assert (deviation[:9] < 0.3 * before[:9]).all()
    assert (deviation[MOVING] < 0.1 * before[MOVING]).all()


@pytest.mark.slow
def test_the_mean_nees_of_flights_is_within_its_bounds(consistency: ModuleType) -> None:
    runs = [consistency.estimated(seed, 5.0, tilt_deg=35.0) for seed in range(100)]
    nees = np.array([run[0] for run in runs])
    freedom = consistency.degrees_of_freedom()
    for k, name in enumerate(consistency.GROUPS):
        low, high = consistency.bounds_of(freedom[k], len(runs))
        mean = nees[:, :, k].mean(axis=0)
        assert np.mean((mean >= low) & (mean <= high)) >= 0.85, name
        low, high = consistency.bounds_of(freedom[k], len(runs), confidence=1 - 1e-4)
        assert low <= mean.mean() <= high, name


def test_late_measurements_give_the_same_estimate() -> None:
    rng = np.random.default_rng(1)
    rates, forces = moved_readings(200, rng)
    on_time, late = new_filter(), new_filter()
    waiting: list[tuple[int, Callable[[ErrorStateFilter, float], Any]]] = []
    for step in range(200):
        for f in (on_time, late):
            f.propagate(rates[step], forces[step], DT)
        while waiting and step - waiting[0][0] >= 48:
            at, update = waiting.pop(0)
            update(late, (at + 1) * DT)
        if step % 16 == 7 and step < 150:
            g, c, u, v = sightings(on_time.state.position, on_time.state.attitude)
            u, v = u + rng.standard_normal(len(u)), v + rng.standard_normal(len(v))

            def by_beacons(f: ErrorStateFilter, time: float, seen: Any = (g, c, u, v)) -> Any:
                g, c, u, v = seen
                return f.update_beacons(g, c, u, v, CAMERA, time=time)

            def by_range(
                f: ErrorStateFilter, time: float, z: float = 1 + 0.1 * rng.random()
            ) -> Any:
                return f.update_range(z, time=time)

            for update in (by_beacons, by_range):
                update(on_time, on_time.time)
                waiting.append((step, update))
    assert not waiting
    np.testing.assert_allclose(numbers(late)[:-1], numbers(on_time)[:-1], rtol=1e-9, atol=1e-11)


def test_a_time_between_readings_is_interpolated() -> None:
    """A constant motion, at one tenth of the rate: an update between two readings is the same."""
    fast, slow = new_filter(imu=ImuParameters()), new_filter(imu=ImuParameters())
    for step in range(10):
        fast.propagate([0.0, 0.1, 0.2], [0.5, 0.0, G], 0.001)
        if step == 5:
            g, c, u, v = sightings((0.01, 0, 1), (1, 0, 0, 0))
            fast.update_beacons(g, c, u, v, CAMERA)
    slow.propagate([0.0, 0.1, 0.2], [0.5, 0.0, G], 0.01)
    slow.update_beacons(g, c, u, v, CAMERA, time=0.006)
    np.testing.assert_allclose(numbers(slow), numbers(fast), rtol=1e-5, atol=1e-8)


def test_covariance_is_symmetric_and_positive_after_many_updates() -> None:
    rng = np.random.default_rng(2)
    f = new_filter(history=1)
    for _ in range(300):
        f.propagate(*moved_readings(4, rng), DT)
        g, c, u, v = sightings(f.state.position, f.state.attitude)
        u, v = (x + 0.01 * rng.standard_normal(len(x)) for x in (u, v))
        f.update_beacons(g, c, u, v, CAMERA, 0.01)
    p = f.covariance
    np.testing.assert_array_equal(p, p.T)
    moving = np.concatenate([np.arange(15), MOVING])
    assert np.linalg.eigvalsh(p[np.ix_(moving, moving)]).min() > 0.0
    known = np.setdiff1d(np.arange(len(p)), moving)
    assert not p[known].any()
    assert not f.gates.ravel()[known - 15].any()


def test_outliers_are_rejected() -> None:
    f = new_filter()
    f.propagate([0, 0, 0], [0, 0, G], DT)
    g, c, u, v = sightings((0, 0, 1), (1, 0, 0, 0))
    u[2] += 60.0
    accepted = f.update_beacons(g, c, u, v, CAMERA)
    assert not accepted[2]
    assert accepted.sum() == len(g) - 1
    before = numbers(f)
    assert not f.update_range(4.0)
    assert not f.update_range(1.0, direction=(1, 0, 0))  # parallel to the ground
    assert not f.update_beacons(
        [0], [0], [512.0], [384.0], CAMERA.mounted(attitude=(0, 0, 0, 1))
    ).any()
    np.testing.assert_array_equal(numbers(f), before)
    assert f.update_range(1.02)
    assert f.update_beacons([], [], [], [], CAMERA).shape == (0,)


def test_camera_and_range_finder_may_be_anywhere_on_the_body() -> None:
    """Measurements of the exact state do not move it, whatever lever arms there are."""
    imu = ImuParameters(
        position=(0.1, 0.2, -0.3), attitude=(0.6, 0.8, 0, 0), gyroscope_scale=(2, 1, 1)
    )
    q = (0.98, 0.1, -0.1, 0.14)
    q = tuple(np.array(q) / np.linalg.norm(q))
    f = new_filter(imu=imu, start=at_rest((1, 2, 3), q))
    np.testing.assert_allclose(f.state.position, [1, 2, 3], atol=1e-12)
    camera = CAMERA.mounted((0.3, 0.0, 0.2), (0.96, 0, -0.28, 0))
    f.update_beacons(*sightings((1, 2, 3), q, camera=camera), camera)
    down = np.array([0.6, 0.0, -0.8])
    rotation, place = _rotation.rotation(q), np.array([0.0, 0.1, -0.2])
    start = rotation @ place + [1, 2, 3]
    assert f.update_range(-start[2] / (rotation @ down)[2], direction=down, position=place)
    np.testing.assert_allclose(f.state.position, [1, 2, 3], atol=1e-9)
    np.testing.assert_allclose(f.state.attitude, q, atol=1e-9)


BAD: list[tuple[type[Exception], str, Callable[[ErrorStateFilter], Any]]] = [
    (ValueError, "gyroscope", lambda f: f.propagate([0, np.nan, 0], [0, 0, G], DT)),
    (ValueError, "accelerometer", lambda f: f.propagate([[0, 0, 0]], [0, 0, G], DT)),
    (ValueError, "dt", lambda f: f.propagate([0, 0, 0], [0, 0, G], 0.0)),
    (ValueError, "dt", lambda f: f.propagate([0, 0, 0], [0, 0, G], -DT)),
    (ValueError, "dt", lambda f: f.propagate([0, 0, 0], [0, 0, G], 1e-9)),
    (ValueError, "dt", lambda f: f.propagate([0, 0, 0], [0, 0, G], 1e9)),
    (
        ValueError,
        "at most 1e6",
        lambda f: f.propagate(np.array([[0, 0, 0], [0, 0, 1e300]]), np.full((2, 3), G), DT),
    ),
    (ValueError, "last IMU", lambda f: f.update_range(1.0, time=1.0)),
    (ValueError, "order of their times", lambda f: f.update_range(1.0, time=0.0)),
    (ValueError, "time", lambda f: f.update_range(1.0, time=float("nan"))),
    (ValueError, "range", lambda f: f.update_range(float("inf"))),
    (ValueError, "variance", lambda f: f.update_range(1.0, variance=0.0)),
    (ValueError, "unit vector", lambda f: f.update_range(1.0, direction=(0, 0, -2))),
    (
        ValueError,
        "order of their times",
        lambda f: f.update_beacons([0], [0], [1.0], [1.0], CAMERA, time=0.0),
    ),
    (ValueError, "u", lambda f: f.update_beacons([0], [0], [np.nan], [1.0], CAMERA)),
    (ValueError, "one length", lambda f: f.update_beacons([0], [0, 1], [1.0], [1.0], CAMERA)),
    (ValueError, "gates", lambda f: f.update_beacons([0.5], [0], [1.0], [1.0], CAMERA)),
    (ValueError, "gate from 0 to 3", lambda f: f.update_beacons([3], [0], [1.0], [1.0], CAMERA)),
    (ValueError, "gate from 0 to 3", lambda f: f.update_beacons([-1], [0], [1.0], [1.0], CAMERA)),
    (ValueError, "corner", lambda f: f.update_beacons([0], [4], [1.0], [1.0], CAMERA)),
    (ValueError, "deviation", lambda f: f.update_beacons([0], [0], [1.0], [1.0], CAMERA, 0.0)),
    (TypeError, "camera", lambda f: f.update_beacons([0], [0], [1.0], [1.0], CAMERA.matrix)),  # type: ignore[arg-type]
    (
        ValueError,
        "camera",
        lambda f: f.update_beacons([0], [0], [1.0], [1.0], CAMERA.mounted(np.zeros((2, 3)))),
    ),
]


@pytest.mark.parametrize(("kind", "message", "call"), BAD)
def test_refused_calls_change_nothing(
    kind: type[Exception], message: str, call: Callable[[ErrorStateFilter], Any]
) -> None:
    f = new_filter()
    f.propagate([0.1, 0, 0], [0, 0, G], DT)
    f.update_range(1.0)
    f.propagate([0.1, 0, 0], [0, 0, G], DT)
    before = numbers(f)
    with pytest.raises(kind, match=message):
        call(f)
    np.testing.assert_array_equal(numbers(f), before)
    f.propagate([0.1, 0, 0], [0, 0, G], DT)
    assert f.update_range(1.0)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("imu", {"imu": "crazyflie"}),
        ("accelerometer_noise_density", {"imu": ImuParameters(accelerometer_noise_density=-1.0)}),
        ("start.position", {"start": at_rest((0, 0, np.nan))}),
        ("unit quaternion", {"start": at_rest(attitude=(1, 1, 0, 0))}),
        ("gates", {"gates": [(0, 0, 0)]}),
        ("position_deviation", {"position_deviation": -1.0}),
        ("attitude_deviation", {"attitude_deviation": (1.0, 2.0)}),
        ("gravity", {"gravity": (0, 0)}),
        ("time", {"time": np.inf}),
        ("history", {"history": 0}),
        ("rejection", {"rejection": 0.0}),
    ],
)
def test_invalid_parameters(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(pw.ParameterError, match=message):
        new_filter(**options)


def test_readings_beyond_the_history_cannot_be_corrected() -> None:
    f = new_filter(history=10)
    f.propagate(np.zeros((30, 3)), np.tile([0, 0, G], (30, 1)), DT)
    assert f.update_time == pytest.approx(20 * DT)
    with pytest.raises(ValueError, match="oldest IMU reading kept"):
        f.update_range(1.0, time=19 * DT)
    assert f.update_range(1.0, time=20 * DT)


def test_the_sensors_of_hover_determine_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies of these sensors miss the target by some centimetres: by their learning."""
    for package in ("gymnasium", "onnxruntime", "torch"):
        pytest.importorskip(package)
    from propwash import gym
    from propwash.gym.evaluation import evaluate
    from propwash.gym.policy import Policy
    from propwash.gym.recipes import recipe

    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    script = importlib.import_module("hover_by_sensors")
    envs = gym.make_vec(gym.Hover, 5, **recipe("hover", "sensors").options)
    pilot = script.Estimator(envs, Policy.load("hover"))
    result = evaluate(pilot, envs, seed=1)
    assert np.quantile(np.array(pilot.errors)[result.time >= 1.0], 0.9) < 0.005
    assert result.settled(0.1, 2.0) >= 0.8
