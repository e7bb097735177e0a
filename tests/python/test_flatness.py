"""Inputs required by planned paths: flatness against the model, limits, fleets, plots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from helpers import code_blocks, rotation_matrices, run_in_order
from numpy.typing import NDArray
from path_helpers import ALL, PATHS, WAYPOINTS, away_from_knots, sample_times
from propwash import trajectories as tj
from propwash.trajectories._limits import demand

Array = NDArray[np.float64]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trajectories.md"
VEHICLES = pytest.mark.parametrize("name", ["flightgoggles", "crazyflie", "hexacopter"])


@VEHICLES
@pytest.mark.parametrize("shape", ["open", "lemniscate", "circle"])
def test_model_derivatives_match_flatness(name: str, shape: str) -> None:
    """In the state from flatness, the derivatives of the model equal those of the reference."""
    vehicle = pw.vehicles.load(name).without_noise()
    # flatness neglects the angular momentum of the rotors
    quiet = [rotor.replace(inertia=0.0) for rotor in vehicle.rotors]
    speed_max = 5.0 * max(vehicle.motor_values("speed_max"))
    vehicle = vehicle.replace(rotors=tuple(quiet), motor={"speed_max": speed_max})
    path = PATHS[shape]
    reference = path.sample(sample_times(path, 12))
    inputs = tj.flatness(reference, vehicle)
    uav = pw.Multicopter(vehicle, noise=False)
    flyable = inputs.rotor_speeds.min(axis=1) >= 0.0
    assert flyable.any()
    for row in np.flatnonzero(flyable):
        uav.reset(
            position=reference.position[row],
            velocity=reference.velocity[row],
            attitude=inputs.attitude[row],
            body_rates=inputs.body_rates[row],
            rotor_speeds=inputs.rotor_speeds[row],
        )
        found = uav.derivative()
        assert np.allclose(found.velocity, reference.acceleration[row], atol=1e-9)
        assert np.allclose(found.body_rates, inputs.angular_acceleration[row], atol=1e-8)


@ALL
def test_rates_and_accelerations_are_derivatives_of_the_attitude(path: tj.Path) -> None:
    step = 1e-5
    time = away_from_knots(path, sample_times(path), step)
    rows = np.stack([time - step, time, time + step])
    before, now, after = (tj.flatness(path.sample(row)) for row in rows)
    rotation = rotation_matrices(before.attitude).swapaxes(1, 2) @ rotation_matrices(after.attitude)
    sine = 0.5 * (rotation - rotation.swapaxes(1, 2))
    rate = np.stack([sine[:, 2, 1], sine[:, 0, 2], sine[:, 1, 0]], axis=1) / (2.0 * step)
    assert np.abs(rate - now.body_rates).max() < 1e-5
    change = (after.body_rates - before.body_rates) / (2.0 * step)
    scale = max(1.0, float(np.abs(now.angular_acceleration).max()))
    assert np.abs(change - now.angular_acceleration).max() < 1e-4 * scale


def test_a_circle_matches_its_closed_form() -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(drag={"translational": 0.0})
    mass, radius, speed = vehicle.body.mass, 2.0, 4.0
    inputs = tj.flatness(tj.Circle(radius, speed, yaw="along").sample(period=0.05), vehicle)
    inwards = speed**2 / radius
    tilt = np.arccos(rotation_matrices(inputs.attitude)[:, 2, 2])
    assert np.allclose(tilt, np.arctan(inwards / 9.81))
    assert np.allclose(inputs.thrust, mass * np.hypot(9.81, inwards))
    # the body rotates about the z axis of the world, so all is constant in body axes
    vertical = rotation_matrices(inputs.attitude)[:, 2, :]
    assert np.allclose(inputs.body_rates, speed / radius * vertical)
    assert np.abs(inputs.angular_acceleration).max() < 1e-9
    assert np.allclose(inputs.rotor_thrusts.sum(axis=1), inputs.thrust)
    # drag adds a tilt along the path
    dragged = vehicle.replace(drag={"translational": 0.2})
    inputs = tj.flatness(tj.Circle(radius, speed, yaw="along").sample(period=0.05), dragged)
    sideways = np.hypot(inwards, 0.2 / mass * speed**2)
    assert np.allclose(
        np.arccos(rotation_matrices(inputs.attitude)[:, 2, 2]), np.arctan(sideways / 9.81)
    )


@pytest.mark.parametrize("shape", ["open", "circle", "lemniscate", "line"])
def test_open_loop_rotor_speeds_follow_the_reference_for_a_second(shape: str) -> None:
    """Rotor speeds of the reference, advanced by the lag of the motors; no noise."""
    vehicle = pw.vehicles.load("flightgoggles").without_noise()
    reference = PATHS[shape].sample(np.arange(961) * pw.DEFAULT_DT)
    inputs = tj.flatness(reference, vehicle)
    lag = vehicle.motor.time_constant_up
    speeds = inputs.rotor_speeds + lag * np.gradient(inputs.rotor_speeds, pw.DEFAULT_DT, axis=0)
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(
        position=reference.position[0],
        velocity=reference.velocity[0],
        attitude=inputs.attitude[0],
        body_rates=inputs.body_rates[0],
        rotor_speeds=inputs.rotor_speeds[0],
    )
    flown = uav.rollout(pw.RotorSpeeds(speeds[:-1]))
    length = np.linalg.norm(np.diff(reference.position, axis=0), axis=1).sum()
    drift = np.linalg.norm(flown.position - reference.position[1:], axis=1).max()
    assert length > 1.0
    assert drift < 0.015


def test_rates_and_thrust_are_a_feed_forward() -> None:
    """With the lag of the rate loop compensated, feed-forward rates and thrust follow the path."""
    vehicle = pw.vehicles.load("flightgoggles").without_noise()
    vehicle = vehicle.replace(rate_controller={"integral": 0.0})
    loop = vehicle.rate_controller
    reference = PATHS["open"].sample(np.arange(1000) * pw.DEFAULT_DT)
    inputs = tj.flatness(reference, vehicle)
    lag = (1.0 + np.array(loop.derivative)) / np.array(loop.proportional)
    ahead = round(vehicle.motor_values("time_constant_up")[0] / pw.DEFAULT_DT)
    rates = (inputs.body_rates + lag * inputs.angular_acceleration)[ahead : ahead + 960]
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(position=reference.position[0], attitude=inputs.attitude[0])
    flown = uav.rollout(pw.RateThrust(rates, inputs.thrust[ahead : ahead + 960]))
    drift = np.linalg.norm(flown.position - reference.position[1:961], axis=1)
    assert drift.max() < 0.08


@VEHICLES
def test_the_default_duration_is_the_minimum_within_the_limits(name: str) -> None:
    pytest.importorskip("scipy")
    vehicle = pw.vehicles.load(name)
    limits = tj.Limits(thrust=0.7, rates=(6.0, 6.0, 2.0), speed=9.0)
    path = tj.minimum_snap(WAYPOINTS, vehicle, limits=limits, yaw="along")

    def limit_fraction(path: tj.Polynomial) -> float:
        reference = path.sample(period=0.001)
        inputs = tj.flatness(reference, vehicle)
        max_thrust = vehicle.max_rotor_thrust
        assert inputs.rotor_thrusts.min() > -1e-3 * max_thrust[0]
        return max(
            float((inputs.rotor_thrusts / max_thrust).max()) / limits.thrust,
            float(np.abs(inputs.body_rates / limits.rates).max()),
            float(np.linalg.norm(reference.velocity, axis=1).max()) / limits.speed,
        )

    assert 0.9 < limit_fraction(path) < 1.002
    faster = tj.minimum_snap(WAYPOINTS, vehicle, times=np.diff(path.knots) * 0.97, yaw="along")
    assert limit_fraction(faster) > 1.002
    with pytest.raises(ValueError, match=r"limits: not met in .* s: .* times the limit"):
        tj.minimum_snap(WAYPOINTS, vehicle, duration=0.5 * path.duration, limits=limits)


@pytest.mark.parametrize(("name", "size"), [("crazyflie", 0.05), ("hexacopter", 0.3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_limits_hold_between_the_sampled_times(name: str, size: float, seed: int) -> None:
    """Corners in the second derivative of the heading cause narrow peaks of thrust."""
    pytest.importorskip("scipy")
    rng = np.random.default_rng(seed)
    vehicle = pw.vehicles.load(name)
    limits = tj.Limits(thrust=0.8, rates=(20.0, 6.0, 20.0))
    path = tj.minimum_snap(size * rng.normal(size=(3, 3)), vehicle, limits=limits, yaw="along")
    rows = np.concatenate(
        [np.linspace(a, b, 3001) for a, b in zip(path.knots, path.knots[1:], strict=False)]
    )
    assert demand(path.sample(rows), vehicle, limits).fraction <= 1.0


def test_attitude_is_undefined_for_a_vehicle_without_weight() -> None:
    weightless = pw.vehicles.load("flightgoggles").replace(body={"gravity": (0.0, 0.0, 0.0)})
    with pytest.raises(ValueError, match=r"the attitude is undefined, .* without weight"):
        tj.minimum_snap([(0, 0, 0), (1, 0, 0)], weightless)


def test_paths_are_equivariant_to_rotation_and_translation_of_the_world() -> None:
    pytest.importorskip("scipy")
    angle, offset = 0.7, np.array([5.0, -3.0, 2.0])
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    one = tj.minimum_snap(WAYPOINTS, yaw="along")
    other = tj.minimum_snap(WAYPOINTS @ rotation.T + offset, yaw="along")
    assert other.duration == pytest.approx(one.duration, rel=1e-3)
    fraction = np.linspace(0.0, 1.0, 100)
    times = np.diff(one.knots)
    moved = tj.minimum_snap(WAYPOINTS @ rotation.T + offset, times=times, yaw="along")
    first, second = (path.sample(fraction * one.duration) for path in (one, moved))
    assert np.allclose(first.position @ rotation.T + offset, second.position)
    assert np.allclose(first.snap @ rotation.T, second.snap, atol=1e-6)
    assert np.allclose(np.exp(1j * (first.yaw + angle)), np.exp(1j * second.yaw))
    inputs, same = tj.flatness(first), tj.flatness(second)
    for name in ("body_rates", "angular_acceleration", "thrust", "rotor_thrusts"):
        assert np.allclose(getattr(inputs, name), getattr(same, name), atol=1e-7), name


def test_rows_without_a_defined_attitude_are_nan() -> None:
    """In free fall the thrust axis is undefined."""
    time = np.linspace(0.0, 1.0, 3)
    falling = tj.Circle().sample(time)
    zeros = {name: 0.0 * getattr(falling, name) for name in ("velocity", "jerk", "snap")}
    row = tj.Reference(
        **{**vars(falling), **zeros, "acceleration": np.tile([0.0, 0.0, -9.81], (3, 1))}
    )
    inputs = tj.flatness(row)
    assert np.isnan(inputs.attitude).all()
    assert np.isnan(inputs.body_rates).all()


def test_the_outer_loops_follow_a_reference() -> None:
    """With noise; the vehicles of a fleet follow one path or different paths."""
    path = tj.Lemniscate(3.0, 4.0, centre=(0, 0, 2), ramp=1.0, laps=0.4)
    common = path.sample(period=4 * pw.DEFAULT_DT)
    offset = path.sample(period=4 * pw.DEFAULT_DT, offset=[0.0, -0.2])
    for reference in (common, offset):
        fleet = pw.Fleet("flightgoggles", 2, seed=2, threads=1)
        fleet.reset(position=reference.position[0])
        flown = fleet.rollout(reference[:-1].command("indi"), substeps=4, record=["position"])
        assert flown.position is not None
        expected = reference.position[1:]
        expected = expected if expected.ndim == 3 else expected[:, None]
        assert np.linalg.norm(flown.position - expected, axis=2).max() < 0.1
        stepped = pw.Fleet("flightgoggles", 2, seed=2, threads=1)
        stepped.reset(position=reference.position[0])
        for row in range(50):
            stepped.step(reference[row].command("indi"), substeps=4)
        assert np.array_equal(stepped.position, flown.position[49])
    uav = pw.Multicopter("flightgoggles", seed=2)
    uav.reset(position=common.position[0])
    single = uav.rollout(common[:-1].command("geometric"), substeps=4)
    assert np.linalg.norm(single.position - common.position[1:], axis=1).max() < 0.1


# stacked references


def test_a_fleet_can_follow_one_path_with_time_offsets() -> None:
    path = PATHS["closed"]
    time, offset = np.linspace(0.0, 2.0, 30), np.array([0.0, 0.4, 7.0])
    many = path.sample(time, offset=offset)
    assert many.position.shape == (30, 3, 3)
    assert many.yaw.shape == (30, 3)
    inputs = tj.flatness(many)
    for i, ahead in enumerate(offset):
        one = path.sample(time + ahead)
        assert np.allclose(many.snap[:, i], one.snap, atol=1e-9)
        assert np.allclose(inputs.rotor_thrusts[:, i], tj.flatness(one).rotor_thrusts)
        assert np.allclose(
            np.abs(np.sum(inputs.attitude[:, i] * tj.flatness(one).attitude, axis=1)), 1
        )
    rows = many[5:8]
    assert np.array_equal(rows.jerk, many.jerk[5:8])
    assert np.array_equal(many[4].position, many.position[4])
    assert len(many) == 30


def test_references_can_be_stacked() -> None:
    time = np.linspace(0.0, 1.0, 20)
    both = tj.stack([tj.Circle().sample(time), tj.Lemniscate(yaw="along").sample(time)])
    assert both.position.shape == (20, 2, 3)
    assert np.array_equal(both.yaw[:, 1], tj.Lemniscate(yaw="along").sample(time).yaw)
    with pytest.raises(ValueError, match=r"references\[1\]: expected the times of the first"):
        tj.stack([tj.Circle().sample(time), tj.Circle().sample(time + 1.0)])
    with pytest.raises(ValueError, match="at least one"):
        tj.stack([])
    with pytest.raises(ValueError, match=r"references\[0\]: expected a single-vehicle reference"):
        tj.stack([both])


def test_attitudes_are_unit_and_continuous() -> None:
    """Over several rotations in yaw, where the sign of a quaternion could change."""
    inputs = tj.flatness(tj.Circle(1.0, 5.0, laps=3.0, yaw="along").sample(period=0.01))
    assert np.allclose(np.linalg.norm(inputs.attitude, axis=1), 1.0)
    assert np.abs(np.diff(inputs.attitude, axis=0)).max() < 0.1


class Helix(tj.Path):
    """A custom path."""

    @property
    def duration(self) -> float:
        return 2.0

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        phase = [time + 0.5 * np.pi * k for k in range(5)]
        climb = [0.3 * time, np.full_like(time, 0.3), *[np.zeros_like(time)] * 3]
        position = [
            np.stack([np.cos(p), np.sin(p), z], axis=-1) for p, z in zip(phase, climb, strict=True)
        ]
        return np.stack(position), np.stack([0.0 * time] * 3)


def test_a_custom_path_is_sampled_like_the_others() -> None:
    reference = Helix().sample(period=0.5, offset=[0.0, 1.0])
    assert reference.position.shape == (5, 2, 3)
    assert np.allclose(reference.position[2, 0], reference.position[0, 1])


class Wrong(Helix):
    """A path without snap."""

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        position, yaw = super().evaluate(time)
        return position[:4], yaw


def test_an_invalid_custom_path_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Wrong.evaluate: expected shapes \(5, 4, 3\)"):
        Wrong().sample(np.arange(4.0))


# plots and the documentation page


def test_a_reference_is_plotted_with_the_required_inputs() -> None:
    pytest.importorskip("matplotlib")
    from propwash import viz

    reference = PATHS["lemniscate"].sample(period=0.05)
    figure = viz.reference_figure(reference, "flightgoggles", title="eight")
    drawn = {axes.get_title(): axes for axes in figure.axes}
    inputs = tj.flatness(reference, "flightgoggles")
    for line, values in zip(drawn["body rate"].lines, inputs.body_rates.T, strict=True):
        assert np.array_equal(np.asarray(line.get_ydata()), values)
    with pytest.raises(ValueError, match="expected a single-vehicle reference"):
        viz.reference_figure(PATHS["circle"].sample([0.0, 1.0], offset=[0.0, 1.0]))


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="docs/trajectories.md is missing")
def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    pytest.importorskip("casadi")
    monkeypatch.chdir(tmp_path)
    found = code_blocks(PAGE, "python")
    assert len(found) >= 2
    run_in_order(found, "docs/trajectories.md")
    assert list(tmp_path.glob("*.png"))
