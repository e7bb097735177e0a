"""A driver that runs the kernels of a GPU on the host: their source, compiled by the host's
compiler with the words of CUDA defined, as loops over threads, on memory of the host."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from propwash.fleet._nvrtc import KERNELS

INCLUDE = Path(__file__).resolve().parents[2] / "include"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w")

CUDA = """
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#define __CUDACC__
#define __global__ static
#define __grid_constant__
#define __host__
#define __device__
struct { unsigned x; } blockIdx, blockDim, threadIdx;
"""
ENTRIES = """
template <class... A, std::size_t... I>
void run(void (*kernel)(A...), unsigned threads, void** a, std::index_sequence<I...>) {
  blockDim.x = 32;
  for (blockIdx.x = 0; blockIdx.x < (threads + 31) / 32; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < 32; ++threadIdx.x)
      kernel(*static_cast<A*>(a[I])...);
}
template <class... A>
void run(void (*kernel)(A...), unsigned threads, void** a) {
  run(kernel, threads, a, std::index_sequence_for<A...>{});
}
"""


class HostDriver:
    """A Driver; see propwash.fleet._driver."""

    name = "host"
    device = (1, 0)  # kDLCPU
    _libraries: dict[str, ctypes.CDLL] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.memory: dict[int, NDArray[np.uint64]] = {}
        self.copied = {"upload": 0, "download": 0}
        """Bytes."""
        self.launches: list[str] = []

    def stream(self) -> None:
        return None

    def allocate(self, size: int) -> int:
        array = np.full(-(-size // 8), 0xFFF8DEADDEADBEEF, np.uint64)  # NaNs
        self.memory[array.ctypes.data] = array
        return int(array.ctypes.data)

    def free(self, address: int) -> None:
        del self.memory[address]

    def upload(self, device: int, host: int, size: int) -> None:
        self.copied["upload"] += size
        ctypes.memmove(device, host, size)

    def download(self, host: int, device: int, size: int) -> None:
        self.copied["download"] += size
        ctypes.memmove(host, device, size)

    def synchronize(self) -> None:
        pass

    def clear(self, address: int, pitch: int, width: int, rows: int) -> None:
        for row in range(rows):
            ctypes.memset(address + row * pitch, 0, width)

    def functions(self, names: Sequence[str]) -> list[Any]:
        key = "\n".join(names)
        if key not in self._libraries:
            self._libraries[key] = self._compiled(names)
        library = self._libraries[key]
        return [(name, getattr(library, f"entry_{i}")) for i, name in enumerate(names)]

    def launch(self, function: Any, threads: int, arguments: Sequence[Any]) -> None:
        name, entry = function
        self.launches.append(name)
        held = [
            (ctypes.c_char * len(each)).from_buffer(each) if isinstance(each, bytearray) else each
            for each in arguments
        ]
        entry(threads, (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held)))

    @staticmethod
    def _compiled(names: Sequence[str]) -> ctypes.CDLL:
        assert COMPILER is not None
        entries = "".join(
            f'extern "C" void entry_{i}(unsigned n, void** a) {{ run(&{name}, n, a); }}\n'
            for i, name in enumerate(names)
        )
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
            source.write_text(CUDA + KERNELS + ENTRIES + entries, encoding="utf-8")
            command = [COMPILER, *OPTIONS, f"-I{INCLUDE}", str(source), "-o", str(library)]
            subprocess.run(command, check=True)
            return ctypes.CDLL(str(library))


class FakeCuda:
    """The functions of cuda.bindings.driver that CudaDriver calls, on memory of the host."""

    class CUdevice_attribute(IntEnum):
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76

    class Status(IntEnum):
        CUDA_SUCCESS = 0
        CUDA_ERROR_OUT_OF_MEMORY = 2

    def __init__(self, real: Any) -> None:
        """real: the module, whose documentation has the number of arguments."""
        self.host, self.real = HostDriver(), real
        self.contexts = ["caller"]
        """The stack of the thread."""
        self.results = {
            "cuDeviceGetCount": 2, "cuDeviceGet": "device", "cuDevicePrimaryCtxRetain": "context",
            "cuModuleLoadData": "module",
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        expected = getattr(self.real, name).__doc__.partition(")")[0].count(",") + 1

        def call(*arguments: Any) -> tuple[Any, ...]:
            assert len(arguments) in (expected, expected - 1 if expected == 1 else expected), name
            result = self.done(name, arguments)
            return (self.Status.CUDA_SUCCESS,) if result is None else (self.Status(0), result)

        return call

    def done(self, name: str, arguments: tuple[Any, ...]) -> Any:
        host = self.host
        if name == "cuCtxPushCurrent":
            return self.contexts.append(*arguments)
        if name == "cuCtxPopCurrent":
            return self.contexts.pop()
        is_of_device = re.match("cu(Mem|Module|Launch|Stream|CtxSync)", name)
        assert self.contexts[-1] == ("context" if is_of_device else "caller"), name
        if name == "cuDeviceGetAttribute":
            return {"MAJOR": 9, "MINOR": 0}[arguments[0].name.rpartition("_")[2]]
        if name == "cuMemAlloc":
            return host.allocate(*arguments)
        if name == "cuMemFree":
            return host.free(*arguments)
        if name == "cuMemcpyHtoDAsync":
            return host.upload(*arguments[:3])
        if name == "cuMemcpyDtoHAsync":
            return host.download(*arguments[:3])
        if name == "cuMemsetD2D8Async":
            address, pitch, value, width, rows, _ = arguments
            assert value == 0
            return host.clear(address, pitch, width, rows)
        if name == "cuModuleGetFunction":
            return host.functions([arguments[1].decode()])[0]
        if name == "cuLaunchKernel":
            function, blocks, _, _, threads, *_, place, _ = arguments
            host.launches.append(function[0])
            function[1](blocks * threads, ctypes.c_void_p(place))
            return None
        return self.results.get(name)
