"""The node of a car: the same commands as a multicopter, transforms out."""

from __future__ import annotations

from math import cos, sin

from propwash import vehicle as vehicles
from propwash.ros import _messages
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Outputs
from propwash.ros._parameters import CarSettings
from propwash.ros._vehicle import VehicleNode, require_usable
from propwash.vehicle import SpeedYawRate
from propwash.vehicle.hosted import HostedVehicle

DT = 1.0 / 960.0


class CarDynamics(VehicleNode):
    """The logic of flightgoggles_car_dynamics.

    Of a command, the pitch rate is the speed [m/s] and the negative roll rate is the yaw rate
    [rad/s]. An armed car without a command stands still, where the published node ends.
    """

    def __init__(self, settings: CarSettings, seed: int = 0, noise: bool = True) -> None:
        self.settings = settings
        key = seed if settings.seed is None else settings.seed
        self.vehicle = vehicles.Car(settings.vehicle, integrator="euler", seed=key, noise=noise)
        x, y = settings.position
        start = {"x": x, "y": y, "heading": settings.heading}
        host = HostedVehicle(self.vehicle, start, DT)
        super().__init__(host, "/uav/input/rateThrust", settings.ignore_collisions)
        topic = Topic("mav_msgs/msg/RateThrust")
        self.subscribes[self.command_topic] = (topic, self.on_rate_thrust)

    def on_rate_thrust(self, message: Message) -> None:
        """Takes a speed and a yaw rate as the command."""
        speed, yaw_rate = float(message.angular_rates.y), -float(message.angular_rates.x)
        require_usable([speed, yaw_rate])
        self.host.command = SpeedYawRate(speed, yaw_rate)

    def start(self, stamp: int) -> Outputs:
        """No messages."""
        return []

    def outputs(self, stamp: int) -> Outputs:
        """The transform of the present state."""
        state = self.vehicle.state
        half = 0.5 * state.heading
        position, quaternion = (state.x, state.y, 0.0), (0.0, 0.0, sin(half), cos(half))
        transform = _messages.transform(stamp, "world", "uav/imu", position, quaternion)
        return [("/tf", _messages.transforms(transform))]
