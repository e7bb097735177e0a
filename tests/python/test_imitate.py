"""Imitation of a teacher that knows the state, by a student of other observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

import propwash.gym as pg
import torch
from propwash.__main__ import main
from propwash.gym import policy, ppo
from propwash.gym._images import texture_seed
from propwash.gym.evaluation import evaluate, measures
from propwash.gym.imitate import GATES, ImitateArgs, Imitation
from propwash.render import Offscreen, RenderCamera
from propwash.world import Scene, Sphere, Waypoints

IMAGES: dict[str, Any] = {**GATES, "image_size": [8, 6], "course_seed": [1000, 1001]}
TINY: dict[str, Any] = {"num_steps": 4, "rows": 4, "stagger": 3, "hidden": 8, "memory": 8}
HOVER: dict[str, Any] = {"frame": "body", "substeps": 30, "tilt": 0.5}


def flights(envs: Any, act: Any) -> dict[str, float]:
    return measures(envs.task, evaluate(act, envs, 3))


def test_the_teacher_of_gates_flies_perturbed_courses() -> None:
    state = {"observation": "state", "course_seed": list(range(5000, 5100))}
    removed = ("image_tilt", "history")
    options = {name: each for name, each in GATES.items() if name not in removed}
    envs = pg.make_vec(pg.Race, 100, copy=False, **{**options, **state})
    engine: Any = envs._engine
    found = flights(envs, lambda seen: engine.actions.inverse(engine.task.teach(engine.state)))
    assert found["finished [%]"] >= 99.0


def test_heading_velocity_turns_with_the_vehicle() -> None:
    common: dict[str, Any] = {"action": "heading_velocity", "substeps": 96, "noise": False}
    envs = pg.make_vec(pg.Hover, 3, bound=100.0, **common)
    envs.reset(seed=1)
    yaw = np.array([0.0, 1.0, -2.5])
    attitude = np.stack([np.cos(yaw / 2), 0 * yaw, 0 * yaw, np.sin(yaw / 2)], axis=1)
    still = {"velocity": np.zeros(3), "body_rates": np.zeros(3), "position": np.zeros(3)}
    envs.set_state({**still, "attitude": attitude})
    action = np.tile(np.array([0.4, 0.2, 0.1, 0.0], dtype=np.float32), (3, 1))
    command = envs._engine.actions.command(action)
    np.testing.assert_allclose(envs._engine.actions.inverse(command), action, atol=1e-6)
    for _ in range(30):
        envs.step(action)
    c, s = np.cos(yaw), np.sin(yaw)
    expected = np.stack([2.0 * c - 1.0 * s, 2.0 * s + 1.0 * c, 0.0 * c + 0.5], axis=1)
    np.testing.assert_allclose(envs._engine.state.velocity, expected, atol=0.1)


def test_target_velocity_has_the_target_ahead() -> None:
    """Forward flight reaches the target from everywhere, whatever the heading."""
    envs = pg.make_vec(pg.Hover, 40, action="target_velocity", substeps=96, noise=False)
    envs.reset(seed=1)
    place = np.random.default_rng(1).uniform(-5.0, 5.0, (40, 3)) * (1.0, 1.0, 0.0)
    envs.set_state({"position": place, "velocity": np.zeros((40, 3))})
    away = np.linalg.norm(place, axis=1)
    action = np.zeros((40, 4), np.float32)
    actions: Any = envs._engine.actions
    ahead, left = action.copy(), action.copy()
    ahead[:, 0] = left[:, 1] = 0.2
    expected = -place / away[:, None]
    np.testing.assert_allclose(actions.command(ahead).velocity, expected, atol=1e-5)
    sideways = actions.command(left).velocity
    np.testing.assert_allclose((sideways * place).sum(axis=1), 0.0, atol=1e-4)


def test_the_imu_shows_neither_ranges_nor_beacons() -> None:
    envs = pg.make_vec(pg.Race, 2, observation="imu", history=2, noise=False)
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (2, 2 * 6)
    hover = [0, 0, 1, 0, 0, 0]
    np.testing.assert_allclose(seen, np.tile([*hover, *hover], (2, 1)), atol=0.02)


@pytest.mark.parametrize(("kind", "channels"), [("grey", 1), ("rgb", 3)])
def test_images_are_those_of_the_renderer_in_the_course_of_the_row(
    kind: Any, channels: int
) -> None:
    changes = {"image_size": [32, 24], "image_tilt": 30.0, "observation": [kind, "imu"]}
    envs = pg.make_vec(pg.Race, 4, **{**IMAGES, **changes})
    for _ in range(3):
        envs.reset(seed=4)
    seen = envs.observe()[kind]
    assert seen.shape == (4, 24, 32, channels)
    assert seen.dtype == np.uint8
    engine: Any = envs._engine
    mounting = engine.observer.parts[kind].mounting
    for row in range(4):
        scene, state = engine.task.scenery(row), engine.state
        renderer = Offscreen(
            scene, width=32, height=24, vertical_fov_deg=70.0, seed=texture_seed(scene)
        )
        camera = RenderCamera("front", kind, attitude=mounting)
        frame = renderer.render(camera, state.position[row], state.attitude[row])
        differs = frame.images["front"].astype(int).reshape(seen[row].shape) - seen[row]
        assert (differs != 0).mean() < 0.01, "other than by rounding of the pose"
    assert (seen[0] != seen[1]).mean() > 0.05  # other courses have other textures


def test_grey_images_need_a_scene_at_rest() -> None:
    with pytest.raises(ValueError, match="expected a task with a scene for 'grey', Hover has none"):
        pg.make_vec(pg.Hover, 2, observation="grey")
    roll = Waypoints([0.0, 1.0], [[3.0, 0.0, 1.0], [4.0, 0.0, 1.0]])

    class Play(pg.Task):
        scene = Scene([Sphere(name="ball", radius=0.2, motion=roll)], name="play")

    with pytest.raises(ValueError, match="without moving items for 'grey', got 'ball' in 'play'"):
        pg.make_vec(Play, 2, observation="grey")


@pytest.mark.slow
def test_a_student_learns_from_a_policy_of_the_state() -> None:
    pytest.importorskip("onnxruntime")
    envs = pg.make_vec(pg.Hover, 32, copy=False, max_episode_steps=100, **HOVER)
    small: dict[str, Any] = {"memory": 16, "hidden": 32, "num_steps": 8, "rows": 32, "stagger": 20}
    args = ImitateArgs(
        **small, teacher="hover", mix_steps=3_000, learning_rate=4e-3, decay_steps=15_000
    )
    student = Imitation(envs, args, 1)
    while student.global_step < 15_000:
        student.iterate()
    found = flights(pg.make_vec(pg.Hover, 100, copy=False, **HOVER), student.policy)
    assert found["lost [%]"] == 0.0
    assert found["distance at the end, median [m]"] < 0.2


def test_a_window_is_learnt() -> None:
    student = Imitation(
        pg.make_vec(pg.Race, 8, copy=False, privileged=["state"], **IMAGES),
        ImitateArgs(**TINY, convolution=(4,)),
        1,
    )
    student.restart()
    before = student.fly(0.0)
    student.agent.learn_scale(student.seen[:-1].flatten(0, 1))
    losses = [student.learn(before) for _ in range(25)]
    for name in ("loss", "estimate"):
        assert losses[-1][name] < 0.5 * losses[0][name]


def test_the_student_of_images_resumes_bit_identically_and_is_exported(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    args = ImitateArgs(**TINY, convolution=(3, 4), mix_steps=40, restart_every=2)
    runs = [Imitation(pg.make_vec(pg.Race, 6, copy=False, **IMAGES), args, 1) for _ in range(2)]
    for _ in range(4):
        runs[0].iterate()
    for k in range(4):
        if k == 2:
            state = runs[1].state_dict()
            runs[1] = Imitation(pg.make_vec(pg.Race, 6, copy=False, **IMAGES), args, 1)
            runs[1].load_state_dict(state)
        runs[1].iterate()
    for one, other in zip(*(run.agent.parameters() for run in runs), strict=True):
        assert torch.equal(one, other)
    file = tmp_path / "student.onnx"
    policy.save(runs[0].agent, file, policy.describe("race", IMAGES))
    loaded = policy.Policy.load(file)
    envs = loaded.make_vec(4)
    seen, _ = envs.reset(seed=1)
    runs[0].agent.reset()
    for _ in range(3):
        action = loaded.act(seen)
        np.testing.assert_allclose(action, runs[0].agent.act(seen), atol=1e-5)
        seen, *_ = envs.step(action)


def test_the_teacher_acts_where_the_student_differs_for_too_long() -> None:
    args = ImitateArgs(**TINY, convolution=(3,), guard=1e-6, patience=3)
    student = Imitation(pg.make_vec(pg.Race, 5, copy=False, **IMAGES), args, 1)
    student.restart()
    student.waited = torch.tensor([0.0, 1.0, 2.0, 3.0, 0.0])
    student.goes_on[-1, 4] = 0.0
    student.fly(2.0)  # they differ by more than 1e-6 in all steps
    expected = [[0, 0, 1, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]
    assert student.by_teacher.tolist() == expected
    assert student.iterate()["by_teacher"] == 1.0  # at first it does not wait


@pytest.mark.parametrize("action", ["heading_velocity", "target_velocity"])
def test_a_diverged_vehicle_stops_no_training(action: str) -> None:
    options = {**IMAGES, "action": action, "privileged": ["state"]}
    envs = pg.make_vec(pg.Race, 3, copy=False, **options)
    student = Imitation(envs, ImitateArgs(**TINY, convolution=(3,)), 1)
    student.restart()
    envs.set_state({"velocity": [[3e38, 0.0, 3e38], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]})
    losses = student.learn(student.fly(2.0))
    assert student.live[:, 0].min() == 0.0
    assert np.isfinite([*losses.values()]).all()


def test_what_cannot_be_imitated_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    args = ImitateArgs(**TINY)
    with pytest.raises(ValueError, match="teacher: expected a policy of the state for Hover"):
        Imitation(pg.make_vec(pg.Hover, 2), args, 1)
    with pytest.raises(ValueError, match="action: expected 'velocity', 'heading_velocity' or"):
        Imitation(pg.make_vec(pg.Race, 2), args, 1)
    wrong = ImitateArgs(**TINY, teacher="hover")
    with pytest.raises(ValueError, match="a policy with frame = 'world', got 'body'"):
        Imitation(pg.make_vec(pg.Hover, 2), wrong, 1)
    with pytest.raises(ValueError, match="a policy with action = 'velocity', got 'rate_thrust'"):
        Imitation(pg.make_vec(pg.Hover, 2, frame="body", action="velocity"), wrong, 1)
    with pytest.raises(ValueError, match="for 'hover' of 22 numbers"):
        Imitation(pg.make_vec(pg.Race, 2, frame="body", observation="imu"), wrong, 1)
    with pytest.raises(ValueError, match=r"a policy with max_rates = .* got \[8.0, 8.0, 4.0\]"):
        Imitation(pg.make_vec(pg.Hover, 2, frame="body", max_rates=(8, 8, 2)), wrong, 1)
    slow = tmp_path / "slow.onnx"
    agent = ppo.Agent(22, 4, ppo.Args(columns=()), torch.Generator())
    policy.save(agent, slow, policy.describe("hover", {"action": "velocity", "max_speed": 2.0}))
    with pytest.raises(ValueError, match=r"a policy with max_speed = 5.0, got 2.0"):
        Imitation(
            pg.make_vec(pg.Hover, 2, action="velocity"), ImitateArgs(**TINY, teacher=str(slow)), 1
        )


def test_the_command_trains_a_student(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("onnxruntime", "tensorboard", "tqdm", "matplotlib"):
        pytest.importorskip(package)
    small = ["num_envs=8", "num_steps=4", "stagger=2", "rows=4", "convolution=[3]", "memory=8"]
    shape = ["image_size=[8,6]", "episode_seconds=1.0", 'gates=["Gate10"]', "course_seed=[1]"]
    main(
        ["train", "race", "--method", "imitate", "--steps", "64", "--out", str(tmp_path / "out")]
        + [each for one in small for each in ("--set", one)]
        + [each for one in shape for each in ("--option", one)]
    )
    assert "gates passed" in capsys.readouterr().out
    found = policy.Policy.load(tmp_path / "out" / "policy.onnx")
    assert found.description.training["method"] == "imitate"
    assert found.memory_size == 8


@pytest.mark.slow
def test_the_lesson_flies_three_gates_by_grey_images(tmp_path: Path) -> None:
    for package in ("onnxruntime", "tensorboard", "tqdm", "matplotlib"):
        pytest.importorskip(package)
    main(["train", "race", "--method", "imitate", "--seed", "1", "--out", str(tmp_path / "out")])
    found = policy.Policy.load(tmp_path / "out" / "policy.onnx").description.training
    assert found["finished [%]"] >= 85.0
