"""What a device offers a fleet: memory, kernels, and tensors of any library with DLPack."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Driver(Protocol):
    """Memory and kernels of a device; addresses are whole numbers."""

    name: str
    """Its architecture."""
    device: tuple[int, int]
    """Type and number of the device in DLPack."""

    def stream(self) -> int | None:
        """The stream of the caller, as DLPack numbers it."""

    def allocate(self, size: int) -> int:
        """Allocates memory [bytes]."""

    def free(self, address: int) -> None:
        """Frees it."""

    def upload(self, device: int, host: int, size: int) -> None:
        """Copies bytes to the device and waits for them."""

    def download(self, host: int, device: int, size: int) -> None:
        """Copies bytes from the device and waits for them."""

    def synchronize(self) -> None:
        """Waits for all work."""

    def clear(self, address: int, pitch: int, width: int, rows: int) -> None:
        """Sets `width` bytes at each of `rows` places to zero, every `pitch` bytes."""

    def functions(self, names: Sequence[str]) -> list[Any]:
        """Compiled kernels of thread_kernel.hpp by their names in C++."""

    def launch(self, function: Any, threads: int, arguments: Sequence[Any]) -> None:
        """Runs a kernel; the arguments are ctypes objects or byte arrays."""


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        # the rest of DLManagedTensor
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class DeviceArray:
    """An array on a device; its memory is freed with it, not with what DLPack made of it."""

    def __init__(self, array: NDArray[Any], driver: Driver) -> None:
        self._driver = driver
        self._shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        place = driver.allocate(array.nbytes)
        weakref.finalize(self, driver.free, place)
        driver.upload(place, array.ctypes.data, array.nbytes)
        bits = 8 * array.dtype.itemsize
        self._tensor = _Tensor(place, *driver.device, array.ndim, 2, bits, 1, self._shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._driver.device

    def __dlpack__(self, *, stream: int | None = None) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        capsule: object = new(ctypes.addressof(self._tensor), b"dltensor", None)
        return capsule


_DEVICES = {1: "cpu", 2: "cuda"}
_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}


def address_of(
    name: str, tensor: Any, shape: tuple[int, ...], dtype: np.dtype[Any], driver: Driver
) -> int:
    """The memory of a tensor in C order with exactly this layout, ordered on the caller's stream.

    Raises TypeError or ValueError for others.
    """
    if not hasattr(tensor, "__dlpack__"):
        raise TypeError(
            f"{name}: expected a tensor with __dlpack__, such as torch's, got {tensor!r:.50}"
        )
    places = [driver.device, tuple(int(part) for part in tensor.__dlpack_device__())]
    if places[0] != places[1]:
        here, there = (f"{_DEVICES.get(kind, kind)}:{number}" for kind, number in places)
        raise ValueError(f"{name}: expected a tensor on {here}, got one on {there}")
    capsule = tensor.__dlpack__(stream=driver.stream())
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = _Tensor.from_address(get(capsule, b"dltensor") or 0)
    count = found.ndim
    has = tuple(found.shape[:count])
    kind = "bool" if found.code == 6 else f"{_TYPES.get(found.code, '?')}{found.bits}"
    if (kind, has) != (dtype.name, shape):
        raise ValueError(f"{name}: expected a tensor {shape} of {dtype.name}, got {has} of {kind}")
    if found.strides:
        steps = [math.prod(shape[axis + 1 :]) for axis in range(count)]
        if any(found.strides[i] != steps[i] for i in range(count) if shape[i] > 1):
            raise ValueError(f"{name}: expected a tensor in C order; call contiguous() first")
    return int(found.data or 0) + int(found.byte_offset)
