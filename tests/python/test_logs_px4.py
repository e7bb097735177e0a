"""PX4 logs: resets and validity of the estimates, order and scale of the motors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from identify_flight import simulated_flight
from log_files import Topic, px4, px4_geometry, write_ulog
from numpy.typing import NDArray
from propwash import identify, logs
from propwash._rotation import about_z, product

pytest.importorskip("pyulog")

VEHICLE = pw.vehicles.load("crazyflie")
POSITION_RESETS = (
    "uint8_t xy_reset_counter;float[2] delta_xy;uint8_t z_reset_counter;float delta_z;"
    "uint8_t vxy_reset_counter;float[2] delta_vxy;uint8_t vz_reset_counter;float delta_vz"
)


@pytest.fixture(scope="module")
def flown() -> logs.Flight:
    return simulated_flight(3.0)


def _reset(
    topics: dict[str, Topic], row: int, step: Mapping[str, tuple[float, ...]], count: int = 1
) -> None:
    """Resets the position estimate: the columns after `row` and the record of the step."""
    declared, time, values = topics["vehicle_local_position"]
    after = np.arange(len(time)) >= row
    records = []
    for name, columns, axes in (
        ("xy", 2, [0, 1]),
        ("z", 1, [2]),
        ("vxy", 2, [3, 4]),
        ("vz", 1, [5]),
    ):
        delta = np.asarray(step.get(name, (0.0,) * columns))
        values[:, axes] += np.outer(after, delta)
        # the counter wraps, and the last step stays in the messages
        counter = (255 + (count if name in step else 0) * after) % 256
        records += [counter[:, np.newaxis], np.outer(after, delta)]
    topics["vehicle_local_position"] = (
        f"{declared};{POSITION_RESETS}", time, np.hstack([values, *records]),
    )  # fmt: skip


def test_resets_of_the_position_are_removed(flown: logs.Flight, tmp_path: Path) -> None:
    topics = px4(flown)
    expected = logs.read_log(write_ulog(tmp_path / "without.ulg", topics))
    _reset(topics, 300, {"xy": (2.0, -3.0), "z": (0.5,), "vz": (0.05,)})
    log = logs.read_log(write_ulog(tmp_path / "log.ulg", topics))
    assert log.position == pytest.approx(expected.position, abs=1e-5)
    assert log.velocity is not None
    assert expected.velocity is not None
    # a small step of the velocity stays: it corrects an error of unknown age
    assert log.velocity[301:] - expected.velocity[301:] == pytest.approx(
        np.tile([0.0, 0.0, -0.05], (len(log.time) - 301, 1)), abs=1e-5
    )


def test_a_reset_of_the_heading_corrects_the_attitude_before_it(
    flown: logs.Flight, tmp_path: Path
) -> None:
    topics = px4(flown)
    expected = logs.read_log(write_ulog(tmp_path / "without.ulg", topics))
    declared, time, attitude = topics["vehicle_attitude"]
    records = np.zeros((len(time), 5))
    for row, angle in ((100, 0.7), (250, -0.2)):
        step = about_z(angle)
        inverse = about_z(-angle)
        attitude[:row] = [product(inverse, tuple(q)) for q in attitude[:row]]
        records[row:, 0] += 1
        records[row:, 1:] = step
    topics["vehicle_attitude"] = (
        f"{declared};uint8_t quat_reset_counter;float[4] delta_q_reset",
        time,
        np.hstack([attitude, records]),
    )
    log = logs.read_log(write_ulog(tmp_path / "log.ulg", topics))
    assert log.attitude is not None
    assert expected.attitude is not None
    cosine = np.abs(np.sum(log.attitude * expected.attitude, axis=1))
    assert cosine == pytest.approx(np.ones(len(cosine)), abs=1e-6)


@pytest.mark.parametrize(
    ("step", "count", "message"),
    [
        ({"vxy": (0.3, -0.4)}, 1, "the estimator resets the velocity by 0.5 m/s"),
        ({"vz": (0.3,)}, 1, "the estimator resets the velocity by 0.3 m/s"),
        ({"xy": (0.3, 0.1)}, 2, "2 resets of the estimator between two messages of vehicle_local_"),
    ],
)
def test_a_section_across_a_reset_is_refused_in_flight(
    flown: logs.Flight, tmp_path: Path, step: dict[str, tuple[float, ...]], count: int, message: str
) -> None:
    topics = px4(flown)
    _reset(topics, 300, step, count)
    path = write_ulog(tmp_path / "log.ulg", topics)
    with pytest.raises(ValueError, match=rf"{message}.*the part to 1.196 s and that from 1.200 s"):
        logs.read_log(path)
    assert logs.read_log(path, stop=1.195).time[-1] == pytest.approx(1.192, abs=1e-5)
    assert logs.read_log(path, start=1.201).time[0] == pytest.approx(1.204, abs=1e-5)
    declared, time, duty = topics["actuator_motors"]
    topics["actuator_motors"] = (declared, time, np.full_like(duty, np.nan))
    assert len(logs.read_log(write_ulog(path, topics)).time) > 700  # at rest it does not matter


@pytest.mark.parametrize("flag", ["xy_valid", "v_z_valid", "dead_reckoning"])
def test_positions_that_the_estimator_calls_invalid_are_not_used(
    flown: logs.Flight, tmp_path: Path, flag: str
) -> None:
    def with_flag(invalid: NDArray[np.bool_]) -> Path:
        topics = px4(flown)
        declared, time, values = topics["vehicle_local_position"]
        number = invalid if flag == "dead_reckoning" else ~invalid
        topics["vehicle_local_position"] = (
            f"{declared};uint8_t {flag}", time, np.column_stack([values, number]),
        )  # fmt: skip
        return write_ulog(tmp_path / "log.ulg", topics)

    time = flown.time
    message = "no valid position and velocity, while .* the part to 0.996 s and that from 1.500 s"
    with pytest.raises(ValueError, match=message):
        logs.read_log(with_flag((time > 0.998) & (time < 1.498)))
    path = with_flag(np.ones(len(time), dtype=bool))
    with pytest.warns(UserWarning, match="position and velocity are omitted, as the estimator"):
        log = logs.read_log(path)
    assert log.position is None
    assert log.velocity is None
    assert log.attitude is not None


def test_the_order_of_the_motors_in_the_log_does_not_matter(
    flown: logs.Flight, tmp_path: Path
) -> None:
    """PX4's geometry assigns them to the rotors of the vehicle, also if it is larger and skewed."""
    path = tmp_path / "log.ulg"
    for order in itertools.islice(itertools.permutations(range(4)), 3, None, 5):
        topics = px4(flown)
        declared, time, duty = topics["actuator_motors"]
        duty[:, :4] = duty[:, order]
        topics["actuator_motors"] = (declared, time, duty)
        geometry = px4_geometry(VEHICLE, order)
        for k in range(4):
            geometry[f"CA_ROTOR{k}_PX"] *= 4.0
            geometry[f"CA_ROTOR{k}_PY"] *= 6.0
        write_ulog(path, topics, geometry)
        log = logs.read_log(path, vehicle="crazyflie")
        assert log.duty == pytest.approx(flown.duty[: len(log.time)], abs=1e-5)
        unchanged = logs.read_log(path)
        assert unchanged.duty == pytest.approx(flown.duty[: len(log.time), order], abs=1e-5)
        logs.check_order(log, pw.vehicles.load("crazyflie"))
        with pytest.raises(ValueError, match=r"in the order of the log: 1 .* with vehicle="):
            identify.predict("crazyflie", unchanged)


def _turned(angle: float) -> dict[str, float]:
    geometry = px4_geometry(VEHICLE, range(4))
    c, s = np.cos(angle), np.sin(angle)
    for k in range(4):
        x, y = geometry[f"CA_ROTOR{k}_PX"], geometry[f"CA_ROTOR{k}_PY"]
        geometry[f"CA_ROTOR{k}_PX"] = float(c * x - s * y)
        geometry[f"CA_ROTOR{k}_PY"] = float(s * x + c * y)
    return geometry


@pytest.mark.parametrize(
    "geometry",
    [
        _turned(0.25 * np.pi),
        {**px4_geometry(VEHICLE, range(4)), "CA_ROTOR2_KM": -0.05},
        px4_geometry(VEHICLE, range(3)),
        {**px4_geometry(VEHICLE, range(4)), "CA_ROTOR1_PX": 0.0325},
    ],
    ids=["plus", "spin", "number", "quadrant"],
)
def test_another_geometry_is_refused(
    flown: logs.Flight, tmp_path: Path, geometry: dict[str, float]
) -> None:
    path = write_ulog(tmp_path / "log.ulg", px4(flown), geometry)
    with pytest.raises(ValueError, match="match the rotors of vehicle 'crazyflie'") as error:
        logs.read_log(path, vehicle="crazyflie")
    assert "the log has 1 ccw at (" in str(error.value)
    assert "the vehicle has 1 ccw at (0.0325, -0.0325), 2 cw at (-0.0325, -0.0325)" in str(
        error.value
    )


def test_a_log_without_geometry_has_no_order(flown: logs.Flight, tmp_path: Path) -> None:
    path = write_ulog(tmp_path / "log.ulg", px4(flown))
    with pytest.raises(ValueError, match=r"positions of the 4 motors .*CA_ROTOR.* map the motors"):
        logs.read_log(path, vehicle="crazyflie")
    mapping = identify.Columns(
        body_rates=[f"sensor_combined:gyro_rad[{k}]" for k in range(3)],
        specific_force=[f"sensor_combined:accelerometer_m_s2[{k}]" for k in range(3)],
        motors=[f"actuator_motors:control[{k}]" for k in (3, 2, 1, 0)],
        down=True,
    )
    log = logs.read_log(path, mapping, vehicle="crazyflie")  # a mapping states the order
    assert log.duty == pytest.approx(flown.duty[: len(log.time), ::-1], abs=1e-5)


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0])
def test_thrust_commands_become_duty_cycles(
    flown: logs.Flight, tmp_path: Path, factor: float
) -> None:
    topics = px4(flown)
    declared, time, duty = topics["actuator_motors"]
    thrust = factor * duty**2 + (1.0 - factor) * duty
    topics["actuator_motors"] = (declared, time, thrust)
    log = logs.read_log(write_ulog(tmp_path / "log.ulg", topics, {"THR_MDL_FAC": factor}))
    assert log.duty == pytest.approx(flown.duty[: len(log.time)], abs=1e-5)


def _old(flown: logs.Flight, low: float, high: float) -> dict[str, Topic]:
    """A log of PX4 before 1.13: pulse widths, 900 us while disarmed, in the order of PX4."""
    topics = px4(flown)
    del topics["actuator_motors"]
    pulses = low + flown.duty[:, [0, 2, 3, 1]] * (high - low)
    pulses[:50] = 900.0
    outputs = np.pad(pulses, ((0, 0), (0, 2)))
    return {**topics, "actuator_outputs": ("float[6] output", flown.time, outputs)}


@pytest.mark.parametrize(
    "parameters",
    [
        {"PWM_MIN": 1075, "PWM_MAX": 1950},
        {"PWM_MAIN_MIN": 1075, "PWM_MAIN_MAX": 1950, "PWM_MAIN_MIN1": -1},
        {"PWM_MAIN_MIN1": 1075, "PWM_MAIN_MAX1": 1950, "PWM_MIN": 1075, "PWM_MAX": 1950},
    ],
)
def test_pulse_widths_of_older_logs_are_read(
    flown: logs.Flight, tmp_path: Path, parameters: dict[str, float]
) -> None:
    path = tmp_path / "log.ulg"
    quad = {"MAV_TYPE": 2, "SYS_AUTOSTART": 4001}
    write_ulog(path, _old(flown, 1075.0, 1950.0), {**quad, **parameters})
    log = logs.read_log(path, vehicle="crazyflie")
    assert np.all(log.duty[:50] == 0.0)
    assert log.duty[50:] == pytest.approx(flown.duty[50 : len(log.time)], abs=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"MAV_TYPE": 2}, "expected one of the parameters PWM_MAIN_MIN1, PWM_MAIN_MIN, PWM_MIN"),
        ({"MAV_TYPE": 1}, "MAV_TYPE one of 2, 13, 14, got 1"),
        ({"MAV_TYPE": 14}, "MAV_TYPE one of 2, 13, 14, got 14"),
        ({"MAV_TYPE": 2, "PWM_MIN": 1000, "PWM_MAX": 1200}, r"output\[0\], got up to 1[3-9]\d\d"),
    ],
)
def test_what_an_older_log_lacks_is_reported(
    flown: logs.Flight, tmp_path: Path, parameters: dict[str, float], message: str
) -> None:
    path = write_ulog(tmp_path / "log.ulg", _old(flown, 1075.0, 1950.0), parameters)
    with pytest.warns(UserWarning, match=rf"motors are omitted: .*{message}"):
        assert logs.read_log(path).duty.shape[1] == 0


def test_instances_and_repeated_messages_are_read(flown: logs.Flight, tmp_path: Path) -> None:
    topics = px4(flown)
    declared, time, attitude = topics["vehicle_attitude"]
    repeated = (declared, np.repeat(time, 2), np.repeat(attitude, 2, axis=0))
    volts = np.full((len(flown.time), 1), 4.1)
    topics |= {
        "vehicle_attitude": repeated,
        "battery_status": ("float voltage_v", flown.time, volts),
        "battery_status.1": ("float voltage_v", flown.time, 2.0 * volts),
        "estimator_innovations": ("float[2] gps_hvel", flown.time, np.zeros((len(volts), 2))),
    }
    path = write_ulog(tmp_path / "log.ulg", topics)
    log = logs.read_log(path)
    assert log.voltage == pytest.approx(np.full(len(log.time), 4.1))
    mapping = identify.Columns(
        body_rates=[f"sensor_combined:gyro_rad[{k}]" for k in range(3)],
        specific_force=[f"sensor_combined:accelerometer_m_s2[{k}]" for k in range(3)],
        voltage="battery_status.1:voltage_v",
    )
    second = logs.read_log(path, mapping)
    assert second.voltage == pytest.approx(np.full(len(second.time), 8.2))
    topics["battery_status"] = ("float voltage_v", flown.time, 0.0 * volts)
    with pytest.warns(UserWarning, match="the voltage is omitted, as it is below 1 V"):
        assert logs.read_log(write_ulog(path, topics)).voltage is None


@pytest.mark.slow
def test_the_commands_map_motors_to_the_vehicle(
    flown: logs.Flight, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from propwash.__main__ import main

    tables = []
    for order in ((0, 1, 2, 3), (3, 0, 1, 2)):
        topics = px4(flown)
        declared, time, duty = topics["actuator_motors"]
        duty[:, :4] = duty[:, order]
        topics["actuator_motors"] = (declared, time, duty)
        path = write_ulog(tmp_path / "log.ulg", topics, px4_geometry(VEHICLE, order))
        assert main(["replay", str(path), "--out", str(tmp_path)]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert main(["replay", str(path), "--vehicle", "flightgoggles", "--out", str(tmp_path)]) == 2
    assert "match the rotors of vehicle" in capsys.readouterr().err
