"""Thread pools of fleets, scenes and fits."""

from __future__ import annotations

import numpy as np

from propwash import _checks, _core


class ThreadPool(_core.ThreadPool):
    """Threads that one or several fleets use.

    threads: total number, including the calling thread; 0 for the number of available processors.
    Idle threads sleep; a forked process creates its own threads.
    """

    def __init__(self, threads: int = 0) -> None:
        count = _checks.whole_number("threads", threads, 0, 4096)
        super().__init__(count or _checks.available_threads())

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads})"


def pool_of(threads: object) -> _core.ThreadPool | None:
    """The pool for an argument `threads`; None for the calling thread only."""
    if isinstance(threads, _core.ThreadPool):
        return threads
    if isinstance(threads, int | np.integer) and not isinstance(threads, bool):
        count = _checks.whole_number("threads", threads, 0, 4096) or _checks.available_threads()
        return ThreadPool(count) if count > 1 else None
    raise TypeError(f"threads: expected a number or a ThreadPool, got {threads!r:.100}")
