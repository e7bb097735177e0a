"""EuRoC folders, read back with code that is independent of the library."""

from __future__ import annotations

import csv
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import datasets
from propwash.__main__ import main

yaml = pytest.importorskip("yaml")
image = pytest.importorskip("PIL.Image")
pytest.importorskip("scipy")
pytestmark = pytest.mark.filterwarnings("ignore:duration = ")  # short flights, on purpose

Array = NDArray[np.float64]

GRAVITY = np.array([0.0, 0.0, -9.81])
# spheres on the far wall, that the vehicle faces with constant yaw
MARKERS = np.array([[7.0, y, z] for y in (-3.0, -1.0, 1.5, 3.2) for z in (0.8, 2.4)])


def scene(folder: Path) -> Path:
    """A dark room with white spheres."""
    items = ['[[items]]\nshape = "plane"\nname = "floor"\ncolour = [0.0, 0.0, 0.0]']
    for name, position, size in (
        ("wall", (7.6, 0.0, 3.0), (0.2, 16.0, 6.0)),
        ("left", (0.0, 8.0, 3.0), (16.0, 0.2, 6.0)),
        ("right", (0.0, -8.0, 3.0), (16.0, 0.2, 6.0)),
        ("ceiling", (0.0, 0.0, 6.0), (16.0, 16.0, 0.2)),
    ):
        items.append(
            f'[[items]]\nshape = "box"\nname = "{name}"\ncategory = "{name}"\n'
            f"colour = [0.0, 0.0, 0.0]\nposition = {list(position)}\nsize = {list(size)}"
        )
    for number, position in enumerate(MARKERS.tolist()):
        items.append(
            f'[[items]]\nshape = "sphere"\nname = "marker{number}"\nradius = 0.06\n'
            f"colour = [1.0, 1.0, 1.0]\nposition = {position}"
        )
    file = folder / "markers.toml"
    file.write_text('name = "markers"\n\n' + "\n\n".join(items) + "\n")
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("euroc")
    dataset = datasets.Euroc(
        environment=str(scene(place)),
        duration=12.0,
        size=(376, 240),
        baseline=0.2,
        distortion=(-0.2, 0.05, 1e-3, -2e-3),
        seed=5,
    )
    return dataset.write(place / "flight", "star", "constant", 3.0)


def table(file: Path) -> tuple[list[str], list[list[str]]]:
    with file.open() as opened:
        header, *rows = csv.reader(opened)
    return header, rows


def numbers(file: Path) -> tuple[NDArray[np.int64], Array]:
    _, rows = table(file)
    return np.array([int(row[0]) for row in rows]), np.array([row[1:] for row in rows], dtype=float)


def rotation(q: Any) -> Array:
    """From the textbook: sensor to world for the quaternion w, x, y, z of the table."""
    w, x, y, z = q
    v = np.array([x, y, z])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * cross)


def test_files_and_columns_are_those_of_the_format(folder: Path) -> None:
    names = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    plain = {name for name in names if not name.endswith(".png")}
    assert plain == {
        "camchain-imucam.yaml",
        "imu.yaml",
        *(f"mav0/cam{k}/{name}" for k in (0, 1) for name in ("data.csv", "sensor.yaml")),
        *(f"mav0/imu0/{name}" for name in ("data.csv", "sensor.yaml")),
        *(f"mav0/state_groundtruth_estimate0/{name}" for name in ("data.csv", "sensor.yaml")),
    }
    header, rows = table(folder / "mav0/cam1/data.csv")
    assert header == ["#timestamp [ns]", "filename"]
    assert len(rows) == 20 * 12
    for stamp, name in rows:
        assert name == f"{stamp}.png"
        assert f"mav0/cam1/data/{name}" in names
    assert table(folder / "mav0/cam0/data.csv")[1] == rows
    header, _ = table(folder / "mav0/imu0/data.csv")
    assert [name.split()[0] for name in header] == [
        "#timestamp",
        *(f"w_RS_S_{axis}" for axis in "xyz"),
        *(f"a_RS_S_{axis}" for axis in "xyz"),
    ]


def test_images_readings_and_truth_have_the_time_stamps_of_one_clock(folder: Path) -> None:
    imu, _ = numbers(folder / "mav0/imu0/data.csv")
    truth, _ = numbers(folder / "mav0/state_groundtruth_estimate0/data.csv")
    images = np.array([int(row[0]) for row in table(folder / "mav0/cam0/data.csv")[1]])
    assert (np.diff(imu) == 5_000_000).all()
    assert (np.diff(images) == 50_000_000).all()
    np.testing.assert_array_equal(imu, truth)
    # the last image too, for programs that integrate readings between images
    assert set(images) <= set(imu)
    assert images[-1] == imu[-1]


def test_no_image_is_taken_after_the_flight(tmp_path: Path) -> None:
    """A duration that is no multiple of a camera period."""
    settings = datasets.Euroc(duration=8.0487, size=(16, 16))
    folder = settings.write(tmp_path / "flight", "oval", "constant", 1.0)
    imu, _ = numbers(folder / "mav0/imu0/data.csv")
    _, rows = table(folder / "mav0/cam0/data.csv")
    assert len(rows) == 160
    assert {int(stamp) for stamp, _ in rows} <= set(imu)


def test_the_truth_is_the_integral_of_the_imu(folder: Path) -> None:
    """Strapdown integration by the trapezoidal rule, from the truth, for a second at a time."""
    stamp, readings = numbers(folder / "mav0/imu0/data.csv")
    _, truth = numbers(folder / "mav0/state_groundtruth_estimate0/data.csv")
    gyro, force = readings[:, :3] - truth[:, 10:13], readings[:, 3:] - truth[:, 13:16]
    dt = np.diff(stamp) * 1e-9
    for first in range(0, 2000, 200):
        position, velocity = truth[first, :3].copy(), truth[first, 7:10].copy()
        attitude = rotation(truth[first, 3:7])
        for k in range(first, first + 200):
            turned = attitude @ rotation_of(0.5 * (gyro[k] + gyro[k + 1]) * dt[k])
            acceleration = 0.5 * (attitude @ force[k] + turned @ force[k + 1]) + GRAVITY
            position += velocity * dt[k] + 0.5 * acceleration * dt[k] ** 2
            velocity += acceleration * dt[k]
            attitude = turned
        np.testing.assert_allclose(position, truth[first + 200, :3], atol=0.02)
        np.testing.assert_allclose(velocity, truth[first + 200, 7:10], atol=0.03)
        np.testing.assert_allclose(attitude, rotation(truth[first + 200, 3:7]), atol=5e-3)


def rotation_of(vector: Array) -> Array:
    """The rotation about a vector [rad]."""
    half = 0.5 * float(np.linalg.norm(vector))
    return rotation([np.cos(half), *(0.5 * np.sinc(half / np.pi) * vector)])


def test_markers_reproject_through_the_chain_into_the_images(folder: Path) -> None:
    chain = yaml.safe_load((folder / "camchain-imucam.yaml").read_text())
    stamps, truth = numbers(folder / "mav0/state_groundtruth_estimate0/data.csv")
    errors: list[float] = []
    _, rows = table(folder / "mav0/cam0/data.csv")
    for stamp, name in rows[20:220:20]:
        row = truth[np.searchsorted(stamps, int(stamp))]
        for camera in ("cam0", "cam1"):
            pixels = np.asarray(image.open(folder / "mav0" / camera / "data" / name)).astype(float)
            f_u, f_v, c_u, c_v = chain[camera]["intrinsics"]
            to_camera = np.array(chain[camera]["T_cam_imu"])
            in_body = (MARKERS - row[:3]) @ rotation(row[3:7])
            x, y, z = to_camera[:3, :3] @ in_body.T + to_camera[:3, 3:]
            k1, k2, p1, p2 = chain[camera]["distortion_coeffs"]
            x, y = x / z, y / z
            r2 = x * x + y * y
            radial = 1.0 + k1 * r2 + k2 * r2 * r2
            bent_x = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
            bent_y = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
            u, v = f_u * bent_x + c_u, f_v * bent_y + c_v
            assert pixels.shape == tuple(reversed(chain[camera]["resolution"]))
            for centre in np.stack([u, v], axis=1)[z > 1.0]:
                if not (8 < centre[0] < 367 and 8 < centre[1] < 231):
                    continue
                corner = np.rint(centre).astype(int) - 6
                part = pixels[corner[1] : corner[1] + 13, corner[0] : corner[0] + 13]
                # threshold against the shading of the spheres
                weight = np.clip((part - part.min()) / (0.5 * np.ptp(part)), 0.0, 1.0)
                weight[weight < 0.2] = 0.0
                found = [(weight.sum(axis=k) @ np.arange(13)) / weight.sum() for k in (0, 1)]
                errors.append(float(np.linalg.norm(found + corner - centre)))
    assert len(errors) > 50
    assert max(errors) < 0.5


def test_calibrations_of_folder_and_chain_agree(folder: Path) -> None:
    chain = yaml.safe_load((folder / "camchain-imucam.yaml").read_text())
    poses = {}
    for camera in ("cam0", "cam1"):
        sensor = yaml.safe_load((folder / "mav0" / camera / "sensor.yaml").read_text())
        poses[camera] = np.array(sensor["T_BS"]["data"]).reshape(4, 4)
        np.testing.assert_allclose(
            poses[camera] @ np.array(chain[camera]["T_cam_imu"]), np.eye(4), atol=1e-12
        )
        assert sensor["intrinsics"] == chain[camera]["intrinsics"]
        assert sensor["rate_hz"] == 20
        assert sensor["distortion_coefficients"] == chain[camera]["distortion_coeffs"]
    between = np.linalg.inv(poses["cam1"]) @ poses["cam0"]
    np.testing.assert_allclose(between, chain["cam1"]["T_cn_cnm1"], atol=1e-12)
    assert between[0, 3] == pytest.approx(-0.2)
    imu = yaml.safe_load((folder / "mav0/imu0/sensor.yaml").read_text())
    noise = yaml.safe_load((folder / "imu.yaml").read_text())
    assert noise["update_rate"] == imu["rate_hz"] == 200
    for name in ("gyroscope", "accelerometer"):
        for part in ("noise_density", "random_walk"):
            assert noise[f"{name}_{part}"] == imu[f"{name}_{part}"]


def test_the_imu_has_the_stated_noise_density() -> None:
    """Readings minus the mean of the truth: white, with the density, whatever the rate."""
    from propwash import vehicles
    from propwash.datasets._flight import fly

    vehicle = vehicles.load("blackbird").replace(imu={"gyroscope_noise_density": 1e-3})
    path = datasets.closed_path("oval", "constant", 1.0)
    noisy, clean = fly(path, 1.0, vehicle, 40.0, 1), fly(path, 1.0, vehicle, 40.0, 2)
    assert len(noisy.motion) == len(clean.motion) == 72_000
    for rate in (100, 200):
        time, gyro, _ = noisy.imu(rate)
        steps = 1800 // rate
        rows = noisy.motion.body_rates[: len(time) * steps].reshape(-1, steps, 3)
        noise = gyro - rows.mean(axis=1) - noisy.motion.gyroscope_bias[steps - 1 :: steps]
        # (n - 1) s^2 / sigma^2 is chi-squared: relative deviation sqrt(1 / 2n), within 5 of them
        expected = 1e-3 * np.sqrt(rate)
        assert noise.std() == pytest.approx(expected, rel=5.0 / np.sqrt(2.0 * noise.size))


def test_moving_items_are_shown_at_the_time_of_the_flight(tmp_path: Path) -> None:
    from propwash.render import Offscreen, RenderCamera

    file = tmp_path / "moving.toml"
    file.write_text(
        'name = "moving"\n[[items]]\nshape = "box"\nname = "box"\nposition = [0.0, 0.0, 1.8]\n'
        "size = [0.5, 0.5, 1.0]\n"
        "motion = {times = [0.0, 8.0], positions = [[8.0, -3.0, 0.0], [8.0, 3.0, 0.0]]}\n"
    )
    settings = datasets.Euroc(environment=str(file), duration=8.0, size=(64, 48))
    folder = settings.write(tmp_path / "flight", "oval", "constant", 1.0)
    first, last = sorted((folder / "mav0/cam0/data").glob("*.png"))[:: 120 - 1][:2]
    stamps, truth = numbers(folder / "mav0/state_groundtruth_estimate0/data.csv")
    renderer = Offscreen(str(file), width=64, height=48, vertical_fov_deg=60.0, seed=0)
    camera = RenderCamera("cam0", "grey", (0.0, 0.055, 0.0))
    start = stamps[0] - 5_000_000
    for png, other in ((first, last), (last, first)):
        row = truth[np.searchsorted(stamps, int(png.stem))]
        at = {name.stem: (int(name.stem) - int(start)) * 1e-9 for name in (png, other)}
        shown = np.asarray(image.open(png))
        right, wrong = (
            renderer.render(camera, row[:3], row[3:7], time=time).images["cam0"]
            for time in at.values()
        )
        assert np.mean(np.abs(shown.astype(int) - right.astype(int)) > 1) < 0.01
        assert np.mean(np.abs(shown.astype(int) - wrong.astype(int)) > 1) > 0.02


def test_a_connected_renderer_gives_the_images(tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    from propwash.render import Server

    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        ports = (one.getsockname()[1], two.getsockname()[1])
    stopped = threading.Event()
    server = Server("room", ports=ports, seed=0)
    thread = threading.Thread(target=server.run, args=(stopped.is_set,), daemon=True)
    thread.start()
    try:
        arguments = ["--duration", "8", "--size", "64x48", "--speed", "1", "--environment", "room"]
        connect = ["--connect", str(ports[0]), str(ports[1])]
        far, near = (
            ["dataset", "euroc", "--out", str(tmp_path / name)] for name in ("far", "near")
        )
        assert main([*far, *arguments, *connect]) == 0
    finally:
        stopped.set()
        thread.join(10.0)
    assert main([*near, *arguments]) == 0
    images = sorted((tmp_path / "far").rglob("*.png"))
    assert len(images) == 2 * 160
    for file in images[::40]:
        other = tmp_path / "near" / file.relative_to(tmp_path / "far")
        assert file.read_bytes() == other.read_bytes()


def test_a_folder_that_exists_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dataset", "euroc", "--out", str(tmp_path)]) == 2
    assert "expected a new folder" in capsys.readouterr().err
    assert main(["dataset", "euroc", "--out", str(tmp_path / "x"), "--fov", "200"]) == 2
    assert "degrees between 0 and 180, got 200" in capsys.readouterr().err
