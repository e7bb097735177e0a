"""The flight log of simulated flights: files, replay and identification."""

from __future__ import annotations

import json
import re
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identify_flight import speeds_at
from propwash import identify, logs
from propwash.cli import replay
from propwash.cli.main import main
from propwash.logs._record import COMMANDS, OPTIONAL, PARTS, duty_of

SUFFIXES = (".csv", ".mcap")


def flown(
    vehicle: str | pw.VehicleParameters, seconds: float, *, noise: bool = False
) -> logs.FlightRecord:
    """A flight at 240 Hz with a velocity command that varies."""
    uav = pw.Multicopter(vehicle, noise=noise, seed=3)
    recorder = logs.FlightRecorder(uav.parameters)
    for row in range(round(240 * seconds)):
        t = uav.time
        x = 2.5 * np.sin(1.7 * t) + 1.5 * np.sin(4.3 * t)
        y = 2.0 * np.cos(1.1 * t) + 1.5 * np.sin(3.1 * t)
        z = np.sin(0.9 * t) + 0.7 * np.sin(5.0 * t)
        command: Any = pw.VelocityCommand([x, y, z], yaw_rate=1.5 * np.sin(0.7 * t))
        for _ in range(4):
            uav.step(command)
            recorder.stepped(uav.rotor_command)
        recorder.row(
            uav.time,
            uav.state,
            uav.imu,
            voltage=uav.battery_voltage,
            sticks=(x / 4.0, y / 4.0, 0.1, 0.5),
            mode="assisted" if row % 3 else "angle",
            command=command,
            gates=row // 100,
        )
    return recorder.record({"passed": [["a", 0.5]], "seed": 3})


@pytest.fixture(scope="module")
def record() -> logs.FlightRecord:
    return flown("crazyflie", 1.0, noise=True)


def assert_same(a: logs.FlightRecord, b: logs.FlightRecord) -> None:
    """All bits of all arrays are equal."""
    assert a.info == b.info
    for name in (*PARTS, "mode"):
        one, other = getattr(a, name), getattr(b, name)
        if one is None or other is None:
            assert one is other, name
            continue
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        assert one.tobytes() == other.tobytes(), name


def write(folder: Path, record: logs.FlightRecord, suffix: str) -> Path:
    if suffix == ".mcap":
        pytest.importorskip("mcap")
    return logs.write_record(folder / f"flight{suffix}", record)


@st.composite
def records(draw: st.DrawFn) -> logs.FlightRecord:
    """Records of random shape and content, without some of the optional quantities."""
    rows, rotors = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    number = st.floats(allow_nan=False, allow_infinity=False)
    parts: dict[str, Any] = {"time": sorted(draw(st.sets(number, min_size=rows, max_size=rows)))}
    for name, keys in list(PARTS.items())[1:]:
        if name in OPTIONAL and draw(st.booleans()):
            continue
        width = rotors if keys is None else max(1, len(keys))
        if name == "gates":
            parts[name] = draw(st.lists(st.integers(0, 99), min_size=rows, max_size=rows))
            continue
        table = draw(st.lists(number, min_size=rows * width, max_size=rows * width))
        values = np.array(table).reshape(rows, width)
        if name == "duty":
            values = 1.0 / (1.0 + abs(values))
        if name in COMMANDS:
            values[draw(st.integers(0, rows - 1))] = np.nan
        if keys == ():
            values = values[:, 0]
        parts[name] = values
    if draw(st.booleans()):
        modes = st.sampled_from(["acro", "angle", 'a "b", c', ""])
        parts["mode"] = draw(st.lists(modes, min_size=rows, max_size=rows))
    leaf = st.none() | st.booleans() | number | st.integers() | st.text(max_size=5)
    info = st.dictionaries(st.sampled_from(["vehicle", "a", "größe"]), st.lists(leaf) | leaf)
    return logs.FlightRecord(**parts, info=draw(info))


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_files_keep_every_bit(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject
) -> None:
    record = data.draw(records())
    if suffix == ".mcap":  # its messages have stamps of 64 bits in ns
        record = replace(record, time=np.arange(len(record)) + np.array(0.1))
    path = write(tmp_path_factory.mktemp("log"), record, suffix)
    assert_same(logs.read_record(path), record)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_read_log_knows_the_file_by_itself(
    record: logs.FlightRecord, tmp_path: Path, suffix: str
) -> None:
    log = logs.read_log(write(tmp_path, record, suffix))
    assert log.position is not None
    assert log.attitude is not None
    assert log.voltage is not None
    np.testing.assert_array_equal(log.time, record.time - record.time[0])
    np.testing.assert_array_equal(log.position, record.position)
    np.testing.assert_array_equal(log.body_rates, record.body_rates)
    np.testing.assert_array_equal(log.specific_force, record.specific_force)
    np.testing.assert_array_equal(log.voltage, record.voltage)
    np.testing.assert_allclose(log.attitude, record.attitude, atol=1e-15)
    # centred on the rows
    np.testing.assert_allclose(log.duty[:-1], 0.5 * (record.duty[:-1] + record.duty[1:]))
    assert log.synchronous
    part = logs.read_log(tmp_path / f"flight{suffix}", start=0.2, stop=0.5)
    assert 0.2 <= part.time[0] < 0.205
    assert 0.495 < part.time[-1] <= 0.5


def test_a_mapping_reads_other_columns(record: logs.FlightRecord, tmp_path: Path) -> None:
    path = write(tmp_path, record, ".csv")
    names: Any = {
        "body_rates": [f"angular_rate_{axis}" for axis in "xyz"],
        "specific_force": [f"specific_force_{axis}" for axis in "xyz"],
    }
    log = logs.read_log(path, logs.Columns(time="time", **names))
    np.testing.assert_array_equal(log.body_rates, record.angular_rate)


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie", "hexacopter"])
def test_the_model_predicts_its_own_log(tmp_path: Path, vehicle: str) -> None:
    log = logs.read_log(write(tmp_path, flown(vehicle, 3.0), ".csv"))
    result = identify.predict(vehicle, log, None, [0.1, 0.5])
    assert len(result.starts) > 10
    # another grid in time, and the mean of the commands of four steps
    for quantity, bound in (("position", 1e-3), ("velocity", 5e-3), ("attitude", 0.2)):
        assert result.error(quantity, 0.5).max() < bound
    assert result.error("vertical specific force", 0.1).max() < 0.05
    assert result.error("body rates", 0.1).max() < 0.03


@pytest.mark.slow
def test_identification_recovers_the_vehicle(tmp_path: Path) -> None:
    true = pw.vehicles.load("flightgoggles")
    log = logs.read_log(write(tmp_path, flown(true, 8.0), ".csv"))
    lag = 1.2 * true.motor_values("time_constant_up")[0]
    guess = true.replace(
        rotors=tuple(
            rotor.replace(thrust_coefficient=1.1 * rotor.thrust_coefficient)
            for rotor in true.rotors
        ),
        motor={"time_constant_up": lag, "time_constant_down": lag},
    )
    found = identify.fit_vehicle(log, guess, threads=1)
    for rotor, expected in zip(found.vehicle.rotors, true.rotors, strict=True):
        assert rotor.thrust_coefficient == pytest.approx(expected.thrust_coefficient, rel=2e-3)
    for name in ("time_constant_up", "time_constant_down"):
        assert found.vehicle.motor_values(name)[0] == pytest.approx(lag / 1.2, rel=0.03)
    result = identify.predict(found, log, None, [0.5], "measured")
    assert np.median(result.error("position", 0.5)) < 2e-3


def test_commands_use_the_vehicle_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "saved", lambda make, file: "none")  # figures take seconds
    vehicle = pw.vehicles.load("flightgoggles").replace(body={"mass": 1.2})
    record = flown(vehicle, 1.5)
    path = write(tmp_path, record, ".csv")
    for suffix in SUFFIXES:
        assert logs.read_log(write(tmp_path, record, suffix)).vehicle == vehicle

    def error(*options: str) -> float:
        assert main(["replay", str(path), "--horizons", "0.3", *options]) == 0
        line = next(x for x in capsys.readouterr().out.splitlines() if "position [m]" in x)
        return float(line.split()[-1])

    assert error() < 1e-3 < 0.02 < error("--vehicle", "flightgoggles")
    other = logs.write_record(tmp_path / "other.csv", flown("blackbird", 0.5))
    assert main(["identify", str(path), str(other), "--out", str(tmp_path / "x.toml")]) == 2
    assert "the flights are of blackbird, flightgoggles; name one" in capsys.readouterr().err


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie"])
def test_duty_cycles_are_the_inverse_of_the_motor_map(vehicle: str) -> None:
    """With the voltage, and earlier by the delay."""
    parameters = pw.vehicles.load(vehicle)
    nominal, delay = parameters.battery.nominal_voltage, parameters.motor.command_delay
    time = np.linspace(0.0, 1.0, 101)
    slope = np.array([0.9, 0.8, 0.7, 0.6])
    duty = 0.1 + np.outer(time, slope)
    voltage = np.linspace(1.0, 0.9, 101) * nominal if nominal else None
    fall = np.ones(101) if voltage is None else voltage / nominal
    commanded = speeds_at(parameters, duty - delay * slope)
    found = duty_of(parameters, time, commanded * fall[:, np.newaxis], voltage)
    np.testing.assert_allclose(found[:-1], duty[:-1], atol=1e-12)
    assert not duty_of(parameters, time, np.zeros((101, 4)), voltage).any()


def test_a_row_has_the_mean_of_the_commands_since_the_row_before() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    top = uav.parameters.motor_values("speed_max")[0]
    recorder = logs.FlightRecorder(uav.parameters)
    for speeds in ([0.1, 0.3], [0.5, 0.9]):
        for fraction in speeds:
            recorder.stepped(np.full(4, fraction * top))
        uav.step(pw.RotorSpeeds(np.zeros(4)))
        recorder.row(uav.time, uav.state, uav.imu)
    np.testing.assert_allclose(recorder.record().duty, [[0.2] * 4, [0.7] * 4])


def test_a_record_has_the_parts_of_each_command() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    commands: list[Any] = [
        pw.RateThrust([0.1, 0.2, 0.3], 9.0),
        pw.AttitudeThrust([1.0, 0.0, 0.0, 0.0], 8.0, yaw_rate=0.5),
        pw.VelocityCommand([1.0, 2.0, 3.0]),
        pw.RotorSpeeds(np.zeros(4)),
    ]
    recorder = logs.FlightRecorder(uav.parameters)
    for command in commands:
        uav.step(command)
        recorder.row(uav.time, uav.state, uav.imu, command=command)
    nan = np.nan
    record = recorder.record()
    assert (record.sticks, record.mode, record.gates, record.voltage) == (None,) * 4
    assert record.command_rates is not None
    np.testing.assert_array_equal(record.command_rates[:2], [[0.1, 0.2, 0.3], [nan] * 3])
    np.testing.assert_array_equal(record.command_thrust, [9.0, 8.0, nan, nan])
    np.testing.assert_array_equal(record.command_yaw_rate, [nan, 0.5, nan, nan])
    assert record.command_attitude is not None
    np.testing.assert_array_equal(record.command_attitude[1], [1.0, 0.0, 0.0, 0.0])
    assert record.command_velocity is not None
    np.testing.assert_array_equal(record.command_velocity[1:3], [[nan] * 3, [1.0, 2.0, 3.0]])


def test_readings_are_in_body_axes() -> None:
    half = np.sqrt(0.5)
    base = pw.vehicles.load("flightgoggles")
    rows = []
    for attitude in ((1.0, 0.0, 0.0, 0.0), (half, 0.0, half, 0.0)):
        uav = pw.Multicopter(base.replace(imu={"attitude": attitude}), noise=False)
        recorder = logs.FlightRecorder(uav.parameters)
        uav.step(pw.RateThrust([1.0, 2.0, 3.0], 12.0), substeps=50)
        recorder.row(uav.time, uav.state, uav.imu)
        record = recorder.record()
        rows.append(np.concatenate([record.specific_force[0], record.angular_rate[0]]))
        np.testing.assert_allclose(record.angular_rate, record.body_rates, atol=1e-12)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-9)


def test_rows_before_the_flight_may_be_removed() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    recorder = logs.FlightRecorder(uav.parameters)
    for row in range(20):
        recorder.row(0.1 * row, uav.state, uav.imu, gates=row)
        recorder.keep_last(5)
    record = recorder.record()
    assert record.gates is not None
    assert record.gates.tolist() == [15, 16, 17, 18, 19]
    recorder.clear()
    assert len(recorder) == 0
    with pytest.raises(ValueError, match="record: expected at least one row"):
        recorder.record()


def test_a_row_of_another_vehicle_is_refused() -> None:
    quad, hexacopter = pw.Multicopter("crazyflie"), pw.Multicopter("hexacopter")
    recorder = logs.FlightRecorder(quad.parameters)
    with pytest.raises(ValueError, match=r"expected the state of 4 rotors .* got 6 rotors"):
        recorder.row(0.0, hexacopter.state, hexacopter.imu)
    assert len(recorder) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.zeros((3, 3))}, r"position: expected shape \(240, 3\), got \(3, 3\)"),
        ({"sticks": np.full((240, 4), np.nan)}, "sticks: expected finite numbers, row 0"),
        ({"command_rates": np.array([[0.0, np.nan, 0.0]] * 240)}, "command_rates: expected"),
        ({"velocity": "none"}, "velocity: expected numbers"),
        ({"duty": np.full((240, 4), 1.1)}, "duty: expected 0 to 1, row 0 has"),
        ({"time": np.zeros(240)}, "time: expected times"),
        ({"mode": ["acro"]}, "mode: expected"),
        ({"gates": np.full(240, 0.5)}, "gates: expected whole numbers >= 0"),
        ({"gates": np.full(240, -1)}, "gates: expected whole numbers >= 0"),
        ({"gates": np.full(240, 1e300)}, "gates: expected whole numbers >= 0"),
        ({"info": {"a b": 1}}, "info: expected keys"),
        ({"info": {"a": float("nan")}}, "info: expected values of JSON"),
        ({"info": {"a": object()}}, "info: expected values of JSON"),
    ],
)
def test_invalid_records_are_refused(
    record: logs.FlightRecord, change: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        replace(record, **change)


def test_the_target_is_checked_before_a_flight(record: logs.FlightRecord, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"flight\.txt: expected a flight log \.csv or \.mcap"):
        logs.check_record_file(tmp_path / "flight.txt")
    with pytest.raises(ValueError, match="expected a file in a folder that exists"):
        logs.write_record(tmp_path / "none" / "flight.csv", record)
    with pytest.raises(FileNotFoundError, match="no log"):
        logs.read_record(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"other\.csv: expected a flight log .*found columns a, b"):
        logs.read_record(tmp_path / "other.csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_another_format_are_refused(
    record: logs.FlightRecord, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr("propwash.logs._record_files._FORMAT", 2)
        file = write(tmp_path, record, suffix)
    message = f"{file}: expected a flight log of format 1, got '2'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        logs.read_record(file)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_the_old_file(
    record: logs.FlightRecord, tmp_path: Path, suffix: str
) -> None:
    path = write(tmp_path, record, suffix)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=path.name):
            logs.write_record(path, record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_errors_in_csv_files_name_the_line(record: logs.FlightRecord, tmp_path: Path) -> None:
    path = write(tmp_path, record, ".csv")
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# propwash flight log, format 1, propwash ")
    assert lines[1:5:2] == ['# vehicle = "crazyflie"', '# passed = [["a", 0.5]]']

    def refused(line: int, old: str, new: str, message: str) -> None:
        changed = [*lines]
        assert old in changed[line - 1]
        changed[line - 1] = changed[line - 1].replace(old, new, 1)
        path.write_text("\n".join(changed))
        with pytest.raises(ValueError, match=rf"flight\.csv.*{message}"):
            logs.read_log(path)

    refused(1, "format 1", "format 2", "expected a flight log of format 1, got '2'")
    refused(2, '"crazy', "crazy", "line 2: expected '# key = value'")
    refused(3, "[body]", "[bod]", "parameters: .*bod")
    refused(4, "[[", "[", "line 4: expected '# key = value'")
    refused(6, "velocity_y", "velocity", "missing columns velocity_y")
    refused(9, ",0.", ",O.", "line 9: expected numbers, [a-z]+_")
    refused(9, ",", "", "line 9: expected .* columns")
    refused(9, ",assisted", ",,assisted", "line 9: expected .* columns")


def test_without_its_comments_a_csv_file_is_the_same_flight(
    record: logs.FlightRecord, tmp_path: Path
) -> None:
    path = write(tmp_path, record, ".csv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[5:]))
    assert_same(logs.read_record(path), replace(record, info={}))


def test_mcap_messages_have_a_schema(record: logs.FlightRecord, tmp_path: Path) -> None:
    reader = pytest.importorskip("mcap.reader")
    jsonschema = pytest.importorskip("jsonschema")
    path = write(tmp_path, record, ".mcap")
    counts: dict[str, int] = {}
    stamps: dict[str, list[int]] = {}
    with path.open("rb") as stream:
        for schema, channel, message in reader.make_reader(stream).iter_messages():
            assert (channel.message_encoding, schema.encoding) == ("json", "jsonschema")
            described = json.loads(schema.data)
            content = json.loads(message.data)
            assert set(content) <= set(described["properties"])
            jsonschema.Draft202012Validator(described).validate(content)
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
            stamps.setdefault(channel.topic, []).append(message.log_time)
    assert counts == dict.fromkeys(
        ["/state", "/imu", "/motors", "/sticks", "/command", "/gates"], len(record)
    )
    for times in stamps.values():
        np.testing.assert_allclose(np.array(times) * 1e-9, record.time, atol=1e-9)
