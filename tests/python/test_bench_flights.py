"""Scripts of bench/flights, on simulated data of the same format."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import logs

BENCH = Path(__file__).parents[2] / "bench" / "flights"


def script(name: str) -> ModuleType:
    """Imports a script."""
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def idsia() -> ModuleType:
    pytest.importorskip("scipy")
    return script("idsia")


@pytest.fixture(scope="module")
def truth(idsia: ModuleType) -> NDArray[np.float64]:
    """Values of FREE."""
    start = np.array([*idsia.FREE.values()])[:, 0]
    return np.asarray(start + 0.01 * np.arange(len(start)) / len(start))


@pytest.fixture(scope="module")
def flight(
    idsia: ModuleType, truth: NDArray[np.float64], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A CSV file of 1.2 s of flight of that vehicle."""
    rows, vehicle = 120, idsia.vehicle_of(truth)
    phase = 0.2 * np.arange(rows)[:, np.newaxis] + np.arange(4)
    speeds = 1720.0 + 40.0 * np.sin(phase)
    fleet = pw.Fleet(vehicle, 1, dt=1e-3, dtype="float64", noise=False)
    fleet.reset(velocity=[[0.5, -0.3, 0.1]], rotor_speeds=speeds[:1])
    table = []
    for k in range(rows):
        w, x, y, z = fleet.attitude[0]
        table.append([*fleet.position[0], *fleet.velocity[0], x, y, z, w, *fleet.body_rates[0]])
        mean = 0.5 * (speeds[k] + speeds[min(k + 1, rows - 1)])
        fleet.step(pw.RotorSpeeds([mean]), substeps=10)
    path = tmp_path_factory.mktemp("idsia") / "flight.csv"
    columns = np.concatenate([np.array(table), speeds], axis=1)
    np.savetxt(path, columns, delimiter=",", header=",".join(idsia.COLUMNS), comments="")
    return path


def test_a_table_without_states_is_refused(idsia: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(ValueError, match="expected a column z"):
        idsia.Windows.read([path])


def test_the_true_vehicle_predicts_every_window(
    idsia: ModuleType, truth: NDArray[np.float64], flight: Path
) -> None:
    windows = idsia.Windows.read([flight, flight])
    errors = idsia.errors(idsia.vehicle_of(truth), windows)
    assert errors.shape == (50, 4, 140, 3)
    assert np.abs(errors).max() < 1e-5
    assert np.abs(idsia.constant(windows)[-1]).max(axis=(1, 2)).min() > 0.01


@pytest.mark.parametrize("name", ["thrust", "drag_x", "roll", "pitch", "balance_yaw", "lag"])
def test_errors_depend_on_each_value(
    idsia: ModuleType, truth: NDArray[np.float64], flight: Path, name: str
) -> None:
    values = truth.copy()
    values[[*idsia.FREE].index(name)] += 0.02
    windows = idsia.Windows.read([flight], every=10)
    assert np.abs(idsia.errors(idsia.vehicle_of(values), windows)).max() > 1e-4


@pytest.mark.parametrize("name", ["idsia", "nanobench"])
def test_folders_without_flights_are_refused(
    idsia: ModuleType,
    nanobench: ModuleType,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
    with pytest.raises(SystemExit):
        {"idsia": idsia, "nanobench": nanobench}[name].main()
    assert "expected files" in capsys.readouterr().err
    (tmp_path / "other_rep1.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SystemExit, match="got 0 and 0"):
        nanobench.main()


def test_missing_columns_of_a_flight_are_named(trefoil: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"expected columns sp_x, sp_z, got t, sp_y"):
        trefoil.columns({"t": np.zeros(1), "sp_y": np.zeros(1)}, "sp_{}")


@pytest.fixture(scope="module")
def nanobench(idsia: ModuleType, trefoil: ModuleType) -> ModuleType:
    return script("nanobench")


@pytest.fixture(scope="module")
def trefoil() -> ModuleType:
    pytest.importorskip("scipy")
    return script("trefoil")


def test_copies_of_a_flight_are_read_once(nanobench: ModuleType, tmp_path: Path) -> None:
    for name, text in (("a_rep1", "1"), ("b_rep2", "2"), ("c_rep3", "1")):
        (tmp_path / f"{name}.csv").write_text(text)
    found = nanobench.distinct([*tmp_path.glob("*.csv")])
    assert sorted(path.stem for path in found) == ["a_rep1", "b_rep2"]


def test_the_split_of_the_folder_holds_flights_out(nanobench: ModuleType, tmp_path: Path) -> None:
    names = [f"x_rep{k}" for k in range(6)]
    assert nanobench.held_out(tmp_path, names) == names[2::3]
    (tmp_path / "results").mkdir()
    split = '{"train_files": ["/elsewhere/x_rep0.csv", "/elsewhere/x_rep5.csv"]}'
    (tmp_path / "results" / "split_metadata.json").write_text(split)
    assert nanobench.held_out(tmp_path, names) == names[1:5]


def test_duty_and_voltage_become_the_speeds_of_the_rotors(
    idsia: ModuleType, nanobench: ModuleType, truth: NDArray[np.float64], flight: Path
) -> None:
    """Commands and voltage of the flight: the vehicle that flew predicts every window."""
    base = pw.vehicles.load("crazyflie")
    table = np.loadtxt(flight, delimiter=",", skiprows=1)
    offset, full = base.motor.speed_offset, float(np.mean(base.motor.speed_max))
    voltage = np.linspace(4.1, 3.9, len(table))
    ratio = voltage[:, np.newaxis] / base.battery.nominal_voltage
    log = logs.Flight(
        flight,
        time=np.linspace(0.0, 0.01 * (len(table) - 1), len(table)),
        duty=(table[:, 13:] / (full * ratio) - offset) / (1.0 - offset),
        body_rates=table[:, 10:13],
        specific_force=np.zeros((len(table), 3)),
        voltage=voltage,
        position=table[:, :3],
        velocity=table[:, 3:6],
        attitude=table[:, [9, 6, 7, 8]],
    )
    windows = nanobench.windows_of([(log, log.time[10:60])])
    assert np.abs(idsia.errors(idsia.vehicle_of(truth), windows)).max() < 1e-5
    drift = nanobench.constant_velocity(windows)
    assert drift.shape == (50, 4, 50, 3)
    assert np.abs(drift[0, 0]).max() < np.abs(idsia.constant(windows)[0, 0]).max()


def test_a_late_copy_of_the_setpoints_has_no_error_after_its_lag(trefoil: ModuleType) -> None:
    time = 0.01 * np.arange(1500)
    path = np.stack([np.cos(time), np.sin(time), 0.2 * np.sin(3.0 * time)], axis=1)
    rmse, mean, largest, late, lag = trefoil.tracking(path[37:], path[:-37])
    assert (late, lag) == (0.0, pytest.approx(0.37))
    assert 0.3 < mean <= rmse <= largest


def test_an_alignment_removes_rotation_and_translation(trefoil: ModuleType) -> None:
    rng = np.random.default_rng(1)
    true = np.cumsum(0.05 * rng.standard_normal((400, 3)), axis=0)
    matrix = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    matrix *= np.linalg.det(matrix)
    rmse, mean, _ = trefoil.trajectory_errors(true @ matrix.T + 3.0, true)
    assert max(rmse, mean) < 1e-9
    assert trefoil.relative(true + 3.0, true) < 1e-9
    assert trefoil.relative(1.1 * true, true) > 0.0


def test_simulated_flights_follow_setpoints(trefoil: ModuleType) -> None:
    time = 0.01 * np.arange(800)
    setpoints = {"x": np.cos(time), "y": np.sin(time), "z": 1.0 + 0.0 * time}
    table = {f"sp_ctrltarget_{axis}": values for axis, values in setpoints.items()}
    table["t"] = 100.0 + time
    setpoints, position = trefoil.flown(pw.vehicles.load("crazyflie"), table)
    assert trefoil.tracking(setpoints, position)[0] < 0.05
