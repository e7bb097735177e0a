"""Simulated flights: along a plan through the true gates, or by a pilot with sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation
from propwash._core import RateThrust, RotorSpeeds
from propwash.fleet import Fleet
from propwash.race import _plan
from propwash.race._estimates import Estimates, offset_of
from propwash.race._instruments import Instruments
from propwash.race._interface import (
    Briefing,
    PilotEstimate,
    PilotMaker,
    SensorSuite,
    read_only,
)
from propwash.race._race import (
    PERIOD,
    ROW_STEPS,
    TIME_LIMIT,
    RaceFlight,
    Result,
    course_gates,
    judge,
)
from propwash.race._route import route
from propwash.trajectories import Limits, Mpc, Path, TimeOptimal
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Multicopter
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.turbulence import Dryden, checked_turbulence
from propwash.world import Gate, Scene

Array = NDArray[np.float64]

_RECORDED = ("position", "attitude", "velocity")
_MAX_WIND = 100.0
"""m/s."""
_OBSERVER_BANDWIDTH = 5.0
"""1/s, of the observer of forces that the controllers do not know, such as that of wind."""
_CHECK_ROWS = 60
"""Rows of a flight between two tests whether it is over."""


def fly(
    seed: int = 0,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    pilot: PilotMaker | None = None,
    sensors: SensorSuite | None = None,
    limits: Limits | None = None,
    scene: Scene | None = None,
    nominal: Scene | None = None,
    course: Sequence[str] | None = None,
    start: ArrayLike | None = None,
    yaw: float | None = None,
    dtype: Literal["float32", "float64"] = "float64",
    time_limit: float = TIME_LIMIT,
    progress: Callable[[float], None] | None = None,
    control_vehicle: str | PathLike[str] | VehicleParameters | None = None,
    wind: ArrayLike = (0.0, 0.0, 0.0),
    turbulence: Dryden | None = None,
    path: Path | None = None,
) -> Result:
    """Simulates a flight through a course, with the noise of the vehicle, and scores it.

    seed: of the gates' positions and of the noise. pilot: makes a pilot from a Briefing, such as
    SensorPilot, which flies by sensor readings; None: a plan through the true gates is followed
    with feedback of the true state. sensors: of a pilot; None: SensorSuite(). limits: of the plans.
    scene: None: the AlphaPilot course. nominal: the scene as a pilot knows it; None: the AlphaPilot
    course at its nominal poses, or `scene`, if its gates have no perturbation. course: names of
    gates in order; None: all. start: (3,) m, world frame. yaw: rad. None: those of the scene.
    dtype: without a pilot. time_limit: s. progress: called with the completed fraction.
    control_vehicle: the vehicle that planner, pilot and controllers assume; None: `vehicle`.
    wind: (3,) m/s, world frame, known to the planner but not to a pilot. turbulence: gusts that are
    added; None: none. path: of a flight without a pilot, from the start; None: that of the planner.

    The geometric tracking controller follows the plans, predictive control (trajectories.Mpc) a
    `path` of time_optimal(), which leaves hardly any thrust to a controller. Requires scipy.
    Raises ValueError or TypeError for invalid arguments, `limits` with a `path` included, and for
    invalid commands and estimates of a pilot.
    """
    parameters = vehicles.load(vehicle)
    known = parameters if control_vehicle is None else vehicles.load(control_vehicle)
    seed = _checks.whole_number("seed", seed, 0, 2**64 - 1)
    if scene is None:
        scene = Scene.load("alphapilot", seed=seed)
        nominal = Scene.load("alphapilot") if nominal is None else nominal
    time_limit = _checks.number(
        "time_limit",
        time_limit,
        f"a finite number >= {PERIOD:.3g} [s]",
        lambda x: PERIOD <= x < np.inf,
    )
    air = _Air(_checks.shaped("wind", wind, (3,), unit="m/s"), checked_turbulence(turbulence))
    if np.linalg.norm(air.wind) > _MAX_WIND:
        raise ValueError(f"wind: expected at most {_MAX_WIND:g} m/s, got {wind!r:.100}")
    gates = course_gates(scene, course)
    point, heading = start_pose(scene, start, yaw)
    estimates = None
    if not isinstance(limits, Limits | None):
        raise _checks.ParameterError(f"limits: expected Limits or None, got {limits!r:.100}")
    if not isinstance(path, Path | None):
        raise TypeError(f"path: expected a trajectories.Path or None, got {path!r:.100}")
    if pilot is not None and path is not None:
        raise ValueError("path: expected without a pilot, which chooses its own")
    if limits is not None and path is not None:
        raise ValueError("limits: expected without a path, which has been planned with its own")
    if pilot is None:
        if sensors is not None:
            raise ValueError("sensors: expected with a pilot, such as pilot=race.SensorPilot")
        if path is None:
            points = route(point, gates).points(gates)
            reserved = _plan.LIMITS if air.turbulence is None else _plan.LIMITS_IN_GUSTS
            planner = _plan.Planner(known, limits or reserved)
            if np.linalg.norm(air.wind) >= planner.airspeed:
                raise ValueError(
                    f"wind: expected less than {planner.airspeed:.3g} m/s, at which drag in level "
                    f"flight equals the thrust within the limits, got {wind!r:.100}"
                )
            planner.wind = air.wind
            path = planner.plan(points, heading)
        if progress is not None:
            progress(0.5)
        flight = _simulated(parameters, known, air, path, point, heading, dtype, seed, time_limit)
    else:
        known_gates = _known_gates(scene, nominal, gates)
        briefing = Briefing(
            tuple(known_gates),
            read_only(point.copy()),
            heading,
            known,
            sensors or SensorSuite(),
            DEFAULT_DT,
            limits,
        )
        recorder = _Recorder(scene, gates, time_limit, progress)
        _by_sensors(parameters, air, pilot, briefing, recorder, seed)
        flight, estimates = recorder.flight(), recorder.estimates(known_gates)
    result = judge(scene, flight, course, time_limit=time_limit)
    if progress is not None:
        progress(1.0)
    return replace(result, vehicle=parameters.name, seed=seed, estimates=estimates)


@dataclass(frozen=True, eq=False)
class _Air:
    """The wind of a flight."""

    wind: Array
    turbulence: Dryden | None


class _Recorder:
    """The rows of a flight by a pilot, and the test whether it is over."""

    def __init__(
        self,
        scene: Scene,
        gates: Sequence[Gate],
        time_limit: float,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.scene, self.gates = scene, gates
        self._time_limit, self._progress = time_limit, progress
        self._rows: list[tuple[Array, Array, Array]] = []
        self._estimates: list[PilotEstimate | None] = []

    def add(self, vehicle: Multicopter, estimate: Any) -> bool:
        """Adds a row; returns whether the flight is over."""
        state = vehicle.state
        self._rows.append((state.position, state.attitude, state.velocity))
        self._estimates.append(_copied(estimate, len(self.gates)))
        count, end = len(self._rows), round(self._time_limit / PERIOD)
        if count > end:
            return True
        if count % _CHECK_ROWS:
            return False
        if self._progress is not None:
            self._progress(count / end)
        names = [gate.name for gate in self.gates]
        so_far = judge(self.scene, self.flight(), names, time_limit=self._time_limit)
        return so_far.finished or so_far.collision is not None

    def flight(self) -> RaceFlight:
        """The flight so far."""
        time = np.arange(len(self._rows)) * PERIOD
        position, attitude, velocity = (
            np.array(column, dtype=np.float64) for column in zip(*self._rows, strict=True)
        )
        return RaceFlight(time.astype(np.float64), position, attitude, velocity)

    def estimates(self, nominal: Sequence[Gate]) -> Estimates | None:
        """The estimates in the rows of the flight; None if the pilot has none."""
        known = [each for each in self._estimates if each is not None]
        if len(known) < len(self._estimates):
            return None
        position, velocity, attitude = (
            np.array([getattr(each, part) for each in known], dtype=np.float64)
            for part in ("position", "velocity", "attitude")
        )
        gates = [each.gates for each in known]
        return Estimates(
            position,
            velocity,
            attitude,
            None if any(each is None for each in gates) else np.array(gates, dtype=np.float64),
            np.array([offset_of(*pair) for pair in zip(nominal, self.gates, strict=True)]),
            tuple(nominal),
        )


def _loops(loops: OuterLoops) -> OuterLoops:
    """Outer loops for a race."""
    return replace(loops, tracking_tilt_limit=_plan.TILT, disturbance_bandwidth=_OBSERVER_BANDWIDTH)


def _by_sensors(
    parameters: VehicleParameters,
    air: _Air,
    maker: PilotMaker,
    briefing: Briefing,
    recorder: _Recorder,
    seed: int,
) -> None:
    """Flies with a pilot until the recorder reports the end."""
    vehicle = Multicopter(
        parameters, seed=seed, control_vehicle=briefing.vehicle, turbulence=air.turbulence
    )
    vehicle.wind = air.wind
    vehicle.reset(position=briefing.position, attitude=np.array(_rotation.about_z(briefing.yaw)))
    vehicle.outer_loops = _loops(vehicle.outer_loops)
    suite, dt = briefing.sensors, briefing.dt
    instruments = Instruments(vehicle, recorder.scene, recorder.gates, suite, dt, seed)
    pilot = _callable("pilot", maker)(briefing)
    _callable("pilot(briefing)", pilot)
    step = 0
    while True:
        command, estimate = checked_answer(pilot(instruments.read()))
        if step % ROW_STEPS == 0 and recorder.add(vehicle, estimate):
            return
        has_outer_loop = not isinstance(command, RateThrust | RotorSpeeds)
        if has_outer_loop and estimate is None:
            # without an estimate the outer loops would compute on the true state
            raise ValueError(
                f"pilot: expected an estimate with a {type(command).__name__}, whose outer loops "
                "compute on it, got None; RateThrust and RotorSpeeds need none"
            )
        vehicle.step(command, dt, state=estimate if has_outer_loop else None)
        step += 1


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name}: expected a callable, got {value!r:.100}")
    return value


def checked_answer(answer: Any) -> tuple[Any, Any]:
    """The command and the estimate of a pilot's answer. Raises TypeError for another one."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(
            f"pilot: expected a command and an estimate, or None instead, got {answer!r:.100}"
        )
    return answer


def _copied(estimate: Any, gates: int) -> PilotEstimate | None:
    """A checked copy, as a pilot may change its arrays later."""
    if estimate is None:
        return None
    offsets = getattr(estimate, "gates", None)
    if not all(hasattr(estimate, name) for name in _RECORDED):
        raise TypeError(
            "estimate: expected an object with position, velocity and attitude, such as "
            f"race.PilotEstimate, got {estimate!r:.100}"
        )
    attitude = _checks.shaped("estimate.attitude", estimate.attitude, (4,))
    return PilotEstimate(
        _checks.shaped("estimate.position", estimate.position, (3,), unit="m"),
        _checks.shaped("estimate.velocity", estimate.velocity, (3,), unit="m/s"),
        _checks.attitudes("estimate.attitude", attitude),
        None if offsets is None else _checks.shaped("estimate.gates", offsets, (gates, 3)),
    )


def _known_gates(scene: Scene, nominal: Scene | None, gates: Sequence[Gate]) -> list[Gate]:
    """The gates as a pilot knows them."""
    if nominal is None and any(np.any(gate.perturbation) for gate in gates):
        raise ValueError(
            f"nominal: expected the scene with the nominal gates of {scene.name!r}, as its gates "
            "have a perturbation, got None; nominal=scene if they have not been moved"
        )
    return course_gates(scene if nominal is None else nominal, [gate.name for gate in gates])


def _simulated(
    vehicle: VehicleParameters,
    control_vehicle: VehicleParameters,
    air: _Air,
    path: Path,
    point: Array,
    heading: float,
    dtype: Literal["float32", "float64"],
    seed: int,
    time_limit: float,
) -> RaceFlight:
    fleet = Fleet(
        vehicle,
        1,
        dtype,
        seed=seed,
        threads=1,
        control_vehicle=control_vehicle,
        turbulence=air.turbulence,
    )
    fleet.set_wind(air.wind)
    fleet.outer_loops = _loops(fleet.outer_loops)
    fleet.reset(position=point, attitude=np.array(_rotation.about_z(heading)))
    motion = {name: [getattr(fleet, name).astype(np.float64)] for name in _RECORDED}
    rows = int(min(path.duration, time_limit) / PERIOD)
    time = np.arange(rows + 1, dtype=np.float64) * PERIOD
    if isinstance(path, TimeOptimal):
        mpc = Mpc(control_vehicle, path.sample(time), size=1)
        for now in time[:-1]:
            fleet.step(mpc.command(fleet.state, float(now)), substeps=ROW_STEPS)
            for name, found in motion.items():
                found.append(getattr(fleet, name).astype(np.float64))
    else:
        # each command is constant for a period: it is sampled at the middle
        reference = path.sample(time[:-1] + 0.5 * PERIOD)
        flown = fleet.rollout(reference, substeps=ROW_STEPS, record=_RECORDED)
        for name, found in motion.items():
            found.append(getattr(flown, name)[:, 0])
    return RaceFlight(time, *(np.concatenate(motion[name]) for name in _RECORDED))


def start_pose(
    scene: Scene, start: ArrayLike | None = None, yaw: float | None = None
) -> tuple[Array, float]:
    """The start (3,) [m] and its heading [rad]; None: those of the scene."""
    scene_start = scene.start
    if start is None:
        if scene_start is None:
            raise ValueError(f"start: expected a point [m], as scene {scene.name!r} has no start")
        start = scene_start.position
    if yaw is None:
        yaw = 0.0 if scene_start is None else scene_start.yaw
    point = np.array(start, dtype=np.float64)
    if point.shape != (3,) or not np.isfinite(point).all() or not np.isfinite(yaw):
        raise ValueError(f"start, yaw: expected 3 and 1 finite numbers, got {start!r:.100}, {yaw}")
    return point, float(yaw)
