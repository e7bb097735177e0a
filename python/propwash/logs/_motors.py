"""The motors of a log in the order of a vehicle's rotors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.logs._flights import Flight
from propwash.logs._layout import Layout
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Vehicle = str | PathLike[str] | VehicleParameters


def in_rotor_order(flight: Flight, layout: Layout | None, vehicle: Vehicle) -> Flight:
    """Returns the flight with its motors in the order of the vehicle's rotors.

    layout: Motors of the log; None if it does not specify them.

    Raises ValueError, with both geometries, if a rotor has no motor in its direction with its spin.
    """
    if flight.motors == 0:
        return flight
    parameters = vehicles.load(vehicle)
    if layout is None or len(layout.spins) != flight.motors:
        raise ValueError(
            f"{flight.path}: expected positions of the {flight.motors} motors (PX4: "
            f"parameters CA_ROTOR*, Betaflight: four motors), found none; map the motors in the "
            f"order of the vehicle's rotors"
        )
    order = _order(layout, Layout.of_vehicle(parameters))
    if order is None:
        raise ValueError(
            f"{flight.path}: expected motors that match the rotors of vehicle {parameters.name!r} "
            f"in number, direction (forward, left) and spin; the log has {layout}; the vehicle has "
            f"{Layout.of_vehicle(parameters)}; correct the vehicle file, or map the motors in the "
            f"order of its rotors"
        )
    duty, speeds = flight.duty, flight.rotor_speeds
    return replace(
        flight,
        duty=duty[:, order] if duty.shape[1] else duty,
        rotor_speeds=None if speeds is None else speeds[:, order],
        layout=None,
    )


def check_order(flight: Flight, vehicle: VehicleParameters) -> None:
    """Raises ValueError if the motors of a log are known to be in another order than the rotors."""
    if flight.layout is None or flight.motors == 0:
        return
    order = replace(flight, duty=np.arange(1.0 * flight.motors)[np.newaxis], rotor_speeds=None)
    if not np.array_equal(in_rotor_order(order, flight.layout, vehicle).duty, order.duty):
        raise ValueError(
            f"{flight.path}: the motors are in the order of the log: {flight.layout}; vehicle "
            f"{vehicle.name!r} has {Layout.of_vehicle(vehicle)}; read the log with vehicle="
        )


def _order(log: Layout, vehicle: Layout) -> Sequence[int] | None:
    """Index of the log's motor for each rotor, or None if they do not match one to one."""
    if len(log.spins) != len(vehicle.spins):
        return None
    ours, theirs = (_directions(one.positions) for one in (vehicle, log))
    gaps = np.diff(np.sort(np.append(ours, ours.min() + 2.0 * np.pi)))
    tolerance = np.min(gaps[gaps > 1e-2], initial=2.0 * np.pi) / 3.0  # coaxial rotors have no gap
    order = []
    for direction, spin in zip(ours, vehicle.spins, strict=True):
        apart = np.abs((theirs - direction + np.pi) % (2.0 * np.pi) - np.pi)
        same_spin = [other in (0, spin) for other in log.spins]
        near = np.flatnonzero((apart < tolerance) & same_spin)
        if len(near) != 1:
            return None
        order.append(int(near[0]))
    return order if len(set(order)) == len(order) else None


def _directions(positions: Array) -> Array:
    return np.asarray(np.arctan2(positions[:, 1], positions[:, 0]))
