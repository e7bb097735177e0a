"""`python -m propwash`: the commands of `propwash.cli`."""

from __future__ import annotations

import signal
import sys

from propwash.cli.main import main

__all__ = ["main", "run"]


def run() -> int:
    """Runs a command of the terminal.

    SIGTERM, and the end of the terminal, end it as Ctrl-C does: files are completed.
    """
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(number, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
