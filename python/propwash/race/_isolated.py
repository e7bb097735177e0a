"""Pilots in processes of their own, which share no memory with the simulation."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import Any, get_args

import numpy as np

from propwash import _checks
from propwash.race._fly import checked_answer
from propwash.race._interface import Briefing, Pilot, PilotEstimate, PilotMaker, Readings
from propwash.vehicle.commands import Command, as_command

_COMMANDS = {kind.__name__: kind for kind in get_args(Command)}
_ESTIMATED = ("position", "velocity", "attitude")
_MAX_ANSWER = 1_000_000
"""Bytes."""


def isolated(maker: PilotMaker, *, timeout: float = 60.0) -> PilotMaker:
    """Returns a maker of the same pilot in a new process for each flight.

    The process receives briefing and readings through a pipe and answers with numbers as JSON
    text, so that nothing of the simulation can be reached from its memory. It has the rights of
    the user: files and network are not closed to it.

    maker: is pickled: a class or a function of a module, or load_pilot(…). timeout: s, for one
    answer. In flight, an exception of the pilot, whose traceback its process prints, and a wrong
    answer raise ValueError, a late answer TimeoutError. The process is then ended.
    """
    return _Isolated(maker, _checks.positive("timeout", timeout, "s"))


def load_pilot(place: str) -> PilotMaker:
    """Returns the maker of a pilot from a file, imported when a flight begins.

    place: "FILE.py:NAME", a class or a function that is called with a Briefing. Raises ValueError
    for another form and for a missing file, in flight ValueError for a name that is missing or
    something else.
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
        sys.modules[spec.name] = module  # where dataclasses and pickle look for it
        spec.loader.exec_module(module)
        maker = getattr(module, self.name, None)
        if not callable(maker):
            got = "none" if maker is None else f"{maker!r:.100}"
            raise ValueError(
                f"pilot: expected a class or a function {self.name} in {self.file}, got {got}"
            )
        pilot: Pilot = maker(briefing)
        return pilot


@dataclass(frozen=True)
class _Isolated:
    maker: PilotMaker
    timeout: float

    def __call__(self, briefing: Briefing) -> Pilot:
        return _Remote(self.maker, briefing, self.timeout)


class _Remote:
    """The simulation's end of the pipe. The process ends with this object, or with a failure."""

    def __init__(self, maker: PilotMaker, briefing: Briefing, timeout: float) -> None:
        self._timeout = timeout
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, maker), daemon=True)
        self._process.start()
        other.close()
        self._ask(briefing, lambda ready: ready)

    def __call__(self, readings: Readings) -> tuple[Command, Any]:
        answer: tuple[Command, Any] = self._ask(readings, _decoded)
        return answer

    def _ask(self, message: Briefing | Readings, decoded: Callable[[Any], Any]) -> Any:
        try:
            return decoded(self._received(message))
        except BaseException:
            self._process.kill()  # it may be computing on
            self._process.join()
            raise

    def _received(self, message: Briefing | Readings) -> Any:
        answered: Future[bytes] = Future()
        # a part of an answer would block this thread without limit
        Thread(target=self._exchange, args=(message, answered), daemon=True).start()
        try:
            data = answered.result(self._timeout)
        except TimeoutError:
            raise TimeoutError(
                f"pilot: expected an answer within {self._timeout:g} s, got none; raise timeout"
            ) from None
        except (EOFError, OSError) as error:
            raise ValueError("pilot: expected an answer, but its process has ended") from error
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"pilot: expected JSON text, got {data!r:.100}") from error
        if isinstance(answer, dict) and "error" in answer:
            raise ValueError(f"pilot: {answer['error']!s:.1000}")
        return answer

    def _exchange(self, message: Briefing | Readings, answered: Future[bytes]) -> None:
        try:
            self._pipe.send(message)
            # not recv(), which executes what the pilot sends
            answered.set_result(self._pipe.recv_bytes(_MAX_ANSWER))
        except BaseException as error:
            answered.set_exception(error)


def _serve(pipe: Connection, maker: PilotMaker) -> None:
    """The pilot's end of the pipe."""
    pilot: Pilot | None = None
    with suppress(EOFError, OSError):  # the flight is over
        while True:
            message = pipe.recv()
            try:
                if pilot is None:
                    pilot, answer = maker(message), {}
                else:
                    answer = _encoded(*checked_answer(pilot(message)))
            except Exception as error:  # of the pilot, whatever it is
                traceback.print_exc()
                answer = {"error": f"{type(error).__name__}: {error}"}
            pipe.send_bytes(json.dumps(answer).encode())


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
        else {
            **{name: _plain(getattr(estimate, name)) for name in _ESTIMATED},
            "gates": _plain(getattr(estimate, "gates", None)),
        },
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else np.asarray(value).tolist()


def _decoded(answer: Any) -> tuple[Command, PilotEstimate | None]:
    try:
        command: Command = _COMMANDS[answer["kind"]](**answer["command"])
        estimate = answer["estimate"]
        return command, None if estimate is None else PilotEstimate(**estimate)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"pilot: expected a command, one of {', '.join(_COMMANDS)}, and an estimate, got "
            f"{answer!r:.200}: {type(error).__name__}: {error!s:.200}"
        ) from error
