"""`python -m propwash`: the commands of `propwash.cli`."""

from __future__ import annotations

import signal
import sys

from propwash.cli.main import main

__all__ = ["main", "run"]


def run() -> int:
    """Runs a command of the terminal. SIGTERM ends it as Ctrl-C does: files are completed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
