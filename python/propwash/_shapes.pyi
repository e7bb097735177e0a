"""
Extension module of propwash; import its contents from the package.
"""

from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

def kernels(set: Int) -> Any:
    """The kernels of float32 fleets other than parallel quadcopters, for an instruction set."""
