"""A flight as a EuRoC (ASL) folder, with kalibr's calibration of cameras and IMU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _rotation
from propwash.datasets import _catalogue as catalogue
from propwash.datasets._catalogue import Yaw
from propwash.datasets._flight import STEP_RATE, Progress, Recording, fly
from propwash.datasets._folders import whole_folder
from propwash.datasets._images import Image, png
from propwash.datasets._topics import EPOCH_NS
from propwash.datasets._views import CameraViews, focal_length
from propwash.render.cameras import RenderCamera, stereo
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters
from propwash.viz import video as _video
from propwash.world import Scene

Array = NDArray[np.float64]

CAMERA_RATE, IMU_RATE = 20, 200
"""Rates of the cameras and of the IMU [Hz]."""
_IMU_CENTRE = (STEP_RATE // IMU_RATE - 1) // 2
"""Steps from the first of a reading to its middle one. Readings begin so many steps late, and the
flight ends so many later, so that their times are multiples of the period, the last one included.
"""
_NAMES = ("cam0", "cam1")
_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Axes right, down, forward of an image, in forward, left, up."""
_IMU_COLUMNS = (
    "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
    "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]"
)
_TRUTH_COLUMNS = (
    "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
    "q_RS_z [], v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], "
    "b_w_RS_S_y [rad s^-1], b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], "
    "b_a_RS_S_z [m s^-2]"
)


@dataclass(frozen=True)
class Euroc:
    """Writes a flight of a Blackbird trajectory as a EuRoC folder, with images of a stereo pair.

    Grey images at 20 Hz, IMU and ground truth at 200 Hz, with the time stamps of one clock. The
    body frame is that of the IMU: x forward, y left, z up. Raises ValueError for invalid settings.
    """

    environment: str = "room"
    """Name or file of the scene; with `connect` that of a scene of the renderer."""
    duration: float = 60.0
    """Duration of the flight [s]."""
    size: tuple[int, int] = (752, 480)
    """px, width and height."""
    vertical_fov_deg: float = 60.0
    """Degrees."""
    baseline: float = 0.11
    """m, between the cameras, left and right of the IMU."""
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """k1, k2, p1, p2 of the radial-tangential model; of the built-in renderer only."""
    motion_blur: float = 0.0
    """s, exposure of the images."""
    seed: int = 0
    """Seed of the noise and of the scene."""
    vehicle: str = "blackbird"
    """Name or file."""
    connect: tuple[int, int] | None = None
    """Ports for poses and images, to which a renderer connects; None: the built-in renderer."""

    def __post_init__(self) -> None:
        _checks.positive("duration", self.duration, "s")
        _checks.positive("baseline", self.baseline, "m")
        _checks.seed(self.seed)
        for name, value in zip(("width", "height"), self.size, strict=True):
            _checks.whole_number(name, value, 16, 8192)
        _checks.number(
            "vertical_fov_deg",
            self.vertical_fov_deg,
            "degrees between 0 and 180",
            lambda x: 0.0 < x < 180.0,
        )
        _ = self._cameras  # checks distortion and motion blur
        if self.connect is None:
            Scene.load(self.environment, seed=self.seed)

    def write(
        self,
        folder: str | PathLike[str],
        trajectory: str = "oval",
        yaw: Yaw = "forward",
        speed: float = 2.0,
        *,
        progress: Progress | None = None,
    ) -> Path:
        """Writes a flight and returns its folder, which appears when it is complete.

        progress: called with the completed fraction. Raises ValueError for an invalid trajectory
        or a folder that exists, OSError if a file cannot be written: nothing incomplete remains.
        """
        folder = Path(folder)
        if folder.exists():
            raise ValueError(f"{folder}: expected a new folder, it exists; choose another name")
        vehicle = vehicles.load(self.vehicle)
        path = catalogue.closed_path(trajectory, yaw, speed, vehicle)
        recording = fly(path, speed, vehicle, self.duration, self.seed, _IMU_CENTRE)
        with whole_folder(folder) as part:
            self._write_sensors(part / "mav0", recording)
            self._write_calibration(part, vehicle)
            self._write_images(part / "mav0", recording, progress)
        return folder

    @property
    def _cameras(self) -> list[RenderCamera]:
        return [
            replace(camera, distortion=self.distortion, motion_blur=self.motion_blur)
            for camera in stereo("grey", self.baseline, names=_NAMES)
        ]

    def _intrinsics(self) -> list[float]:
        """Focal lengths and principal point, where (0, 0) is the centre of the first pixel."""
        width, height = self.size
        f = focal_length(height, self.vertical_fov_deg)
        return [f, f, 0.5 * (width - 1), 0.5 * (height - 1)]

    def _write_sensors(self, folder: Path, recording: Recording) -> None:
        motion, imu = recording.motion, recording.vehicle.imu
        time, gyroscope, accelerometer = recording.imu(IMU_RATE, first=_IMU_CENTRE)
        _table(folder / "imu0", _IMU_COLUMNS, time, gyroscope, accelerometer)
        values: dict[str, object] = {
            "sensor_type": "imu",
            "comment": f"simulated IMU of {recording.vehicle.name}",
            "T_BS": np.eye(4),
            "rate_hz": IMU_RATE,
            "gyroscope_noise_density": _mean(imu.gyroscope_noise_density),
            "gyroscope_random_walk": _mean(imu.gyroscope_bias_walk),
            "accelerometer_noise_density": _mean(imu.accelerometer_noise_density),
            "accelerometer_random_walk": _mean(imu.accelerometer_bias_walk),
        }
        _yaml(folder / "imu0" / "sensor.yaml", values)
        rows = recording.rows(IMU_RATE)[: len(time)]
        truth = folder / "state_groundtruth_estimate0"
        _table(
            truth,
            _TRUTH_COLUMNS,
            motion.time[rows],
            motion.position[rows],
            motion.attitude[rows],
            motion.velocity[rows],
            motion.gyroscope_bias[rows],
            motion.accelerometer_bias[rows],
        )
        _yaml(
            truth / "sensor.yaml",
            {
                "sensor_type": "visual-inertial",
                "comment": "state and biases of the simulation",
                "T_BS": np.eye(4),
            },
        )

    def _write_calibration(self, folder: Path, vehicle: VehicleParameters) -> None:
        """Writes kalibr's files."""
        lines: list[str] = []
        poses = [_pose(camera) for camera in self._cameras]
        for number, (name, pose) in enumerate(zip(_NAMES, poses, strict=True)):
            lines += [f"{name}:", "  T_cam_imu:", *_rows(_inverse(pose))]
            if number > 0:
                lines += ["  T_cn_cnm1:", *_rows(_inverse(pose) @ poses[number - 1])]
            lines += [
                f"  cam_overlaps: [{1 - number}]",
                "  camera_model: pinhole",
                f"  distortion_coeffs: {list(map(float, self.distortion))}",
                "  distortion_model: radtan",
                f"  intrinsics: {self._intrinsics()}",
                f"  resolution: {list(self.size)}",
                f"  rostopic: /{name}/image_raw",
                "  timeshift_cam_imu: 0.0",
            ]
        _text(folder / "camchain-imucam.yaml", lines)
        imu = vehicle.imu
        _text(
            folder / "imu.yaml",
            [
                f"accelerometer_noise_density: {_mean(imu.accelerometer_noise_density)}",
                f"accelerometer_random_walk: {_mean(imu.accelerometer_bias_walk)}",
                f"gyroscope_noise_density: {_mean(imu.gyroscope_noise_density)}",
                f"gyroscope_random_walk: {_mean(imu.gyroscope_bias_walk)}",
                "rostopic: /imu0",
                f"update_rate: {IMU_RATE}.0",
            ],
        )

    def _write_images(self, folder: Path, recording: Recording, progress: Progress | None) -> None:
        pillow = _video.pillow()
        rows = recording.rows(CAMERA_RATE)
        rows = rows[rows < len(recording.motion) - _IMU_CENTRE]
        stamps = _stamps(recording.motion.time[rows])
        for camera in self._cameras:
            (folder / camera.name / "data").mkdir(parents=True)
            lines = [f"{stamp},{stamp}.png" for stamp in stamps]
            _text(folder / camera.name / "data.csv", ["#timestamp [ns],filename", *lines])
            values: dict[str, object] = {
                "sensor_type": "camera",
                "comment": f"rendered images of {self.environment}",
                "T_BS": _pose(camera),
                "rate_hz": CAMERA_RATE,
                "resolution": list(self.size),
                "camera_model": "pinhole",
                "intrinsics": self._intrinsics(),
                "distortion_model": "radial-tangential",
                "distortion_coefficients": list(map(float, self.distortion)),
            }
            _yaml(folder / camera.name / "sensor.yaml", values)
        with CameraViews(
            self._cameras,
            self.environment,
            self.size,
            self.vertical_fov_deg,
            connect=self.connect,
            seed=self.seed,
        ) as views:
            motion = recording.motion
            for number, (row, stamp) in enumerate(zip(rows, stamps, strict=True), 1):
                names = [camera.name for camera in self._cameras]
                images = views.take(names, motion, row)
                for name, image in images.items():
                    file = folder / name / "data" / f"{stamp}.png"
                    file.write_bytes(png(pillow, _grey(image)))
                if progress is not None:
                    progress(number / len(rows))


def _grey(image: Image) -> Image:
    return image if image.ndim == 2 else np.ascontiguousarray(image[..., 0])


def _pose(camera: RenderCamera) -> Array:
    """(4, 4) from the axes of the image (right, down, forward) to the body."""
    pose = np.eye(4)
    pose[:3, :3] = _rotation.rotation(camera.attitude) @ _OPTICAL
    pose[:3, 3] = camera.position
    return pose


def _inverse(pose: Array) -> Array:
    inverse = np.eye(4)
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse


def _stamps(time: Array) -> list[int]:
    """Time stamps [ns] of times [s] since the start."""
    return [EPOCH_NS + round(t * 1e9) for t in time.tolist()]


def _mean(value: float | Sequence[float]) -> float:
    """One number for the three axes."""
    return float(np.mean(value))


def _table(folder: Path, columns: str, time: Array, *values: Array) -> None:
    """Writes data.csv: time stamps and columns of numbers."""
    folder.mkdir(parents=True)
    with (folder / "data.csv").open("w", encoding="utf-8") as file:
        file.write(f"{columns}\n")
        for stamp, row in zip(_stamps(time), np.column_stack(values).tolist(), strict=True):
            file.write(f"{stamp},{','.join(map(repr, row))}\n")


def _yaml(file: Path, values: dict[str, object]) -> None:
    """Writes sensor.yaml, in which matrices have rows, columns and data."""
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            data = ", ".join(repr(number) for number in value.reshape(-1).tolist())
            lines += [f"{key}:", f"  cols: {value.shape[1]}", f"  rows: {value.shape[0]}"]
            lines.append(f"  data: [{data}]")
        else:
            lines.append(f"{key}: {value}")
    _text(file, lines)


def _rows(matrix: Array) -> list[str]:
    return [f"  - {row}" for row in (matrix + 0.0).tolist()]


def _text(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
