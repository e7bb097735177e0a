"""Flies PX4 by an exported policy of `hover`, with body rates and thrust in offboard mode.

    python -m propwash export hover --name policy --c policy
    cc -O2 -shared -fPIC policy/policy.c policy/policy_test.c -lm -o policy.so
    python examples/firmware/px4_offboard.py policy.so --connect udpin:127.0.0.1:14540

It runs on the companion computer, or beside PX4's simulation (docs/px4.md). PX4 estimates the state
and keeps its rate controller; arm and choose the offboard mode by remote control or ground station.
The policy holds the place of its first message, or --goal. Ctrl-C ends it, and PX4's failsafe for
lost setpoints follows.
"""

from __future__ import annotations

import argparse
import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

_RATES_ONLY = mavlink.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE


class PolicyPilot:
    """Answers each ODOMETRY message with the rates and the thrust of a policy.

    library: a shared library of an export with the name `policy`. goal: m, x north, y west, z up.
    """

    def __init__(self, library: Path, link: Any, goal: tuple[float, ...] | None = None) -> None:
        self._code = ctypes.CDLL(str(library.resolve()))
        self._code.policy_self_test.restype = ctypes.c_float
        if not self._code.policy_self_test() <= 1e-5:
            raise RuntimeError(f"{library}: expected actions as in the training, got others")
        self._memory = (ctypes.c_float * 1024)()
        self._command = (ctypes.c_float * 6)()  # rates (3), thrust, fraction, duty cycle
        self._code.policy_reset(self._memory)
        self._link, self.goal = link, goal

    def answer(self, message: Any) -> None:
        """Sends the command for an ODOMETRY message in local north-east-down coordinates."""
        place = (message.x, -message.y, -message.z)
        if self.goal is None and np.isfinite(place).all():
            self.goal = place
        if self.goal is None:
            return
        w, x, y, z = message.q
        attitude = (w, x, -y, -z)
        velocity: Any = (message.vx, -message.vy, -message.vz)
        if message.child_frame_id != mavlink.MAV_FRAME_LOCAL_NED:  # that of PX4's estimator
            velocity = _to_world(attitude, velocity)
        rates = (message.rollspeed, -message.pitchspeed, -message.yawspeed)
        state = (ctypes.c_float * 13)(*place, *velocity, *attitude, *rates)
        target = (ctypes.c_float * 3)(*self.goal)
        if self._code.policy_step(self._memory, state, target, self._command) != 0:
            return  # the estimate is not finite; PX4's failsafe for lost setpoints follows
        roll, pitch, yaw, _, fraction, _ = self._command
        self._link.mav.set_attitude_target_send(
            0, message.get_srcSystem(), 1, _RATES_ONLY, [1, 0, 0, 0], roll, -pitch, -yaw, fraction
        )


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
    link = mavutil.mavlink_connection(options.connect)
    pilot = PolicyPilot(options.library, link, options.goal and tuple(options.goal))
    link.wait_heartbeat()
    request(link, link.target_system, options.rate)
    print("the policy sends setpoints; choose the offboard mode")
    while True:
        message = link.recv_match(type="ODOMETRY", blocking=True)
        if message is not None:
            pilot.answer(message)


if __name__ == "__main__":
    main()
