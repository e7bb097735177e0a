"""A fleet that steps on a device: the memory of the device, and when it is copied.

The fleet of the extension has the layout of the device's memory. Construction, parameters, resets,
outer loops and snapshots are computed by it; its kernels are launched here. Commands of rates and
thrust or of rotor speeds copy no state: it stays on the device until a method needs it.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _core, _float64, _models
from propwash.fleet._driver import DeviceArray, Driver, address_of
from propwash.vehicle.parameters import VehicleParameters

WARP = 32
"""Vehicles of a block."""
SHARED_BYTES = 32 * 1024
"""At least the bytes of a vehicle's constants; the limit of a kernel's arguments."""
COMMANDS = ("rates", "thrust", "speeds")
COPIED_BACK = ("state", "motor_delay", "action_delay", "reset_at")
"""The arrays that kernels change."""
STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")
STARTS = ("state", "motor_delay", "action_delay")
_START_ARRAYS = tuple(f"start {name}" for name in STARTS)
READING = ("imu", "kinematics", "read", "snapshot")
"""Methods that need the state and change nothing."""
NUMBERS = ("battery_voltage", "battery_current", "state_of_charge", "contact", "diverged")
"""Fields that are arrays (n,)."""
STATELESS = ("outer_loops", "own_parameters", "parameter")


def open_driver(device: str) -> Driver:
    """The driver of a device. Raises ImportError or OSError with what is missing."""
    from propwash.fleet._cuda import cuda_driver

    return cuda_driver(int(device.partition(":")[2] or 0))


def checked_device(device: object) -> str:
    """`device`, if it names one."""
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device == "cpu" or (kind == "cuda" and (number.isdecimal() or device == "cuda")):
        return str(device)
    raise ValueError(f"device: expected 'cpu', 'cuda' or 'cuda:1' and so on, got {device!r:.50}")


class DeviceFleet:
    """Stands for a bound fleet; its other methods are those of the fleet on the host."""

    def __init__(
        self, parameters: VehicleParameters, size: int, dtype: np.dtype[Any],
        options: dict[str, Any], driver: Driver,
    ) -> None:  # fmt: skip
        single = dtype == np.float32
        kind: Any = _models.DeviceFleetFloat32 if single else _float64.DeviceFleetFloat64
        self._host = kind(parameters, size, options)
        self._rotors = len(parameters.rotors)
        self._size, self._dtype, self._driver = size, dtype, driver
        self._number = "float" if single else "double"
        self._pointers: dict[str, int] = kind.offsets()
        self._allocated: dict[str, tuple[int, int]] = {}
        self._mirrored: dict[str, tuple[int, int]] = {}
        self._shared: dict[str, Any] = {}
        self._delays, self._noise = options["max_action_delay"] > 0, bool(options["noise"])
        self._host_is_current, self._device_is_current = True, False
        self._is_stepping = False  # otherwise the host may change its memory between two launches
        self._copies_back = True  # after each launch
        self._begins = False  # the next launch is the first of a step
        self._level = ""  # of the last command
        self._has_outer_loop = False  # the state of outer loops is on the host
        self._start: bytes | None = None  # the batch of the blocks to restart from
        self._tensors: Sequence[Any] = ()
        weakref.finalize(self, _free, driver, self._allocated)

    # ---- what copies no state ----

    def step(self, command: Any, substeps: int, estimate: Any = None) -> None:
        """As that of a bound fleet; a mapping is a command of tensors on the device."""
        is_tensors = isinstance(command, Mapping)
        call: Callable[[], None] = partial(self._host.step, command, substeps, estimate)
        level = "rates" if isinstance(command, _core.RateThrust) else "outer"
        if isinstance(command, _core.RotorSpeeds):
            level = "speeds"
        with self._host:
            if is_tensors:
                if estimate is not None:
                    raise ValueError("state: expected None with a dict of tensors")
                if set(command) not in ({"rates", "thrust"}, {"speeds"}):
                    raise ValueError(
                        "command: expected tensors {'rates': …, 'thrust': …} or {'speeds': …}, got "
                        f"{list(command)}"
                    )
                level = "rates" if "rates" in command else "speeds"
                shapes = {"rates": (3,), "thrust": (), "speeds": (self._rotors,)}
                names = [name for name in COMMANDS if name in command]
                places = [self._address(name, command[name], shapes[name]) for name in names]
                self._tensors = tuple(command.values())  # until the next step
                call = partial(self._host.step_at, places, substeps)
            if level == "outer" or (self._delays and level != self._level):
                self._to_host()
                # the host writes delayed actions when the kind of command changes
                self._device_is_current = self._device_is_current and not self._delays
            self._level, self._has_outer_loop = "", True  # unknown after an exception
            self._is_stepping = self._begins = True
            self._copies_back = level == "outer"
            try:
                self._launched(call, is_tensors)
            finally:
                self._is_stepping = self._begins = False
            self._level, self._has_outer_loop = level, level == "outer"

    def read_into(self, tensors: Mapping[str, Any]) -> None:
        """Writes fields to tensors on the device."""
        with self._host:
            fields = []
            for name, tensor in tensors.items():
                first, width, factor = self._host.field(name)
                to = self._address(name, tensor, () if name in NUMBERS else (width,))
                fields.append((name, first, width, factor, to))
            for name, first, width, factor, to in fields:
                if self._device_is_current:
                    [rows] = self._driver.functions([f"propwash::fleet_rows<{self._number}>"])
                    block = self._allocated["state"][1] // self._blocks // self._dtype.itemsize
                    field = self._allocated["state"][0] + first * WARP * self._dtype.itemsize
                    arguments = [_word(field), _word(block), _word(self._size), ctypes.c_int(width),
                                 self._scalar(factor), _word(to)]  # fmt: skip
                    self._driver.launch(rows, self._size, arguments)
                else:
                    array = np.ascontiguousarray(self._host.read(name), self._dtype)
                    self._driver.upload(to, array.ctypes.data, array.nbytes)

    def reset_from(
        self, mask: Any, tensors: Mapping[str, Any], deviations: Callable[[], Sequence[Any]],
        checks: bool,
    ) -> None:  # fmt: skip
        """Restarts the vehicles of a mask of tensors on the device.

        deviations: of the initial biases of accelerometer and gyroscope, (n,) each.
        """
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STATE, (3,))
        shapes |= {"attitude": (4,), "rotor_speeds": (self._rotors,)}
        with self._host:
            if unknown := set(tensors) - set(shapes):
                raise ValueError(f"tensors: expected some of {STATE}, got {sorted(unknown)}")
            chosen = self._address("mask", mask, (), np.dtype(bool))
            rows = [
                self._address(name, tensors[name], shapes[name]) if name in tensors else 0
                for name in STATE
            ]
            self._tensors = (mask, *tensors.values())
            if checks and tensors:
                self._check_rows(chosen, rows)
            if self._device_is_current and not self._has_outer_loop:
                if self._start is None:
                    self._copy_start(deviations())
                if self._start:
                    return self._reset_on_device(chosen, rows)
            parts = [
                self._downloaded(address, (self._size, *shapes[name])) if address else None
                for name, address in zip(STATE, rows, strict=True)
            ]
            some = self._downloaded(chosen, (self._size,), np.dtype(bool))
            self._on_host("reset", self._host.reset, tuple(parts), some, None)

    def _check_rows(self, mask: int, rows: Sequence[int]) -> None:
        """Raises ValueError if a row of the mask is not a state."""
        place = self._place("wrong", 8)
        self._driver.clear(place, 8, 8, 1)
        [kernel] = self._driver.functions([f"propwash::fleet_check<{self._number}>"])
        start = self._packed_start(mask, rows)
        arguments = [start, _word(self._size), ctypes.c_int(self._rotors), _word(place)]
        self._driver.launch(kernel, self._size, arguments)
        wrong = int(self._downloaded(place, (1,), np.dtype(np.uint64))[0]) - 1
        if wrong >= 0:
            raise ValueError(
                f"{STATE[wrong % 5]}: expected finite numbers, and unit quaternions as attitudes, "
                f"got others for vehicle {wrong // 5}"
            )

    def _packed_start(self, mask: int, rows: Sequence[int]) -> bytearray:
        """FleetStart."""
        places = [self._allocated.get(name, (0, 0))[0] for name in _START_ARRAYS]
        reset_at = self._allocated.get("reset_at", (0, 0))[0]
        return bytearray(struct.pack("=11Q", *places, mask, *rows, reset_at, self._noise))

    def _copy_start(self, deviations: Sequence[Any]) -> None:
        """Copies what vehicles restart from to the device; not for a slow IMU."""

        def copy(launch: Any) -> None:
            self._start = b""
            if launch.has_slow_imu:
                return
            memory: dict[str, tuple[int, int]] = launch.memory
            if self._noise:
                bias = self._host.field("accelerometer_bias")[0]
                host, size = memory["state"]
                numbers = memoryview((ctypes.c_char * size).from_address(host))
                blocks = np.frombuffer(numbers, self._dtype).reshape(self._blocks, -1, WARP)
                for first, each in zip((bias, bias + 3), deviations, strict=True):
                    lanes = np.resize(each, (self._blocks, 1, WARP))  # the padding is not read
                    blocks[:, first : first + 3, :] = lanes
            for name in STARTS:
                if name in memory:
                    host, size = memory[name]
                    self._driver.upload(self._place("start " + name, size), host, size)
            self._start = launch.batch

        self._host.at_start(copy, self._level == "rates")

    def _reset_on_device(self, mask: int, rows: Sequence[int]) -> None:
        assert self._start is not None
        names = set(self._pointers) & set(self._allocated) - set(COMMANDS)
        addresses = {name: self._allocated[name][0] for name in names}
        batch = self._pointing_to(self._start, {**addresses, "next_state": addresses["state"]})
        struct.pack_into("=Q", batch, self._pointers["step"], self._host.steps)
        start = self._packed_start(mask, rows)
        [kernel] = self._driver.functions([f"propwash::fleet_reset<{self._number}>"])
        self._driver.launch(kernel, self._size, [batch, start])
        self._host_is_current = False

    # ---- what computes on the host ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "time":
            with self._host:
                self._to_host()
        value = getattr(self._host, name)
        return partial(self._on_host, name, value) if callable(value) else value

    def _on_host(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if name in STATELESS:
            return method(*args, **kwargs)
        with self._host:
            self._to_host()
            if name in ("rollout", "restore"):
                self._has_outer_loop = True  # perhaps
            if name not in READING:
                self._device_is_current, self._level = False, ""
            self._copies_back = True
            return self._launched(partial(method, *args, **kwargs), False)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """A copy of an array on the device, for commands."""
        return DeviceArray(np.ascontiguousarray(array, self._dtype), self._driver)

    def synchronize(self) -> None:
        """Waits for the device."""
        self._driver.synchronize()

    @property
    def isa(self) -> str:
        """The architecture of the device."""
        return self._driver.name

    def __enter__(self) -> Any:
        return self._host.__enter__()

    def __exit__(self, *error: object) -> None:
        self._host.__exit__(*error)

    # ---- memory ----

    @property
    def _blocks(self) -> int:
        return -(-self._size // WARP)

    def _to_host(self) -> None:
        """Copies what kernels have changed."""
        if self._host_is_current:
            return
        for name, (host, size) in self._mirrored.items():
            self._driver.download(host, self._allocated[name][0], size)
        self._host_is_current = True

    def _place(self, name: str, size: int) -> int:
        """The address of an array on the device."""
        address, present = self._allocated.get(name, (0, -1))
        if present != size:
            if present >= 0:
                self._driver.free(address)
                del self._allocated[name]
            address = self._driver.allocate(size)
            self._allocated[name] = (address, size)
        return address

    def _launched(self, call: Callable[[], Any], has_tensors: bool) -> Any:
        return self._host.launched_by(partial(self._launch, has_tensors), call)

    def _launch(self, has_tensors: bool, launch: Any) -> None:
        """Runs a kernel of the fleet on the device."""
        memory: dict[str, tuple[int, int]] = launch.memory
        addresses: dict[str, int] = {}
        for name, (host, size) in memory.items():
            if name in COMMANDS and has_tensors:
                addresses[name] = host
                continue
            addresses[name] = self._place(name, size)
            if name in COMMANDS or not self._device_is_current:
                self._driver.upload(addresses[name], host, size)
        if not self._device_is_current:
            self._shared.clear()
            self._start = None
        self._mirrored = {name: memory[name] for name in COPIED_BACK if name in memory}
        addresses["next_state"] = addresses["state"]
        batch = self._pointing_to(launch.batch, addresses)

        itemsize = self._dtype.itemsize
        block = memory["state"][1] // self._blocks
        if self._begins and launch.has_floor:
            first, _, _ = self._host.field("contact")
            contact = addresses["state"] + first * WARP * itemsize
            self._driver.clear(contact, block, WARP * itemsize, self._blocks)
        self._begins = False

        individual = str(launch.is_individual).lower()
        entry = "fleet_measure" if launch.is_reading else "fleet_step"
        names = [f"propwash::{entry}<{launch.thread}, {individual}>",
                 f"propwash::fleet_constants<{launch.thread}>"]  # fmt: skip
        kernel, constants = self._driver.functions(names)
        arguments = [batch, self._constants(launch, constants, batch)]
        if launch.is_reading:
            first, _, _ = self._host.field("imu")
            held = addresses["state"] + first * WARP * itemsize
            arguments += [_word(held), _word(block // itemsize)]
        self._driver.launch(kernel, self._size, arguments)
        self._host_is_current, self._device_is_current = False, True
        if self._copies_back:
            self._to_host()
            self._device_is_current = self._is_stepping

    def _pointing_to(self, batch: bytes, addresses: Mapping[str, int]) -> bytearray:
        """A batch with pointers to the device."""
        changed = bytearray(batch)
        for name, address in addresses.items():
            struct.pack_into("=Q", changed, self._pointers[name], address)
        return changed

    def _constants(self, launch: Any, function: Any, batch: bytearray) -> Any:
        """The constants common to all vehicles, an argument of the kernel."""
        key = launch.thread
        if key not in self._shared:
            self._shared[key] = (ctypes.c_char * SHARED_BYTES)()
            if not launch.is_individual:
                place = self._place("shared", SHARED_BYTES)
                self._driver.launch(function, 1, [batch, _word(place)])
                host = ctypes.addressof(self._shared[key])
                self._driver.download(host, place, SHARED_BYTES)
        return self._shared[key]

    def _scalar(self, value: float) -> Any:
        return (ctypes.c_float if self._number == "float" else ctypes.c_double)(value)

    def _address(
        self, name: str, tensor: Any, tail: tuple[int, ...], dtype: np.dtype[Any] | None = None
    ) -> int:
        """The memory of a tensor (n, …) on the device."""
        return address_of(name, tensor, (self._size, *tail), dtype or self._dtype, self._driver)

    def _downloaded(
        self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any] | None = None
    ) -> NDArray[Any]:
        array = np.empty(shape, dtype or self._dtype)
        self._driver.download(array.ctypes.data, address, array.nbytes)
        return array


def require_cpu(fleet: Any, what: str) -> None:
    """Raises ValueError for a fleet on a device."""
    if isinstance(fleet._core, DeviceFleet):
        raise ValueError(
            f"{what}: expected a fleet with device='cpu', because this runs on the processor only; "
            "make one with the same arguments and restore(fleet.snapshot())"
        )


def _word(value: int) -> Any:
    return ctypes.c_uint64(value)


def _free(driver: Driver, allocated: dict[str, tuple[int, int]]) -> None:
    for address, _ in allocated.values():
        driver.free(address)
