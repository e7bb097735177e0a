"""Small valid files of every supported format, from which the mutations start."""

from __future__ import annotations

import functools
import re
import struct
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
from log_files import (
    imu_message,
    px4,
    px4_geometry,
    write_bag,
    write_blackbox,
    write_mcap,
    write_ros1_bag,
    write_ulog,
)
from propwash import identify, lcm, logs
from propwash.world import Scene
from test_flightgoggles import CAR, DRONE

Files = dict[str, bytes]
"""Contents by path, relative to a folder."""

_PACKAGE = Path(pw.__file__).parent
_IMU = [("/imu", "sensor_msgs/msg/Imu", 0.0, imu_message)]

_SCENE = """name = "yard"

[start]
position = [0, 0, 1]
yaw = 0.5

[[items]]
shape = "plane"
name = "ground"

[[items]]
shape = "gate"
name = "Gate1"
colour = [0.9, 0.3, 0.1]
position = [6, 0, 2]
yaw = 0.3
width = 2.0
height = 1.5
border = 0.2
depth = 0.1
marker_corners = [1, 0, 2, 3]
perturbation = [0.5, 0.5, 0.1]

[[items]]
shape = "box"
name = "crate"
size = [1, 2, 3]
attitude = [0.5, 0.5, 0.5, 0.5]

[[items]]
shape = "sphere"
name = "ball"
radius = 0.5
position = [1, 2, 3]

[[items]]
shape = "cylinder"
name = "post"
radius = 0.1
height = 3.0

[[items]]
shape = "mesh"
name = "tent"
vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
triangles = [[0, 1, 2], [0, 2, 3]]

[[markers]]
name = "lamp"
position = [1, 2, 3]

[sources]
items = "measured"
"""

_WITH_MESH = b"""name = "statues"

[[items]]
shape = "mesh"
name = "statue"
file = "%s"
"""

_OBJ = b"""# a tent
v 0 0 0
v 1.0 0 0
v 0 1 0
v 0 0 1e0
vn 0 0 1
f 1 2 3
f 1/1/1 3/2/1 4/3/1
f -4 -3 -2 -1
"""

_STL = b"""solid tent
facet normal 0 0 1
  outer loop
    vertex 0 0 0
    vertex 1 0 0
    vertex 0 1.5 0
  endloop
endfacet
facet normal 0 1 0
  outer loop
    vertex 0 0 0
    vertex 1 0 0
    vertex 0 0 1
  endloop
endfacet
endsolid tent
"""

_COLUMNS = b"""time = "t"
body_rates = ["p", "q", "r"]
specific_force = ["ax", "ay", "az"]
motors = ["m1", "m2", "m3", "m4"]
down = true
synchronous = false
accelerometer_cutoff = 30.0

[scale]
time = 1e-6
motors = 0.001

[offset]
motors = -1000.0
"""


def _stl_binary() -> bytes:
    """Three triangles."""
    header = b"binary".ljust(80) + struct.pack("<I", 3)
    corners = np.arange(27, dtype="<f4").reshape(3, 9)
    corners[:, ::4] *= -1.0
    return header + b"".join(struct.pack("<12fH", 0, 0, 1, *row, 0) for row in corners)


def _flight() -> identify.FlightLog:
    """60 rows of a nearly stationary vehicle."""
    time = np.arange(60) * np.float64(0.004)
    wave = np.sin(10.0 * time)[:, None] * [0.1, 0.2, 0.3]
    attitude = np.column_stack([np.ones(60), 0.01 * wave])
    return identify.FlightLog(
        path=Path("flight"),
        time=time,
        duty=np.full((60, 4), 0.5),
        body_rates=wave,
        specific_force=wave + np.array([0.0, 0.0, 9.8]),
        position=0.1 * wave,
        velocity=wave,
        attitude=attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
    )


def _table(columns: dict[str, Any]) -> bytes:
    rows = np.column_stack([np.broadcast_to(values, 60) for values in columns.values()])
    lines = [",".join(columns), *(",".join(f"{x:.7g}" for x in row) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _csv(folder: Path) -> list[Files]:
    log, t = _flight(), 0.004 * np.arange(60)
    wave = np.sin(9.0 * t)
    capture = {
        **{"t": t, "px": wave, "py": 0.0, "pz": 1.0, "qx": 0.0, "qy": 0.0, "qz": 0.0, "qw": 1.0},
        **{f"v{axis}": wave for axis in "xyz"},
        **{f"w{axis}_vicon": wave for axis in "xyz"},
        **{f"imu_acc_{axis}": 0.6 for axis in "xyz"},
        **{f"motor_motor_m{i}": 30000.0 for i in range(1, 5)},
        "pwr_pm_vbat": 4.0,
    }
    on_board = {
        "timestamp": 1e6 * t,
        **{f"acc.{axis}": 0.6 for axis in "xyz"},
        **{f"gyro.{axis}": wave for axis in "xyz"},
        **{f"motor.m{i}": 30000.0 for i in range(1, 5)},
    }
    assert log.attitude is not None
    mapped = {
        **{"t": t, "p": wave, "q": wave, "r": wave, "ax": 0.0, "ay": 0.0, "az": 9.8},
        **{"m1": 500.0, "m2": 400.0},
        **{f"q{part}": log.attitude[:, i] for i, part in enumerate("wxyz")},
    }
    # test_fuzz.py uses its mapping for files that start with "t,", which `capture` must not
    capture = {"px": capture.pop("px"), **capture}
    tables = [{"log.csv": _table(columns)} for columns in (capture, on_board, mapped)]
    idling = replace(log, duty=0.5 * log.duty)
    blackbox = write_blackbox(folder / "log.csv", idling, voltage={"vbatLatest (V)": 159.0})
    return [*tables, {"log.csv": blackbox.read_bytes()}]


def _flight_log(suffix: str) -> Callable[[Path], list[Files]]:
    def make(folder: Path) -> list[Files]:
        log = _flight()
        record = logs.FlightRecord(
            time=log.time,
            position=0.1 * log.body_rates,
            velocity=log.body_rates,
            attitude=np.eye(4)[np.zeros(60, dtype=int)],
            body_rates=log.body_rates,
            rotor_speeds=1e3 * log.duty,
            duty=log.duty,
            specific_force=log.specific_force,
            angular_rate=log.body_rates,
            sticks=log.duty,
            mode=np.array(["acro", "angle"] * 30),
            command_rates=np.where(np.arange(60)[:, None] < 30, log.body_rates, np.nan),
            gates=np.arange(60),
            info={"vehicle": "crazyflie", "passed": [["Gate1", 0.1]]},
        )
        file = logs.write_record(folder / f"log{suffix}", record)
        return [{file.name: file.read_bytes()}]

    return make


def _ulog(folder: Path) -> list[Files]:
    """Logs of PX4 with resets and geometry, and of an older one with pulse widths."""
    topics = px4(_flight())
    declared, time, values = topics["vehicle_local_position"]
    row = np.arange(len(time))[:, np.newaxis] >= len(time) // 2
    topics["vehicle_local_position"] = (
        f"{declared};uint8_t xy_valid;uint8_t z_reset_counter;float delta_z",
        time,
        np.hstack([values, row | True, row, 0.5 * row]),
    )
    number = len(topics["vehicle_attitude"][1])
    declared, time, values = topics["vehicle_attitude"]
    record = np.tile([1.0, 1.0, 0.0, 0.0, 0.0], (number, 1))
    topics["vehicle_attitude"] = (
        f"{declared};uint8_t quat_reset_counter;float[4] delta_q_reset",
        time,
        np.hstack([values, record]),
    )
    parameters = {**px4_geometry(pw.vehicles.load("crazyflie"), range(4)), "THR_MDL_FAC": 0.3}
    recent = write_ulog(folder / "x.ulg", topics, parameters).read_bytes()
    _, time, duty = topics.pop("actuator_motors")
    topics["actuator_outputs"] = ("float[6] output", time, 1000.0 + 900.0 * np.nan_to_num(duty))
    pulses = {"MAV_TYPE": 2, "PWM_MIN": 1000, "PWM_MAX": 2000, "SYS_AUTOSTART": 4001}
    old = write_ulog(folder / "x.ulg", topics, pulses).read_bytes()
    return [{"log.ulg": recent}, {"log.ulg": old}]


def _lcm(folder: Path) -> list[Files]:
    types = lcm.message_types()
    flight = _flight()
    assert flight.position is not None
    assert flight.attitude is not None
    down = np.array([1.0, -1.0, -1.0])  # axes of these messages
    with lcm.EventWriter(folder / "x") as log:
        for k, utime in enumerate(range(0, 240_000, 4000)):
            orient = flight.attitude[k] * [1.0, *down]
            values = {
                "imuRaw": {
                    "gyro": flight.body_rates[k] * down,
                    "accel": flight.specific_force[k] * down,
                },
                "poseMoCap": {"position": flight.position[k] * down, "orient": orient},
                "motorsPwms": {"num": 4, "pwms": [1500] * 4},
            }
            for channel, fields in values.items():
                data = types[lcm.PUBLISHED[channel]].encode({"utime": utime, **fields})
                log.write(utime, channel, data)
    return [{"log": (folder / "x").read_bytes()}]


def _policy(folder: Path) -> list[Files]:
    import torch
    from propwash.gym import policy, ppo

    path = folder / "policy.onnx"
    agent = ppo.Agent(22, 4, ppo.Args(hidden=8), torch.Generator().manual_seed(0))
    policy.save(agent, path, policy.describe("hover", {}))
    return [{path.name: path.read_bytes()}]


def _checkpoint(folder: Path) -> list[Files]:
    import torch

    path = folder / "checkpoint.pt"
    settings = {
        **{"task": "hover", "method": "ppo", "seed": 3, "threads": 1, "ray": 0},
        **{"changes": '{"substeps": 4}', "set": "{}", "larger": False},
    }
    learner = {
        "agent": {"mean": torch.zeros(22), "actor.0.weight": torch.ones(8, 22)},
        "optimizer": {"state": {}, "param_groups": [{"lr": 3e-4, "params": [0]}]},
        "generator": torch.Generator().get_state(),
        "counts": (10, 20480, 3e-4),
    }
    curve = [(2048, 1.5, 0.3), (4096, 2.5, 0.4)], {"evaluation": [(4096, 2.5, 0.2)]}, "distance [m]"
    best = {"merit": [0.5, -0.2], "step": 4096, "agent": {}}
    parts = {"settings": settings, "learner": learner, "best": best, "curve": curve, "seconds": 2.5}
    parts |= {"cpu": 3.5, "results": None}
    torch.save(parts, path)
    return [{path.name: path.read_bytes()}]


def _vehicles(_: Path) -> list[Files]:
    names = ("crazyflie", "hexacopter", "flightgoggles", "car")
    texts = [(_PACKAGE / "vehicle" / "files" / f"{name}.toml").read_bytes() for name in names]
    texts.append(pw.vehicles.load("crazyflie").to_toml().encode())
    return [{"vehicle.toml": text} for text in texts]


def _scenes(folder: Path) -> list[Files]:
    saved = folder / "saved.toml"
    Scene.load("alphapilot", seed=3).save(saved)
    texts = [_SCENE.encode(), b'base = "room"\n' + _SCENE.encode(), saved.read_bytes()]
    for name in ("forest", "walls", "aisles"):
        # smaller, so that reading is quick
        text = (_PACKAGE / "world" / "scenes" / f"{name}.toml").read_text(encoding="utf-8")
        texts.append(re.sub(r"(?m)^size = \[[\d.]+, [\d.]+", "size = [20.0, 20.0", text).encode())
    return [{"scene.toml": text} for text in texts]


def _with_mesh(name: str, mesh: bytes) -> Callable[[Path], list[Files]]:
    # the reader "scene" mutates scenes; here only the mesh is mutated
    return lambda _: [{name: mesh, "scene.toml": _WITH_MESH % name.encode()}]


def _bag(storage: str) -> Callable[[Path], list[Files]]:
    def make(folder: Path) -> list[Files]:
        bag = write_bag(folder / "bag", _IMU, 60, storage)
        return [{file.name: file.read_bytes() for file in bag.iterdir()}]

    return make


_MAKERS: dict[str, Callable[[Path], list[Files]]] = {
    "vehicle": _vehicles,
    "scene": _scenes,
    "obj": _with_mesh("statue.obj", _OBJ),
    "stl_text": _with_mesh("statue.stl", _STL),
    "stl_binary": _with_mesh("statue.stl", _stl_binary()),
    "flightgoggles": lambda _: [{"drone.yaml": t.encode()} for t in (DRONE, CAR)],
    "csv": _csv,
    "flight_log": _flight_log(".csv"),
    "flight_log_mcap": _flight_log(".mcap"),
    "columns": lambda _: [{"columns.toml": _COLUMNS}],
    "ulog": _ulog,
    "bag_ros1": lambda f: [{"log.bag": write_ros1_bag(f / "x.bag", 60).read_bytes()}],
    "bag_sqlite": _bag("SQLITE3"),
    "bag_mcap": _bag("MCAP"),
    "mcap": lambda f: [
        {"log.mcap": write_mcap(f / "x.mcap", _flight(), encoding, stamped=True).read_bytes()}
        for encoding in ("json", "protobuf")
    ],
    "lcm": _lcm,
    "policy": _policy,
    "checkpoint": _checkpoint,
}


@functools.cache
def seeds(name: str) -> tuple[Files, ...]:
    """Valid files for a reader."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(_MAKERS[name](Path(folder)))
