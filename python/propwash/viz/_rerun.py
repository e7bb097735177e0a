"""Recordings for the Rerun viewer (the extra `rerun`), each quantity sent as one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation, frames
from propwash._files import written_whole
from propwash.viz.flown import Flown, gate_bars
from propwash.world import Box, Cylinder, Item, Scene, Sphere

Array = NDArray[np.float64]

_PIECES = 4_000
"""Of one path: each has a colour of its own."""
_VIRIDIS = np.array(
    [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], dtype=np.float64
)
"""Colours of speeds, slow to fast."""
_RED_GREEN_BLUE = np.array([(225, 70, 70), (80, 180, 80), (80, 120, 235)], dtype=np.uint8)
"""Of x, y and z."""
_SERIES = {
    "rotor_speeds": ("rotor speeds [rad/s]", ()),
    "body_rates": ("body rates [rad/s]", ("x", "y", "z")),
    "angular_rate": ("gyroscope [rad/s]", ("x", "y", "z")),
    "specific_force": ("accelerometer [m/s^2]", ("x", "y", "z")),
}
"""What is shown over time beside the speed: its title and the names of its components."""


def require_rerun() -> tuple[Any, Any]:
    """The modules rerun and rerun.blueprint; raises ImportError that says what brings them."""
    try:
        return import_module("rerun"), import_module("rerun.blueprint")
    except ImportError as error:
        raise ImportError('recordings for Rerun need its SDK: pip install "propwash[rerun]"') from (
            error
        )


def write(
    flights: Sequence[Flown],
    path: Path,
    scene: Scene | None,
    title: str = "",
    landmarks: Mapping[str, Array] | None = None,
) -> str:
    """Writes an .rrd and returns what was written: it is there whole, or not at all."""
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
                one = len(points) == 1
                drawn = rr.Points3D(points, labels=[name]) if one else rr.LineStrips3D([points])
                recording.log(entity, drawn, static=True)
            fastest, alone = max(_fastest(flight) for flight in flights), len(flights) == 1
            for number, flight in enumerate(flights):
                _send_flight(rr, recording, flight, _name(flight, number), fastest, alone)
        finally:
            recording.disconnect()
    rows = sum(len(flight.position) for flight in flights)
    vehicles = "1 vehicle" if len(flights) == 1 else f"{len(flights)} vehicles"
    return f"recording {path}: {vehicles}, {rows} rows (open it with: rerun {path})"


def _name(flight: Flown, number: int) -> str:
    name = flight.name or f"{number}"
    return f"vehicle {name}" if name.isdigit() else name


def _layout(views: Any, flights: Sequence[Flown]) -> Any:
    """The scene beside what is recorded over time, one plot a quantity."""
    known = [
        key for key in ("speed", *_SERIES) if any(_over_time(flight, key) for flight in flights)
    ]
    titles = {"speed": "speed [m/s]", **{key: title for key, (title, _) in _SERIES.items()}}
    plots = [views.TimeSeriesView(origin=f"/series/{key}", name=titles[key]) for key in known]
    space = views.Spatial3DView(origin="/world", name="world [m]")
    if not plots:
        return views.Blueprint(space)
    return views.Blueprint(views.Horizontal(space, views.Vertical(*plots), column_shares=[3, 2]))


def _over_time(flight: Flown, key: str) -> bool:
    known = flight.speed is not None if key == "speed" else key in flight.series
    return known and flight.time is not None


def _fastest(flight: Flown) -> float:
    speed = flight.speed
    if speed is None or not np.isfinite(speed).any():
        return 0.0
    return float(np.nanmax(speed))


def _send_flight(
    rr: Any, recording: Any, flight: Flown, name: str, fastest: float, alone: bool
) -> None:
    own = rr.escape_entity_path_part(name)
    _send_path(rr, recording, flight, f"world/{own}/path", fastest)
    if flight.time is None:
        return
    when = [rr.TimeColumn("time", duration=flight.time)]
    pose: dict[str, Any] = {"translation": flight.position}
    attitude = flight.series.get("attitude")
    if attitude is not None:
        pose["quaternion"] = frames.wxyz_to_xyzw(attitude)
    recording.send_columns(f"world/{own}/body", when, rr.Transform3D.columns(**pose))
    length = 0.04 * _size(flight.position)
    recording.log(
        f"world/{own}/body/axes",
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
        entity = f"series/{key}/{own}"
        look: dict[str, Any] = {"names": [f"{name}: {label}" for label in labels]}
        if alone and len(labels) == 3:
            look["colors"] = _RED_GREEN_BLUE
        recording.log(entity, rr.SeriesLines(**look), static=True)
        recording.send_columns(entity, when, rr.Scalars.columns(scalars=columns))


def _size(position: Array) -> float:
    """m, the longest edge of the box about a path; at least 2, for one that stays."""
    whole = position[np.isfinite(position).all(axis=1)]
    return max(2.0, float(np.ptp(whole, axis=0).max()))


def _send_path(rr: Any, recording: Any, flight: Flown, entity: str, fastest: float) -> None:
    """The whole way, in pieces that have the colour of their speed."""
    whole = np.isfinite(flight.position).all(axis=1)
    place = flight.position[whole]
    rows = np.unique(np.linspace(0, len(place) - 1, _PIECES + 1).round().astype(np.intp))
    place = place[rows]
    colours = np.full((max(len(place) - 1, 1), 3), 160, dtype=np.uint8)
    speed = flight.speed
    if speed is not None and len(place) > 1:
        share = speed[whole][rows] / max(fastest, 1e-9)
        anchors = np.linspace(0.0, 1.0, len(_VIRIDIS))
        middle = np.nan_to_num(0.5 * (share[1:] + share[:-1]))
        table = [np.interp(middle, anchors, column) for column in _VIRIDIS.T]
        colours = np.stack(table, axis=1).astype(np.uint8)
    strips = np.stack([place[:-1], place[1:]], axis=1) if len(place) > 1 else place[None]
    recording.log(entity, rr.LineStrips3D(strips, colors=colours), static=True)


def _send_scene(rr: Any, recording: Any, scene: Scene) -> None:
    """Gates and other shapes that have an end, none of them drawn by itself."""
    places, halves, turned, colours, labels = [], [], [], [], []
    for gate in scene.gates:
        centres, half = gate_bars(gate)
        turn = _rotation.rotation(gate.attitude)
        places.append(centres @ turn.T + np.asarray(gate.position))
        halves.append(half)
        turned += [gate.attitude] * len(half)
        colours += [gate.colour] * len(half)
        labels += [gate.name] + [""] * (len(half) - 1)
    if places:
        boxes = rr.Boxes3D(
            centers=np.concatenate(places),
            half_sizes=np.concatenate(halves),
            quaternions=frames.wxyz_to_xyzw(turned),
            colors=_bytes(colours),
            labels=labels,
            show_labels=False,
            fill_mode="solid",
        )
        recording.log("world/gates", boxes, static=True)
    items = scene.items
    boxed = [item for item in items if isinstance(item, Box)]
    if boxed:
        look = {"half_sizes": 0.5 * np.array([item.size for item in boxed])}
        recording.log("world/boxes", rr.Boxes3D(**look, **_placed(boxed)), static=True)
    round_ones = [item for item in items if isinstance(item, Sphere)]
    if round_ones:
        look = {"half_sizes": np.array([[item.radius] * 3 for item in round_ones])}
        recording.log("world/spheres", rr.Ellipsoids3D(**look, **_placed(round_ones)), static=True)
    columns = [item for item in items if isinstance(item, Cylinder)]
    if columns:
        look = {
            "radii": np.array([item.radius for item in columns]),
            "lengths": np.array([item.height for item in columns]),
        }
        recording.log("world/cylinders", rr.Cylinders3D(**look, **_placed(columns)), static=True)


def _placed(items: Sequence[Item]) -> dict[str, Any]:
    return {
        "centers": np.array([item.position for item in items]),
        "quaternions": frames.wxyz_to_xyzw([item.attitude for item in items]),
        "colors": _bytes([item.colour for item in items]),
        "fill_mode": "solid",
    }


def _bytes(colours: Sequence[Any]) -> NDArray[np.uint8]:
    return np.round(255.0 * np.asarray(colours)).astype(np.uint8)
