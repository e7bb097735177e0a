"""Recipes of `python -m propwash train`: tasks, their options and hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from propwash import _checks as checks
from propwash.gym import _options, bptt, imitate, policy, ppo, shac
from propwash.gym.ppo import Args

merged = _options.merged  # for the command
_SMALLEST = {"scale_iterations": 0, "decay_steps": 0, "num_steps": 2, "memory": 0, "columns": 0}
"""Minimum of integer settings, where it is not 1."""
_LARGEST = {
    **{"gamma": 1.0, "gae_lambda": 1.0, "target_rate": 1.0, "gradient_decay": 1.0},
    **{"hidden": 4096, "memory": 4096, "frames": 1000, "columns": 10_000, "convolution": 256},
}
_FORMER = {"decay_iterations": "decay_steps"}
"""Former names of settings."""
_MAX_BATCH = 2**24
"""Maximum steps of a rollout in all environments, some GB."""


@dataclass(frozen=True)
class Recipe:
    """Training of a task."""

    options: dict[str, Any]
    """Options of the task and its environments for evaluation and use."""
    training: dict[str, Any]
    """Options that differ in training."""
    args: Any
    """Args of the method: of ppo, shac, bptt or imitate."""
    num_envs: int
    steps: int
    """Maximum number of environment steps."""
    every: int
    """Environment steps between evaluations."""
    episodes: tuple[int, int]
    """Episodes of an evaluation during training, and of the last one."""
    between: dict[str, dict[str, Any]] = field(default_factory=lambda: {"evaluation": {}})
    """Options that differ in evaluations during training, by name; the first selects the policy."""
    goal: dict[str, float] = field(default_factory=dict)
    """Minimum measures of the policy-selecting evaluation that end training; empty for none."""
    others: dict[str, Recipe] = field(default_factory=dict)
    """Recipes for other observations than "state"."""
    larger: dict[str, Any] = field(default_factory=dict)
    """Fields that differ in a longer training of a larger network; empty for none."""


def default_method(task: str) -> str:
    """Returns the method of a task: "bptt" if it has a recipe for it, else "ppo"."""
    return "bptt" if task in _BPTT else "ppo"


def recipe(
    task: str,
    observation: str | Sequence[str] | None = None,
    method: str = "ppo",
    *,
    larger: bool = False,
) -> Recipe:
    """Returns the recipe of a task: that of RECIPES, its class's attribute `recipe`, or DEFAULT.

    Where it has none for the observation, all columns of the observation are used, and episodes are
    evaluated at the rate of the training, because a policy of the last action depends on it.

    observation: None for that of the recipe. larger: Whether to return the longer training of a
    larger network, for tasks that have one.

    Raises ValueError for a method that cannot train the task, and for an observation without depth
    where the recipe's options are those of a depth camera.
    """
    found = RECIPES.get(task) or getattr(policy.task_class(task), "recipe", DEFAULT)
    if not isinstance(found, Recipe):
        raise ValueError(f"{task}.recipe: expected a Recipe, got {found!r:.100}")
    usual = found.options.get("observation", "state")
    if observation is not None and "depth" in usual and "depth" not in observation:
        raise ValueError(
            f"observation = {observation!r:.100}: expected one with 'depth' for {task!r:.100}, as "
            f"{usual}; leave it out"
        )
    if method == "bptt":
        found = _bptt(task, found)
        return replace(found, **found.larger) if larger else found
    if method == "imitate":
        return _imitate(task, found)
    if method == "shac":
        found = _shac(task, found)
    elif isinstance(observation, str) and observation in found.others:
        return found.others[observation]
    if observation not in (None, "state"):
        found = _at_one_rate(replace(found, args=replace(found.args, columns=())))
    return found


def _shac(task: str, found: Recipe) -> Recipe:
    if task not in _SHAC and not hasattr(policy.task_class(task), "loss"):
        raise _without_loss("shac", _SHAC, task)
    changes = {"args": shac.ShacArgs(columns=()), "num_envs": 64, **_SHAC.get(task, {})}
    training = {**found.training, "noise": False, **changes.get("training", {})}
    changed = replace(found, **{**changes, "training": training})
    return changed if task in _SHAC else _at_one_rate(changed)


def _bptt(task: str, found: Recipe) -> Recipe:
    if not hasattr(policy.task_class(task), "loss"):
        raise _without_loss("bptt", _BPTT, task)
    training = {**found.training, "noise": False}
    changes = {"args": bptt.BpttArgs(), "training": training, "num_envs": 144}
    return _at_one_rate(replace(found, **{**changes, **_BPTT.get(task, {})}))


def _without_loss(method: str, known: Mapping[str, object], task: str) -> ValueError:
    return ValueError(
        f"--method {method}: expected {', '.join(known)} or a task with a method `loss`, got "
        f"{task!r:.100}; train it with --method ppo"
    )


def _imitate(task: str, found: Recipe) -> Recipe:
    changes = {"args": imitate.ImitateArgs(), "num_envs": 64, "goal": {}}
    return _at_one_rate(replace(found, **{**changes, **_IMITATE.get(task, {})}))


def _at_one_rate(recipe: Recipe) -> Recipe:
    """The recipe with the period of the steps of training for all episodes."""
    if _period(recipe.training) == _period(recipe.options):
        return recipe
    rate = {name: value for name, value in recipe.training.items() if name in ("substeps", "dt")}
    return replace(recipe, options={**recipe.options, **rate})


def _period(options: Mapping[str, Any]) -> float:
    """s, duration of a step, rounded."""
    settings = _options.Settings()
    dt, substeps = options.get("dt", settings.dt), options.get("substeps", settings.substeps)
    return float(round(dt * substeps, 9))


def with_settings(recipe: Recipe, settings: Mapping[str, Any]) -> Recipe:
    """Returns the recipe with the given fields of Args, and `num_envs`, replaced.

    A policy with memory depends on the rate of its steps, so all episodes have that of training.
    Raises ValueError for an unknown name, with the nearest one, and for an invalid value.
    """
    known = [each.name for each in fields(recipe.args)]
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            raise ValueError(f"{name!r:.100}: expected a value, got a table; write names only")
        if name not in (*known, "num_envs"):
            hint = checks.nearest(_FORMER.get(name, name), [*known, "num_envs"])
            raise ValueError(f"there is no setting {name!r:.100}{hint}")
        try:
            checked[name] = _checked(name, value, getattr(recipe.args, name, 0))
        except TypeError as error:  # not a number
            raise ValueError(str(error)) from error
    num_envs = checked.pop("num_envs", recipe.num_envs)
    args = replace(recipe.args, **checked)
    # the second step of an episode is the first one to learn from
    if not 2 <= args.num_steps // 2 * num_envs <= args.num_steps * num_envs <= _MAX_BATCH:
        raise ValueError(
            f"num_envs and num_steps: expected a product from 4 to {_MAX_BATCH:,}, got "
            f"{num_envs:,} and {args.num_steps:,}"
        )
    changed = replace(recipe, args=args, num_envs=num_envs)
    has_memory = getattr(args, "memory", 0) or getattr(args, "frames", 1) > 1
    return _at_one_rate(changed) if has_memory else changed


def _checked(name: str, value: Any, default: Any) -> Any:
    """A setting, converted to the type of its default."""
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple):
            meaning = "columns, [] for all" if name == "columns" else "channels, [] for none"
            raise ValueError(f"{name}: expected a list of {meaning}, got {value!r:.100}")
        return tuple(checks.whole_number(name, each, *_limits(name)) for each in value)
    if isinstance(default, str):
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected a text, got {value!r:.100}")
        return value
    if isinstance(default, int):
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return checks.whole_number(name, whole, *_limits(name))
    high = _LARGEST.get(name, math.inf)
    limit = f" and <= {high:g}" if high < math.inf else ""
    return checks.number(
        name, value, f"a finite number > 0{limit}", lambda x: 0.0 < x <= high and x < math.inf
    )


def _limits(name: str) -> tuple[int, int]:
    """Minimum and maximum of an integer setting."""
    return _SMALLEST.get(name, 1), int(_LARGEST.get(name, 10**9))


DEFAULT = Recipe(
    {},
    {},
    Args(
        num_steps=32,
        gamma=0.99,
        gae_lambda=0.95,
        columns=(),
        minibatch_size=4096,
        scale_iterations=40,
    ),
    1024,
    2_000_000,
    100_000,
    (200, 1000),
)
"""Recipe of custom tasks."""

_HOVER_SENSORS = Recipe(
    {
        **{"observation": "sensors", "history": 1, "scene": "beacons", "substeps": 30},
        **{"tilt": 0.5, "heading": 0.4, "velocity": 0.5, "rates": 1.0, "frame": "body"},
    },
    {
        **{"bound": 3.0, "privileged": ["state"]},
        "weights": {"position_scale": 0.3},  # a reward that distinguishes 0.1 m from 0.05 m
    },
    Args(
        memory=64,
        num_steps=16,
        gamma=0.97,
        gae_lambda=0.93,
        reward_scale=0.1,
        columns=(),
        average=10,
        decay_steps=6_471_680,
    ),
    1024,
    6_500_000,
    200_000,
    (500, 1000),
    goal={"within 0.1 m for the last 2 s [%]": 95.0},
)

RECIPES = {
    "hover": Recipe(
        ppo.HOVER,
        ppo.FAST,
        Args(),
        1024,
        500_000,
        50_000,
        (200, 1000),
        others={"sensors": _HOVER_SENSORS},
    ),
    "track": Recipe(
        {"frame": "body"},
        {"substeps": 20, "max_episode_steps": 200, "bound": 3.0},
        Args(
            num_steps=16,
            gamma=0.97,
            columns=(*ppo.STATE, *range(22, 34)),
            minibatch_size=4096,
            scale_iterations=40,
        ),
        1024,
        1_000_000,
        100_000,
        (200, 1000),
    ),
    "land": Recipe(
        {"frame": "body"},
        {
            **{"substeps": 30, "max_episode_steps": 256},
            **{"radius": 0.15, "speed": 0.5},  # margins to 0.3 m and 0.7 m/s
            "weights": {"failure": 2.0},
        },
        Args(num_steps=16, gamma=0.985, gae_lambda=0.95, reward_scale=0.3, minibatch_size=4096),
        1024,
        2_000_000,
        50_000,
        (500, 1000),
        goal={"landed [%]": 100.0},
    ),
    "race": Recipe(
        {"frame": "body", "course_seed": list(range(25))},
        {
            **{"substeps": 30, "max_episode_steps": 300, "bound": 60.0, "anywhere": True},
            "course_seed": list(range(100, 164)),
            "radius": 0.25,  # a margin to the 0.15 m of the rule
            "weights": {"failure": 2.0},
        },
        Args(
            num_steps=32,
            gamma=0.985,
            gae_lambda=0.93,
            reward_scale=0.1,
            columns=(*ppo.STATE, *range(22, 38)),
            minibatch_size=4096,
            scale_iterations=40,
            restart_every=50,
        ),
        1024,
        8_000_000,
        250_000,
        (300, 25),
        between={
            "from the start": {"course_seed": list(range(200, 350)), "episode_seconds": 30.0},
            "from anywhere": {
                "course_seed": list(range(200, 350)),
                "anywhere": True,
                "episode_seconds": 10.0,
            },
        },
        goal={"finished [%]": 100.0, "score": 95.5},
    ),
    "forest": replace(
        DEFAULT,
        options=bptt.FOREST,
        training=bptt.FORESTS,
        args=Args(memory=96, num_steps=32, gamma=0.98, columns=()),
        between={"evaluation": {"forest_seed": 200_000}},
        episodes=(300, 3000),
    ),
}

_BPTT: dict[str, dict[str, Any]] = {
    "forest": {
        **{"training": bptt.COARSE, "steps": 1_500_000, "every": 1_500_000},
        "larger": {
            **{"options": bptt.WIDE, "steps": 6_000_000, "every": 6_000_000},
            "args": bptt.BpttArgs(decay_steps=6_000_000, memory=128, hidden=96, scene_sets=1000),
        },
    },
}
"""Fields of RECIPES that differ with BPTT, which is the default method of these tasks."""

_IMITATE: dict[str, dict[str, Any]] = {
    "race": {
        "options": imitate.GATES,
        "training": {
            "course_seed": list(range(1000, 1064)),
            "episode_seconds": 30.0,
            "privileged": ["state"],
        },
        "args": imitate.ImitateArgs(convolution=(8, 16, 16)),
        "steps": 450_000,
        "every": 150_000,
        "episodes": (100, 300),
        "between": {"evaluation": {"course_seed": list(range(2000, 2100))}},
    },
}
"""Fields of RECIPES that differ with imitation."""

_SHAC: dict[str, dict[str, Any]] = {
    "hover": {
        "training": shac.COARSE,
        "args": shac.ShacArgs(),
        "num_envs": 64,
        "steps": 107_520,
        "every": 53_760,
    },
    "track": {
        "training": {**shac.COARSE, "max_episode_steps": 120, "bound": 3.0},
        "args": shac.ShacArgs(
            learning_rate=8e-3, decay_steps=245_760, columns=(*ppo.STATE, *range(22, 34))
        ),
        "num_envs": 64,
        "steps": 276_480,
    },
    "land": {
        "training": {
            **{**shac.COARSE, "max_episode_steps": 240, "bound": 10.0},
            "weights": {"failure": 2.0, "speed": 0.02},  # the end has no gradient
        },
        "args": shac.ShacArgs(gamma=0.985, decay_steps=400_000),
        "num_envs": 64,
        "steps": 400_000,
    },
    "forest": {
        "training": bptt.COARSE,
        "args": shac.ShacArgs(
            num_steps=30,
            learning_rate=3e-3,
            decay_steps=200_000,
            gamma=0.9,
            reward_scale=0.1,
            memory=96,
            columns=(),
        ),
        "num_envs": 144,
        "steps": 200_000,
        "every": 200_000,
    },
    "race": {
        "training": {**shac.COARSE, "max_episode_steps": 300, "bound": 60.0},
        "args": shac.ShacArgs(
            num_steps=16,
            learning_rate=4e-3,
            decay_steps=2_048_000,
            critic_epochs=4,
            gamma=0.985,
            reward_scale=0.1,
            init_std=0.2,
            columns=(*ppo.STATE, *range(22, 38)),
            scale_iterations=20,
            restart_every=50,
        ),
        "num_envs": 256,
        "steps": 2_048_000,
    },
}
"""Fields of RECIPES that differ with SHAC, and the options that differ in its training."""
