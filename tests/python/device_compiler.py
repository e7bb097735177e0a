"""Compiles the kernels of a fleet for GPUs with NVRTC, without a GPU.

    python tests/python/device_compiler.py [sm_90]

prints the registers and spills of each kernel as a table.
"""

from __future__ import annotations

import ctypes
import re
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

from propwash.fleet._nvrtc import KERNELS, Binary, compiled, library

INCLUDE = Path(__file__).resolve().parents[2] / "include"

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
WORKS = {
    "physics": ("physics", "rotor_speeds"),
    "process noise": ("process_noise", "disturbed"),
    "closed loop": ("everything", "closed_loop"),
    "every feature": ("everything", "every_feature"),
}
"""Work of a kernel: its TickWork, and its features in SOURCE."""

SOURCE = (
    KERNELS
    + """
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
)


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
    def thread(self) -> str:
        """The type of its threads. As on a CPU, vehicles of general form always do everything."""
        work, features = WORKS[self.work]
        if self.shape == "GeneralShape":
            work = "everything"
        return (
            f"propwash::FleetThread<{self.number}, {self.rotors}, propwash::{self.shape}, "
            f"propwash::{self.method}, propwash::TickWork::{work}, propwash::{features}>"
        )

    @property
    def name(self) -> str:
        """Its name in C++."""
        return f"propwash::{self.entry}<{self.thread}, {str(self.individual).lower()}>"


def usage(binary: Binary, kernel: Kernel) -> tuple[int, int]:
    """Registers of a thread, and bytes that it spills to memory [stores and loads]."""
    (text,) = re.findall(
        rf"function '{binary.names[kernel.name]}'(.*?)Used (\d+) registers", binary.log, re.DOTALL
    )
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", text[0])
    return int(text[1]), sum(int(spill) for spill in spills)


def fleet_kernels(nvrtc: ctypes.CDLL, architecture: str, kernels: list[Kernel]) -> Binary:
    """Compiles kernels of a fleet."""
    names = [kernel.name for kernel in kernels]
    options = ["--ptxas-options=-v"]
    return compiled(nvrtc, SOURCE, architecture, names, include=INCLUDE, options=options)


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
    architecture = sys.argv[1] if len(sys.argv) > 1 else "sm_90"
    print("| number | vehicle |", " | ".join(WORKS), "|\n|" + " --- |" * (2 + len(WORKS)))
    for number, (rotors, shape) in VEHICLES:
        kernels = [Kernel(number, rotors, shape, work) for work in WORKS]
        binary = fleet_kernels(nvrtc, architecture, kernels)
        cells = []
        for kernel in kernels:
            registers, spilled = usage(binary, kernel)
            cells.append(f"{registers}, {spilled} B" if spilled else str(registers))
        form = "parallel" if shape == "PrincipalShape" else "general"
        print(f"| `{number}` | {rotors} rotors, {form} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
