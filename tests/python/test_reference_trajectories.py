"""Planned paths: derivatives, optimality, and refused arguments."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from path_helpers import ALL, PATHS, TIMES, WAYPOINTS, away_from_knots, sample_times
from propwash import trajectories as tj
from propwash.trajectories._reference import composed
from propwash.trajectories._splines import (
    ACCELERATION,
    SNAP,
    Kind,
    SplineProblem,
    _unit,
    derivatives,
)

Array = NDArray[np.float64]


# curves


@ALL
def test_derivatives_equal_finite_differences(path: tj.Path) -> None:
    step = 1e-4
    time = away_from_knots(path, sample_times(path), step)
    after, before, now = path.sample(time + step), path.sample(time - step), path.sample(time)
    for rows in (
        ("position", "velocity", "acceleration", "jerk", "snap"),
        ("yaw", "yaw_rate", "yaw_acceleration"),
    ):
        for value, rate in pairwise(rows):
            slope = (getattr(after, value) - getattr(before, value)) / (2.0 * step)
            exact = getattr(now, rate)
            scale = max(float(np.abs(exact).max()), 1.0)
            assert np.abs(slope - exact).max() < 2e-5 * scale, rate


@ALL
def test_derivatives_up_to_snap_are_continuous(path: tj.Path) -> None:
    knots = path.knots[1:-1] if isinstance(path, tj.Polynomial) else np.array([1e-9])
    ends = np.array([0.0]) if isinstance(path, tj.Polynomial) and path.closed else np.empty(0)
    at = np.concatenate([knots, ends])
    before, after = path.sample(at - 1e-9), path.sample(at + 1e-9)
    for name in ("position", "velocity", "acceleration", "jerk", "snap", "yaw_rate"):
        values = getattr(path.sample(period=0.01), name)
        jump = np.abs(getattr(after, name) - getattr(before, name)).max()
        assert jump < 1e-5 * max(1.0, float(np.abs(values).max())), name


@pytest.mark.parametrize("name", ["open", "headed", "clockwise", "lemniscate", "line"])
def test_open_paths_start_and_end_at_rest(name: str) -> None:
    path = PATHS[name]
    rest = path.sample([-1.0, 0.0, path.duration, path.duration + 1.0])
    for field in ("velocity", "acceleration", "jerk", "snap", "yaw_rate"):
        assert np.abs(getattr(rest, field)).max() < 1e-8, field
    assert np.allclose(rest.position[:1], rest.position[1])
    assert np.allclose(rest.position[2:3], rest.position[3])


def test_a_path_goes_through_its_waypoints_at_their_times() -> None:
    for name in ("open", "closed", "headed", "passing"):
        path = PATHS[name]
        assert isinstance(path, tj.Polynomial)
        assert np.allclose(np.diff(path.knots)[:4], TIMES)
        at = path.sample(path.knots[:5])
        assert np.abs(at.position - WAYPOINTS).max() < 1e-9
    assert np.allclose(PATHS["headed"].sample(np.cumsum([0.0, *TIMES])).yaw, [0, 1, -1, 3, 4])
    passing = PATHS["passing"].sample([0.0, 2.0])
    assert np.allclose(passing.velocity, [(1, 0, 0), (0, 3, 0)])


def test_a_closed_path_is_periodic() -> None:
    path = PATHS["closed"]
    time = sample_times(path)
    one, later = path.sample(time), path.sample(time + 3.0 * path.duration)
    assert np.abs(one.position - later.position).max() < 1e-9
    assert np.abs(one.snap - later.snap).max() < 1e-6
    # three laps, counter-clockwise
    assert np.allclose(later.yaw - one.yaw, 6.0 * np.pi)


@ALL
def test_yaw_along_the_path_is_the_heading_of_the_velocity(path: tj.Path) -> None:
    if path in (PATHS["headed"], PATHS["passing"]):
        assert np.ptp(PATHS["passing"].sample(period=0.1).yaw) == 0.0
        return
    now = path.sample(sample_times(path))
    fast = np.linalg.norm(now.velocity[:, :2], axis=1) > 0.3
    angle = np.arctan2(now.velocity[:, 1], now.velocity[:, 0])
    error = np.abs(np.angle(np.exp(1j * (now.yaw - angle))))[fast]
    # exact for closed forms; for polynomials yaw is a spline through the headings
    assert error.max() < (0.1 if isinstance(path, tj.Polynomial) else 1e-9)


def test_shapes_match_their_closed_forms() -> None:
    circle = tj.Circle(2.0, 4.0, centre=(1, 2, 3)).sample(period=0.01)
    middle = circle.position - (1, 2, 3)
    assert np.allclose(np.linalg.norm(middle, axis=1), 2.0)
    assert np.allclose(np.linalg.norm(circle.velocity, axis=1), 4.0)
    assert np.allclose(circle.acceleration, -4.0 * middle)
    eight = tj.Lemniscate(3.0, 7.0).sample(period=0.001)
    x, y = eight.position[:, 0] / 3.0, eight.position[:, 1] / 3.0
    assert np.allclose(x**4, x**2 - y**2)
    assert np.linalg.norm(eight.velocity, axis=1).max() == pytest.approx(7.0, abs=1e-4)
    line = tj.Line((0, 0, 0), (3, 4, 0), 2.0, ramp=1.0)
    assert line.duration == pytest.approx(2.5 + 1.0)
    assert np.linalg.norm(line.sample(period=0.01).velocity, axis=1).max() == pytest.approx(2.0)
    assert np.allclose(line.sample([line.duration]).position, (3, 4, 0))


def test_derivatives_of_a_composed_function() -> None:
    """f = exp(2 s), s = sin t: against derivatives of a Chebyshev fit."""
    t = np.linspace(0.0, 2.0, 7)
    s, c = np.sin(t), np.cos(t)
    outer = np.stack([2.0**k * np.exp(2.0 * s) for k in range(5)])
    found = composed(outer, np.stack([s, c, -s, -c, s]))
    points = np.exp(2.0 * np.sin(t[:, None] + 0.15 * np.cos(np.pi * (np.arange(25) + 0.5) / 25)))
    for row, values in enumerate(points):
        fit = np.polynomial.Chebyshev.fit(
            0.15 * np.cos(np.pi * (np.arange(25) + 0.5) / 25), values, 16
        )
        for order in range(5):
            assert found[order, row] == pytest.approx(
                float(fit.deriv(order)(0.0)), rel=1e-5, abs=1e-5
            )


# optima


def problem(kind: Kind, rows: int, closed: bool, width: int = 3) -> tuple[SplineProblem, Array]:
    rng = np.random.default_rng(11)
    known = np.full((rows, kind.ends, width), np.nan)
    known[:, 0] = rng.normal(size=(rows, width))
    if not closed:
        known[[0, -1], 1:] = 0.0
    system = SplineProblem(kind, known, closed)
    return system, rng.uniform(0.5, 2.0, system.segments)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("kind", [SNAP, ACCELERATION])
def test_free_derivatives_minimise_the_cost(kind: Kind, closed: bool) -> None:
    system, lengths = problem(kind, 6, closed)
    ends, minimum, _ = system.solve(lengths)
    time = np.linspace(0.0, float(np.sum(lengths)), 40_001)
    squared = system.spline(lengths)(time, kind.minimised) ** 2
    assert np.trapezoid(squared.sum(axis=1), time) == pytest.approx(minimum, rel=1e-6)
    assert system.cost(lengths, ends) == pytest.approx(minimum)
    # change each free derivative in both directions, scaled by the segment lengths
    order = np.tile(np.arange(kind.ends), 2)
    free = ~np.isfinite(system.constraints).all(axis=2).reshape(-1)
    for slot in np.flatnonzero(free):
        changed = (system.slots == slot)[:, :, None] * lengths[:, None, None] ** order[:, None]
        for amount in (0.01, -0.01):
            assert system.cost(lengths, ends + amount * changed) > minimum


@pytest.mark.parametrize("closed", [False, True])
def test_the_gradient_by_segment_times_equals_finite_differences(closed: bool) -> None:
    system, lengths = problem(SNAP, 6, closed)
    _, _, gradient = system.solve(lengths)
    for piece, slope in enumerate(gradient):
        step = 1e-5 * np.eye(len(lengths))[piece]
        rise = system.solve(lengths + step)[1] - system.solve(lengths - step)[1]
        assert rise / 2e-5 == pytest.approx(slope, rel=1e-6)


def test_without_further_constraints_the_path_is_the_septic_spline() -> None:
    """SciPy's clamped spline of degree 7 minimises snap among all functions."""
    interpolate = pytest.importorskip("scipy.interpolate")
    rng = np.random.default_rng(3)
    known = np.full((6, 5, 3), np.nan)
    known[:, 0] = rng.normal(size=(6, 3))
    known[[0, -1], 1:4] = 0.0
    knots = np.cumsum([0.0, *rng.uniform(0.5, 1.5, 5)])
    ours = SplineProblem(SNAP, known, False).spline(np.diff(knots))
    rest = [(order, np.zeros(3)) for order in (1, 2, 3)]
    theirs = interpolate.make_interp_spline(knots, known[:, 0], k=7, bc_type=(rest, rest))
    time = np.linspace(0.0, knots[-1], 200)
    for order, values in enumerate(derivatives(ours, time, 4)):
        expected = theirs(time, nu=order)
        assert np.abs(values - expected).max() < 1e-7 * max(1.0, np.abs(expected).max())


def test_a_segment_from_rest_to_rest_is_the_textbook_polynomial() -> None:
    path = tj.minimum_snap([(0, 0, 0), (1, 0, 0)], duration=2.0)
    u = np.linspace(0.0, 1.0, 50)
    expected = 126 * u**5 - 420 * u**6 + 540 * u**7 - 315 * u**8 + 70 * u**9
    assert np.allclose(path.sample(2.0 * u).position[:, 0], expected, atol=1e-9)


def test_unequal_distances_lose_no_accuracy() -> None:
    """Segments of 100 m and 1 cm, at the origin and far from it."""
    pytest.importorskip("scipy")
    uneven = np.array([(0, 0, 0), (100, 0, 0), (100.01, 0, 0), (100, 50, 0), (100, 50.1, 0.0)])
    path = tj.minimum_snap(uneven)
    assert np.abs(path.sample(path.knots).position - uneven).max() < 1e-9
    # little overshoot
    assert np.abs(path.sample(period=0.01).position - (50, 25, 0)).max() < 53.0
    away = tj.minimum_snap(uneven + 1e6, times=np.diff(path.knots)).sample(path.knots)
    for field in ("velocity", "acceleration", "jerk"):
        expected = getattr(path.sample(path.knots), field)
        assert np.abs(getattr(away, field) - expected).max() < 1e-5 * np.abs(expected).max()


def dense(system: SplineProblem, lengths: Array) -> float:
    """The minimum cost, from one dense least-squares solution of all equations."""
    kind, free = system.kind, ~np.isfinite(system.constraints).all(axis=2).reshape(-1)
    root = _unit(kind)[1] * lengths[:, None, None] ** (0.5 - kind.minimised)
    root = root * (lengths[:, None] ** np.tile(np.arange(kind.ends), 2))[:, None, :]
    rows = np.zeros((*root.shape[:2], len(free)))
    for piece, slots in enumerate(system.slots):
        rows[piece][:, slots] = root[piece]
    matrix = rows.reshape(-1, len(free))
    values = system.constraints.reshape(len(free), -1).copy()
    right = -matrix[:, ~free] @ values[~free]
    values[free] = np.linalg.lstsq(matrix[:, free], right, rcond=1e-15)[0]
    return float(np.sum((matrix @ values) ** 2))


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("kind", [SNAP, ACCELERATION])
def test_the_banded_solution_equals_a_dense_one(kind: Kind, closed: bool) -> None:
    system, lengths = problem(kind, 7, closed)
    system.constraints[3, 1] = 0.5
    system = SplineProblem(kind, system.constraints, closed)
    lengths[2] *= 0.01
    assert system.solve(lengths)[1] == pytest.approx(dense(system, lengths), rel=1e-9)


def test_paths_of_hundreds_of_waypoints_are_accurate() -> None:
    """The work is linear in their number, not cubic as in a dense solution."""
    rng = np.random.default_rng(0)
    points = np.cumsum(rng.normal(size=(250, 3)), axis=0)
    path = tj.minimum_snap(points, times=np.full(249, 1.5), yaw="along")
    assert np.abs(path.sample(path.knots).position - points).max() < 1e-9


def test_the_time_allocation_minimises_the_cost() -> None:
    pytest.importorskip("scipy")
    best = tj.minimum_snap(WAYPOINTS, duration=5.0)
    lengths = np.diff(best.knots)
    assert np.sum(lengths) == pytest.approx(5.0)
    rng = np.random.default_rng(2)
    for size in (1e-3, 0.01, 0.1, 0.3):
        for _ in range(10):
            other = lengths * np.exp(rng.normal(0.0, size, 4))
            tried = tj.minimum_snap(WAYPOINTS, times=5.0 * other / np.sum(other))
            assert tried.snap_cost >= best.snap_cost * (1.0 - 1e-7)


# refusals


@pytest.mark.parametrize(
    ("waypoints", "options", "message"),
    [
        ([(0, 0, 0)], {}, "at least 2 for a path, got 1"),
        ([(0, 0, 0), (1, 0, 0)], {"closed": True}, "at least 3 for a closed path, got 2"),
        ([(0, 0, 0), (1, 2, 3), (1, 2, 3)], {}, "1 and 2 coincide"),
        ([(0, 0, 0), (1, 0, 0), (0, 0, 0)], {"closed": True}, "2 and 0 coincide"),
        ([(0, 0), (1, 1)], {}, r"waypoints: expected finite numbers of shape \(m, 3\)"),
        (
            [(0, 0, 0), (1, np.nan, 0)],
            {},
            r"waypoints: expected finite numbers of shape \(m, 3\), got nan at \[1, 1\]",
        ),
        ("circle", {}, "waypoints: expected finite numbers"),
        (WAYPOINTS, {"times": [1, 2, 3]}, r"times: expected finite numbers of shape \(4,\)"),
        (WAYPOINTS, {"times": [1, 2, 0, 1]}, "times: expected numbers > 0"),
        (WAYPOINTS, {"times": TIMES, "duration": 3.0}, "either times or duration"),
        (WAYPOINTS, {"duration": -1.0}, "duration: expected a finite number > 0"),
        (WAYPOINTS, {"yaw": [0.0, 1.0]}, r"yaw: expected finite numbers of shape \(5,\)"),
        (WAYPOINTS, {"yaw": np.inf}, "yaw: expected"),
        (WAYPOINTS, {"yaw": "north"}, "yaw: expected 'along' or a number"),
        (WAYPOINTS, {"velocities": {7: (0, 0, 0)}}, "velocities: waypoint: .* from -5 to 4"),
        (WAYPOINTS, {"velocities": {1: (0, np.inf, 0)}}, r"velocities\[1\]: expected finite"),
        (
            WAYPOINTS,
            {"velocities": {-1: (0, 9, 0)}, "limits": tj.Limits(speed=8.0)},
            r"velocities\[-1\]: expected at most limits.speed = 8 m/s, got 9",
        ),
        (WAYPOINTS, {"times": [1e-4, 1, 1, 100]}, "times: expected more similar durations"),
        ([(0, 0, 0), (0, 0, 1)], {"duration": 2.0, "yaw": "along"}, "vertical path"),
        (
            WAYPOINTS,
            {"limits": tj.Limits(thrust=0.1)},
            "no duration meets them: thrust of a rotor",
        ),
        (
            WAYPOINTS,
            {"velocities": {1: (50, 0, 0)}},
            "no duration meets them: .* reduce the prescribed velocities",
        ),
        (WAYPOINTS, {"limits": {"speed": 3.0}}, "limits: expected Limits or None"),
        (WAYPOINTS, {"vehicle": "fligtgoggles"}, "did you mean 'flightgoggles'"),
    ],
)
def test_invalid_paths_are_refused(waypoints: Any, options: dict[str, Any], message: str) -> None:
    pytest.importorskip("scipy")
    with pytest.raises((TypeError, ValueError), match=message):
        tj.minimum_snap(waypoints, **options)


def test_without_scipy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"minimum_snap needs scipy.*propwash\[tune\]"):
        tj.minimum_snap(WAYPOINTS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tj.Circle(0.0), "radius: expected a finite number > 0"),
        (lambda: tj.Circle(1.0, np.nan), "speed: expected a finite number > 0"),
        (lambda: tj.Lemniscate(-1.0), "size: expected a finite number > 0"),
        (lambda: tj.Circle(centre=(0, 0)), r"centre: expected finite numbers of shape \(3,\)"),
        (lambda: tj.Circle(ramp=-1.0), "ramp: expected a finite number >= 0"),
        (lambda: tj.Circle(laps=0.0), "laps: expected a finite number > 0"),
        (lambda: tj.Line((0, 0, 0), (0, 0, 0)), "end: expected a point other than the start"),
        (lambda: tj.Line((0, 0, 0), (0, 0, 1), yaw="along"), "vertical line"),
        (lambda: tj.Limits(thrust=1.5), r"limits.thrust: expected a fraction in \(0, 1\]"),
        (lambda: tj.Limits(rates=(1.0, 0.0, 1.0)), "limits: expected rates"),
        (lambda: tj.Limits(rates=[1.0, 2.0]), "limits.rates: expected 3 numbers"),  # type: ignore[arg-type]
        (lambda: tj.Circle().sample(period=1e-300), "period: expected at least"),
        (lambda: tj.Circle().sample(), "expected either time or period"),
        (lambda: tj.Circle().sample([0.0], period=1.0), "expected either time or period"),
        (
            lambda: tj.Circle().sample([0.0, np.nan]),
            r"time: expected finite numbers of shape \(T,\), got nan at \[1\]",
        ),
        (lambda: tj.Circle().sample([[0.0]]), r"time: expected finite numbers of shape \(T,\)"),
        (lambda: tj.Circle().sample(period=0.0), "period: expected a finite number > 0"),
    ],
)
def test_invalid_closed_forms_are_refused(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_path_continues_from_a_moving_state() -> None:
    whole = tj.minimum_snap([(0, 0, 1), (4, 1, 1), (9, 0, 2)], duration=5.0)
    row = whole.sample([1.7])
    names = ("velocity", "acceleration", "jerk", "snap")
    start = np.concatenate([getattr(row, name) for name in names])
    for known in range(1, 5):
        waypoints = [row.position[0], (6, -1, 1.5), (9, 0, 2)]
        path = tj.minimum_snap(waypoints, start=start[:known], times=[1.5, 1.8])
        again = path.sample([0.0, 1.5, 3.3])
        np.testing.assert_allclose(again.position, waypoints, atol=1e-9)
        for name in names[:known]:
            expected = getattr(row, name)[0]
            np.testing.assert_allclose(getattr(again, name)[0], expected, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(again.velocity[-1], 0.0, atol=1e-9)
    costs = [
        tj.minimum_snap(waypoints, start=start[:known], times=[1.5, 1.8]).snap_cost
        for known in range(1, 5)
    ]
    assert costs == sorted(costs)  # each known derivative removes freedom
    with pytest.raises(ValueError, match="start: expected None for a closed path"):
        tj.minimum_snap([(0, 0, 1), (4, 1, 1), (9, 0, 2)], closed=True, start=start)
    with pytest.raises(ValueError, match="start: expected 1 to 4 derivatives"):
        tj.minimum_snap(waypoints, start=np.zeros((5, 3)))


def test_demands_accept_the_name_of_a_vehicle() -> None:
    reference = tj.Circle(radius=2.0, speed=3.0).sample(period=0.1)
    named = tj.demands(reference, "flightgoggles", tj.Limits())
    loaded = tj.demands(reference, pw.vehicles.load("flightgoggles"), tj.Limits())
    assert named.keys() == loaded.keys()
    assert all(np.array_equal(named[name], loaded[name]) for name in named)
