"""The race by sensors alone: what a pilot receives, its estimates, its plans."""

from __future__ import annotations

import gc
import math
import re
import time
import types
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import race
from propwash.__main__ import main
from propwash.race import _map as _race_map
from propwash.race import _navigation, _plan, _wind
from propwash.race._instruments import Instruments
from propwash.world import Gate, Plane, Scene, Start

Array = NDArray[np.float64]
DT = pw.DEFAULT_DT


class Kept:
    """Makes a SensorPilot and keeps it."""

    pilot: race.SensorPilot

    def __call__(self, briefing: race.Briefing) -> race.SensorPilot:
        self.pilot = race.SensorPilot(briefing)
        return self.pilot


@cache
def flown(mount: Any) -> tuple[race.Result, race.SensorPilot]:
    maker = Kept()
    sensors = race.SensorSuite(camera=race.mounted_camera(mount))
    return race.fly(4, pilot=maker, sensors=sensors), maker.pilot


@pytest.mark.parametrize("mount", ["tilted", pytest.param("level", marks=pytest.mark.slow)])
def test_the_course_is_flown_by_sensors_alone(mount: str) -> None:
    result, _ = flown(mount)
    assert result.finished
    # the best of the published teams
    assert result.score > 91.39
    errors = result.estimation
    assert errors is not None
    assert errors.position < 0.2
    assert errors.attitude < math.radians(0.5)
    assert errors.gates < 0.4


@pytest.mark.parametrize(
    ("seed", "wind"), [(3, (5.0, 0.0)), pytest.param(9, (-3.0, 4.0), marks=pytest.mark.slow)]
)
def test_wind_and_gusts_are_estimated_and_the_course_is_flown(
    seed: int, wind: tuple[float, float]
) -> None:
    """Without a reserve of thrust for the wind, both flights end at a gate."""
    maker = Kept()
    gusts = pw.Dryden(5.0, altitude=5.0, airspeed=15.0)
    result = race.fly(seed, pilot=maker, wind=(*wind, 0.0), turbulence=gusts)
    assert result.finished
    assert np.linalg.norm(maker.pilot.wind[:2] - wind) < 4.0


def test_the_wind_is_found_from_the_drag() -> None:
    uav = pw.Multicopter("flightgoggles", seed=1)
    uav.reset(position=(0.0, 0.0, 50.0))
    uav.wind = [3.0, -4.0, 0.0]
    estimate = _wind.WindEstimate(uav.parameters, _plan.drag_of(uav.parameters))
    for k in range(240 * 6):
        uav.step(pw.VelocityCommand([2.0, 0.0, 0.0]), substeps=4)
        estimate.update(uav.imu.specific_force, uav.state.velocity, uav.state.attitude, 4 * DT)
        if k == 240:
            assert np.linalg.norm(estimate.wind - uav.wind) < 2.0
    assert np.linalg.norm(estimate.wind - uav.wind) < 0.5


@pytest.mark.parametrize("mount", ["tilted", pytest.param("level", marks=pytest.mark.slow)])
def test_errors_of_the_estimates_agree_with_their_covariance(mount: str) -> None:
    """At the end of the flight: position, velocity and gates within 4 standard deviations.

    Of 39 numbers, one is beyond 4 in 400 flights.
    """
    result, pilot = flown(mount)
    estimates, flight = result.estimates, result.flight
    assert estimates is not None
    assert estimates.gates is not None
    deviations = np.sqrt(np.diag(pilot.filter.covariance))
    velocity = estimates.velocity[-1] - flight.velocity[-1]
    position = estimates.position[-1] - flight.position[-1]
    gates = (estimates.gates[-1] - estimates.true_gates).ravel()
    assert (np.abs(velocity) < 4.0 * deviations[3:6]).all()
    assert (np.abs(position) < 4.0 * deviations[6:9]).all()
    assert (np.abs(gates) <= 4.0 * deviations[15:] + 1e-12).all()
    # every gate has been seen, and is known better than before the flight
    bounds = np.array([gate.perturbation for gate in estimates.nominal]).ravel()
    moved = bounds > 0.0
    assert np.median(deviations[15:][moved] / (bounds[moved] / math.sqrt(3.0))) < 0.2


def reachable(root: object) -> list[object]:
    """All objects that can be reached from an object, without modules, classes and globals."""
    skipped = (types.ModuleType, type, types.BuiltinFunctionType, types.FrameType)
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, skipped):
            continue
        seen[id(item)] = item
        if isinstance(item, types.FunctionType):
            waiting += [cell.cell_contents for cell in item.__closure__ or ()]
        else:
            waiting += gc.get_referents(item)
    return list(seen.values())


def test_a_pilot_has_no_reference_to_the_true_state() -> None:
    result, pilot = flown("tilted")
    true_gates = {id(gate) for gate in result.scene.gates}
    found = reachable(pilot)
    assert len(found) > 100
    forbidden = (pw.Multicopter, pw.Fleet, Scene, pw.Beacons, pw.RangeFinder, Instruments)
    assert not [item for item in found if isinstance(item, forbidden)]
    assert not [item for item in found if id(item) in true_gates]
    # the walk does find such objects where they are
    assert any(isinstance(item, Scene) for item in reachable(result))


class Recording:
    """A pilot that hovers and records what it receives."""

    def __init__(self, briefing: race.Briefing) -> None:
        self.briefing, self.readings = briefing, list[race.Readings]()

    def __call__(self, readings: race.Readings) -> tuple[Any, None]:
        self.readings.append(readings)
        weight = self.briefing.vehicle.weight
        return pw.RateThrust([0.0, 0.0, 0.0], weight), None


def recorded(**options: Any) -> tuple[list[race.Readings], race.Briefing]:
    pilots: list[Recording] = []

    def maker(briefing: race.Briefing) -> Recording:
        pilots.append(Recording(briefing))
        return pilots[0]

    sensors = race.SensorSuite(**options)
    result = race.fly(2, pilot=maker, sensors=sensors, time_limit=0.5)
    assert result.estimates is None
    assert result.estimation is None
    return pilots[0].readings, pilots[0].briefing


def test_a_pilot_cannot_change_what_it_is_given() -> None:
    readings, briefing = recorded(image_rate=20.0)
    seen = [r.beacons for r in readings if r.beacons is not None]
    images = [r.image.pixels for r in readings if r.image is not None]
    arrays: list[NDArray[Any]] = [
        readings[-1].gyroscope,
        readings[-1].accelerometer,
        briefing.position,
        *images,
    ]
    arrays += [getattr(seen[-1], name) for name in ("gates", "corners", "u", "v")]
    assert images
    for array in arrays:
        assert not array.flags.writeable


@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_readings_arrive_at_their_rate_and_delay(latency: float) -> None:
    readings, briefing = recorded(latency=latency, rate=60.0, camera=race.mounted_camera("level"))
    assert np.allclose([each.time for each in readings], np.arange(len(readings)) * DT)
    late = [(each.time, each.beacons) for each in readings if each.beacons is not None]
    assert np.allclose([b.time for _, b in late], np.arange(len(late)) / 60.0, atol=DT)
    assert np.allclose([at - b.time for at, b in late], latency, atol=DT)
    assert len(late) == len([each for each in readings if each.range is not None])
    assert len(late) == pytest.approx(60.0 * (0.5 - latency), abs=2)
    # nominal poses, with the bounds of the offsets
    nominal = Scene.load("alphapilot").gates
    assert [gate.position for gate in briefing.gates] == [gate.position for gate in nominal]
    assert all(each.image is None for each in readings)


def test_beacons_are_those_of_the_true_gates() -> None:
    """In hover at the start, without noise of motion: each sighting is the projected corner."""
    readings, _ = recorded(deviation=1e-6, camera=race.mounted_camera("level"))
    first = readings[0].beacons
    assert first is not None
    assert len(first.gates) > 0
    scene, camera = Scene.load("alphapilot", seed=2), race.mounted_camera("level")
    start = scene.start
    assert start is not None
    half = 0.5 * start.yaw
    attitude = (math.cos(half), 0.0, 0.0, math.sin(half))
    markers = scene.markers
    rows = {(g, c): k for k, (g, c) in enumerate(zip(markers.gates, markers.corners, strict=True))}
    names = [gate.name for gate in scene.gates]
    at = [rows[names[g], c] for g, c in zip(first.gates, first.corners, strict=True)]
    pixels = camera.project(markers.positions[at], start.position, attitude)
    assert np.allclose(first.u, pixels.u, atol=1e-3)
    assert np.allclose(first.v, pixels.v, atol=1e-3)


def test_images_are_delivered_on_request() -> None:
    camera = pw.Camera(32, 24)
    readings, _ = recorded(camera=camera, image_rate=10.0, latency=0.02)
    images = [each for each in readings if each.image is not None]
    assert len(images) == pytest.approx(5, abs=1)
    for each in images:
        assert each.image is not None
        assert each.image.pixels.shape == (24, 32, 3)
        assert each.time - each.image.time == pytest.approx(0.02, abs=DT)


def start_of(path: _plan.RacePath, at: float) -> Array:
    return path.evaluate(np.array([at]))[0][:4, 0]


def test_a_plan_from_a_motion_continues_it() -> None:
    """Position to jerk are continuous; if no point has moved, the path is the same."""
    gates = Scene.load("alphapilot", seed=1).gates
    route = race.route((18.5, 6.5, 1.0), gates)
    points = route.points(gates)
    planner = _plan.Planner(pw.vehicles.load("flightgoggles"))
    first = planner.plan(points, 0.5 * math.pi)
    for at in (2.5, 5.0, 9.0):
        following = int(np.searchsorted(first.point_times, at + 0.1))
        moved = points[following:].copy()
        moved[1:] += (0.4, -0.3, 0.1)
        for ahead in (points[following:], moved):
            second = planner.plan(ahead, start=first.motion(at), horizon=60.0, rounds=2)
            assert np.allclose(start_of(second, 0.0), start_of(first, at), rtol=1e-6, atol=1e-6)
            before, after = first.evaluate(np.array([at]))[1], second.evaluate(np.zeros(1))[1]
            assert np.allclose(before, after, atol=1e-6)
            near = second.evaluate(np.array([second.point_times[1]]))[0][0, 0]
            assert np.linalg.norm(near - ahead[0]) < 0.5
        unmoved = planner.plan(points[following:], start=first.motion(at), horizon=60.0, rounds=1)
        position = unmoved.evaluate(np.arange(0.0, 1.5, 0.05))[0][0]
        along = first.evaluate(np.arange(at - 0.5, at + 3.0, 0.005))[0][0]
        distance = np.linalg.norm(position[:, None] - along, axis=2).min(axis=1)
        assert distance.max() < 0.25


def test_a_plan_in_flight_takes_a_tenth_of_a_plan_of_the_course() -> None:
    """Processor time; medians in turns, as machines differ."""
    gates = Scene.load("alphapilot", seed=1).gates
    points = race.route((18.5, 6.5, 1.0), gates).points(gates)
    planner = _plan.Planner(pw.vehicles.load("flightgoggles"))
    first = planner.plan(points, 0.5 * math.pi)
    following = int(np.searchsorted(first.point_times, 3.1))
    start, spent = first.motion(3.0), []
    for _ in range(7):
        began = time.process_time()
        planner.plan(points, 0.5 * math.pi)
        between = time.process_time()
        planner.plan(points[following:], start=start, horizon=60.0, rounds=1)
        spent.append((between - began, time.process_time() - between))
    whole, part = np.median(spent, axis=0)
    assert part < 0.1 * whole  # 0.03


def test_the_speed_before_an_unknown_gate_leaves_time_to_correct() -> None:
    points = np.array([[0.0, 0.0, 2.0], [30.0, 0.0, 2.0], [60.0, 0.0, 2.0]])
    planner = _plan.Planner(pw.vehicles.load("flightgoggles"), min_approach_speed=5.0)
    path = planner.plan(points, approach=np.array([0.0, 1.5, 0.0]))
    position, velocity = path.evaluate(np.arange(0.0, path.point_times[1], 0.01))[0][:2]
    distance, speed = 30.0 - position[:, 0], velocity[:, 0]
    far = distance > 8.0
    assert (speed[far] < 1.15 * distance[far] / 1.5).all()
    # a vehicle that brakes tilts an upward camera away from the gate
    assert speed[distance < 6.0].min() > 3.5
    assert path.duration > planner.plan(points).duration


def test_a_plan_that_exceeds_the_limits_by_far_is_improved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Near full speed, a gate 0.8 s ahead turns out to be 3 m aside."""
    points = np.array([[20.0 * k, 0.0, 3.0] for k in range(6)])
    aside = points[3:].copy()
    aside[0, 1] = 3.0

    def excess() -> float:
        planner = _plan.Planner(pw.vehicles.load("flightgoggles"))
        path = planner.plan(points)
        start = path.motion(path.point_times[3] - 0.8)
        moved = planner.plan(aside, start=start, rounds=1)
        return planner._excess(moved, np.zeros(1))[0]

    usual = excess()
    monkeypatch.setattr(_plan, "_ROUNDS_OF_EXCESS", 1)
    of_one_round = excess()
    assert of_one_round > _plan._MAX_EXCESS
    assert usual < 0.9 * of_one_round


def test_a_path_misses_a_moved_gate_by_the_product_with_aside() -> None:
    """The straight path through the expected centre crosses the plane of the true gate there."""
    generator = np.random.default_rng(4)
    for yaw, angle in generator.uniform(-0.7, 0.7, (20, 2)):
        axis, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
        course = np.array([np.cos(yaw + angle), np.sin(yaw + angle)])
        offset = generator.normal(size=2)
        crossing = (offset @ axis) / (course @ axis) * course
        miss = (crossing - offset) @ left
        assert _navigation._aside(yaw, course) @ offset == pytest.approx(-miss)


class Known(types.SimpleNamespace):
    """In place of a filter: what it would estimate."""


def grounded() -> race.SensorPilot:
    """A pilot at the start of the course."""
    maker = Kept()
    race.fly(4, pilot=maker, time_limit=0.05)
    return maker.pilot


def test_errors_of_the_vehicle_count_unless_the_gate_shares_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pilot = grounded()
    gates = len(pilot.filter.gates)
    rows = [6, 7, *(15 + 3 * g + k for g in range(gates) for k in range(2))]
    covariance = np.diag(np.full(15 + 3 * gates, 0.01**2))
    covariance[[6, 7], [6, 7]] = 0.3**2
    known = Known(gates=np.zeros((gates, 3)), covariance=covariance)
    monkeypatch.setattr(pilot._navigation, "filter", known)
    is_narrow = pilot._navigation._tolerance < 3.0 * 0.3
    assert is_narrow.any()
    assert (pilot._navigation.uncertainty(pilot._courses)[is_narrow] > 0.0).all()
    shared = np.zeros_like(covariance)
    for k in range(2):
        shared[np.ix_(rows[k::2], rows[k::2])] = 0.3**2
    known.covariance = shared + np.diag(np.full(len(covariance), 0.01**2))
    assert (pilot._navigation.uncertainty(pilot._courses) == 0.0).all()


def test_a_path_is_kept_just_before_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vehicle is 0.5 m off; a path from there would be steep at the point."""
    pilot = grounded()
    at = float(pilot._path.point_times[1])
    for before, is_kept in ((0.3, True), (1.2, False)):
        motion = pilot._path.motion(at - before)
        actual = motion.position[0] + [0.3, 0.0, -0.4]
        state = Known(position=actual, velocity=motion.position[1])
        monkeypatch.setattr(pilot._navigation, "filter", Known(state=state))
        start = motion.position[0] if is_kept else actual
        assert pilot._anchored(motion).position[0] == pytest.approx(start)


def test_custom_pilots_and_courses(tmp_path: object) -> None:
    """Two gates that are nominally elsewhere."""

    def gate(name: str, x: float, y: float) -> Gate:
        return Gate(
            name=name, position=(x, y, 2.0), width=2.0, height=1.5, perturbation=(1.0, 1.0, 0.0)
        )

    start = Start(position=(0.0, 0.0, 2.0))
    nominal = Scene([Plane(name="ground"), gate("A", 8.0, 0.0), gate("B", 20.0, 0.0)], start=start)
    true = Scene([Plane(name="ground"), gate("A", 8.5, 0.8), gate("B", 19.5, -0.9)], start=start)
    sensors = race.SensorSuite(camera=race.mounted_camera("level"))
    result = race.fly(
        1, scene=true, nominal=nominal, pilot=race.SensorPilot, sensors=sensors, time_limit=15.0
    )
    assert result.finished
    assert result.estimates is not None
    assert result.estimates.true_gates[0] == pytest.approx([0.5, 0.8, 0.0])


def answering(answer: Any) -> Callable[[race.Briefing], Any]:
    """Makes pilots that always return the same answer."""
    return lambda briefing: lambda readings: answer


THERE = race.PilotEstimate(np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
POSITION = pw.PositionCommand([0.0, 0.0, 2.0], 0.0)
RATES = pw.RateThrust([0.0, 0.0, 0.0], 5.0)


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        (answering((POSITION, None)), "expected an estimate with a PositionCommand"),
        (answering((pw.AttitudeThrust([1, 0, 0, 0], 5.0), None)), "expected an estimate with a"),
        (answering(None), "expected a command and an estimate"),
        (answering((3, THERE)), "command: expected"),
        (answering((POSITION, 3)), "expected an object with position, velocity and attitude"),
        (answering((RATES, race.Briefing)), "expected an object with position"),
        (answering((RATES, replace(THERE, position=np.zeros(2)))), "estimate.position: expected"),
        (answering((RATES, replace(THERE, velocity=np.full(3, math.nan)))), "estimate.velocity"),
        (answering((RATES, replace(THERE, gates=np.zeros((2, 3))))), "estimate.gates: expected"),
        (lambda briefing: None, "expected a callable"),
        ("SensorPilot", "pilot: expected a callable"),
    ],
)
def test_invalid_answers_of_a_pilot_are_refused(maker: Any, message: str) -> None:
    """Above all: outer loops without an estimate would compute on the true state."""
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        race.fly(2, pilot=maker, time_limit=0.1)


def test_estimates_are_copied() -> None:
    def maker(briefing: race.Briefing) -> Any:
        estimate = replace(THERE, position=np.zeros(3))

        def pilot(readings: race.Readings) -> Any:
            estimate.position[:] = readings.time
            return pw.RateThrust([0.0, 0.0, 0.0], briefing.vehicle.weight), estimate

        return pilot

    result = race.fly(2, pilot=maker, time_limit=0.1)
    assert result.estimates is not None
    assert result.estimates.position[:, 0] == pytest.approx(result.flight.time)


def test_true_gates_that_may_have_moved_are_not_the_nominal_ones() -> None:
    true, hover = Scene.load("alphapilot", seed=3), answering((RATES, None))
    with pytest.raises(ValueError, match="nominal: expected the scene with the nominal gates"):
        race.fly(3, scene=true, pilot=hover, time_limit=0.1)
    race.fly(3, scene=true, nominal=Scene.load("alphapilot"), pilot=hover, time_limit=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensors": race.SensorSuite()}, "sensors: expected with a pilot"),
        ({"sensors": 1, "pilot": race.SensorPilot}, "sensors: expected a SensorSuite"),
        ({"scene": "alphapilot"}, "scene: expected a Scene"),
        ({"nominal": "alphapilot", "pilot": race.SensorPilot}, "expected a Scene"),
        ({"time_limit": 0.0}, "time_limit: expected"),
        ({"time_limit": math.nan}, "time_limit: expected"),
        ({"time_limit": math.inf, "pilot": race.SensorPilot}, "time_limit: expected"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        race.fly(2, **options)


def test_the_pilot_knows_the_gravity_of_the_vehicle() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    vehicle = vehicle.replace(body=vehicle.body.replace(gravity=(0.0, 0.0, -5.0)))
    result = race.fly(2, vehicle, pilot=race.SensorPilot, time_limit=1.0)
    assert result.estimation is not None
    # otherwise the filter would be off by (9.81 - 5) / 2 * 1 s^2
    assert result.estimation.position < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate: expected"),
        ({"reach": -1.0}, "reach: expected"),
        ({"miss_rate": 1.5}, "miss_rate: expected"),
        ({"deviation": 0.0}, "deviation: expected"),
        ({"latency": math.nan}, "latency: expected"),
        ({"range_variance": -1.0}, "range_variance: expected"),
        ({"camera": "front"}, "camera: expected a Camera"),
    ],
)
def test_invalid_sensors_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pw.ParameterError, match=message):
        race.SensorSuite(**options)


def test_unknown_mounts_are_refused() -> None:
    make: Callable[[Any], object] = race.mounted_camera
    with pytest.raises(ValueError, match="mount: expected"):
        make("sideways")


def test_reports_and_plots_have_the_estimates(tmp_path: Any) -> None:
    result, _ = flown("tilted")
    assert "estimation errors (rms): position 0.0" in race.report(result)
    head, row, *_ = race.table([result]).splitlines()
    assert head.split()[-2:] == ["gates", "[m]"]
    assert len(row.split()) == 7
    pytest.importorskip("matplotlib")
    figure = _race_map.figure(result)
    assert {"path, estimated", "gate, estimated"} <= {
        text.get_label() for text in figure.axes[0].get_lines()
    }
    images = list(_race_map.video(result, np.array([1.0, 8.0]), 320, 240))
    assert len(images) == 2
    assert not np.array_equal(images[0], images[1])


@pytest.mark.slow
def test_the_command_flies_by_sensors(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    degraded = ["--miss", "0.7", "--reach", "15", "--pixels", "10", "--latency", "0.05"]
    assert main(["race", "--sensors", "--seed", "1", "--seeds", "1", *degraded]) == 0
    output = capsys.readouterr().out
    assert re.search(r"1 +11/11 ", output)
    assert "position [m]" in output
    assert main(["race", "--sensors", "--seeds", "1", "--miss", "2"]) == 2
    assert "miss_rate: expected" in capsys.readouterr().err
    assert main(["race", "--sensors", "--seeds", "1", "--dtype", "float32"]) == 2
    assert "--dtype: expected float64" in capsys.readouterr().err
    assert main(["race", "--sensors", "--pixels", "-1"]) == 2
    assert "--pixels: deviation: expected" in capsys.readouterr().err
    for option in (["--mount", "level"], ["--reach", "9"], ["--miss", "0"], ["--latency", "0"]):
        assert main(["race", *option]) == 2
        assert f"{option[0]}: expected with --sensors" in capsys.readouterr().err


def test_a_report_without_passed_gates_has_no_error_of_gates() -> None:
    pilot = answering((RATES, THERE))
    result = race.fly(3, pilot=pilot, time_limit=0.1)
    assert result.passages == ()
    assert "nan" not in race.report(result) + race.table([result])
