"""Frames and the transforms between them over time, as tf2 defines them."""

from __future__ import annotations

import math
from bisect import bisect_right

from propwash._rotation import Quaternion, product

Position = tuple[float, float, float]
Pose = tuple[Position, Quaternion]
"""Position [m] and attitude, scalar first, of a frame in another one."""

IDENTITY: Pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
MEMORY_NS = 2 * 10**9
"""ns, for which transforms are stored."""
_MAX_DEPTH = 100
_UNIT_TOLERANCE = 5e-3
_DELAY_NS = 10**9
"""ns, by which a transform may be late; an earlier one starts anew, as after a jump of time."""


def from_angles(position: Position, yaw: float, pitch: float, roll: float) -> Pose:
    """A pose from angles [rad], the arguments of ROS' static_transform_publisher."""
    z, y, x = (0.5 * angle for angle in (yaw, pitch, roll))
    about_x = (math.cos(x), math.sin(x), 0.0, 0.0)
    about_y = (math.cos(y), 0.0, math.sin(y), 0.0)
    return position, product(product((math.cos(z), 0.0, 0.0, math.sin(z)), about_y), about_x)


def compose(outer: Pose, inner: Pose) -> Pose:
    """The pose of B in W from that of A in W and that of B in A."""
    turned = product(product(outer[1], (0.0, *inner[0])), _conjugate(outer[1]))
    x, y, z = (a + b for a, b in zip(outer[0], turned[1:], strict=True))
    return (x, y, z), product(outer[1], inner[1])


def inverse(pose: Pose) -> Pose:
    """The pose of A in B from that of B in A."""
    back = _conjugate(pose[1])
    _, x, y, z = product(product(back, (0.0, *pose[0])), pose[1])
    return (-x, -y, -z), back


def between(a: Pose, b: Pose, fraction: float) -> Pose:
    """The pose at a fraction of the way from a to b: linear, and along the shorter rotation."""
    x, y, z = (p + fraction * (q - p) for p, q in zip(a[0], b[0], strict=True))
    dot = sum(p * q for p, q in zip(a[1], b[1], strict=True))
    angle = math.acos(min(abs(dot), 1.0))
    one, two = 1.0 - fraction, fraction
    if angle > 1e-6:
        one, two = math.sin(one * angle) / math.sin(angle), math.sin(two * angle) / math.sin(angle)
    two = math.copysign(two, dot)
    w, i, j, k = (one * p + two * q for p, q in zip(a[1], b[1], strict=True))
    norm = math.sqrt(w * w + i * i + j * j + k * k)
    return (x, y, z), (w / norm, i / norm, j / norm, k / norm)


def frame_name(name: str) -> str:
    """The name of a frame without the leading slash that tf of ROS 1 allowed."""
    return name.removeprefix("/")


class FrameError(LookupError):
    """A transform that is not known."""


class Transforms:
    """The tree of frames: static transforms, and moving ones of the last two seconds."""

    def __init__(self) -> None:
        self._static: dict[str, tuple[str, Pose]] = {}
        self._moving: dict[str, tuple[str, list[int], list[Pose]]] = {}

    def put_static(self, parent: str, child: str, pose: Pose) -> None:
        """Sets the pose of `child` in `parent` for all times."""
        self._static[frame_name(child)] = (frame_name(parent), pose)

    def put(self, parent: str, child: str, stamp: int, pose: Pose) -> None:
        """Adds the pose of `child` in `parent` at a time [ns]."""
        child, parent = frame_name(child), frame_name(parent)
        known = self._moving.get(child)
        if known is None or known[0] != parent or stamp < known[1][-1] - _DELAY_NS:
            self._moving[child] = (parent, [stamp], [pose])
            return
        _, stamps, poses = known
        place = bisect_right(stamps, stamp)
        if place > 0 and stamps[place - 1] == stamp:
            poses[place - 1] = pose
            return
        stamps.insert(place, stamp)
        poses.insert(place, pose)
        if stamp - stamps[0] > 2 * MEMORY_NS:  # in blocks, which is cheaper than one by one
            old = bisect_right(stamps, stamp - MEMORY_NS)
            del stamps[:old], poses[:old]

    def lookup(self, frame: str, child: str, stamp: int | None = None) -> Pose:
        """The pose of `child` in `frame` at a time [ns]; None: the latest of each transform.

        Raises FrameError for frames that are not connected, or not known at that time.
        """
        up, down = self._to_root(child, stamp), self._to_root(frame, stamp)
        if up[0] != down[0]:
            raise FrameError(f"no transform from {frame!r} to {child!r}")
        return compose(inverse(down[1]), up[1])

    def _to_root(self, frame: str, stamp: int | None) -> tuple[str, Pose]:
        name, pose = frame_name(frame), IDENTITY
        for _ in range(_MAX_DEPTH):
            step = self._step(name, stamp)
            if step is None:
                return name, pose
            name, pose = step[0], compose(step[1], pose)
        raise FrameError(f"the frames above {frame!r} form a loop")

    def _step(self, child: str, stamp: int | None) -> tuple[str, Pose] | None:
        if child not in self._moving:
            return self._static.get(child)
        parent, stamps, poses = self._moving[child]
        if stamp is None:
            return parent, poses[-1]
        after = bisect_right(stamps, stamp)
        if after == 0 or stamp > stamps[-1]:
            raise FrameError(f"no transform to {child!r} at this time")
        if stamps[after - 1] == stamp:
            return parent, poses[after - 1]
        fraction = (stamp - stamps[after - 1]) / (stamps[after] - stamps[after - 1])
        return parent, between(poses[after - 1], poses[after], fraction)


def valid_pose(position: Position, quaternion: Quaternion) -> Pose | None:
    """A pose with a unit quaternion; None where tf2 refuses it."""
    norm = math.hypot(*quaternion)
    if not all(map(math.isfinite, (*position, norm))) or abs(norm - 1.0) > _UNIT_TOLERANCE:
        return None
    w, x, y, z = (part / norm for part in quaternion)
    return position, (w, x, y, z)


def _conjugate(q: Quaternion) -> Quaternion:
    return q[0], -q[1], -q[2], -q[3]
