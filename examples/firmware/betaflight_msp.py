"""Flies Betaflight by an exported policy of `hover`: rate commands as RC channels, by MSP.

    python -m propwash export hover --name policy --c policy
    cc -O2 -shared -fPIC policy/policy.c policy/policy_test.c -lm -o policy.so
    tracker | python examples/firmware/betaflight_msp.py policy.so /dev/ttyACM0

It runs on a companion computer. Betaflight has no position: `tracker` stands for your motion
capture or odometry, which prints a state in each line, 13 numbers: position [m], velocity [m/s]
(z up), attitude w x y z, body rates [rad/s] (x forward, y left, z up), at the rate of the policy.

Your radio arms, and keeps control: the policy flies only while the switch of the mode MSP OVERRIDE
is on (here AUX3), in rate mode. If no command arrives for 0.3 s, the sticks count again.
--settings prints what Betaflight needs for it.
"""

from __future__ import annotations

import argparse
import math
import struct
import sys
import tty
from collections.abc import Callable, Sequence
from pathlib import Path

from policy_code import Command, PolicyCode

MAX_RATE = 600.0
"""deg/s of a full stick, at least the limit of the policy's rates (8 rad/s are 458 deg/s)."""
IDLE = 0.055
"""Output of the motors at zero throttle: `motor_idle` 5.5 %."""
LOWEST, HIGHEST = 1050, 2000
"""us, of zero and full throttle: `min_check`."""
_AXES = "roll", "pitch", "yaw"
_RATES = {"rc_rate": MAX_RATE / 10, "srate": MAX_RATE / 10, "expo": 0}
SETTINGS = "\n".join(
    [
        "# rates are linear, and the throttle has no boost",
        "rateprofile 0",
        "set rates_type = ACTUAL",
        *(f"set {axis}_{name} = {x:.0f}" for axis in _AXES for name, x in _RATES.items()),
        "set rc_smoothing = OFF",
        "set throttle_boost = 0",
        f"set min_check = {LOWEST}",
        "# roll, pitch, throttle and yaw come by MSP while AUX3 is high",
        "set msp_override_channels_mask = 15",
        "aux 2 50 2 1700 2100 0 0",
        "",
    ]
)
_SET_RAW_RC = 200


def channels(command: Command) -> tuple[int, int, int, int]:
    """Pulse widths in us: roll, pitch, throttle, yaw; a stick to the right yaws to the right."""
    roll, pitch, yaw = (
        round(1500.0 + 500.0 * max(-1.0, min(1.0, math.degrees(rate) / MAX_RATE)))
        for rate in (command.rates[0], command.rates[1], -command.rates[2])
    )
    throttle = max(0.0, min(1.0, (command.thrust_fraction - IDLE) / (1.0 - IDLE)))
    return roll, pitch, round(LOWEST + (HIGHEST - LOWEST) * throttle), yaw


def raw_rc(widths: Sequence[int]) -> bytes:
    """A message MSP_SET_RAW_RC, version 1."""
    body = struct.pack(f"<BB{len(widths)}H", 2 * len(widths), _SET_RAW_RC, *widths)
    check = 0
    for byte in body:
        check ^= byte
    return b"$M<" + body + bytes([check])


class PolicyPilot:
    """Answers each state with the channels of a policy.

    library: a shared library of an export with the name `policy`. send: sends bytes to
    Betaflight. goal: m, in the frame of the states; None for the first position.
    """

    def __init__(
        self, library: Path, send: Callable[[bytes], object], goal: Sequence[float] | None = None
    ) -> None:
        self.code, self._send, self.goal = PolicyCode(library), send, goal

    def answer(self, state: Sequence[float]) -> None:
        """Sends the command for a state (13); nothing if it is not finite."""
        goal = state[:3] if self.goal is None else self.goal
        command = self.code.command(state, goal)
        if command is not None:  # otherwise the sticks count after 0.3 s
            self.goal = goal
            self._send(raw_rc(channels(command)))


def main() -> None:
    """Flies until the states end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path, nargs="?")
    parser.add_argument("device", type=Path, nargs="?", help="serial port of Betaflight, with MSP")
    parser.add_argument("--settings", action="store_true", help="print settings of Betaflight")
    parser.add_argument(
        "--goal", type=float, nargs=3, metavar=("X", "Y", "Z"), help="m (default: here)"
    )
    options = parser.parse_args()
    if options.settings:
        print(SETTINGS, end="")
        return
    if options.library is None or options.device is None:
        parser.error("expected a library and a device, or --settings")
    if not options.library.is_file():
        parser.error(f"{options.library}: expected a shared library of a policy, found none")
    if not options.device.is_char_device():
        parser.error(f"{options.device}: expected a serial device")
    with options.device.open("r+b", buffering=0) as port:
        if port.isatty():
            tty.setraw(port)  # a USB port needs no bit rate
        pilot = PolicyPilot(options.library, port.write, options.goal)
        print(f"for a vehicle that hovers at {pilot.code.hover_fraction:.0%} of its maximum thrust")
        for line in sys.stdin:
            state = [float(number) for number in line.split()]
            if len(state) != 13:
                raise ValueError(f"a state: expected 13 numbers, got {line.strip()!r:.100}")
            pilot.answer(state)


if __name__ == "__main__":
    main()
