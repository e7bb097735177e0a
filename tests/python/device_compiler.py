"""Compiles the kernels of a fleet for GPUs with NVRTC, without a GPU.

    python tests/python/device_compiler.py [sm_90]

prints the registers and spills of each kernel as a table.
"""

from __future__ import annotations

import ctypes
import re
import sys
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import NamedTuple

INCLUDE = Path(__file__).resolve().parents[2] / "include"

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
WORKS = {
    "physics": ("physics", "rotor_speeds"),
    "process noise": ("process_noise", "disturbed"),
    "closed loop": ("everything", "closed_loop"),
    "every feature": ("everything", "every_feature"),
}
"""Work of a kernel: its TickWork, and its features in SOURCE."""

SOURCE = """
#include <propwash/fleet/impl/thread_kernel.hpp>
namespace propwash {
constexpr FleetFeatures of(bool is_disturbed, bool is_closed_loop) {
  TickSwitches on;
  on.process_noise = is_disturbed;
  on.imu_noise = on.bias_walk = is_closed_loop;
  return features_of(on, is_closed_loop, false, false);
}
inline constexpr FleetFeatures rotor_speeds = of(false, false);
inline constexpr FleetFeatures disturbed = of(true, false);
inline constexpr FleetFeatures closed_loop = of(true, true);
constexpr FleetFeatures every() {
  TickSwitches on;
  TickSwitches::members(on, [](auto&... each) { ((each = true), ...); });
  return features_of(on, true, true, true);
}
inline constexpr FleetFeatures every_feature = every();
}
"""


class Kernel(NamedTuple):
    """One specialisation of `fleet_step` or `fleet_measure`."""

    number: str = "float"
    rotors: int = 4
    shape: str = "PrincipalShape"
    work: str = "physics"
    method: str = "Rk4"
    individual: bool = False
    entry: str = "fleet_step"

    @property
    def name(self) -> str:
        """Its name in C++. As on a CPU, vehicles of general form always do everything."""
        work, features = WORKS[self.work]
        if self.shape == "GeneralShape":
            work = "everything"
        thread = (
            f"propwash::FleetThread<{self.number}, {self.rotors}, propwash::{self.shape}, "
            f"propwash::{self.method}, propwash::TickWork::{work}, propwash::{features}>"
        )
        return f"propwash::{self.entry}<{thread}, {str(self.individual).lower()}>"


class Binary(NamedTuple):
    """Machine code of several kernels."""

    cubin: bytes
    ptx: str
    names: dict[str, str]
    """Of the kernels in the machine code, by their names in C++."""
    log: str

    def usage(self, kernel: Kernel) -> tuple[int, int]:
        """Registers of a thread, and bytes that it spills to memory [stores and loads]."""
        (text,) = re.findall(
            rf"function '{self.names[kernel.name]}'(.*?)Used (\d+) registers", self.log, re.DOTALL
        )
        spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", text[0])
        return int(text[1]), sum(int(spill) for spill in spills)


def library() -> ctypes.CDLL | None:
    """The run-time compiler of the package nvidia-cuda-nvrtc."""
    try:
        files = metadata.files("nvidia-cuda-nvrtc") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if re.fullmatch(r"libnvrtc\.so\.\d+", file.name):
            return ctypes.CDLL(str(file.locate()))
    return None


def compiled(nvrtc: ctypes.CDLL, source: str, architecture: str, names: list[str]) -> Binary:
    """Compiles a program; raises RuntimeError with the log of the compiler."""
    program = ctypes.c_void_p()
    options = [
        f"--gpu-architecture={architecture}",
        "--std=c++17",
        "-default-device",  # the same headers define host functions
        "--fmad=false",
        "--ptxas-options=-v",
        f"--include-path={INCLUDE}",
        f"--include-path={INCLUDE / 'propwash' / 'nvrtc'}",
    ]

    def text(kind: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
        return buffer.raw

    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"fleet.cu", 0, None, None)
    try:
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        result = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
        log = text("ProgramLog").decode().rstrip("\0")
        if result != 0:
            raise RuntimeError(log)
        lowered = {}
        for name in names:
            found = ctypes.c_char_p()
            nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(found))
            lowered[name] = (found.value or b"").decode()
        return Binary(text("CUBIN"), text("PTX").decode(), lowered, log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def fleet_kernels(nvrtc: ctypes.CDLL, architecture: str, kernels: list[Kernel]) -> Binary:
    """Compiles kernels of a fleet."""
    return compiled(nvrtc, SOURCE, architecture, [kernel.name for kernel in kernels])


VEHICLES = tuple(
    product(
        ("float", "double"),
        [
            *((rotors, "PrincipalShape") for rotors in (3, 4, 6, 8)),
            *((rotors, "GeneralShape") for rotors in (4, 8)),
        ],
    )
)
"""Number types with rotors and shapes: those of the kernels for CPUs."""


def main() -> None:
    """Prints the table of docs/gpu-kernels.md."""
    nvrtc = library()
    if nvrtc is None:
        sys.exit("nvidia-cuda-nvrtc is missing: pip install nvidia-cuda-nvrtc")
    architecture = sys.argv[1] if len(sys.argv) > 1 else "sm_90"
    print("| number | vehicle |", " | ".join(WORKS), "|\n|" + " --- |" * (2 + len(WORKS)))
    for number, (rotors, shape) in VEHICLES:
        kernels = [Kernel(number, rotors, shape, work) for work in WORKS]
        binary = fleet_kernels(nvrtc, architecture, kernels)
        cells = []
        for kernel in kernels:
            registers, spilled = binary.usage(kernel)
            cells.append(f"{registers}, {spilled} B" if spilled else str(registers))
        form = "parallel" if shape == "PrincipalShape" else "general"
        print(f"| `{number}` | {rotors} rotors, {form} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
