"""Flights in the format of the Blackbird data set."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from propwash import _checks
from propwash._core import __version__
from propwash._files import written_whole
from propwash.datasets import _catalogue as catalogue
from propwash.datasets._catalogue import Yaw
from propwash.datasets._flight import Progress, Recording, fly
from propwash.datasets._folders import whole_folder
from propwash.datasets._images import ImageArchive, LosslessVideo, check_encoder
from propwash.datasets._topics import CAMERA_RATE, Topics
from propwash.datasets._views import CameraViews, focal_length
from propwash.render import CATEGORIES, RenderCamera, category_number, id_colours
from propwash.render.cameras import Kind
from propwash.vehicle import files as vehicles
from propwash.world import Scene

VERTICAL_FOV_DEG = math.degrees(2.0 * math.atan(384.0 / 665.107510106))
"""Vertical field of view of the published camera matrix, 60 degrees."""
_DOWN = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)
_MOUNTS = {
    "Left": ((0.0, 0.05, 0.0), (1.0, 0.0, 0.0, 0.0)),
    "Right": ((0.0, -0.05, 0.0), (1.0, 0.0, 0.0, 0.0)),
    "Down": ((0.0, 0.0, 0.0), _DOWN),
}
"""Position [m] and attitude in body axes forward-left-up."""
_KINDS: dict[str, tuple[Kind, int]] = {
    "Gray": ("grey", 120),
    "RGB": ("rgb", 60),
    "Depth": ("depth8", 60),
    "Segmented": ("semantic", 60),
}
"""Kind and rate [Hz]."""
BLACKBIRD_CAMERAS = (
    "Camera_Left_Gray",
    "Camera_Right_Gray",
    "Camera_Down_Gray",
    "Camera_Left_RGB",
    "Camera_Down_RGB",
    "Camera_Left_Depth",
    "Camera_Down_Depth",
    "Camera_Left_Segmented",
    "Camera_Down_Segmented",
)
"""Folders of the nine cameras."""
_SETTINGS = "dataset.json"
_OFFSETS = "trajectoryOffsets.yaml"
_LABELS = "segmentationLabels.csv"


@dataclass(frozen=True)
class Blackbird:
    """Writes flights of the built-in vehicle in the format of the Blackbird data set.

    `docs/datasets.md` describes the files, and differences from the published set. Raises
    ValueError for invalid settings, ImportError if a package is missing.
    """

    environment: str = "room"
    """Name or file of the scene; with `connect` that of a scene of the renderer."""
    duration: float = 200.0
    """s, of each flight."""
    size: tuple[int, int] = (1024, 768)
    """px, width and height of the images; even numbers."""
    cameras: tuple[str, ...] = BLACKBIRD_CAMERAS
    """Names of `BLACKBIRD_CAMERAS`; () for flights without images."""
    seed: int = 0
    """Seed of the scene and of the noise, which also depends on the trajectory."""
    vehicle: str = "blackbird"
    """Name or file of a vehicle with four rotors."""
    motion_blur: float = 0.0
    """s, exposure of the colour cameras."""
    connect: tuple[int, int] | None = None
    """Ports for poses and images, to which a renderer connects; None: the built-in renderer."""

    def __post_init__(self) -> None:
        _checks.positive("duration", self.duration, "s")
        _checks.seed(self.seed)
        for name, value in zip(("width", "height"), self.size, strict=True):
            _checks.whole_number(name, value, 16, 8192)
        known = ", ".join(BLACKBIRD_CAMERAS)
        for name in self.cameras:
            if name not in BLACKBIRD_CAMERAS:
                raise ValueError(f"cameras: expected some of {known}, got {name!r:.100}")
        if self.cameras and self.connect is None:
            Scene.load(self.environment, seed=self.seed)
        _checks.not_negative("motion_blur", self.motion_blur, "s")
        rotors = len(vehicles.load(self.vehicle).rotors)
        if rotors != 4:
            raise ValueError(f"vehicle: expected four rotors, {self.vehicle} has {rotors}")

    @property
    def environment_folder(self) -> str:
        """The folder of images of a flight: "my_room.toml" is in "My_Room"."""
        stem = Path(self.environment).name.removesuffix(".toml")
        return "_".join(part[:1].upper() + part[1:] for part in stem.split("_"))

    def files(self, trajectory: str, yaw: Yaw, speed: float) -> list[str]:
        """Paths of all files of a flight, in the folder of the data set."""
        flight = catalogue.folder_of(trajectory, yaw, speed)
        names = ["rosbag.bag", "flightNormalizationOffset.csv", "groundTruthPoses.csv"]
        names += [f"csv/blackbird_slash_{name}.csv" for name in _TABLES]
        names += [f"csv/camera_{camera}_slash_camera_info.csv" for camera in "dlr"]
        names.append("csv/tf.csv")
        cameras = self._cameras_of(trajectory)
        if cameras:
            names += [
                f"{self.environment_folder}/{name}" for name in ("120hzTimestamps.csv", _LABELS)
            ]
        for camera in cameras:
            folder = f"{self.environment_folder}/{camera}"
            names += [f"{folder}/{_container(camera)}", f"{folder}/nSecTimestamps.txt"]
        return [_OFFSETS, _SETTINGS, *(f"{flight}/{name}" for name in names)]

    def is_written(self, out: str | PathLike[str], trajectory: str, yaw: Yaw, speed: float) -> bool:
        """Whether a flight, with its images, is complete in a data set."""
        folder = Path(out) / catalogue.folder_of(trajectory, yaw, speed)
        has_images = bool(self._cameras_of(trajectory))
        return (folder / self.environment_folder if has_images else folder).is_dir()

    def write(
        self,
        out: str | PathLike[str],
        trajectory: str,
        yaw: Yaw,
        speed: float,
        *,
        progress: Progress | None = None,
    ) -> Path:
        """Writes a flight into the data set `out` and returns its folder.

        The folder appears when it is complete; a complete one is not written again. A flight
        without images of this environment gets them. progress: called with the completed fraction.

        Raises ValueError for an invalid trajectory and for a data set with other settings; OSError
        if a file cannot be written, for example on a full disk: nothing incomplete remains.
        """
        out = Path(out)
        folder = out / catalogue.folder_of(trajectory, yaw, speed)
        vehicle = vehicles.load(self.vehicle)
        path = catalogue.closed_path(trajectory, yaw, speed, vehicle)
        if self._cameras_of(trajectory):
            check_encoder()
        settings = self._settings_with(out)
        if self.is_written(out, trajectory, yaw, speed):
            return folder
        number = catalogue.sequence_seed(self.seed, trajectory, yaw, speed)
        recording = fly(path, speed, vehicle, self.duration, number)
        focal = focal_length(self.size[1], VERTICAL_FOV_DEG)
        topics = Topics(recording, *self.size, focal)
        _write_settings(out, settings)  # of a flight that can be flown
        if folder.is_dir():
            with whole_folder(folder / self.environment_folder) as part:
                self._write_images(part, recording, topics, trajectory, progress)
            return folder
        with whole_folder(folder) as part:
            _write_flight(part, topics)
            if self._cameras_of(trajectory):
                images = part / self.environment_folder
                images.mkdir()
                self._write_images(images, recording, topics, trajectory, progress)
        if progress is not None:
            progress(1.0)
        return folder

    def _cameras_of(self, trajectory: str) -> tuple[str, ...]:
        return () if trajectory in catalogue.WITHOUT_CAMERAS else self.cameras

    def _settings_with(self, out: Path) -> dict[str, Any]:
        """The settings of the data set with these. Raises ValueError if it has others."""
        flights = {name: getattr(self, name) for name in ("duration", "size", "seed", "vehicle")}
        images = {name: getattr(self, name) for name in ("environment", "cameras", "motion_blur")}
        settings: dict[str, Any] = {"flights": flights, "images": {}, "version": __version__}
        if self.cameras:
            settings["images"] = {self.environment_folder: images}
        settings = json.loads(json.dumps(settings))
        file = out / _SETTINGS
        if file.exists():
            there = _read_settings(file)
            _compare(settings["flights"], there["flights"], out)
            for folder, values in settings["images"].items():
                _compare(values, there["images"].get(folder, values), out)
            settings["images"] = there["images"] | settings["images"]
        return settings

    def _write_images(
        self,
        folder: Path,
        recording: Recording,
        topics: Topics,
        trajectory: str,
        progress: Progress | None,
    ) -> None:
        cameras = self._cameras_of(trajectory)
        rows = recording.rows(CAMERA_RATE)
        stamps = topics.camera_stamps
        np.savetxt(folder / "120hzTimestamps.csv", stamps, fmt="%d")
        every = {name: CAMERA_RATE // _KINDS[name.rpartition("_")[2]][1] for name in cameras}
        mounted = [_mounted(name, self.motion_blur) for name in cameras]
        with (
            CameraViews(
                mounted,
                self.environment,
                self.size,
                VERTICAL_FOV_DEG,
                connect=self.connect,
                seed=self.seed,
            ) as views,
            ExitStack() as stack,
        ):
            _write_labels(folder / _LABELS, views.labels())
            writers: dict[str, Callable[[np.ndarray, int], None]] = {}
            for name in cameras:
                (folder / name).mkdir()
                times = stamps[:: every[name]]
                np.savetxt(folder / name / "nSecTimestamps.txt", times, fmt="%d")
                file = folder / name / _container(name)
                writers[name] = _writer(stack, file, CAMERA_RATE / every[name])
            motion = recording.motion
            for number, (row, stamp) in enumerate(zip(rows, stamps.tolist(), strict=True)):
                due = [name for name in cameras if number % every[name] == 0]
                if due:
                    images = views.take(due, motion, row)
                    for name in due:
                        writers[name](images[name], stamp)
                if progress is not None:
                    progress((number + 1) / len(rows))


_TABLES = ("imu", "pose_ref", "pwm", "rotor_rpm", "state")


def _write_settings(out: Path, settings: dict[str, Any]) -> None:
    """Creates the data set, or updates its settings."""
    out.mkdir(parents=True, exist_ok=True)
    with written_whole(out / _SETTINGS) as part:
        part.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    with written_whole(out / _OFFSETS) as part:
        part.write_text(_offsets(settings["images"]), encoding="utf-8")


def _read_settings(file: Path) -> dict[str, Any]:
    """The settings of a data set."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        is_valid = all(isinstance(found[name], dict) for name in ("flights", "images"))
    except (ValueError, KeyError, TypeError):
        is_valid = False
    if not is_valid:
        raise ValueError(f"{file}: expected the settings of a data set; restore it")
    return dict(found)


def _compare(settings: dict[str, Any], there: dict[str, Any], out: Path) -> None:
    """Raises ValueError for a setting that differs from that of the data set."""
    for key, value in settings.items():
        if there.get(key) != value:
            raise ValueError(
                f"{key}: expected {there.get(key)!r:.200} as in {out}, got {value!r:.200}; use the "
                "same, or another folder"
            )


def _container(camera: str) -> str:
    return "lossless.tar" if camera.endswith(("Depth", "Segmented")) else "lossless.mov"


def _mounted(camera: str, motion_blur: float) -> RenderCamera:
    """The camera of the name of its folder."""
    _, place, sensor = camera.split("_")
    position, attitude = _MOUNTS[place]
    kind = _KINDS[sensor][0]
    exposure = motion_blur if kind == "rgb" else 0.0
    return RenderCamera(camera, kind, position, attitude, collision=False, motion_blur=exposure)


def _writer(stack: ExitStack, file: Path, rate: float) -> Callable[[np.ndarray, int], None]:
    """Returns a function that adds an image with its time stamp to a video or an archive."""
    if file.suffix == ".tar":
        return stack.enter_context(ImageArchive(file)).append
    video = stack.enter_context(LosslessVideo(file, rate))
    return lambda image, stamp: video.append(image)


def _write_flight(folder: Path, topics: Topics) -> None:
    """Writes the files of a flight without images."""
    np.savetxt(folder / "flightNormalizationOffset.csv", np.zeros((1, 3)), "%f", ",")
    poses = np.column_stack([topics.position, topics.attitude])
    with (folder / "groundTruthPoses.csv").open("w", encoding="utf-8") as file:
        for stamp, row in zip((topics.stamps // 1000).tolist(), poses.tolist(), strict=True):
            file.write(f"{stamp},{','.join(f'{value:f}' for value in row)}\n")
    (folder / "csv").mkdir()
    topics.write_tables(folder / "csv")
    topics.write_bag(folder / "rosbag.bag")


def _write_labels(file: Path, categories: Iterable[str]) -> None:
    """Writes numbers, names and colours of the categories in "Segmented" images."""
    names = dict.fromkeys([*CATEGORIES, *categories])
    numbers = [0, *(category_number(name) for name in names)]
    colours = id_colours(np.array(numbers))
    with file.open("w", encoding="utf-8") as table:
        table.write("label,name,red,green,blue\n")
        for number, name, colour in zip(numbers, ["background", *names], colours, strict=True):
            table.write(f"{number},{name},{','.join(map(str, colour))}\n")


def _offsets(images: dict[str, Any]) -> str:
    """Offsets of the trajectories in the environments, all zero, in the published form."""
    lines = ["unitySettings:"]
    for trajectory in catalogue.trajectory_names():
        lines.append(f"    {trajectory}:{'' if images else ' []'}")
        for name, settings in images.items():
            lines += [
                f"        - name: {name}",
                f"          environment: {json.dumps(settings['environment'])}",
                "          offset: [0.0, 0.0, 0.0, 0.0]",
                "          ros_offset: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # x,y,z,qx,qy,qz,qw",
            ]
    return "\n".join(lines) + "\n"
