"""`python -m propwash`: the commands of `propwash.cli`."""

from __future__ import annotations

import sys

from propwash.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
