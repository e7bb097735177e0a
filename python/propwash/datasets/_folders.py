"""Folders that appear when they are complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside `folder`, which is renamed to it at the end.

    If the body raises, the temporary folder is removed, so that a full disk has space again; an
    OSError names the folder. What an ended process left behind is replaced.
    """
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        part.rename(folder)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # as for a full disk
            error.filename = str(folder)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
