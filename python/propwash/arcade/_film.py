"""Films of recorded flights, as the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, race
from propwash.arcade import _ghosts
from propwash.arcade._board import Board
from propwash.arcade._interface import MODES, FlightSnapshot, Phase, Sticks
from propwash.arcade._messages import ViewName
from propwash.arcade._overlay import Overlay
from propwash.arcade._view import FlightView
from propwash.logs import FlightRecord, read_record
from propwash.viz import video

Image = NDArray[np.uint8]

_END = 2.0
"""s, for which the result is shown."""


def film(
    log: str | PathLike[str],
    out: str | PathLike[str],
    *,
    course: str | PathLike[str] | None = None,
    ghosts: Sequence[_ghosts.GhostKind] = (),
    view: ViewName = "chase",
    size: tuple[int, int] = (640, 360),
    rate: float = 30.0,
    threads: int | None = None,
    antialias: int = 2,
    progress: Callable[[float], None] | None = None,
) -> str:
    """Writes a video of a flight log with the numbers of the page; returns a description.

    out: .mp4 (extra `video`) or .gif. course: None: that of the log. ghosts: of `GHOSTS`; "best" is
    that of the leader board beside the log. size: px, width and height. rate: images per second.
    threads, antialias: of the renderer; None: the threads of the machine. progress: called with the
    completed fraction.

    Raises ValueError, which names the log, if it is not a flight on this course, and ImportError if
    a package is missing.
    """
    if Path(out).suffix.lower() not in video.SUFFIXES:
        raise ValueError(f"{out}: expected a name that ends in {' or '.join(video.SUFFIXES)}")
    video.check(out)
    _checks.number("rate", rate, "a number from 1 to 240 [Hz]", lambda hz: 1.0 <= hz <= 240.0)
    record = read_record(log)
    shown, seed, flown = _flight(log, record, rate)
    chosen = race.find_course(flown if course is None else course)
    if chosen.name != flown:
        raise ValueError(f"{log}: expected a flight of the course {chosen.name!r}, got {flown!r}")
    name = str(record.info.get("vehicle"))
    vehicle = record.load_vehicle(str(log)) or name
    board = Board(Path(log).parent)
    made = {kind: _ghosts.ghost(kind, chosen, seed, vehicle, board) for kind in ghosts}
    others = [ghost for ghost in made.values() if ghost is not None]
    scene = chosen.scene(seed)
    camera = FlightView(scene, size, threads or _checks.available_threads(), antialias)
    overlay = Overlay(size, f"{name}, {chosen.name}, seed {seed}", scene.gates, others)

    def images() -> Iterator[Image]:
        for number, snapshot in enumerate(shown, 1):
            rgb = camera.render(snapshot, _ghosts.poses(others, snapshot.race_time), view)
            yield overlay.draw(rgb, snapshot, camera)
            if progress is not None:
                progress(number / len(shown))
        last = overlay.draw(rgb, snapshot, camera, ended=True)
        for _ in range(round(_END * rate)):
            yield last

    count = video.write(out, images(), rate)
    missing = ", ".join(kind for kind, ghost in made.items() if ghost is None)
    note = f"; without ghosts: {missing}" if missing else ""
    return f"video {out}: {count} images of {size[0]}x{size[1]}, {rate:g} a second{note}"


def _flight(
    log: str | PathLike[str], record: FlightRecord, rate: float
) -> tuple[list[FlightSnapshot], int, str]:
    """Snapshots, seed and name of the course. Raises ValueError, which names the log."""
    try:
        course = record.info.get("course")
        if not isinstance(course, str):
            raise ValueError(f"course: expected its name, got {course!r:.100}")
        return list(snapshots(record, rate)), _checks.seed(record.info.get("seed")), course
    except (TypeError, ValueError) as error:
        raise ValueError(f"{log}: expected a flight of the arcade; {error}") from None


def snapshots(record: FlightRecord, rate: float) -> Iterator[FlightSnapshot]:
    """The snapshots of a flight, `rate` a second, and the last one.

    Raises ValueError or TypeError for a record without the sticks, the modes or the gates of the
    arcade.
    """
    info = record.info
    if record.sticks is None or record.mode is None or not set(record.mode) <= set(MODES):
        raise ValueError(f"sticks, mode: expected sticks in each row, with modes {MODES}")
    ghost = _ghosts.of_record(record, "")  # checks the times
    names = [str(name) for name, _ in info.get("passed", [])]
    passed = list(zip(names, ghost.gate_times, strict=True))
    take_off = float(info["take_off"])
    when = np.arange(record.time[0], record.time[-1], 1.0 / rate)
    rows = [*np.searchsorted(record.time, when, side="right") - 1, len(record.time) - 1]
    for row in rows:
        time = float(record.time[row]) - take_off
        is_last = row == len(record.time) - 1
        done = sum(each <= time + 1e-9 for each in ghost.gate_times)
        yield FlightSnapshot(
            time=float(record.time[row]),
            race_time=max(time, 0.0),
            phase=_phase(info.get("phase"), time, is_last=is_last),
            position=record.position[row],
            attitude=record.attitude[row],
            velocity=record.velocity[row],
            body_rates=record.body_rates[row],
            passed=tuple(passed[:done]),
            collision=info.get("collision") if is_last else None,
            mode=str(record.mode[row]),  # type: ignore[arg-type]
            sticks=Sticks(*(float(x) for x in record.sticks[row])),
            number=0,
        )


def _phase(result: Any, race_time: float, *, is_last: bool) -> Phase:
    if race_time < 0.0:
        return "ready"
    return result if is_last and result in get_args(Phase) else "flying"
