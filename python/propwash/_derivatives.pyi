"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from propwash import _core, _float64

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class Mpc:
    def __init__(self, vehicle: Any, parameters: dict, size: Int) -> None: ...
    def command(
        self, states: ArrayLike, points: ArrayLike, elapsed: Float
    ) -> NDArray[np.float64]: ...
    def reset(self) -> None: ...
    @property
    def disturbance_force(self) -> NDArray[np.float64]: ...
    @property
    def disturbance_torque(self) -> NDArray[np.float64]: ...
    @property
    def plan(self) -> NDArray[np.float64]: ...

class GradientFloat32:
    """A flight that is recorded for its derivatives; see Fleet.vjp."""
    def __init__(
        self,
        fleet: _core.FleetFloat32,
        command: Any,
        steps: Any,
        substeps: Any,
        requested: Sequence[Int],
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(self, cotangents: Mapping[str, ArrayLike], window: Int) -> dict: ...
    def push(self, tangents: Mapping[str, ArrayLike]) -> dict: ...
    def states(self) -> dict: ...

class GradientFloat64:
    """A flight that is recorded for its derivatives; see Fleet.vjp."""
    def __init__(
        self,
        fleet: _float64.FleetFloat64,
        command: Any,
        steps: Any,
        substeps: Any,
        requested: Sequence[Int],
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(self, cotangents: Mapping[str, ArrayLike], window: Int) -> dict: ...
    def push(self, tangents: Mapping[str, ArrayLike]) -> dict: ...
    def states(self) -> dict: ...

class FlightFloat32:
    """A flight in closed loop; see propwash.torch.TensorFlight."""
    class Step:
        """A command of the flight."""

    def __init__(
        self, fleet: _core.FleetFloat32, substeps: Any, requested: Sequence[Int]
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(
        self,
        step: FlightFloat32.Step,
        cotangents: Sequence[ArrayLike | None],
        memory: ArrayLike | None,
    ) -> tuple: ...
    def step(self, command: Any) -> tuple: ...
    def widths(self) -> tuple: ...

class FlightFloat64:
    """A flight in closed loop; see propwash.torch.TensorFlight."""
    class Step:
        """A command of the flight."""

    def __init__(
        self, fleet: _float64.FleetFloat64, substeps: Any, requested: Sequence[Int]
    ) -> None: ...
    def parts(self) -> dict: ...
    def pull(
        self,
        step: FlightFloat64.Step,
        cotangents: Sequence[ArrayLike | None],
        memory: ArrayLike | None,
    ) -> tuple: ...
    def step(self, command: Any) -> tuple: ...
    def widths(self) -> tuple: ...

def drive_open_loop(
    parameters: Any, slopes: dict, unknowns: Int, log: dict, period: Float
) -> tuple: ...
def fly_open_loop(
    parameters: Any,
    slopes: dict,
    unknowns: Any,
    log: dict,
    period: Float,
    substeps: Int,
    starts: Any,
    samples: Any,
    attitude_every: Any,
    record: Sequence[str],
    pool: _core.ThreadPool | None,
) -> dict: ...
def linearize(
    parameters: Any,
    individual: dict,
    points: dict,
    discrete: bool,
    integrator: str,
    dt: Float,
    rate_thrust: bool,
    control_vehicle: Any,
) -> tuple: ...
def trace_dynamics(parameters: Any, symbols: Sequence[str]) -> tuple: ...
