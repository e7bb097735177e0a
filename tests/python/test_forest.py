"""The task ForestFlight, its gradients, and training with BPTT."""

from __future__ import annotations

import copy
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import propwash.gym as pg
from propwash.gym.evaluation import evaluate, measures
from propwash.sensors import Camera, DepthCamera, depth_images
from propwash.world import Box, Cylinder, Plane, Scene, Start

GROUND = Plane(name="ground")
LEAST = (97.0, 97.0, 83.0)
"""Per cent of arrivals at 3, 5 and 7 m/s, a margin below the stated figures."""
START = Start(position=(0.0, 0.0, 2.0))


def trunk(x: float, y: float, radius: float = 0.3) -> Cylinder:
    return Cylinder(name="trunk", position=(x, y, 4.0), radius=radius, height=8.0)


def flown_straight(scene: Scene, goal: Any = (20.0, 0.0, 2.0), **options: Any) -> Any:
    """Infos at the end of a flight with the action 0."""
    common: dict[str, Any] = {"action": "goal_velocity", "substeps": 64, "noise": False}
    envs = pg.make_vec(pg.ForestFlight, 1, scene=scene, goal=goal, **common, **options)
    result = evaluate(lambda seen: np.zeros((1, 3), np.float32), envs, 0)
    return {name: values[0] for name, values in result.infos.items()} | {
        "position": result.position[-1, 0]
    }


def test_a_straight_flight_arrives_unless_a_tree_stands_in_its_way() -> None:
    free = flown_straight(Scene([GROUND, trunk(10.0, 2.0)], start=START), speed=4.0)
    assert free["success"]
    assert not free["collision"]
    assert free["distance"] < 2.0
    assert 3.0 < free["speed"] < 4.2
    blocked = flown_straight(Scene([GROUND, trunk(10.0, 0.2)], start=START), speed=4.0)
    assert not blocked["success"]
    assert blocked["collision"]
    assert 9.0 < blocked["position"][0] < 11.0


def test_the_flown_speed_is_that_of_the_positions_after_two_seconds() -> None:
    scene = Scene([GROUND, trunk(10.0, 2.0)], start=START)
    common: dict[str, Any] = {"action": "goal_velocity", "substeps": 64, "noise": False}
    envs = pg.make_vec(pg.ForestFlight, 1, scene=scene, goal=(20.0, 0.0, 2.0), speed=4.0, **common)
    result = evaluate(lambda seen: np.zeros((1, 3), np.float32), envs, 0)
    position = result.position[:, 0][np.isfinite(result.position[:, 0, 0])]
    lengths = np.linalg.norm(np.diff(position[30:], axis=0), axis=1)  # 30 steps last 2 s
    expected = lengths.sum() / (len(lengths) / 15.0)
    assert result.infos["speed"][0] == pytest.approx(expected, rel=1e-4)


def test_few_and_short_flights_are_measured_without_invented_speeds(
    recwarn: pytest.WarningsRecorder,
) -> None:
    scene = Scene([GROUND, trunk(10.0, 2.0)], start=START)
    common: dict[str, Any] = {"action": "goal_velocity", "substeps": 64, "noise": False}
    envs = pg.make_vec(pg.ForestFlight, 1, scene=scene, goal=(4.0, 0.0, 2.0), **common)
    result = evaluate(lambda seen: np.zeros((1, 3), np.float32), envs, 0)
    assert result.success is not None
    assert result.success[0]
    found = measures(envs.task, result)
    assert found == {"arrived [%]": 100.0, "arrived, at 3 m/s set [%]": 100.0}
    assert not recwarn.list


@pytest.mark.parametrize("beside", [0.21, 0.15])
def test_collisions_are_found_between_steps(beside: float) -> None:
    """A thin trunk is passed within one step of 0.6 m; the sphere has a radius of 0.15 m."""
    thin = Scene([GROUND, trunk(15.0, beside, 0.02)], start=START)
    assert flown_straight(thin, speed=9.0)["collision"] == (beside < 0.17)


def test_forests_are_new_for_each_group_of_environments_and_flights_start_free() -> None:
    envs = pg.make_vec(pg.ForestFlight, 12, flights=4, density=[0.05, 0.1], action="goal_velocity")
    envs.reset(seed=1)
    task: Any = envs._engine.task
    scenes = [task.scenery(row) for row in range(12)]
    assert scenes[0] is scenes[3] is not scenes[4]
    counts = [len(scene) - 1 for scene in (scenes[0], scenes[4], scenes[8])]
    assert counts == [180, 360, 180]
    place = envs._engine.state.position
    assert (task.nearest(place)[0] > 0.5).all()
    assert len(np.unique(place[:, 1])) == 12
    other = pg.make_vec(pg.ForestFlight, 4, flights=4, index=4, density=[0.05, 0.1])
    assert other._engine.task.scenery(0).items == scenes[4].items


def test_the_environments_have_the_properties_of_all() -> None:
    pg.check_vector_env(pg.ForestFlight, num_envs=3, steps=12, flights=2, action="goal_velocity")


def seen(envs: Any, seed: int = 0) -> Any:
    return envs.reset(seed=seed)[0][..., 0].copy()


def test_depth_is_pooled_inverted_tilted_and_delayed() -> None:
    def make(**options: Any) -> Any:
        size = {"observation": "depth", "depth_size": (32, 24), "noise": False}
        return pg.make_vec(pg.ForestFlight, 2, **{**size, **options})

    plain = seen(make())
    pooled = seen(make(depth_pool=(2, 4)))
    blocks = plain.reshape(2, 6, 4, 16, 2).min(axis=(2, 4))
    np.testing.assert_array_equal(pooled, blocks)
    inverse = seen(make(depth_near=0.5))
    np.testing.assert_allclose(inverse, np.minimum(1.0, 0.5 / (20.0 * plain)), rtol=1e-6)
    low, level, high = (
        (seen(make(depth_tilt=tilt, depth_range=1000.0))[:, -1] < 1.0).sum()
        for tilt in (-30.0, 0.0, 60.0)
    )
    assert low >= level > high  # the last row sees the ground, unless the camera looks up
    late, now = make(depth_delay=2), make()
    images = [seen(now)]
    np.testing.assert_array_equal(seen(late), images[0])
    action = np.full((2, 4), 0.2, np.float32)
    for k in range(5):
        images.append(now.step(action)[0][..., 0].copy())
        delayed = late.step(action)[0][..., 0]
        np.testing.assert_array_equal(delayed, images[max(0, k - 1)])


def test_noise_and_dropout_of_depth_are_those_of_the_options() -> None:
    common: dict[str, Any] = {"observation": "depth", "depth_size": (64, 48)}
    plain = seen(pg.make_vec(pg.ForestFlight, 4, **common))
    noisy = seen(pg.make_vec(pg.ForestFlight, 4, **common, depth_noise=0.3))
    hit = (plain > 0.1) & (plain < 0.9)
    assert np.std((noisy - plain)[hit] * 20.0) == pytest.approx(0.3, rel=0.1)
    dropped: dict[str, Any] = {"depth_error": {"dropout_rate": 0.5, "shadow": False}}
    raw = seen(pg.make_vec(pg.ForestFlight, 4, **common, **dropped))
    assert np.mean(raw == 0.0) == pytest.approx(0.5, abs=0.05)
    far = seen(pg.make_vec(pg.ForestFlight, 4, **common, **dropped, depth_near=1.0))
    np.testing.assert_allclose(far[raw == 0.0], 1.0 / 20.0)


@pytest.mark.parametrize("error", [{}, {"shadow": False}])
def test_noise_does_not_make_near_obstacles_far(error: Any) -> None:
    """A wall in 0.3 m; the inverse depth of a missing reading is 0.2 / 20."""
    wall = Box(name="wall", position=(0.8, 0.0, 2.0), size=(1.0, 30.0, 30.0))
    envs = pg.make_vec(
        pg.ForestFlight,
        1,
        scene=Scene([GROUND, wall], start=START),
        goal=(-20.0, 0.0, 2.0),
        observation="depth",
        depth_noise=0.3,
        depth_near=0.2,
        depth_error=error,
    )
    envs.reset(seed=0)
    engine: Any = envs._engine
    level = np.array([[1.0, 0.0, 0.0, 0.0]], np.float32)
    place = engine.state.position.copy()
    part = engine.observer.parts["depth"]
    assert part.measured(engine.task.scenery(0), engine.state, place, level).min() > 0.1


def test_many_views_of_many_scenes_are_those_of_a_depth_camera() -> None:
    scenes = [Scene([GROUND, trunk(4.0 + k, 0.0, 1.0)]) for k in range(3)]
    camera = Camera(16, 12)
    position = np.array([[0.1 * k, 0.0, 2.0] for k in range(6)])
    order = [2, 0, 1, 1, 2, 0]
    images = depth_images(scenes, camera, position, scene_of=order, max_depth=30.0)
    for k, number in enumerate(order):
        single = DepthCamera(scenes[number], camera, 30.0).measure(position[k], [1, 0, 0, 0])
        np.testing.assert_array_equal(images[k], single.depth)
    assert images[0, 5, 8] == pytest.approx(5.0, abs=0.15)  # the trunk ahead
    each = depth_images(scenes, camera, position[:3].astype(np.float32))
    assert each.dtype == np.float32
    np.testing.assert_allclose(each[1], depth_images(scenes[1], camera, position[1]), rtol=1e-4)
    with pytest.raises(ValueError, match=r"scene_of: expected 6 indices.*for 3 scenes, got None"):
        depth_images(scenes, camera, position)
    with pytest.raises(ValueError, match=r"scene_of: expected 6 whole numbers.*got \[0, 1\]"):
        depth_images(scenes, camera, position, scene_of=[0, 1])
    with pytest.raises(ValueError, match="scene_of: expected indices of 3 scenes"):
        depth_images(scenes, camera, position, scene_of=[0, 1, 2, 3, 0, 0])


def test_invalid_arguments_of_depth_images_are_refused() -> None:
    scene, camera = Scene([GROUND, trunk(4.0, 0.0)]), Camera(8, 6)
    wrong: Any
    for wrong in ([], "forest", [scene, "forest"]):
        with pytest.raises(TypeError, match="scenes: expected a Scene or a sequence of one or mo"):
            depth_images(wrong, camera, [0.0, 0.0, 2.0])
    for wrong in ((8, 6), Camera(8, 6, position=np.zeros((2, 3)))):
        with pytest.raises(TypeError, match="camera: expected a Camera with one mounting"):
            depth_images(scene, wrong, np.full((2, 3), 2.0))
    ahead = Camera(8, 6, position=(4.0, 0.0, 0.0))
    where = [[0.0, 3.0, 2.0], [0.0, 0.0, 2.0]]
    match = r"that of body 1 at \(4.0, 0.0, 2.0\) m is inside 'trunk'; move the body"
    with pytest.raises(ValueError, match=match):
        depth_images([scene, scene], ahead, where)
    assert np.isnan(depth_images(scene, camera, [[np.nan, 0.0, 2.0]])).all()


class Cube(pg.ForestFlight):
    """Forest flight whose loss depends on all parts of a window."""

    def loss(self, window: Any) -> Any:
        return (
            (window.position[1:] - window.target[1:]).pow(2).sum(-1) * 0.01
            + window.velocity[1:].pow(2).sum(-1)
            + window.attitude[1:, :, 1] * 3.0
            + window.body_rates[1:].pow(2).sum(-1)
            + window.action.diff(dim=0).pow(2).sum(-1)
        )


@pytest.mark.parametrize(
    "action",
    [
        {"action": "goal_velocity"},
        {"action": "goal_velocity", "yaw_mode": "velocity"},
        {"action": "rate_thrust"},
        {"action": "velocity"},
        {"action": "attitude_thrust"},
    ],
)
def test_gradients_by_actions_agree_with_differences(action: Any) -> None:
    torch = pytest.importorskip("torch")
    from propwash.gym import bptt

    options: dict[str, Any] = {**action, "noise": False, "substeps": 20}
    envs = pg.make_vec(Cube, 3, observation="state", **options)
    trainer = bptt.BPTT(envs, bptt.BpttArgs(num_steps=4), 1)
    trainer.restart(np.ones(3, dtype=np.bool_))
    flown = trainer.fly()
    flown.live[2:, 1] = 0.0
    _, gradient = trainer.action_gradient(flown)
    generator = torch.Generator().manual_seed(3)
    for _ in range(4):
        direction = torch.randn(gradient.shape, generator=generator)
        losses = [loss_after(trainer, flown, s * 1e-2 * direction) for s in (1.0, -1.0)]
        slope = (losses[0] - losses[1]) / 2e-2
        assert slope == pytest.approx(float((gradient * direction).sum()), rel=2e-2, abs=1e-3)


@pytest.mark.parametrize(
    "kind",
    [
        *("goal_velocity", "target_velocity", "heading_velocity", "velocity"),
        *("attitude_thrust", "rate_thrust", "rotor_thrusts"),
    ],
)
def test_the_pullback_of_each_action_agrees_with_differences(kind: str) -> None:
    envs = pg.make_vec(pg.ForestFlight, 40, action=kind, noise=False, substeps=64)
    actions: Any = envs._engine.actions
    random = np.random.default_rng(2)
    signs = random.choice([-1.0, 1.0], (40, actions.size))
    action = (signs * random.uniform(0.05, 0.95, signs.shape)).astype(np.float32)
    command, pull = actions.vjp(action)
    parts = [part for part in actions.parts if part != "yaw"]  # the heading is constant
    weights = {part: random.normal(size=getattr(command, part).shape) for part in parts}

    def weighted(moved: Any) -> Any:
        made = actions.command(moved)
        return sum((getattr(made, part) * weights[part]).reshape(40, -1).sum(1) for part in parts)

    gradient = pull(weights)
    scale = np.abs(gradient).mean()
    for column in range(actions.size):
        step = np.zeros_like(action)
        step[:, column] = 0.01
        slope = (weighted(action + step) - weighted(action - step)) / 0.02
        error = np.abs(slope - gradient[:, column])
        # a tilt near its limit is not smooth
        assert np.quantile(error, 0.9) < 2e-3 * scale, (kind, column)


def loss_after(trainer: Any, flown: Any, change: Any) -> float:
    """The loss of a window whose actions are changed, as flown by the fleet."""
    from propwash.gym._differentiable import StateWindow

    torch = pytest.importorskip("torch")
    engine, names = trainer.engine, ("position", "velocity", "attitude", "body_rates")
    engine.fleet.restore(flown.start)
    task = engine.task
    rows = [[np.array(getattr(engine.fleet, name)) for name in names]]
    actions = flown.actions.clone()
    actions[1:] += change
    bearings = flown.command
    for t in range(len(change)):
        command: Any = engine.actions.command(actions[t + 1].numpy())
        if engine.settings.action == "goal_velocity":  # bearing and heading are constant
            moved = engine.actions.command(flown.actions[t + 1].numpy())
            velocity = bearings.velocity[t] + command.velocity - moved.velocity
            command = type(command)(velocity, bearings.yaw[t])
        engine.fleet.step(command, substeps=engine.settings.substeps)
        rows.append([np.array(getattr(engine.fleet, name)) for name in names])
    states = [torch.from_numpy(np.stack(part)) for part in zip(*rows, strict=True)]
    position, velocity, attitude, rates = states
    target = torch.from_numpy(np.array(task.target(engine.state))).expand_as(position)
    still = torch.zeros_like(target)
    window = StateWindow(position, velocity, attitude, rates, actions, target, still)
    return float((task.loss(window) * flown.live).mean())


def test_the_loss_of_the_obstacles_has_the_derivative_of_its_differences() -> None:
    torch = pytest.importorskip("torch")
    from propwash.gym._differentiable import StateWindow

    scene = Scene([GROUND, trunk(10.0, 0.0)], start=START)
    envs = pg.make_vec(
        pg.ForestFlight, 1, scene=scene, goal=(1e5, 0.0, 2.0), action="goal_velocity"
    )
    task: Any = envs._engine.task
    points = np.array([[9.0, 0.5], [9.9, 0.1], [10.2, -0.5], [4.0, 0.0]])
    position = torch.tensor([[[0.0, 0.0, 2.0]], *[[[x, y, 2.0]] for x, y in points]])
    still = torch.zeros_like(position)
    actions, target = torch.zeros(5, 1, 3), torch.tensor([1e5, 0.0, 2.0]).expand_as(position)
    attitude = torch.zeros(5, 1, 4)

    def loss(place: Any) -> Any:
        return task.loss(StateWindow(place, still, attitude, still, actions, target, still))

    place = position.clone().requires_grad_()
    loss(place).sum().backward()
    for axis in (0, 1):
        step = torch.zeros(3)
        step[axis] = 2e-3
        above, below = loss(position + step), loss(position - step)
        slope = (above - below) / 4e-3
        torch.testing.assert_close(place.grad[1:, :, axis], slope, rtol=2e-2, atol=2e-2)
    assert place.grad[4].abs().max() < 1e-9  # far from the tree


def test_wrong_scenes_and_options_are_refused() -> None:
    free = Scene([GROUND, trunk(10.0, 0.0)], start=START)
    with pytest.raises(ValueError, match="expected one with obstacles, 'scene' has none"):
        pg.ForestFlight(scene=Scene([GROUND], start=START), goal=(5, 0, 2))
    with pytest.raises(ValueError, match=r"goal = \(10.0, 0.2, 2.0\): expected a point.*'trunk'"):
        pg.ForestFlight(scene=free, goal=(10.0, 0.2, 2.0))
    inside = Scene(free.items, start=Start(position=(10.0, 0.1, 2.0)))
    with pytest.raises(ValueError, match=r"start = \(10.0, 0.1, 2.0\): .* in contact with 'trunk'"):
        pg.ForestFlight(scene=inside, goal=(5, 0, 2))
    with pytest.raises(ValueError, match="scene: expected a start"):
        pg.ForestFlight(scene=Scene(free.items), goal=(5, 0, 2))
    with pytest.raises(ValueError, match="goal: expected"):
        pg.ForestFlight(scene=free)
    with pytest.raises(ValueError, match="arrival = 3: expected less than distance = 2 m"):
        pg.ForestFlight(arrival=3.0, distance=2.0)
    with pytest.raises(ValueError, match=r"density = .*: expected at least one tree"):
        pg.make_vec(pg.ForestFlight, 1, density=1e-9)
    with pytest.raises(ValueError, match="expected none without a scene"):
        pg.ForestFlight(goal=(5, 0, 2))
    with pytest.raises(ValueError, match="'goal_velocity': expected a task with a set speed"):
        pg.make_vec(pg.Hover, 1, action="goal_velocity")
    with pytest.raises(ValueError, match="that divide depth_size"):
        pg.make_vec(pg.ForestFlight, 1, observation="depth", depth_pool=(3, 1))
    with pytest.raises(TypeError, match="outer_loops: there is no 'tilt_limits'"):
        pg.make_vec(pg.ForestFlight, 1, action="velocity", outer_loops={"tilt_limits": 0.9})
    with pytest.raises(ValueError, match="no effect with 'rate_thrust'"):
        pg.make_vec(pg.ForestFlight, 1, outer_loops={"tilt_limit": 0.9})


def test_options_of_forests_are_refused_with_a_scene() -> None:
    free = Scene([GROUND, trunk(10.0, 2.0)], start=START)
    common: dict[str, Any] = {"scene": free, "goal": (20.0, 0.0, 2.0)}
    options: dict[str, Any] = {
        "density": 0.07,
        "distance": 30.0,
        "trunk_radius": (0.1, 0.2),
    }
    for name, value in options.items():
        with pytest.raises(ValueError, match=rf"^{name} = .*: expected none with a scene"):
            pg.ForestFlight(**common, **{name: value})
    radius: Any
    for radius in ((0.15, 0.4), [0.15, 0.4], np.array([0.15, 0.4])):
        pg.ForestFlight(**common, density=[0.05], trunk_radius=radius)  # the defaults
    wrong: Any
    for wrong in (0.3, [0.3], [0.1, np.nan]):
        with pytest.raises(ValueError, match="trunk_radius: expected"):
            pg.ForestFlight(trunk_radius=wrong)


def test_a_scene_replaces_the_options_of_forests_of_a_policy() -> None:
    from propwash.gym import _options
    from propwash.gym.policy import describe

    free = Scene([GROUND, trunk(10.0, 2.0)], start=START)
    described = describe("forest", {"density": 0.07, "flights": 6, "speed": 4.0})
    envs: Any = described.make_vec(2, scene=free, goal=(20.0, 0.0, 2.0))
    assert envs.task.scenery(0) is free
    assert envs.task.speed == (4.0,)
    changes = {"action": "rate_thrust", "max_episode_steps": 5}
    before = {"yaw_mode": "velocity", "episode_seconds": 3.0, "density": 0.07}
    assert _options.merged(pg.ForestFlight, before, changes) == {"density": 0.07, **changes}
    assert _options.merged(pg.ForestFlight, before, {"scene": None})["density"] == 0.07


def test_forests_without_a_free_place_for_the_start_are_refused() -> None:
    with pytest.raises(ValueError, match=r"density = .*: expected starts and goals without conta"):
        pg.make_vec(pg.ForestFlight, 4, density=8.0, distance=10.0)


def test_starts_are_found_in_dense_forests_where_drawn_places_touch_trees() -> None:
    envs = pg.make_vec(pg.ForestFlight, 120, density=1.3, distance=10.0, flights=60)
    task: Any = envs._engine.task
    for _ in range(4):
        place = envs._engine.state.position
        assert (task.nearest(place)[0] > task.radius).all()
        assert (task.nearest(task.target(envs._engine.state))[0] > task.radius).all()
        envs._engine.restart(np.ones(120, dtype=np.bool_))


@pytest.mark.parametrize(("name", "goal", "spread"), [("walls", 20, 30), ("aisles", 18, 1.5)])
def test_scenes_by_name_are_new_for_each_group_of_environments(
    name: str, goal: float, spread: float
) -> None:
    options: dict[str, Any] = {"scene": name, "goal": (goal, 0.0, 1.5), "spread": spread}
    envs = pg.make_vec(pg.ForestFlight, 9, flights=3, forest_seed=5, **options)
    task: Any = envs._engine.task
    scenes = [task.scenery(row) for row in range(9)]
    for k in range(3):
        assert scenes[3 * k] is scenes[3 * k + 2]
        assert scenes[3 * k].items == Scene.load(name, 5 + k).items
    place, target = envs._engine.state.position, task.target(envs._engine.state)
    np.testing.assert_allclose(place[:, 1], target[:, 1], atol=1e-6)  # starts and goals in pairs
    assert len(np.unique(place[:, 1])) == 9
    assert np.abs(place[:, 1]).max() <= 0.5 * spread
    assert (task.nearest(place)[0] > task.radius).all()


def test_sensors_observe_a_scene_only_if_it_is_that_of_all_environments() -> None:
    def width(scene: Any) -> int:
        options: dict[str, Any] = {"scene": scene, "goal": (18.0, 0.0, 1.5)}
        envs = pg.make_vec(pg.ForestFlight, 2, flights=1, observation="sensors", **options)
        return int(envs.reset()[0].shape[1])

    assert width(Scene.load("aisles")) == width("aisles") + 1  # the range


def test_wrong_goals_and_spreads_of_scenes_are_refused() -> None:
    def made(**options: Any) -> Any:
        return pg.make_vec(pg.ForestFlight, 2, **{"scene": "walls", **options})

    with pytest.raises(ValueError, match=r"goal = \(20.0, 0.0, 0.0\): .* in contact with 'ground'"):
        made(goal=(20, 0, 0), spread=30)
    in_trunk = Scene([trunk(20.0, 0.0), GROUND], start=START)
    with pytest.raises(ValueError, match=r"goal = \(20.0, 0.0, 0.1\): .* in contact with 'ground'"):
        made(scene=in_trunk, goal=(20, 0, 0.1), spread=30)
    with pytest.raises(ValueError, match=r"expected more than arrival = 2 m .* got 1 m"):
        made(goal=(-19, 0, 2))
    with pytest.raises(ValueError, match=r"spread = 3: expected 0 m, as the goal is above"):
        made(goal=(-20, 0, 5), spread=3)
    with pytest.raises(ValueError, match=r"spread: expected a number >= 0 \[m\], got -1"):
        made(goal=(20, 0, 2), spread=-1)
    with pytest.raises(ValueError, match=r"spread = 3: expected none without a scene"):
        made(scene=None, spread=3)
    blocked = Scene([GROUND, trunk(20.0, 0.0, 3.0)], start=START)
    with pytest.raises(ValueError, match=r"spread = 2: expected starts and goals without contact"):
        made(scene=blocked, goal=(20, 0, 2), spread=2)


def test_the_heading_is_that_of_the_commanded_velocity() -> None:
    def yaw(action: Any, **options: Any) -> float:
        scene = Scene([GROUND, trunk(10.0, 2.0)], start=START)
        envs = pg.make_vec(
            pg.ForestFlight,
            1,
            scene=scene,
            goal=(0.0, 20.0, 2.0),
            speed=4.0,
            action="goal_velocity",
            **options,
        )
        command: Any = envs._engine.actions.command(np.array([action], np.float32))
        return float(np.degrees(command.yaw[0])) - 90.0

    assert yaw([0.4, 0.4, 0.0]) == pytest.approx(0.0, abs=1e-4)
    following: dict[str, Any] = {"yaw_mode": "velocity"}
    assert yaw([0.0, 0.0, 1.0], **following) == pytest.approx(0.0, abs=1e-4)
    aside = yaw([0.4, 0.4, 0.0], **following)
    assert aside == pytest.approx(np.degrees(np.arctan2(2.0, 6.0)), abs=1e-3)
    braking = yaw([-1.0, -0.4, 0.0], **following)  # 1 m/s backwards
    assert braking == pytest.approx(-np.degrees(np.arctan2(2.0, 4.0)), abs=1e-3)
    with pytest.raises(ValueError, match="yaw_mode = 'velocity': expected action='goal_velocity'"):
        pg.make_vec(pg.ForestFlight, 1, yaw_mode="velocity")


def test_the_past_is_that_of_the_observation_before_and_of_the_last_action() -> None:
    common: dict[str, Any] = {"action": "goal_velocity", "substeps": 64}
    envs = pg.make_vec(pg.ForestFlight, 3, past=True, **common)
    before = envs.reset(seed=1)[0].copy()
    np.testing.assert_allclose(before[:, 11:16], before[:, 3:8], atol=1e-6)
    np.testing.assert_array_equal(before[:, 16:], 0.0)
    for sideways in (0.3, -0.2):
        action = np.full((3, 3), sideways, np.float32)
        now = envs.step(action)[0].copy()
        np.testing.assert_allclose(now[:, 11:16], before[:, 3:8], atol=1e-6)
        np.testing.assert_array_equal(now[:, 16:], action)
        assert (np.abs(now[:, 3:8] - before[:, 3:8]).max(axis=1) > 0.01).all()
        before = now
    usual = pg.make_vec(pg.ForestFlight, 3, **common).reset(seed=1)[0]
    np.testing.assert_array_equal(usual, envs.reset(seed=1)[0][:, :11])


def test_the_plotted_tradeoff_is_that_of_the_measures() -> None:
    pytest.importorskip("matplotlib")
    from propwash.cli import _training_curve

    task = pg.ForestFlight(speed=(3.0, 5.0))
    measured = {
        "arrived [%]": 80.0,
        "arrived, at 3 m/s set [%]": 90.0,
        "speed after 2 s, at 3 m/s set, mean [m/s]": 2.9,
        "arrived, at 5 m/s set [%]": 0.0,  # without a speed
    }
    assert task.tradeoff(measured) == ("flown speed [m/s]", "arrived [%]", [(2.9, 90.0)])
    assert pg.Hover().tradeoff({"success [%]": 1.0})[2] == []
    lines = {"seed 1": [(5.0, 80.0), (3.0, 90.0)], "straight flight": [(3.0, 20.0)]}
    figure = _training_curve.tradeoff_figure(("speed [m/s]", "arrived [%]"), lines, "forest")
    plotted = figure.axes[0].get_lines()
    assert [each.get_label() for each in plotted] == list(lines)
    np.testing.assert_array_equal(plotted[0].get_xydata(), [(3.0, 90.0), (5.0, 80.0)])


def test_bptt_refuses_what_it_cannot_differentiate() -> None:
    pytest.importorskip("torch")
    from propwash.gym import bptt, recipes

    args = bptt.BpttArgs(num_steps=4)
    with pytest.raises(ValueError, match="expected one with a loss for gradients"):
        bptt.BPTT(pg.make_vec(pg.Hover, 2, noise=False), args, 1)
    with pytest.raises(ValueError, match=r"^noise: expected False"):
        bptt.BPTT(pg.make_vec(pg.ForestFlight, 2), args, 1)
    privileged = pg.make_vec(pg.ForestFlight, 2, noise=False, privileged=["state"])
    with pytest.raises(ValueError, match=r"^privileged: expected False.*'state'"):
        bptt.BPTT(privileged, args, 1)
    for observation in ("state", ["state", "sensors"]):
        with pytest.raises(ValueError, match=r"observation = .*: expected one with 'depth'"):
            recipes.recipe("forest", observation, method="bptt")
    with pytest.raises(ValueError, match="--method bptt: expected forest or a task with"):
        recipes.recipe("hover", method="bptt")


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda window: window.position.sum(-1), r"\(5, 2\)"),
        (lambda window: window.position[1:].detach().sum(-1), r"\(4, 2\) without one"),
        (lambda window: window.position.sum(), r"\(\)"),
    ],
)
def test_a_loss_of_another_form_is_refused(change: Any, got: str) -> None:
    pytest.importorskip("torch")
    from propwash.gym import bptt

    class Wrong(pg.ForestFlight):
        def loss(self, window: Any) -> Any:
            return change(window)

    learner = bptt.BPTT(pg.make_vec(Wrong, 2, noise=False), bptt.BpttArgs(num_steps=4), 1)
    expected = rf"Wrong.loss: expected a tensor \(T, n\) = \(4, 2\) with a gradient, got {got}$"
    with pytest.raises(ValueError, match=expected):
        learner.iterate()


def test_depth_is_mentioned_only_to_policies_that_observe_it() -> None:
    pytest.importorskip("onnxruntime")
    from propwash.gym.policy import Policy

    hover = Policy.load("hover")
    with pytest.raises(ValueError, match=r"got nan in column 0 of row 0$"):
        hover.act(np.full((1, hover.observation_size), np.nan))


def test_films_from_on_board_show_the_same_depth_for_each_type() -> None:
    pytest.importorskip("matplotlib")
    from propwash.cli import _flight_video

    def film(**options: Any) -> Any:
        scene = Scene([GROUND, trunk(10.0, 2.0)], start=START)
        common: dict[str, Any] = {"action": "goal_velocity", "substeps": 64, "noise": False}
        common |= {"observation": "depth", "depth_near": 0.2, "scene": scene, "speed": 4.0}
        envs = pg.make_vec(pg.ForestFlight, 1, goal=(20.0, 0.0, 2.0), **common, **options)
        result = evaluate(lambda seen: np.zeros((1, 3), np.float32), envs, 0)
        return next(iter(_flight_video.video(result, envs, "forest")))

    plain = film()
    assert np.ptp(plain) > 100
    for options in ({"depth_dtype": "uint8"}, {"depth_noise": 0.3}, {"depth_delay": 2}):
        np.testing.assert_array_equal(film(**options), plain)


def test_films_of_other_tasks_with_depth_show_the_flights() -> None:
    pytest.importorskip("matplotlib")
    from propwash.cli import _flight_video, _onboard_video

    options: dict[str, Any] = {"observation": "depth", "episode_seconds": 0.5}
    envs = pg.make_vec(pg.Hover, 1, scene="warehouse", **options)
    result = evaluate(lambda seen: np.zeros((1, 4), np.float32), envs, 0)
    image = next(iter(_flight_video.video(result, envs, "hover")))
    onboard = next(iter(_onboard_video.video(result, envs, "hover", 25.0)))
    assert image.shape != onboard.shape


def trainer(seed: int = 1, envs: int = 48, **args: Any) -> Any:
    torch = pytest.importorskip("torch")
    from propwash.gym import bptt

    torch.set_num_threads(1)
    made = pg.make_vec(pg.ForestFlight, envs, copy=False, **{**bptt.FOREST, **bptt.COARSE})
    return bptt.BPTT(made, bptt.BpttArgs(**args), seed)


def test_training_continues_bit_identically_from_its_state() -> None:
    def weights(learner: Any) -> list[bytes]:
        return [each.detach().numpy().tobytes() for each in learner.parameters]

    args: dict[str, Any] = {"num_steps": 6, "restart_every": 2, "scale_iterations": 3}
    whole = trainer(envs=12, **args)
    for _ in range(2):
        whole.iterate()
    state = copy.deepcopy(whole.state_dict())
    part = trainer(envs=12, **args)
    part.load_state_dict(state)
    for learner in (whole, part):
        for _ in range(3):
            learner.iterate()
    assert weights(whole) == weights(part)


@pytest.mark.slow
def test_the_lesson_reaches_its_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m propwash train forest --seed 1`, whose figures docs/forest.md states."""
    pytest.importorskip("onnxruntime")
    from propwash.cli import main

    folder = tmp_path / "forest"
    main.main(["train", "forest", "--seed", "1", "--out", str(folder)])
    printed = capsys.readouterr().out
    arrived = re.findall(r"arrived, at (\d) m/s set \[%\] +([\d.]+)", printed)
    trained, straight = arrived[:3], arrived[3:]
    assert [speed for speed, _ in arrived] == ["3", "5", "7"] * 2
    for (_, percent), least in zip(trained, LEAST, strict=True):
        assert float(percent) > least
    assert all(float(percent) < 35.0 for _, percent in straight)
    assert (folder / "policy.onnx").exists()


def test_a_full_training_has_the_larger_network_and_keeps_it_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    from propwash.cli import main
    from propwash.gym import policy, recipes

    few = dataclasses.replace(recipes.RECIPES["forest"], episodes=(3, 3))
    monkeypatch.setitem(recipes.RECIPES, "forest", few)
    usual, larger = (recipes.recipe("forest", method="bptt", larger=x) for x in (False, True))
    small = ["--set", "num_envs=12", "--set", "num_steps=6", "--option", "episode_seconds=2"]
    train = ["train", "forest", *small, "--out", str(tmp_path), "--steps"]
    assert main.main([*train, "72", "--full"]) == 0
    assert main.main([*train, "144", "--resume"]) == 0
    assert "144 steps" in capsys.readouterr().out
    saved = policy.Policy.load(tmp_path / "policy.onnx")
    assert saved.description.training["larger"]
    assert saved.memory_size == larger.args.memory > usual.args.memory
    assert list(saved.description.options["depth_size"]) == larger.options["depth_size"]
    assert larger.steps == larger.args.decay_steps > usual.steps


def test_restarts_of_a_training_use_sets_of_forests_in_turn() -> None:
    learner = trainer(envs=12, num_steps=2, restart_every=1, scene_sets=2)
    task = learner.engine.task
    counted = []
    for _ in range(3):
        learner.iterate()
        counted.append([scene.items for scene in task._scenes])
        assert (task.nearest(learner.engine.state.position)[0] > 0.5).all()
    assert counted[0] == counted[2]
    assert not any(each in counted[1] for each in counted[0])


def test_a_training_of_seconds_arrives_more_often_than_a_straight_flight(tmp_path: Path) -> None:
    from propwash.gym import bptt, policy

    pytest.importorskip("onnxruntime")
    learner = trainer(num_steps=20, decay_steps=57_600)
    while learner.global_step < 57_600:
        learner.iterate()
    description = policy.describe("forest", {**bptt.FOREST, "speed": 4.0})
    policy.save(learner.policy, tmp_path / "policy.onnx", description)
    loaded = policy.Policy.load(tmp_path / "policy.onnx")
    envs = loaded.make_vec(60, copy=False)
    arrived = np.mean(evaluate(loaded, envs, 5).infos["success"])
    straight = evaluate(lambda seen: np.zeros((60, 3), np.float32), envs, 5)
    assert arrived > np.mean(straight.infos["success"]) + 0.2
    images = np.full((1, loaded.observation_size), 0.1, np.float32)
    images[0, 7] = np.nan
    with pytest.raises(ValueError, match="expected finite numbers, got nan in column 7 of row 0"):
        policy.Policy.load(tmp_path / "policy.onnx").act(images)
