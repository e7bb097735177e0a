"""The driver of CUDA devices: memory, streams, and kernels compiled at their first use."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from propwash import _core
from propwash.fleet import _nvrtc

THREADS = 128
"""Of a block of the launch."""


class CudaDriver:
    """A Driver of a CUDA device, in its primary context, which torch uses too."""

    def __init__(self, number: int) -> None:
        self._nvrtc = _nvrtc.library()
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise ImportError(
                'device="cuda" needs cuda-bindings: pip install "propwash[cuda]"'
            ) from error
        self._cuda = driver
        try:
            self._call("cuInit", 0)
            count = self._call("cuDeviceGetCount")
        except RuntimeError as error:  # cuda-bindings finds no driver, or the driver no device
            raise OSError(
                'device="cuda": expected an NVIDIA GPU with a driver of CUDA 13 (580 or newer); '
                f'use device="cpu" ({error})'
            ) from error
        if number >= count:
            raise ValueError(
                f"device: expected a number below {count}, the GPUs here, got {number}"
            )
        self.device = (2, number)  # kDLCUDA
        handle = self._call("cuDeviceGet", number)
        self._context = self._call("cuDevicePrimaryCtxRetain", handle)
        attribute = driver.CUdevice_attribute
        version = [
            self._call("cuDeviceGetAttribute", getattr(attribute, name), handle)
            for name in (
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
            )
        ]
        self.name = f"sm_{version[0]}{version[1]}"
        self._functions: dict[tuple[str, ...], list[Any]] = {}

    def stream(self) -> int:
        """That of torch, if it is in use, or else the default stream, as DLPack numbers it."""
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            return int(torch.cuda.current_stream(self.device[1]).cuda_stream) or 1
        return 1

    def allocate(self, size: int) -> int:
        """Allocates memory [bytes]; raises MemoryError."""
        return int(self._on_device("cuMemAlloc", size))

    def free(self, address: int) -> None:
        """Frees it."""
        self._on_device("cuMemFree", address)

    def upload(self, device: int, host: int, size: int) -> None:
        """Copies bytes to the device and waits for them, because the host may change them next."""
        stream = self.stream()
        self._on_device("cuMemcpyHtoDAsync", device, host, size, stream)
        self._on_device("cuStreamSynchronize", stream)

    def download(self, host: int, device: int, size: int) -> None:
        """Copies bytes from the device and waits for them."""
        stream = self.stream()
        self._on_device("cuMemcpyDtoHAsync", host, device, size, stream)
        self._on_device("cuStreamSynchronize", stream)

    def synchronize(self) -> None:
        """Waits for all work."""
        self._on_device("cuCtxSynchronize")

    def clear(self, address: int, pitch: int, width: int, rows: int) -> None:
        """Sets `width` bytes at each of `rows` places to zero, every `pitch` bytes."""
        self._on_device("cuMemsetD2D8Async", address, pitch, 0, width, rows, self.stream())

    def launch(self, function: Any, threads: int, arguments: Sequence[Any]) -> None:
        """Runs a kernel."""
        each = min(THREADS, threads)
        blocks = -(-threads // each)
        held = [
            (ctypes.c_char * len(argument)).from_buffer(argument)
            if isinstance(argument, bytearray)
            else argument
            for argument in arguments
        ]
        pointers = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        place = ctypes.addressof(pointers)
        self._on_device(
            "cuLaunchKernel", function, blocks, 1, 1, each, 1, 1, 0, self.stream(), place, 0
        )

    def functions(self, names: Sequence[str]) -> list[Any]:
        """Compiled kernels by their names in C++."""
        key = tuple(names)
        if key not in self._functions:
            lowered, cubin = kernels(self._nvrtc, self.name, names)
            module = self._on_device("cuModuleLoadData", cubin)
            self._functions[key] = [
                self._on_device("cuModuleGetFunction", module, lowered[name].encode())
                for name in names
            ]
        return self._functions[key]

    def _on_device(self, function: str, *arguments: Any) -> Any:
        """The result of a function in the context of the device; that of the caller stays."""
        self._call("cuCtxPushCurrent", self._context)
        try:
            return self._call(function, *arguments)
        finally:
            self._call("cuCtxPopCurrent")

    def _call(self, function: str, *arguments: Any) -> Any:
        """The result of a function of the driver; raises RuntimeError or MemoryError."""
        status, *result = getattr(self._cuda, function)(*arguments)
        if int(status) != 0:
            error = MemoryError if status.name == "CUDA_ERROR_OUT_OF_MEMORY" else RuntimeError
            raise error(f"{function}: {status.name}")
        return result[0] if result else None


@functools.cache
def cuda_driver(number: int) -> CudaDriver:
    """The driver of a device, which all its fleets use."""
    return CudaDriver(number)


def kernels(
    nvrtc: ctypes.CDLL, architecture: str, names: Sequence[str], include: Path = _nvrtc.INCLUDE
) -> tuple[dict[str, str], bytes]:
    """The names and the machine code of kernels, compiled or from the cache."""
    file = cache_folder() / f"{_digest(architecture, names, include)}.cubin"
    if file.is_file():
        head, _, cubin = file.read_bytes().partition(b"\n")
        return json.loads(head), cubin
    binary = _nvrtc.compiled(nvrtc, _nvrtc.KERNELS, architecture, names, include=include)
    with contextlib.suppress(OSError):  # a folder that is not writable costs time only
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(json.dumps(binary.names).encode() + b"\n" + binary.cubin)
        Path(part.name).replace(file)  # another process sees the whole file or none
    return binary.names, binary.cubin


def cache_folder() -> Path:
    """The folder of compiled kernels: $PROPWASH_CACHE, or that of the system for caches."""
    chosen = os.environ.get("PROPWASH_CACHE")
    system = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(chosen) if chosen else Path(system or Path.home() / ".cache") / "propwash"


def _digest(architecture: str, names: Sequence[str], include: Path) -> str:
    """Of all that the machine code depends on."""
    digest = hashlib.sha256()
    parts = [_core.__version__, metadata.version(_nvrtc.PACKAGE), architecture, *names]
    digest.update("\n".join([*parts, *_nvrtc.OPTIONS, _nvrtc.KERNELS]).encode())
    for header in sorted(include.rglob("*")):
        if header.is_file():
            digest.update(header.relative_to(include).as_posix().encode() + header.read_bytes())
    return digest.hexdigest()[:32]
