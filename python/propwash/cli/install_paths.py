"""Where the C++ side of the installed package lies."""

from __future__ import annotations

from pathlib import Path

from propwash import _core


def _root() -> Path:
    # beside the extension, not this file: an editable install keeps the two apart
    return Path(_core.__file__).resolve().parent


def include_dir() -> Path:
    """The folder to give to a compiler for `#include <propwash/propwash.hpp>`."""
    return _root() / "include"


def cmake_dir() -> Path:
    """The folder of propwashConfig.cmake, for CMake's propwash_DIR."""
    return _root() / "share" / "cmake" / "propwash"


def pkgconfig_dir() -> Path:
    """The folder of propwash.pc, for PKG_CONFIG_PATH."""
    return _root() / "share" / "pkgconfig"
