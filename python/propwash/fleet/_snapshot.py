"""Snapshots of a fleet with sensors: that of the fleet, and what each sensor remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from propwash.fleet._sensors import FleetSensor

MAGIC = b"pwsense2"

_Step = Annotated[int, Meta(ge=0, lt=2**62)]
_Count = Annotated[int, Meta(ge=0, lt=2**40)]
_Due = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    core: bytes
    sensors: list[list[Any]]
    """Signatures, which say what the states are of."""
    states: list[tuple[_Step, _Count, bytes, list[tuple[_Due, bytes, list[bytes]]]]]


class _OtherSensors(Exception):
    """A good snapshot, but not of these."""


def packed(core: bytes, handles: Sequence[FleetSensor[Any]]) -> bytes:
    """The snapshot of a fleet with these sensors."""
    content = {
        "core": core,
        "sensors": [handle.signature() for handle in handles],
        "states": [handle.snapshot() for handle in handles],
    }
    return MAGIC + msgspec.msgpack.encode(content)


def unpacked(
    snapshot: bytes, handles: Sequence[FleetSensor[Any]], size: int
) -> tuple[bytes, list[Any]]:
    """The fleet's part, and the states of the sensors, checked. Raises ValueError."""
    ours = [handle.signature() for handle in handles]
    expected = f"snapshot: expected one of a fleet with the sensors {_listed(ours)}, got"
    if not snapshot.startswith(MAGIC):
        raise ValueError(f"{expected} one of a fleet without, or other bytes")
    try:
        content = msgspec.msgpack.decode(snapshot[len(MAGIC) :], type=_Content)
        if content.sensors != ours:
            raise _OtherSensors(
                f"{expected} one with {_listed(content.sensors)}; name, kind, rate, latency, seed "
                "and the shapes of the readings must be the same"
            )
        for state, signature in zip(content.states, ours, strict=True):
            _check(state, signature, size)
    except _OtherSensors as error:
        raise ValueError(str(error)) from None
    except (msgspec.DecodeError, LookupError, TypeError, ValueError):
        raise ValueError(f"{expected} bytes that are cut off or changed") from None
    return content.core, content.states


def _listed(signatures: Sequence[list[Any]]) -> str:
    return ", ".join(f"{name} ({kind} at {rate:g} Hz)" for kind, name, rate, *_ in signatures)


def _check(state: tuple[int, int, bytes, list[Any]], signature: list[Any], size: int) -> None:
    """Raises ValueError where bytes are not as many as the arrays, or biases not finite."""
    _, _, bias, samples = state
    *_, biases, layout = signature
    sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for _, kind, shape in layout]
    wanted = [8 * size * biases, *[8 * size, *sizes] * max(1, len(samples))]
    lengths = [len(bias)]
    for _, time, arrays in samples:
        lengths += [len(time), *map(len, arrays)]
    if lengths != wanted or not np.isfinite(np.frombuffer(bias)).all():
        raise ValueError
