"""Pilots in processes of their own, which share no memory with the simulation."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from propwash import _checks
from propwash.race._interface import Briefing, Pilot, PilotEstimate, PilotMaker, Readings
from propwash.vehicle.commands import Command, as_command

_COMMANDS = {kind.__name__: kind for kind in get_args(Command)}
_ESTIMATE = ("position", "velocity", "attitude", "gates")


def isolated(maker: PilotMaker, *, timeout: float = 60.0) -> PilotMaker:
    """Returns a maker of the same pilot in a new process for each flight.

    The process receives briefing and readings through a pipe and answers with numbers as JSON
    text, so that nothing of the simulation can be reached from its memory. It has the rights of
    the user: files and network are not closed to it.

    maker: is pickled: a class or a function of a module, or load_pilot(…). timeout: s, for one
    answer. In flight, an exception of the pilot raises RuntimeError with its text, and a late
    answer TimeoutError.
    """
    return _Isolated(maker, _checks.positive("timeout", timeout, "s"))


def load_pilot(place: str) -> PilotMaker:
    """Returns the maker of a pilot from a file, imported when a flight begins.

    place: "FILE.py:NAME", a class or a function that is called with a Briefing. Raises ValueError
    for another form and for a missing file, in flight ValueError for a missing name.
    """
    file, colon, name = place.rpartition(":")
    if not colon or not name.isidentifier() or not Path(file).is_file():
        raise ValueError(f"pilot: expected an existing FILE.py:NAME, got {place!r:.100}")
    return _Loaded(str(Path(file).resolve()), name)


@dataclass(frozen=True)
class _Loaded:
    file: str | PathLike[str]
    name: str

    def __call__(self, briefing: Briefing) -> Pilot:
        spec = importlib.util.spec_from_file_location("propwash_pilot", self.file)
        if spec is None or spec.loader is None:
            raise ValueError(f"pilot: expected a Python file, got {self.file!r:.100}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, self.name):
            raise ValueError(f"pilot: expected {self.name} in {self.file}, which does not have it")
        pilot: Pilot = getattr(module, self.name)(briefing)
        return pilot


@dataclass(frozen=True)
class _Isolated:
    maker: PilotMaker
    timeout: float

    def __call__(self, briefing: Briefing) -> Pilot:
        return _Remote(self.maker, briefing, self.timeout)


class _Remote:
    """The simulation's end of the pipe. The process ends when this object is deleted."""

    def __init__(self, maker: PilotMaker, briefing: Briefing, timeout: float) -> None:
        self._timeout = timeout
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        process = context.Process(target=_serve, args=(other, maker), daemon=True)
        process.start()
        other.close()
        self._ask(briefing)

    def __call__(self, readings: Readings) -> tuple[Command, Any]:
        return _decoded(self._ask(readings))

    def _ask(self, message: Briefing | Readings) -> Any:
        try:
            self._pipe.send(message)
            if not self._pipe.poll(self._timeout):
                raise TimeoutError(
                    f"pilot: expected an answer within {self._timeout:g} s, got none; raise timeout"
                )
            # not recv(), which executes what the pilot sends
            answer = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise RuntimeError("pilot: expected an answer, but its process has ended") from error
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"pilot: {answer['error']!s:.1000}")
        return answer


def _serve(pipe: Connection, maker: PilotMaker) -> None:
    """The pilot's end of the pipe."""
    try:
        pilot = maker(pipe.recv())
        pipe.send_bytes(b"{}")
        while True:
            pipe.send_bytes(json.dumps(_encoded(*pilot(pipe.recv()))).encode())
    except EOFError:
        return  # the flight is over
    except Exception as error:  # of the pilot, whatever it is
        pipe.send_bytes(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())


def _encoded(command: Any, estimate: Any) -> dict[str, Any]:
    """A command and an estimate as numbers."""
    command = as_command(command)
    kind = type(command)
    if kind.__name__ not in _COMMANDS:
        raise TypeError(f"command: expected one of {', '.join(_COMMANDS)}, got {command!r:.100}")
    fields = [name for name in dir(kind) if isinstance(getattr(kind, name), property)]
    return {
        "kind": kind.__name__,
        "command": {name: _plain(getattr(command, name)) for name in fields},
        "estimate": None
        if estimate is None
        else {name: _plain(getattr(estimate, name, None)) for name in _ESTIMATE},
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else np.asarray(value).tolist()


def _decoded(answer: Any) -> tuple[Command, PilotEstimate | None]:
    kind, estimate = answer["kind"], answer["estimate"]
    if kind not in _COMMANDS:
        raise TypeError(f"pilot: expected a command, one of {', '.join(_COMMANDS)}, got {kind!r}")
    command: Command = _COMMANDS[kind](**answer["command"])
    return command, None if estimate is None else PilotEstimate(**estimate)
