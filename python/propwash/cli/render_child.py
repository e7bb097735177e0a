"""`python -m propwash render`, started by a client: exits with the client's process."""

from __future__ import annotations

import os
import sys
import threading


def _end_with_parent() -> None:
    """Exits when standard input, a pipe from the client, closes."""
    # not sys.stdin: a waiting thread would hold its lock, which the interpreter needs at exit
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    from propwash.cli.main import main

    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main(["render", *sys.argv[1:]]))
