"""Vector environments: the interface of gymnasium, and equality with single environments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from gym_helpers import VARIED, idle
from helpers import slow_if

gym = pytest.importorskip("gymnasium")

import propwash.gym as pg  # noqa: E402
from gymnasium.error import ClosedEnvironmentError, ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

TASKS: tuple[type[pg.Task], ...] = (pg.Hover, pg.Track, pg.Race, pg.Land)


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        pytest.param(kind, action, marks=slow_if(kind is not pg.Hover and action != "rate_thrust"))
        for kind in TASKS
        for action in ("rate_thrust", "rotor_thrusts", "attitude_thrust", "velocity")
    ],
)
def test_vector_environments_equal_single_ones_in_every_mode(
    kind: type[pg.Task], action: str
) -> None:
    pg.check_vector_env(kind, num_envs=2, steps=30, max_episode_steps=11, action=action)


@pytest.mark.parametrize("kind", TASKS)
def test_vector_environments_equal_single_ones_with_sensors_and_disturbances(
    kind: type[pg.Task],
) -> None:
    pg.check_vector_env(
        kind, num_envs=2, steps=16, max_episode_steps=7, observation="sensors", **VARIED
    )


@pytest.mark.parametrize("kind", TASKS)
def test_results_do_not_depend_on_the_number_of_environments(kind: type[pg.Task]) -> None:
    options: dict[str, Any] = {"frame": "body", "max_episode_steps": 6}
    many = pg.make_vec(kind, 70, autoreset_mode="SAME_STEP", **options)
    observations, _ = many.reset(seed=2)
    actions = np.random.default_rng(0).uniform(-1, 1, (9, 70, 4)).astype(np.float32)
    few = {i: pg.make_vec(kind, 1, autoreset_mode="SAME_STEP", index=i, **options) for i in (3, 69)}
    assert all(np.array_equal(observations[i], env.reset(seed=2)[0][0]) for i, env in few.items())
    for action in actions:
        observations, reward, *_ = many.step(action)
        for i, env in few.items():
            alone, single_reward, *_ = env.step(action[i : i + 1])
            assert np.array_equal(observations[i], alone[0])
            assert reward[i] == single_reward[0]


class Coupled(pg.Hover):
    """Depends on the other environments."""

    def reward(self, state: pg.State) -> Any:
        return super().reward(state) + state.position[:, 0].sum()


class Counting(pg.Hover):
    """Depends on the number of episodes, which no seed resets."""

    def reset_state(self, draws: pg.Draws) -> Mapping[str, Any]:
        self.calls = getattr(self, "calls", 0) + 1
        return {"position": draws.uniform(-1, 1, 3) + 0.01 * self.calls}


@pytest.mark.parametrize("kind", [Coupled, Counting])
def test_the_checker_detects_dependent_environments(kind: type[pg.Task]) -> None:
    with pytest.raises(AssertionError):
        pg.check_vector_env(kind)


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.filterwarnings("ignore:.*A Box observation space m..imum value is")
def test_single_environments_pass_the_checker_of_gymnasium(kind: type[pg.Task]) -> None:
    env = gym.make(f"propwash.gym:propwash/{kind.__name__}-v0")
    check_env(env.unwrapped)
    env.reset(seed=1)
    observations, *_ = env.step(np.zeros(4, dtype=np.float32))
    assert env.observation_space.contains(observations)
    env.close()


def test_gymnasium_can_make_registered_environments() -> None:
    envs = gym.make_vec(
        "propwash.gym:propwash/Hover-v0", num_envs=64, vectorization_mode="vector_entry_point"
    )
    assert isinstance(envs, pg.FleetVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observations, infos = envs.reset(seed=3)
    assert observations.shape == (64, 22)
    assert observations.dtype == np.float32
    assert infos == {}
    race = gym.make(
        "propwash.gym:propwash/Race-v0", course="alphapilot", action="rate_thrust",
        randomize={"mass": 0.2, "thrust_coefficient": 0.1},
    )  # fmt: skip
    race.reset(seed=1)
    mass = race.unwrapped.fleet.parameters["mass"]
    assert mass != 1.0
    assert 0.8 <= mass <= 1.2


def test_the_time_limit_only_truncates() -> None:
    envs = gym.make_vec("propwash/Hover-v0", num_envs=2, max_episode_steps=4, tilt=0.0)
    single = gym.make("propwash/Hover-v0", max_episode_steps=4, tilt=0.0)
    envs.reset(seed=0)
    single.reset(seed=0)
    for step in range(1, 5):
        _, _, terminated, truncated, _ = envs.step(idle(envs))
        assert truncated.all() == (step == 4)
        assert not terminated.any()
        assert single.step(np.zeros(4, dtype=np.float32))[2:4] == (False, step == 4)
    _, reward, terminated, truncated, _ = envs.step(idle(envs))
    assert not (terminated | truncated).any()
    assert (reward == 0.0).all()  # of the step that starts the next episode


def test_same_step_mode_returns_the_final_observation_and_info() -> None:
    options: dict[str, Any] = {"max_episode_steps": 3, "tilt": 0.0}
    same = pg.make_vec(pg.Hover, 3, autoreset_mode="SAME_STEP", **options)
    plain = pg.make_vec(pg.Hover, 3, **options)
    same.reset(seed=5)
    plain.reset(seed=5)
    for _ in range(3):
        first, _, _, truncated, infos = same.step(idle(same))
        last, _, _, _, plain_infos = plain.step(idle(plain))
    assert truncated.all()
    assert np.array_equal(np.stack(infos["final_obs"]), last)
    assert not np.array_equal(first, last)
    assert infos["_final_obs"].all()
    assert np.array_equal(infos["final_info"]["distance"], plain_infos["distance"])
    assert "distance" not in infos


def test_disabled_mode_resets_only_masked_environments() -> None:
    envs = pg.make_vec(
        pg.Hover, 3, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=2, tilt=0.0
    )
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.ones(3, dtype=np.bool_)})
    envs.reset(seed=0)
    for _ in range(2):
        observations, *_ = envs.step(idle(envs))
    with pytest.raises(ResetNeeded, match="environments 0, 1, 2"):
        envs.step(idle(envs))
    first, _ = envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert np.array_equal(first[1], observations[1])
    assert not np.array_equal(first[0], observations[0])
    with pytest.raises(ResetNeeded, match="environments 1:"):
        envs.step(idle(envs))


def test_observations_are_copies_by_default() -> None:
    copied, reused = (pg.make_vec(pg.Hover, 2, copy=copy) for copy in (True, False))
    for env, is_same in ((copied, False), (reused, True)):
        first, _ = env.reset(seed=0)
        second, *_ = env.step(idle(env))
        assert (first is second) == is_same
        assert np.shares_memory(first, second) == is_same


def test_actions_out_of_range_are_clipped_and_counted() -> None:
    one, two = (pg.make_vec(pg.Hover, 3) for _ in range(2))
    one.reset(seed=0)
    two.reset(seed=0)
    far = np.array([[0, 0, 0, 0], [2, 0, -3, 0], [0, 0, 0, np.inf]], dtype=np.float32)
    *found, infos = one.step(far)
    *clipped, none = two.step(np.clip(far, -1, 1))
    assert np.array_equal(infos["clipped"], [0, 2, 1])
    assert np.array_equal(infos["_clipped"], [False, True, True])
    assert none == {}
    assert all(np.array_equal(a, b) for a, b in zip(found, clipped, strict=True))


def test_invalid_arguments_are_refused() -> None:
    envs = pg.make_vec(pg.Hover, 3)
    with pytest.raises(ResetNeeded):
        envs.step(idle(envs))
    envs.reset(seed=0)
    invalid = idle(envs)
    invalid[1, 2] = np.nan
    before = envs.fleet.steps
    with pytest.raises(ValueError, match="environment 1"):
        envs.step(invalid)
    assert envs.fleet.steps == before
    with pytest.raises(ValueError, match=r"\(3, 4\)"):
        envs.step(np.zeros((2, 4)))
    with pytest.raises(TypeError, match="reset_mask"):
        envs.reset(options={"reset_musk": None})
    with pytest.raises(ValueError, match="seed"):
        envs.reset(seed=1, options={"reset_mask": np.ones(3, dtype=np.bool_)})
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step(idle(envs))
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()
    single = pg.make(pg.Hover)
    with pytest.raises(ResetNeeded):
        single.step(np.zeros(4))
    single.close()
    with pytest.raises(ClosedEnvironmentError):
        single.reset()


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"randomise": {}}, "did you mean 'randomize'"),
    ({"action": "rate_thurst"}, "did you mean 'rate_thrust'"),
    (
        {"action": "position"},
        "'attitude_thrust', 'velocity', 'heading_velocity', 'target_velocity' or 'goal_velocity'",
    ),
    ({"max_tilt": 2.0}, "max_tilt"),
    ({"max_speed": 0.0}, "max_speed"),
    ({"observation": "camera"}, "'state', 'sensors', 'imu', 'depth', 'grey' or 'rgb'"),
    ({"randomize": {"mas": 0.1}}, "did you mean"),
    ({"randomize": {"mass": 1.5}}, "fraction in"),
    ({"randomize": {"mass": ("uniform", -1.0, 1.0)}}, "mass"),
    ({"randomize": {"body.inertia": ("uniform", 0.1, 0.2)}}, "shape"),
    ({"wind": (3.0, 1.0)}, "wind"),
    ({"action_delay": -1}, "action_delay"),
    ({"imu_bias": {"gyro": 0.1}}, "gyroscope"),
    ({"autoreset_mode": "sometimes"}, "NEXT_STEP"),
    ({"frame": "camera"}, "body"),
    ({"max_rates": (1.0, 2.0)}, "max_rates"),
    ({"history": 4}, "history = 4: expected observation='sensors' or 'imu'"),
    ({"max_speed": 3.0}, "max_speed = 3.0: expected action='velocity'.*'rate_thrust'"),
    ({"max_tilt": 0.5}, "max_tilt = 0.5: expected action='attitude_thrust'.*leave max_tilt"),
    ({"max_tilt": 0.5, "action": "velocity"}, "max_tilt = 0.5: expected action="),
    ({"max_rates": (1, 1, 1), "action": "rotor_thrusts"}, "max_rates = .*'rate_thrust' or"),
    ({"wind": (1, 2, 3)}, "wind: expected one number, or .min, max., got"),
    ({"wind": "a"}, "wind: expected a finite number, got 'a'"),
    ({"action_delay": (1, 2, 3)}, "action_delay: expected one number, or .min, max."),
    ({"max_rates": 3}, "max_rates: expected 3 numbers"),
    ({"autoreset_mode": ["a"]}, "autoreset_mode: expected one of"),
    (
        {"randomize": {"motor.speed_max": ("uniform", [2000] * 4, [2200] * 4)}},
        "first set a list in the vehicle, with one number for each rotor",
    ),
]
RACE_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"observation": "depht"}, "observation: expected 'state', .*did you mean 'depth'"),
    ({"observation": ()}, r"observation: expected some of.*got \(\)"),
    ({"observation": ["state", "state"]}, "observation: expected each name once"),
    ({"privileged": ["winds"]}, "privileged: expected 'state', .*did you mean 'wind'"),
    ({"privileged": ["parameters"]}, "privileged: expected 'parameters' only with randomize"),
    ({"depth_size": (8, 6)}, "depth_size.*expected observation='depth'"),
    ({"observation": "depth", "depth_size": 8}, "depth_size = 8: expected width and height"),
    ({"observation": "depth", "depth_fov": 180}, "depth_fov: expected degrees"),
    ({"observation": "depth", "depth_range": 0}, "depth_range: expected m in"),
    ({"observation": "depth", "depth_dtype": "int8"}, "depth_dtype: expected 'float32' or"),
]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [*((pg.Hover, *row) for row in OPTIONS), *((pg.Race, *row) for row in RACE_OPTIONS)],
)
def test_errors_name_invalid_options(
    kind: type[pg.Task], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        pg.make_vec(kind, 2, **options)


@pytest.mark.parametrize("observation", ["state", "sensors"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_diverged_vehicle_ends_only_its_own_episode(
    mode: AutoresetMode, observation: Any
) -> None:
    envs = pg.make_vec(pg.Land, 3, autoreset_mode=mode, observation=observation)
    envs.reset(seed=0)
    envs.step(idle(envs))
    envs.fleet.set_state(velocity=[[3e38, 0, 3e38]], mask=np.array([False, True, False]))
    observations, reward, terminated, truncated, infos = envs.step(idle(envs))
    assert np.array_equal(terminated, [False, True, False])
    assert not truncated.any()
    values = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    assert np.array_equal(values["diverged"], [False, True, False])
    assert np.isfinite(observations).all()
    assert np.isfinite(reward).all()
    if mode is AutoresetMode.DISABLED:
        envs.reset(options={"reset_mask": terminated})
    for _ in range(3):
        observations, _, terminated, _, _ = envs.step(idle(envs))
        assert np.isfinite(observations).all()
        assert not terminated.any()


def test_states_beyond_the_range_of_a_task_are_diverged() -> None:
    envs = pg.make_vec(pg.Hover, 2)
    envs.reset(seed=0)
    envs.fleet.set_state(position=[[0, 0, 3e37]], mask=np.array([True, False]))
    observations, reward, terminated, _, infos = envs.step(idle(envs))
    assert np.array_equal(terminated, [True, False])
    assert infos["diverged"][0]
    assert np.isfinite(observations).all()
    assert np.isfinite(reward).all()


def test_each_episode_has_new_random_parameters_and_wind() -> None:
    envs = pg.make_vec(
        pg.Hover,
        200,
        randomize={"mass": 0.2, "thrust_coefficient": ("normal", 1.9e-6, 2e-8)},
        wind=(1.0, 3.0),
        action_delay=(2, 5),
    )
    masses = []
    for episode in range(2):
        envs.reset(seed=4 if episode == 0 else None)
        mass = np.array(envs.fleet.parameters["mass"])
        thrust = np.array(envs.fleet.parameters["thrust_coefficient"])
        wind = np.linalg.norm(envs.fleet.wind, axis=1)
        assert 0.8 <= mass.min() < 0.85 < 1.15 < mass.max() <= 1.2
        assert (np.ptp(thrust, axis=1) == 0.0).all()
        assert np.abs(thrust - 1.9e-6).max() <= 6e-8 * (1 + 1e-9)
        assert 1.0 <= wind.min() < 1.2 < 2.8 < wind.max() <= 3.0 + 1e-6
        assert abs(np.corrcoef(mass, thrust[:, 0])[0, 1]) < 0.25  # 3.5 standard deviations
        masses.append(mass)
    assert (masses[0] != masses[1]).all()


def test_the_scale_of_actions_does_not_depend_on_random_parameters() -> None:
    heavy, light = (
        pg.make_vec(pg.Hover, 1, noise=False, randomize={"mass": ("uniform", mass, mass)}, tilt=0.0)
        for mass in (1.2, 0.8)
    )
    climbs = []
    for env in (heavy, light):
        before, _ = env.reset(seed=0)
        for _ in range(48):
            after, *_ = env.step(idle(env))
        climbs.append(after[0, 5] - before[0, 5])
    assert climbs[0] < -0.3  # the zero action is the hover of the nominal vehicle
    assert climbs[1] > 0.3


def test_gymnasium_is_imported_on_demand() -> None:
    code = "import sys, propwash; sys.exit('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "try:\n    import propwash.gym\n"
        "except ImportError as error:\n    sys.exit('propwash[gym]' not in str(error))\n"
        "sys.exit(2)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
