"""The parameters of a fleet's vehicles, by name, each vehicle's own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash import _fleet_input as given
from propwash._parameter_values import ParameterError, checked_parameters, nearest

Array = NDArray[np.float64]


class _Entry(NamedTuple):
    number: int
    shape: tuple[int, ...]
    is_shared: bool


class ParameterArray(np.ndarray[Any, np.dtype[np.float64]]):
    """One parameter of all vehicles, (n, …), as it was when it was read.

    Assigning to items writes to the fleet: `fleet.parameters["mass"][3] = 1.2`. So do
    `fleet.parameters["mass"] *= 1.1` and `np.multiply(…, out=fleet.parameters["mass"])`. Arithmetic
    gives plain arrays, that of a name of your own too: `m = fleet.parameters["mass"]; m *= 1.1`
    changes m alone.
    """

    _source: tuple[FleetParameters, str] | None

    def __array_finalize__(self, _obj: object) -> None:
        self._source = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at" and _is_own(inputs[0]):
            present = _plain(inputs[0]).copy()
            ufunc.at(present, *map(_plain, inputs[1:]))
            inputs[0][...] = present
            return None
        given_out = options.pop("out", ())
        results = [_plain(array).copy() if _is_own(array) else array for array in given_out]
        if results:
            options["out"] = tuple(results)
        computed = getattr(ufunc, method)(*map(_plain, inputs), **options)
        for array, result in zip(given_out, results, strict=True):
            if _is_own(array):
                array[...] = result
        return computed

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._source is None:
            super().__setitem__(key, value)
            return
        parameters, name = self._source
        present = _plain(parameters[name]).copy()
        present[key] = _plain(value)
        parameters[name] = present
        assert self.base is not None
        np.copyto(self.base, present)


class FleetParameters(MutableMapping[str, Array]):
    """A mapping from names to arrays (n, …), in float64 and SI units.

    Names are dotted, "body.mass", "rotors.thrust_coefficient"; the last part does where it is
    unique: "mass". Values are broadcast: a number, or what one vehicle has, or a row for each.
    An assignment checks every vehicle and raises ParameterError, which names the first that cannot
    be, with nothing changed. State, time and noise go on.
    """

    def __init__(
        self, core: _core.FleetFloat32 | _core.FleetFloat64, size: int, table: Any
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

        Raises an error that is both KeyError and ParameterError for none or several.
        """
        if not isinstance(key, str):
            raise _NoParameter(f"key: expected the name of a parameter, got {key!r:.100}")
        if key in self._table:
            return key
        found = [name for name in self._table if name.endswith("." + key)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _NoParameter(f"{key!r}: expected one of {', '.join(found)}")
        last_parts = [name.rpartition(".")[2] for name in self._table]
        near = nearest(key, [*self._table, *last_parts]) or f"; there are {', '.join(self._table)}"
        raise _NoParameter(f"{key!r}: there is no such parameter{near}")

    def __getitem__(self, key: str) -> ParameterArray:
        name = self.full_name(key)
        values = self._core.parameter(self._table[name].number)
        array = values.view(ParameterArray)
        array._source = (self, name)
        array.flags.writeable = False
        return array

    def __setitem__(self, key: str, value: ArrayLike) -> None:
        self.update({key: value})

    def update(self, *others: Any, **values: ArrayLike) -> None:
        """Assigns several parameters at once: all of them, or none where one cannot be."""
        wanted: dict[str, Any] = {}
        for other in (*others, values):
            wanted.update(other if isinstance(other, Mapping) else dict(other))
        arrays = self._arrays(wanted, self._size)
        if arrays:
            self._core.set_parameters(arrays)

    def assign(self, values: Mapping[str, ArrayLike], mask: ArrayLike) -> None:
        """As update(), to the vehicles of a mask, (n,) truth values, alone.

        values: by name, numbers that broadcast to (m, …), a row for each of the m vehicles; with no
        vehicle nothing happens. It takes as long as m multicopters do where the fleet has own
        parameters already and the new ones ask nothing new of its kernels, else as long as all.
        """
        chosen = given.mask(mask, self._size)
        if chosen is None:
            raise TypeError(f"mask: expected {self._size} truth values, got None; take update()")
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return
        arrays = self._arrays(values, len(rows))
        if isinstance(self._core, _core.FleetFloat32 | _core.FleetFloat64):
            self._core.set_parameters(arrays, rows.tolist())
            return
        for number, some in arrays.items():
            whole = np.array(self._core.parameter(number))
            whole[rows] = some
            arrays[number] = whole
        self._core.set_parameters(arrays)

    def _arrays(self, wanted: Mapping[str, Any], count: int) -> dict[Any, Any]:
        names = {self.full_name(key): value for key, value in wanted.items()}
        return {
            self._table[name].number: self._checked(name, value, count)
            for name, value in names.items()
        }

    @checked_parameters()
    def _checked(self, name: str, value: object, count: int) -> Array:
        entry = self._table[name]
        if entry.is_shared:
            raise ParameterError(
                f"{name}: is the same for all vehicles of a fleet; make a fleet of another vehicle"
            )
        shape = (count, *entry.shape)
        array = np.asarray(_plain(value))
        expected = f"numbers of shape {shape}, or that broadcast to it"
        if array.dtype.kind not in "fiu":
            raise TypeError(f"{name}: expected {expected}, got {given.described(value)}")
        if array.ndim == 1 and len(shape) > 1 and array.shape != shape[1:]:
            array = array.reshape(-1, *(1 for _ in entry.shape))  # one number for each vehicle
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            got = given.described(value) + per_motor(name, entry.shape)
            raise ValueError(f"{name}: expected {expected}, got {got}") from None
        return np.ascontiguousarray(array, dtype=np.float64)

    def __delitem__(self, key: str) -> None:
        raise TypeError(f"{key!r}: a parameter cannot be taken from a fleet")

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
        """Those that have been assigned: what makes the vehicles differ."""
        all_names = self.names()
        return {all_names[k]: _plain(self[all_names[k]]) for k in self._core.own_parameters()}

    def __repr__(self) -> str:
        return f"FleetParameters of {self._size} vehicles: {', '.join(self._table)}"


def per_motor(name: str, shape: tuple[int, ...]) -> str:
    """How one number of a motor becomes one for each rotor, for messages; else nothing."""
    one_for_all = "motor." in name and "command_delay" not in name and shape == ()
    return "; give the vehicle a list, one number for each rotor, first" if one_for_all else ""


class _NoParameter(KeyError, ParameterError):
    def __str__(self) -> str:
        return f"{self.args[0]}"  # KeyError would give its repr


def _computed(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator such as `*=` that changes nothing: the mapping assigns what it gives."""
    return lambda array, other: operation(_plain(array), _plain(other))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(ParameterArray, f"__i{_name}__", _computed(getattr(operator, _name)))


def _is_own(value: Any) -> bool:
    return isinstance(value, ParameterArray)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, ParameterArray) else value
