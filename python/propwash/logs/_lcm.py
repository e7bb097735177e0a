"""Event logs of LCM, with the message types of `propwash.lcm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from propwash import lcm
from propwash.logs._columns import WIDTHS, Columns, from_topics
from propwash.logs._flights import Flight, LogPart
from propwash.logs._rosbag import series_of

_TYPES = {**lcm.PUBLISHED, **lcm.COMMANDS}
_DEFAULT = ("imuRaw", "poseMoCap", "motorsPwms")
Messages = dict[str, tuple[list[float], list[Any]]]


def read(path: Path, columns: Columns | None, part: LogPart) -> Flight:
    """Reads an event log; by default the channels that `propwash lcm` publishes.

    The time of a message is its utime. Messages on channels that are not used may be invalid.
    """
    names = [name for key in WIDTHS for name in getattr(columns, key, ())]
    used = {name.rpartition(":")[0] for name in names} or {*_DEFAULT}
    messages: Messages = {}
    found: dict[str, str] = {}
    for number, event in enumerate(lcm.read_events(path)):
        found[event.channel] = _TYPES.get(event.channel, "")
        if event.channel in used and event.channel in _TYPES:
            times, rows = messages.setdefault(event.channel, ([], []))
            rows.append(_decoded(path, number, event))
            times.append(1e-6 * rows[-1]["utime"])
    if columns is None:
        columns = _known(path, messages, list(found))
    kinds = {channel: kind for channel, kind in found.items() if kind}
    return from_topics(path, columns, series_of(messages, kinds), part)


def _decoded(path: Path, number: int, event: lcm.Event) -> dict[str, Any]:
    kind = lcm.message_types()[_TYPES[event.channel]]
    try:
        return kind.decode(event.data)
    except lcm.Malformed as error:
        raise ValueError(
            f"{path}, event {number}, channel {event.channel}: expected {kind.name} of "
            f"propwash.lcm, got an invalid message: {error}; remove it, or convert the log "
            "(docs/lcm.md)"
        ) from None


def _known(path: Path, messages: Messages, channels: list[str]) -> Columns:
    """A mapping of the channels that the log has."""
    if "imuRaw" not in messages:
        found = ", ".join(channels) or "none"
        raise ValueError(f"{path}: expected a channel imuRaw, found {found:.500}; pass a mapping")
    pwms, poses = messages.get("motorsPwms"), messages.get("poseMoCap")
    rotors = min(len(row["pwms"]) for row in pwms[1]) if pwms else 0
    return Columns(
        body_rates=[f"imuRaw:gyro[{axis}]" for axis in range(3)],
        specific_force=[f"imuRaw:accel[{axis}]" for axis in range(3)],
        motors=[f"motorsPwms:pwms[{rotor}]" for rotor in range(rotors)],
        position=[f"poseMoCap:position[{axis}]" for axis in range(3)] if poses else (),
        attitude=[f"poseMoCap:orient[{part}]" for part in range(4)] if poses else (),
        offset={"motors": -1000.0},
        scale={"motors": 1e-3},
        down=True,
    )
