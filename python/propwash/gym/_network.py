"""The ONNX network of an agent: normalisation, convolutions, memory, layers with tanh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from propwash.gym.ppo import Agent

_OPSET, _IR = 17, 8
Constants = dict[str, NDArray[Any]]


def model(onnx: Any, agent: Agent) -> Any:
    """Returns the model of agent.forward(): observation, memory -> action, next_memory.

    An agent without memory has the first input and the first output only.
    """
    node, kind = onnx.helper.make_node, onnx.TensorProto.FLOAT
    parts = {name: each.detach().numpy() for name, each in agent.state_dict().items()}
    # the columns after these are for the critic
    columns, mean, var = (parts[name][: agent.own] for name in ("columns", "mean", "var"))
    scale = 1.0 / np.sqrt(var + np.float32(1e-8))
    numbers: Constants = {"columns": columns, "mean": mean, "scale": scale}
    numbers |= {"max": np.array(10.0, np.float32), "min": np.array(-10.0, np.float32)}
    numbers |= {"one": np.array(1.0, np.float32), "minus_one": np.array(-1.0, np.float32)}
    nodes = [
        node("Gather", ["observation", "columns"], ["seen"], axis=1),
        node("Sub", ["seen", "mean"], ["centred"]),
        node("Mul", ["centred", "scale"], ["scaled"]),
        node("Clip", ["scaled", "min", "max"], ["x"]),
    ]
    value = "x"
    if "encoder.layers.0.weight" in parts:
        nodes += _convolutions(node, parts, agent.encoder, numbers)
        value = "encoded"
    memory_size: int = getattr(agent, "memory_size", 0)
    if memory_size:
        remember = _gru if "gru.weight_ih" in parts else _frames
        nodes += remember(node, parts, agent, numbers, value)
        value = "remembered"
    layers = [name[:-7] for name in parts if name.startswith("actor.") and name.endswith(".weight")]
    for k, layer in enumerate(layers):
        numbers |= {f"w{k}": parts[f"{layer}.weight"], f"b{k}": parts[f"{layer}.bias"]}
        nodes.append(node("Gemm", [value, f"w{k}", f"b{k}"], [f"y{k}"], transB=1))
        value = f"y{k}"
        if layer is not layers[-1]:
            nodes.append(node("Tanh", [value], [f"x{k + 1}"]))
            value = f"x{k + 1}"
    nodes.append(node("Clip", [value, "minus_one", "one"], ["action"]))
    widths = {"observation": agent.observation_size, "memory": memory_size}
    widths |= {"action": len(parts["log_std"]), "next_memory": memory_size}
    row = {
        name: onnx.helper.make_tensor_value_info(name, kind, ["n", width])
        for name, width in widths.items()
        if width
    }
    graph = onnx.helper.make_graph(
        nodes,
        "policy",
        [row[name] for name in ("observation", "memory") if name in row],
        [row[name] for name in ("action", "next_memory") if name in row],
        [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in numbers.items()],
    )
    opset = [onnx.helper.make_opsetid("", _OPSET)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=_IR)


def _convolutions(node: Any, parts: Constants, encoder: Any, numbers: Constants) -> list[Any]:
    """Nodes of propwash.gym._convolution.Convolutions: x -> encoded."""
    numbers["pixels"], numbers["rest"] = encoder.pixels.numpy(), encoder.rest.numpy()
    numbers["image_shape"] = np.array([-1, *encoder.shape])
    nodes = [
        node("Gather", ["x", "pixels"], ["image_columns"], axis=1),
        node("Reshape", ["image_columns", "image_shape"], ["rows"]),
        node("Transpose", ["rows"], ["image"], perm=[0, 3, 1, 2]),
    ]
    value = "image"
    for k in range(len(encoder.layers)):
        for part in ("weight", "bias"):
            numbers[f"filter_{part}{k}"] = parts[f"encoder.layers.{k}.{part}"]
        inputs = [value, f"filter_weight{k}", f"filter_bias{k}"]
        value = f"features{k}"
        nodes += [
            node("Conv", inputs, [f"filtered{k}"], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("Tanh", [f"filtered{k}"], [value]),
        ]
    return [
        *nodes,
        node("Flatten", [value], ["flat"]),
        node("Gather", ["x", "rest"], ["other"], axis=1),
        node("Concat", ["flat", "other"], ["encoded"], axis=1),
    ]


def _gru(node: Any, parts: Constants, agent: Any, numbers: Constants, seen: str) -> list[Any]:
    """Nodes of propwash.gym.recurrent.GruAgent.see(); ONNX has update and reset gate swapped."""
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        reset, update, new = np.split(parts[f"gru.{name}"], 3)
        numbers[name] = np.concatenate([update, reset, new])[None]
    numbers["bias"] = np.concatenate([numbers.pop("bias_ih"), numbers.pop("bias_hh")], axis=1)
    numbers["first"] = np.array([0])
    return [
        node("Unsqueeze", [seen, "first"], ["sequence"]),
        node("Unsqueeze", ["memory", "first"], ["before"]),
        node(
            "GRU",
            ["sequence", "weight_ih", "weight_hh", "bias", "", "before"],
            ["", "after"],
            hidden_size=agent.memory_size,
            linear_before_reset=1,
        ),
        node("Squeeze", ["after", "first"], ["next_memory"]),
        node("Concat", [seen, "next_memory"], ["remembered"], axis=1),
    ]


def _frames(node: Any, parts: Constants, agent: Any, numbers: Constants, x: str) -> list[Any]:
    """Nodes of propwash.gym.recurrent.FrameAgent.see()."""
    stored = agent.memory_size - 1
    numbers["zero"] = np.array(0.0, np.float32)
    numbers["repeats"] = np.array([1, agent.frames - 1])
    numbers["kept"], numbers["shifted"] = np.array([stored, 1]), np.array([stored, agent.own])
    return [
        node("Split", ["memory", "kept"], ["stored", "going"], axis=1),
        node("Greater", ["going", "zero"], ["goes_on"]),
        node("Tile", [x, "repeats"], ["repeated"]),
        node("Where", ["goes_on", "stored", "repeated"], ["earlier"]),
        node("Concat", [x, "earlier"], ["remembered"], axis=1),
        node("Split", ["remembered", "shifted"], ["last", "oldest"], axis=1),
        node("Max", ["going", "one"], ["begun"]),
        node("Concat", ["last", "begun"], ["next_memory"], axis=1),
    ]
