"""Writers of log files: PX4 ULog, bags of ROS 1 and ROS 2, and CSV."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import duty_at, speeds_at
from propwash import frames, identify, logs
from propwash.vehicle.multicopter import Array

Topic = tuple[str, Array, Array]
"""Declaration of the fields, times (K,) in s, and values (K, N)."""
Maker = Callable[[int], Any]
"""Makes the message of a number."""

IMU = "float[3] gyro_rad;float[3] accelerometer_m_s2"


def _message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), kind[0]) + body


def write_ulog(
    path: Path,
    topics: Mapping[str, Topic],
    parameters: Mapping[str, float] | None = None,
    start: float = 100.0,
    nested: Mapping[str, str] | None = None,
) -> Path:
    """Writes a ULog with these topics and parameters; `topic.1` is a second instance.

    nested: types of fields that are messages, with the declaration of their fields.
    """
    parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0), _message(b"B", bytes(40))]
    for name, declared in (nested or {}).items():
        parts.append(_message(b"F", f"{name}:{declared};".encode()))
    for name, (declared, _, _) in topics.items():
        if "." not in name:
            parts.append(_message(b"F", f"{name}:uint64_t timestamp;{declared};".encode()))
    for name, value in (parameters or {}).items():
        kind, code = ("int32_t", "i") if isinstance(value, int) else ("float", "f")
        key = f"{kind} {name}".encode()
        body = struct.pack("<B", len(key)) + key + struct.pack(f"<{code}", value)
        parts.append(_message(b"P", body))
    for number, name in enumerate(topics):
        topic, _, instance = name.partition(".")
        parts.append(
            _message(b"A", struct.pack("<BH", int(instance or 0), number) + topic.encode())
        )
    for number, (declared, time, values) in enumerate(topics.values()):
        codes = _codes(declared, nested or {})
        for at, row in zip(time, values, strict=True):
            stamp = round((start + at) * 1e6)
            numbers = [x if c == "f" else int(x) for c, x in zip(codes, row, strict=True)]
            parts.append(_message(b"D", struct.pack(f"<HQ{codes}", number, stamp, *numbers)))
    path.write_bytes(b"".join(parts))
    return path


def _codes(declared: str, nested: Mapping[str, str]) -> str:
    """Codes of struct for the declaration of a topic's fields."""
    codes = ""
    for kind in (field.split()[0] for field in declared.split(";")):
        name, _, count = kind.rstrip("]").partition("[")
        known = {"float": "f", "uint8_t": "B"}
        code = _codes(nested[name], nested) if name in nested else known[name]
        codes += code * int(count or 1)
    return codes


def px4_geometry(vehicle: pw.VehicleParameters, order: Sequence[int]) -> dict[str, float]:
    """PX4's parameters of a vehicle whose motors are the rotors in this order."""
    parameters: dict[str, float] = {"CA_ROTOR_COUNT": len(order)}
    for motor, rotor in enumerate(vehicle.rotors[k] for k in order):
        parameters[f"CA_ROTOR{motor}_PX"] = float(rotor.position[0])
        parameters[f"CA_ROTOR{motor}_PY"] = float(-rotor.position[1])
        parameters[f"CA_ROTOR{motor}_KM"] = 0.05 * float(rotor.spin)
    return parameters


def px4(log: identify.FlightLog, motors_every: int = 1) -> dict[str, Topic]:
    """A flight as PX4 logs it: axes point down, and some topics have lower rates."""
    assert log.position is not None
    assert log.velocity is not None
    assert log.attitude is not None
    imu = np.hstack([frames.flu_to_frd(log.body_rates), frames.flu_to_frd(log.specific_force)])
    position = np.hstack([frames.enu_to_ned(log.position), frames.enu_to_ned(log.velocity)])
    attitude = frames.quaternion_enu_flu_to_ned_frd(log.attitude)
    attitude[::3] *= -1.0  # a quaternion and its negative are the same attitude
    slow = slice(None, None, 2)
    duty = np.pad(log.duty, ((0, 0), (0, 2)), constant_values=np.nan)[::motors_every]
    return {
        "sensor_combined": (IMU, log.time, imu),
        "vehicle_local_position": (
            "float x;float y;float z;float vx;float vy;float vz", log.time, position,
        ),
        "vehicle_attitude": ("float[4] q", log.time[slow], attitude[slow]),
        "actuator_motors": ("float[6] control", log.time[::motors_every], duty),
    }  # fmt: skip


def write_blackbox(
    path: Path,
    log: identify.FlightLog,
    *,
    rate: str = "deg/s",
    force: str = "g",
    time: str = "us",
    motors: str = "dshot",
    voltage: Mapping[str, float] | None = None,
) -> Path:
    """Writes a flight of a quadcopter in the order of the Crazyflie as blackbox_decode does.

    rate, force, time: units; "raw" for counts, with the file of headers that blackbox_decode saves.
    voltage: V by the name of the column.
    """
    rates = {"deg/s": 180.0 / np.pi, "rad/s": 1.0, "raw": 1800.0 / np.pi}[rate]
    forces = {"g": 1.0, "m/s/s": logs.STANDARD_GRAVITY, "raw": 2048.0}[force]
    low, full = {"dshot": (48.0, 1999.0), "pwm": (1000.0, 1000.0)}[motors]
    speeds = (
        log.rotor_speeds
    )  # in hundreds of electrical revolutions a minute, seven pairs of poles
    columns = {f"time ({time})": log.time * {"us": 1e6, "ms": 1e3, "s": 1.0}[time]}
    for name, unit, values in (
        ("gyroADC", rate, log.body_rates * rates),
        ("accSmooth", force, log.specific_force * forces / logs.STANDARD_GRAVITY),
        ("motor", "raw", low + full * log.duty[:, [1, 0, 2, 3]]),  # rear right first
        *([] if speeds is None else [("eRPM", "raw", 2.1 / np.pi * speeds[:, [1, 0, 2, 3]])]),
    ):
        suffix = "" if unit == "raw" else f" ({unit})"
        columns |= {f"{name}[{k}]{suffix}": values[:, k] for k in range(values.shape[1])}
    columns |= {name: np.full(len(log.time), value) for name, value in (voltage or {}).items()}
    lines = [f"loopIteration, {', '.join(columns)}, flightModeFlags (flags)"]
    rows = np.column_stack(list(columns.values()))
    lines += [f"{k}, {', '.join(f'{x:.9g}' for x in row)}, 0" for k, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    if "raw" in (rate, force) or motors == "pwm" or speeds is not None:
        scale = struct.unpack("<I", struct.pack("<f", 0.1))[0]
        path.with_suffix(".headers.csv").write_text(
            f'fieldname, fieldvalue\nacc_1G,"2048"\ngyro_scale,"0x{scale:x}"\n'
            f'motorOutput,"{"158,2047" if motors == "dshot" else "1070,2000"}"\n'
            f'motor_poles,"14"\n'
        )
    return path


def write_mcap(path: Path, log: identify.FlightLog, encoding: str, stamped: bool) -> Path:
    """Writes the readings of the IMU and two motors in JSON or protobuf.

    stamped: Whether the messages have time stamps, and are published at other times.
    """
    mcap_writer = pytest.importorskip("mcap.writer")
    make = _protobuf_imu() if encoding == "protobuf" else None
    with path.open("wb") as stream:
        writer = mcap_writer.Writer(stream)
        writer.start()
        schema = 0
        if make is not None:
            from mcap_protobuf.schema import build_file_descriptor_set

            data = build_file_descriptor_set(make).SerializeToString()
            schema = writer.register_schema(make.DESCRIPTOR.full_name, "protobuf", data)
        channel = writer.register_channel("/imu", encoding, schema)
        for k, time in enumerate(np.round(1e9 + 1e9 * log.time).astype(int).tolist()):
            vectors = {"rates": log.body_rates[k], "force": log.specific_force[k]}
            fields: dict[str, Any] = {
                name: dict(zip("xyz", vector.tolist(), strict=True))
                for name, vector in vectors.items()
            }
            fields["duty"] = log.duty[k, :2].tolist()
            if stamped:
                seconds, rest = divmod(time, 10**9)
                names = ("seconds", "nanos") if make else ("sec", "nsec")
                fields["timestamp"] = dict(zip(names, (seconds, rest), strict=True))
            data = make(**fields).SerializeToString() if make else json.dumps(fields).encode()
            published = 2 * time if stamped else time
            writer.add_message(channel, time, data, published)
        writer.finish()
    return path


def _protobuf_imu() -> Any:
    """A message of protobuf: time stamp, two vectors and a list."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    file = descriptor_pb2.FileDescriptorProto(name="imu.proto", package="test", syntax="proto3")
    file.dependency.append(timestamp_pb2.DESCRIPTOR.name)
    vector, imu = file.message_type.add(name="Vector"), file.message_type.add(name="Imu")
    for number, axis in enumerate("xyz", 1):
        vector.field.add(name=axis, number=number, type=1, label=1)
    imu.field.add(
        name="timestamp", number=1, type=11, label=1, type_name=".google.protobuf.Timestamp"
    )
    for number, name in enumerate(("rates", "force"), 2):
        imu.field.add(name=name, number=number, type=11, label=1, type_name=".test.Vector")
    imu.field.add(name="duty", number=4, type=1, label=3)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.Imu"))


def typestore() -> Any:
    """The message types of ROS 2 Humble."""
    typesys = pytest.importorskip("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def write_bag(
    folder: Path,
    topics: Sequence[tuple[str, str, float, Maker]],
    rows: int,
    storage: str = "SQLITE3",
) -> Path:
    """Writes a ROS 2 bag. Topics: name, type, delay of the messages [s], and messages."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    store = typestore()
    plugin = rosbag2.StoragePlugin[storage]
    with rosbag2.Writer(folder, version=9, storage_plugin=plugin) as writer:
        links = [writer.add_connection(name, kind, typestore=store) for name, kind, *_ in topics]
        for k in range(rows):
            for link, (_, kind, delay, make) in zip(links, topics, strict=True):
                stamp = 10**9 + round((0.004 * k + delay) * 1e9)
                writer.write(link, stamp, store.serialize_cdr(make(k), kind))
    return folder


def write_ros1_bag(path: Path, rows: int) -> Path:
    """Writes a ROS 1 bag of IMU readings on /imu."""
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    kind = "sensor_msgs/msg/Imu"
    with rosbag1.Writer(path) as writer:
        link = writer.add_connection("/imu", kind, typestore=store)
        for k in range(rows):
            stamp = 10**9 + 4_000_000 * k
            writer.write(link, stamp, store.serialize_ros1(_imu_message(k, store.types), kind))
    return path


def imu_message(k: int) -> Any:
    """An IMU reading of ROS 2 at 250 Hz."""
    return _imu_message(k, typestore().types)


def _imu_message(k: int, types: Any) -> Any:
    vector = types["geometry_msgs/msg/Vector3"]
    stamp = types["builtin_interfaces/msg/Time"](*divmod(10**9 + 4_000_000 * k, 10**9))
    header = types["std_msgs/msg/Header"]
    numbered = {"seq": k} if "seq" in header.__dataclass_fields__ else {}
    identity = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    nine = np.zeros(9)
    return types["sensor_msgs/msg/Imu"](
        header(stamp=stamp, frame_id="base", **numbered),
        *(identity, nine, vector(0.1, 0.2, 0.3), nine, vector(1.0, 2.0, 9.8), nine),
    )


def _duty(time: Array, hover: float) -> Array:
    """Motor commands of a vertical flight, which differ slightly between motors."""
    climb = np.where(time < 2.0, 0.05, 0.0) - np.where((time >= 2.0) & (time < 4.0), 0.05, 0.0)
    wobble = 0.002 * np.sin(7.0 * time)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    return np.asarray((hover + climb)[:, np.newaxis] + wobble[:, np.newaxis] * signs)


def write_simulated_flight(path: Path, vehicle: str = "crazyflie") -> None:
    """A CSV log of a simulated vertical flight without noise."""
    uav = pw.Multicopter(vehicle, noise=False)
    parameters = uav.parameters
    time = np.arange(0.0, 6.0, 0.01)
    hover = float(duty_at(parameters, np.asarray(uav.trim().rotor_speeds))[0])
    duty = np.round(_duty(time, hover) * logs.PWM_FULL, 1) / logs.PWM_FULL
    # the motors start at the speed of the first command of the log
    uav.step(
        pw.RotorSpeeds(speeds_at(parameters, 0.5 * (duty[0] + duty[1]))), dt=1e-3, substeps=4000
    )
    uav.set_state(uav.trim(), position=[0.0, 0.0, 1.0], rotor_speeds=uav.rotor_speeds)
    rows = []
    for k, t in enumerate(time):
        attitude = frames.wxyz_to_xyzw(uav.attitude)
        if k % 3 == 1:  # a quaternion and its negative are one attitude
            attitude = -attitude
        force = uav.imu.specific_force / logs.STANDARD_GRAVITY
        rows.append(
            [
                *(t, *uav.position, *attitude, *uav.velocity, *uav.body_rates, *force),
                *(0.0, 0.0, 0.0, *(duty[k] * logs.PWM_FULL), uav.battery_voltage),
            ]
        )
        if k + 1 < len(time):
            command = speeds_at(parameters, 0.5 * (duty[k] + duty[k + 1]))
            uav.step(pw.RotorSpeeds(command), dt=1e-3, substeps=10)
    names = (
        "t,px,py,pz,qx,qy,qz,qw,vx,vy,vz,wx_vicon,wy_vicon,wz_vicon,imu_acc_x,imu_acc_y,imu_acc_z,"
        "imu_gyro_x,imu_gyro_y,imu_gyro_z,motor_motor_m1,motor_motor_m2,motor_motor_m3,"
        "motor_motor_m4,pwr_pm_vbat"
    )
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names.split(","))
        writer.writerows([f"{value:.12g}" for value in row] for row in rows)
