"""Trained policies as files: an ONNX network with the task and options it was trained for.

    policy = Policy.load("policy.onnx")
    envs = policy.make_vec(100)
    observation, _ = envs.reset(seed=1)
    observation, *_ = envs.step(policy.act(observation))

Evaluating a policy requires onnxruntime but not PyTorch. The network maps observations (n, k) of
the environments to actions (n, A) in [-1, 1]; it includes normalisation. The network of a policy
with memory has a second input, `memory` (n, N), zero where an episode begins, and a second output,
the memory for the next step. `Policy` keeps it:

    policy.reset(begins)  # (n,) bool, where the next observation begins an episode
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces.utils import flatdim
from numpy.typing import ArrayLike, NDArray

import propwash.gym as pg
from propwash import _checks as checks
from propwash._checks import nearest, shown
from propwash._files import is_file, read_bytes, written_whole
from propwash.gym import _differences, _network, _options
from propwash.gym._observations import flat

__all__ = ["Description", "DifferenceWarning", "Policy", "describe", "save", "task_class"]

if TYPE_CHECKING:
    from propwash.gym.ppo import Agent

KINDS: dict[str, type[pg.Task]] = {
    "hover": pg.Hover,
    "track": pg.Track,
    "race": pg.Race,
    "land": pg.Land,
    "forest": pg.ForestFlight,
}
"""Tasks with a short name."""
_SHIPPED = Path(__file__).parent / "policies"
_KEY = "propwash"
_MAX_WIDTH = 1_000_000  # of an observation
_SAVED = (
    *("vehicle", "substeps", "dt", "integrator"),
    *(name for name in _differences.MEANINGS if name in _options.option_names()),
)


def task_class(name: str) -> type[pg.Task]:
    """Returns the task of a name of KINDS, `module:Class`, or a gymnasium id.

    Imports the module. Raises ValueError for an unknown name, and for one of something else.
    """
    if name in KINDS:
        return KINDS[name]
    before, separator, after = name.rpartition(":")
    expected = f"expected one of {', '.join(KINDS)}, module:Class or the id of a registered task"
    try:
        module = import_module(before) if separator else None
        if after in gymnasium.registry:
            found: Any = getattr(gymnasium.spec(after).entry_point, "task", None)
        elif module is not None:
            found = getattr(module, after)
        else:
            raise ValueError(f"task: {expected}, got {name!r:.100}{nearest(name, KINDS)}")
    except (ImportError, AttributeError) as error:
        raise ValueError(f"task {name!r:.100}: {expected}; {error!s:.200}") from error
    if not isinstance(found, type) or not issubclass(found, pg.Task):
        raise ValueError(f"task {name!r:.100}: expected a class derived from propwash.gym.Task")
    return found


@dataclass(frozen=True)
class Description:
    """Task and options of a policy, as JSON values."""

    task: str
    """Name of the task for task_class()."""
    options: dict[str, Any]
    """Options of the task and its environments, by name."""
    training: dict[str, Any] = field(default_factory=dict)
    """Record of the training."""
    version: int = 1
    """Version of the file format."""

    def make_vec(self, num_envs: int, **changes: Any) -> pg.FleetVectorEnv:
        """Makes environments of the task with these options, updated by `changes`."""
        task = task_class(self.task)
        return pg.make_vec(task, num_envs, **_options.merged(task, self.options, changes))


class DifferenceWarning(UserWarning):
    """The environments of a policy differ from those for which it was trained."""


class Policy:
    """A policy loaded from a file."""

    _threads: ClassVar[int] = 1

    def __init__(self, session: Any, description: Description, model: bytes = b"") -> None:
        self._session = session
        self.description = description
        self.model = model
        """The ONNX model."""
        self._inputs, self.observation_size, self.memory_size = _checked_network(session)
        self._memory: NDArray[np.float32] | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Policy:
        """Reads a file written by `save`, or a shipped policy by its name (docs/zoo.md).

        path: the path of a file; "hover", "track", "race", "land" or "forest".

        Raises FileNotFoundError, ImportError without onnxruntime, and ValueError that names the
        file if it is not a policy of propwash: another format, a network that does not map
        observations (n, k) to actions (n, A), an unknown task.
        """
        runtime = require_onnxruntime()
        file = _SHIPPED / f"{path}.onnx" if path in KINDS else Path(path)
        if not is_file(file):
            raise FileNotFoundError(
                f"{file!s:.300}: expected a policy file, or one of {', '.join(KINDS)}, found none"
                + nearest(str(path), KINDS)
            )
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = cls._threads
        options.log_severity_level = 4  # the exception has the details
        try:
            model = read_bytes(file, "an ONNX model", ValueError)
            session = runtime.InferenceSession(
                model,
                options,
                providers=["CPUExecutionProvider"],
                enable_fallback=False,  # the fallback prints a message and repeats the attempt
            )
            text = session.get_modelmeta().custom_metadata_map.get(_KEY)
        except Exception as error:  # onnxruntime does not export its exception types
            raise ValueError(f"{file}: expected an ONNX model, got {error!s:.150}") from error
        if text is None:
            raise ValueError(
                f"{file}: expected a policy of `python -m propwash train`, got a model without a "
                "description of its task"
            )
        description = _described(text, file)
        try:
            return cls(session, description, model)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None

    def act(self, observation: Any) -> NDArray[np.float32]:
        """Returns actions (n, A) in [-1, 1] for observations; ValueError for another width.

        A policy with memory advances it. Raises ValueError if n differs from the call before.
        """
        if isinstance(observation, dict) or np.ndim(observation) > 2:
            observation = flat(observation)
        array = np.ascontiguousarray(observation, dtype=np.float32)
        if array.ndim != 2 or array.shape[1] != self.observation_size:
            raise ValueError(
                f"observation: expected shape (n, {self.observation_size}), got {array.shape}"
            )
        if not np.isfinite(array).all():
            row, column = np.argwhere(~np.isfinite(array))[0]
            observed = self.description.options.get("observation", "state")
            advice = "; replace pixels without a reading by the largest depth"
            raise ValueError(
                f"observation: expected finite numbers, got {array[row, column]} in column "
                f"{column} of row {row}{advice if 'depth' in observed else ''}"
            )
        inputs = [array]
        if self.memory_size:
            if self._memory is None:
                self._memory = np.zeros((len(array), self.memory_size), np.float32)
            if len(array) != len(self._memory):
                raise ValueError(
                    f"observation: expected {len(self._memory)} rows, as in the call before, got "
                    f"{len(array)}; reset() begins anew"
                )
            inputs.append(self._memory)
        outputs = self._session.run(None, dict(zip(self._inputs, inputs, strict=True)))
        self._memory = outputs[1] if self.memory_size else None
        action: NDArray[np.float32] = outputs[0]
        return action

    def reset(self, mask: ArrayLike | None = None) -> None:
        """Clears the memory of all vehicles, or of those in `mask` (n,), before new episodes.

        A policy without memory ignores it. Raises ValueError for a mask of another length.
        """
        if mask is None:
            self._memory = None
        elif self._memory is not None:
            self._memory[checks.mask(mask, len(self._memory))] = 0.0

    def make_vec(self, num_envs: int, **changes: Any) -> pg.FleetVectorEnv:
        """Makes environments with the options of the training, updated by `changes`.

        Warns of each of the differences() with a DifferenceWarning. Raises ValueError if the
        changes alter the width of the observations, or the meaning of observations or actions.
        """
        envs = self.description.make_vec(num_envs, **changes)
        width = flatdim(envs.single_observation_space)
        if width != self.observation_size:
            raise ValueError(
                f"options: expected observations of {self.observation_size} numbers, as in the "
                f"policy's training, got {width}"
            )
        for line in self.differences(**changes):
            warnings.warn(line, DifferenceWarning, stacklevel=2)
        return envs

    def differences(self, **changes: Any) -> list[str]:
        """Returns one line for each option that `changes` alter: "wind = 3: the policy's is 0.0".

        Includes the mass of the vehicle and the rate of the steps. Raises ValueError for a change
        of the meaning of observations or actions, such as `frame`.
        """
        task = task_class(self.description.task)
        return _differences.differences(task, self.description.options, changes)


def describe(
    task: str, options: dict[str, Any], training: dict[str, Any] | None = None
) -> Description:
    """Makes a description that includes the defaults of the options a policy depends on.

    It omits `privileged`, as a policy does not use such columns.
    """
    arguments, others = _options.split(task_class(task), options)
    settings = _options.settings(others)
    others.pop("privileged", None)
    defaults = {
        name: getattr(settings, name) for name in _SAVED if _options.has_effect(name, settings)
    }
    described = Description(task, {**arguments, **defaults, **others}, training or {})
    try:
        json.dumps(asdict(described))
    except TypeError as error:
        raise ValueError(f"options: expected JSON values, got {error}") from error
    return described


def save(agent: Agent, path: str | PathLike[str], description: Description) -> None:
    """Writes an agent's forward() as an ONNX file. Raises ImportError without onnx."""
    onnx = require_onnx()
    model = _network.model(onnx, agent)
    model.producer_name = _KEY
    entry = model.metadata_props.add()
    entry.key, entry.value = _KEY, json.dumps(asdict(description))
    onnx.checker.check_model(model)
    with written_whole(Path(path)) as part:
        part.write_bytes(model.SerializeToString())


def _checked_network(session: Any) -> tuple[list[str], int, int]:
    """Returns the names of the inputs, the width k of an observation and the size of the memory.

    Evaluates the network once with zeros.
    """
    expected = "expected a network from observations (n, k) to actions (n, A)"
    inputs, outputs = session.get_inputs(), session.get_outputs()
    shapes = [list(each.shape) for each in (*inputs, *outputs)]
    if not 1 <= len(inputs) == len(outputs) <= 2 or any(len(each) != 2 for each in shapes):
        raise ValueError(
            f"{expected}, with a memory (n, N) or none, got inputs and outputs of shapes "
            f"{shown(shapes)}"
        )
    for each, what in zip(inputs, ("k", "N"), strict=False):
        if not isinstance(each.shape[1], int) or not 0 < each.shape[1] <= _MAX_WIDTH:
            raise ValueError(f"{expected}, got {what} = {shown(each.shape[1])}")
    zeros = {each.name: np.zeros((2, each.shape[1]), np.float32) for each in inputs}
    try:
        action, *memory = session.run(None, zeros)
    except Exception as error:  # onnxruntime does not export its exception types
        raise ValueError(f"{expected}, it fails with {error!s:.150}") from error
    if not isinstance(action, np.ndarray) or action.ndim != 2 or len(action) != 2:
        raise ValueError(f"{expected}, got {getattr(action, 'shape', type(action))} for n = 2")
    if action.dtype != np.float32 or not (np.abs(action) <= 1.0).all():
        raise ValueError(
            f"{expected}, float32 in [-1, 1]; got {shown(action[0].tolist())} of {action.dtype} "
            "for zeros"
        )
    for before, after in zip(list(zeros.values())[1:], memory, strict=True):
        if getattr(after, "dtype", None) != np.float32 or after.shape != before.shape:
            raise ValueError(
                f"{expected}, and a next memory of shape {before.shape} of float32, got "
                f"{shown(getattr(after, 'shape', type(after)))}"
            )
    return list(zeros), inputs[0].shape[1], inputs[1].shape[1] if memory else 0


def _described(text: str, file: Path) -> Description:
    try:
        described = Description(**json.loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{file}: expected the description of a policy, got {text:.100}"
        ) from error
    task, version = described.task, described.version
    if version != 1 or not isinstance(task, str):
        raise ValueError(
            f"{file}: expected version 1 and the name of a task, got version {shown(version)} and "
            f"{shown(task)}"
        )
    try:
        task_class(task)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    for name in ("options", "training"):
        if not isinstance(getattr(described, name), dict):
            raise ValueError(
                f"{file}: expected {name} as a dict, got {shown(getattr(described, name))}"
            )
    try:
        return replace(described, options=_options.with_effect(described.options))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from error


def require_onnx() -> Any:
    """Imports onnx. Raises ImportError that names the extra to install."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError('a policy file needs onnx: pip install "propwash[torch]"') from error
    return onnx


def require_onnxruntime() -> Any:
    """Imports onnxruntime. Raises ImportError that names the extra to install."""
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        raise ImportError('a policy needs onnxruntime: pip install "propwash[torch]"') from error
