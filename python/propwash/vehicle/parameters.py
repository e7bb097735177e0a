"""Parameters of vehicles in SI units, with the field names of the C++ structs.

Parameters are loaded from a vehicle file (`propwash.vehicles.load`) or constructed:

    vehicle = VehicleParameters(
        name="mine",
        body=BodyParameters(mass=1.0, inertia=diagonal(0.005, 0.005, 0.007)),
        rotors=(RotorParameters(position=(0.1, 0.1, 0.0), spin=1, thrust_coefficient=2e-6), ...),
        motor={"time_constant_up": 0.02, "time_constant_down": 0.02, "speed_max": 2000.0},
    )

They are frozen: `replace` returns a changed copy. A group may be passed as a dict of its fields.
Lists and arrays are converted to tuples, three numbers of an inertia to a diagonal matrix. Unknown
or missing fields and invalid types or shapes raise ParameterError; the vehicle that is constructed
from the parameters checks ranges. Units and meanings are those of the C++ table of parameters,
include/propwash/vehicle/fields.hpp: `BodyParameters.field("mass")`, `help(BodyParameters)`.
"""

# Annotations are evaluated at run time (file format), so they are not postponed here.
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from propwash._checks import ParameterError
from propwash.vehicle import fields as values
from propwash.vehicle.fields import (
    Field,
    Matrix3,
    ParameterSet,
    PerRotor,
    Quaternion,
    Vector2,
    Vector3,
    diagonal,
)
from propwash.vehicle.toml import to_toml

__all__ = [
    "BatteryParameters",
    "BodyParameters",
    "CarParameters",
    "ContactParameters",
    "DragParameters",
    "GroundEffectParameters",
    "ImuParameters",
    "InflowParameters",
    "LowPassParameters",
    "MotorParameters",
    "ParameterError",
    "ParameterSet",
    "ProcessNoiseParameters",
    "RateControllerParameters",
    "ResidualParameters",
    "RotorDragParameters",
    "RotorParameters",
    "VehicleParameters",
    "diagonal",
]

_Gains = Annotated[Vector3, values.vector3_or_number]
_EVEN, _ODD = 22, 17
"""Numbers of monomials of the residual."""
_Even = Annotated[tuple[float, ...], values.list_of(_EVEN)]
_Odd = Annotated[tuple[float, ...], values.list_of(_ODD)]
_ZERO: Vector3 = (0.0, 0.0, 0.0)
_ONE: Vector3 = (1.0, 1.0, 1.0)


class BodyParameters(ParameterSet, frozen=True, kw_only=True):
    """The rigid body."""

    table = "body"

    mass: float
    inertia: Matrix3
    gravity: Vector3 = (0.0, 0.0, -9.81)


class RotorParameters(ParameterSet, frozen=True, kw_only=True):
    """One rotor: position, axis and coefficients."""

    table = "rotor"

    position: Vector3
    axis: Vector3 = (0, 0, 1)
    spin: Annotated[float, values.spin]
    thrust_coefficient: float
    torque_coefficient: float = 0.0
    inertia: float = 0.0


class MotorParameters(ParameterSet, frozen=True, kw_only=True):
    """Time constants and limits of the motors: one number for all, or a tuple with one for each."""

    table = "motor"

    time_constant_up: PerRotor
    time_constant_down: PerRotor
    speed_min: PerRotor = 0.0
    speed_max: PerRotor
    speed_offset: float = 0.0
    command_delay: float = 0.0


class DragParameters(ParameterSet, frozen=True, kw_only=True):
    """Quadratic drag of the body."""

    table = "drag"

    translational: float = 0.0
    rotational: Annotated[Matrix3, values.matrix3_or_number] = diagonal(0.0, 0.0, 0.0)


class RotorDragParameters(ParameterSet, frozen=True, kw_only=True):
    """Rotor drag terms that are linear in the airspeed."""

    table = "rotor_drag"

    linear: Vector3 = _ZERO
    blow_back: float = 0.0


class InflowParameters(ParameterSet, frozen=True, kw_only=True):
    """Forces and torques of the flow through and across each rotor."""

    table = "inflow"

    axial: float = 0.0
    translational: float = 0.0
    radius: float = 0.0
    drag: float = 0.0
    axial_drag: float = 0.0
    flapping: float = 0.0


class GroundEffectParameters(ParameterSet, frozen=True, kw_only=True):
    """Gain of thrust of rotors close to the ground."""

    table = "ground_effect"

    radius: float = 0.0
    coefficient: float = 1.0
    height: float = 0.0


class ContactParameters(ParameterSet, frozen=True, kw_only=True):
    """Contact of feet below the rotors with the ground."""

    table = "contact"

    frequency: float = 0.0
    damping: float = 0.7
    friction: float = 0.6
    leg: float = 0.0
    height: float = 0.0


class ResidualParameters(ParameterSet, frozen=True, kw_only=True):
    """Force and torque that the other terms leave, as polynomials within a domain.

    See docs/model/residual.md and `identify.fit_residual`.
    """

    table = "residual"

    velocity: Vector3 = _ZERO
    velocity_centre: Vector3 = _ZERO
    rates: Vector3 = _ZERO
    thrust: float = 0.0
    thrust_centre: float = 0.0
    torque: Vector3 = _ZERO
    force_x: _Even = (0.0,) * _EVEN
    force_y: _Odd = (0.0,) * _ODD
    force_z: _Even = (0.0,) * _EVEN
    torque_x: _Odd = (0.0,) * _ODD
    torque_y: _Even = (0.0,) * _EVEN
    torque_z: _Odd = (0.0,) * _ODD


class BatteryParameters(ParameterSet, frozen=True, kw_only=True):
    """The dependence of rotor speed on battery voltage, and the battery circuit.

    With `cells` > 0 the voltage is computed by a Thevenin circuit that the rotors discharge;
    capacity, full_voltage and efficiency must then be set.
    """

    table = "battery"

    nominal_voltage: float = 0.0
    cells: float = 0.0
    capacity: float = 0.0
    full_voltage: float = 0.0
    resistance: float = 0.0
    polarisation_resistance: float = 0.0
    polarisation_time: float = 0.0
    efficiency: float = 0.0
    load: float = 0.0


class ProcessNoiseParameters(ParameterSet, frozen=True, kw_only=True):
    """White-noise force and torque, as continuous-time intensities."""

    table = "process_noise"

    force: float = 0.0
    torque: float = 0.0


class ImuParameters(ParameterSet, frozen=True, kw_only=True):
    """The inertial measurement unit; ideal by default."""

    table = "imu"

    accelerometer_noise_density: float = 0.0
    gyroscope_noise_density: float = 0.0
    accelerometer_bias_walk: float = 0.0
    gyroscope_bias_walk: float = 0.0
    accelerometer_bias_initial: float = 0.0
    gyroscope_bias_initial: float = 0.0
    position: Vector3 = _ZERO
    attitude: Quaternion = (1.0, 0.0, 0.0, 0.0)
    accelerometer_scale: Vector3 = _ONE
    gyroscope_scale: Vector3 = _ONE
    accelerometer_resolution: float = 0.0
    gyroscope_resolution: float = 0.0
    accelerometer_range: float = math.inf
    gyroscope_range: float = math.inf
    rate: float = 0.0


class LowPassParameters(ParameterSet, frozen=True, kw_only=True):
    """The second-order low-pass y'' = -damping y' + stiffness (u - y)."""

    table = "rate_controller.filter"

    stiffness: float
    damping: float

    @classmethod
    def butterworth(cls, cutoff: float) -> Self:
        """A Butterworth filter with its -3 dB point at `cutoff` [Hz]."""
        omega = 2.0 * math.pi * values.number(cutoff, "cutoff", "Hz")
        return cls(stiffness=omega * omega, damping=math.sqrt(2.0) * omega)


class RateControllerParameters(ParameterSet, frozen=True, kw_only=True):
    """The rate controller. Without gains it only converts thrust into rotor speeds."""

    table = "rate_controller"

    proportional: _Gains = _ZERO
    integral: _Gains = _ZERO
    derivative: _Gains = _ZERO
    integral_bound: _Gains = _ZERO
    filter: LowPassParameters = LowPassParameters.butterworth(30.0)
    discretisation: Annotated[
        Literal["exact", "backward_euler"], values.discretisation, Field("", "of the filter")
    ] = "exact"
    gyroscopic_term: Annotated[bool, Field("", "whether the torque has the term W x J W")] = True

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            proportional: Vector3 | float = ...,
            integral: Vector3 | float = ...,
            derivative: Vector3 | float = ...,
            integral_bound: Vector3 | float = ...,
            filter: LowPassParameters | Mapping[str, Any] = ...,
            discretisation: Literal["exact", "backward_euler"] = ...,
            gyroscopic_term: bool = ...,
        ) -> None: ...


class VehicleParameters(ParameterSet, frozen=True, kw_only=True):
    """A multicopter. By default drag, noise and gains are zero and the IMU is ideal."""

    name: str = "vehicle"
    """Name of the vehicle."""
    body: BodyParameters
    rotors: tuple[RotorParameters, ...]
    """In the order of commands and speeds."""
    motor: MotorParameters
    drag: DragParameters = DragParameters()
    rotor_drag: RotorDragParameters = RotorDragParameters()
    inflow: InflowParameters = InflowParameters()
    ground_effect: GroundEffectParameters = GroundEffectParameters()
    contact: ContactParameters = ContactParameters()
    residual: ResidualParameters = ResidualParameters()
    battery: BatteryParameters = BatteryParameters()
    process_noise: ProcessNoiseParameters = ProcessNoiseParameters()
    imu: ImuParameters = ImuParameters()
    rate_controller: RateControllerParameters = RateControllerParameters()

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            name: str = ...,
            body: BodyParameters | Mapping[str, Any],
            rotors: Sequence[RotorParameters | Mapping[str, Any]],
            motor: MotorParameters | Mapping[str, Any],
            drag: DragParameters | Mapping[str, Any] = ...,
            rotor_drag: RotorDragParameters | Mapping[str, Any] = ...,
            inflow: InflowParameters | Mapping[str, Any] = ...,
            ground_effect: GroundEffectParameters | Mapping[str, Any] = ...,
            contact: ContactParameters | Mapping[str, Any] = ...,
            residual: ResidualParameters | Mapping[str, Any] = ...,
            battery: BatteryParameters | Mapping[str, Any] = ...,
            process_noise: ProcessNoiseParameters | Mapping[str, Any] = ...,
            imu: ImuParameters | Mapping[str, Any] = ...,
            rate_controller: RateControllerParameters | Mapping[str, Any] = ...,
        ) -> None: ...

    def motor_values(self, name: str) -> tuple[float, ...]:
        """A motor parameter, such as "speed_max", for each rotor in order."""
        return values.each(getattr(self.motor, name), len(self.rotors))

    @property
    def weight(self) -> float:
        """N, mass times the norm of gravity."""
        return self.body.mass * math.hypot(*self.body.gravity)

    @property
    def max_rotor_thrust(self) -> tuple[float, ...]:
        """N, the thrust of each rotor at its maximum speed."""
        speeds = self.motor_values("speed_max")
        return tuple(r.thrust_coefficient * w * w for r, w in zip(self.rotors, speeds, strict=True))

    @property
    def max_thrust(self) -> float:
        """N, the sum of `max_rotor_thrust`: the collective thrust of parallel rotors."""
        return sum(self.max_rotor_thrust)

    def without_noise(self) -> Self:
        """A copy without process noise, measurement noise and IMU biases."""
        names = [n for n in self.imu.__struct_fields__ if "_noise_" in n or "_bias_" in n]
        no_noise = dict.fromkeys(names, 0.0)
        return self.replace(process_noise=ProcessNoiseParameters(), imu=no_noise)

    def to_toml(self) -> str:
        """The text of a vehicle file; `vehicles.load` reads the same parameters, bit for bit."""
        return to_toml(self, self.name, kind="multicopter")


class CarParameters(ParameterSet, frozen=True, kw_only=True):
    """A Dubins car."""

    name: str = "car"
    """Name of the vehicle."""
    speed_min: float = 0.0
    speed_max: float
    yaw_rate_limit: float
    process_noise: Vector2 = (0.0, 0.0)

    def without_noise(self) -> Self:
        """A copy without process noise."""
        return self.replace(process_noise=(0.0, 0.0))

    def to_toml(self) -> str:
        """The text of a vehicle file; `vehicles.load` reads the same parameters, bit for bit."""
        return to_toml(self, self.name, kind="car")
