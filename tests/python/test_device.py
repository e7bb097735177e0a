"""The kernels of a fleet compile for GPUs without fused operations and spills, and a step includes
no host-only header; needs no GPU. That they compute the bits of the kernels for CPUs is tested by
tests/cpp/test_fleet_thread.cpp."""

from __future__ import annotations

import ctypes
import re
from itertools import product
from pathlib import Path

import pytest
from device_compiler import (
    ARCHITECTURES,
    INCLUDE,
    SOURCE,
    VEHICLES,
    WORKS,
    Kernel,
    fleet_kernels,
    usage,
)
from propwash.fleet._nvrtc import compiled, library

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not INCLUDE.exists(), reason="include/ is missing")

STEP = (
    "propwash/vehicle/tick.hpp",
    "propwash/integrate/euler.hpp",
    "propwash/integrate/rk4.hpp",
    "propwash/integrate/symplectic_euler.hpp",
    "propwash/random/normal.hpp",
    "propwash/model/delay.hpp",
)
"""The headers of a step, which include those of math/, model/ and control/."""

KERNELS = (
    "propwash/fleet/impl/kernel.hpp",
    "propwash/fleet/impl/thread_kernel.hpp",
    "propwash/learn/impl/env_kernels.hpp",
)
DEVICE_HEADERS = {path.name for path in (INCLUDE / "propwash" / "nvrtc").glob("*")}
INTRINSICS = {"immintrin.h", "emmintrin.h", "arm_neon.h"}
WITHOUT_EXCEPTIONS = {"cstdio", "cstdlib"}
"""Headers of math/config.hpp for builds without exceptions, which print an error and abort."""


def included_by(header: str) -> set[tuple[str, str]]:
    """All pairs (header, included header) reachable from a header of propwash."""
    pairs: set[tuple[str, str]] = set()
    visited: set[str] = set()
    pending = [header]
    while pending:
        if (current := pending.pop()) in visited:
            continue
        visited.add(current)
        text = (INCLUDE / current).read_text(encoding="utf-8")
        for name in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', text, re.M):
            pairs.add((current, name))
            if name.startswith("propwash/"):
                pending.append(name)
    return pairs


@pytest.mark.parametrize("header", [*STEP, *KERNELS])
def test_a_step_includes_device_headers_only(header: str) -> None:
    allowed = DEVICE_HEADERS | INTRINSICS | WITHOUT_EXCEPTIONS
    others = {
        (by, name)
        for by, name in included_by(header)
        if not name.startswith("propwash/") and name not in allowed
    }
    assert not others


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    try:
        return library()
    except ImportError as error:
        pytest.skip(str(error))


def arithmetic_of(ptx: str) -> set[str]:
    """The instructions on floating-point numbers that round."""
    return set(re.findall(r"\b(?:add|sub|mul|fma|mad|div|sqrt|rcp|rsqrt)\S*\.f(?:32|64)\b", ptx))


ROUNDED_ONCE = {
    f"{operation}.rn.{number}"
    for operation, number in product(("add", "sub", "mul", "div", "rcp", "sqrt"), ("f32", "f64"))
}
"""Operations with .rn are correctly rounded; ptxas does not fuse them with others."""


IN_REGISTERS = {
    "float": ("physics", "process noise", "closed loop"),
    "double": ("physics", "process noise"),
}
"""Works that spill nothing for parallel rotors, and in float for common parameters. On sm_100 the
closed loop of eight rotors in double spills 48 bytes."""


def check(nvrtc: ctypes.CDLL, architecture: str, kernels: list[Kernel]) -> None:
    """Compiles kernels, and checks what their results and their speed depend on."""
    binary = fleet_kernels(nvrtc, architecture, kernels)
    assert binary.cubin.startswith(b"\x7fELF")
    assert "warning" not in binary.log
    for kernel in kernels:
        assert binary.names[kernel.name].encode() in binary.cubin
        registers, spilled = usage(binary, kernel)
        is_single = kernel.number == "float" and not kernel.individual
        is_simple = is_single or kernel.shape == "PrincipalShape"
        if is_simple and kernel.work in IN_REGISTERS[kernel.number]:
            assert spilled == 0, (kernel, registers)
    check_arithmetic(binary.ptx)


def check_arithmetic(ptx: str) -> None:
    assert arithmetic_of(ptx) <= ROUNDED_ONCE
    # functions whose results differ between libraries
    assert not re.findall(r"\.approx|\.ftz|\b(?:sin|cos|ex2|lg2|tanh)\.", ptx)
    # calls would hide arithmetic, but for those of a function that the PTX contains
    assert all("outlined_residual" in call for call in re.findall(r"\bcall\b[^;]*;", ptx))


@pytest.mark.slow
def test_a_closed_loop_compiles_for_a_gpu(nvrtc: ctypes.CDLL) -> None:
    reading = Kernel(work="every feature", entry="fleet_measure")
    check(nvrtc, "sm_90", [Kernel(work="physics"), Kernel(work="closed loop"), reading])
    thread = Kernel(work="closed loop").thread
    others = [
        f"propwash::fleet_constants<{thread}>",
        "propwash::fleet_rows<float>",
        "propwash::fleet_reset<double>",
    ]
    assert "warning" not in compiled(nvrtc, SOURCE, "sm_90", others, include=INCLUDE).log


@pytest.mark.slow
def test_a_fleet_without_a_residual_has_a_kernel_without_its_call(nvrtc: ctypes.CDLL) -> None:
    for work, calls in (("closed loop", False), ("every feature", True)):
        kernel = Kernel(shape="GeneralShape", work=work)
        binary = fleet_kernels(nvrtc, "sm_90", [kernel])
        assert ("outlined_residual" in binary.ptx) == calls
        registers, _ = usage(binary, kernel)
        assert (registers > 128) == calls  # 16 warps on a multiprocessor need at most 128


@pytest.mark.parametrize(
    "architecture",
    ["sm_90", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sm_80", "sm_100"))],
)
def test_the_kernels_of_environments_compile_for_a_gpu(
    nvrtc: ctypes.CDLL, architecture: str
) -> None:
    tasks = [f"propwash::learn::{task}Env" for task in ("Hover", "Track", "Land", "Race")]
    names = [
        f"propwash::learn::env_{kind}<{task}>" for kind in ("judge", "begin") for task in tasks
    ]
    names += ["propwash::learn::env_act", "propwash::fleet_check<float>"]
    binary = compiled(nvrtc, SOURCE, architecture, names, include=INCLUDE)
    assert "warning" not in binary.log
    check_arithmetic(binary.ptx)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("number", "vehicle"), VEHICLES)
def test_every_kernel_compiles_for_a_gpu(
    nvrtc: ctypes.CDLL, architecture: str, number: str, vehicle: tuple[int, str]
) -> None:
    rotors, shape = vehicle
    check(nvrtc, architecture, [Kernel(number, rotors, shape, work) for work in WORKS])


@pytest.mark.slow
@pytest.mark.parametrize("number", ["float", "double"])
@pytest.mark.parametrize("shape", ["PrincipalShape", "GeneralShape"])
@pytest.mark.parametrize(("method", "individual"), [("Euler", False), ("Rk4", True)])
def test_kernels_of_individual_parameters_and_of_euler_compile(
    nvrtc: ctypes.CDLL, number: str, shape: str, method: str, individual: bool
) -> None:
    kernels = [Kernel(number, 4, shape, work, method, individual) for work in WORKS]
    reading = Kernel(number, 4, shape, "every feature", method, individual, "fleet_measure")
    check(nvrtc, "sm_90", [*kernels, reading])


def test_a_fused_operation_is_noticed(nvrtc: ctypes.CDLL) -> None:
    source = "__global__ void f(float* x) { *x = fmaf(*x, *x, *x); }"
    assert arithmetic_of(
        compiled(nvrtc, source, "sm_90", [], include=INCLUDE).ptx
    ) - ROUNDED_ONCE == {"fma.rn.f32"}


def test_the_compiler_rejects_unsupported_device_code(nvrtc: ctypes.CDLL) -> None:
    with pytest.raises(RuntimeError, match="string"):
        compiled(nvrtc, "#include <string>\n", "sm_80", [], include=INCLUDE)
