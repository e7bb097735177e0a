"""Figures and recordings of flights: contents, and refused arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import race
from propwash import viz as plots
from propwash.viz import flights as _flights
from propwash.world import Box, Cylinder, Gate, Plane, Scene, Sphere

Array = NDArray[np.float64]

GATE = Gate(
    name="G",
    position=(2.0, 1.0, 3.0),
    attitude=(np.cos(0.4), 0.0, 0.0, np.sin(0.4)),
    width=1.5,
    height=1.0,
    border=0.2,
    depth=0.1,
)
SCENE = Scene(
    [
        Plane(name="ground"),
        GATE,
        Box(name="crate", size=(1.0, 2.0, 3.0)),
        Sphere(name="ball", radius=0.5),
        Cylinder(name="mast", radius=0.1, height=4.0),
    ]
)


@pytest.fixture(scope="module")
def single() -> pw.Trajectory:
    uav = pw.Multicopter(seed=3)
    weight = 9.81 * uav.parameters.body.mass
    return uav.rollout(pw.RateThrust([0.3, 0.5, 0.1], thrust=1.1 * weight), steps=60, substeps=8)


@pytest.fixture(scope="module")
def fleet() -> pw.FleetTrajectory:
    uavs = pw.Fleet("flightgoggles", 3, seed=3, threads=1)
    uavs.reset(position=[[0, 0, 1], [1, 0, 1], [0, 2, 1]], velocity=[1.0, 0.5, 0.0])
    return uavs.rollout(pw.RateThrust(np.zeros((3, 3)), np.full(3, 9.0)), steps=40, substeps=8)


def line_collections(figure: Any) -> list[Any]:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

    return [item for item in figure.axes[0].collections if isinstance(item, Line3DCollection)]


# conversion to flights


def test_recorders_and_arrays_give_the_same_flights(fleet: pw.FleetTrajectory) -> None:
    recorded = _flights.flights(fleet)
    assert [flight.name for flight in recorded] == ["0", "1", "2"]
    bare = _flights.flights(fleet.position, time=np.asarray(fleet.time)[:, 0])
    for one, other in zip(recorded, bare, strict=True):
        assert np.array_equal(one.position, other.position)
        assert one.speed is not None
        assert other.speed is not None
        # distance over time is the speed, up to the noise between rows
        assert np.abs(one.speed - other.speed).max() < 0.03
    chosen = _flights.flights(fleet, vehicles=[2, -3])
    assert [flight.name for flight in chosen] == ["2", "0"]
    assert np.array_equal(chosen[0].position, recorded[2].position)
    assert np.array_equal(chosen[1].series["attitude"], recorded[0].series["attitude"])


def test_several_flights_are_named(single: pw.Trajectory, fleet: pw.FleetTrajectory) -> None:
    named = _flights.flights({"policy": single, "others": fleet})
    assert [flight.name for flight in named] == ["policy", "others 0", "others 1", "others 2"]
    assert [flight.name for flight in _flights.flights([single, single.position])] == ["0", "1"]


@pytest.mark.parametrize(
    ("flight", "options", "message"),
    [
        ("a flight", {}, "expected a flight or an array of positions"),
        (np.zeros((4, 2)), {}, r"expected shape \(T, 3\) or \(T, n, 3\)"),
        (np.zeros((0, 3)), {}, r"expected shape \(T, 3\)"),
        (np.full((4, 3), np.nan), {}, "none of 4 is finite"),
        (np.zeros((4, 3)), {"time": [0, 1, 2]}, r"time: expected increasing times .* \(4,\)"),
        (np.zeros((4, 3)), {"time": [0, 1, 1, 2]}, "time: expected increasing times"),
        (np.zeros((4, 100, 3)), {}, r"choice of at most 64 of the 100"),
        ([np.zeros((4, 40, 3))] * 2, {}, r"choice of at most 64 of the 80"),
        (np.zeros((4, 5, 3)), {"vehicles": [0, 5]}, "vehicles: expected numbers from 0 to 4"),
        (np.zeros((4, 3)), {"vehicles": [1]}, "vehicles: expected None for one vehicle"),
        (np.zeros((4, 5, 3)), {"vehicles": []}, "expected at least one vehicle"),
        (pw.FleetTrajectory(), {}, "were not recorded"),
        (
            pw.FleetTrajectory(position=np.zeros((4, 2, 3)), velocity=np.zeros((4, 3, 3))),
            {},
            r"velocity: expected shape \(4, 2, 3\)",
        ),
    ],
)
def test_invalid_flights_are_not_drawn(
    flight: Any, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "figure.png"
    with pytest.raises((TypeError, ValueError), match=message):
        plots.show(flight, out, **options)
    assert not out.exists()


def test_the_drawn_bars_of_a_gate_are_those_of_the_raycast() -> None:
    """A ray along the x axis of the gate hits a bar within its edges and misses outside."""
    centres_W, halves = _flights.gate_bars(GATE)
    rotation = np.array([[np.cos(0.8), -np.sin(0.8), 0], [np.sin(0.8), np.cos(0.8), 0], [0, 0, 1]])
    centres = (centres_W - GATE.position) @ rotation
    scene = Scene([GATE])
    for centre, half in zip(centres, halves, strict=True):
        for fraction, is_hit in [(0.99, True), (0.0, True), (1.01, False)]:
            # outwards from the centre of the gate, away from the other bars
            edge = centre + np.sign(np.round(centre, 9)) * fraction * half
            start = np.asarray(GATE.position) + rotation @ (edge - [5.0, 0.0, 0.0])
            hit = scene.raycast(start, rotation[:, 0])
            assert np.isfinite(hit.distance) == is_hit
            if is_hit:
                assert hit.distance == pytest.approx(5.0 - half[0])


# matplotlib


def test_paths_are_coloured_by_their_speed(fleet: pw.FleetTrajectory) -> None:
    pytest.importorskip("matplotlib")
    figure = plots.trajectory_figure(fleet, scene=SCENE, title="three")
    paths = line_collections(figure)[:3]
    assert fleet.velocity is not None
    speed = np.linalg.norm(fleet.velocity, axis=2)
    for i, path in enumerate(paths):
        shown = path.get_array()
        assert np.allclose(shown, 0.5 * (speed[1:, i] + speed[:-1, i]))
    # one colour scale for all paths, from zero to the highest speed
    assert [path.get_clim() for path in paths] == [(0.0, speed.max())] * 3
    assert figure.axes[1].get_xlabel() == "speed [m/s]"
    assert "G" in {text.get_text() for text in figure.axes[0].texts}


def test_all_axes_have_the_same_scale(single: pw.Trajectory) -> None:
    pytest.importorskip("matplotlib")
    axes: Any = plots.trajectory_figure(single, scene=SCENE).axes[0]
    spans = np.ptp([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()], axis=1)
    assert np.ptp(axes._box_aspect / spans) < 1e-9
    for low_high, column in zip(
        (axes.get_xlim(), axes.get_ylim(), axes.get_zlim()), single.position.T, strict=True
    ):
        assert low_high[0] <= column.min()
        assert column.max() <= low_high[1]


@pytest.mark.parametrize("rows", [1, 2])
def test_the_shortest_flights_are_drawn(rows: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "short.png"
    description = plots.show(np.zeros((rows, 3)), out)
    assert description == f"plot {out}"
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_diverged_flight_is_drawn_up_to_its_last_finite_position(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    position = np.cumsum(np.ones((30_000, 3)), axis=0)
    position[1:] = np.nan
    plots.show(position, tmp_path / "gone.png", time=np.arange(30_000.0))
    assert (tmp_path / "gone.png").exists()


# Rerun


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    """The columns of a recording as NumPy arrays or lists, by entity."""
    reader = pytest.importorskip("rerun.chunk", reason="rerun-sdk here cannot read recordings")
    found: dict[str, dict[str, Any]] = {}
    for chunk in reader.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        for name in batch.schema.names[1:]:
            column = batch.column(name)
            values = column.to_numpy() if name == "time" else column.to_pylist()
            entity = found.setdefault(chunk.entity_path.replace("\\", ""), {})
            assert name not in entity or name == "time", "sent in more than one chunk"
            entity[name] = values
    return found


def test_a_recording_contains_the_flight_in_columns(single: pw.Trajectory, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (extra rerun)")
    out = tmp_path / "flight.rrd"
    landmarks = {"target": np.array([1.0, 2.0, 3.0]), "route": np.eye(3)}
    written = plots.show(single, out, scene=SCENE, title="one", landmarks=landmarks)
    assert written.startswith(f"recording {out}")
    assert [file.name for file in tmp_path.iterdir()] == ["flight.rrd"]
    found = recorded(out)
    body = found["/world/vehicle 0/body"]
    assert np.allclose(body["time"].astype(np.float64) * 1e-9, single.time)
    moved = np.array(body["Transform3D:translation"])[:, 0]
    assert np.allclose(moved, single.position, atol=1e-6)
    rotated = np.array(body["Transform3D:quaternion"])[:, 0]
    assert np.allclose(rotated, single.attitude[:, [1, 2, 3, 0]], atol=1e-6)
    for name in ("body_rates", "rotor_speeds", "angular_rate", "specific_force"):
        series = np.array(found[f"/series/{name}/vehicle 0"]["Scalars:scalars"])
        assert np.array_equal(series, getattr(single, name)), name
    strips = np.array(found["/world/vehicle 0/path"]["LineStrips3D:strips"])[0]
    assert np.allclose(strips[:, 0], single.position[:-1], atol=1e-6)
    assert np.allclose(strips[:, 1], single.position[1:], atol=1e-6)
    gates = found["/world/gates"]
    assert np.allclose(gates["Boxes3D:half_sizes"][0], _flights.gate_bars(GATE)[1])
    middle = np.mean(gates["Boxes3D:centers"][0], axis=0)
    assert np.allclose(middle, GATE.position)
    assert np.allclose(found["/world/boxes"]["Boxes3D:half_sizes"][0], [[0.5, 1.0, 1.5]])
    assert {"/world/spheres", "/world/cylinders"} <= set(found)
    target = found["/world/landmarks/target"]
    assert np.allclose(target["Points3D:positions"][0], [landmarks["target"]])
    assert np.allclose(
        found["/world/landmarks/route"]["LineStrips3D:strips"][0], [landmarks["route"]]
    )


def test_a_fleet_is_recorded_vehicle_by_vehicle(fleet: pw.FleetTrajectory, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (extra rerun)")
    out = tmp_path / "fleet.rrd"
    assert "2 vehicles, 80 rows" in plots.show(fleet, out, viz="rerun", vehicles=[0, 2])
    found = recorded(out)
    assert fleet.position is not None
    for vehicle in (0, 2):
        moved = np.array(found[f"/world/vehicle {vehicle}/body"]["Transform3D:translation"])[:, 0]
        assert np.allclose(moved, fleet.position[:, vehicle], atol=1e-6)
    assert not any("vehicle 1" in entity for entity in found)


def test_without_rerun_the_error_names_the_extra(
    single: pw.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(ImportError, match=r"propwash\[rerun\]"):
        plots.show(single, tmp_path / "flight.rrd")
    assert list(tmp_path.iterdir()) == []


# names of files


@pytest.mark.parametrize(
    ("name", "viz", "error", "message"),
    [
        ("a.png", "rerun", ValueError, r"ends in \.rrd"),
        ("a.rrd", "matplotlib", ValueError, r"ends in \.png"),
        ("a.png", "plotly", ValueError, "viz: expected 'matplotlib' or 'rerun'"),
        ("no_folder/a.png", None, FileNotFoundError, "a folder that exists"),
    ],
)
def test_invalid_file_names_are_refused(
    name: str, viz: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        plots.show(np.zeros((3, 3)), tmp_path / name, viz=viz)
    assert list(tmp_path.iterdir()) == []


def test_a_race_is_drawn_with_its_gates(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scene = Scene.load("alphapilot", seed=3)
    time = np.linspace(0.0, 4.0, 50)
    route = race.route((18.5, 6.5, 1.0), scene.gates).points(scene.gates)
    position = np.stack(
        [np.interp(time, np.linspace(0, 4, len(route)), c) for c in route.T], axis=1
    )
    level = np.tile([1.0, 0.0, 0.0, 0.0], (50, 1))
    flight = race.RaceFlight(time, position, level, np.gradient(position, time, axis=0))
    figure = plots.trajectory_figure(flight, scene=scene)
    assert {gate.name for gate in scene.gates} <= {t.get_text() for t in figure.axes[0].texts}
