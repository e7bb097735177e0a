"""Messages between the server and its pages: JSON objects, identified by their key `type`."""

from __future__ import annotations

import struct
from typing import Annotated, Any, Literal, get_args

import msgspec

from propwash.arcade._ghosts import GhostKind
from propwash.arcade._interface import Mode, Task, WrongGate

ViewName = Literal["chase", "onboard"]
Role = Literal["pilot", "watcher"]
VIEWS: tuple[ViewName, ...] = get_args(ViewName)

MAX_MESSAGE = 4096
"""Bytes of a message of a page."""

_Stick = Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)]
_Throttle = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class _FromPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """A message of a page."""


class Input(_FromPage, frozen=True, tag="input"):
    """Positions of the sticks: roll, pitch, yaw, throttle."""

    number: _Number
    sticks: tuple[_Stick, _Stick, _Stick, _Throttle]
    mode: Mode


class Shown(_FromPage, frozen=True, tag="shown"):
    """Acknowledges an image."""

    frame: _Number


class Reset(_FromPage, frozen=True, tag="reset"):
    """Starts a new flight."""


class Pause(_FromPage, frozen=True, tag="pause"):
    """Stops the clock, or continues."""

    paused: bool


class SetClock(_FromPage, frozen=True, tag="clock"):
    """Simulated seconds per second."""

    scale: Annotated[float, msgspec.Meta(ge=0.05, le=1.0)]


class Select(_FromPage, frozen=True, tag="select"):
    """Starts a new flight with other settings."""

    course: _Name
    vehicle: _Name
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] = 0
    ghosts: Annotated[tuple[GhostKind, ...], msgspec.Meta(max_length=3)] = ()


class SetCamera(_FromPage, frozen=True, tag="camera"):
    """Selects the camera."""

    view: ViewName


class TakeOver(_FromPage, frozen=True, tag="take_over"):
    """Makes this page the pilot's if the pilot has left."""


FromPage = Input | Shown | Reset | Pause | SetClock | Select | SetCamera | TakeOver
_DECODER: msgspec.json.Decoder[FromPage] = msgspec.json.Decoder(FromPage)


class MessageError(ValueError):
    """A message that is not one of those above; `reason` is short and of a small set."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = ascii(detail[:200])[1:-1]  # for terminals


def decode(data: bytes) -> FromPage:
    """The message in JSON of UTF-8. Raises MessageError for everything else."""
    if len(data) > MAX_MESSAGE:
        raise MessageError("message too long", f"{len(data)} bytes, expected {MAX_MESSAGE}")
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise MessageError("message with invalid fields", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MessageError("message that is no JSON", str(error)) from None


class ToPage(msgspec.Struct, frozen=True, tag_field="type"):
    """A message of the server."""


class Hello(ToPage, frozen=True, tag="hello"):
    """The first message to a page: what can be chosen."""

    role: Role
    courses: list[dict[str, Any]]
    """`name`, `title`."""
    vehicles: list[str]
    modes: list[str]
    views: list[str]
    ghosts: list[str]
    size: tuple[int, int]
    """px, width and height of the images."""
    version: str


class Status(ToPage, frozen=True, tag="status"):
    """Sent at each change."""

    role: Role
    has_pilot: bool
    """False: a watcher may take over."""
    pages: int
    paused: bool
    reason: str
    """Why the flight is paused; empty: it is not, or the pilot paused it."""
    countdown: int
    """s until it continues, rounded up; 0: when the pilot continues it."""
    scale: float
    view: ViewName


class CourseMessage(ToPage, frozen=True, tag="course"):
    """The settings of the flight, and the course at its perturbed poses."""

    name: str
    title: str
    seed: int
    vehicle: str
    ghosts: list[str]
    """Names of the ghosts that fly."""
    start: tuple[float, float, float, float]
    """x, y, z [m] and yaw [rad]."""
    gates: list[dict[str, Any]]
    """In order: `name`, `position` [m], `attitude`, `width`, `height` [m]; passed along +x."""


class FlightMessage(ToPage, frozen=True, tag="flight"):
    """The result of a flight that ended."""

    result: str
    """"finished", "collided", "timeout", "reset" or "stopped"."""
    gates: int
    """Gates passed."""
    race_time: float
    """s, of the last gate passed; 0 without one."""
    score: float
    ranked: bool
    """Whether it counts for the leader board."""
    place: int | None
    """On the leader board, from 1."""
    log: str | None
    """File of the flight log."""


class BoardMessage(ToPage, frozen=True, tag="board"):
    """The leader board of the selected course and seed."""

    course: str
    seed: int
    entries: list[dict[str, Any]]


class Notice(ToPage, frozen=True, tag="notice"):
    """A text for the person at the page."""

    text: str


class Hud(msgspec.Struct, frozen=True):
    """The numbers of an image."""

    frame: int
    input: int
    """Number of the newest input that acted on the vehicle; 0: none of this pilot."""
    time: float
    """s, simulated, since the last reset."""
    race_time: float
    """s since take-off."""
    phase: str
    passed: list[tuple[str, float]]
    """Names of the gates passed, and their race times."""
    next: str | None
    """Name of the next gate; None after the last one."""
    guide: str
    """One line: its name, distance and directions."""
    wrong: WrongGate | None
    """The newest gate passed out of order."""
    task: Task | None
    """Task of the lesson."""
    progress: float
    """Progress of the task, from 0 to 1."""
    gates: int
    """Gates of the course."""
    speed: float
    """Speed [m/s]."""
    height: float
    """m, above z = 0."""
    mode: Mode
    sticks: tuple[float, float, float, float]
    """Roll, pitch, yaw, throttle, as they act."""
    scale: float
    paused: bool
    collision: str | None
    """Name of the item that the vehicle touched."""
    position: tuple[float, float, float]
    """m, world frame."""
    velocity: tuple[float, float, float]
    """m/s, world frame."""
    attitude: tuple[float, float, float, float]
    """Scalar first, body (forward, left, up) to world."""
    target: tuple[float, float, bool] | None
    """Centre of the next gate: pixels right and down in the image, and whether it is in front of
    the camera; else the direction from the image's centre to the pixels is the one to turn to."""
    outline: list[tuple[float, float]]
    """Corners [px] of the opening of the next gate, clipped in front of the camera."""
    ghosts: list[tuple[str, float | None]]
    """Name of each ghost, and by how much [s] the pilot was later at the last gate passed."""


_ENCODER = msgspec.json.Encoder()


def encode(message: ToPage) -> str:
    """A text message."""
    return _ENCODER.encode(message).decode()


def pack_image(hud: Hud, jpeg: bytes) -> bytes:
    """A binary message: uint32 little-endian n, n bytes of JSON, the JPEG."""
    numbers = _ENCODER.encode(hud)
    return struct.pack("<I", len(numbers)) + numbers + jpeg


def unpack_image(data: bytes) -> tuple[Hud, bytes]:
    """The parts of a binary message."""
    (length,) = struct.unpack_from("<I", data)
    return msgspec.json.decode(data[4 : 4 + length], type=Hud), data[4 + length :]
