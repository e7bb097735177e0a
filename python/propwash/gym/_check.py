"""A checker for vector environments, the counterpart of gymnasium's for single environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from propwash.gym import _options
from propwash.gym._environment import FleetEnv
from propwash.gym._observations import flat, row_of
from propwash.gym._task import Task
from propwash.gym._vector import FleetVectorEnv

OUT_OF_RANGE = 1.2
"""Maximum magnitude of the random actions; beyond 1, so that some are clipped."""


def check_vector_env(
    kind: type[Task], num_envs: int = 3, steps: int = 60, seed: int = 0, **options: Any
) -> None:
    """Checks a task's vector environments against gymnasium's interface and propwash's guarantees.

    In each autoreset mode, with random actions that partly exceed the range, it checks

    - spaces, shapes, types, metadata, infos as arrays with masks, copies and equal seeds;
    - that n environments give, bit for bit, the results of n vector environments of size 1,
      and those of n single environments that are reset explicitly.

    Args:
        kind: Class of the task.
        num_envs: Number n of environments.
        steps: Number of steps in each mode.
        seed: Seed of the environments and the actions.
        options: Arguments of the task and of `Settings`; max_episode_steps defaults to 25.

    Raises:
        AssertionError: For the first violation.
    """
    options = {"max_episode_steps": 25, **options}
    for mode in AutoresetMode:
        many = _made(FleetVectorEnv, kind, 0, options, num_envs=num_envs, autoreset_mode=mode)
        check_interface(many, mode, seed)
        _check_vectors(kind, many, mode, steps, seed, options)
        _check_singles(kind, many, mode, steps, seed, options)
        many.close()


def _made(make: Any, kind: type[Task], index: int, options: Any, **more: Any) -> Any:
    """Environments of a task, the first of them number `index` after the one in `options`."""
    arguments, others = _options.split(kind, options)
    others["index"] = others.get("index", 0) + index
    return make(kind(**arguments), **more, **others)


def check_interface(env: VectorEnv[Any, Any, Any], mode: AutoresetMode, seed: int = 0) -> None:
    """Checks what any vector environment with observations of a Box or a Dict must fulfil."""
    n = env.num_envs
    found = env.metadata.get("autoreset_mode")
    _require(found is mode, f"metadata['autoreset_mode']: expected {mode}, got {found!r}")
    expected = batch_space(env.single_observation_space, n)
    _require(env.observation_space == expected, "observation_space: not n rows")
    begun, infos = env.reset(seed=seed)
    _require(env.observation_space.contains(begun), "reset: the observation is not in its space")
    _check_infos(infos, n)
    first, again = flat(begun), flat(env.reset(seed=seed)[0])
    _require(np.array_equal(first, again), "reset: equal seeds gave different observations")
    _require(len(np.unique(first, axis=0)) == n or n == 1, "reset: expected different starts")
    later = flat(env.reset()[0])
    _require(not np.array_equal(first, later), "reset: without a seed the stream did not continue")
    other = flat(env.reset(seed=seed + 1)[0])
    _require(not np.array_equal(first, other), "reset: different seeds gave equal observations")
    env.reset(seed=seed)
    last = None
    actions = np.zeros(env.action_space.shape or (), dtype=np.float32)
    for _ in range(3):
        seen, reward, terminated, truncated, infos = env.step(actions)
        _require(env.observation_space.contains(seen), "step: the observation is not in its space")
        _require(reward.shape == (n,) and reward.dtype.kind == "f", "reward: expected (n,) floats")
        for name, flags in (("terminated", terminated), ("truncated", truncated)):
            _require(flags.shape == (n,) and flags.dtype == np.bool_, f"{name}: expected (n,) bool")
        _check_infos(infos, n)
        if last is not None:
            same = np.array_equal(flat(last[0]), last[1])
            _require(same, "step: changed the observation of the step before")
        last = seen, flat(seen)
        if (terminated | truncated).any():
            break


def _check_infos(infos: dict[str, Any], n: int) -> None:
    for name, values in infos.items():
        if name.startswith("_"):
            is_mask = values.dtype == np.bool_ and values.shape == (n,)
            _require(is_mask, f"infos[{name!r}]: expected (n,) bool")
            continue
        _require(f"_{name}" in infos, f"infos[{name!r}]: its mask _{name} is missing")
        if isinstance(values, dict):
            _check_infos(values, n)
        else:
            _require(len(values) == n, f"infos[{name!r}]: expected {n} rows, got {len(values)}")


def _actions(env: Any, steps: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    shape = (steps, *env.action_space.shape)
    return rng.uniform(-OUT_OF_RANGE, OUT_OF_RANGE, shape).astype(np.float32)


def _stepped(env: Any, actions: Any, mode: AutoresetMode) -> Any:
    """Steps a vector environment and, in mode DISABLED, resets the episodes that ended.

    Returns the result of step(), and the observation of the reset or None.
    """
    result = env.step(actions)
    done = result[2] | result[3]
    if mode is AutoresetMode.DISABLED and done.any():
        try:
            env.step(actions)
        except ResetNeeded:
            pass
        else:
            raise AssertionError("step: continued after the end of an episode, in mode DISABLED")
        return result, env.reset(options={"reset_mask": done})[0]
    return result, None


def _check_vectors(
    kind: type[Task], many: Any, mode: AutoresetMode, steps: int, seed: int, options: Any
) -> None:
    """Compares with vector environments of size 1."""
    n = many.num_envs
    ones = [_made(FleetVectorEnv, kind, i, options, autoreset_mode=mode) for i in range(n)]
    first = many.reset(seed=seed)[0]
    for i, env in enumerate(ones):
        _same(mode, "reset", i, row_of(first, i), row_of(env.reset(seed=seed)[0], 0))
    for t, actions in enumerate(_actions(many, steps, seed)):
        result, first = _stepped(many, actions, mode)
        for i, env in enumerate(ones):
            alone, first_alone = _stepped(env, actions[i : i + 1], mode)
            for name, one, other in zip(_NAMES, result, alone, strict=False):
                _same(mode, f"step {t}, {name}", i, row_of(one, i), row_of(other, 0))
            _same(mode, f"step {t}, infos", i, _row(result[4], i), _row(alone[4], 0))
            if first_alone is not None:
                _same(mode, f"step {t}, reset", i, row_of(first, i), row_of(first_alone, 0))


_NAMES = ("observation", "reward", "terminated", "truncated")


def _row(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """The infos of one environment."""
    return {
        name: _row(values, row) if isinstance(values, dict) else values[row]
        for name, values in infos.items()
        if not name.startswith("_") and infos[f"_{name}"][row]
    }


def _check_singles(
    kind: type[Task], many: Any, mode: AutoresetMode, steps: int, seed: int, options: Any
) -> None:
    """Compares with single environments that are reset explicitly, as the mode requires."""
    singles = [_made(FleetEnv, kind, i, options) for i in range(many.num_envs)]
    first = many.reset(seed=seed)[0]
    for i, env in enumerate(singles):
        _same(mode, "reset", i, row_of(first, i), env.reset(seed=seed)[0])
    done = [False] * many.num_envs
    for t, actions in enumerate(_actions(many, steps, seed)):
        result, first = _stepped(many, actions, mode)
        for i, env in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and done[i]:
                seen, info = env.reset(options={"steps_before": 1})
                alone: Any = (seen, 0.0, False, False, info)
            else:
                alone = env.step(actions[i])
            done[i] = bool(alone[2] or alone[3])
            parts = [row_of(part, i) for part in result[:4]]
            infos = _row(result[4], i)
            if mode is AutoresetMode.SAME_STEP and done[i]:
                _same(mode, f"step {t}, first observation", i, parts[0], env.reset()[0])
                parts[0], infos = infos["final_obs"], infos["final_info"]
            if mode is AutoresetMode.DISABLED and done[i]:
                _same(mode, f"step {t}, reset", i, row_of(first, i), env.reset()[0])
            for name, one, other in zip(_NAMES, parts, alone, strict=False):
                _same(mode, f"step {t}, {name}", i, one, other)
            _same(mode, f"step {t}, infos", i, infos, alone[4])


def _same(mode: AutoresetMode, what: str, row: int, one: Any, alone: Any) -> None:
    if isinstance(one, dict):
        _require(one.keys() == alone.keys(), f"{mode.name}, {what}: {list(one)}, {list(alone)}")
        for name in one:
            _same(mode, f"{what} {name!r}", row, one[name], alone[name])
        return
    _require(
        np.array_equal(np.asarray(one), np.asarray(alone)),
        f"{mode.name}, {what}: environment {row} gave {one}, alone {alone}",
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
