"""All figures and videos of the package are legible: titles, units, no overlapping texts.

The tests check texts and their bounding boxes, not pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import propwash as pw
import pytest

pytest.importorskip("matplotlib")

from figure_helpers import check_figure, check_texts, drawn_texts
from helpers import slow_if
from propwash import logs, race, trajectories, viz
from propwash.cli import _flight_video, _training_curve, demo
from propwash.race import _map as _race_map
from propwash.race import _video as _race_video
from propwash.viz import figures as _figures
from propwash.world import Scene


@cache
def flown_race(seed: int = 3) -> race.Result:
    return race.fly(seed)


@cache
def crashed_race() -> race.Result:
    """A race that ends with a crash into the ground after four gates."""
    flight = flown_race().flight
    rows = flight.time < 9.0
    position = flight.position[rows].copy()
    position[-20:, 2] = np.linspace(position[-20, 2], -0.5, 20)
    parts = (flight.time[rows], position, flight.attitude[rows], flight.velocity[rows])
    return race.judge(flown_race().scene, race.RaceFlight(*parts))


@cache
def fleet(count: int) -> pw.FleetTrajectory:
    uavs = pw.Fleet("flightgoggles", count, seed=3, threads=1)
    positions = np.random.default_rng(0).uniform(-2, 2, (count, 3))
    uavs.reset(position=positions, velocity=[1.0, 0.5, 0.0])
    return uavs.rollout(pw.RateThrust([0.1, -0.2, 0.3], 9.81), steps=100, substeps=8)


def allan_of_a_log() -> Any:
    """The Allan deviation of 30 s at rest at 200 Hz."""
    pytest.importorskip("scipy")
    from propwash import identify

    rng = np.random.default_rng(1)
    rows = 6000
    rates = 0.003 * rng.normal(size=(rows, 3))
    force = 0.05 * rng.normal(size=(rows, 3)) + np.array([0.0, 0.0, 9.81])
    log = identify.FlightLog(
        path=Path("rest.csv"),
        time=np.arange(rows) / 200.0,
        duty=np.zeros((rows, 0)),
        body_rates=rates,
        specific_force=force,
    )
    return identify.allan_figure(identify.fit_imu(log))


def replayed() -> Any:
    files = [file for folder in logs.flight_folders() for file in folder.glob("*.csv")]
    if not files:
        pytest.skip("recorded flights are missing; see CONTRIBUTING.md")
    from propwash import identify

    flight = logs.read_flight(sorted(files)[0], stop=8.0)
    ahead = 0.01 * np.arange(1, 101)
    modes: tuple[Literal["measured"] | None, ...] = (None, "measured")
    return identify.replay_figure(
        [identify.predict("crazyflie", flight, None, ahead, mode) for mode in modes]
    )


def tuned(name: str) -> Any:
    pytest.importorskip("control")
    tune = pytest.importorskip("propwash.tune")
    loop = tune.RateLoop("flightgoggles")
    if name == "step":
        steps = [tune.step_response("flightgoggles", axis) for axis in range(3)]
        return tune.step_figure(steps, "flightgoggles: flown steps")
    if name == "pareto":
        swept = tune.sweep("flightgoggles", tune.gain_sets("flightgoggles", 60), threads=1)
        return tune.pareto_figure(swept, swept.best())
    if name == "allan":
        noise = np.random.default_rng(0).normal(size=(4000, 3))
        return tune.allan_figure(noise, 0.01, density=0.1)
    return getattr(tune, f"{name}_figure")(loop)


def identified() -> Any:
    pytest.importorskip("scipy")
    from propwash import identify

    rng = np.random.default_rng(0)
    names = ("position, measured attitude", "velocity, measured attitude", "body rates")
    scores = [
        identify.Score(model, name, "m", h, {f"log_{k}": rng.gamma(3.0, 0.1, 50) for k in range(3)})
        for name in names
        for h in (0.25, 0.5)
        for model in ("fitted", "calibrated", "papers' model", "constant velocity")
    ]
    return identify.errors_figure(scores)


def curve(monkeypatch: pytest.MonkeyPatch) -> Any:
    rewards = [(8192 * k, 0.1 * k, 0.5 + 0.01 * k) for k in range(60)]
    evaluations = {"evaluation": [(8192 * k, 0.1 * k, float(k)) for k in range(0, 60, 12)]}
    curve = _training_curve.Curve(rewards, evaluations, "within 0.1 m for the last 2 s [%]")
    return curve.figure("hover, seed 3")


eight = trajectories.Lemniscate().sample(period=0.02)
snap = trajectories.minimum_snap(np.array([[0, 0, 1], [2, 1, 1.5], [4, -1, 2], [6, 0, 1]]))

FIGURES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "demo": (lambda: demo.figure(demo.fly()), ["flightgoggles", "body rate [rad/s]"]),
    "race": (
        lambda: _race_map.figure(flown_race()),
        ["flightgoggles on course 'alphapilot', seed 3", "1. Gate10", "start", "end", "height [m]"],
    ),
    "crash": (lambda: _race_map.figure(crashed_race()), ["collision with ground", "5. Gate9"]),
    "race in space": (
        lambda: viz.trajectory_figure(flown_race().flight, scene=flown_race().scene),
        ["1 flight, ", "Gate10", "start", "end", "speed [m/s]"],
    ),
    "one": (lambda: viz.trajectory_figure(fleet(1)), ["1 flight", "x [m]", "y [m]", "z [m]"]),
    "few": (
        lambda: viz.trajectory_figure(
            fleet(8), landmarks={"target": [0, 0, 0], "path": eight.position}
        ),
        ["8 flights, 0.8", "0", "7", "target", "path"],
    ),
    "many": (lambda: viz.trajectory_figure(fleet(40), title="forty"), ["forty"]),
    "named": (
        lambda: viz.trajectory_figure({"eight": eight, "snap": snap.sample(period=0.02)}),
        ["2 flights", "eight", "snap"],
    ),
    "point": (lambda: viz.trajectory_figure(np.zeros((2, 3))), ["1 flight"]),
    "reference": (lambda: viz.reference_figure(eight), ["reference of", "rotor thrust [N]"]),
    "minimum snap": (lambda: viz.reference_figure(snap.sample(period=0.02)), ["yaw [rad]"]),
    "replay": (replayed, ["predicted by the vehicle 'crazyflie'", "time ahead [s]"]),
    "errors": (
        identified,
        ["predictions within an error", "error [m]", "papers' model"],
    ),
    "bode": (lambda: tuned("bode"), ["flightgoggles", "phase [deg]", "crossover"]),
    "nyquist": (lambda: tuned("nyquist"), ["real part [1]"]),
    "filter": (lambda: tuned("filter"), ["gain [dB]"]),
    "step": (lambda: tuned("step"), ["rotor command [rad/s]"]),
    "pareto": (lambda: tuned("pareto"), ["Pareto front"]),
    "allan of a log": (allan_of_a_log, ["rest.csv, 30.0 s at rest", "Allan deviation [rad/s]"]),
    "allan": (lambda: tuned("allan"), ["averaging time [s]", "4000 readings at 100 Hz, at rest"]),
}  # fmt: skip


QUICK = ("race", "few", "bode", "allan")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=slow_if(name not in QUICK)) for name in FIGURES]
)
def test_figures_have_labels_and_no_overlapping_texts(name: str) -> None:
    make, expected = FIGURES[name]
    texts = check_figure(make())
    for text in expected:
        assert any(shown.startswith(text) for shown in texts) or any(
            text in shown for shown in texts if len(text) > 3
        ), f"{text!r} is not in {texts}"


def test_a_training_curve_has_two_scales_and_a_legend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = check_figure(curve(monkeypatch))
    assert "hover, seed 3: 483,328 environment steps" in texts
    assert {"evaluation", "mean of 10 iterations", "mean reward per step [1]"} <= set(texts)


# videos


def texts_of_video(figure: Any, moving: list[Any], move: Callable[[], None]) -> list[Any]:
    """The static texts and those of one frame."""
    with drawn_texts(figure) as shown:
        canvas = _figures.Canvas(figure, moving)
        move()
        image = canvas.image()
    assert image.dtype == np.uint8
    assert image.shape == (*reversed([round(x) for x in figure.bbox.size]), 3)
    return shown


def passed_at(result: race.Result, t: float) -> int:
    return sum(passage.time <= t for passage in result.passages)


@pytest.mark.parametrize(
    "size",
    [
        (640, 480),
        *(
            pytest.param(size, marks=pytest.mark.slow)
            for size in ((960, 720), (400, 300), (320, 240))
        ),
    ],
)
def test_texts_of_a_race_video_do_not_overlap(size: tuple[int, int]) -> None:
    result = flown_race()
    is_small = size[0] < 560
    drawn = _race_map._Map(result, _figures.video_figure(*size), True, is_small)
    drawn.figure.suptitle(_race_map.title_of(result), fontsize=11)
    moving = drawn.animate()
    drawn.name()
    shown = texts_of_video(drawn.figure, moving, lambda: drawn.move(9.0))
    check_texts(drawn.figure, shown)
    texts = [text for text, _ in shown]
    assert "flightgoggles on course 'alphapilot', seed 3" in texts
    state = f"gate {passed_at(result, 9.0)} of 11"
    assert any(text.startswith("9.00 s") and text.endswith(state) for text in texts)
    assert {"start", "x [m]", "y [m]", "1" if is_small else "1. Gate10"} <= set(texts)
    assert all(axes.xaxis.get_gridlines()[0].get_visible() for axes in drawn.figure.axes[:1])


def test_a_video_shows_the_flight_up_to_its_time() -> None:
    result = flown_race()
    images = list(_race_map.video(result, np.array([0.5, 9.0]), 640, 480))
    assert [image.shape for image in images] == [(480, 640, 3)] * 2
    drawn = _race_map._Map(result, _figures.video_figure(640, 480), True)
    drawn.animate()
    for t in (0.5, 9.0, 19.0):
        passed = passed_at(result, t)
        drawn.move(t)
        rows = np.count_nonzero(result.flight.time <= t)
        assert len(drawn.path.get_segments()) == rows - 1
        colours = [line.get_color() for line in drawn.lines]
        assert colours == [_race_map.PASSED] * passed + [_race_map.WAITING] * (11 - passed)
        x, y = drawn.vehicle.get_data()
        position = [np.interp(t, result.flight.time, axis) for axis in result.flight.position.T[:2]]
        assert np.allclose([np.asarray(x)[0], np.asarray(y)[0]], np.array(position))


@pytest.mark.parametrize("task", ["Hover", "Track", "Race", "Land"])
def test_a_video_of_a_policy_names_start_and_target(task: str) -> None:
    pg = pytest.importorskip("propwash.gym")
    envs = pg.make_vec(getattr(pg, task), 12)
    flown = fleet(12)
    assert flown.position is not None
    position = flown.position.copy()
    position[40:, 3] = np.nan  # an episode that ended
    path = SimpleNamespace(time=np.asarray(flown.time)[:, 0], position=position)
    drawn = _flight_video._Views(path, envs, f"{task.lower()} by policy.onnx, seed 0")
    shown = texts_of_video(drawn.figure, drawn.moving, lambda: drawn.move(0.5))
    check_texts(drawn.figure, shown)
    texts = {text for text, _ in shown}
    assert f"{task.lower()} by policy.onnx, seed 0: 8 of 12 flights" in texts
    assert {"start", "vehicle", "0.50 s", "x [m]", "y [m]", "z [m]"} <= texts
    assert {"Hover": "target", "Land": "target", "Track": "path", "Race": "Gate10"}[task] in texts
    # both views have the same scale
    scales = [np.diff(axes.transData.transform([[0, 0], [1, 1]]), axis=0)
              for axes in drawn.figure.axes]  # fmt: skip
    assert np.allclose([np.ptp(scale) for scale in scales], 0.0, atol=0.5)


# captions of camera images


@pytest.mark.parametrize("size", [(1920, 1080), (640, 480), (320, 240), (200, 150), (64, 48)])
def test_captions_fit_into_their_image(size: tuple[int, int]) -> None:
    drawing = pytest.importorskip("PIL.ImageDraw")
    image = pytest.importorskip("PIL.Image").new("RGB", size)
    texts = ["flightgoggles on course 'alphapilot', seed 3", "gates 5 of 11, next Gate14", "9 s"]
    largest = max(7, min(size[1] // 20, 28))
    letters, boxes = _race_video.captions(drawing.Draw(image), size, texts, largest)
    assert bool(boxes) == (size[0] > 200)
    assert not boxes or letters >= 7
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]
        for other in boxes[:number]:
            is_beside = right <= other[0] or other[2] <= left
            assert is_beside or bottom <= other[1] or other[3] <= top


def test_gate_images_are_arranged_below_a_title() -> None:
    """In a grid on a white background."""
    pytest.importorskip("PIL")
    sheet = _race_video.gate_images(flown_race(), 320, 240)
    rows = 4
    head = sheet.shape[0] - rows * (240 + 3)
    assert head >= 16
    assert (sheet[:head, :3] == 255).all()
    assert (sheet[:head] < 100).any()  # a title
    assert (sheet[-100:, -100:] == 255).all()  # one of twelve cells is empty


# labels of points


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))]
)
def test_labels_overlap_neither_each_other_nor_lines(seed: int) -> None:
    from matplotlib.text import Text

    rng = np.random.default_rng(seed)
    figure = _figures.new_figure(7, 6)
    axes = figure.add_subplot()
    t = np.linspace(0.0, 2.0 * np.pi, 600)[:, None]
    waves, phases = rng.normal(size=(4, 2)), rng.uniform(0.0, 6.0, (4, 2))
    line = sum(waves[k] * np.sin((k + 1) * t + phases[k]) / (k + 1) for k in range(4))
    points = np.asarray(line)[rng.choice(600, 12, replace=False)]
    axes.plot(*np.asarray(line).T)
    _figures.labelled(axes, "a path", "x [m]", "y [m]")
    labels = _figures.name_points(axes, points, [f"point {k}" for k in range(12)], [line])
    figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in labels]
    pixels = axes.transData.transform(line)
    covered = 0
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
        inside = ((pixels > [box.x0, box.y0]) & (pixels < [box.x1, box.y1])).all(axis=1)
        covered += int(inside.any())
        frame = axes.get_window_extent().padded(1.0)
        assert frame.contains(box.x0, box.y0)
        assert frame.contains(box.x1, box.y1)
    assert covered <= 1  # the path may surround one point


def test_scenes_without_gates_can_be_drawn() -> None:
    figure = viz.trajectory_figure(fleet(1), scene=Scene.load("empty"))
    assert len(figure.axes[0].texts) == 0


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        ({"target": [0.0, 0.0]}, r"landmarks\['target'\]: expected finite numbers"),
        ({"target": [0.0, 0.0, np.nan]}, r"landmarks\['target'\]: expected finite"),
        ({"target": "here"}, r"landmarks\['target'\]"),
    ],
)
def test_invalid_landmarks_are_refused(landmarks: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        viz.trajectory_figure(fleet(1), landmarks=landmarks)
