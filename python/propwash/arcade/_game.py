"""A flight of a person: sticks in, snapshots out. No clock, thread or file."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, race
from propwash.arcade._guide import Lesson
from propwash.arcade._interface import FlightSnapshot, Mode, Phase, Sticks
from propwash.arcade._rule import TIME_LIMIT, Rule
from propwash.arcade._sticks import StickMap, StickRates
from propwash.logs import FlightRecord, FlightRecorder
from propwash.vehicle import (
    DEFAULT_DT,
    Multicopter,
    MulticopterState,
    RotorSpeeds,
    VehicleParameters,
    ground,
)
from propwash.vehicle import files as vehicles
from propwash.vehicle.hosted import HostedVehicle
from propwash.world import Scene

Array = NDArray[np.float64]

SUBSTEPS = 4
"""Time steps in a tick."""
TICK = SUBSTEPS * DEFAULT_DT
"""s, of a tick: 1/240 s."""

_ROWS_BEFORE = 120
"""Rows of the log before take-off: 0.5 s."""
_STANDING = 0.01
"""m, above the position at rest, up to which the vehicle stands."""


class Game:
    """A vehicle on the ground below the start of a course, which sticks fly.

    The flight begins at take-off and ends with a collision, the last gate, or the time limit, by
    the rule of `race` (docs/arcade.md); then the vehicle stops, until `reset`. Equal seeds and
    inputs give equal flights.

    vehicle: a name, a TOML file or VehicleParameters; without `contact` it gets legs. seed: of the
    gates' positions and of the noise. rates: of acro mode; None: StickRates(). noise: False
    disables process noise, and noise and biases of the IMU.

    Raises ParameterError for invalid vehicles and scenes, and ValueError for a scene without gates,
    start or ground.
    """

    def __init__(
        self,
        course: race.Course,
        vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
        *,
        seed: int = 0,
        rates: StickRates | None = None,
        noise: bool = True,
    ) -> None:
        self.course, self.seed = course, _checks.seed(seed)
        self.scene = course.scene(self.seed)
        floor, height = _ground_of(self.scene)
        self.vehicle = ground.with_contact(vehicles.load(vehicle), height)
        self._start = _start(self.scene, self.vehicle)
        self._sticks = StickMap(self.vehicle, rates)
        self._host = HostedVehicle(
            Multicopter(self.vehicle, seed=self.seed, noise=noise),
            {"state": self._start, "seed": self.seed},
            DEFAULT_DT,
            idle=RotorSpeeds(np.zeros(len(self.vehicle.rotors))),
            arms_itself=True,
        )
        self._rule = Rule(self.scene, floor, self._start.position)
        self._recorder = FlightRecorder(self.vehicle)
        self._host.stepped = self._recorder.stepped
        self._noise = noise
        self.reset()

    def of(
        self, course: race.Course, vehicle: str | PathLike[str] | VehicleParameters, seed: int
    ) -> Game:
        """A game on another course, with the same rates and noise."""
        return Game(course, vehicle, seed=seed, rates=self._sticks.rates, noise=self._noise)

    def reset(self) -> None:
        """Returns to the ground, at time 0, with the motors stopped."""
        self._host.reset()
        self._state = self._host.vehicle.state
        self._sticks.reset()
        self._rule.reset()
        self._recorder.clear()
        self._ticks, self._take_off = 0, 0
        is_lesson = self.course.name == race.LESSON
        self._lesson = Lesson(float(self._start.position[2])) if is_lesson else None
        self._snapshot = self._taken(Sticks(), "assisted", 0)

    @property
    def snapshot(self) -> FlightSnapshot:
        """The newest snapshot."""
        return self._snapshot

    @property
    def phase(self) -> Phase:
        """The phase of the flight."""
        return self._rule.phase

    @property
    def has_ended(self) -> bool:
        """Whether the flight has ended; ticks then change nothing."""
        return self._rule.has_ended

    @property
    def has_flown(self) -> bool:
        """Whether the vehicle has taken off since the last reset, and moved on."""
        return 0 < self._take_off < self._ticks

    def tick(self, sticks: Sticks, mode: Mode, number: int = 0) -> FlightSnapshot:
        """Advances by `TICK`; returns the snapshot. number: of the input, for the snapshot."""
        if self.has_ended:
            return self._snapshot
        before = self._state.position
        stands = self.phase == "ready" and before[2] - self._start.position[2] < _STANDING
        command = self._sticks.command(sticks, mode, self._state, bool(stands))
        uav, self._host.command = self._host.vehicle, command
        self._host.step(SUBSTEPS)
        self._state = uav.state
        self._ticks += 1
        if self.phase == "ready":
            self._wait(before)
        else:
            times = (self._race_time(self._ticks - 1), self._race_time(self._ticks))
            self._rule.advance(times, before, self._state.position)
        self._recorder.row(
            self._ticks * TICK,
            self._state,
            uav.imu,
            voltage=uav.battery_voltage,
            sticks=(sticks.roll, sticks.pitch, sticks.yaw, sticks.throttle),
            mode=mode,
            command=command,
            gates=len(self._rule.passages),
        )
        if self._lesson is not None:
            self._lesson.advance(self._state, bool(self._rule.passages), TICK)
        self._snapshot = self._taken(sticks, mode, number)
        return self._snapshot

    def record(self, result: str | None = None) -> FlightRecord:
        """The log of the flight, from 0.5 s before take-off.

        result: how it ended; None: the phase. Raises ValueError before take-off.
        """
        return self.flown(result)[0]

    def result(self) -> race.Result:
        """The score of the flight so far, by `race.judge`. Raises ValueError before take-off."""
        return self.flown()[1]

    def flown(self, result: str | None = None) -> tuple[FlightRecord, race.Result]:
        """The log and the score, as of `record` and `result`. Raises ValueError before take-off."""
        self._require_flight()
        rows = self._recorder.record()
        first = len(rows) - (self._ticks - self._take_off) - 1
        time = [self._race_time(tick) for tick in range(self._take_off, self._ticks + 1)]
        parts = (rows.position[first:], rows.attitude[first:], rows.velocity[first:])
        flight = race.RaceFlight(np.array(time), *parts)
        judged = race.judge(self.scene, flight, time_limit=TIME_LIMIT)
        info: dict[str, Any] = {
            "course": self.course.name,
            "seed": self.seed,
            "take_off": self._take_off * TICK,
            "phase": result or self.phase,
            "collision": self._rule.collision,
            "passed": [[p.gate, p.time] for p in judged.passages],
            "score": float(judged.score),
            "rates": {name: list(each) for name, each in vars(self._sticks.rates).items()},
        }
        return replace(rows, info={**rows.info, **info}), judged

    def _race_time(self, tick: int) -> float:
        return (tick - self._take_off) * TICK

    def _wait(self, before: Array) -> None:
        _, x, y, _ = self._state.attitude
        self._rule.wait(before, self._state.position, bool(x * x + y * y < 0.5))
        self._recorder.keep_last(_ROWS_BEFORE)
        if self.phase == "flying":
            self._take_off = self._ticks

    def _require_flight(self) -> None:
        if not self.has_flown:
            raise ValueError("flight: expected a vehicle that has taken off; raise the throttle")

    def _taken(self, sticks: Sticks, mode: Mode, number: int) -> FlightSnapshot:
        state, lesson = self._state, self._lesson
        return FlightSnapshot(
            time=self._ticks * TICK,
            race_time=self._race_time(self._ticks) if self.has_flown else 0.0,
            phase=self.phase,
            position=state.position,
            attitude=state.attitude,
            velocity=state.velocity,
            body_rates=state.body_rates,
            passed=tuple((passage.gate, passage.time) for passage in self._rule.passages),
            collision=self._rule.collision,
            mode=mode,
            sticks=sticks,
            number=number,
            wrong=self._rule.wrong,
            task=None if lesson is None else lesson.task,
            progress=0.0 if lesson is None else lesson.progress,
        )


def _ground_of(scene: Scene) -> tuple[str, float]:
    """Name and height [m] of the item below the start of a scene."""
    start = scene.start
    if start is None:
        raise ValueError(f"scene {scene.name!r}: expected a start; add a table [start]")
    hit = scene.raycast(start.position, (0.0, 0.0, -1.0))
    if hit.id < 0:
        raise ValueError(
            f"scene {scene.name!r}: expected ground below the start, {list(start.position)} m; "
            "add a plane or move the start"
        )
    return scene.names[int(hit.id)], float(start.position[2] - hit.distance)


def _start(scene: Scene, vehicle: VehicleParameters) -> MulticopterState:
    """The state of a vehicle on the ground below the start of a scene."""
    assert scene.start is not None
    x, y, _ = scene.start.position
    return ground.standing(vehicle, x, y, scene.start.yaw)
