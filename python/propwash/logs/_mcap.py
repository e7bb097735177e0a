"""MCAP files with messages in JSON or protobuf; those of ROS are read as bags."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from propwash.logs._columns import WIDTHS, Columns, from_topics
from propwash.logs._flights import Flight, LogPart
from propwash.logs._rosbag import series_of

_STAMPS = (("timestamp",), ("header", "stamp"))
_UNITS = {"sec": 1.0, "seconds": 1.0, "nsec": 1e-9, "nanosec": 1e-9, "nanos": 1e-9}


def profile_of(path: Path) -> str | None:
    """The profile in the header of the file; None if the file is not MCAP."""
    with path.open("rb") as stream:
        start = stream.read(64)
    # magic number, code and length of the header, length of the profile, profile
    profile = start[21 : 21 + int.from_bytes(start[17:21], "little")]
    return profile.decode("latin-1") if start.startswith(b"\x89MCAP") else None


def read(path: Path, columns: Columns | None, part: LogPart) -> Flight:
    """Reads the topics of a mapping, which is required.

    The time of a message is its `timestamp` or `header.stamp`, or else that of its publication.
    """
    try:
        from mcap.reader import make_reader
        from mcap_protobuf.decoder import DecoderFactory
    except ImportError as error:
        raise ImportError('MCAP files need mcap: pip install "propwash[log]"') from error
    names = [name for key in WIDTHS for name in getattr(columns, key, ())]
    topics = {name.rpartition(":")[0] for name in names}
    messages: dict[str, tuple[list[float], list[Any]]] = {topic: ([], []) for topic in topics}
    protobuf = DecoderFactory()
    kinds: dict[str, str] = {}
    decoders: dict[int, Callable[[bytes], Any] | None] = {}
    try:
        with path.open("rb") as stream:
            for schema, channel, record in make_reader(stream).iter_messages():
                kinds[channel.topic] = schema.name if schema else channel.message_encoding
                if channel.topic not in messages:
                    continue
                if channel.id not in decoders:
                    is_json = channel.message_encoding == "json"
                    decoder = protobuf.decoder_for(channel.message_encoding, schema)
                    decoders[channel.id] = json.loads if is_json else decoder
                decode = decoders[channel.id]
                if decode is None:
                    raise ValueError(f"{channel.topic} has encoding {channel.message_encoding!r}")
                message = decode(record.data)
                times, values = messages[channel.topic]
                times.append(_time(message, record.publish_time))
                values.append(message)
    except Exception as error:  # mcap, protobuf and decompressors raise many types
        raise ValueError(
            f"{path}: expected an MCAP file of ROS, or of JSON or protobuf: {error!s:.300}"
        ) from None
    if columns is None:
        there = ", ".join(f"{topic} ({kind})" for topic, kind in sorted(kinds.items()))
        raise ValueError(f"{path}: expected a mapping of the topics {there or 'none':.500}")
    return from_topics(path, columns, series_of(messages, kinds), part)


def _time(message: Any, published: int) -> float:
    """Time of a message [s]; published: ns."""
    for path in _STAMPS:
        stamp = reduce(_part, path, message)
        parts = [scale * float(_part(stamp, unit) or 0.0) for unit, scale in _UNITS.items()]
        if any(parts):
            return sum(parts)
    return published * 1e-9


def _part(message: Any, name: str) -> Any:
    """A field of a message, or None."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
