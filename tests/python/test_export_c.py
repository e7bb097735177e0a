"""Policies exported as C: compared with ONNX, flown, and run on an emulated Cortex-M4F."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch")

import propwash.gym as pg
import torch
from propwash import vehicles
from propwash.cli.main import main
from propwash.gym import policy, ppo, recurrent
from propwash.gym.export_c import ExportedPolicy, export_c
from propwash.gym.policy import KINDS, Policy

BOARD = Path(__file__).parents[1] / "firmware"
COMPILERS = [each for each in ("gcc", "clang") if shutil.which(each)]
WITH_STATES = [name for name in KINDS if name != "forest"]
"""Shipped policies whose observations C code computes."""
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
M4F = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="a C compiler is missing")
needs_board = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="arm-none-eabi-gcc or qemu-system-arm is missing",
)


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def untrained(path: Path, options: dict[str, Any], **hyper: Any) -> Path:
    """A policy with random weights, large enough that actions vary."""
    generator = torch.Generator().manual_seed(1)
    described = policy.describe("hover", {"frame": "body", **options})
    envs = described.make_vec(1)
    seen, _ = envs.reset(seed=1)
    inputs, outputs = seen.shape[1], envs._engine.state.action.shape[1]
    envs.close()
    args = ppo.Args(columns=(), **hyper)
    kind: Any = ppo.Agent
    if args.memory or args.frames > 1:
        kind = recurrent.GruAgent if args.memory else recurrent.FrameAgent
    agent = kind(inputs, outputs, args, generator)
    with torch.no_grad():
        for name, weights in agent.named_parameters():
            if name.startswith(("actor", "gru")):
                weights.normal_(0.0, 0.12, generator=generator)
        agent.var.fill_(0.5)
    policy.save(agent, path, described)
    return path


def library(exported: ExportedPolicy) -> Any:
    """The functions of an exported policy in this process."""
    folder = exported.files[0].parent
    file = folder / f"{exported.name}.so"
    sources = (folder / f"{exported.name}.c", folder / f"{exported.name}_test.c")
    run(COMPILERS[0], *STRICT, "-shared", "-fPIC", *sources, "-lm", "-o", file)
    loaded = ctypes.CDLL(str(file))
    getattr(loaded, f"{exported.name}_self_test").restype = ctypes.c_float
    return loaded


def floats(values: Any) -> Any:
    flat = np.concatenate([np.ravel(each) for each in values]).astype(np.float32)
    return (ctypes.c_float * len(flat))(*flat)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", WITH_STATES)
def test_shipped_policies_compute_the_actions_of_onnx(
    name: str, compiler: str, tmp_path: Path
) -> None:
    export_c(name, tmp_path)
    sources = (tmp_path / f"{name}.c", tmp_path / f"{name}_test.c")
    run(compiler, *STRICT, f"-D{name.upper()}_TEST", *sources, "-lm", "-o", tmp_path / "test")
    assert float(run(tmp_path / "test").split()[-1]) <= 1e-6


def test_a_policy_that_observes_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"C code computes no others, got .*'depth'"):
        export_c("forest", tmp_path)


@needs_compiler
@pytest.mark.parametrize(
    ("options", "hyper"),
    [
        pytest.param({"observation": "sensors", "history": 2}, {"memory": 20}, id="GRU of sensors"),
        pytest.param({}, {"frames": 3}, id="last observations"),
        pytest.param({}, {"hidden": 20}, id="narrow"),
        pytest.param({"action": "rotor_thrusts", "vehicle": "hexacopter"}, {}, id="rotor thrusts"),
        pytest.param({"action": "attitude_thrust", "vehicle": "crazyflie"}, {}, id="attitude"),
        pytest.param({"action": "velocity", "frame": "world"}, {}, id="velocity"),
    ],
)
def test_other_networks_and_actions_agree(
    options: dict[str, Any], hyper: dict[str, Any], tmp_path: Path
) -> None:
    """Actions after 200 steps with memory, and the commands of random actions."""
    file = untrained(tmp_path / "own.onnx", options, **hyper)
    exported = export_c(file, tmp_path / "c")
    code = library(exported)
    loaded = Policy.load(file)
    assert code.own_self_test() <= 1e-6
    generator = np.random.default_rng(1)
    memory = (ctypes.c_float * 1000)()
    code.own_reset(memory)
    for _ in range(200):
        seen = generator.normal(size=(1, loaded.observation_size)).astype(np.float32)
        expected = loaded.act(seen)[0]
        assert code.own_act(memory, floats(seen)) == 0
        assert np.abs(np.array(memory[: len(expected)]) - expected).max() <= 2e-6
    _compare_commands(code, loaded, generator)


def _compare_commands(code: Any, loaded: Policy, generator: np.random.Generator) -> None:
    envs = loaded.make_vec(1)
    actions = envs._engine.actions
    command = (ctypes.c_float * 32)()
    vehicle = envs.fleet.vehicle
    for _ in range(20):
        action = generator.uniform(-1.0, 1.0, (1, actions.size)).astype(np.float32)
        code.own_convert(floats(action), command)
        expected: Any = actions.command(action)
        found = np.array(command[:32])
        for name, first in (("rates", 0), ("attitude", 0), ("velocity", 0), ("speeds", 0)):
            if hasattr(expected, name):
                values = np.ravel(getattr(expected, name))
                assert found[first : first + len(values)] == pytest.approx(
                    values, rel=1e-5, abs=1e-6
                )
        if hasattr(expected, "thrust"):
            thrust = float(np.ravel(expected.thrust)[0])
            at = 3 if hasattr(expected, "rates") else 5
            offset = vehicle.motor.speed_offset
            speed = offset + (1.0 - offset) * found[at + 2]  # over the maximum, (M1)
            assert found[at] == pytest.approx(thrust, rel=1e-5)
            assert found[at + 1] == pytest.approx(thrust / vehicle.max_thrust, rel=1e-5)
            assert max(speed, offset) ** 2 == pytest.approx(max(found[at + 1], offset**2), abs=1e-5)


@needs_compiler
def test_the_c_code_flies_the_race(tmp_path: Path) -> None:
    """All gates of a course, from the state and the next two gates alone."""
    code = library(export_c("race", tmp_path))
    envs = Policy.load("race").make_vec(1, autoreset_mode="DISABLED")
    inputs = _race_inputs(envs)
    memory, command = (ctypes.c_float * 8)(), (ctypes.c_float * 8)()
    code.race_reset(memory)
    envs.reset(seed=3)
    over = False
    while not over:
        row = inputs.read(envs, None)
        assert code.race_step(memory, floats([row[:13]]), floats([row[13:]]), command) == 0
        _, _, terminated, truncated, _ = envs.step(np.array([memory[:4]], np.float32))
        over = bool(terminated[0] or truncated[0])
    info = envs.task.info(envs._engine.state)
    assert info["finished"][0]
    assert info["score"][0] > 95.0


def _race_inputs(envs: Any) -> Any:
    from propwash.gym._c_parts import RaceInputs

    return RaceInputs("race", in_body=True)


@needs_compiler
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_inputs_that_are_not_finite_give_the_safe_command(bad: float, tmp_path: Path) -> None:
    code = library(export_c("hover", tmp_path))
    memory, command = (ctypes.c_float * 4)(), (ctypes.c_float * 6)()
    code.hover_reset(memory)
    good = np.zeros(16, np.float32)
    good[6] = 1.0
    assert code.hover_step(memory, floats([good[:13]]), floats([good[13:]]), command) == 0
    before = memory[:]
    for k in range(16):
        wrong = good.copy()
        wrong[k] = bad
        status = code.hover_step(memory, floats([wrong[:13]]), floats([wrong[13:]]), command)
        if status == 0:  # a large finite number need not overflow: it is limited
            assert bad == 1e30
            assert np.isfinite(command[:]).all()
            ctypes.memmove(memory, floats([before]), 16)
            continue
        assert status == 1
        assert memory[:] == before
        assert command[:3] == [0.0, 0.0, 0.0]
        assert command[3] == pytest.approx(9.81)


@needs_compiler
def test_the_code_names_the_vehicle_and_its_mass(tmp_path: Path) -> None:
    """Also one of a file; its name does not end the comment."""
    vehicle = vehicles.load("crazyflie")
    body = msgspec.structs.replace(vehicle.body, mass=0.031)
    vehicle = msgspec.structs.replace(vehicle, name="loaded */ one", body=body)
    toml = tmp_path / "loaded.toml"
    toml.write_text(vehicle.to_toml())
    file = untrained(tmp_path / "own.onnx", {"vehicle": str(toml)}, hidden=8)
    exported = export_c(file, tmp_path / "c")
    assert library(exported).own_self_test() <= 1e-6
    for written in ("own.h", "README.md"):
        text = " ".join((tmp_path / "c" / written).read_text().split())
        assert "loaded __ one" in text
        assert f"mass 0.031 kg, maximum thrust {vehicle.max_thrust:.6g} N" in text


class Turned(pg.Task):
    """Reverses the columns of the observation."""

    def observation(self, state: pg.State) -> Any:
        return super().observation(state)[:, ::-1]

    def reward(self, state: pg.State) -> Any:
        return -state.position[:, 2]


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("hover", {"observation": "depth", "scene": "alphapilot"}, 'expected "state" or "sensors"'),
        ("hover", {"observation": ("state", "sensors")}, 'expected "state" or "sensors"'),
        (f"{__name__}:Turned", {}, r"Turned\.observation\(\) is overridden"),
        ("hover", {"action": "heading_velocity"}, "action: expected one of rate_thrust, .* got"),
    ],
)
def test_other_observations_and_actions_are_refused(
    task: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    described = policy.describe(task, options)
    envs = described.make_vec(1)
    seen, _ = envs.reset(seed=1)
    width = sum(part.size for part in (seen.values() if isinstance(seen, dict) else [seen]))
    agent = ppo.Agent(width, 4, ppo.Args(columns=()), torch.Generator())
    policy.save(agent, tmp_path / "own.onnx", described)
    with pytest.raises(ValueError, match=message):
        export_c(tmp_path / "own.onnx", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_other_layers_and_names_are_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(Policy.load("hover").model)
    next(node for node in model.graph.node if node.op_type == "Tanh").op_type = "Relu"
    onnx.save(model, tmp_path / "relu.onnx")
    with pytest.raises(ValueError, match=r"relu\.onnx: expected the layers of .*got Relu"):
        export_c(tmp_path / "relu.onnx", tmp_path / "c")
    model = onnx.load_from_string(Policy.load("hover").model)
    biases = next(each for each in model.graph.initializer if each.name == "b1")
    infinite = np.full(biases.dims, np.inf, np.float32)
    biases.CopyFrom(onnx.numpy_helper.from_array(infinite, biases.name))
    onnx.save(model, tmp_path / "infinite.onnx")
    with pytest.raises(ValueError, match=r"infinite\.onnx: expected finite weights"):
        export_c(tmp_path / "infinite.onnx", tmp_path / "c")
    model = onnx.load_from_string(Policy.load("hover").model)
    next(each for each in model.graph.initializer if each.name == "b1").name = "bias1"
    for node in model.graph.node:
        node.input[:] = ["bias1" if each == "b1" else each for each in node.input]
    onnx.save(model, tmp_path / "renamed.onnx")
    with pytest.raises(
        ValueError, match=r"renamed\.onnx: expected initializers .* no b1, but .*bias1"
    ):
        export_c(tmp_path / "renamed.onnx", tmp_path / "c")
    for name in ("Hover", "1st", "a-b", "x" * 41):
        with pytest.raises(ValueError, match="expected lower-case letters"):
            export_c("hover", tmp_path / "c", name)
    assert not (tmp_path / "c").exists()


@needs_compiler
def test_the_command_writes_and_tests_the_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "land", "--c", str(tmp_path / "c"), "--name", "down"]) == 0
    text = capsys.readouterr().out
    assert float(text.split()[-1]) <= 1e-6
    names = {file.name for file in (tmp_path / "c").iterdir()}
    assert names == {"down.h", "down.c", "down_test.c", "README.md"}
    assert main(["export", str(tmp_path / "none.onnx"), "--c", str(tmp_path)]) == 2
    assert "expected a policy file" in capsys.readouterr().err


@pytest.mark.slow
@needs_board
@pytest.mark.parametrize("name", WITH_STATES)
def test_a_cortex_m4f_runs_the_policies(name: str, tmp_path: Path) -> None:
    """On an emulated STM32F405. The hover policy takes 16,800 instructions: 100 us at 168 MHz."""
    export_c(name, tmp_path)
    program, source = tmp_path / "board.elf", tmp_path / f"{name}.c"
    names = (f"-DPOLICY={name}", f"-DPREFIX={name.upper()}", f'-DHEADER="{name}.h"', "-DHAS_STATE")
    link = ("-T", BOARD / "board.ld", "-nostartfiles", "--specs=rdimon.specs", "-lm", "-o", program)
    files = (source, tmp_path / f"{name}_test.c", BOARD / "board.c")
    compiler = ("arm-none-eabi-gcc", *M4F, *STRICT)
    run(*compiler, f"-I{tmp_path}", *names, *files, *link)
    # a clock that counts instructions
    board = ("qemu-system-arm", "-M", "netduinoplus2", "-nographic", "-monitor", "none")
    more = ("-serial", "none", "-semihosting-config", "enable=on,target=native")
    printed = run(*board, *more, "-icount", "shift=0", "-kernel", program)
    numbers = dict(re.findall(r"(\w+) ([\d.e+-]+)", printed))
    assert float(numbers["error"]) <= 1e-6
    assert float(numbers["instructions"]) <= {"hover": 16800, "land": 16800}.get(name, 20000)
    assert int(numbers["stack"]) + int(numbers["memory"]) <= 2048
    run(*compiler, "-c", source, "-o", tmp_path / "policy.o")
    flash = int(run("arm-none-eabi-size", tmp_path / "policy.o").splitlines()[1].split()[0])
    assert flash <= 32 * 1024


@pytest.mark.slow
@needs_board
@pytest.mark.skipif(
    "PROPWASH_CRAZYFLIE_FIRMWARE" not in os.environ,
    reason="PROPWASH_CRAZYFLIE_FIRMWARE, a clone of crazyflie-firmware, is not set",
)
def test_the_controller_of_the_crazyflie_compiles(tmp_path: Path) -> None:
    export_c("hover", tmp_path, "policy")
    (tmp_path / "autoconf.h").touch()
    sources = Path(os.environ["PROPWASH_CRAZYFLIE_FIRMWARE"]) / "src"
    folders = {header.parent for header in sources.rglob("*.h")}
    includes = [f"-I{folder}" for folder in (tmp_path, *sorted(folders))]
    example = BOARD.parents[1] / "examples/firmware/crazyflie/src/policy_controller.c"
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DCONFIG_CONTROLLER_OOT=1", "-c")
    run("arm-none-eabi-gcc", *M4F, *flags, *includes, example, "-o", tmp_path / "controller.o")
