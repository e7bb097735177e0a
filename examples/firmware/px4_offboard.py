"""Flies PX4 by an exported policy, with body rates and thrust in offboard mode.

    python -m propwash export hover --name policy --c policy
    cc -O2 -shared -fPIC policy/policy.c policy/policy_test.c -lm -o policy.so
    python examples/firmware/px4_offboard.py policy.so --connect udpin:127.0.0.1:14540

It runs on the companion computer, or beside PX4's simulation (docs/px4.md). PX4 estimates the state
and keeps its rate controller; arm and choose the offboard mode by remote control or ground station.
A policy of `hover` holds the place of its first message, or --goal; for other tasks pass a function
to PolicyPilot. Ctrl-C ends it, and PX4's failsafe for lost setpoints follows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from policy_code import PolicyCode
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

_RATES_ONLY = mavlink.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE


class PolicyPilot:
    """Answers each ODOMETRY message with the rates and the thrust of a policy.

    library: a shared library of an export with the name `policy`. goal: m, x north, y west, z up;
    or a function from PX4's time [s] and the state (13) to the numbers of policy_goal; None for
    the first position.
    """

    def __init__(
        self,
        library: Path,
        link: Any,
        goal: Sequence[float] | Callable[[float, list[float]], Sequence[float]] | None = None,
    ) -> None:
        self.code, self._link, self.goal = PolicyCode(library), link, goal

    def answer(self, message: Any) -> None:
        """Sends the command for an ODOMETRY message in local north-east-down coordinates."""
        state = state_of(message)
        if self.goal is None and np.isfinite(state[:3]).all():
            self.goal = state[:3]
        if self.goal is None:
            return
        goal = self.goal(1e-6 * message.time_usec, state) if callable(self.goal) else self.goal
        command = self.code.command(state, goal)
        if command is None:
            return  # the estimate is not finite; PX4's failsafe for lost setpoints follows
        roll, pitch, yaw = command.rates
        self._link.mav.set_attitude_target_send(
            0, message.get_srcSystem(), 1, _RATES_ONLY, [1, 0, 0, 0], roll, -pitch, -yaw,
            command.thrust_fraction,
        )  # fmt: skip


def state_of(message: Any) -> list[float]:
    """The state (13) of an ODOMETRY message: x north, y west, z up; body forward, left, up."""
    w, x, y, z = message.q
    attitude = (w, x, -y, -z)
    velocity: Any = (message.vx, -message.vy, -message.vz)
    if message.child_frame_id != mavlink.MAV_FRAME_LOCAL_NED:  # that of PX4's estimator
        velocity = _to_world(attitude, velocity)
    rates = (message.rollspeed, -message.pitchspeed, -message.yawspeed)
    return [message.x, -message.y, -message.z, *velocity, *attitude, *rates]


def _to_world(attitude: tuple[float, ...], body: tuple[float, ...]) -> Any:
    w, u = attitude[0], np.array(attitude[1:])
    across = 2.0 * np.cross(u, body)
    return np.asarray(body) + w * across + np.cross(u, across)


def request(link: Any, system: int, rate: float) -> None:
    """Asks PX4 for ODOMETRY messages at a rate [Hz]."""
    interval, ident = mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAVLINK_MSG_ID_ODOMETRY
    link.mav.command_long_send(system, 1, interval, 0, ident, 1e6 / rate, 0, 0, 0, 0, 0)


def main() -> None:
    """Flies until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--connect", default="udpin:127.0.0.1:14540", help="a MAVLink address")
    parser.add_argument("--rate", type=float, default=96.0, help="Hz, of the policy (default: 96)")
    parser.add_argument(
        "--goal", type=float, nargs=3, metavar=("NORTH", "WEST", "UP"), help="m (default: here)"
    )
    options = parser.parse_args()
    if not options.library.is_file():
        parser.error(f"{options.library}: expected a shared library of a policy, found none")
    link = mavutil.mavlink_connection(options.connect)
    pilot = PolicyPilot(options.library, link, options.goal and tuple(options.goal))
    link.wait_heartbeat()
    request(link, link.target_system, options.rate)
    hover = f"hovers at {pilot.code.hover_fraction:.0%} of its maximum thrust (MPC_THR_HOVER)"
    print(f"for a vehicle that {hover}; the policy sends setpoints: choose the offboard mode")
    while True:
        message = link.recv_match(type="ODOMETRY", blocking=True)
        if message is not None:
            pilot.answer(message)


if __name__ == "__main__":
    main()
