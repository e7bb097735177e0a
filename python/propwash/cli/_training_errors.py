"""Errors of a training."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def place_of(error: Exception, task: Any) -> str:
    """File and line of a custom task in which an error was raised; empty for other errors."""
    module = sys.modules[type(task).__module__]
    if module.__name__.split(".")[0] == "propwash":
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if each.filename == module.__file__]
    return f" ({module.__file__}, line {lines[-1]})" if lines else ""


@contextmanager
def without_thread_reports() -> Iterator[None]:
    """Suppresses reports of OSError in threads: tensorboard raises them again in the caller."""
    before = threading.excepthook
    threading.excepthook = lambda raised: (
        None if isinstance(raised.exc_value, OSError) else before(raised)
    )
    try:
        yield
    finally:
        threading.excepthook = before
