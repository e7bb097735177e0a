"""Policies as C code for flight controllers: C99, single precision, no allocation.

    exported = export_c("hover", "firmware/hover")  # hover.h, hover.c, hover_test.c, README.md

The code contains the network, the observation of a state estimate, the conversion of actions to
commands with the numbers of the vehicle file, and a test with recorded steps. The README.md beside
it has frames, units and rates. docs/firmware.md describes the use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash._files import written_whole
from propwash.gym._c_parts import (
    Command,
    Inputs,
    command_of,
    inputs_of,
    literal,
    literals,
    struct,
    table,
)
from propwash.gym.policy import Policy, require_onnx
from propwash.vehicle import VehicleParameters

__all__ = ["ExportedPolicy", "export_c"]

Floats = NDArray[np.float32]
_SAMPLES = 32
"""Recorded steps of the test."""
_ROWS = 8
"""Outputs that the C function of a layer computes at a time."""
_LAYERS = ["Gather", "Sub", "Mul", "Clip"]
_C_HEADERS = (
    "assert",
    "ctype",
    "errno",
    "float",
    "limits",
    "locale",
    "math",
    "setjmp",
    "signal",
    "stdarg",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
    "string",
    "time",
)
"""Headers of the language that a file NAME.h would hide."""
_GRU = ["Unsqueeze", "Unsqueeze", "GRU", "Squeeze", "Concat"]
_FRAMES = ["Split", "Greater", "Tile", "Where", "Concat", "Split", "Max", "Concat"]


@dataclass(frozen=True)
class ExportedPolicy:
    """What export_c() has written."""

    name: str
    """Prefix of the functions, and name of the files."""
    files: tuple[Path, ...]
    """The header, the source, the test and the README."""
    constant_bytes: int
    """Constants of the network, for flash."""
    multiplications: int
    """Multiplications of the network for each step."""


@dataclass(frozen=True)
class _Network:
    """The numbers of an ONNX file of propwash.gym.policy.save()."""

    columns: NDArray[Any]
    mean: Floats
    scale: Floats
    layers: list[tuple[Floats, Floats]]
    """Weights (outputs, inputs) and biases."""
    gru: list[tuple[Floats, Floats]]
    """Those of the inputs and of the memory; gates in the order update, reset, new. Or empty."""
    memory: int

    @property
    def kind(self) -> str:
        """What remembers: "gru", "frames" or ""."""
        return "gru" if self.gru else "frames" if self.memory else ""

    @property
    def tables(self) -> dict[str, Floats]:
        """The numbers of each layer in the order in which C reads them."""
        named = {f"GRU_{part}": layer for part, layer in zip(("X", "H"), self.gru, strict=False)}
        named |= {f"LAYER_{k}": layer for k, layer in enumerate(self.layers)}
        return {name: _packed(*layer) for name, layer in named.items()}

    @property
    def width(self) -> int:
        """The largest number of values between two layers, with the rows of zeros."""
        return max(_padded(max(weights.shape)) for weights, _ in self.layers)


def export_c(
    policy: str | PathLike[str], folder: str | PathLike[str], name: str | None = None
) -> ExportedPolicy:
    """Writes a policy as C code into a folder, which is made if necessary.

    Args:
        policy: A file written by `propwash.gym.policy.save`, or the name of a shipped policy.
        folder: For NAME.h, NAME.c, NAME_test.c and README.md; files of these names are replaced.
        name: Prefix of the functions, by default the name of the policy.

    Raises:
        FileNotFoundError, ImportError: As Policy.load.
        ValueError: For observations other than "state" or "sensors", a network with other layers
            than those of propwash or weights that are not finite, or an invalid name.
    """
    loaded = Policy.load(policy)
    path = Path(policy)
    name = path.stem if name is None else name
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", str(name)) or name in _C_HEADERS:
        raise ValueError(
            f"name = {name!r:.100}: expected lower-case letters, digits and _, as a prefix of C "
            "functions, and no name of a C header; choose one with name= (--name)"
        )
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"{folder}: expected a folder, found a file")
    network = _network(loaded.model, path)
    envs = loaded.description.make_vec(1)
    try:
        inputs = inputs_of(loaded, envs, name)
        command = command_of(envs)
        recorded = list(_recorded(loaded, envs, inputs))
    finally:
        envs.close()
    values = _values(loaded, name, path, network, inputs, command, envs.period)
    values |= _vehicle(envs.fleet.vehicle)
    values |= _recording(name, inputs, recorded)
    texts = {
        f"{name}.h": _filled("policy.h", values),
        f"{name}.c": _filled("policy.c", values),
        f"{name}_test.c": _filled("test.c", values),
        "README.md": _filled("README.md", values),
    }
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        with written_whole(target / file) as part:
            part.write_text(text, encoding="utf-8")
    files = tuple(target / file for file in texts)
    return ExportedPolicy(name, files, values["constant_bytes"], values["multiplications"])


def _network(model: bytes, path: Path) -> _Network:
    """Reads the graph. Raises ValueError for layers that propwash does not write."""
    onnx = require_onnx()
    graph = onnx.load_from_string(model).graph
    numbers = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    kinds = [node.op_type for node in graph.node]
    rest = kinds[len(_LAYERS) :]
    memory = next((part for part in (_GRU, _FRAMES) if rest[: len(part)] == part), [])
    rest = rest[len(memory) :]
    count = rest.count("Gemm")
    expected = ["Gemm", "Tanh"] * count
    expected[-1:] = ["Clip"]
    if kinds[: len(_LAYERS)] != _LAYERS or rest != expected or count == 0:
        known = {*_LAYERS, *_GRU, *_FRAMES, "Gemm", "Tanh"}
        odd = sorted(set(kinds) - known) or kinds
        raise ValueError(
            f"{path}: expected the layers of `python -m propwash train` (normalisation, a GRU or "
            f"the last observations, fully connected layers with tanh), got {', '.join(odd)}"
        )
    own = [f"{kind}{k}" for k in range(count) for kind in "wb"]
    own += [
        "columns",
        "mean",
        "scale",
        *(["bias", "weight_ih", "weight_hh"] if memory is _GRU else []),
    ]
    missing = [name for name in own if name not in numbers]
    if missing:
        raise ValueError(
            f"{path}: expected initializers with the names of `python -m propwash train`, found no "
            f"{', '.join(missing)}, but {', '.join(sorted(numbers)) or 'none'}"
        )
    if not all(np.isfinite(each).all() for each in numbers.values()):
        raise ValueError(f"{path}: expected finite weights, got inf or NaN; train another policy")
    gru = []
    if memory is _GRU:
        bias_x, bias_h = np.split(numbers["bias"][0], 2)
        gru = [(numbers["weight_ih"][0], bias_x), (numbers["weight_hh"][0], bias_h)]
    size = graph.input[1].type.tensor_type.shape.dim[1].dim_value if memory else 0
    layers = [(numbers[f"w{k}"], numbers[f"b{k}"]) for k in range(count)]
    return _Network(numbers["columns"], numbers["mean"], numbers["scale"], layers, gru, size)


def _padded(count: int) -> int:
    return -(-count // _ROWS) * _ROWS


def _packed(weights: Floats, biases: Floats) -> Floats:
    """For each group of rows the biases, then the weights of each input."""
    outputs, inputs = weights.shape
    rows = np.zeros((_padded(outputs), 1 + inputs), np.float32)
    rows[:outputs, 0], rows[:outputs, 1:] = biases, weights
    return rows.reshape(-1, _ROWS, 1 + inputs).transpose(0, 2, 1).ravel()


def _recorded(policy: Policy, envs: Any, inputs: Inputs) -> Iterator[tuple[Floats, Floats]]:
    """Inputs and actions of a flight from the start of an episode."""
    observation, _ = envs.reset(seed=1)
    policy.reset()
    for _ in range(_SAMPLES):
        seen = inputs.read(envs, observation)
        action = policy.act(observation)
        yield seen, action[0].copy()
        observation, _, terminated, truncated, _ = envs.step(action)
        if terminated[0] or truncated[0]:
            return
    policy.reset()


def _values(
    policy: Policy,
    name: str,
    path: Path,
    network: _Network,
    inputs: Inputs,
    command: Command,
    period: float,
) -> dict[str, Any]:
    """The values of the templates."""
    own, tables = len(network.columns), network.tables
    network_code, last = _code(network)
    stack = 4 * (2 * network.width + policy.observation_size) + 200
    stack += 8 * _padded(3 * network.memory) if network.kind == "gru" else 0
    values = {
        "version": _core.__version__,
        "name": name,
        "NAME": name.upper(),
        "title": f"Policy {name}: {policy.description.task}",
        "source": path.name,
        "period": literal(period),
        "seconds": f"{period:.6g}",
        "rate": f"{1.0 / period:.6g}",
        "function": inputs.function,
        "observations": policy.observation_size,
        "actions": command.actions,
        "memory_members": _member("memory", network.memory, "What the network remembers."),
        "and_memory": " and the memory" if network.memory else "",
        "inputs_of_network": own,
        "columns": literals(network.columns),
        "mean": literals(network.mean),
        "scale": literals(network.scale),
        "rows": _ROWS,
        "tables": "".join(_table(key, numbers) for key, numbers in tables.items()),
        "memory_functions": _remember(network),
        "width": network.width,
        "network": network_code,
        "last": last,
        "command_members": struct(command.members),
        "conversion": command.conversion,
        "commands": table(command.members),
        "safe": command.safe,
        "constant_bytes": 10 * own + sum(4 * len(each) for each in tables.values()),
        "stack_bytes": -(-stack // 100) * 100,
        "multiplications": sum(len(each) for each in tables.values()),
    }
    return values | inputs.values(values)


def _vehicle(vehicle: VehicleParameters) -> dict[str, str]:
    """Name, mass [kg] and maximum thrust [N] of the vehicle of a policy."""
    return {
        "vehicle": re.sub(r"[^\w .-]", "_", vehicle.name),  # it must not end a comment
        "mass": f"{vehicle.body.mass:.6g}",
        "max_thrust": f"{vehicle.max_thrust:.6g}",
    }


def _code(network: _Network) -> tuple[str, str]:
    """C: the calls of the layers, and the array with the result; they use x and y in turns."""
    lines = ["remember(x, policy->memory);"] if network.memory else []
    source, target = "x", "y"
    for k, (weights, _) in enumerate(network.layers):
        outputs, width = weights.shape
        if k:
            lines.append(f"tanh_all({source}, {width});")
        lines.append(f"layer(LAYER_{k}, {source}, {width}, {target}, {outputs});")
        source, target = target, source
    return "".join(f"  {line}\n" for line in lines), source


def _recording(
    name: str, inputs: Inputs, recorded: Sequence[tuple[Floats, Floats]]
) -> dict[str, Any]:
    rows, actions = zip(*recorded, strict=True)
    return {
        "samples": len(rows),
        "recorded_inputs": "".join(f"  {literals(row)},\n" for row in rows),
        "recorded_actions": "".join(f"  {literals(row)},\n" for row in actions),
        "call": inputs.call,
        "recorded_width": len(rows[0]),
    }


def _remember(network: _Network) -> str:
    if not network.kind:
        return ""
    values = {
        "memory": network.memory,
        "padded": _padded(3 * network.memory),
        "stored": network.memory - 1,
    }
    return _filled(f"{network.kind}.c", values)


def _filled(template: str, values: dict[str, Any]) -> str:
    text = (
        resources.files("propwash.gym.firmware").joinpath(f"{template}.template").read_text("utf-8")
    )
    return Template(text).substitute(values)


def _table(name: str, numbers: Floats) -> str:
    return f"static const float {name}[{len(numbers)}] = {literals(numbers)};\n"


def _member(name: str, count: int, meaning: str) -> str:
    return f"  /** {meaning} */\n  float {name}[{count}];\n" if count else ""
