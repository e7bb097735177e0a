"""Observations: images and dicts of custom tasks, depth images, privileged columns."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from gym_helpers import VARIED, idle
from gymnasium import spaces
from propwash.world import Box, Scene, Sphere

BOTH: Any = ("depth", "sensors")


class Seeing(pg.Hover):
    """Observes a grey image, whose brightness is the height, the state and a flag."""

    def observation(self, state: pg.State) -> Any:
        grey = np.clip(128.0 + 20.0 * state.position[:, 2], 0.0, 255.0).astype(np.uint8)
        image = np.broadcast_to(grey[:, None, None, None], (state.size, 6, 8, 3))
        flag = (state.upright > 0)[:, None]
        return {"image": image, "state": super().observation(state), "flag": flag}


class Looking(pg.Hover):
    """Observes float64 images of one channel."""

    def observation(self, state: pg.State) -> Any:
        return np.tile(state.position[:, None, None, :1].astype(np.float64), (1, 4, 5, 1))


@pytest.mark.parametrize("kind", [Seeing, Looking])
def test_images_and_dicts_are_observations_in_every_mode(kind: type[pg.Task]) -> None:
    pg.check_vector_env(kind, num_envs=3, steps=30, max_episode_steps=9, wind=2.0)


def test_spaces_are_inferred() -> None:
    env = pg.make(Seeing)
    expected: dict[str, spaces.Space[Any]] = {
        "image": spaces.Box(0, 255, (6, 8, 3), np.uint8),
        "state": spaces.Box(-np.inf, np.inf, (22,), np.float32),
        "flag": spaces.Box(-np.inf, np.inf, (1,), np.float32),
    }
    assert env.observation_space == spaces.Dict(expected)
    first, _ = env.reset(seed=1)
    assert env.observation_space.contains(first)
    assert env.observation_space.contains(env.step(idle(env))[0])
    assert env.observation_space.contains(env.observe())
    assert pg.make(Looking).observation_space == spaces.Box(-np.inf, np.inf, (4, 5, 1))
    envs = pg.make_vec(Seeing, 3)
    assert isinstance(envs.observation_space, spaces.Dict)
    assert envs.observation_space["image"].shape == (3, 6, 8, 3)


def test_an_observation_in_several_parts_has_their_names() -> None:
    env = pg.make_vec(Seeing, 2, observation=("state",), privileged=["wind"], wind=2.0)
    seen, _ = env.reset(seed=3)
    assert sorted(seen) == ["flag", "image", "privileged", "state"]
    alone = pg.make_vec(pg.Hover, 2, observation=["state"])
    assert list(alone.reset(seed=3)[0]) == ["state"]
    assert np.array_equal(alone.observe()["state"], pg.make_vec(pg.Hover, 2).reset(seed=3)[0])


def _returning(function: Any) -> type[pg.Task]:
    class Custom(pg.Hover):
        def observation(self, state: pg.State) -> Any:
            return function(state)

    return Custom


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s: np.zeros(s.size), r"expected shape \(4, k\), or .* for images, got \(4,\)"),
        (lambda s: np.zeros((3, 4)), r"expected shape \(4, k\).*got \(3, 4\)"),
        (lambda s: {"a": np.zeros((4, 2)), "b": np.zeros(4)}, r"observation\['b'\]: .*\(4,\)"),
        (lambda s: {}, "expected arrays by name"),
        (lambda s: {1: np.zeros((4, 2))}, "expected arrays by name"),
        (lambda s: {"a": {"b": np.zeros((4, 2))}}, r"\['a'\]: expected numbers, got object"),
        (lambda s: "far", "expected numbers"),
        (
            lambda s: np.full((4, 2), np.nan),
            "expected finite numbers, got nan in column 0 for environment 0",
        ),
    ],
)
def test_invalid_observations_are_refused(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"Custom.*{message}"):
        pg.make_vec(_returning(function), 4).reset(seed=0)


def test_a_name_of_the_options_is_refused() -> None:
    kind = _returning(lambda s: {"privileged": s.position})
    with pytest.raises(ValueError, match=r"expected names other than .*got 'privileged'"):
        pg.make_vec(kind, 4, privileged=True)


@pytest.mark.parametrize(
    "later",
    [
        lambda s: {"a": s.position},
        lambda s: {"a": s.position, "b": np.zeros((s.size, 2, 2, 3), np.uint8)},
        lambda s: {"a": s.position, "b": np.zeros((s.size, 2, 2, 1))},
        lambda s: s.position,
    ],
)
def test_a_changed_observation_is_refused_and_the_environment_continues(later: Any) -> None:
    def first(state: pg.State) -> Any:
        return {"a": state.position, "b": np.zeros((state.size, 2, 2, 1), np.uint8)}

    faulty = [False]
    env = pg.make_vec(_returning(lambda s: later(s) if faulty[0] else first(s)), 4, copy=False)
    before, _ = env.reset(seed=0)
    kept = copy.deepcopy(before)
    faulty[0] = True
    moment = env.snapshot()
    with pytest.raises(ValueError, match=r"expected a of shape.*, as in the first one, got"):
        env.step(idle(env))
    assert all(np.array_equal(before[name], kept[name]) for name in kept)
    faulty[0] = False
    env.restore(moment)
    env.step(idle(env))


class Ahead(pg.Hover):
    """Starts level before a wall, with a ground and a ball behind the camera."""

    scene = Scene(
        [
            pw.world.Plane(name="ground"),
            Box(name="wall", position=(5.5, 0.0, 0.0), size=(1.0, 100.0, 100.0)),
            Sphere(name="ball", position=(-2.0, 0.0, 1.0), radius=0.5),
        ]
    )

    def reset_state(self, draws: pg.Draws) -> Any:
        return {"position": np.array([0.0, 0.0, 1.0]) + draws.uniform(-0.2, 0.2, 3)}


def _expected_depth(position: Any, camera: pw.Camera, farthest: float) -> Any:
    """Depth (h, w) of wall and ground, in closed form."""
    rays = camera.rays
    with np.errstate(divide="ignore"):
        ground = np.where(rays[..., 2] < 0, -position[2] / rays[..., 2] * rays[..., 0], np.inf)
    return np.minimum(np.minimum(ground, 5.0 - position[0]), farthest)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_depth_is_that_of_the_geometry(dtype: Any) -> None:
    env = pg.make_vec(
        Ahead,
        16,
        observation="depth",
        depth_dtype=dtype,
        depth_size=(20, 16),
        depth_fov=50.0,
        depth_range=4.9,
    )
    images, _ = env.reset(seed=1)
    assert images.shape == (16, 16, 20, 1)
    assert images.dtype == dtype
    assert env.observation_space.contains(images)
    scale, tolerance = (255.0, 0.5001) if dtype == "uint8" else (1.0, 1e-5)
    camera = pw.Camera(20, 16, 50.0)
    for image, position in zip(images, env.state["position"], strict=True):
        expected = scale * _expected_depth(position.astype(float), camera, 4.9) / 4.9
        assert np.abs(image[..., 0] - expected).max() < tolerance
    assert images.max() == scale  # a wall beyond the range


def test_environments_see_their_own_courses() -> None:
    options: Any = {"course_seed": [3, 4, 5], "observation": "depth"}
    env = pg.make_vec(pg.Race, 7, **options)
    env.reset(seed=2)
    images, *_ = env.step(idle(env))
    camera, state = pw.Camera(32, 24), env.state
    for i in range(7):
        scene = Scene.load("alphapilot", seed=[3, 4, 5][i % 3])
        sensor = pw.DepthCamera(scene, camera, max_depth=20.0)
        depth = sensor.measure(state["position"][i], state["attitude"][i]).depth
        assert np.allclose(images[i, ..., 0], depth / 20.0, atol=1e-6)


def test_markings_are_not_seen() -> None:
    env = pg.make(pg.Land, observation="depth")
    env.reset(seed=1)
    quaternion = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]  # the camera looks down on the pad
    env.set_state({"position": [0.0, 0.0, 0.5], "attitude": quaternion})
    assert np.allclose(env.observe(), 0.5 / 20.0, atol=1e-6)


def test_images_follow_the_vehicles() -> None:
    env = pg.make_vec(Ahead, 4, observation="depth", autoreset_mode="DISABLED")
    first, _ = env.reset(seed=1)
    env.set_state({"position": [2.0, 0.0, 1.0]}, mask=[False, True, False, False])
    # a reset of some environments reads the moved one too
    mask = np.array([True, False, False, False])
    second, _ = env.reset(options={"reset_mask": mask})
    assert not np.array_equal(first[0], second[0])
    assert np.isclose(second[1].max(), 3.0 / 20.0)
    assert np.array_equal(first[2:], second[2:])
    moment = env.snapshot()
    after, *_ = env.step(idle(env))
    env.set_state({"position": [0.0, 0.0, 3.0]})
    assert not np.array_equal(env.observe(), after)
    env.restore(moment)
    assert np.array_equal(env.observe(), second)
    assert np.array_equal(env.step(idle(env))[0], after)


def test_a_scene_may_change_with_the_episode() -> None:
    class Alternating(Ahead):
        """The wall is at 3 m and at 6 m in turn."""

        def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
            super().begin(fleet, period, index)
            self.scenes: list[Scene] = [
                Scene([Box(name="wall", position=(x + 0.5, 0.0, 0.0), size=(1.0, 99.0, 99.0))])
                for x in (3.0, 6.0)
            ]
            self.choice = np.zeros(fleet.size, dtype=int)

        def reset_state(self, draws: pg.Draws) -> Any:
            self.choice[draws.rows] = 1 - self.choice[draws.rows]
            return {"position": np.zeros(3)}

        def scenery(self, row: int) -> Scene:
            return self.scenes[int(self.choice[row])]

    env = pg.make_vec(Alternating, 2, observation="depth", autoreset_mode="DISABLED")
    far = [float(env.reset(seed=seed)[0].max()) * 20.0 for seed in range(3)]
    assert np.allclose(far[0::2], far[0])
    assert {round(x, 3) for x in far} == {3.0, 6.0}
    env.reset(seed=0)
    moment, before = env.snapshot(), env.observe()
    assert not np.array_equal(env.reset(seed=1)[0], before)
    env.restore(moment)
    assert np.array_equal(env.observe(), before)


def test_depth_needs_a_scene() -> None:
    with pytest.raises(ValueError, match="expected a task with a scene for 'depth', Hover has"):
        pg.make(pg.Hover, observation="depth")


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_copies_of_depth_environments_continue_identically(mode: str) -> None:
    env = pg.make_vec(pg.Race, 3, observation=BOTH, autoreset_mode=mode, course_seed=[1, 2])
    env.reset(seed=5)
    env.step(idle(env))
    others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(3):
        seen = env.step(idle(env))[0]
        for other in others:
            assert np.array_equal(other.step(idle(env))[0]["depth"], seen["depth"])


@pytest.mark.slow
def test_depth_sensors_and_privileged_columns_fulfil_the_interface() -> None:
    pg.check_vector_env(
        pg.Race,
        num_envs=3,
        steps=20,
        max_episode_steps=8,
        observation=BOTH,
        privileged=True,
        course_seed=range(2),
        depth_size=(8, 6),
        **VARIED,
    )


def test_observations_in_parts_are_overwritten_only_without_copies() -> None:
    options: Any = {"observation": BOTH, "privileged": True, "depth_size": (8, 6)}
    env = pg.make_vec(pg.Land, 2, copy=False, **options)
    first, _ = env.reset(seed=0)
    second, *_ = env.step(idle(env))
    assert all(first[name] is second[name] for name in first)


class TestPrivileged:
    """Privileged columns against the fleet."""

    def test_the_columns_are_those_of_the_fleet(self) -> None:
        env = pg.make_vec(pg.Hover, 64, privileged=True, **VARIED)
        env.reset(seed=4)
        seen, *_ = env.step(idle(env))
        columns = env.privileged_columns
        groups = {name: seen["privileged"][:, each] for name, each in columns.items()}
        assert sum(each.shape[1] for each in groups.values()) == seen["privileged"].shape[1]
        assert np.array_equal(groups["state"], seen["state"])
        fleet = env.fleet
        fastest = fleet.vehicle.motor_values("speed_max")
        assert np.allclose(groups["rotors"] * fastest, env.state["rotor_speeds"], rtol=1e-6)
        nominal = fleet.vehicle.body.mass
        ratio = fleet.parameters["mass"] / nominal
        assert np.allclose(groups["parameters"][:, 0], ratio, rtol=1e-6)
        thrust = fleet.parameters["thrust_coefficient"][:, 0]
        expected = thrust / fleet.vehicle.rotors[0].thrust_coefficient
        assert np.allclose(groups["parameters"][:, 1], expected, rtol=1e-6)
        assert np.ptp(groups["parameters"][:, 0]) > 0.1
        assert np.array_equal(groups["wind"], fleet.wind)
        speed = np.linalg.norm(groups["wind"], axis=1)
        assert 1.0 <= speed.min() < speed.max() <= 3.0
        assert groups["delay"].max() <= 20 * fleet.dt < 40 * groups["delay"].max()
        biases = np.hstack([fleet.accelerometer_bias, fleet.gyroscope_bias])
        assert np.array_equal(groups["imu_bias"], biases)

    def test_parameters_change_with_the_episode_only(self) -> None:
        options: Any = {"randomize": {"mass": 0.2}, "privileged": ["parameters"]}
        env = pg.make_vec(pg.Hover, 3, autoreset_mode="DISABLED", **options)
        first = env.reset(seed=4)[0]["privileged"]
        assert np.array_equal(env.step(idle(env))[0]["privileged"], first)
        moment = env.snapshot()
        mask = np.array([True, False, False])
        later = env.reset(options={"reset_mask": mask})[0]["privileged"]
        assert np.array_equal(later != first, mask[:, None])
        env.restore(moment)
        assert np.array_equal(env.observe()["privileged"], first)

    def test_a_parameter_without_nominal_value_is_given_itself(self) -> None:
        spread = ("uniform", [0.0, 0.0, 0.0], [0.01, 0.02, 0.0])
        options: Any = {"randomize": {"rotor_drag.linear": spread}, "privileged": ["parameters"]}
        env = pg.make_vec(pg.Hover, 8, **options)
        seen = env.reset(seed=1)[0]["privileged"]
        assert seen.shape == (8, 1)
        # of the component with the widest range
        assert np.allclose(seen[:, 0], env.fleet.parameters["rotor_drag.linear"][:, 1])
        assert np.ptp(seen) > 0.005

    def test_actors_do_not_see_them(self) -> None:
        plain = pg.make_vec(pg.Hover, 3, **VARIED)
        env = pg.make_vec(pg.Hover, 3, privileged=True, **VARIED)
        assert np.array_equal(env.reset(seed=1)[0]["state"], plain.reset(seed=1)[0])
        for _ in range(3):
            assert np.array_equal(env.step(idle(env))[0]["state"], plain.step(idle(env))[0])
        assert plain.privileged_columns == {}
