"""Flights of the real PX4 by the C code of a policy, with examples/firmware/px4_offboard.py."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from autopilot_programs import HEIGHT, Flight
from policy_library import compiled
from propwash import _rotation
from propwash.autopilot import Sample
from px4_missions import LandMission, Mission, mission

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "firmware"))
px4_offboard: Any = importlib.import_module("px4_offboard")

RATE = 96.0  # Hz, of the policy
SPREAD = 0.7  # m, of the starts of hover; twice that of those of land
_LARGEST_DELAY = 0.025  # s, simulated, from an estimate to its answer
_PATIENCE = 0.5  # s, of the wall clock: PX4 may leave out a message
_TOUCHDOWN = 0.05  # m, true height: Land.gear
Goal = Sequence[float] | Callable[[float, list[float]], Sequence[float]] | None


class PolicyFlight(Flight):
    """A flight whose commands are those of a policy, once there is one."""

    pilot: Any = None
    rate = 0.5  # messages take wall time, which the vehicle flies on for

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.delays = list[float]()
        """s, simulated, from PX4's estimates to their answers."""

        self._answered = 0.0

    def receive(self, message: Any) -> None:
        """Answers ODOMETRY messages."""
        super().receive(message)
        if self.pilot is not None and message.get_type() == "ODOMETRY":
            self.pilot.answer(message)
            self._answered = 1e-6 * message.time_usec
            self.delays.append(self.time - self._answered)

    def before_step(self, sample: Sample) -> None:
        """Waits for the policy, so that its delay does not depend on the load of the machine."""
        end = time.monotonic() + _PATIENCE
        while self.pilot is not None and sample.time - self._answered > _LARGEST_DELAY:
            if not self._going or time.monotonic() > end:
                return
            time.sleep(1e-4)

    def fly_by(self, policy: str | Path, goal: Goal = None) -> None:
        """Gives control to a policy: the name of a shipped one, its file, or its library."""
        is_library = Path(policy).suffix == ".so"
        library = Path(policy) if is_library else compiled(str(policy), self._folder / "c")
        px4_offboard.request(self.link, self.system, RATE)
        self._answered = self.time
        self.pilot, self.target = px4_offboard.PolicyPilot(library, self.link, goal), None

    def return_to(self, target: Any) -> None:
        """Gives control to PX4 again, which flies to a position [m, north, east, down]."""
        self.pilot, self.target = None, np.array(target)

    def is_at_target(self) -> bool:
        """Whether PX4 estimates that it is at its target."""
        return self.target is None or bool(np.linalg.norm(self._place - self.target) < 0.5)


@dataclass(frozen=True)
class Episode:
    """A mission that was flown."""

    success: bool
    measured: str
    drift: float
    """m, change of the error of PX4's estimate of the position meanwhile."""
    delay: float
    """s, simulated, from an estimate to its answer, 95 %."""


def episodes(flight: PolicyFlight, policy: str, count: int, seed: int) -> Iterator[Episode]:
    """Flies missions of a policy, with random goals of `hover` and `land`, until one is lost."""
    library = compiled(policy, flight._folder / "c")
    rng = np.random.default_rng(seed)
    for _ in range(count):
        if not (flight.arm() and flight.take_off()):
            return
        flight.return_to((0.0, 0.0, -HEIGHT))
        if not flight.until(flight.is_at_target, 60.0):
            return
        flight.wait(5.0)
        yield _episode(flight, policy, library, rng.uniform(-SPREAD, SPREAD, 3))
        if flight.loop.simulation.on_ground:
            flight.pilot = None
            if not flight.disarm():
                return


def _episode(flight: PolicyFlight, policy: str, library: Path, offset: Any) -> Episode:
    flown: list[Mission] = []
    errors: list[Any] = []

    def error_of(estimate: Sequence[float]) -> Any:
        east, north, up = flight.samples[-1].position
        return np.array(estimate[:3]) - (north, -east, up)

    def goal(time: float, state: list[float]) -> Sequence[float]:
        if not flown:
            place, yaw = np.array(state[:3]), _rotation.yaw(np.array(state[6:10]))
            made = mission(policy, place, yaw, float(error_of(state)[2]))
            if type(made) is Mission:
                made.place = place + offset
            elif isinstance(made, LandMission):
                made.place[:2] += 2.0 * offset[:2]
            flown.append(made)
        errors.append(error_of(state))
        return flown[0](time, state)

    def is_over() -> bool:
        if not flown:
            return False
        if isinstance(flown[0], LandMission) and flight.samples[-1].position[2] < _TOUCHDOWN:
            flown[0].touched = True
        return flown[0].is_over

    flight.delays.clear()
    flight.fly_by(library, goal)
    flight.until(is_over, 60.0)
    success, measured = flown[0].result()
    drift = float(np.linalg.norm(np.array(errors) - errors[0], axis=1).max())
    flight.return_to((0.0, 0.0, -HEIGHT))
    return Episode(success, measured, drift, float(np.quantile(flight.delays, 0.95)))
