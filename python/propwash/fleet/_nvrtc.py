"""NVIDIA's run-time compiler, of the package nvidia-cuda-nvrtc: machine code without a toolkit."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from propwash import _core

INCLUDE = Path(_core.__file__).resolve().parent / "include"
"""The headers of the wheel."""
PACKAGE = "nvidia-cuda-nvrtc"
OPTIONS = (
    "--std=c++17",
    "-default-device",  # the same headers define host functions
    "--fmad=false",  # the bits of the processor: docs/gpu-kernels.md
)
KERNELS = """
#include <propwash/fleet/impl/thread_kernel.hpp>
#include <propwash/learn/impl/env_kernels.hpp>
"""
"""The source of kernels that NVRTC instantiates by their names."""


class Binary(NamedTuple):
    """Machine code of several kernels."""

    cubin: bytes
    ptx: str
    names: dict[str, str]
    """Of the kernels in the machine code, by their names in C++."""
    log: str


def library() -> ctypes.CDLL:
    """The compiler. Raises ImportError where it is missing."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if re.fullmatch(r"libnvrtc\.so\.\d+|nvrtc64_\d+_0\.dll", file.name):
            return ctypes.CDLL(str(file.locate()))
    raise ImportError(f'device="cuda" needs {PACKAGE}: pip install "propwash[cuda]"')


def compiled(
    nvrtc: ctypes.CDLL,
    source: str,
    architecture: str,
    names: Sequence[str],
    *,
    include: Path = INCLUDE,
    options: Sequence[str] = (),
) -> Binary:
    """Compiles a program; raises RuntimeError with the log of the compiler."""
    program = ctypes.c_void_p()
    flags = [
        f"--gpu-architecture={architecture}",
        *OPTIONS,
        *options,
        f"--include-path={include}",
        f"--include-path={include / 'propwash' / 'nvrtc'}",
    ]

    def text(kind: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
        return buffer.raw

    arguments = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"fleet.cu", 0, None, None)
    try:
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        result = nvrtc.nvrtcCompileProgram(program, len(flags), arguments)
        log = text("ProgramLog").decode().rstrip("\0")
        if result != 0:
            raise RuntimeError(f"{PACKAGE}: expected the kernels to compile, got:\n{log}")
        lowered = {}
        for name in names:
            found = ctypes.c_char_p()
            nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(found))
            lowered[name] = (found.value or b"").decode()
        return Binary(text("CUBIN"), text("PTX").decode(), lowered, log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
