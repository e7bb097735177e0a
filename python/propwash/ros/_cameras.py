"""The camera bridge: renders the cameras of the frame tree and publishes what they show.

The parameters, topics and timing are those of the FlightGoggles bridge (docs/ros.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from propwash._bridge import Refused
from propwash.render import Frame
from propwash.ros import _messages
from propwash.ros._camera_settings import (
    RANGE_FRAME,
    BridgeSettings,
    CameraSettings,
    static_frames,
)
from propwash.ros._messages import Message, Topic
from propwash.ros._node import FPS_TOPIC, Callback, InputError, Outputs
from propwash.ros._renderers import Job, Renderer
from propwash.ros._transforms import FrameError, Pose, Transforms, frame_name, valid_pose

_ENCODINGS = {("u1", 3): "bgr8", ("u1", 2): "mono8", ("u2", 2): "mono16"}


class CameraBridge:
    """Requests images for the transforms of the body and publishes the answers.

    settings: see there. make_renderer: creates the renderer for them. wait: wait for every image,
    for lock step. report: called with each new kind of fault. clock: wall time [s].
    """

    def __init__(
        self,
        settings: BridgeSettings,
        make_renderer: Callable[[BridgeSettings], Renderer],
        *,
        wait: bool = False,
        report: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.refused = Refused(report)
        self.frames = 0
        """Frames that were published."""
        self.publishes: dict[str, Topic] = _published(settings)
        moving = Topic("tf2_msgs/msg/TFMessage", queue=10000, remote=settings.remote_tf)
        static = Topic("tf2_msgs/msg/TFMessage", queue=100, latched=True)
        self.subscribes: dict[str, tuple[Topic, Callback]] = {
            "/tf": (moving, self.on_tf),
            "/tf_static": (static, self.on_tf_static),
        }
        self._wait, self._clock = wait, clock
        self._tree = Transforms()
        self._own_frames = static_frames(settings)
        for parent, child, pose in self._own_frames:
            self._tree.put_static(parent, child, pose)
        self._renderer = make_renderer(settings)
        self._infos = {c.name: _camera_info(settings, c) for c in settings.cameras}
        self._body = frame_name(settings.body_frame)
        self._last = 0  # ns, stamp of the transform that is rendered next
        self._outputs: Outputs = []
        self._random = Random(settings.seed)
        self._since: float | None = None
        self._counted = 0

    def start(self, stamp: int) -> Outputs:
        """The static transforms of the cameras and of the world's axes."""
        if not self.settings.publish_frames:
            return []
        transforms = [
            _messages.transform(stamp, parent, child, pose[0], (*pose[1][1:], pose[1][0]))
            for parent, child, pose in self._own_frames
        ]
        return [("/tf_static", _messages.transforms(*transforms))]

    def step(self, stamp: int) -> Outputs:
        """What was received from the renderer since the last step, as messages."""
        while (frame := self._renderer.poll()) is not None:
            self._publish(frame)
        for fault in self._renderer.faults():
            self.refused.add("renderer", fault)
        outputs, self._outputs = self._outputs, []
        return outputs

    def close(self) -> None:
        """Ends the connection to the renderer."""
        self._renderer.close()

    def report(self) -> str:
        """The number of frames and of faults, as text."""
        return f"cameras: {self.frames} frames; faults: {self.refused}"

    def on_tf_static(self, message: Message) -> None:
        """Stores static transforms."""
        refused = 0
        for each in message.transforms:
            pose = _pose(each)
            is_fixed = frame_name(each.child_frame_id) == frame_name(self.settings.world_frame)
            if pose is None:
                refused += 1
            elif not (is_fixed and self.settings.world_ned is not None):
                self._tree.put_static(each.header.frame_id, each.child_frame_id, pose)
        _refuse(refused)

    def on_tf(self, message: Message) -> None:
        """Stores transforms; requests an image if that of the body says that one is due."""
        refused, body = 0, None
        for each in message.transforms:
            pose, stamp = _pose(each), _messages.nanoseconds(each.header.stamp)
            if pose is None:
                refused += 1
                continue
            self._tree.put(each.header.frame_id, each.child_frame_id, stamp, pose)
            if frame_name(each.child_frame_id) == self._body:
                body = stamp
        if body is not None:
            self._consider(body)
        _refuse(refused)

    def _consider(self, stamp: int) -> None:
        """Requests the image of the last due transform when the next one is due, as published."""
        if stamp < self._last:  # a jump of time
            self._last = 0
        if self.settings.stamps:
            due = stamp in self.settings.stamps
        else:
            due = stamp >= self._last + round(0.9e9 / self.settings.rate)
        if not due:
            return
        last, self._last = self._last, stamp
        if last == 0:
            return
        try:
            job = self._job(last)
        except FrameError as error:
            self.refused.add("missing transform", str(error))
            return
        trigger = _messages.empty()
        self._outputs.append(("/uav/camera/debug/render_trigger", trigger))
        if not self._wait:
            self._renderer.submit(job)
            return
        frame = self._renderer.request(job)
        if frame is not None:
            self._publish(frame)

    def _job(self, stamp: int) -> Job:
        world, tree = self.settings.world_frame, self._tree
        scale = self.settings.scene_scale
        cameras = {
            camera.name: _in_scene(tree.lookup(world, f"{camera.path}/ned", stamp), scale)
            for camera in self.settings.cameras
        }
        objects = {}
        for name in self.settings.obstacles:
            try:
                objects[name] = _in_scene(tree.lookup(world, name), scale)
            except FrameError as error:
                self.refused.add("missing transform", str(error))
        return Job(stamp, cameras, objects)

    def _publish(self, frame: Frame) -> None:
        stamp = frame.time_ns
        self._measure_rate()
        for camera in self.settings.cameras:
            image = frame.images.get(camera.name)
            if image is None:
                continue
            header = _messages.header(stamp, f"/{camera.path}", self.frames)
            self._outputs.append((camera.image_topic, _image(header, image)))
            info = replace(self._infos[camera.name], header=header)
            self._outputs.append((camera.info_topic, info))
        if frame.collision:
            self._outputs.append(("/uav/collision", _messages.empty()))
        self._outputs.append(
            ("/uav/sensors/downward_laser_rangefinder", self._range(stamp, frame.range_m))
        )
        beacons = _beacons(_messages.header(stamp, "", self.frames), frame)
        self._outputs.append(("/uav/camera/left/ir_beacons", beacons))
        self.frames += 1
        self._counted += 1

    def _measure_rate(self) -> None:
        """Publishes the frames per second of wall time, once a second."""
        now = self._clock()
        if self._since is None:
            self._since = now
        elif now - self._since > 1.0:
            kind = _messages.type_of("std_msgs/msg/Float32")
            self._outputs.append((FPS_TOPIC, kind(self._counted / (now - self._since))))
            self._since, self._counted = now, 0

    def _range(self, stamp: int, distance: float) -> Message:
        settings = self.settings
        noise = math.sqrt(settings.range_variance) * self._random.gauss(0.0, 1.0)
        low, high, measured, frame = -settings.range_max, 0.0, -(distance + noise), "/uav/imu"
        if settings.range_positive:
            low, high, measured, frame = 0.0, settings.range_max, distance + noise, RANGE_FRAME
            if distance > settings.range_max:
                measured = math.inf
        return _messages.type_of("sensor_msgs/msg/Range")(
            header=_messages.header(stamp, frame, self.frames),
            radiation_type=1,  # infrared
            field_of_view=0.0,
            min_range=low,
            max_range=high,
            range=measured,
        )


def _published(settings: BridgeSettings) -> dict[str, Topic]:
    found = {
        "/uav/collision": Topic("std_msgs/msg/Empty", queue=1),
        "/uav/sensors/downward_laser_rangefinder": Topic("sensor_msgs/msg/Range", queue=1),
        "/uav/camera/left/ir_beacons": Topic("flightgoggles/msg/IRMarkerArray", queue=1),
        FPS_TOPIC: Topic("std_msgs/msg/Float32", queue=1),
        "/uav/camera/debug/render_trigger": Topic("std_msgs/msg/Empty", queue=60),
    }
    for camera in settings.cameras:
        found[camera.image_topic] = Topic("sensor_msgs/msg/Image", queue=10)
        found[camera.info_topic] = Topic("sensor_msgs/msg/CameraInfo", queue=10)
    if settings.publish_frames:
        found["/tf_static"] = Topic("tf2_msgs/msg/TFMessage", latched=True)
    return found


def _in_scene(pose: Pose, scale: float) -> Pose:
    """A pose with axes north-east-down in those of the scene and of its cameras, z up."""
    (x, y, z), (w, i, j, k) = pose
    return (scale * x, -scale * y, -scale * z), (w, i, -j, -k)


def _pose(stamped: Message) -> Pose | None:
    """The pose of a transform; None for one that tf2 ignores."""
    if frame_name(stamped.child_frame_id) in ("", frame_name(stamped.header.frame_id)):
        return None
    p, q = stamped.transform.translation, stamped.transform.rotation
    return valid_pose((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def _refuse(count: int) -> None:
    if count:
        raise InputError("transform with an invalid frame, position or quaternion")


def _image(header: Message, image: Any) -> Message:
    pixels = np.ascontiguousarray(image[..., ::-1] if image.ndim == 3 else image)
    return _messages.type_of("sensor_msgs/msg/Image")(
        header=header,
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=_ENCODINGS[f"u{pixels.itemsize}", pixels.ndim],
        is_bigendian=0,
        step=pixels.strides[0],
        data=pixels.astype(pixels.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8),
    )


def _camera_info(settings: BridgeSettings, camera: CameraSettings) -> Message:
    f = 0.5 * settings.height / math.tan(0.5 * math.radians(settings.vertical_fov_deg))
    u, v = 0.5 * settings.width, 0.5 * settings.height
    shift = -f * camera.baseline
    return _messages.type_of("sensor_msgs/msg/CameraInfo")(
        header=_messages.header(0),
        height=settings.height,
        width=settings.width,
        distortion_model="plumb_bob",
        D=np.zeros(5),
        K=np.array([f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0]),
        R=np.eye(3).reshape(-1),
        P=np.array([f, 0.0, u, shift, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0]),
        binning_x=0,
        binning_y=0,
        roi=_messages.type_of("sensor_msgs/msg/RegionOfInterest")(0, 0, 0, 0, False),
    )


def _beacons(header: Message, frame: Frame) -> Message:
    """The visible markers, px from the upper left corner; their distance is 0, as published."""
    marker, text = (
        _messages.type_of(kind) for kind in ("flightgoggles/msg/IRMarker", "std_msgs/msg/String")
    )
    marks = frame.landmarks
    found = []
    for name, x, y in zip(marks.ids, marks.u.tolist(), marks.v.tolist(), strict=True):
        gate, _, number = name.partition("_")
        found.append(marker(text(gate), text(number), x, y, 0.0))
    return _messages.type_of("flightgoggles/msg/IRMarkerArray")(header, found)
