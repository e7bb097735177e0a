"""A multicopter step compiles for GPUs and includes no host-only header; needs no GPU."""

from __future__ import annotations

import ctypes
import re
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
DEVICE = ROOT / "tests" / "device"

pytestmark = pytest.mark.skipif(not DEVICE.exists(), reason="tests/device is missing")

STEP = (
    "propwash/vehicle/tick.hpp",
    "propwash/integrate/euler.hpp",
    "propwash/integrate/rk4.hpp",
    "propwash/integrate/symplectic_euler.hpp",
    "propwash/random/normal.hpp",
    "propwash/model/delay.hpp",
)
"""The headers of a step, which include those of math/, model/ and control/."""

DEVICE_HEADERS = {path.name for path in (DEVICE / "std").iterdir()} if DEVICE.exists() else set()
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


@pytest.mark.parametrize("header", [*STEP, "propwash/fleet/impl/kernel.hpp"])
def test_a_step_includes_device_headers_only(header: str) -> None:
    allowed = DEVICE_HEADERS | INTRINSICS | WITHOUT_EXCEPTIONS
    others = {
        (by, name)
        for by, name in included_by(header)
        if not name.startswith("propwash/") and name not in allowed
    }
    assert not others


def nvrtc() -> ctypes.CDLL:
    """The run-time compiler of the package nvidia-cuda-nvrtc; skips if it is missing."""
    try:
        files = metadata.files("nvidia-cuda-nvrtc") or []
    except metadata.PackageNotFoundError:
        pytest.skip("nvidia-cuda-nvrtc is missing (pip install nvidia-cuda-nvrtc)")
    for file in files:
        if re.fullmatch(r"libnvrtc\.so\.\d+", file.name):
            return ctypes.CDLL(str(file.locate()))
    pytest.skip("nvidia-cuda-nvrtc has no libnvrtc.so for this platform")


def compiled(source: str, architecture: str) -> bytes:
    """The binary of a CUDA program; fails with the log of the compiler."""
    library = nvrtc()
    program = ctypes.c_void_p()
    options = [
        f"--gpu-architecture={architecture}",
        "--std=c++17",
        "-default-device",  # the same headers define host functions
        f"--include-path={INCLUDE}",
        f"--include-path={DEVICE / 'std'}",
    ]
    texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    text = source.encode()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text, b"step.cu", 0, None, None) == 0
    try:
        result = library.nvrtcCompileProgram(program, len(options), texts)
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        assert result == 0, log.value.decode()
        assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
        binary = ctypes.create_string_buffer(size.value)
        assert library.nvrtcGetCUBIN(program, binary) == 0
        return binary.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90", marks=pytest.mark.slow)])
def test_a_step_compiles_to_a_binary(architecture: str) -> None:
    binary = compiled((DEVICE / "step.cu").read_text(encoding="utf-8"), architecture)
    assert binary.startswith(b"\x7fELF")
    assert binary.count(b"fly") >= 2  # both float and double


def test_the_compiler_rejects_unsupported_device_code() -> None:
    with pytest.raises(AssertionError, match="string"):
        compiled("#include <string>\n", "sm_80")
