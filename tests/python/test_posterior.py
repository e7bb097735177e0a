"""Posteriors of identified vehicles: files, draws, environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from propwash.identify import Posterior
from propwash.identify._parameters import catalogue

NAMES = ("thrust", "speed_offset", "tilt_x", "inertia_x")
DEVIATIONS = np.array([0.1, 0.01, 0.02, 0.1])
CORRELATIONS = np.eye(4)
CORRELATIONS[0, 1] = CORRELATIONS[1, 0] = -0.9


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    vehicle = pw.vehicles.load("crazyflie").replace(name="mine")
    return Posterior(vehicle, NAMES, DEVIATIONS, CORRELATIONS)


@pytest.fixture
def file(posterior: Posterior, tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(f"{posterior.vehicle.to_toml()}\n{posterior.to_toml()}\n")
    return path


def read_off(vehicle: pw.VehicleParameters, name: str) -> float:
    return catalogue(vehicle)[name].read(vehicle)


def test_files_keep_the_numbers(posterior: Posterior, file: Path) -> None:
    read = Posterior.load(file)
    assert read.vehicle == posterior.vehicle == pw.vehicles.load(file)
    assert read.parameters == NAMES
    assert (read.standard_deviations == DEVIATIONS).all()
    assert (read.correlations == CORRELATIONS).all()


def test_draws_have_the_deviations_and_correlations(posterior: Posterior) -> None:
    rows, parameters = posterior.draw(4000, seed=1)
    assert rows.std(axis=0) == pytest.approx(DEVIATIONS, rel=0.06)
    assert np.corrcoef(rows.T) == pytest.approx(CORRELATIONS, abs=0.05)
    thrust = parameters["rotors.thrust_coefficient"][:, 0]
    nominal = posterior.vehicle.rotors[0].thrust_coefficient
    assert np.log(thrust / nominal) == pytest.approx(rows[:, 0])
    assert {*parameters} == {
        *("rotors.thrust_coefficient", "motor.speed_offset", "rotors.axis", "body.inertia")
    }


def test_vehicles_are_those_of_the_draw(posterior: Posterior) -> None:
    rows, _ = posterior.draw(5, seed=3)
    for row, vehicle in zip(rows, posterior.vehicles(5, seed=3), strict=True):
        pw.validate(vehicle)
        offset = read_off(vehicle, "speed_offset") - read_off(posterior.vehicle, "speed_offset")
        assert offset == pytest.approx(row[1])


def test_moments_of_inertia_are_those_of_a_rigid_body(posterior: Posterior) -> None:
    wide = Posterior(posterior.vehicle, ("inertia_x",), np.array([0.6]), np.eye(1))
    moments = np.linalg.eigvalsh(wide.draw(300)[1]["body.inertia"])
    assert (moments[:, 2] <= moments[:, 0] + moments[:, 1]).all()


@pytest.mark.parametrize("given", ["file", "object"])
def test_environments_fly_vehicles_of_the_posterior(
    posterior: Posterior, file: Path, given: str
) -> None:
    randomize: Any = "posterior" if given == "file" else posterior
    vehicle = str(file) if given == "file" else posterior.vehicle
    options: Any = {"vehicle": vehicle, "randomize": randomize, "privileged": ["parameters"]}
    envs = pg.make_vec(pg.Hover, 400, **options)
    seen, _ = envs.reset(seed=5)
    thrust = np.array(envs.fleet.parameters["rotors.thrust_coefficient"][:, 0])
    offset = np.array(envs.fleet.parameters["motor.speed_offset"])
    assert np.log(thrust).std() == pytest.approx(0.1, rel=0.15)
    assert np.corrcoef(np.log(thrust), offset)[0, 1] < -0.8
    columns = seen["privileged"]
    assert columns.shape == (400, 4)
    logarithms = np.log(thrust / posterior.vehicle.rotors[0].thrust_coefficient)
    assert columns[:, 0] == pytest.approx(logarithms / 0.1, abs=1e-5)
    alone = pg.make_vec(pg.Hover, 1, index=7, **options)
    alone.reset(seed=5)
    assert alone.fleet.parameters["rotors.thrust_coefficient"][0, 0] == thrust[7]


def test_the_zero_action_is_the_hover_of_the_mean_for_all_vehicles(posterior: Posterior) -> None:
    envs = pg.make_vec(
        pg.Hover, 64, vehicle=posterior.vehicle, randomize=posterior, noise=False, tilt=0.0
    )
    before, _ = envs.reset(seed=1)
    before = before.copy()
    for _ in range(30):
        after, *_ = envs.step(np.zeros((64, 4), np.float32))
    climb = after[:, 5] - before[:, 5]
    thrust = np.array(envs.fleet.parameters["rotors.thrust_coefficient"][:, 0])
    speed = 1.0 - np.array(envs.fleet.parameters["motor.speed_offset"])
    assert climb.std() > 0.1
    assert np.corrcoef(climb, np.log(thrust) + 2.0 * np.log(speed))[0, 1] > 0.5


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"randomize": "posterior"}, pw.ParameterError, r"expected a table \[posterior\]"),
        ({"randomize": "posteriour"}, TypeError, "expected a mapping from names"),
        ({"randomize": 0.2}, TypeError, "expected a mapping from names"),
    ],
)
def test_invalid_options_are_refused(
    options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        pg.make_vec(pg.Hover, 2, vehicle="crazyflie", **options)


def test_lists_are_arrays_and_no_parameter_is_refused() -> None:
    vehicle = pw.vehicles.load("crazyflie")
    listed: Any = Posterior(vehicle, ("thrust",), [0.1], [[1]])  # type: ignore[arg-type]
    assert listed.draw(3)[0].shape == (3, 1)
    with pytest.raises(pw.ParameterError, match="expected at least one name, got none"):
        Posterior(vehicle, (), np.zeros(0), np.zeros((0, 0)))


def test_another_vehicle_than_that_of_the_posterior_is_refused(posterior: Posterior) -> None:
    with pytest.raises(ValueError, match=r"vehicle: expected that of the posterior, 'mine'"):
        pg.make_vec(pg.Hover, 2, vehicle="crazyflie", randomize=posterior)
    with pytest.raises(pw.ParameterError, match="pass its path"):
        pg.make_vec(pg.Hover, 2, vehicle=posterior.vehicle, randomize="posterior")


@pytest.mark.parametrize(
    ("right", "wrong", "match"),
    [
        ('"tilt_x"', '"tilt"', "there is no 'tilt'; did you mean"),
        ('"tilt_x"', '"thrust"', "expected each name once"),
        ("0.01, 0.02", "0.01, -0.02", "expected numbers >= 0"),
        ("0.02, ", "", r"shape \(4,\)"),
        ("-0.9, 1.0", "-0.8, 1.0", "expected a symmetric matrix"),
        ("-0.9", "-1.1", "expected a symmetric matrix"),
        ("0.01, 0.02", '0.01, "a"', "posterior"),
        ("correlations", "correlation", "posterior"),
    ],
)
def test_invalid_files_are_refused(file: Path, right: str, wrong: str, match: str) -> None:
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    with pytest.raises(pw.ParameterError, match=match) as caught:
        Posterior.load(file)
    assert str(file) in str(caught.value)
