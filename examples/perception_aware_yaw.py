"""Compares perception-aware yaw with a forward-facing camera, at three speeds.

A minimum-snap path is planned first. Its yaw is then planned so that landmarks of the scene stay in
the image from one keyframe to the next. Both flights are simulated with the true state; corners are
tracked through the rendered grey images. With --vio, visual-inertial odometry runs as well.

    python examples/perception_aware_yaw.py [--scene room] [--speeds 2 4 6] [--out yaw.png]
"""

import argparse
from dataclasses import dataclass

import cv2
import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import trajectories
from propwash.render import Offscreen
from propwash.trajectories import Path
from propwash.world import surface_points

Array = NDArray[np.float64]

WIDTH, HEIGHT, FOV = 320, 240, 70.0
FRAME_RATE, KEYFRAMES = 20, 4  # Hz; frames per keyframe
CORNERS, SPACING = 150, 8  # features of an image; px between them
VEHICLE = "flightgoggles"
WAYPOINTS = {
    "room": [
        (-3, -3, 1.2),
        (3, -2.5, 1.8),
        (3, 2.5, 1.2),
        (-2.5, 3, 2.0),
        (-2.5, -2, 1.5),
        (3, 0, 1),
    ],
    "warehouse": [(-15, 0, 2), (0, 0, 2.5), (15, 1, 2), (15, 4, 2), (0, 4.4, 2.5), (-15, 4.4, 2)],
}


def plan(scene: str, speed: float) -> Path:
    """The path of minimum snap through the waypoints of a scene, with a maximum speed [m/s]."""
    points = WAYPOINTS[scene]
    slow = trajectories.minimum_snap(points, VEHICLE, duration=100.0, yaw="along")
    fastest = np.linalg.norm(slow.sample(period=0.1).velocity, axis=1).max()
    return trajectories.minimum_snap(points, VEHICLE, duration=100.0 * fastest / speed, yaw="along")


def fly(path: Path) -> tuple[Array, Array]:
    """Positions (T, 3) and attitudes (T, 4) at the images of a flight with the true state."""
    reference = path.sample(period=4 / 960)
    uav = pw.Multicopter(VEHICLE, seed=1)
    first = trajectories.flatness(reference[:2], VEHICLE)
    uav.reset(position=reference.position[0], attitude=first.attitude[0])
    flown = uav.rollout(reference.command(), 1 / 960, substeps=4)
    rows = slice(None, None, 960 // 4 // FRAME_RATE)
    return flown.position[rows], flown.attitude[rows]


def track(images: list[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """Numbers of corners that are tracked from each keyframe to the next."""
    counts = []
    for start in range(0, len(images) - KEYFRAMES, KEYFRAMES):
        corners = cv2.goodFeaturesToTrack(images[start], CORNERS, 0.01, SPACING)
        for k in range(start, start + KEYFRAMES):
            if corners is None or len(corners) == 0:
                break
            corners = follow(images[k], images[k + 1], corners)
        counts.append(0 if corners is None else len(corners))
    return np.array(counts)


def follow(
    before: NDArray[np.uint8], after: NDArray[np.uint8], corners: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The positions of corners in the next image, of those that are found forth and back."""
    options = {"winSize": (15, 15), "maxLevel": 3}
    there, found, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None, **options)
    back, returned, _ = cv2.calcOpticalFlowPyrLK(after, before, there, None, **options)
    inside = ((there > 0.0) & (there < (WIDTH, HEIGHT))).all(axis=(1, 2))
    good = (np.abs(back - corners) < 0.5).all(axis=(1, 2)) & inside
    return there[good & (found.ravel() > 0) & (returned.ravel() > 0)]
