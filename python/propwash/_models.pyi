"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from propwash import _core

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class LowPass:
    """See propwash.LowPass."""
    def __getstate__(self) -> tuple: ...
    def __init__(
        self, stiffness: Any, damping: Any, dt: Any, exact: bool, channels: Int
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def apply(self, signal: Any) -> NDArray[np.float64]: ...
    def derivative(self) -> NDArray[np.float64]: ...
    def reset(self, value: Any) -> None: ...

class Pid:
    """PID of one axis: derivative on the measurement, bounded integral.

    Guerra et al., arXiv 1905.11377, eq. (20). dt [s] is the time between updates; integral_bound bounds the integral of the error.
    Raises ValueError for a gain < 0 or a dt that is not > 0.
    """
    def __getstate__(self) -> tuple: ...
    def __init__(
        self,
        proportional: Any,
        integral: Any = 0.0,
        derivative: Any = 0.0,
        integral_bound: Any = 1000.0,
        dt: Any = 0.0010416666666666667,
    ) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def reset(self) -> None:
        """Sets the integral to zero."""
    def update(self, error: Any, measurement_derivative: Any = 0.0) -> float:
        """Advances the integral and returns the output."""
    @property
    def integral(self) -> float:
        """integral of the error, unit of the error times s"""

class Allocation:
    """See propwash.Allocation."""
    def __init__(self, parameters: Any) -> None: ...
    def _attained(self, speeds: Any) -> tuple: ...
    def allocate(self, torque: Any, thrust: Any, prioritised: bool = False) -> NDArray[np.float64]:
        """Returns rotor speeds (N,) [rad/s] for a torque (3,) [N m] and a thrust [N]. By default each rotor is clipped to its motor's range, as in the papers. With prioritised, a wrench outside that range is reduced: torque about z first, then thrust, then torque about x and y."""
    @property
    def inverse(self) -> NDArray[np.float64]:
        """(N, 4): the inverse, or the pseudo-inverse if the vehicle does not have four rotors"""
    @property
    def matrix(self) -> NDArray[np.float64]:
        """(4, N): torque x, y, z [N m] and thrust [N] from the signed squares of rotor speeds [(rad/s)^2], eq. (23)"""
    @property
    def rank(self) -> int:
        """rank of the matrix; 4: torque and thrust can be commanded independently"""

class RateController:
    """See propwash.RateController."""
    def __init__(self, parameters: Any, dt: Any) -> None: ...
    def _update(self, gyroscope: Any, command: Any) -> tuple: ...
    def reset(self) -> None:
        """Resets the filter and the integrals."""
    def restore(self, snapshot: tuple) -> None:
        """Restores the state that snapshot() returned; results are then bitwise equal."""
    def snapshot(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns the complete state: filtered rates [rad/s], their derivative [rad/s^2] and the integrals [rad], each (3,)."""
    @property
    def filtered_rates(self) -> NDArray[np.float64]:
        """(3,) rad/s, low-pass filtered gyroscope readings"""
    @property
    def integral(self) -> NDArray[np.float64]:
        """(3,) rad, the bounded integrals of the rate error"""

class CarFleetFloat32:
    """See propwash.CarFleet."""
    def __init__(
        self,
        parameters: Any,
        size: Int,
        integrator: str,
        dt: Float,
        seed: Int,
        first_id: Int,
        noise: bool,
        pool: _core.ThreadPool | None,
    ) -> None: ...
    def read(self) -> NDArray[np.float32]: ...
    def reset(self, rows: ArrayLike | None, mask: ArrayLike | None, seed: Int | None) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def set_parameters(self, parameters: Sequence[Any]) -> None: ...
    def set_state(self, rows: ArrayLike, mask: ArrayLike | None) -> None: ...
    def snapshot(self) -> bytes: ...
    def step(self, command: Any, substeps: Any) -> None: ...
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> NDArray[np.float64]: ...

class CarFleetFloat64:
    """See propwash.CarFleet."""
    def __init__(
        self,
        parameters: Any,
        size: Int,
        integrator: str,
        dt: Float,
        seed: Int,
        first_id: Int,
        noise: bool,
        pool: _core.ThreadPool | None,
    ) -> None: ...
    def read(self) -> NDArray[np.float64]: ...
    def reset(self, rows: ArrayLike | None, mask: ArrayLike | None, seed: Int | None) -> None: ...
    def restore(self, snapshot: bytes) -> None: ...
    def set_parameters(self, parameters: Sequence[Any]) -> None: ...
    def set_state(self, rows: ArrayLike, mask: ArrayLike | None) -> None: ...
    def snapshot(self) -> bytes: ...
    def step(self, command: Any, substeps: Any) -> None: ...
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def time(self) -> NDArray[np.float64]: ...

class DeviceFleetFloat32(_core.FleetFloat32):
    """A fleet whose steps Python launches on a device."""
    class Launch:
        """The arguments of a kernel; valid during the call."""
        @property
        def batch(self) -> bytes: ...
        @property
        def has_floor(self) -> bool: ...
        @property
        def has_slow_imu(self) -> bool: ...
        @property
        def is_individual(self) -> bool: ...
        @property
        def is_reading(self) -> bool:
            """Holds the IMU's reading instead of a step."""
        @property
        def memory(self) -> dict:
            """Address and bytes of each array on the host, by name."""
        @property
        def thread(self) -> str:
            """The C++ type of the kernel's threads."""

    @staticmethod
    def launched_by(launch: Callable, call: Callable) -> Any:
        """Calls `call`; kernels that it runs call launch(FleetLaunch)."""
    @staticmethod
    def offsets() -> dict:
        """Offsets of the pointers and of the step of a batch in bytes, by name."""
    def __init__(self, parameters: Any, size: Int, options: dict) -> None: ...
    def at_start(self, launch: Callable, has_rates: bool) -> None:
        """Calls launch(FleetLaunch) with the memory that the fleet would have after a reset."""
    def field(self, name: str) -> tuple:
        """The first number of a field in a block, its width, and the factor on its numbers."""
    def step_at(self, addresses: Sequence[Int], substeps: Any) -> None:
        """Steps with commands on the device, at the addresses of rates and thrust, or of speeds."""

def flatness(parameters: Any, columns: dict, vehicles: Int) -> dict:
    """See propwash.trajectories.flatness."""

def integrate_step(derivative: Callable, state: Any, dt: Any, method: str) -> NDArray[np.float64]:
    """Returns the state (n,) after one step of dt [s]. derivative: function of a state (n,) that returns its derivative (n,); method: 'euler' or 'rk4'."""

def kernels(set: Int) -> Any:
    """The kernels of float32 fleets other than parallel quadcopters, for an instruction set."""

def position_control(
    proportional: Any, speed_limit: Float, error: Any
) -> tuple[float, float, float]:
    """Returns the velocity [m/s] for a position error [m], (O5)."""
