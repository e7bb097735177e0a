"""Replays: of a flight that the model itself made, of real flights, and of files that are none."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from propwash import flights, frames, replay
from propwash.multicopter import Array

PERIOD = 0.01
REAL_FLIGHTS = sorted(
    {
        file.name: file for folder in flights.flight_folders() for file in folder.glob("*.csv")
    }.items()
)


def _duty(time: Array, hover: float) -> Array:
    """A vertical flight with motors that differ a little."""
    climb = np.where(time < 2.0, 0.05, 0.0) - np.where((time >= 2.0) & (time < 4.0), 0.05, 0.0)
    wobble = 0.002 * np.sin(7.0 * time)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    return np.asarray((hover + climb)[:, np.newaxis] + wobble[:, np.newaxis] * signs)


def _write_simulated_flight(path: Path, vehicle: str = "crazyflie") -> None:
    uav = pw.Multicopter(vehicle, noise=False)
    motor = uav.parameters.motor
    uav.reset(position=[0.0, 0.0, 1.0], rotor_speeds=np.full(4, motor.speed_min))
    time = np.arange(0.0, 6.0, PERIOD)
    hover = float(np.asarray(uav.trim().rotor_speeds)[0]) / motor.speed_max
    duty = np.round(_duty(time, hover) * flights.PWM_FULL, 1) / flights.PWM_FULL
    rows = []
    for k, t in enumerate(time):
        attitude = frames.wxyz_to_xyzw(uav.attitude)
        if k % 3 == 1:  # a quaternion and its negative are one attitude
            attitude = -attitude
        force = uav.imu.specific_force / flights.STANDARD_GRAVITY
        rows.append(
            [
                *(t, *uav.position, *attitude, *uav.velocity, *uav.body_rates, *force),
                *(0.0, 0.0, 0.0, *(duty[k] * flights.PWM_FULL), uav.battery_voltage),
            ]
        )
        if k + 1 < len(time):
            command = 0.5 * (duty[k] + duty[k + 1]) * motor.speed_max
            uav.step(pw.RotorSpeeds(command), dt=1e-3, steps=10)
    names = (
        "t,px,py,pz,qx,qy,qz,qw,vx,vy,vz,wx_vicon,wy_vicon,wz_vicon,imu_acc_x,imu_acc_y,imu_acc_z,"
        "imu_gyro_x,imu_gyro_y,imu_gyro_z,motor_motor_m1,motor_motor_m2,motor_motor_m3,"
        "motor_motor_m4,pwr_pm_vbat"
    )
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names.split(","))
        writer.writerows([f"{value:.12g}" for value in row] for row in rows)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flight") / "simulated.csv"
    _write_simulated_flight(path)
    return path


def test_a_flight_of_the_model_is_predicted_by_the_model(simulated: Path) -> None:
    result = replay.replay(flights.read_flight(simulated), "crazyflie")
    assert set(result.predictions) == {"model", "attitude given"}
    assert len(result.predictions["model"].time) > 10
    for horizon in replay.HORIZONS:
        assert result.error("model", "position", horizon).max() < 1e-6
        assert result.error("model", "velocity", horizon).max() < 1e-6
        assert result.error("model", "attitude", horizon).max() < 1e-4
        assert result.error("model", "body rates", horizon).max() < 1e-5


def test_another_vehicle_does_not_predict_it(simulated: Path) -> None:
    heavier = pw.load_vehicle("crazyflie").replace(body={"mass": 0.030})
    result = replay.replay(flights.read_flight(simulated), heavier)
    # a tenth of the thrust is missing: g t^2 / 20
    drop = np.median(result.error("attitude given", "position", 0.5))
    assert drop == pytest.approx(9.81 * 0.1 * 0.5**2 / 2, rel=0.2)


def test_the_table_has_a_row_for_every_quantity_and_a_column_for_every_horizon(
    simulated: Path,
) -> None:
    result = replay.replay(flights.read_flight(simulated))
    text = replay.table(result, (0.1, 0.25))
    assert "position [m]" in text
    assert "attitude [deg]" in text
    assert text.splitlines()[0].split() == ["0.1", "s", "ahead", "0.25", "s", "ahead"]


@pytest.mark.parametrize(("name", "path"), REAL_FLIGHTS or [("none", None)])
def test_real_flights_replay(name: str, path: Path | None) -> None:
    if path is None:
        pytest.skip("real flights: neither $PROPWASH_FLIGHTS nor ../shared/flights has any")
    flight = flights.read_flight(path)
    if flight.position is not None:
        result = replay.replay(flight, "crazyflie", every=0.5)
        assert np.median(result.error("attitude given", "position", 0.5)) < 0.06
        assert np.median(result.error("attitude given", "position", 1.0)) < 0.20
        return
    result = replay.replay(flight, "crazyflie", longest=0.05, every=0.02)
    prediction = result.predictions["model"]
    starts = np.searchsorted(result.flight.time, prediction.time[:, 0] - 1e-9) - 1
    # thrust: better than "it hovers"
    force = result.flight.specific_force[starts + 25, 2]
    hovering = np.median(np.abs(force - 9.81))
    assert np.median(result.error("model", "vertical specific force", 0.05)) < hovering
    # torque: changes of the rates go with those measured, on the axis that the flight excites; a
    # constant torque, which the motors of one vehicle have, does not enter
    measured = result.flight.body_rates[starts + 25] - result.flight.body_rates[starts]
    predicted = prediction.values["body rates"][:, 24] - result.flight.body_rates[starts]
    axis = int(np.argmax(measured.std(axis=0)))
    assert np.corrcoef(measured[:, axis], predicted[:, axis])[0, 1] > 0.5


@pytest.mark.parametrize("column", ["pz", "qw", "motor_motor_m3", "pwr_pm_vbat", "t"])
def test_missing_columns_are_named(simulated: Path, tmp_path: Path, column: str) -> None:
    with simulated.open() as stream:
        rows = list(csv.reader(stream))
    index = rows[0].index(column)
    path = tmp_path / "missing.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([r[:index] + r[index + 1 :] for r in rows])
    with pytest.raises(ValueError, match=rf"missing\.csv: missing columns .*\b{column}\b"):
        flights.read_flight(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least two rows"),
        ("t,px\n0,1\n0.1\n", "line 3: expected 2 columns, got 1"),
        ("t,px\n0,1\n0.1,two\n", "line 3: expected numbers"),
        ("t,px\n0,1\n0.1,nan\n", "row 2: px is not a finite number"),
        ("a,b\n0,1\n0.1,2\n", "found a, b"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        flights.read_flight(path)
    assert str(path) in str(error.value)


def test_time_must_increase(simulated: Path, tmp_path: Path) -> None:
    lines = simulated.read_text().splitlines()
    lines[50], lines[51] = lines[51], lines[50]
    path = tmp_path / "shuffled.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"row 51: expected time to increase"):
        flights.read_flight(path)


def test_a_vehicle_with_other_motors_is_refused(simulated: Path) -> None:
    with pytest.raises(ValueError, match="the log has 4 motors, vehicle 'hexacopter' has 6"):
        replay.replay(flights.read_flight(simulated), "hexacopter")


def test_flights_are_looked_for_where_the_user_says(
    simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPWASH_FLIGHTS", str(simulated.parent))
    assert flights.find_flight("simulated.csv") == simulated
    with pytest.raises(FileNotFoundError, match=r"nanobench-iros2026.*PROPWASH_FLIGHTS"):
        flights.find_flight("no_such_flight.csv")
