"""Threads that fleets, scenes and fits share their work with."""

from __future__ import annotations

import numpy as np

from propwash import _checks as given
from propwash import _core


class ThreadPool(_core.ThreadPool):
    """Threads for one or several fleets.

    threads: in all, the caller's included; 0 for as many as the process may use processors. Idle
    threads sleep; a process that is forked off gets threads of its own.
    """

    def __init__(self, threads: int = 0) -> None:
        count = given.whole_number("threads", threads, 0, 4096)
        super().__init__(count or given.available_threads())

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads})"


def pool_of(threads: object) -> _core.ThreadPool | None:
    """Threads to share the work with; None for the caller alone."""
    if isinstance(threads, _core.ThreadPool):
        return threads
    if isinstance(threads, int | np.integer) and not isinstance(threads, bool):
        count = given.whole_number("threads", threads, 0, 4096) or given.available_threads()
        return ThreadPool(count) if count > 1 else None
    raise TypeError(f"threads: expected a number or a ThreadPool, got {threads!r:.100}")
