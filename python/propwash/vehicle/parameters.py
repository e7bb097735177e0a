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
from the parameters checks ranges.
"""

# Annotations are evaluated at run time (units, file format), so they are not postponed here.
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
    "RotorDragParameters",
    "RotorParameters",
    "VehicleParameters",
    "diagonal",
]

_Discretisation = Annotated[Literal["exact", "backward_euler"], values.discretisation]
_Gains = Annotated[Vector3, values.vector3_or_number]
_ZERO: Vector3 = (0.0, 0.0, 0.0)
_ONE: Vector3 = (1.0, 1.0, 1.0)


class BodyParameters(ParameterSet, frozen=True, kw_only=True):
    """The rigid body."""

    table = "body"

    mass: Annotated[float, Field("kg", "mass of the whole vehicle")]
    inertia: Annotated[
        Matrix3, Field("kg m^2", "about the centre of mass, body axes: the diagonal or 3x3")
    ]
    gravity: Annotated[Vector3, Field("m/s^2", "in the world frame")] = (0.0, 0.0, -9.81)


class RotorParameters(ParameterSet, frozen=True, kw_only=True):
    """One rotor: position, axis and coefficients."""

    table = "rotor"

    position: Annotated[Vector3, Field("m", "from the centre of mass to the rotor, body frame")]
    axis: Annotated[Vector3, Field("", "unit vector of positive thrust, body frame")] = (0, 0, 1)
    spin: Annotated[
        float,
        values.spin,
        Field("", '"ccw" (+1) or "cw" (-1), seen from the tip of the axis: from above'),
    ]
    thrust_coefficient: Annotated[float, Field("N/(rad/s)^2", "thrust = k w |w|")]
    torque_coefficient: Annotated[
        float, Field("N m/(rad/s)^2", "torque about the axis = k w |w|, against the spin")
    ] = 0.0
    inertia: Annotated[float, Field("kg m^2", "rotor and propeller, about the axis")] = 0.0


class MotorParameters(ParameterSet, frozen=True, kw_only=True):
    """Time constants and limits of the motors: one number for all, or a tuple with one for each."""

    table = "motor"

    time_constant_up: Annotated[PerRotor, Field("s", "of the lag while the speed rises")]
    time_constant_down: Annotated[PerRotor, Field("s", "of the lag while the speed falls")]
    speed_min: Annotated[PerRotor, Field("rad/s", "lowest speed, limits the command")] = 0.0
    speed_max: Annotated[PerRotor, Field("rad/s", "highest speed, limits the command")]
    speed_offset: Annotated[
        float,
        Field("", "speed at duty cycle 0, extrapolated, over speed_max: for logs of duty cycles"),
    ] = 0.0
    command_delay: Annotated[float, Field("s", "dead time before the lag")] = 0.0


class DragParameters(ParameterSet, frozen=True, kw_only=True):
    """Quadratic drag of the body."""

    table = "drag"

    translational: Annotated[float, Field("N/(m/s)^2", "force = -k |v| v")] = 0.0
    rotational: Annotated[
        Matrix3,
        values.matrix3_or_number,
        Field("N m/(rad/s)^2", "torque = -K |W| W: a number, the diagonal or 3x3"),
    ] = diagonal(0.0, 0.0, 0.0)


class RotorDragParameters(ParameterSet, frozen=True, kw_only=True):
    """Rotor drag terms that are linear in the airspeed."""

    table = "rotor_drag"

    linear: Annotated[Vector3, Field("1/s", "force = -m diag(d) v along the body axes")] = _ZERO
    blow_back: Annotated[float, Field("N m/(m/s)", "torque = -c e_z x v")] = 0.0


class InflowParameters(ParameterSet, frozen=True, kw_only=True):
    """Change of the thrust of each rotor with the flow through and across it."""

    table = "inflow"

    axial: Annotated[
        float, Field("N/(rad/s)/(m/s)", "thrust of a rotor changes by -c w v along its axis")
    ] = 0.0
    translational: Annotated[
        float, Field("N/(m/s)^2", "thrust of a rotor changes by c v^2 normal to its axis")
    ] = 0.0


class GroundEffectParameters(ParameterSet, frozen=True, kw_only=True):
    """Gain of thrust of rotors close to the ground."""

    table = "ground_effect"

    radius: Annotated[float, Field("m", "of the rotors; 0: no ground effect")] = 0.0
    coefficient: Annotated[float, Field("", "c in thrust = T/(1 - c (radius/(4 height))^2)")] = 1.0
    height: Annotated[float, Field("m", "of the ground, world frame")] = 0.0


class ContactParameters(ParameterSet, frozen=True, kw_only=True):
    """Contact of feet below the rotors with the ground."""

    table = "contact"

    frequency: Annotated[
        float, Field("Hz", "of the vertical oscillation on the feet; 0: no contact")
    ] = 0.0
    damping: Annotated[float, Field("", "of this oscillation, 1: critical")] = 0.7
    friction: Annotated[float, Field("", "Coulomb coefficient")] = 0.6
    leg: Annotated[float, Field("m", "from a rotor down to its foot, along body -z")] = 0.0
    height: Annotated[float, Field("m", "of the ground, world frame")] = 0.0


class BatteryParameters(ParameterSet, frozen=True, kw_only=True):
    """The dependence of rotor speed on battery voltage, and the battery circuit.

    With `cells` > 0 the voltage is computed by a Thevenin circuit that the rotors discharge;
    capacity, full_voltage and efficiency must then be set.
    """

    table = "battery"

    nominal_voltage: Annotated[
        float, Field("V", "voltage at which commanded speeds are reached; 0: no dependence")
    ] = 0.0
    cells: Annotated[float, Field("", "in series; 0: no battery circuit")] = 0.0
    capacity: Annotated[float, Field("A h", "charge of the full battery")] = 0.0
    full_voltage: Annotated[float, Field("V", "open-circuit voltage of a full cell")] = 0.0
    resistance: Annotated[float, Field("ohm", "in series with the whole battery")] = 0.0
    polarisation_resistance: Annotated[float, Field("ohm", "of the RC pair")] = 0.0
    polarisation_time: Annotated[float, Field("s", "time constant of the RC pair")] = 0.0
    efficiency: Annotated[
        float, Field("", "mechanical power of the rotors over electrical power")
    ] = 0.0
    load: Annotated[float, Field("W", "constant consumption besides the motors")] = 0.0


class ProcessNoiseParameters(ParameterSet, frozen=True, kw_only=True):
    """White-noise force and torque, as continuous-time intensities."""

    table = "process_noise"

    force: Annotated[float, Field("N^2 s", "on each world axis")] = 0.0
    torque: Annotated[float, Field("(N m)^2 s", "on each body axis")] = 0.0


class ImuParameters(ParameterSet, frozen=True, kw_only=True):
    """The inertial measurement unit; ideal by default."""

    table = "imu"

    accelerometer_noise_density: Annotated[float, Field("m/s^2/sqrt(Hz)", "white noise")] = 0.0
    gyroscope_noise_density: Annotated[float, Field("rad/s/sqrt(Hz)", "white noise")] = 0.0
    accelerometer_bias_walk: Annotated[
        float, Field("m/s^3/sqrt(Hz)", "random walk of the bias")
    ] = 0.0
    gyroscope_bias_walk: Annotated[float, Field("rad/s^2/sqrt(Hz)", "random walk of the bias")] = (
        0.0
    )
    accelerometer_bias_initial: Annotated[float, Field("m/s^2", "std. dev. at reset")] = 0.0
    gyroscope_bias_initial: Annotated[float, Field("rad/s", "std. dev. at reset")] = 0.0
    position: Annotated[Vector3, Field("m", "from the centre of mass, body frame")] = _ZERO
    attitude: Annotated[
        Quaternion, Field("", "(w, x, y, z), from the sensor frame to the body frame")
    ] = (1.0, 0.0, 0.0, 0.0)
    accelerometer_scale: Annotated[Vector3, Field("", "scale factors")] = _ONE
    gyroscope_scale: Annotated[Vector3, Field("", "scale factors")] = _ONE
    accelerometer_resolution: Annotated[float, Field("m/s^2", "quantisation step; 0: none")] = 0.0
    gyroscope_resolution: Annotated[float, Field("rad/s", "quantisation step; 0: none")] = 0.0
    accelerometer_range: Annotated[float, Field("m/s^2", "saturates at +-range")] = math.inf
    gyroscope_range: Annotated[float, Field("rad/s", "saturates at +-range")] = math.inf
    rate: Annotated[float, Field("Hz", "sampling rate; 0: one sample per step")] = 0.0


class LowPassParameters(ParameterSet, frozen=True, kw_only=True):
    """The second-order low-pass y'' = -damping y' + stiffness (u - y)."""

    table = "rate_controller.filter"

    stiffness: Annotated[float, Field("1/s^2", "p of equation (19)")]
    damping: Annotated[float, Field("1/s", "q of equation (19)")]

    @classmethod
    def butterworth(cls, cutoff: float) -> Self:
        """A Butterworth filter with its -3 dB point at `cutoff` [Hz]."""
        omega = 2.0 * math.pi * values.number(cutoff, "cutoff", "Hz")
        return cls(stiffness=omega * omega, damping=math.sqrt(2.0) * omega)


class RateControllerParameters(ParameterSet, frozen=True, kw_only=True):
    """The rate controller. Without gains it only converts thrust into rotor speeds."""

    table = "rate_controller"

    proportional: Annotated[_Gains, Field("1/s", "gain on the rate error")] = _ZERO
    integral: Annotated[_Gains, Field("1/s^2", "gain on the integral of the error")] = _ZERO
    derivative: Annotated[_Gains, Field("", "gain on the derivative of the filtered rates")] = _ZERO
    integral_bound: Annotated[_Gains, Field("rad", "limit of the integral, +-bound")] = _ZERO
    filter: LowPassParameters = LowPassParameters.butterworth(30.0)
    discretisation: Annotated[_Discretisation, Field("", "of the filter")] = "exact"
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
    speed_min: Annotated[float, Field("m/s", "lowest speed that can be commanded")] = 0.0
    speed_max: Annotated[float, Field("m/s", "highest speed that can be commanded")]
    yaw_rate_limit: Annotated[float, Field("rad/s", "commands are limited to +-limit")]
    process_noise: Annotated[
        Vector2, Field("m^2/s", "intensity of the white velocity along and across the heading")
    ] = (0.0, 0.0)

    def without_noise(self) -> Self:
        """A copy without process noise."""
        return self.replace(process_noise=(0.0, 0.0))

    def to_toml(self) -> str:
        """The text of a vehicle file; `vehicles.load` reads the same parameters, bit for bit."""
        return to_toml(self, self.name, kind="car")
