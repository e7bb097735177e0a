"""Figures of flights, with matplotlib (extra `viz`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._checks import choice
from propwash.trajectories import Reference, flatness
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters
from propwash.viz import flights as _flights
from propwash.viz import paths_3d
from propwash.viz.figures import (
    AXES,
    labelled,
    legend_above,
    new_figure,
    require_matplotlib,
)
from propwash.world import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Writes a figure to a file; the suffix determines the format."""
    figure.savefig(path, dpi=110)


def check(
    path: str | PathLike[str], viz: Literal["matplotlib", "rerun"] | None = None
) -> Literal["matplotlib", "rerun"]:
    """The library with which show() will write `path`. Raises as show() does."""
    file = Path(path)
    is_recording = file.suffix.lower() == ".rrd"
    if viz is not None:
        choice("viz", viz, ("matplotlib", "rerun"))
    if viz is not None and is_recording != (viz == "rerun"):
        expected = ".rrd" if viz == "rerun" else ".png, .svg or .pdf"
        raise ValueError(f"{file}: expected a name that ends in {expected} for viz={viz!r}")
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise FileNotFoundError(f"{file}: expected a file in a folder that exists")
    if is_recording:
        from propwash.viz import _rerun

        _rerun.require_rerun()
        return "rerun"
    require_matplotlib()
    return "matplotlib"


def show(
    recorded: Any,
    path: str | PathLike[str],
    *,
    viz: Literal["matplotlib", "rerun"] | None = None,
    scene: Scene | None = None,
    time: ArrayLike | None = None,
    vehicles: Iterable[int] | None = None,
    landmarks: Mapping[str, ArrayLike] | None = None,
    title: str = "",
) -> str:
    """Writes a figure or recording of flights and returns a description of the file.

    viz: "matplotlib": a figure of the paths; "rerun": a recording for the Rerun viewer with paths,
        poses, rotor speeds, IMU and rates over time; None: according to the suffix of `path`, .rrd
        or another. The other arguments are those of trajectory_figure().

    Raises ImportError that names the extra to install, and as trajectory_figure() does; nothing is
    written then.
    """
    file = Path(path)
    if check(file, viz) == "rerun":
        from propwash.viz import _rerun

        flights, marked = _flights.flights(recorded, time, vehicles), _flights.landmarks(landmarks)
        return _rerun.write(flights, file, scene, title, marked)
    figure = trajectory_figure(
        recorded, scene=scene, time=time, vehicles=vehicles, landmarks=landmarks, title=title
    )
    save(figure, file)
    return f"plot {file}"


def reference_figure(
    reference: Reference,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    scene: Scene | None = None,
    title: str = "",
) -> Figure:
    """A figure of the reference of one vehicle: its path and the required rates and thrust.

    Raises ValueError for a reference of several vehicles.
    """
    parameters = vehicles.load(vehicle)
    if reference.yaw.ndim != 1:
        raise ValueError(
            f"reference: expected a single-vehicle reference (1-D yaw), got shape "
            f"{reference.yaw.shape}; trajectory_figure() draws several"
        )
    required, time = flatness(reference, parameters), reference.time
    figure = new_figure(13, 9)
    # the column in between is for the label of the z axis
    grid = figure.add_gridspec(4, 3, width_ratios=[8, 1, 6])
    gates = () if scene is None else scene.gates
    paths_3d.draw(figure, _flights.flights(reference), gates, {}, grid[:, 0])
    rotors = [(f"rotor {k}", each) for k, each in enumerate(required.rotor_thrusts.T)]
    rows: list[tuple[str, str, list[tuple[str, NDArray[np.float64]]]]] = [
        ("speed", "m/s", [("", np.linalg.norm(reference.velocity, axis=1))]),
        ("body rate", "rad/s", list(zip(AXES, required.body_rates.T, strict=True))),
        ("rotor thrust", "N", rotors),
        ("yaw", "rad", [("", reference.yaw)]),
    ]
    for row, (name, unit, lines) in enumerate(rows):
        axes = figure.add_subplot(grid[row, 2])
        for label, values in lines:
            axes.plot(time, values, lw=1.2, label=label or None)
        if row == 2:
            axes.axhline(
                max(parameters.max_rotor_thrust), color="0.4", ls="--", lw=1.0, label="maximum"
            )
        labelled(axes, name, "time [s]", f"{name} [{unit}]")
        if len(lines) > 1:
            legend_above(axes)
    duration = float(time[-1] - time[0])
    figure.suptitle(title or f"reference of {duration:.3g} s for the vehicle {parameters.name!r}")
    return figure


def trajectory_figure(
    recorded: Any,
    *,
    scene: Scene | None = None,
    time: ArrayLike | None = None,
    vehicles: Iterable[int] | None = None,
    landmarks: Mapping[str, ArrayLike] | None = None,
    title: str = "",
) -> Figure:
    """A figure of 3D paths coloured by speed, with starts, ends and gates, on equal axes.

    recorded: a Trajectory, FleetTrajectory, race.RaceFlight or trajectories.Reference; positions
        (T, 3) or (T, n, 3) [m], world frame; or several of these, in a list or, by name, in a dict.
    time: s, (T,) or (T, n), of positions without time, to compute their speed.
    vehicles: indices along the axis n, at most 64; None: all.
    landmarks: by name, points (3,) or lines (k, 3) [m], such as the target of the flights.
    title: by default number, duration and maximum speed of the flights.

    Raises TypeError or ValueError that names the invalid argument.
    """
    flights = _flights.flights(recorded, time, vehicles)
    figure = new_figure(9, 7)
    gates = () if scene is None else scene.gates
    paths_3d.draw(figure, flights, gates, _flights.landmarks(landmarks))
    figure.suptitle(title or _flights.described(flights))
    return figure
