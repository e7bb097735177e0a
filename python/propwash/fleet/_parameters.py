"""The parameters of each vehicle of a fleet, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _core, _float64
from propwash._checks import ParameterError, checked_parameters, nearest
from propwash.fleet._types import Flags

Array = NDArray[np.float64]


class _Entry(NamedTuple):
    number: int
    shape: tuple[int, ...]
    is_shared: bool


class FleetParameters(Mapping[str, Array]):
    """A mapping from names to read-only arrays (n, …), in float64 and SI units.

    Names are dotted, such as "body.mass" and "rotors.thrust_coefficient"; the last part is enough
    if it is unique: "mass". Arrays are copies; `Fleet.set_parameters` changes the parameters.
    """

    def __init__(
        self, core: _core.FleetFloat32 | _float64.FleetFloat64, size: int, table: Any
    ) -> None:
        self._core = core
        self._size = size
        self._table: dict[str, _Entry] = {
            name: _Entry(i, tuple(shape), is_shared)
            for i, (name, shape, is_shared, *_) in enumerate(table)
        }

    def names(self) -> list[str]:
        """The full names."""
        return list(self._table)

    def full_name(self, key: str) -> str:
        """The dotted name of a key.

        Raises an error that is both KeyError and ParameterError if none or several match.
        """
        if not isinstance(key, str):
            raise _ParameterKeyError(f"key: expected the name of a parameter, got {key!r:.100}")
        if key in self._table:
            return key
        found = [name for name in self._table if name.endswith("." + key)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ParameterKeyError(f"{key!r}: expected one of {', '.join(found)}")
        last_parts = [name.rpartition(".")[2] for name in self._table]
        near = (
            nearest(key, [*self._table, *last_parts])
            or f"; expected one of {', '.join(self._table)}"
        )
        raise _ParameterKeyError(f"{key!r}: unknown parameter{near}")

    def entry(self, key: str) -> _Entry:
        """Number and shape of a parameter that vehicles of a fleet may have separately."""
        name = self.full_name(key)
        entry = self._table[name]
        if entry.is_shared:
            raise ParameterError(
                f"{name}: is common to all vehicles of a fleet; create a fleet of another vehicle"
            )
        return entry

    def __getitem__(self, key: str) -> Array:
        values = self._core.parameter(self._table[self.full_name(key)].number)
        values.flags.writeable = False
        return values

    def __setitem__(self, key: str, value: object) -> None:
        raise TypeError(
            f"parameters[{key!r}]: read-only; use set_parameters({{{key!r}: …}}) of the fleet"
        )

    def _set(self, values: Mapping[str, Any], mask: Flags | None) -> None:
        """Implements Fleet.set_parameters()."""
        rows = None if mask is None else np.flatnonzero(mask).tolist()
        count = self._size if rows is None else len(rows)
        arrays: dict[Any, Array] = {}
        for key, value in values.items():
            name = self.full_name(key)
            number = self._table[name].number
            if number in arrays:
                raise ParameterError(f"{name}: expected one value, got two, under different names")
            arrays[number] = self._checked(name, value, count)
        if arrays and count:
            self._core.set_parameters(arrays, rows)

    @checked_parameters()
    def _checked(self, name: str, value: object, count: int, finite: bool = False) -> Array:
        entry = self.entry(name)
        shape, hint = (count, *entry.shape), per_motor(name, entry.shape)
        return _checks.broadcast(name, value, shape, per_vehicle=True, finite=finite, hint=hint)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        try:
            self.full_name(key)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    def own(self) -> dict[str, Array]:
        """The parameters that have been set for individual vehicles."""
        all_names = self.names()
        return {all_names[k]: self[all_names[k]] for k in self._core.own_parameters()}

    def __repr__(self) -> str:
        return f"FleetParameters of {self._size} vehicles: {', '.join(self._table)}"


def per_motor(name: str, shape: tuple[int, ...]) -> str:
    """The end of a message that explains motor parameters per rotor; empty for others."""
    each = ("time_constant_up", "time_constant_down", "speed_min", "speed_max")
    is_common = shape == () and any(f"motor.{one}" in name for one in each)
    return "; first set a list in the vehicle, with one number for each rotor" if is_common else ""


class _ParameterKeyError(KeyError, ParameterError):
    def __str__(self) -> str:
        return f"{self.args[0]}"  # KeyError returns the repr
