"""The shell that connects a node to ROS 1 by rospy."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlparse

from propwash._bridge import Pacer
from propwash.ros import _messages
from propwash.ros._messages import Topic
from propwash.ros._node import Node, Outputs

DEBIAN = Path("/usr/lib/python3/dist-packages")
_DEBIAN_PYTHON = Path("/usr/bin/python3")
_WAIT = 0.1
"""s, between checks whether ROS ends, while a command is waited for."""
_LONG_WAIT = 5.0
"""s without a command, after which the wait is reported."""


class Recorder(Protocol):
    """Writes published messages, for example to a bag."""

    def write(self, stamp: int, outputs: Outputs) -> None:
        """Writes the messages of a step at time `stamp` [ns]."""
        ...


def import_rospy() -> Any:
    """Imports rospy, also that of Debian from another interpreter of the same minor version.

    Debian's packages come last in the path. Raises ImportError that names what is missing.
    """
    try:
        import rospy
    except ModuleNotFoundError as error:
        if error.name != "rospy":
            raise
        version = _debian_version()
        own = f"python{sys.version_info.major}.{sys.version_info.minor}"
        if not (DEBIAN / "rospy").is_dir():
            raise ImportError(
                "ROS needs rospy: expected an installation of ROS 1, for example by `apt install "
                "ros-core` on Debian 12"
            ) from None
        if version != own:
            raise ImportError(
                f"ROS needs rospy: that of {DEBIAN} is for {version}, this is {own}; make the "
                f"environment with {_DEBIAN_PYTHON}"
            ) from None
        sys.path.append(str(DEBIAN))
        import rospy
    return rospy


def _debian_version() -> str:
    return _DEBIAN_PYTHON.resolve().name


def connect(name: str, remappings: Sequence[str] = (), host: str | None = None) -> Any:
    """Registers this process as a node of the master; returns rospy.

    host: the address by which other machines reach this one; None: this machine alone, unless
        ROS_IP or ROS_HOSTNAME is set. Raises ConnectionError without a master.
    """
    rospy = import_rospy()
    import rosgraph

    master = rosgraph.get_master_uri()
    if host is not None:
        os.environ["ROS_IP"] = host
        os.environ.pop("ROS_HOSTNAME", None)
    elif not ("ROS_IP" in os.environ or "ROS_HOSTNAME" in os.environ):
        if not _is_local(master):
            raise ConnectionError(
                f"the master is {master}: expected --host ADDRESS, by which it reaches this machine"
            )
        os.environ["ROS_HOSTNAME"] = "localhost"
    if not rosgraph.is_master_online():
        raise ConnectionError(
            f"no ROS master at {master}; start `roscore`, or set ROS_MASTER_URI to that of another"
        )
    # the node publishes the clock itself and paces its steps by the wall clock
    rospy.init_node(name, argv=["propwash", *remappings], disable_rostime=True)
    return rospy


def _is_local(uri: str) -> bool:
    host = urlparse(uri).hostname or ""
    return host in ("localhost", "::1", os.uname().nodename) or host.startswith("127.")


@cache
def wire_type(kind: str) -> Any:
    """A message class of rospy that holds the serialized bytes of a type."""
    import genpy

    text, checksum = _messages.definition(kind)

    def serialize(self: Any, buffer: Any) -> None:
        buffer.write(self.data)

    def deserialize(self: Any, data: bytes) -> Any:
        self.data = data
        return self

    return type(
        kind.rpartition("/")[2],
        (genpy.Message,),
        {
            "__slots__": ["data"],
            "_slot_types": ["uint8[]"],
            "_type": _messages.ros1_name(kind),
            "_md5sum": checksum,
            "_full_text": text,
            "_has_header": False,  # rospy would replace the sequence number
            "serialize": serialize,
            "deserialize": deserialize,
        },
    )


class Shell:
    """Publishes what a node returns, and hands it what arrives.

    real_time: whether time stamps are those of the wall clock.
    """

    def __init__(
        self,
        node: Node,
        rospy: Any,
        *,
        real_time: bool,
        recorder: Recorder | None = None,
        report: Callable[[str], None] = print,
    ) -> None:
        self.node, self._rospy, self._recorder, self._report = node, rospy, recorder, report
        self._real_time = real_time
        self._arrived = threading.Event()
        self._own_name = rospy.get_name()
        self.pacer = Pacer(node.clock_scale)
        self._publishers = {
            name: (self._publisher(name, topic), topic.latched)
            for name, topic in node.publishes.items()
        }
        self._subscribers = [
            rospy.Subscriber(
                name,
                wire_type(topic.kind),
                partial(self._receive, name, topic.kind),
                # in lock step each command counts
                queue_size=None if node.lock_step else topic.queue,
                tcp_nodelay=True,
            )
            for name, topic in node.subscribes.items()
        ]

    def _publisher(self, name: str, topic: Topic) -> Any:
        return self._rospy.Publisher(
            name,
            wire_type(topic.kind),
            queue_size=topic.queue,
            latch=topic.latched,
            tcp_nodelay=True,
        )

    def _receive(self, name: str, kind: str, raw: Any) -> None:
        """Hands over a message that another node published; runs in threads of rospy."""
        header = getattr(raw, "_connection_header", None) or {}
        if header.get("callerid") == self._own_name:
            return
        try:
            message = _messages.deserialized(raw.data, kind)
        except Exception:  # rosbags raises many types
            self.node.refused.add(f"{name}: malformed {kind}")
            return
        self.node.post(name, message)
        self._arrived.set()

    def publish(self, outputs: Outputs) -> None:
        """Publishes messages; those without a subscriber are not serialized."""
        for name, message in outputs:
            publisher, latched = self._publishers[name]
            if latched or publisher.get_num_connections() > 0:
                wire = wire_type(message.__msgtype__)()
                wire.data = _messages.serialized(message)
                publisher.publish(wire)
        if self._recorder is not None:
            self._recorder.write(self.node.stamp, outputs)

    def run(self, stop: Callable[[], bool] | None = None) -> None:
        """Steps until ROS ends or `stop` returns True."""
        stopped = self._rospy.is_shutdown if stop is None else stop
        node, pacer = self.node, self.pacer
        first = node.stamp
        self.publish(node.start())
        skipped = 0.0
        while not stopped():
            outputs = self._step()
            if outputs is None:
                break
            self.publish(outputs)
            if node.clock_scale != pacer.rate:
                pacer.rate = node.clock_scale
            elapsed = (node.stamp - first) * 1e-9 - skipped
            if node.is_locked:
                pacer.restart(elapsed)
            else:
                pacer.wait(elapsed)
            if self._real_time and pacer.skipped > skipped:
                node.stamp += round((pacer.skipped - skipped) * 1e9)
                skipped = pacer.skipped
        self._rospy.signal_shutdown("done")

    def _step(self) -> Outputs | None:
        """The messages of the next step, once it may be made; None when ROS ends."""
        waited = 0.0
        while True:
            self._arrived.clear()
            outputs = self.node.step()
            if outputs is not None or self._rospy.is_shutdown():
                return outputs
            start = time.monotonic()
            self._arrived.wait(_WAIT)
            before, waited = waited, waited + time.monotonic() - start
            if before < _LONG_WAIT <= waited:
                self._report(f"lock step: no command on {self.node.command_topic} for 5 s")
