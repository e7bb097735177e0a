"""`python -m propwash`: the commands of `propwash.cli`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from propwash._bridge import uninterrupted

__all__ = ["main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 0, 2 for invalid input, 130 after Ctrl-C."""
    try:
        with uninterrupted():  # an interrupted import may end the process by the signal later
            from propwash.cli.main import main as command  # takes a second

        return command(arguments)
    except KeyboardInterrupt:
        print("propwash: stopped", file=sys.stderr)
        return 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command of the terminal.

    SIGTERM, and the end of the terminal, end it as Ctrl-C does: files are completed.
    """
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(number, signal.default_int_handler)
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run())
