"""The tasks: observations, rewards, termination, and the code of their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from gym_helpers import idle
from helpers import code_blocks, run_in_order
from propwash import race
from propwash.world import Gate, Plane, Scene, Start

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gym.md"


def test_the_layout_of_observations_matches_the_documentation() -> None:
    env = pg.make_vec(pg.Hover, 5)
    observations, _ = env.reset(seed=1)
    for step in range(2):
        fleet = env.fleet
        w, x, y, z = fleet.attitude.T.astype(np.float64)
        assert np.array_equal(observations[:, 0:3], fleet.position)
        assert np.array_equal(observations[:, 3:6], fleet.velocity)
        rotation = observations[:, 6:15].reshape(-1, 3, 3).astype(np.float64)
        assert np.allclose(rotation @ rotation.transpose(0, 2, 1), np.eye(3), atol=1e-6)
        assert np.allclose(rotation[:, 2, 0], 2 * (x * z - w * y), atol=1e-6)
        assert np.allclose(rotation[:, 0, 1], 2 * (x * y - w * z), atol=1e-6)
        assert np.array_equal(observations[:, 15:18], fleet.body_rates)
        assert np.array_equal(observations[:, 18:], np.full((5, 4), 0.25 * step))
        observations, *_ = env.step(idle(env) + np.float32(0.25))


def test_body_frame_observations_are_rotated_world_frame_ones() -> None:
    world, body = (pg.make_vec(pg.Hover, 4, frame=frame).reset(seed=2)[0] for frame in
                   ("world", "body"))  # fmt: skip
    rotation = world[:, 6:15].reshape(-1, 3, 3)
    for part in (slice(0, 3), slice(3, 6)):
        in_world = np.einsum("nij,nj->ni", rotation, body[:, part])
        assert np.allclose(in_world, world[:, part], atol=1e-5)


def test_hover_starts_at_any_attitude_and_ends_beyond_its_bound() -> None:
    env = pg.make_vec(pg.Hover, 500, bound=1.0)
    env.reset(seed=0)
    fleet = env.fleet
    x, y = fleet.attitude.T[1:3].astype(np.float64)
    cosine = 1 - 2 * (x * x + y * y)
    assert cosine.min() < -0.9 < 0.9 < cosine.max()
    assert 0.8 < np.abs(fleet.position).max() <= 1.0
    assert np.ptp(fleet.rotor_speeds, axis=1).min() > 0.0
    far = np.linalg.norm(fleet.position, axis=1)
    *_, terminated, _, infos = env.step(idle(env))
    assert terminated[far > 1.1].all()
    assert not terminated[far < 0.9].any()
    assert np.array_equal(infos["_distance"], terminated)


def test_hover_in_a_scene_is_hover_at_its_start() -> None:
    """Everything moves by the position of the start; starts are rotated by its heading."""
    place = np.array([5.0, -3.0, 40.0])
    ground = Plane(name="ground")
    scene = Scene([ground], start=Start(position=tuple(place), yaw=0.0))
    moved, plain = pg.make_vec(pg.Hover, 50, scene=scene), pg.make_vec(pg.Hover, 50)
    assert np.allclose(moved.reset(seed=1)[0], plain.reset(seed=1)[0], atol=1e-5)
    for _ in range(20):
        one, other = moved.step(idle(moved)), plain.step(idle(plain))
        assert np.allclose(moved.state["position"] - place, plain.state["position"], atol=1e-4)
        assert np.allclose(one[1], other[1], atol=1e-4)
    turned = Scene([ground], start=Start(position=tuple(place), yaw=2.0))
    level = pg.make_vec(pg.Hover, 500, scene=turned, tilt=0.0, heading=0.3)
    level.reset(seed=1)
    w, _, _, z = level.state["attitude"].T
    heading = np.unwrap(2.0 * np.arctan2(z, w)) - 2.0
    assert 0.25 < np.abs(heading).max() < 0.3 + 1e-5


def test_hover_ends_at_contact_with_its_scene() -> None:
    envs = pg.make_vec(pg.Hover, 2, scene="beacons", position=0.0, velocity=0.0)
    envs.reset(seed=1)
    for height, expected in ((0.3, False), (0.1, True)):
        envs.set_state({"position": (0.0, 0.0, height), "velocity": (0.0, 0.0, 0.0)}, [True, False])
        *_, terminated, _, infos = envs.step(idle(envs))
        assert terminated.tolist() == [expected, False]
    assert infos["distance"][0] == pytest.approx(1.4, abs=0.02)
    with pytest.raises(ValueError, match="scene: expected one with a start, 'bare' has none"):
        pg.Hover(scene=Scene([Plane(name="ground")], name="bare"))
    with pytest.raises(ValueError, match=r"heading: expected a number in \[0, pi\] \[rad\], got 4"):
        pg.Hover(heading=4.0)


@pytest.mark.parametrize(("axis", "sign"), [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)])
def test_attitude_actions_tilt_the_thrust_towards_an_axis(axis: int, sign: float) -> None:
    env = pg.make_vec(
        pg.Hover, 2, action="attitude_thrust", noise=False, max_tilt=0.5, tilt=0.0, rates=0.0,
        velocity=0.0, position=0.0, spin=0.0,
    )  # fmt: skip
    env.reset(seed=1)
    action = idle(env)
    action[:, axis] = 0.6 * sign
    action[:, 2] = 0.25
    for _ in range(150):
        env.step(action)
    state = pg.State(env.fleet, 4, 0.01)
    state.read()
    thrust = state.rotation[:, :, 2]
    assert np.allclose(thrust[:, axis], sign * np.sin(0.3), atol=0.01)
    assert np.allclose(thrust[:, 1 - axis], 0.0, atol=0.01)
    assert np.allclose(env.fleet.body_rates[:, 2], 1.0 * np.cos(0.3), atol=0.1)  # 0.25 of 4 rad/s
    assert (sign * env.fleet.velocity[:, axis] > 2.0).all()


def test_velocity_actions_are_followed() -> None:
    env = pg.make_vec(
        pg.Hover, 3, action="velocity", noise=False, max_speed=4.0, bound=100.0, tilt=0.5
    )
    env.reset(seed=1)
    action = np.array([[0.5, 0, 0, 0], [0, -0.25, 0.25, 0.5], [0, 0, 0, 0]], dtype=np.float32)
    for _ in range(450):
        env.step(action)
    assert np.allclose(env.fleet.velocity, 4.0 * action[:, :3], atol=0.1)
    assert np.allclose(env.fleet.body_rates[:, 2], 4.0 * action[:, 3], atol=0.1)


def straight(gap: float = 6.0) -> Scene:
    """Two gates along x above the ground."""
    gates = [
        Gate(name=name, position=(x, 0.0, 2.0), width=1.6, height=1.6, border=0.2, depth=0.1)
        for name, x in (("one", 3.0), ("two", 3.0 + gap))
    ]
    return Scene([Plane(name="ground"), *gates], start=Start(position=(0.0, 0.0, 2.0), yaw=0.0))


def test_an_open_track_is_refused() -> None:
    line = pw.trajectories.Line([0, 0, 0], [3, 0, 0])
    with pytest.raises(ValueError, match=r"path: expected a closed path, its ends are 3 m apart"):
        pg.Track(line)
    with pytest.raises(TypeError, match=r"path: expected a name.*got 3"):
        pg.Track(3)  # type: ignore[arg-type]


def test_race_counts_gates_in_order_and_scores_like_race_score() -> None:
    scene = straight()
    env = pg.make_vec(pg.Race, 3, course=scene, spread=0.0, bound=50.0, noise=False)
    env.reset(seed=0)
    x = np.arange(0.0, 10.0, 0.1)
    through = np.stack([x, 0 * x, 0 * x + 2.0], axis=1)
    beside = through + np.array([0.0, 1.5, 0.0])
    into = through + np.array([0.0, 0.9, 0.0])
    ended = np.zeros(3, dtype=bool)
    results: dict[str, Any] = {}
    for k in range(len(x)):
        positions = np.stack([through[k], beside[k], into[k]])
        env.fleet.set_state(position=positions, velocity=[0, 0, 0])
        *_, terminated, _, infos = env.step(idle(env))
        for i in np.flatnonzero(terminated & ~ended):
            results[str(i)] = {name: infos[name][i] for name in ("gates", "score", "collision")}
        ended |= terminated
    assert np.array_equal(ended, [True, False, True])
    assert results["0"]["gates"] == 2
    assert not results["0"]["collision"]
    # at 0.1 m per step it reaches the second gate, at x = 9 m, in step 90 or 91
    assert abs(results["0"]["score"] - race.score(2, 90.5 * env.period)) < 1.1 * env.period
    assert results["2"]["collision"]
    assert results["2"]["score"] == 0.0


def test_race_episodes_can_start_behind_any_gate() -> None:
    env = pg.make_vec(pg.Race, 400, anywhere=True, noise=False, spread=0.0, course_seed=[0, 3])
    observations, _ = env.reset(seed=2)
    task = env.task
    assert isinstance(task, pg.Race)
    assert np.array_equal(np.unique(task.next), np.arange(task.count))
    position = env.fleet.position
    for i in range(400):
        course, first = task.courses[task.course[i]], int(task.next[i])
        to_next = course.centre[first] - position[i]
        assert np.allclose(observations[i, :3], -to_next, atol=1e-3)
        forward = observations[i, 6:15].reshape(3, 3)[:, 0]
        if first == 0:
            assert np.allclose(position[i], course.start, atol=1e-5)
            continue
        past = course.rotation[first - 1].T @ (position[i] - course.centre[first - 1])
        assert 0.99 < past[0] < 3.01
        assert np.allclose(past[1:], 0.0, atol=1e-4)
        assert np.allclose(
            np.arctan2(forward[1], forward[0]), np.arctan2(to_next[1], to_next[0]), atol=1e-4
        )
    terminated = env.step(idle(env))[2]
    assert not terminated.any()  # no vehicle starts within a gate
    pg.check_vector_env(pg.Race, num_envs=2, steps=25, max_episode_steps=6, anywhere=True)


def test_race_observes_the_position_at_the_next_gate() -> None:
    env = pg.make_vec(pg.Race, 60, anywhere=True, frame="body", course_seed=[0, 3])
    seen, _ = env.reset(seed=4)
    task = env.task
    assert isinstance(task, pg.Race)
    attitude = seen[:, 6:15].reshape(60, 3, 3)
    for i, position in enumerate(env.fleet.position):
        course, first = task.courses[task.course[i]], int(task.next[i])
        away = position - course.centre[first]
        at_gate = course.rotation[first].T @ away
        assert np.allclose(np.sinh(seen[i, 34:37]), at_gate, rtol=1e-4, atol=1e-4)
        assert np.exp(seen[i, 37]) == pytest.approx(np.linalg.norm(away) + 0.1, rel=1e-4)
        direction = attitude[i] @ seen[i, 31:34]
        assert np.allclose(direction, away / np.linalg.norm(away), atol=2e-3)


def test_race_accepts_every_perturbed_course_of_alphapilot() -> None:
    task = pg.Race(course_seed=range(25))
    assert task.count == 11
    env = pg.FleetVectorEnv(task, 50)
    first, _ = env.reset(seed=0)
    assert np.allclose(env.fleet.position, [18.5, 6.5, 1.0], atol=0.21)
    gates = first[:, :3] - env.fleet.position
    assert np.allclose(gates[:25], gates[25:], atol=1e-5)
    assert len(np.unique(gates[:25].round(3), axis=0)) == 25


def test_infeasible_courses_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        pg.Race(straight(0.05))
    low = Gate(name="low", position=(3.0, 0.0, -1.0), width=1.6, height=1.6, border=0.2, depth=0.1)
    with pytest.raises(ValueError, match=r"'low'.*below"):
        pg.Race(Scene([Plane(name="ground"), low], start=Start(position=(0.0, 0.0, 2.0), yaw=0.0)))
    with pytest.raises(ValueError, match="start"):
        pg.Race(Scene([straight().gates[0]]))
    with pytest.raises(ValueError, match="gate"):
        pg.Race("empty")


def test_observations_of_sensors_contain_only_their_readings() -> None:
    env = pg.make_vec(pg.Land, 3, observation="sensors", history=2, noise=False)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (3, 12 + 4 + 1)
    assert np.array_equal(observations[:, :6], observations[:, 6:12])
    before = observations
    observations, *_ = env.step(idle(env))
    assert np.array_equal(observations[:, 6:12], before[:, :6])
    assert np.array_equal(observations[:, 3:6], env.fleet.imu.angular_rate)
    distance = env.fleet.sensors["range_finder"].reading.range
    assert np.allclose(observations[:, -1], distance / 20.0)


class Wrong(pg.Task):
    """Returns the specified values."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__()
        setattr(self, name, lambda *_: value)

    def reward(self, state: pg.State) -> Any:
        return np.zeros(state.size)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reward", np.zeros(3), r"Wrong.reward: expected shape \(2,\)"),
        ("reward", np.array([0.0, np.nan]), "environment 1"),
        ("terminated", np.zeros((2, 1), dtype=bool), r"Wrong.terminated: expected shape \(2,\)"),
        ("reset_state", {"place": 0}, "some of position"),
        ("reset_state", {"position": np.zeros((2, 2))}, r"\(2, 3\)"),
        ("reset_state", {"attitude": np.zeros(4)}, "unit quaternions"),
    ],
)
def test_invalid_custom_tasks_are_refused(name: str, value: Any, message: str) -> None:
    def fly() -> None:
        env = pg.FleetVectorEnv(Wrong(name, value), 2)
        env.reset(seed=0)
        env.step(idle(env))

    with pytest.raises(ValueError, match=message):
        fly()


class Forgetful(pg.Hover):
    """Its constructor does not call that of its base class."""

    def __init__(self, height: float = 1.0) -> None:
        self.height = height


@pytest.mark.parametrize("make", [pg.make, pg.make_vec])
def test_a_constructor_without_that_of_the_base_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match=r"Forgetful\.__init__: expected .* super\(\)\.__init__"):
        make(Forgetful)


class Passes(pg.Hover):
    """Its constructor passes the arguments of its base class on."""

    def __init__(self, height: float, **others: Any) -> None:
        super().__init__(**others)
        self.height = height


def test_arguments_passed_on_to_the_base_are_options() -> None:
    task: Any = pg.make_vec(Passes, 2, height=2.0, frame="body", bound=3.0, wind=1.0).task
    assert (task.height, task.frame, task.bound) == (2.0, "body", 3.0)
    with pytest.raises(TypeError, match="there is no 'bond'; did you mean 'bound'"):
        pg.make_vec(Passes, 2, height=2.0, bond=3.0)


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="docs/gym.md is missing")
def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = code_blocks(PAGE, "python")
    assert len(found) >= 3
    run_in_order(found, "docs/gym.md")


@pytest.mark.parametrize(
    "name", ["position", "velocity", "rates", "tilt", "heading", "spin", "bound"]
)
@pytest.mark.parametrize("value", ["a", None, -1.0, np.nan])
def test_ranges_of_hover_are_checked_by_name(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected .*, got"):
        pg.Hover(**{name: value})
