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
