"""A checker of vector environments, as gymnasium has one for single ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from propwash.gym import _options
from propwash.gym._single import FleetEnv
from propwash.gym._task import Task
from propwash.gym._vector import FleetVectorEnv

OUT_OF_RANGE = 1.2
"""Of the actions that are tried, so that some are clipped."""


def check_vector_env(
    kind: type[Task], num_envs: int = 3, steps: int = 60, seed: int = 0, **options: Any
) -> None:
    """Raises AssertionError for the first thing that is not as gymnasium, or the docs, have it.

    kind: of the task. options: those of the task and of `Settings`; max_episode_steps is 25 unless
    given. In each autoreset mode, with random actions from outside of the range too:

    - spaces, shapes, types, metadata, infos in arrays with masks, copies, equal seeds;
    - the run of n environments is that of n vector environments of one, bit for bit;
    - and that of n single environments that are reset by hand, bit for bit.
    """
    options = {"max_episode_steps": 25, **options}
    for mode in AutoresetMode:
        many = _vector(kind, num_envs, 0, mode, options)
        check_interface(many, mode, seed)
        _check_halves(kind, many, mode, steps, seed, options)
        _check_singles(kind, many, mode, steps, seed, options)
        many.close()


def _vector(kind: type[Task], n: int, index: int, mode: AutoresetMode, options: Any) -> Any:
    own, others = _options.split(kind, options)
    others["index"] = others.get("index", 0) + index
    return FleetVectorEnv(kind(**own), n, autoreset_mode=mode, **others)


def _single(kind: type[Task], index: int, options: Any) -> FleetEnv:
    own, others = _options.split(kind, options)
    others["index"] = others.get("index", 0) + index
    return FleetEnv(kind(**own), **others)


def check_interface(env: VectorEnv[Any, Any, Any], mode: AutoresetMode, seed: int = 0) -> None:
    """The part that any vector environment with one Box of observations must pass."""
    n = env.num_envs
    told = env.metadata.get("autoreset_mode")
    _say(told is mode, f"metadata['autoreset_mode']: expected {mode}, got {told!r}")
    width = env.single_observation_space.shape
    _say(env.observation_space.shape == (n, *(width or ())), "observation_space: not n rows")
    first, infos = env.reset(seed=seed)
    _say(env.observation_space.contains(first), "reset: the observation is not in its space")
    _check_infos(infos, n)
    again, _ = env.reset(seed=seed)
    _say(np.array_equal(first, again), "reset: equal seeds gave different observations")
    _say(len(np.unique(first, axis=0)) == n or n == 1, "reset: two environments started alike")
    later, _ = env.reset()
    _say(not np.array_equal(first, later), "reset: without a seed the stream did not go on")
    other, _ = env.reset(seed=seed + 1)
    _say(not np.array_equal(first, other), "reset: different seeds gave equal observations")
    env.reset(seed=seed)
    kept = None
    actions = np.zeros(env.action_space.shape or (), dtype=np.float32)
    for _ in range(3):
        seen, reward, terminated, truncated, infos = env.step(actions)
        _say(env.observation_space.contains(seen), "step: the observation is not in its space")
        _say(reward.shape == (n,) and reward.dtype.kind == "f", "reward: expected (n,) floats")
        for name, flags in (("terminated", terminated), ("truncated", truncated)):
            _say(flags.shape == (n,) and flags.dtype == np.bool_, f"{name}: expected (n,) truths")
        _check_infos(infos, n)
        if kept is not None:
            _say(np.array_equal(*kept), "step: changed the observation that it gave before")
        kept = seen, seen.copy()
        if (terminated | truncated).any():
            break


def _check_infos(infos: dict[str, Any], n: int) -> None:
    for name, values in infos.items():
        if name.startswith("_"):
            right = values.dtype == np.bool_ and values.shape == (n,)
            _say(right, f"infos[{name!r}]: expected (n,) truths")
            continue
        _say(f"_{name}" in infos, f"infos[{name!r}]: its mask _{name} is missing")
        if isinstance(values, dict):
            _check_infos(values, n)
        else:
            _say(len(values) == n, f"infos[{name!r}]: expected {n} rows, got {len(values)}")


def _actions(env: Any, steps: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    shape = (steps, *env.action_space.shape)
    return rng.uniform(-OUT_OF_RANGE, OUT_OF_RANGE, shape).astype(np.float32)


def _stepped(env: Any, actions: Any, mode: AutoresetMode) -> Any:
    """A step of a vector environment, and the resets that mode DISABLED leaves to the caller."""
    given = env.step(actions)
    done = given[2] | given[3]
    if mode is AutoresetMode.DISABLED and done.any():
        try:
            env.step(actions)
        except ResetNeeded:
            pass
        else:
            raise AssertionError("step: went on after the end of an episode, in mode DISABLED")
        begun, _ = env.reset(options={"reset_mask": done})
        return given, begun
    return given, None


def _check_halves(
    kind: type[Task], many: Any, mode: AutoresetMode, steps: int, seed: int, options: Any
) -> None:
    ones = [_vector(kind, 1, i, mode, options) for i in range(many.num_envs)]
    begun = many.reset(seed=seed)[0]
    for i, env in enumerate(ones):
        _same(mode, "reset", i, begun[i], env.reset(seed=seed)[0][0])
    for t, actions in enumerate(_actions(many, steps, seed)):
        given, begun = _stepped(many, actions, mode)
        for i, env in enumerate(ones):
            alone, own_begun = _stepped(env, actions[i : i + 1], mode)
            for name, ours, theirs in zip(_NAMES, given, alone, strict=False):
                _same(mode, f"step {t}, {name}", i, ours[i], theirs[0])
            _same_infos(mode, t, i, _of(given[4], i), _of(alone[4], 0))
            if own_begun is not None:
                _same(mode, f"step {t}, reset", i, begun[i], own_begun[0])


_NAMES = ("observation", "reward", "terminated", "truncated")


def _of(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """What infos say of one environment."""
    own = {}
    for name, values in infos.items():
        if not name.startswith("_") and infos[f"_{name}"][row]:
            own[name] = _of(values, row) if isinstance(values, dict) else values[row]
    return own


def _check_singles(
    kind: type[Task], many: Any, mode: AutoresetMode, steps: int, seed: int, options: Any
) -> None:
    """Against single environments, that are reset by hand as the mode says."""
    singles = [_single(kind, i, options) for i in range(many.num_envs)]
    begun = many.reset(seed=seed)[0]
    for i, env in enumerate(singles):
        _same(mode, "reset", i, begun[i], env.reset(seed=seed)[0])
    done = [False] * many.num_envs
    for t, actions in enumerate(_actions(many, steps, seed)):
        given, begun = _stepped(many, actions, mode)
        for i, env in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and done[i]:
                seen, info = env.reset(options={"steps_before": 1})
                alone: Any = (seen, 0.0, False, False, info)
            else:
                alone = env.step(actions[i])
            done[i] = bool(alone[2] or alone[3])
            ours = [part[i] for part in given[:4]]
            told = _of(given[4], i)
            if mode is AutoresetMode.SAME_STEP and done[i]:
                fresh, _ = env.reset()
                _same(mode, f"step {t}, first observation", i, ours[0], fresh)
                ours[0], told = told["final_obs"], told["final_info"]
            if mode is AutoresetMode.DISABLED and done[i]:
                fresh, _ = env.reset()
                _same(mode, f"step {t}, reset", i, begun[i], fresh)
            for name, one, other in zip(_NAMES, ours, alone, strict=False):
                _same(mode, f"step {t}, {name}", i, one, other)
            _same_infos(mode, t, i, told, alone[4])


def _same(mode: AutoresetMode, what: str, row: int, ours: Any, theirs: Any) -> None:
    _say(
        np.array_equal(np.asarray(ours), np.asarray(theirs)),
        f"{mode.name}, {what}: environment {row} gave {ours}, alone {theirs}",
    )


def _same_infos(mode: AutoresetMode, t: int, row: int, ours: Any, theirs: Any) -> None:
    same = ours.keys() == theirs.keys()
    _say(same, f"{mode.name}, step {t}: infos {sorted(ours)}, alone {sorted(theirs)}")
    for name, value in ours.items():
        if isinstance(value, dict):
            _same_infos(mode, t, row, value, theirs[name])
        else:
            _same(mode, f"step {t}, infos[{name!r}]", row, value, theirs[name])


def _say(right: bool, otherwise: str) -> None:
    if not right:
        raise AssertionError(otherwise)
