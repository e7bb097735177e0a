"""Recordings for the Rerun viewer (extra `rerun`), with each quantity sent as a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import frames
from propwash._files import written_whole
from propwash.viz.flights import VehicleFlight, gate_bars
from propwash.world import Box, Capsule, Cylinder, Item, Scene, Sphere

Array = NDArray[np.float64]

_PIECES = 4_000
"""The maximum number of segments of a path, each with its colour."""
_VIRIDIS = np.array(
    [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], dtype=np.float64
)
"""Colours of speeds, from slow to fast."""
_RED_GREEN_BLUE = np.array([(225, 70, 70), (80, 180, 80), (80, 120, 235)], dtype=np.uint8)
"""Colours of x, y and z."""
_SERIES = {
    "rotor_speeds": ("rotor speeds [rad/s]", ()),
    "body_rates": ("body rates [rad/s]", ("x", "y", "z")),
    "angular_rate": ("gyroscope [rad/s]", ("x", "y", "z")),
    "specific_force": ("accelerometer [m/s^2]", ("x", "y", "z")),
}
"""Quantities shown over time besides the speed: title and names of components."""


def require_rerun() -> tuple[Any, Any]:
    """The modules rerun and rerun.blueprint. Raises ImportError that names the extra."""
    try:
        return import_module("rerun"), import_module("rerun.blueprint")
    except ImportError as error:
        message = 'recordings for Rerun need its SDK: pip install "propwash[rerun]"'
        raise ImportError(message) from error


def write(
    flights: Sequence[VehicleFlight],
    path: Path,
    scene: Scene | None,
    title: str = "",
    landmarks: Mapping[str, Array] | None = None,
) -> str:
    """Writes an .rrd file, completely or not at all, and returns a description."""
    rr, views = require_rerun()
    recording = rr.RecordingStream("propwash")
    with written_whole(path) as part:
        try:
            recording.save(part, default_blueprint=_layout(views, flights))
            if title:
                recording.send_recording_name(title)
            recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
            if scene is not None:
                _send_scene(rr, recording, scene)
            for name, points in (landmarks or {}).items():
                entity = f"world/landmarks/{rr.escape_entity_path_part(name)}"
                is_point = len(points) == 1
                drawn = (
                    rr.Points3D(points, labels=[name]) if is_point else rr.LineStrips3D([points])
                )
                recording.log(entity, drawn, static=True)
            fastest, is_single = max(_fastest(flight) for flight in flights), len(flights) == 1
            for number, flight in enumerate(flights):
                _send_flight(rr, recording, flight, _name(flight, number), fastest, is_single)
        finally:
            recording.disconnect()
    rows = sum(len(flight.position) for flight in flights)
    vehicles = "1 vehicle" if len(flights) == 1 else f"{len(flights)} vehicles"
    return f"recording {path}: {vehicles}, {rows} rows (open it with: rerun {path})"


def _name(flight: VehicleFlight, number: int) -> str:
    name = flight.name or f"{number}"
    return f"vehicle {name}" if name.isdigit() else name


def _layout(views: Any, flights: Sequence[VehicleFlight]) -> Any:
    """The layout: the scene beside one plot for each quantity over time."""
    known = [
        key for key in ("speed", *_SERIES) if any(_over_time(flight, key) for flight in flights)
    ]
    titles = {"speed": "speed [m/s]", **{key: title for key, (title, _) in _SERIES.items()}}
    plots = [views.TimeSeriesView(origin=f"/series/{key}", name=titles[key]) for key in known]
    space = views.Spatial3DView(origin="/world", name="world [m]")
    if not plots:
        return views.Blueprint(space)
    return views.Blueprint(views.Horizontal(space, views.Vertical(*plots), column_shares=[3, 2]))


def _over_time(flight: VehicleFlight, key: str) -> bool:
    known = flight.speed is not None if key == "speed" else key in flight.series
    return known and flight.time is not None


def _fastest(flight: VehicleFlight) -> float:
    speed = flight.speed
    if speed is None or not np.isfinite(speed).any():
        return 0.0
    return float(np.nanmax(speed))


def _send_flight(
    rr: Any, recording: Any, flight: VehicleFlight, name: str, fastest: float, is_single: bool
) -> None:
    entity_name = rr.escape_entity_path_part(name)
    _send_path(rr, recording, flight, f"world/{entity_name}/path", fastest)
    if flight.time is None:
        return
    when = [rr.TimeColumn("time", duration=flight.time)]
    pose: dict[str, Any] = {"translation": flight.position}
    attitude = flight.series.get("attitude")
    if attitude is not None:
        pose["quaternion"] = frames.wxyz_to_xyzw(attitude)
    recording.send_columns(f"world/{entity_name}/body", when, rr.Transform3D.columns(**pose))
    length = 0.04 * _size(flight.position)
    recording.log(
        f"world/{entity_name}/body/axes",
        rr.Arrows3D(vectors=length * np.eye(3), colors=_RED_GREEN_BLUE),
        static=True,
    )
    for key, (_, parts) in {"speed": ("", ("speed",)), **_SERIES}.items():
        if not _over_time(flight, key):
            continue
        values = flight.speed if key == "speed" else flight.series[key]
        assert values is not None
        columns = values.reshape(len(values), -1)
        labels = parts or [f"rotor {rotor}" for rotor in range(columns.shape[1])]
        entity = f"series/{key}/{entity_name}"
        look: dict[str, Any] = {"names": [f"{name}: {label}" for label in labels]}
        if is_single and len(labels) == 3:
            look["colors"] = _RED_GREEN_BLUE
        recording.log(entity, rr.SeriesLines(**look), static=True)
        recording.send_columns(entity, when, rr.Scalars.columns(scalars=columns))


def _size(position: Array) -> float:
    """m, the longest edge of the bounding box of a path, at least 2."""
    whole = position[np.isfinite(position).all(axis=1)]
    return max(2.0, float(np.ptp(whole, axis=0).max()))


def _send_path(rr: Any, recording: Any, flight: VehicleFlight, entity: str, fastest: float) -> None:
    """Sends a path in segments that are coloured by speed."""
    whole = np.isfinite(flight.position).all(axis=1)
    place = flight.position[whole]
    rows = np.unique(np.linspace(0, len(place) - 1, _PIECES + 1).round().astype(np.intp))
    place = place[rows]
    colours = np.full((max(len(place) - 1, 1), 3), 160, dtype=np.uint8)
    speed = flight.speed
    if speed is not None and len(place) > 1:
        fraction = speed[whole][rows] / max(fastest, 1e-9)
        anchors = np.linspace(0.0, 1.0, len(_VIRIDIS))
        middle = np.nan_to_num(0.5 * (fraction[1:] + fraction[:-1]))
        table = [np.interp(middle, anchors, column) for column in _VIRIDIS.T]
        colours = np.stack(table, axis=1).astype(np.uint8)
    strips = np.stack([place[:-1], place[1:]], axis=1) if len(place) > 1 else place[None]
    recording.log(entity, rr.LineStrips3D(strips, colors=colours), static=True)


def _send_scene(rr: Any, recording: Any, scene: Scene) -> None:
    """Sends gates and other finite shapes, each kind as one entity; moving items at time 0."""
    scene = scene.at(0.0)
    places, halves, attitudes, colours, labels = [], [], [], [], []
    for gate in scene.gates:
        centres, half = gate_bars(gate)
        places.append(centres)
        halves.append(half)
        attitudes += [gate.attitude] * len(half)
        colours += [gate.colour] * len(half)
        labels += [gate.name] + [""] * (len(half) - 1)
    if places:
        boxes = rr.Boxes3D(
            centers=np.concatenate(places),
            half_sizes=np.concatenate(halves),
            quaternions=frames.wxyz_to_xyzw(attitudes),
            colors=_bytes(colours),
            labels=labels,
            show_labels=False,
            fill_mode="solid",
        )
        recording.log("world/gates", boxes, static=True)
    shapes: tuple[tuple[str, type[Item], Any, dict[str, Callable[[Any], Any]]], ...] = (
        ("boxes", Box, rr.Boxes3D, {"half_sizes": lambda box: 0.5 * np.array(box.size)}),
        ("spheres", Sphere, rr.Ellipsoids3D, {"half_sizes": lambda ball: [ball.radius] * 3}),
        (
            "cylinders",
            Cylinder,
            rr.Cylinders3D,
            {"radii": lambda item: item.radius, "lengths": lambda item: item.height},
        ),
        (
            "capsules",
            Capsule,
            rr.Cylinders3D,
            {"radii": lambda item: item.radius, "lengths": lambda c: c.length + 2.0 * c.radius},
        ),
    )
    for name, kind, archetype, sizes in shapes:
        items = [item for item in scene.items if isinstance(item, kind)]
        if items:
            look = {key: np.array([size(item) for item in items]) for key, size in sizes.items()}
            recording.log(f"world/{name}", archetype(**look, **_placed(items)), static=True)


def _placed(items: Sequence[Item]) -> dict[str, Any]:
    return {
        "centers": np.array([item.position for item in items]),
        "quaternions": frames.wxyz_to_xyzw([item.attitude for item in items]),
        "colors": _bytes([item.colour for item in items]),
        "fill_mode": "solid",
    }


def _bytes(colours: Sequence[Any]) -> NDArray[np.uint8]:
    return np.round(255.0 * np.asarray(colours)).astype(np.uint8)
