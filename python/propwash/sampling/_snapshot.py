"""Snapshots with attached sensors: the state of the vehicles and of each sensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from propwash.sampling._attached import AttachedSensor

MAGIC = b"pwsense3"

_Step = Annotated[int, Meta(ge=0, lt=2**62)]
_Count = Annotated[int, Meta(ge=0, lt=2**40)]
_Due = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Taken = Annotated[int, Meta(ge=-1, le=2**63 - 1)]


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    core: bytes
    sensors: list[list[Any]]
    """The signatures of the sensors, which identify the states."""
    states: list[tuple[_Step, _Count, bytes, list[tuple[_Due, bytes, list[bytes]]], _Taken]]


class _OtherSensors(Exception):
    """A valid snapshot of other sensors."""


def packed(core: bytes, handles: Sequence[AttachedSensor[Any]]) -> bytes:
    """The snapshot of vehicles with these sensors."""
    content = {
        "core": core,
        "sensors": [handle.signature() for handle in handles],
        "states": [handle.snapshot() for handle in handles],
    }
    return MAGIC + msgspec.msgpack.encode(content)


def unpacked(
    snapshot: bytes, handles: Sequence[AttachedSensor[Any]], size: int, noun: str
) -> tuple[bytes, list[Any]]:
    """The snapshot of the vehicles and the checked states of the sensors. Raises ValueError."""
    signatures = [handle.signature() for handle in handles]
    expected = (
        f"snapshot: expected the snapshot of a {noun} with the sensors {_listed(signatures)}, got"
    )
    if not snapshot.startswith(MAGIC):
        raise ValueError(f"{expected} one without sensors, or other bytes")
    try:
        content = msgspec.msgpack.decode(snapshot[len(MAGIC) :], type=_Content)
        if content.sensors != signatures:
            raise _OtherSensors(
                f"{expected} one with {_listed(content.sensors)}; name, kind, rate, latency, dt, "
                "seed and the shapes of the readings must agree"
            )
        for state, signature in zip(content.states, signatures, strict=True):
            _check(state, signature, size)
    except _OtherSensors as error:
        raise ValueError(str(error)) from None
    except (msgspec.DecodeError, LookupError, TypeError, ValueError):
        raise ValueError(f"{expected} truncated or modified bytes") from None
    return content.core, content.states


def _listed(signatures: Sequence[list[Any]]) -> str:
    return ", ".join(f"{name} ({kind} at {rate:g} Hz)" for kind, name, rate, *_ in signatures)


def _check(state: tuple[int, int, bytes, list[Any], int], signature: list[Any], size: int) -> None:
    """Raises ValueError if the bytes do not match the arrays or biases are not finite."""
    _, _, bias, samples, _ = state
    *_, biases, layout = signature
    sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for _, kind, shape in layout]
    expected = [8 * size * biases, *[8 * size, *sizes] * max(1, len(samples))]
    lengths = [len(bias)]
    for _, time, arrays in samples:
        lengths += [len(time), *map(len, arrays)]
    if lengths != expected or not np.isfinite(np.frombuffer(bias)).all():
        raise ValueError
