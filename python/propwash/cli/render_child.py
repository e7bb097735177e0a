"""`python -m propwash render` for a client that started it: ends when the client's process does."""

from __future__ import annotations

import os
import sys
import threading


def _end_with_parent() -> None:
    """Standard input is a pipe from the client; it closes when the client is gone."""
    # the bare file: a thread that waits in sys.stdin holds its lock, which Python's end asks for
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    from propwash.cli.main import main

    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main(["render", *sys.argv[1:]]))
