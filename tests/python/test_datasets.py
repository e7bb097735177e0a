"""Blackbird data sets: shapes, flights, files, and what programs read from them."""

from __future__ import annotations

import csv
import json
import re
import resource
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import datasets, identify, logs, render, trajectories, vehicles
from propwash.__main__ import main

pytest.importorskip("rosbags")
pytest.importorskip("scipy")
pytestmark = pytest.mark.filterwarnings("ignore:duration = ")  # short flights, on purpose

Array = NDArray[np.float64]

FLIGHT: tuple[str, datasets.Yaw, float] = ("star", "forward", 4.0)
FOLDER = "star/yawForward/maxSpeed4p0"
SMALL = datasets.Blackbird(
    duration=12.0, size=(64, 48), cameras=("Camera_Right_Gray", "Camera_Left_Depth"), seed=3
)
MOUNTING = (0.707479362748676, 0.002029830683065, -0.007745228390866, 0.706688646087723)
"""w, x, y, z of the IMU on the body, in the published converter (msgConverters.py)."""

# Names in fileTreeUtilities/sequenceDownloader.py of github.com/mit-aera/Blackbird-Dataset.
PUBLISHED_FLIGHT = {"rosbag.bag", "flightNormalizationOffset.csv", "groundTruthPoses.csv"}
PUBLISHED_TABLES = {
    "blackbird_slash_imu.csv",
    "blackbird_slash_pose_ref.csv",
    "blackbird_slash_pwm.csv",
    "blackbird_slash_rotor_rpm.csv",
    "blackbird_slash_state.csv",
    "camera_d_slash_camera_info.csv",
    "camera_l_slash_camera_info.csv",
    "camera_r_slash_camera_info.csv",
    "tf.csv",
}
PUBLISHED_CAMERAS = {
    "Camera_Left_RGB": "lossless.mov",
    "Camera_Down_RGB": "lossless.mov",
    "Camera_Left_Gray": "lossless.mov",
    "Camera_Right_Gray": "lossless.mov",
    "Camera_Down_Gray": "lossless.mov",
    "Camera_Left_Depth": "lossless.tar",
    "Camera_Down_Depth": "lossless.tar",
    "Camera_Left_Segmented": "lossless.tar",
    "Camera_Down_Segmented": "lossless.tar",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of one flight with images."""
    out = tmp_path_factory.mktemp("set")
    SMALL.write(out, *FLIGHT)
    return out


@pytest.fixture(scope="module")
def flight(written: Path) -> Path:
    return written / FOLDER


def rotation(q: Any) -> Array:
    """From the textbook, independent of the library."""
    w, x, y, z = q
    v = np.array([x, y, z])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * cross)


def table(file: Path) -> tuple[list[str], list[list[str]]]:
    with file.open(newline="") as opened:
        header, *rows = csv.reader(opened)
    return header, rows


@pytest.mark.parametrize("name", datasets.trajectory_names())
def test_the_fastest_published_flight_is_flown_in_the_room(name: str) -> None:
    from propwash.datasets._flight import fly

    yaw, speed = max(
        ((yaw, max(speeds)) for yaw, speeds in datasets.SPEEDS[name].items()), key=lambda x: x[1]
    )
    path = datasets.closed_path(name, yaw, speed)  # type: ignore[arg-type]
    lap = path.sample(np.linspace(0.0, path.duration, 2000))
    np.testing.assert_allclose(lap.position[0], lap.position[-1], atol=1e-9)
    assert np.linalg.norm(lap.velocity, axis=1).max() == pytest.approx(speed, rel=1e-3)
    duration = 3.0 + 2.0 * max(2.0, speed / 2.0) + min(path.duration, 8.0)
    motion = fly(path, speed, vehicles.load("blackbird"), duration, seed=1).motion
    assert (np.abs(motion.position[:, :2]) < 5.5 - 0.5).all()
    assert motion.position[:, 2].min() > 0.5
    assert motion.position[:, 2].max() < 5.5 - 0.5
    speeds = np.linalg.norm(motion.velocity, axis=1)
    assert speeds[: 3 * 1800].max() < 0.2  # hover
    if path.duration < 8.0:
        assert speeds.max() == pytest.approx(speed, rel=0.03)


def test_there_are_18_trajectories_and_170_flights_in_distinct_folders() -> None:
    from propwash.datasets._catalogue import folder_of

    assert len(datasets.trajectory_names()) == 18
    folders = {folder_of(*flight) for flight in datasets.sequences()}
    assert len(folders) == len(datasets.sequences()) == 170
    assert {folder_of("oval", "constant", 0.5), FOLDER} - folders == {
        "oval/yawConstant/maxSpeed0p5"
    }


def test_a_repeated_path_starts_and_ends_at_rest_and_has_the_path_between() -> None:
    path = datasets.closed_path("oval", "forward", 2.0)
    repeated = trajectories.Repeated(path, 30.0, ramp=3.0)
    reference = repeated.sample(np.linspace(-1.0, 31.0, 3201))
    for name in ("velocity", "acceleration", "jerk", "snap"):
        np.testing.assert_allclose(getattr(reference, name)[[0, 100, -101, -1]], 0.0, atol=1e-9)
    inside = np.linspace(3.0, 27.0, 50)
    expected = path.sample(inside - 1.5)
    found = repeated.sample(inside)
    for name in ("position", "velocity", "snap", "yaw", "yaw_rate"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)
    numeric = np.gradient(reference.position, reference.time, axis=0)
    np.testing.assert_allclose(numeric[1:-1], reference.velocity[1:-1], atol=2e-3)
    with pytest.raises(ValueError, match="at least two ramps of 3 s, got 5 s"):
        trajectories.Repeated(path, 5.0)


def test_the_files_are_those_of_the_published_downloader() -> None:
    full = datasets.Blackbird()
    published = {"trajectoryOffsets.yaml"}
    published |= {f"{FOLDER}/{name}" for name in PUBLISHED_FLIGHT}
    published |= {f"{FOLDER}/csv/{name}" for name in PUBLISHED_TABLES}
    published |= {f"{FOLDER}/Room/120hzTimestamps.csv"}
    for camera, video in PUBLISHED_CAMERAS.items():
        published |= {f"{FOLDER}/Room/{camera}/{name}" for name in (video, "nSecTimestamps.txt")}
    additional = {"dataset.json", f"{FOLDER}/Room/segmentationLabels.csv"}
    assert {*full.files(*FLIGHT)} == published | additional


def test_a_set_has_the_listed_files_and_no_others(written: Path) -> None:
    found = {str(file.relative_to(written)) for file in written.rglob("*") if file.is_file()}
    assert found == {*SMALL.files(*FLIGHT)}


def test_messages_have_the_published_types_and_rates(flight: Path) -> None:
    from rosbags.highlevel import AnyReader

    with AnyReader([flight / "rosbag.bag"]) as bag:
        topics = {c.topic: (c.msgtype, c.msgcount, c.digest) for c in bag.connections}
        stamps = [stamp for _, stamp, _ in bag.messages()]
        for connection, stamp, raw in bag.messages():
            if connection.topic != "/tf":
                message: Any = bag.deserialize(raw, connection.msgtype)
                time = message.header.stamp
                assert time.sec * 10**9 + time.nanosec == stamp
    assert stamps == sorted(stamps)
    counts = {topic: count for topic, (_, count, _) in topics.items()}
    rates = {"state": 360, "imu": 100, "rotor_rpm": 190, "pwm": 190, "pose_ref": 100}
    expected = {f"/blackbird/{name}": int(rate * 12.0) for name, rate in rates.items()}
    expected |= {f"/camera_{camera}/camera_info": 120 * 12 for camera in "lrd"}
    assert counts == expected | {"/tf": 360 * 12}
    # the sums in the published _MotorRPM.py and _MotorPWM.py
    assert topics["/blackbird/rotor_rpm"][2] == "b5f09223542b26e832f8faf8e5bf6d22"
    assert topics["/blackbird/pwm"][2] == "ebc116a4663ad5100b836133847de99d"


def test_tables_have_the_columns_of_the_published_ones(flight: Path) -> None:
    header, rows = table(flight / "csv/blackbird_slash_imu.csv")
    start = ["rosbagTimestamp", "header", "seq", "stamp", "secs", "nsecs", "frame_id"]
    assert header[:7] == start
    assert header[13:17] == ["angular_velocity", "x", "y", "z"]
    assert header[18:22] == ["linear_acceleration", "x", "y", "z"]
    assert rows[0][6] == '"imu"'
    assert int(rows[9][0]) == int(rows[9][4]) * 10**9 + int(rows[9][5])
    header, rows = table(flight / "csv/blackbird_slash_state.csv")
    assert header == [*start, "pose", "position", *"xyz", "orientation", *"xyzw"]
    # readers of the published rotor table find the rotors in the 10th cell from the end of the
    # header: rows are shorter by the dashes of the list of stamps
    header, rows = table(flight / "csv/blackbird_slash_rotor_rpm.csv")
    assert header == [*start, "sample_stamp", *["-", "secs", "nsecs"] * 4, "rpm"]
    assert len(rows[0]) == len(header) - 4
    speeds = np.array([json.loads(row[-1]) for row in rows])
    hover = np.sqrt(0.915 * 9.81 / 4.0 / 2.07e-6) * 30.0 / np.pi
    assert speeds[: 3 * 190].mean() == pytest.approx(hover, rel=0.01)


def test_poses_and_imu_satisfy_the_kinematics_of_the_published_frames(flight: Path) -> None:
    """North-east-down poses are the integral of the IMU's readings, without code of the library."""
    poses = np.loadtxt(flight / "groundTruthPoses.csv", delimiter=",")
    time, position, attitude = poses[:, 0] * 1e-6, poses[:, 1:4], poses[:, 4:]
    _, rows = table(flight / "csv/blackbird_slash_imu.csv")
    stamp = np.array([int(row[0]) for row in rows]) * 1e-9
    gyro, force = (np.array([row[k : k + 3] for row in rows], dtype=float) for k in (14, 19))
    mounting = rotation(MOUNTING)
    # rotation between two poses, over which the readings are nearly constant
    for k in range(1000, 4000, 250):
        a, b = rotation(attitude[k]), rotation(attitude[k + 18])  # 50 ms
        inside = (stamp > time[k]) & (stamp <= time[k + 18])
        rate = mounting @ gyro[inside].mean(axis=0)
        angle = np.linalg.norm(rate) * 0.05
        axis = rate / np.linalg.norm(rate)
        half = 0.5 * angle
        step = rotation([np.cos(half), *(np.sin(half) * axis)])
        error = np.arccos(np.clip(0.5 * (np.trace(step.T @ a.T @ b) - 1.0), -1.0, 1.0))
        assert error < 0.02, k
    # velocity over 6 s is the integral of rotated specific force plus gravity, downwards
    rows_at = np.searchsorted(time, stamp[400:1000])
    turned = np.stack([rotation(q) for q in attitude[rows_at]]) @ mounting
    acceleration = np.einsum("kij,kj->ki", turned, force[400:1000])
    acceleration += np.array([0.0, 0.0, 9.81])
    velocity = np.gradient(position, time, axis=0)
    change = velocity[rows_at[-1]] - velocity[rows_at[0]]
    np.testing.assert_allclose(acceleration[:-1].sum(axis=0) * 0.01, change, atol=0.15)


def test_a_bag_is_read_as_a_log_of_the_flight(flight: Path) -> None:
    log = logs.read_log(flight / "rosbag.bag")
    assert log.synchronous
    assert log.duty.shape[1] == 4
    assert log.rotor_speeds is not None
    assert log.rotor_speeds / 2200.0 == pytest.approx(log.duty, abs=0.1)
    hover = log.time < 2.5
    duty = np.sqrt(0.915 * 9.81 / 4.0 / 2.07e-6) / 2200.0
    assert log.duty[hover].mean() == pytest.approx(duty, rel=0.01)
    np.testing.assert_allclose(log.specific_force[hover].mean(axis=0), [0.0, 0.0, 9.81], atol=0.05)
    assert log.position is not None
    assert log.position[hover].mean(axis=0) == pytest.approx(datasets.waypoints("star")[0], abs=0.2)
    predicted = identify.predict("blackbird", log, np.arange(5.0, 9.0, 0.5), [0.25])
    error = np.linalg.norm(predicted.values["position"] - predicted.measured["position"], axis=-1)
    assert np.median(error) < 0.01


def test_videos_and_archives_hold_the_rendered_bytes(flight: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    stamps = np.loadtxt(flight / "Room/120hzTimestamps.csv", dtype=np.int64)
    poses = np.loadtxt(flight / "groundTruthPoses.csv", delimiter=",")
    assert len(stamps) == 120 * 12
    assert set(stamps // 1000) <= set(poses[:, 0].astype(np.int64))
    renderer = render.Offscreen("room", width=64, height=48, vertical_fov_deg=60.0, seed=3)
    capture = cv2.VideoCapture(str(flight / "Room/Camera_Right_Gray/lossless.mov"))
    frames = []
    while (frame := capture.read())[0]:
        frames.append(frame[1][..., 0])
    assert len(frames) == len(np.loadtxt(flight / "Room/Camera_Right_Gray/nSecTimestamps.txt"))
    depth_stamps = np.loadtxt(flight / "Room/Camera_Left_Depth/nSecTimestamps.txt", dtype=np.int64)
    np.testing.assert_array_equal(depth_stamps, stamps[::2])
    with tarfile.open(flight / "Room/Camera_Left_Depth/lossless.tar") as archive:
        names = archive.getnames()
        assert names == [f"./{stamp}.png" for stamp in depth_stamps]
        member = archive.extractfile(names[300])
        assert member is not None
        depth = cv2.imdecode(np.frombuffer(member.read(), np.uint8), cv2.IMREAD_UNCHANGED)
    assert depth.shape == (48, 64)
    # the pose of image 600 is known to a micrometre: nearly all pixels agree
    from propwash import frames as conversion

    row = poses[np.searchsorted(poses[:, 0], stamps[600] // 1000)]
    position = conversion.ned_to_enu(row[1:4])
    attitude = conversion.quaternion_ned_frd_to_enu_flu(row[4:] / np.linalg.norm(row[4:]))
    cameras = [
        render.RenderCamera("right", "grey", (0.0, -0.05, 0.0)),
        render.RenderCamera("left", "depth8", (0.0, 0.05, 0.0)),
    ]
    images = renderer.render(cameras, position, attitude).images
    assert np.mean(np.abs(frames[600].astype(int) - images["right"].astype(int)) <= 1) > 0.99
    assert np.mean(depth == images["left"]) > 0.98
    metres = render.depth8_in_metres(depth)
    assert 0.5 < np.median(metres) < 12.0


def test_a_flight_that_is_too_short_for_its_speed_is_reported(tmp_path: Path) -> None:
    """At the duration that the warning names, the flight reaches its speed; before, it does not."""
    from propwash.datasets._flight import fly

    vehicle = vehicles.load("blackbird")
    short = datasets.Blackbird(duration=7.0, cameras=())
    message = r"duration = 7 s: the flight reaches 1\.01 m/s of 2 m/s; use at least (\S+) s"
    with pytest.warns(UserWarning, match=message) as seen:
        short.write(tmp_path, "star", "forward", 2.0)
    named = re.search(message, str(seen[0].message))
    assert named is not None
    path = datasets.closed_path("star", "forward", 2.0, vehicle)
    enough = float(named[1])
    motion = fly(path, 2.0, vehicle, enough).motion
    assert np.linalg.norm(motion.velocity, axis=1).max() > 0.94 * 2.0
    with pytest.warns(UserWarning, match="the flight reaches 1"):
        fly(path, 2.0, vehicle, enough - 1.0)


def test_the_page_names_the_durations_that_suffice() -> None:
    from propwash.datasets._flight import check_duration, full_speed_duration

    page = (Path(__file__).parents[2] / "docs/datasets.md").read_text().replace("\n", " ")
    for speed in (1.0, 2.0, 4.0):
        path = datasets.closed_path("star", "forward", speed)
        enough = full_speed_duration(path, check_duration(100.0, speed))
        assert f"{np.ceil(10.0 * enough) / 10.0:g} s at {speed:g} m/s" in page


@pytest.mark.slow
def test_an_interrupted_set_keeps_what_is_complete_and_continues(tmp_path: Path) -> None:
    quick = datasets.Blackbird(duration=11.0, size=(32, 24), cameras=("Camera_Down_Gray",))
    first = quick.write(tmp_path / "set", "oval", "forward", 1.0)

    def stop(fraction: float) -> None:
        if fraction > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick.write(tmp_path / "set", *FLIGHT, progress=stop)
    assert not list((tmp_path / "set").rglob("*.part"))
    assert not quick.is_written(tmp_path / "set", *FLIGHT)
    assert quick.is_written(tmp_path / "set", "oval", "forward", 1.0)
    time = (first / "rosbag.bag").stat().st_mtime_ns
    for name in (("oval", "forward", 1.0), FLIGHT):
        quick.write(tmp_path / "set", *name)
    assert (first / "rosbag.bag").stat().st_mtime_ns == time
    whole = quick.write(tmp_path / "other", *FLIGHT)
    for file in (file for file in whole.rglob("*") if file.is_file()):
        again = tmp_path / "set" / file.relative_to(tmp_path / "other")
        assert again.read_bytes() == file.read_bytes(), file


def test_images_of_other_environments_are_added_to_a_flight(tmp_path: Path) -> None:
    import dataclasses

    bare = datasets.Blackbird(duration=11.0, size=(32, 24), cameras=())
    plain = dataclasses.replace(bare, cameras=("Camera_Down_Gray",))
    bare.write(tmp_path, "oval", "forward", 1.0)
    folder = plain.write(tmp_path, "oval", "forward", 1.0)
    bag = (folder / "rosbag.bag").stat().st_mtime_ns
    other = dataclasses.replace(plain, environment="empty")
    assert other.write(tmp_path, "oval", "forward", 1.0) == folder
    assert (folder / "Empty/Camera_Down_Gray/lossless.mov").is_file()
    assert (folder / "rosbag.bag").stat().st_mtime_ns == bag
    images = json.loads((tmp_path / "dataset.json").read_text())["images"]
    assert {name: values["environment"] for name, values in images.items()} == {
        "Room": "room",
        "Empty": "empty",
    }
    more = dataclasses.replace(plain, cameras=("Camera_Left_Gray",))
    with pytest.raises(ValueError, match=r"cameras: expected .*Down_Gray.*got .*Left_Gray"):
        more.write(tmp_path, "oval", "forward", 1.0)


@pytest.mark.slow
def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: writing fails with an OSError, too."""
    plain = datasets.Blackbird(duration=11.0, cameras=())
    done = plain.write(tmp_path, "oval", "forward", 1.0)
    before = {file: file.read_bytes() for file in done.rglob("*") if file.is_file()}
    options = ["--duration", "11", "--no-images", "--all"]
    ran = subprocess.run(
        [sys.executable, "-m", "propwash", "dataset", "blackbird", *options, "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6)),
    )
    assert ran.returncode == 2
    assert "1 of 170 flights are complete" in ran.stderr
    assert "the same command continues" in ran.stderr
    assert "File too large: " in ran.stderr
    assert "maxSpeed0p5" in ran.stderr
    assert {file: file.read_bytes() for file in done.rglob("*") if file.is_file()} == before
    assert not list(tmp_path.rglob(".*"))


def test_a_failing_encoder_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    from propwash.datasets._images import LosslessVideo

    image = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)

    def write() -> None:
        with LosslessVideo(tmp_path / "missing" / "video.mov", 30.0) as video:
            for _ in range(2000):
                video.append(image)

    with pytest.raises(OSError, match=r"video\.mov: expected a video, ffmpeg failed: .*directory"):
        write()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--trajectory stra", "trajectory: expected '3dFigure8', .*got 'stra'"),
        ("--speed 0", "speed: expected a finite number > 0"),
        ("--speed 1.23", "speed: expected a multiple of 0.1 m/s"),
        ("--speed 40 --duration 60", "follows the path, got 40 m/s: .* fly slower"),
        ("--duration 5", "duration: expected 7 to 3600 s: 3 s of rest"),
        ("--duration 10 --all --no-images", "duration: expected 11 to 3600 s"),
        ("--cameras Camera_Up_RGB", "cameras: expected some of .*got 'Camera_Up_RGB'"),
        ("--environment nowhere", "no scene 'nowhere'"),
        ("--vehicle hexacopter", "vehicle: expected four rotors, hexacopter has 6"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["dataset", "blackbird", "--out", str(tmp_path / "set"), "--duration", "12"]
    assert main([*arguments, *options.split()]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["640x", "640", "8x8", "16x8193", "99999x99999"])
@pytest.mark.parametrize("kind", ["blackbird", "euroc"])
def test_sizes_of_the_command_are_those_of_the_settings(
    tmp_path: Path, kind: str, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["dataset", kind, "--out", str(tmp_path / "set"), "--size", size])
    assert f"WIDTHxHEIGHT, from 16x16 to 8192x8192 pixels, got '{size}'" in capsys.readouterr().err
    settings = datasets.Blackbird if kind == "blackbird" else datasets.Euroc
    for limit in ((16, 16), (8192, 8192)):
        assert settings(size=limit).size == limit
    for limit in ((16, 15), (8193, 16)):
        with pytest.raises(ValueError, match="expected a whole number from 16 to 8192"):
            settings(size=limit)
    assert not list(tmp_path.iterdir())


def test_other_settings_are_refused(tmp_path: Path) -> None:
    datasets.Blackbird(duration=11.0, cameras=()).write(tmp_path, "oval", "forward", 1.0)
    other = datasets.Blackbird(duration=12.0, cameras=())
    with pytest.raises(ValueError, match=r"duration: expected 11\.0 as in .*got 12\.0"):
        other.write(tmp_path, *FLIGHT)
    (tmp_path / "dataset.json").write_text("[")
    with pytest.raises(ValueError, match="expected the settings of a data set"):
        other.write(tmp_path, *FLIGHT)


def test_an_imu_that_is_turned_on_the_body_is_a_field_of_a_mapping() -> None:
    names = {"body_rates": ["a", "b", "c"], "specific_force": ["d", "e", "f"]}
    assert logs.Columns(**names).imu_attitude == (1.0, 0.0, 0.0, 0.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="imu_attitude: expected unit quaternions"):
        logs.Columns(**names, imu_attitude=(1, 1, 0, 0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"imu_attitude: expected .*shape"):
        logs.Columns(**names, imu_attitude=(1, 0, 0))  # type: ignore[arg-type]
