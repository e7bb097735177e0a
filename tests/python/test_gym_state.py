"""Clocks, states and snapshots of environments."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import propwash as pw
import pytest
from gym_helpers import VARIED, idle

gym = pytest.importorskip("gymnasium")

import propwash.gym as pg  # noqa: E402
from gymnasium.error import ClosedEnvironmentError, ResetNeeded  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from propwash.sensors import Gnss, RangeFinder  # noqa: E402
from propwash.world import Scene  # noqa: E402

TASKS: tuple[type[pg.Task], ...] = (pg.Hover, pg.Track, pg.Race, pg.Land)


def actions_for(env: Any, steps: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (steps, *env.action_space.shape)).astype(np.float32)


# clocks


class Clock(pg.Task):
    """Observes four clocks: two of the task, reset with each episode, and two of the state."""

    episode_seconds: ClassVar[float] = 1e9

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        self.seconds = np.zeros(fleet.size)
        self.updates = np.zeros(fleet.size)

    def reset_state(self, draws: pg.Draws) -> Mapping[str, Any]:
        self.seconds[draws.rows] = 0.0
        self.updates[draws.rows] = 0.0
        return {"position": draws.uniform(-0.1, 0.1, 3)}

    def update(self, state: pg.State) -> None:
        self.seconds += state.period
        self.updates += 1.0

    def observation(self, state: pg.State) -> Any:
        return np.column_stack([self.seconds, state.time, self.updates, state.steps])

    def reward(self, state: pg.State) -> Any:
        return np.zeros(state.size)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_clocks_of_tasks_match_the_state(mode: AutoresetMode) -> None:
    """Zero in the first observation of an episode, k periods after k steps, in every mode."""
    envs = pg.make_vec(Clock, 2, autoreset_mode=mode, max_episode_steps=3)
    observations, _ = envs.reset(seed=0)
    counts = [0]
    assert np.array_equal(observations, np.zeros((2, 4)))
    for _ in range(9):
        observations, _, _, truncated, _ = envs.step(idle(envs))
        if mode is AutoresetMode.DISABLED and truncated.any():
            counts.append(int(observations[0, 3]))
            observations, _ = envs.reset(options={"reset_mask": truncated})
        counts.append(int(observations[0, 3]))
        assert np.array_equal(observations[:, 2], observations[:, 3])
        assert np.allclose(observations[:, :2], observations[:, 3:] * envs.period, rtol=1e-6)
    cycle = [0, 1, 2] if mode is AutoresetMode.SAME_STEP else [0, 1, 2, 3]
    assert counts == [cycle[k % len(cycle)] for k in range(len(counts))]


@pytest.mark.parametrize("substeps", [1, 10, 30, 96])
def test_time_limits_in_seconds_do_not_depend_on_the_step(substeps: int) -> None:
    """For registered environments, single and vector; an episode of Hover lasts 5 s."""
    steps = round(5.0 * 960 / substeps)
    options: dict[str, Any] = {"substeps": substeps, "tilt": 0.0, "bound": 1e5}
    single = gym.make("propwash/Hover-v0", **options)
    envs = gym.make_vec("propwash/Hover-v0", num_envs=1, **options)
    single.reset(seed=0)
    envs.reset(seed=0)
    for step in range(1, steps + 1):
        *_, terminated, truncated, _ = single.step(idle(single))
        assert (terminated, truncated) == (False, step == steps)
        assert envs.step(idle(envs))[3][0] == (step == steps)


def test_time_limits_are_rounded_up_to_steps() -> None:
    """5 s are 2.4 steps of 2000 substeps."""
    assert pg.make(pg.Hover, substeps=2000)._engine.limit == 3


def test_time_limits_can_be_set() -> None:
    env = pg.make(pg.Hover, episode_seconds=0.25, tilt=0.0)
    env.reset(seed=0)
    ends = [env.step(idle(env))[3] for _ in range(24)]
    assert ends == [False] * 23 + [True]
    for options in ({"episode_seconds": math.inf}, {"max_episode_steps": 0}):
        assert pg.make(pg.Hover, **options)._engine.limit == 0
    with pytest.raises(ValueError, match="expected one of the two, got both"):
        pg.make(pg.Hover, episode_seconds=1.0, max_episode_steps=3)
    for value in (0.0, math.nan, "long"):
        with pytest.raises(ValueError, match=r"episode_seconds = .*: expected a number > 0"):
            pg.make(pg.Hover, episode_seconds=value)


# options


def test_errors_name_invalid_arguments_of_environments() -> None:
    env: Any = pg.make(pg.Hover)
    with pytest.raises(TypeError, match="options: expected a dict of some of state, steps_before"):
        env.reset(options=3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions: expected numbers of shape"):
        env.step("abcd")
    for name in ("radius", "spread"):
        with pytest.raises(ValueError, match=f"{name}: expected a (finite )?number >=? 0"):
            pg.make(pg.Race, **{name: -1.0})


def test_options_with_an_effect_are_accepted() -> None:
    pg.make(pg.Hover, history=4, observation="sensors")
    pg.make(pg.Hover, max_speed=3.0, max_rates=(1, 1, 1), action="velocity")
    pg.make(pg.Hover, max_tilt=0.5, action="attitude_thrust")


# first readings


class WithSensors(Clock):
    """Observes sensors with latency."""

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        super().begin(fleet, period, index)
        self.below = fleet.attach(RangeFinder(Scene.load("empty")), rate=40.0, latency=0.1)
        receiver = Gnss(position_noise=(0.1, 0.1), bias=(0.0, 0.0))
        self.fix = fleet.attach(receiver, rate=10.0, latency=0.25)

    def reset_state(self, draws: pg.Draws) -> Mapping[str, Any]:
        super().reset_state(draws)
        return {"position": draws.uniform(3.0, 8.0, 3)}

    def observation(self, state: pg.State) -> Any:
        fix = self.fix.reading
        return np.column_stack([self.below.reading.range, fix.position, self.fix.time])


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_sensors_with_latency_have_a_reading_at_reset(mode: AutoresetMode) -> None:
    envs = pg.make_vec(WithSensors, 40, autoreset_mode=mode, max_episode_steps=30)
    observations, _ = envs.reset(seed=1)
    started, rows = 0, np.ones(40, dtype=bool)
    for _ in range(70):
        assert np.isfinite(observations).all()
        assert (observations[:, 4] >= 0.0).all()  # no reading belongs to a previous episode
        if rows.any():
            position = envs.fleet.position[rows].astype(np.float64)
            assert (observations[rows, 4] == 0.0).all()
            # the published variance of the range finder is 0.009 m^2
            assert np.abs(observations[rows, 0] - position[:, 2]).max() < 6 * math.sqrt(0.009)
            assert np.abs(observations[rows, 1:4] - position).max() < 6 * 0.1 * math.sqrt(10.0)
            started += int(rows.sum())
        before = envs._engine.state.steps.copy()
        observations, _, _, truncated, _ = envs.step(idle(envs))
        if mode is AutoresetMode.DISABLED and truncated.any():
            observations, _ = envs.reset(options={"reset_mask": truncated})
        rows = (envs._engine.state.steps == 0) & (before > 0)
    assert started == 3 * 40


def test_first_readings_equal_those_of_single_environments() -> None:
    pg.check_vector_env(WithSensors, num_envs=3, steps=30, max_episode_steps=11)


def test_range_finders_are_observed_from_the_first_step() -> None:
    env = pg.make_vec(pg.Land, 50, observation="sensors", noise=False)
    observations, _ = env.reset(seed=2)
    level = env.fleet.attitude[:, 0] ** 2 + env.fleet.attitude[:, 3] ** 2
    cosine = 2.0 * level - 1.0  # of the tilt
    assert np.abs(20.0 * observations[:, -1] - env.fleet.position[:, 2] / cosine).max() < 0.6


# states


@pytest.mark.parametrize("kind", TASKS)
def test_episodes_can_start_in_a_specified_state(kind: type[pg.Task]) -> None:
    env = pg.make(kind)
    env.reset(seed=3)
    for action in actions_for(env, 5):
        env.step(action)
    state = env.state
    assert {name: part.shape for name, part in state.items()} == {
        "position": (3,), "velocity": (3,), "attitude": (4,), "body_rates": (3,),
        "rotor_speeds": (4,),
    }  # fmt: skip
    observations, _ = env.reset(options={"state": state})
    for name, part in env.state.items():
        # attitudes are normalised once more
        assert np.allclose(part, state[name], rtol=0.0, atol=2e-7 * (name == "attitude"))
    assert np.array_equal(observations[3:6], state["velocity"])
    assert np.array_equal(observations[15:18], state["body_rates"])
    # omitted parts are random as usual
    other = pg.make(kind)
    random, _ = other.reset(seed=7)
    partial, _ = other.reset(seed=7, options={"state": {"velocity": [0.0, 0.5, 1.0]}})
    assert np.allclose(partial[3:6], [0.0, 0.5, 1.0])
    assert np.array_equal(partial[:3], random[:3])


def test_environments_accept_states_of_vehicles() -> None:
    uav = pw.Multicopter(seed=1)
    uav.step(pw.RateThrust([0.5, 0.2, 0.1], thrust=9.0), substeps=200)
    env = pg.make(pg.Hover)
    env.reset(seed=0, options={"state": uav.state})
    assert np.allclose(env.state["attitude"], uav.attitude, atol=1e-6)
    assert np.allclose(env.state["rotor_speeds"], uav.rotor_speeds, rtol=1e-6)


def test_vector_environments_accept_partial_initial_states() -> None:
    envs = pg.make_vec(pg.Hover, 3, autoreset_mode="DISABLED")
    first, _ = envs.reset(seed=1)
    mask = np.array([False, True, True])
    positions = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    observations, _ = envs.reset(options={"reset_mask": mask, "state": {"position": positions}})
    assert np.array_equal(observations[0], first[0])
    assert np.array_equal(observations[1:, :3], positions)
    envs.set_state({"velocity": [0.0, 0.0, 2.0]}, mask=~mask)
    assert np.array_equal(envs.state["velocity"][0], [0.0, 0.0, 2.0])
    assert np.array_equal(envs.observe()[0, 3:6], [0.0, 0.0, 2.0])
    assert np.array_equal(envs.observe()[1:], observations[1:])
    state = envs.fleet.state
    envs.set_state({"velocity": [0.0, 0.0, 0.0]})
    envs.set_state(state)
    assert np.array_equal(envs.state["velocity"], state.velocity)


def test_episodes_continue_from_an_assigned_state() -> None:
    env = pg.make(pg.Hover, noise=False, tilt=0.0, rates=0.0, spin=0.0, velocity=0.0)
    env.reset(seed=0)
    env.step(idle(env))
    env.set_state({"position": [1.0, 2.0, 3.0], "velocity": [0.0, 3.0, 0.0]})
    observations = env.observe()
    assert np.array_equal(observations[:6], [1.0, 2.0, 3.0, 0.0, 3.0, 0.0])
    after, *_ = env.step(idle(env))
    assert np.allclose(after[:3], [1.0, 2.0 + 3.0 * env.period, 3.0], atol=2e-3)
    assert env._engine.state.steps[0] == 2  # the same episode


def test_set_state_is_not_a_flown_path() -> None:
    """Race detects no collision and counts no gate; Land does not reward the shorter distance."""
    race = pg.make(pg.Race, noise=False)
    race.reset(seed=0)
    task = race.task
    assert isinstance(task, pg.Race)
    gate = task.courses[0]
    along = gate.rotation[0, :, 0]
    frame = gate.half[0, 0] * gate.rotation[0, :, 1]  # from the centre to an upright
    for offset in (0.0, 1.1):
        race.set_state({"position": gate.centre[0] - 2.0 * along + offset * frame})
        race.set_state({"position": gate.centre[0] + 2.0 * along + offset * frame})
        _, reward, terminated, _, _ = race.step(idle(race))
        assert not terminated
        assert abs(reward) < 1.0
        assert task.next[0] == 0
    land = pg.make(pg.Land, noise=False)
    land.reset(seed=0)
    land.set_state({"position": [0.0, 0.0, 3.0], "velocity": [0, 0, 0]})
    land.set_state({"position": [0.0, 0.0, 1.0]})
    assert abs(land.step(idle(land))[1]) < 0.1


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ({"place": [0, 0, 0]}, TypeError, "state: there is no 'place'"),
        ({"position": [0.0, 0.0]}, ValueError, "position: expected"),
        ({"position": [0.0, 0.0, math.nan]}, ValueError, "finite"),
        ({"attitude": [0.0, 0.0, 0.0, 0.0]}, ValueError, "attitude"),
        ({"rotor_speeds": [1e9, 0.0, 0.0, 0.0]}, ValueError, "rotor_speeds"),
        ([1.0, 2.0], TypeError, "expected a dict of some of position"),
    ],
)
def test_invalid_states_are_refused_and_change_nothing(
    state: Any, error: type[Exception], message: str
) -> None:
    env = pg.make(pg.Hover)
    env.reset(seed=0)
    before = env.state
    with pytest.raises(error, match=message):
        env.set_state(state)
    with pytest.raises(error, match=message):
        env.reset(seed=5, options={"state": state})
    assert all(np.array_equal(part, before[name]) for name, part in env.state.items())


# snapshots


class Stateful(pg.Hover):
    """A task with a generator, a list, a sensor, and an attribute that is set later."""

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        super().begin(fleet, period, index)
        self.rng = np.random.default_rng(3)
        self.values: list[float] = []
        self.below = {"range": fleet.attach(RangeFinder(Scene.load("empty")), 50.0, 0.05)}

    def update(self, state: pg.State) -> None:
        super().update(state)
        self.values.append(float(self.rng.normal()))
        if len(self.values) == 5:
            self.fifth = self.values[-1]

    def reward(self, state: pg.State) -> Any:
        reading = self.below["range"].reading.range
        return super().reward(state) + self.values[-1] + len(self.values) + 0.1 * reading


def run(env: Any, actions: Any) -> list[Any]:
    """All results of a run; resets single environments explicitly."""
    found = []
    for action in actions:
        observations, reward, terminated, truncated, infos = env.step(action)
        found += [
            observations,
            reward,
            terminated,
            truncated,
            infos.get("distance"),
            infos.get("time"),
        ]
        if isinstance(env, pg.FleetEnv) and (terminated or truncated):
            found.append(env.reset()[0])
    return found


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.mark.parametrize("observation", ["state", "sensors"])
@pytest.mark.parametrize("kind", [*TASKS, Stateful])
def test_a_restored_snapshot_continues_identically(kind: type[pg.Task], observation: Any) -> None:
    """In the same environment, in another one, and after pickling; across ends of episodes."""
    options: dict[str, Any] = {**VARIED, "max_episode_steps": 7, "observation": observation}
    pairs: list[Any] = [
        (pg.make(kind, **options), pg.make(kind, **options)),
        *(
            tuple(pg.make_vec(kind, 3, autoreset_mode=mode, **options) for _ in range(2))
            for mode in ("NEXT_STEP", "SAME_STEP")
        ),
    ]
    for env, other in pairs:
        env.reset(seed=11)
        run(env, actions_for(env, 10))
        snapshot = env.snapshot()
        observations = env.observe()
        pickled = pickle.dumps(snapshot)
        actions = actions_for(env, 20, seed=1)
        expected = run(env, actions)
        # steps in between must have no effect
        env.reset(seed=5)
        env.fleet.set_parameters({"drag.translational": 0.1})
        run(env, actions_for(env, 9, seed=2))
        env.restore(snapshot)
        assert np.array_equal(env.observe(), observations)
        assert same(run(env, actions), expected)
        env.restore(snapshot)
        assert same(run(env, actions), expected)
        other.restore(pickle.loads(pickled))
        assert same(run(other, actions), expected)


def test_snapshots_contain_the_generators_of_seeds() -> None:
    """A reset without a seed continues the generators of the snapshot."""
    env = pg.make(pg.Hover)
    env.reset(seed=4)
    env.np_random.uniform()
    snapshot = env.snapshot()
    numbers = env.np_random.uniform(size=3)
    first, _ = env.reset()
    env.reset(seed=9)
    env.restore(snapshot)
    assert np.array_equal(env.np_random.uniform(size=3), numbers)
    assert np.array_equal(env.reset()[0], first)


def test_snapshots_contain_finished_episodes() -> None:
    envs = pg.make_vec(pg.Hover, 2, max_episode_steps=2, autoreset_mode="DISABLED", tilt=0.0)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(idle(envs))
    snapshot = envs.snapshot()
    envs.reset(seed=1)
    envs.step(idle(envs))
    envs.restore(snapshot)
    with pytest.raises(ResetNeeded, match="environments 0, 1"):
        envs.step(idle(envs))


def test_snapshots_contain_the_state_of_rendering() -> None:
    env = pg.make(pg.Hover, render_mode="rgb_array", render_size=(160, 120))
    env.reset(seed=0)
    run(env, actions_for(env, 10))
    snapshot, frame = env.snapshot(), np.asarray(env.render())
    env.reset(seed=1)
    env.restore(snapshot)
    assert np.array_equal(np.asarray(env.render()), frame)


def test_snapshots_of_other_environments_are_refused() -> None:
    env = pg.make(pg.Race)
    env.reset(seed=0)
    before = env.snapshot()
    expected = run(env, actions_for(env, 3))
    env.restore(before)
    cases: list[tuple[Any, str]] = [
        (pg.make(pg.Hover), "1 x Race, got one of 1 x Hover"),
        (pg.make_vec(pg.Race, 1), "a single environment, got one of a vector environment"),
        (pg.make(pg.Race, radius=0.1), "radius = .*, got 0.1"),
        (pg.make(pg.Race, substeps=3), "substeps = 10, got 3"),
        (pg.make(pg.Race, vehicle="crazyflie"), "vehicle = 'flightgoggles', got 'crazyflie'"),
        (pg.make(pg.Race, course_seed=3), "a Race with the same (scene|courses)"),
    ]
    for other, message in cases:
        other.reset(seed=0)
        with pytest.raises(ValueError, match=f"snapshot: expected .*{message}"):
            env.restore(other.snapshot())
    with pytest.raises(TypeError, match=r"snapshot: expected a result of snapshot\(\), got b''"):
        env.restore(b"")  # type: ignore[arg-type]
    assert same(run(env, actions_for(env, 3)), expected)


@pytest.mark.parametrize(
    ("kind", "options", "other_options"),
    [
        (pg.Track, {"speed": 4.0}, {"speed": 2.0}),
        (pg.Hover, {"frame": "world"}, {"frame": "body"}),
        (pg.Hover, {"position": 1.0}, {"position": 0.1}),
        (pg.Land, {"bound": 20.0}, {"bound": 5.0}),
    ],
)
def test_snapshots_of_other_tasks_are_refused(
    kind: type[pg.Task], options: Any, other_options: Any
) -> None:
    (name,) = options
    env, other = pg.make(kind, **options), pg.make(kind, **other_options)
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(
        ValueError, match=f"with {name} = {options[name]!r}, got {other_options[name]!r}"
    ):
        env.restore(other.snapshot())
    assert getattr(env.task, name) == options[name]


def test_snapshots_of_another_autoreset_mode_are_refused() -> None:
    envs = pg.make_vec(pg.Hover, 2, autoreset_mode="SAME_STEP")
    others = pg.make_vec(pg.Hover, 2, autoreset_mode="DISABLED")
    for each in (envs, others):
        each.reset(seed=0)
    with pytest.raises(ValueError, match=r"mode Disabled, got one of .* mode SameStep"):
        others.restore(envs.snapshot())
    three = pg.make_vec(pg.Hover, 3, autoreset_mode="SAME_STEP")
    three.reset(seed=0)
    with pytest.raises(ValueError, match="2 x Hover, got one of 3 x Hover"):
        envs.restore(three.snapshot())


def test_snapshots_of_environments_with_thread_pools_can_be_pickled() -> None:
    envs = pg.make_vec(pg.Hover, 2, threads=pw.ThreadPool(1))
    envs.reset(seed=1)
    snapshot = pickle.loads(pickle.dumps(envs.snapshot()))
    actions = actions_for(envs, 3)
    expected = run(envs, actions)
    envs.restore(copy.deepcopy(snapshot))
    assert same(run(envs, actions), expected)


def test_snapshots_require_an_episode_and_an_open_environment() -> None:
    env, envs = pg.make(pg.Hover), pg.make_vec(pg.Hover, 2)
    for each in (env, envs):
        with pytest.raises(ResetNeeded, match=r"reset\(\) before snapshot\(\)"):
            each.snapshot()
        with pytest.raises(ResetNeeded, match=r"reset\(\) before set_state\(\)"):
            each.set_state({})
        with pytest.raises(ResetNeeded, match=r"reset\(\) before observe\(\)"):
            each.observe()
        each.reset(seed=0)
        snapshot = each.snapshot()
        each.close()
        with pytest.raises(ClosedEnvironmentError):
            each.restore(snapshot)
        with pytest.raises(ClosedEnvironmentError):
            each.set_state({})
