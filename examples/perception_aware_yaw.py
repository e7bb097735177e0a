"""Compares perception-aware yaw with a forward-facing camera, at several speeds.

The positions of a path are planned first (minimum snap), its yaw second: such that landmarks of the
scene stay in the image from one keyframe to the next. Both flights are simulated with the true
state, and corners are tracked through the rendered grey images. With --vio they are also flown on
the estimate of visual-inertial odometry (vio_in_the_loop.py).

    pip install "propwash[vision,tune,viz]"
    python examples/perception_aware_yaw.py [--scene room] [--speeds 2 4 6] [--plot yaw.png]
"""

import argparse
import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path as File

import cv2
import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import trajectories
from propwash.render import Offscreen
from propwash.trajectories import Path
from propwash.world import surface_points

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

WIDTH, HEIGHT, FOV = 320, 240, 70.0
FRAME_RATE, FRAMES = 20, 4  # Hz; images from one keyframe to the next
CORNERS, SPACING = 150, 8.0  # maximum number of corners of an image; px between them
NEAR = 1.0  # m, distance at which a landmark counts one half
MAX_SPEED = 10.0  # m/s, that the vehicle keeps in these rooms
DT, INTERVAL = 1.0 / 960.0, 4
VEHICLE = "blackbird"
# waypoints; centre and radius of the sphere with landmarks
IMAGES = (".png", ".pdf", ".svg", ".jpg")
SCENES = {
    "room": (
        [(-3, -3, 1.2), (3, -2.5, 1.8), (3, 2.5, 1.2), (-2.5, 3, 2), (-2.5, -2, 1.5), (3, 0, 1)],
        ((0, 0, 2.75), 9.0),
    ),
    "warehouse": (
        [(-15, 0, 2), (0, 0, 2.5), (15, 0.5, 2), (15, 4, 2), (0, 4.4, 2.5), (-15, 4.4, 2)],
        ((0, 2, 3), 22.0),
    ),
}


@dataclass(frozen=True, eq=False)
class Result:
    """One flight of the comparison."""

    path: Path
    tracked: Array
    """Corners tracked from each keyframe to the next."""
    errors: tuple[float, ...] = ()
    """m rms of position, of the flights on the estimate; NaN: the flight ended early."""


def plan(points: list[tuple[float, float, float]], speed: float) -> Path:
    """The path of minimum snap through waypoints with a maximum speed [m/s]."""
    slow = trajectories.minimum_snap(points, VEHICLE, duration=100.0)
    fastest = np.linalg.norm(slow.sample(period=0.05).velocity, axis=1).max()
    duration = 100.0 * fastest / speed
    return trajectories.minimum_snap(points, VEHICLE, duration=duration, yaw="along")


def landmarks_along(scene: pw.Scene, path: Path, sphere: tuple[tuple[float, ...], float]) -> Array:
    """500 surface points of the scene that are visible from somewhere on the path."""
    points = surface_points(scene, 8000, *sphere, seed=1)
    places = path.sample(np.linspace(0.0, path.duration, 40)).position
    return points[scene.visible(places[:, None], points[None]).any(axis=0)][:500]


def fly(path: Path) -> tuple[Array, Array]:
    """Positions (T, 3) and attitudes (T, 4) at the images of a flight with the true state."""
    reference = path.sample(period=INTERVAL * DT)
    uav = pw.Multicopter(VEHICLE, seed=1)
    attitude = trajectories.flatness(reference[:1], VEHICLE).attitude[0]
    uav.reset(position=reference.position[0], attitude=attitude)
    flown = uav.rollout(reference.command(), DT, substeps=INTERVAL)
    rows = slice(None, None, round(1.0 / (INTERVAL * DT * FRAME_RATE)))
    return flown.position[rows], flown.attitude[rows]


def tracked(images: list[Image]) -> Array:
    """Numbers of corners that are tracked from each keyframe to the next."""
    counts = []
    for start in range(0, len(images) - FRAMES, FRAMES):
        corners = cv2.goodFeaturesToTrack(images[start], CORNERS, 0.01, SPACING)
        for before, after in zip(images[start : start + FRAMES], images[start + 1 :], strict=False):
            if corners is not None and len(corners):
                corners = followed(before, after, corners)
        counts.append(0 if corners is None else len(corners))
    return np.array(counts, dtype=np.float64)


def followed(before: Image, after: Image, corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Positions in the next image of the corners that are found there and, from there, back."""
    there, found, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None)
    back, returned, _ = cv2.calcOpticalFlowPyrLK(after, before, there, None)
    good = ((there > 0.0) & (there < (WIDTH, HEIGHT))).all(axis=(1, 2))
    good &= (np.abs(back - corners) < 0.5).all(axis=(1, 2))
    return there[good & (found.ravel() > 0) & (returned.ravel() > 0)]


def estimated(scene: pw.Scene, path: Path, seeds: int) -> tuple[float, ...]:
    """Position errors [m rms] of flights on the estimate of odometry; nan: it ended early."""
    from vio import fly as fly_on_estimate

    flights = [fly_on_estimate(scene, path, seed) for seed in range(seeds)]
    return tuple(
        float("nan") if each.end else float(np.sqrt(np.mean(each.error**2))) for each in flights
    )


def compare(name: str, speed: float, seeds: int) -> dict[str, Result]:
    """Flies a path with each yaw."""
    waypoints, sphere = SCENES[name]
    scene = pw.Scene.load(name, seed=1)
    camera = pw.Camera(WIDTH, HEIGHT, FOV)
    forward = plan(waypoints, speed)
    aware = trajectories.perception_aware_yaw(
        forward,
        landmarks_along(scene, forward, sphere),
        camera,
        VEHICLE,
        scene=scene,
        half_distance=NEAR,
        interval=FRAMES / FRAME_RATE,
    )
    renderer = Offscreen(scene, width=WIDTH, height=HEIGHT, vertical_fov_deg=FOV)
    results = {}
    for label, path in (("forward-facing", forward), ("perception-aware", aware)):
        images = [
            renderer.render("grey", *pose).images["grey"] for pose in zip(*fly(path), strict=True)
        ]
        results[label] = Result(path, tracked(images))
        if seeds:
            results[label] = replace(results[label], errors=estimated(scene, path, seeds))
    return results


def plot(file: str, speeds: list[float], rows: list[dict[str, Result]]) -> None:
    """Plots the paths with their headings, and the tracked corners over time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(rows), figsize=(4.2 * len(rows), 7.5), layout="constrained")
    axes = axes.reshape(2, -1)
    for (top, bottom), speed, results in zip(axes.T, speeds, rows, strict=True):
        for (label, result), colour in zip(results.items(), ("tab:grey", "tab:blue"), strict=True):
            now = result.path.sample(np.linspace(0.0, result.path.duration, 60))
            if colour == "tab:grey":
                top.plot(now.position[:, 0], now.position[:, 1], "k", lw=1)
            top.quiver(
                *now.position[:, :2].T,
                np.cos(now.yaw),
                np.sin(now.yaw),
                color=colour,
                scale=18,
                width=0.005,
                label=label,
            )
            time = np.arange(len(result.tracked)) * FRAMES / FRAME_RATE
            bottom.plot(time, result.tracked, color=colour, label=label)
        top.set(title=f"{speed:g} m/s", xlabel="x [m]", ylabel="y [m]", aspect="equal")
        bottom.set(xlabel="time [s]", ylabel="tracked corners", ylim=(0, CORNERS))
    axes[1, 0].legend()
    figure.savefig(file, dpi=110)
    print(file)


def main(argv: list[str] | None = None) -> int:
    """Compares, prints a table and plots. Returns 1 for invalid arguments."""
    arguments = arguments_of(argv)
    try:
        check(arguments)
        run(arguments)
    except (ValueError, OSError) as error:
        print(f"error: {error}")
        return 1
    return 0


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", choices=SCENES, default="room")
    parser.add_argument("--speeds", type=float, nargs="+", default=[2.0, 4.0, 6.0], help="m/s")
    parser.add_argument("--vio", type=int, default=0, metavar="N", help="N flights on the estimate")
    parser.add_argument("--plot", help="an image file")
    return parser.parse_args(argv)


def check(arguments: argparse.Namespace) -> None:
    """Raises ValueError for arguments that would fail after minutes of flights."""
    for speed in arguments.speeds:
        if not 0.1 <= speed <= MAX_SPEED:
            raise ValueError(f"speeds = {speed:g} m/s: expected 0.1 to {MAX_SPEED:g}; use 2 4 6")
    if arguments.vio < 0:
        raise ValueError(f"vio = {arguments.vio}: expected a number of flights, 0 or more")
    if arguments.vio and importlib.util.find_spec("gtsam") is None:
        raise ValueError("gtsam not found; pip install 'propwash[vio]'")
    if arguments.plot and not File(arguments.plot).resolve().parent.is_dir():
        raise ValueError(f"plot = {arguments.plot}: expected a file in an existing folder")
    if arguments.plot and File(arguments.plot).suffix.lower() not in IMAGES:
        raise ValueError(f"plot = {arguments.plot}: expected a name that ends in {IMAGES[0]}")


def mean_error(errors: tuple[float, ...]) -> str:
    """The mean [m] of the flights that reached the end, and how many did not."""
    reached = [error for error in errors if np.isfinite(error)]
    lost = len(errors) - len(reached)
    mean = f"{np.mean(reached):12.3f}" if reached else f"{'-':>12}"
    return mean + (f"  ({lost} of {len(errors)} ended early)" if lost else "")


def run(arguments: argparse.Namespace) -> None:
    """Flies the comparison, prints its table and plots it."""
    print(
        "max speed  yaw               tracked: mean  minimum"
        + "  error: m rms" * (arguments.vio > 0)
    )
    rows = []
    for speed in arguments.speeds:
        rows.append(compare(arguments.scene, speed, arguments.vio))
        for label, result in rows[-1].items():
            errors = f"  {mean_error(result.errors)}" if arguments.vio else ""
            mean, minimum = result.tracked.mean(), result.tracked.min()
            print(f"{speed:5.1f} m/s  {label:16} {mean:14.1f} {minimum:8.0f}{errors}", flush=True)
    if arguments.plot:
        plot(arguments.plot, arguments.speeds, rows)


if __name__ == "__main__":
    sys.exit(main())
