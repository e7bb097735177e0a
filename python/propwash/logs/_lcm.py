"""Event logs of LCM, with the message types of `propwash.lcm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from propwash import lcm
from propwash.logs._columns import Columns, from_topics
from propwash.logs._flights import Flight
from propwash.logs._rosbag import series_of

_TYPES = {**lcm.PUBLISHED, **lcm.COMMANDS}


def read(path: Path, columns: Columns | None, piece: tuple[float, float]) -> Flight:
    """Reads an event log; by default the channels that `propwash lcm` publishes.

    The time of a message is its utime.
    """
    types = lcm.message_types()
    messages: dict[str, tuple[list[float], list[Any]]] = {}
    others: dict[str, str] = {}
    for number, event in enumerate(lcm.read_events(path)):
        if event.channel not in _TYPES:
            others[event.channel] = "unknown type"
            continue
        kind = types[_TYPES[event.channel]]
        try:
            values = kind.decode(event.data)
        except lcm.Malformed as error:
            raise ValueError(
                f"{path}, event {number}, channel {event.channel}: expected {kind.name} of "
                f"propwash.lcm, got an invalid message: {error}; remove it, or convert the log "
                "(docs/lcm.md)"
            ) from None
        times, rows = messages.setdefault(event.channel, ([], []))
        times.append(1e-6 * values["utime"])
        rows.append(values)
    kinds = {channel: _TYPES[channel] for channel in messages}
    if columns is None:
        columns = _known(path, messages, others)
    return from_topics(path, columns, series_of(messages, {**others, **kinds}), piece)


def _known(
    path: Path, messages: dict[str, tuple[list[float], list[Any]]], others: dict[str, str]
) -> Columns:
    """A mapping of the channels that the log has."""
    if "imuRaw" not in messages:
        found = ", ".join([*messages, *others]) or "none"
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
