"""Several vehicles in one scene: collisions, neighbours, downwash, tasks, PettingZoo."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", exc_type=ImportError)

import propwash.gym as pg
from gym_helpers import VARIED, idle
from gymnasium.error import ResetNeeded
from helpers import code_blocks, run_in_order
from propwash.gym import multi

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gym-multi.md"

KINDS: list[type[multi.MultiTask]] = [multi.Formation, multi.MultiRace]


class Gathering(multi.MultiTask):
    """Vehicles in free flight, at places that a test sets; ends by a collision."""

    episode_seconds = 100.0

    def reward(self, state: Any) -> Any:
        return np.zeros(state.size)

    def terminated(self, state: Any) -> Any:
        return state.collided


def gathering(vehicles: int, num_envs: int = 1, **options: Any) -> multi.FleetParallelVectorEnv:
    options = {"noise": False, "autoreset_mode": "DISABLED", **options}
    envs = multi.make_parallel_vec(Gathering, num_envs, vehicles=vehicles, **options)
    envs.reset(seed=1)
    return envs


def placed(envs: multi.FleetParallelVectorEnv, position: Any, velocity: Any = 0.0) -> Any:
    """Sets positions and velocities (V, 3) in all scenes, and returns the observations."""
    shape = (envs.num_envs, envs.num_vehicles, 3)
    envs.set_state(
        {"position": np.broadcast_to(position, shape), "velocity": np.broadcast_to(velocity, shape)}
    )
    return envs.observe()


def random_actions(envs: Any, seed: int, scale: float = 0.3) -> Any:
    shape = envs.action_space.shape
    return np.random.default_rng(seed).uniform(-scale, scale, shape).astype(np.float32)


# --- collisions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_vehicles_collide_at_the_distance_of_two_radii(radius: float) -> None:
    envs = gathering(2, radius=radius)
    speed = 2.0
    placed(envs, [[-1.0, 0, 0], [1.0, 0, 0]], [[speed, 0, 0], [-speed, 0, 0]])
    hover = idle(envs)
    apart = [2.0]
    while envs.active.all():
        *_, terminated, _, _ = envs.step(hover)
        position = envs.state["position"][0]
        apart.append(float(np.linalg.norm(position[1] - position[0])))
    assert terminated.all()
    assert apart[-1] < 2 * radius <= apart[-2]


def test_fast_vehicles_do_not_pass_through_each_other() -> None:
    # 0.4 m in a step, which begins and ends beyond two radii of 0.05 m
    envs = gathering(2, radius=0.05)
    across = 20.0 * envs.period
    for offset, hits in ((0.09, True), (0.11, False)):
        envs.reset()
        placed(envs, [[-across, 0, 0], [across, offset, 0]], [[40.0, 0, 0], [-40.0, 0, 0]])
        actions = idle(envs)
        *_, terminated, _, _ = envs.step(actions)
        assert np.abs(envs.state["position"][0, :, 0]).min() > 0.15
        assert terminated.tolist() == [[hits, hits]]


def test_only_vehicles_of_one_scene_collide_and_the_third_flies_on() -> None:
    envs = gathering(3, num_envs=2, radius=0.2)
    touching = [[0, 0, 0], [0.3, 0, 0], [2, 0, 0]]
    apart = [[0, 0, 0], [1.0, 0, 0], [2, 0, 0]]  # at places of the other scene
    placed(envs, [touching, apart])
    actions = idle(envs)
    seen, reward, terminated, truncated, _ = envs.step(actions)
    assert terminated.tolist() == [[True, True, False], [False] * 3]
    assert envs.active.tolist() == [[False, False, True], [True] * 3]
    actions[0, :2] = np.nan  # of absent vehicles
    seen, reward, terminated, truncated, _ = envs.step(actions)
    assert not terminated.any()
    assert not seen[0, :2].any()
    assert not reward[0, :2].any()
    assert not seen[0, 2, -14:].any(), "absent vehicles are still seen"
    assert seen[0, 2].any()
    assert not truncated.any()


def test_a_reset_is_not_a_collision() -> None:
    """The path line begins anew where vehicles change places."""
    envs = gathering(2, radius=0.2)
    placed(envs, [[0.0, 0, 0], [1.0, 0, 0]])
    placed(envs, [[1.0, 0, 0], [0.0, 0, 0]])
    *_, terminated, _, _ = envs.step(idle(envs))
    assert not terminated.any()


# --- neighbours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["world", "body"])
def test_neighbours_are_the_nearest_in_order(frame: str) -> None:
    envs = gathering(5, num_envs=3, neighbours=3, frame=frame)
    rng = np.random.default_rng(2)
    position, velocity = rng.normal(size=(2, 3, 5, 3)).astype(np.float32)
    attitude = rng.normal(size=(3, 5, 4))
    attitude /= np.linalg.norm(attitude, axis=2, keepdims=True)
    envs.set_state({"position": position, "velocity": velocity, "attitude": attitude})
    seen = envs.observe()[..., -21:].reshape(3, 5, 3, 7)
    rotation = envs._engine.state.rotation.reshape(3, 5, 3, 3)
    for scene in range(3):
        for i in range(5):
            offset, speed = (part[scene] - part[scene, i] for part in (position, velocity))
            order = np.argsort(np.linalg.norm(offset, axis=1))[1:4]
            turned = rotation[scene, i] if frame == "body" else np.eye(3)
            expected = np.hstack([offset[order] @ turned, speed[order] @ turned, np.ones((3, 1))])
            np.testing.assert_allclose(seen[scene, i], expected, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_order_of_the_vehicles(kind: Any) -> None:
    """Without noise, vehicles that exchange their rows exchange their results, bit for bit."""
    order = np.array([2, 0, 3, 1])
    options: dict[str, Any] = {"noise": False, "vehicles": 4, "downwash": multi.Downwash()}
    one, other = (multi.make_parallel_vec(kind, 1, **options) for _ in range(2))
    for envs in (one, other):
        envs.reset(seed=3)
    state = one.state
    other.set_state({name: part[:, order] for name, part in state.items()})
    one.set_state(state)
    if kind is multi.Formation:
        task: Any = other.task
        task._target = task._target[order]
    for step in range(60):
        actions = random_actions(one, step, 0.1)
        mine, theirs = one.step(actions), other.step(actions[:, order])
        for part, permuted in zip(mine[:4], theirs[:4], strict=True):
            np.testing.assert_allclose(part[:, order], permuted, rtol=1e-4, atol=1e-5)


# --- downwash -----------------------------------------------------------------------------------


def test_a_vehicle_in_a_jet_sinks_and_the_one_above_does_not() -> None:
    heights = []
    for downwash in (None, multi.Downwash()):
        envs = gathering(2, downwash=downwash)
        placed(envs, [[0, 0, 1.0], [0, 0, 0]])
        for _ in range(30):
            envs.step(idle(envs))
        heights.append(envs.state["position"][0, :, 2])
    assert heights[1][1] < heights[0][1] - 0.05
    assert heights[1][0] == heights[0][0]


def test_the_force_far_below_agrees_with_identified_coefficients() -> None:
    """Panerati et al. 2021: 2267.18 N (0.0231348 m / 4 z)^2 below a Crazyflie."""
    z = 100.0
    envs = gathering(
        2,
        vehicle="crazyflie",
        downwash=multi.Downwash(rotor_radius=0.0231348),
        max_speed=1.0,
        action="velocity",
    )
    placed(envs, [[0, 0, z], [0, 0, 0]])
    envs.step(idle(envs))
    identified = 2267.18 * (0.0231348 / (4 * z)) ** 2
    assert -envs.fleet.external_force[1, 2] == pytest.approx(identified, rel=0.1)


# --- environments -------------------------------------------------------------------------------


def options_of(kind: Any) -> dict[str, Any]:
    """Short episodes in which some vehicles end before others."""
    seeds = {"course_seed": [1, 2, 3]} if kind is multi.MultiRace else {"bound": 0.6}
    return {"vehicles": 3, "downwash": multi.Downwash(), "max_episode_steps": 40, **VARIED, **seeds}


@pytest.mark.parametrize("kind", KINDS)
def test_many_scenes_are_single_ones_bit_for_bit(kind: Any) -> None:
    pytest.importorskip("pettingzoo")
    options = options_of(kind)
    many = multi.make_parallel_vec(kind, 4, **options)
    singles: list[Any] = [multi.make_parallel(kind, index=i, **options) for i in range(4)]
    first, _ = many.reset(seed=5)
    for i, env in enumerate(singles):
        seen, _ = env.reset(seed=5)
        np.testing.assert_array_equal(np.stack(list(seen.values())), first[i])
    ends = 0
    for step in range(130):
        actions = random_actions(many, step, 0.8)
        before = many.active
        seen, reward, terminated, truncated, infos = many.step(actions)
        for i, env in enumerate(singles):
            present = [n for n, name in enumerate(env.possible_agents) if name in env.agents]
            assert np.flatnonzero(before[i]).tolist() == present
            found = env.step({env.possible_agents[n]: actions[i, n] for n in present})
            over = bool(infos.get("_final_obs", np.zeros(4, bool))[i])
            last = infos["final_obs"][i] if over else seen[i]
            for name, n in zip(found[0], present, strict=True):
                np.testing.assert_array_equal(found[0][name], last[n])
                assert found[1][name] == reward[i, n]
                assert found[2][name] == terminated[i, n]
                assert found[3][name] == truncated[i, n]
            np.testing.assert_array_equal(env.state(), last)
            assert over == (not env.agents)
            if over:
                ends += 1
                first, _ = env.reset()
                np.testing.assert_array_equal(np.stack(list(first.values())), seen[i])
    assert ends >= 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_continues_bit_for_bit(kind: Any) -> None:
    envs, other = (multi.make_parallel_vec(kind, 3, **options_of(kind)) for _ in range(2))
    envs.reset(seed=2)
    other.reset(seed=9)
    for step in range(25):
        envs.step(random_actions(envs, step, 0.9))
    other.restore(pickle.loads(pickle.dumps(envs.snapshot())))
    assert np.array_equal(envs.active, other.active)
    for step in range(60):
        actions = random_actions(envs, step, 0.9)
        for mine, theirs in zip(envs.step(actions)[:4], other.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_determines_an_episode_after_any_other(kind: Any) -> None:
    options = {**options_of(kind), "observation": "sensors"}
    envs = multi.make_parallel_vec(kind, 2, **options)
    first, _ = envs.reset(seed=1)
    second, *_ = envs.step(idle(envs))
    state = envs.state["position"].copy()
    state[..., :2] = 0.0
    state[..., 2] += [2.0, 3.0, 4.0]  # one above the other
    envs.set_state({"position": state})
    for step in range(5):
        envs.step(random_actions(envs, step))
    assert envs.fleet.external_force.any()
    np.testing.assert_array_equal(envs.reset(seed=1)[0], first)
    np.testing.assert_array_equal(envs.step(idle(envs))[0], second)


def test_disabled_autoreset_waits_for_a_reset_of_the_scene() -> None:
    envs = gathering(2, num_envs=2, max_episode_steps=3)
    placed(envs, [[0, 0, 0], [1.0, 0, 0]])
    hover = idle(envs)
    for _ in range(3):
        *_, truncated, _ = envs.step(hover)
    assert truncated.all()
    with pytest.raises(ResetNeeded, match="scenes 0, 1: expected reset"):
        envs.step(hover)
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.active.tolist() == [[True, True], [False, False]]
    with pytest.raises(ResetNeeded, match="scenes 1: expected"):
        envs.step(hover)


@pytest.mark.parametrize("kind", KINDS)
def test_pettingzoo_accepts_the_environments(kind: Any) -> None:
    test = pytest.importorskip("pettingzoo.test")

    def made() -> Any:
        return multi.make_parallel(kind, vehicles=3, max_episode_steps=50)

    test.parallel_api_test(made(), num_cycles=200)
    test.parallel_seed_test(made, num_cycles=60)


def test_pettingzoo_agents_leave_and_their_infos_are_their_own() -> None:
    pytest.importorskip("pettingzoo")
    env = multi.make_parallel(multi.MultiRace, vehicles=3, noise=False, gates=["Gate10"], grid=2.0)
    env.reset(seed=1)
    names = list(env.agents)
    position = env.scenes.state["position"].copy()
    position[0, 1] = position[0, 0] + [0.2, 0, 0]
    env.scenes.set_state({"position": position})
    _, reward, terminated, _, infos = env.step({name: np.zeros(4) for name in names})
    assert [terminated[name] for name in names] == [True, True, False]
    assert env.agents == names[2:]
    assert [infos[name].get("collision") for name in names] == [True, True, None]
    assert reward[names[0]] < -9 < reward[names[2]]
    with pytest.raises(ValueError, match="expected one for each of vehicle_2, got vehicle_0"):
        env.step({names[0]: np.zeros(4)})
    with pytest.raises(ValueError, match=r"actions\['vehicle_2'\]: expected shape \(4,\)"):
        env.step({names[2]: np.zeros(3)})


# --- tasks --------------------------------------------------------------------------------------


def test_formation_rewards_the_scene_and_a_collision_ends_it() -> None:
    envs = multi.make_parallel_vec(multi.Formation, 2, vehicles=4, autoreset_mode="DISABLED")
    envs.reset(seed=1)
    task: Any = envs.task
    slots = task._target.reshape(2, 4, 3)
    side = np.linalg.norm(slots[:, 1] - slots[:, 0], axis=1)
    np.testing.assert_allclose(side, task.spacing, rtol=1e-5)
    envs.set_state({"position": slots, "velocity": np.zeros(3), "attitude": [1.0, 0, 0, 0]})
    hover = idle(envs)
    _, best, terminated, _, _ = envs.step(hover)
    assert best.min() > 1.1
    assert np.ptp(best, axis=1).max() == 0.0
    position = envs.state["position"].copy()
    position[1, 2] = position[1, 3] + [0.0, 0.0, 0.2]
    envs.set_state({"position": position})
    _, reward, terminated, _, infos = envs.step(hover)
    assert terminated.tolist() == [[False] * 4, [True] * 4]
    assert infos["collision"].tolist() == [[False] * 4, [False, False, True, True]]
    assert not infos["success"][1].any()
    assert reward[1].max() < -8.0
    assert np.ptp(reward[1]) == 0.0


def test_vehicles_exchange_slots_with_the_opposite() -> None:
    for exchange, expected in ((True, 2.0), (False, 0.0)):
        envs = multi.make_parallel_vec(
            multi.Formation, 8, vehicles=4, exchange=exchange, position=0.0
        )
        envs.reset(seed=4)
        task: Any = envs.task
        moved = np.linalg.norm(task._target - envs.state["position"].reshape(-1, 3), axis=1)
        np.testing.assert_allclose(moved, expected * task._circle(), atol=1e-5)


def test_progress_and_lead_of_a_race() -> None:
    """Reward = that of Race + lead x increase of the lead; without rivals it is that of Race."""
    weights = {"lead": 0.7}
    options: dict[str, Any] = {"noise": False, "autoreset_mode": "SAME_STEP"}
    alone = pg.make_vec(pg.Race, 2, weights=None, **options)
    envs = multi.make_parallel_vec(multi.MultiRace, 1, vehicles=2, weights=weights, **options)
    envs.reset(seed=1)
    alone.reset(seed=1)
    state = {name: part[0] for name, part in envs.state.items()}
    alone.set_state(state)
    envs.set_state(envs.state)
    task: Any = envs.task
    before = task.progress.copy()
    for step in range(50):
        actions = random_actions(envs, step, 0.2)
        _, reward, *_ = envs.step(actions)
        _, expected, *_ = alone.step(actions[0])
        gained = task.progress - before
        before = task.progress.copy()
        np.testing.assert_allclose(
            reward[0] - expected, 0.7 * (gained - gained[::-1]), rtol=1e-3, atol=1e-5
        )
        assert reward[0].sum() == pytest.approx(expected.sum(), abs=1e-4), "not zero-sum"


def test_places_of_a_race() -> None:
    envs = multi.make_parallel_vec(
        multi.MultiRace, 1, vehicles=3, gates=["Gate10"], autoreset_mode="DISABLED", noise=False
    )
    envs.reset(seed=1)
    course = pg.Race(gates=["Gate10"]).courses[0]
    centre, along = course.centre[0], course.rotation[0, :, 0]
    hover = idle(envs)
    places = np.ones((1, 3))
    for winner in (1, 2, 0):  # through the gate, one after the other
        position, velocity = envs.state["position"].copy(), envs.state["velocity"].copy()
        position[0, winner], velocity[0, winner] = centre - 0.1 * along, 20.0 * along
        envs.set_state({"position": position, "velocity": velocity})
        _, reward, terminated, _, infos = envs.step(hover)
        assert infos["_place"].tolist() == [[n == winner for n in range(3)]]
        assert infos["finished"][0, winner]
        assert reward[0, winner] > 10.0
        places[0, winner] = infos["place"][0, winner]
    assert places.tolist() == [[3, 1, 2]]
    assert terminated[0].any()


def test_racers_start_abreast_in_changing_order() -> None:
    envs = multi.make_parallel_vec(multi.MultiRace, 64, vehicles=3, spread=0.0, grid=1.5)
    envs.reset(seed=1)
    start = envs.state["position"]
    np.testing.assert_allclose(start.mean(axis=1) - start[0].mean(axis=0), 0.0, atol=1e-4)
    first = np.linalg.norm(start[:, 0] - start.mean(axis=1), axis=1)
    assert 0.1 < np.mean(first < 0.1) < 0.6


# --- rendering and errors -----------------------------------------------------------------------


def test_frames_show_the_other_vehicles() -> None:
    frames = []
    for others in (1.0, 500.0):
        envs = gathering(2, num_envs=2, render_mode="rgb_array", render_size=(160, 120))
        placed(envs, [[0, 0, 0], [others, 0.2, 0]])
        found = envs.render()
        assert found is not None
        assert len(found) == 2
        frames.append(found[0].astype(int))
    assert np.abs(frames[0] - frames[1]).max() > 100


def test_wrong_arguments_are_refused() -> None:
    race: Any = multi.MultiRace()
    with pytest.raises(ValueError, match=r"a MultiRace of 2; use propwash\.gym\.multi"):
        pg.FleetVectorEnv(race, 3)
    with pytest.raises(TypeError, match="task: expected a MultiTask, got <"):
        multi.FleetParallelVectorEnv(pg.Hover())  # type: ignore[arg-type]
    for arguments, message in (
        ({"vehicles": 0}, "vehicles: expected a whole number from 1"),
        ({"neighbours": 4}, "neighbours: expected a whole number from 0 to 3, got 4"),
        ({"radius": -1.0}, "radius"),
        ({"downwash": True}, "downwash: expected a Downwash or None, got True"),
        ({"spacing": 0.5}, "spacing = 0.5: expected more than"),
        ({"weights": {"nearnes": 1.0}}, "nearness"),
        ({"autoreset_mode": "NEXT_STEP"}, "expected SAME_STEP or DISABLED"),
        ({"spacin": 1.0}, "spacing"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            multi.make_parallel_vec(multi.Formation, 2, **arguments)
    with pytest.raises(ValueError, match=r"grid = 0\.5: expected more than"):
        multi.MultiRace(grid=0.5)
    with pytest.raises(ValueError, match="coefficient"):
        multi.Downwash(coefficient=-1.0)
    envs = multi.make_parallel_vec(multi.Formation, 2, vehicles=3)
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros((2, 3, 4)))
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4\), got"):
        envs.step(np.zeros((6, 4)))


def test_a_parallel_environment_reports_what_it_needs() -> None:
    pytest.importorskip("pettingzoo")
    env = multi.make_parallel(multi.Formation, vehicles=2, max_episode_steps=2)
    assert env.agents == []
    for call in (lambda: env.step({}), env.state):
        with pytest.raises(ResetNeeded, match=r"expected reset\(\) before"):
            call()
    env.reset(seed=1)
    for wrong, got in ((None, "None"), ({}, "none"), ({"vehicle_1": 0}, "vehicle_1")):
        with pytest.raises(ValueError, match=f"each of vehicle_0, vehicle_1, got {got}"):
            env.step(wrong)  # type: ignore[arg-type]


def test_the_agents_of_a_restored_scene_are_those_of_the_snapshot() -> None:
    pytest.importorskip("pettingzoo")
    env = multi.make_parallel(multi.Formation, vehicles=2, max_episode_steps=2)
    env.reset(seed=1)
    actions = {name: np.zeros(4, dtype=np.float32) for name in env.agents}
    moment = env.scenes.snapshot()
    first = [env.step(actions)[1] for _ in range(2)]
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="no agent is left"):
        env.step({})
    env.scenes.restore(moment)
    assert env.agents == ["vehicle_0", "vehicle_1"]
    assert [env.step(actions)[1] for _ in range(2)] == first


def test_tensors_have_the_axes_of_the_arrays() -> None:
    pytest.importorskip("torch")
    from propwash.gym.torch_env import TorchVectorEnv

    options = options_of(multi.Formation)
    plain, other = (multi.make_parallel_vec(multi.Formation, 3, **options) for _ in range(2))
    envs = TorchVectorEnv(other)
    plain.reset(seed=1)
    envs.reset(seed=1)
    for step in range(60):
        actions = random_actions(plain, step, 0.9)
        *arrays, infos = plain.step(actions)
        *tensors, found = envs.step(actions)
        for array, tensor in zip(arrays, tensors, strict=True):
            np.testing.assert_array_equal(array, tensor.numpy())
        if "final_obs" in infos:
            over = infos["_final_obs"]
            np.testing.assert_array_equal(infos["final_obs"][over], found["final_obs"][over])


def test_observations_of_several_parts() -> None:
    """Images and privileged columns have the axes (S, V, ...), zero for absent vehicles."""
    pytest.importorskip("pettingzoo")
    options: dict[str, Any] = {"privileged": True, "observation": ["state", "depth"], "vehicles": 2}
    envs = multi.make_parallel_vec(multi.MultiRace, 3, autoreset_mode="DISABLED", **options)
    seen, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(seen)
    assert {name: array.shape[:2] for name, array in seen.items()} == dict.fromkeys(seen, (3, 2))
    position = envs.state["position"].copy()
    position[1, 0, 2] = -50.0  # below the ground
    envs.set_state({"position": position})
    envs.step(idle(envs))
    seen, *_ = envs.step(idle(envs))
    assert envs.active.tolist() == [[True, True], [False, True], [True, True]]
    for array in seen.values():
        assert not array[1, 0].any()
        assert array[1, 1].any()
    env = multi.make_parallel(multi.MultiRace, **options)
    found, _ = env.reset(seed=1)
    assert env.observation_space("vehicle_1").contains(found["vehicle_1"])
    assert env.state_space.contains(env.state())


def test_adapters_for_one_vehicle_refuse_several() -> None:
    pytest.importorskip("stable_baselines3")
    from propwash.gym.adapters.stable_baselines3 import FleetVecEnv

    envs = multi.make_parallel_vec(multi.Formation, 3)
    with pytest.raises(ValueError, match="expected one vehicle in an environment, got 4; use"):
        FleetVecEnv(envs)


@pytest.mark.skipif(not PAGE.exists(), reason="docs/gym-multi.md is missing")
def test_the_code_of_the_page_runs() -> None:
    pytest.importorskip("pettingzoo")
    found = code_blocks(PAGE, "python")
    assert len(found) >= 3
    run_in_order(found, "docs/gym-multi.md")
