"""What tuning refuses, and what to change."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """What to change, in the terms of the Python functions and of the command line."""

    python: str
    command: str


class TuneError(ValueError):
    """The requested margins are out of reach; the message says how near it came and what limits it.

    The message ends with advice in the terms of the Python functions.
    """

    def __init__(self, reason: str, *advice: Advice) -> None:
        super().__init__(reason + "".join(each.python for each in advice))
        self._for_command = reason + "".join(each.command for each in advice)

    def for_command(self) -> str:
        """The message with advice that names options of `python -m propwash tune`."""
        return self._for_command
