"""The node of a multicopter: commands in, inertial sensor, odometry and transforms out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propwash.ros import _messages
from propwash.ros._messages import Message, Topic
from propwash.ros._node import InputError, Outputs
from propwash.ros._parameters import UavSettings
from propwash.ros._vehicle import QUEUE, VehicleNode, require_usable
from propwash.vehicle import Multicopter, RateThrust, RotorSpeeds
from propwash.vehicle.hosted import HostedVehicle

DT = 1.0 / 960.0
IMU, ODOMETRY = "/uav/sensors/imu", "/uav/odometry"
RATE_THRUST, MOTOR_SPEED = "/uav/input/rateThrust", "/uav/input/motorspeed"


class Uav(VehicleNode):
    """The logic of flightgoggles_uav_dynamics.

    It moves only while armed. Without a command the rotors spin down. A collision, unless ignored,
    and a reset return it to the start, disarm it and forget the command. With
    `settings.arming_thrust`, a command of at least this thrust arms too, as in FlightGoggles 2.
    """

    def __init__(self, settings: UavSettings, seed: int = 0, noise: bool = True) -> None:
        self.settings = settings
        self.vehicle = Multicopter(
            settings.vehicle, integrator=settings.integrator, seed=seed, noise=noise
        )
        start = {"position": settings.position, "attitude": settings.attitude}
        idle = RotorSpeeds(np.zeros(self.vehicle.rotors))
        host = HostedVehicle(self.vehicle, start, DT, idle=idle)
        command_topic = RATE_THRUST if settings.use_rate_thrust else MOTOR_SPEED
        super().__init__(host, command_topic, settings.ignore_collisions)
        if settings.arming_thrust is not None:
            self.how_to_arm += f", or a thrust of at least {settings.arming_thrust:g} N"
        self.publishes |= {
            IMU: Topic("sensor_msgs/msg/Imu", QUEUE),
            ODOMETRY: Topic("nav_msgs/msg/Odometry", QUEUE),
            "/tf_static": Topic("tf2_msgs/msg/TFMessage", latched=True),
        }
        kinds = {RATE_THRUST: "RateThrust", MOTOR_SPEED: "Actuators"}
        callback = self.on_rate_thrust if settings.use_rate_thrust else self.on_motor_speed
        topic = Topic(f"mav_msgs/msg/{kinds[self.command_topic]}")
        self.subscribes[self.command_topic] = (topic, callback)
        self._covariances = tuple(
            np.eye(3).reshape(-1) * variance
            for variance in (
                density**2 / DT
                for density in (
                    settings.vehicle.imu.gyroscope_noise_density,
                    settings.vehicle.imu.accelerometer_noise_density,
                )
            )
        )
        self._unknown = {size: np.array([-1.0, *[0.0] * (size - 1)]) for size in (9, 36)}
        self._imu_messages = self._odometry_messages = 0

    def on_rate_thrust(self, message: Message) -> None:
        """Takes body rates [rad/s] and thrust [N] as the command."""
        rates, thrust = _vector(message.angular_rates), float(message.thrust.z)
        require_usable([*rates, thrust])
        self.host.command = RateThrust(rates, thrust * self.settings.thrust_scale)
        least, delay = self.settings.arming_thrust, self.settings.arming_delay
        if least is not None and thrust >= least and self.host.steps * DT > delay:
            self.host.armed = True

    def on_motor_speed(self, message: Message) -> None:
        """Takes rotor speeds [rad/s] as the command."""
        speeds = np.asarray(message.angular_velocities, dtype=np.float64)
        rotors = self.vehicle.rotors
        if len(speeds) < rotors:
            raise InputError(f"expected {rotors} angular_velocities")
        require_usable(speeds[:rotors].tolist())
        self.host.command = RotorSpeeds(speeds[:rotors])

    def start(self, stamp: int) -> Outputs:
        """The static transforms of the rotors."""
        each = [
            _messages.transform(
                stamp, "uav/imu", f"uav/motor{number}", rotor.position, (0.0, 0.0, 0.0, 1.0)
            )
            for number, rotor in enumerate(self.settings.vehicle.rotors)
        ]
        return [("/tf_static", _messages.transforms(*each))]

    def outputs(self, stamp: int) -> Outputs:
        """Messages of a step."""
        measured = [(IMU, self._imu(stamp))] if self.host.armed else []
        transform, odometry = self._motion(stamp)
        return [*measured, ("/tf", transform), (ODOMETRY, odometry)]

    def _imu(self, stamp: int) -> Message:
        reading = self.vehicle.imu
        vector = _messages.type_of("geometry_msgs/msg/Vector3")
        none = _messages.type_of("geometry_msgs/msg/Quaternion")(0.0, 0.0, 0.0, 0.0)
        self._imu_messages += 1
        return _messages.type_of("sensor_msgs/msg/Imu")(
            _messages.header(stamp, "", self._imu_messages),
            none,
            self._unknown[9],
            vector(*reading.angular_rate.tolist()),
            self._covariances[0],
            vector(*reading.specific_force.tolist()),
            self._covariances[1],
        )

    def _motion(self, stamp: int) -> tuple[Message, Message]:
        """The transform and the odometry of the present state."""
        state = self.vehicle.state
        w, x, y, z = state.attitude.tolist()
        position = state.position.tolist()
        velocity = _to_body(state.velocity.tolist(), w, x, y, z)
        names = ("Vector3", "Point", "Quaternion", "Pose", "Twist")
        vector, point, rotation, pose, twist = (
            _messages.type_of(f"geometry_msgs/msg/{name}") for name in names
        )
        pose_of, twist_of = (
            _messages.type_of(f"geometry_msgs/msg/{name}WithCovariance")
            for name in ("Pose", "Twist")
        )
        motion = twist(vector(*velocity), vector(*state.body_rates.tolist()))
        self._odometry_messages += 1
        odometry = _messages.type_of("nav_msgs/msg/Odometry")(
            _messages.header(stamp, "world", self._odometry_messages),
            "uav/imu",
            pose_of(pose(point(*position), rotation(x, y, z, w)), self._unknown[36]),
            twist_of(motion, self._unknown[36]),
        )
        transform = _messages.transform(stamp, "world", "uav/imu", position, (x, y, z, w))
        return _messages.transforms(transform), odometry


def _vector(message: Any) -> list[float]:
    return [float(message.x), float(message.y), float(message.z)]


def _to_body(vector: Sequence[float], w: float, x: float, y: float, z: float) -> list[float]:
    """A vector of the world frame in body axes."""
    a, b, c = vector
    # twice the cross product of the quaternion's vector with the vector
    s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return [
        a - w * s + y * u - z * t,
        b - w * t + z * s - x * u,
        c - w * u + x * t - y * s,
    ]
