"""Clocks, states and snapshots of environments."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import propwash as pw
import pytest
from gym_helpers import WILD, idle

gym = pytest.importorskip("gymnasium")

import propwash.gym as pg  # noqa: E402
from gymnasium.error import ClosedEnvironmentError, ResetNeeded  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from propwash.sensors import Gnss, RangeFinder  # noqa: E402
from propwash.world import Scene  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gym.md"
TASKS: tuple[type[pg.Task], ...] = (pg.Hover, pg.Track, pg.Race, pg.Land)


def actions_for(env: Any, steps: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (steps, *env.action_space.shape)).astype(np.float32)


# clocks


class Clock(pg.Task):
    """Observes four clocks: the task's own, reset at the start of episodes, and the state's."""

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
    """In every mode: zero in the first observation of an episode, k periods after k steps."""
    envs = pg.make_vec(Clock, 2, autoreset_mode=mode, max_episode_steps=3)
    seen, _ = envs.reset(seed=0)
    counts = [0]
    assert np.array_equal(seen, np.zeros((2, 4)))
    for _ in range(9):
        seen, _, _, truncated, _ = envs.step(idle(envs))
        if mode is AutoresetMode.DISABLED and truncated.any():
            counts.append(int(seen[0, 3]))
            seen, _ = envs.reset(options={"reset_mask": truncated})
        counts.append(int(seen[0, 3]))
        assert np.array_equal(seen[:, 2], seen[:, 3])
        assert np.allclose(seen[:, :2], seen[:, 3:] * envs.period, rtol=1e-6)
    cycle = [0, 1, 2] if mode is AutoresetMode.SAME_STEP else [0, 1, 2, 3]
    assert counts == [cycle[k % len(cycle)] for k in range(len(counts))]


@pytest.mark.skipif(not PAGE.exists(), reason="the tests do not lie beside the page")
def test_the_page_lists_all_attributes_of_a_state() -> None:
    _, table, _ = re.split(
        r"The `state` passed to the methods has|A task may store data", PAGE.read_text("utf-8")
    )
    listed = set(re.findall(r"`(\w+)(?:\(\w+\))?`", "".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("| `")
    )))  # fmt: skip
    envs = pg.make_vec(pg.Hover, 2)
    internal = {"any_diverged", "buffer", "read", "reuse_buffers"}
    public = {name for name in dir(envs._engine.state) if not name.startswith("_")}
    assert listed == public - internal


@pytest.mark.parametrize("substeps", [1, 10, 30, 96])
def test_time_limits_in_seconds_do_not_depend_on_the_step(substeps: int) -> None:
    """Through the registry, single and vector: Hover has five seconds."""
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


def test_an_episode_is_no_shorter_than_its_limit() -> None:
    """Five seconds equal 2.4 steps of 2000 substeps."""
    assert pg.make(pg.Hover, substeps=2000)._engine.limit == 3


def test_time_limits_can_be_chosen() -> None:
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


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"history": 4}, "history = 4: expected observation='sensors'"),
        ({"max_speed": 3.0}, "max_speed = 3.0: expected action='velocity'.*'rate_thrust'"),
        ({"max_tilt": 0.5}, "max_tilt = 0.5: expected action='attitude_thrust'.*leave max_tilt"),
        ({"max_tilt": 0.5, "action": "velocity"}, "max_tilt = 0.5: expected action="),
        ({"max_rates": (1, 1, 1), "action": "rotor_thrusts"}, "max_rates = .*'rate_thrust' or"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        pg.make_vec(pg.Hover, 2, **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wind": (1, 2, 3)}, "wind: expected one number, or .min, max., got"),
        ({"wind": "a"}, "wind: expected a finite number, got 'a'"),
        ({"action_delay": (1, 2, 3)}, "action_delay: expected one number, or .min, max."),
        ({"max_rates": 3}, "max_rates: expected 3 numbers"),
        ({"autoreset_mode": ["a"]}, "autoreset_mode: expected one of"),
        (
            {"randomize": {"motor.speed_max": ("uniform", [2000] * 4, [2200] * 4)}},
            "first set a list in the vehicle, with one number for each rotor",
        ),
    ],
)
def test_errors_name_invalid_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        pg.make_vec(pg.Hover, 2, **options)


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


class Delayed(Clock):
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
    envs = pg.make_vec(Delayed, 40, autoreset_mode=mode, max_episode_steps=30)
    seen, _ = envs.reset(seed=1)
    begun, rows = 0, np.ones(40, dtype=bool)
    for _ in range(70):
        assert np.isfinite(seen).all()
        assert (seen[:, 4] >= 0.0).all()  # no reading belongs to a previous episode
        if rows.any():
            place = envs.fleet.position[rows].astype(np.float64)
            assert (seen[rows, 4] == 0.0).all()
            # the published variance of the range finder is 0.009 m^2
            assert np.abs(seen[rows, 0] - place[:, 2]).max() < 6 * math.sqrt(0.009)
            assert np.abs(seen[rows, 1:4] - place).max() < 6 * 0.1 * math.sqrt(10.0)
            begun += int(rows.sum())
        before = envs._engine.state.steps.copy()
        seen, _, _, truncated, _ = envs.step(idle(envs))
        if mode is AutoresetMode.DISABLED and truncated.any():
            seen, _ = envs.reset(options={"reset_mask": truncated})
        rows = (envs._engine.state.steps == 0) & (before > 0)
    assert begun == 3 * 40


def test_first_readings_are_those_of_single_environments() -> None:
    pg.check_vector_env(Delayed, num_envs=3, steps=30, max_episode_steps=11)


def test_range_finders_are_observed_from_the_first_step() -> None:
    env = pg.make_vec(pg.Land, 50, observation="sensors", noise=False)
    seen, _ = env.reset(seed=2)
    level = env.fleet.attitude[:, 0] ** 2 + env.fleet.attitude[:, 3] ** 2
    up = 2.0 * level - 1.0  # cosine of the tilt
    assert np.abs(20.0 * seen[:, -1] - env.fleet.position[:, 2] / up).max() < 0.6


# states


@pytest.mark.parametrize("kind", TASKS)
def test_episodes_can_begin_from_a_specified_state(kind: type[pg.Task]) -> None:
    env = pg.make(kind)
    env.reset(seed=3)
    for action in actions_for(env, 5):
        env.step(action)
    flown = env.state
    assert {name: part.shape for name, part in flown.items()} == {
        "position": (3,), "velocity": (3,), "attitude": (4,), "body_rates": (3,),
        "rotor_speeds": (4,),
    }  # fmt: skip
    seen, _ = env.reset(options={"state": flown})
    for name, part in env.state.items():
        # attitudes are normalised again
        assert np.allclose(part, flown[name], rtol=0.0, atol=2e-7 * (name == "attitude"))
    assert np.array_equal(seen[3:6], flown["velocity"])
    assert np.array_equal(seen[15:18], flown["body_rates"])
    # omitted parts are drawn as usual
    other = pg.make(kind)
    drawn, _ = other.reset(seed=7)
    partly, _ = other.reset(seed=7, options={"state": {"velocity": [0.0, 0.5, 1.0]}})
    assert np.allclose(partly[3:6], [0.0, 0.5, 1.0])
    assert np.array_equal(partly[:3], drawn[:3])


def test_states_of_vehicles_are_states_of_environments() -> None:
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
    places = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    seen, _ = envs.reset(options={"reset_mask": mask, "state": {"position": places}})
    assert np.array_equal(seen[0], first[0])
    assert np.array_equal(seen[1:, :3], places)
    envs.set_state({"velocity": [0.0, 0.0, 2.0]}, mask=~mask)
    assert np.array_equal(envs.state["velocity"][0], [0.0, 0.0, 2.0])
    assert np.array_equal(envs.observe()[0, 3:6], [0.0, 0.0, 2.0])
    assert np.array_equal(envs.observe()[1:], seen[1:])
    moved = envs.fleet.state
    envs.set_state({"velocity": [0.0, 0.0, 0.0]})
    envs.set_state(moved)
    assert np.array_equal(envs.state["velocity"], moved.velocity)


def test_episodes_continue_from_an_assigned_state() -> None:
    env = pg.make(pg.Hover, noise=False, tilt=0.0, rates=0.0, spin=0.0, velocity=0.0)
    env.reset(seed=0)
    env.step(idle(env))
    env.set_state({"position": [1.0, 2.0, 3.0], "velocity": [0.0, 3.0, 0.0]})
    seen = env.observe()
    assert np.array_equal(seen[:6], [1.0, 2.0, 3.0, 0.0, 3.0, 0.0])
    after, *_ = env.step(idle(env))
    assert np.allclose(after[:3], [1.0, 2.0 + 3.0 * env.period, 3.0], atol=2e-3)
    assert env._engine.state.steps[0] == 2  # the episode has continued


def test_moving_a_vehicle_is_not_a_flown_path() -> None:
    """Race: through a frame and past a gate. Land: no reward for the reduced distance."""
    race = pg.make(pg.Race, noise=False)
    race.reset(seed=0)
    task = race.task
    assert isinstance(task, pg.Race)
    gate = task.courses[0]
    along = gate.rotation[0, :, 0]
    frame = gate.half[0, 0] * gate.rotation[0, :, 1]  # from its centre to the middle of an upright
    for aside in (0.0, 1.1):
        race.set_state({"position": gate.centre[0] - 2.0 * along + aside * frame})
        race.set_state({"position": gate.centre[0] + 2.0 * along + aside * frame})
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
    ("state", "error", "says"),
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
    state: Any, error: type[Exception], says: str
) -> None:
    env = pg.make(pg.Hover)
    env.reset(seed=0)
    before = env.state
    with pytest.raises(error, match=says):
        env.set_state(state)
    with pytest.raises(error, match=says):
        env.reset(seed=5, options={"state": state})
    assert all(np.array_equal(part, before[name]) for name, part in env.state.items())


# snapshots


class Noisy(pg.Hover):
    """A task with much state: a generator, a list, a sensor of the fleet, the first values."""

    def begin(self, fleet: pw.Fleet, period: float, index: int) -> None:
        super().begin(fleet, period, index)
        self.dice = np.random.default_rng(3)
        self.kept: list[float] = []
        self.below = {"range": fleet.attach(RangeFinder(Scene.load("empty")), 50.0, 0.05)}

    def update(self, state: pg.State) -> None:
        super().update(state)
        self.kept.append(float(self.dice.normal()))
        if len(self.kept) == 5:
            self.fifth = self.kept[-1]

    def reward(self, state: pg.State) -> Any:
        reading = self.below["range"].reading.range
        return super().reward(state) + self.kept[-1] + len(self.kept) + 0.1 * reading


def run(env: Any, actions: Any) -> list[Any]:
    """All results of a run; resets single environments explicitly."""
    found = []
    for action in actions:
        seen, reward, terminated, truncated, infos = env.step(action)
        found += [seen, reward, terminated, truncated, infos.get("distance"), infos.get("time")]
        if isinstance(env, pg.FleetEnv) and (terminated or truncated):
            found.append(env.reset()[0])
    return found


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.mark.parametrize("observation", ["state", "sensors"])
@pytest.mark.parametrize("kind", [*TASKS, Noisy])
def test_a_snapshot_continues_bit_for_bit(kind: type[pg.Task], observation: Any) -> None:
    """Twice in the same environment, in another one, after pickling; across ends of episodes."""
    options: dict[str, Any] = {**WILD, "max_episode_steps": 7, "observation": observation}
    made: list[Any] = [
        (pg.make(kind, **options), pg.make(kind, **options)),
        *(
            tuple(pg.make_vec(kind, 3, autoreset_mode=mode, **options) for _ in range(2))
            for mode in ("NEXT_STEP", "SAME_STEP")
        ),
    ]
    for env, other in made:
        env.reset(seed=11)
        run(env, actions_for(env, 10))
        taken = env.snapshot()
        seen = env.observe()
        kept = pickle.dumps(taken)
        actions = actions_for(env, 20, seed=1)
        expected = run(env, actions)
        # steps in between must have no effect
        env.reset(seed=5)
        env.fleet.set_parameters({"drag.translational": 0.1})
        run(env, actions_for(env, 9, seed=2))
        env.restore(taken)
        assert np.array_equal(env.observe(), seen)
        assert same(run(env, actions), expected)
        env.restore(taken)
        assert same(run(env, actions), expected)
        other.restore(pickle.loads(kept))
        assert same(run(other, actions), expected)


def test_snapshots_contain_the_generators_of_seeds() -> None:
    """A reset without a seed continues the generators of the snapshot."""
    env = pg.make(pg.Hover)
    env.reset(seed=4)
    env.np_random.uniform()
    taken = env.snapshot()
    numbers = env.np_random.uniform(size=3)
    begun, _ = env.reset()
    env.reset(seed=9)
    env.restore(taken)
    assert np.array_equal(env.np_random.uniform(size=3), numbers)
    assert np.array_equal(env.reset()[0], begun)


def test_snapshots_contain_ended_episodes() -> None:
    envs = pg.make_vec(pg.Hover, 2, max_episode_steps=2, autoreset_mode="DISABLED", tilt=0.0)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(idle(envs))
    taken = envs.snapshot()
    envs.reset(seed=1)
    envs.step(idle(envs))
    envs.restore(taken)
    with pytest.raises(ResetNeeded, match="environments 0, 1"):
        envs.step(idle(envs))


def test_snapshots_contain_the_state_of_images() -> None:
    env = pg.make(pg.Hover, render_mode="rgb_array", render_size=(160, 120))
    env.reset(seed=0)
    run(env, actions_for(env, 10))
    taken, frame = env.snapshot(), np.asarray(env.render())
    env.reset(seed=1)
    env.restore(taken)
    assert np.array_equal(np.asarray(env.render()), frame)


def test_a_search_from_a_snapshot_predicts_the_rewards() -> None:
    """Random shooting from a snapshot: the predicted reward equals the actual one."""
    env = pg.make(pg.Hover, **{**WILD, "max_episode_steps": 0})
    env.reset(seed=2)
    for _ in range(5):
        root = env.snapshot()
        found = []
        for candidate in actions_for(env, 8, seed=3):
            env.restore(root)
            found.append((env.step(candidate)[1], candidate))
        best, action = max(found, key=lambda each: each[0])
        env.restore(root)
        assert env.step(action)[1] == best


def test_snapshots_of_others_are_refused_and_change_nothing() -> None:
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
    for other, says in cases:
        other.reset(seed=0)
        with pytest.raises(ValueError, match=f"snapshot: expected .*{says}"):
            env.restore(other.snapshot())
    with pytest.raises(TypeError, match=r"snapshot: expected a result of snapshot\(\), got b''"):
        env.restore(b"")  # type: ignore[arg-type]
    assert same(run(env, actions_for(env, 3)), expected)


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        (pg.Track, {"speed": 4.0}, {"speed": 2.0}),
        (pg.Hover, {"frame": "world"}, {"frame": "body"}),
        (pg.Hover, {"position": 1.0}, {"position": 0.1}),
        (pg.Land, {"bound": 20.0}, {"bound": 5.0}),
    ],
)
def test_snapshots_of_other_tasks_are_refused(kind: type[pg.Task], ours: Any, theirs: Any) -> None:
    (name,) = ours
    env, other = pg.make(kind, **ours), pg.make(kind, **theirs)
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(ValueError, match=f"with {name} = {ours[name]!r}, got {theirs[name]!r}"):
        env.restore(other.snapshot())
    assert getattr(env.task, name) == ours[name]


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


def test_a_refused_snapshot_keeps_the_parameters() -> None:
    ours, theirs = pg.make_vec(pg.Hover, 2), pg.make_vec(pg.Hover, 2)
    for envs in (ours, theirs):
        envs.reset(seed=1)
    theirs.fleet.set_parameters(mass=[1.1, 1.2])
    theirs.fleet.attach(pw.Barometer(), rate=20.0)
    nominal = np.array(ours.fleet.parameters["mass"])
    with pytest.raises(ValueError, match="attach the same sensors"):
        ours.restore(theirs.snapshot())
    assert np.array_equal(ours.fleet.parameters["mass"], nominal)


def test_snapshots_of_environments_with_a_pool_of_threads_can_be_pickled() -> None:
    envs = pg.make_vec(pg.Hover, 2, threads=pw.ThreadPool(1))
    envs.reset(seed=1)
    taken = pickle.loads(pickle.dumps(envs.snapshot()))
    actions = actions_for(envs, 3)
    expected = run(envs, actions)
    envs.restore(copy.deepcopy(taken))
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
        taken = each.snapshot()
        each.close()
        with pytest.raises(ClosedEnvironmentError):
            each.restore(taken)
        with pytest.raises(ClosedEnvironmentError):
            each.set_state({})


def test_copies_of_rendering_environments_can_render() -> None:
    env = pg.make(pg.Hover, render_mode="rgb_array", render_size=(160, 120))
    env.reset(seed=0)
    frame = np.asarray(env.render())
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert np.array_equal(np.asarray(other.render()), frame)
