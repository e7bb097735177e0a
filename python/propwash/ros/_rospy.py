"""The shell that connects a node to ROS 1 by rospy."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from propwash.ros import _messages
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Node
from propwash.ros._shell import Recorder, Shell

DEBIAN = Path("/usr/lib/python3/dist-packages")
_DEBIAN_PYTHON = Path("/usr/bin/python3")
_PACKAGES = {
    **{name: name for name in ("netifaces", "rospkg", "defusedxml")},
    "yaml": "pyyaml",
}
"""Packages of PyPI, by the modules that rospy imports from them."""
_MASTER_PERIOD = 2.0
"""s, between checks whether the master knows the node."""


def import_rospy() -> Any:
    """Imports rospy: that of the path, as after `source setup.bash`, or else that of Debian.

    Debian's packages come last in the path, and only for an interpreter of the same minor version.
    Raises ImportError that names what is missing.
    """
    if find_spec("rospy") is None:
        _add_debian()
    try:
        import netifaces  # noqa: F401 (imported by rosgraph when the first connection is made)
        import rospy
    except ModuleNotFoundError as error:
        package = _PACKAGES.get(error.name or "")
        remedy = f"pip install {package}" if package else "source the setup.bash of ROS"
        raise ImportError(f"rospy needs {error.name}, which this Python lacks: {remedy}") from None
    _replace_endless_logger()
    return rospy


def _add_debian() -> None:
    """Appends Debian's packages to the path."""
    version = _debian_version()
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (DEBIAN / "rospy").is_dir():
        raise ImportError(
            "ROS needs rospy: expected an installation of ROS 1, by `source "
            "/opt/ros/noetic/setup.bash`, or on Debian 12 by `apt install ros-core` (docs/ros.md)"
        )
    if version != own:
        raise ImportError(
            f"ROS needs rospy: that of {DEBIAN} is for {version}, this is {own}; make the "
            f"environment with {_DEBIAN_PYTHON}"
        )
    sys.path.append(str(DEBIAN))


def _debian_version() -> str:
    return _DEBIAN_PYTHON.resolve().name


def _replace_endless_logger() -> None:
    """Replaces the search for the caller in rosgraph before 1.17.3.

    With Python 3.11 it never ends: https://github.com/ros/ros_comm/issues/2296.
    """
    from rosgraph.roslogging import RospyLogger

    if "filename" in RospyLogger.findCaller.__code__.co_varnames:
        RospyLogger.findCaller = logging.Logger.findCaller


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
    # the node publishes the clock itself and paces its steps by the wall clock; rospy's handler of
    # signals would wait for the locks of the call of rospy that it interrupts: see `Shell.run`
    rospy.init_node(
        name, argv=["propwash", *remappings], disable_rostime=True, disable_signals=True
    )
    return rospy


def _is_local(uri: str) -> bool:
    host = urlparse(uri).hostname or ""
    return host in ("localhost", "::1", socket.gethostname()) or host.startswith("127.")


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


class RospyShell(Shell):
    """Connects a node to ROS 1.

    rospy: the module, after `connect`. `run` raises ConnectionError after a restart of the master.
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
        super().__init__(node, real_time=real_time, recorder=recorder, report=report)
        self._rospy, self._own_name = rospy, rospy.get_name()
        self._publishers = {
            name: (self._publisher(name, topic), topic.latched)
            for name, topic in node.publishes.items()
        }
        for name, topic in node.subscribes.items():
            if topic.remote:
                rospy.Subscriber(
                    name,
                    wire_type(topic.kind),
                    partial(self._receive_raw, name, topic.kind),
                    queue_size=topic.queue,
                    tcp_nodelay=True,
                )
        self._is_forgotten = False
        threading.Thread(target=self._watch_master, name="propwash-master", daemon=True).start()

    def _watch_master(self) -> None:
        """Notices that the master does not know this node any more, as after its restart."""
        import rosgraph

        master = rosgraph.Master(self._own_name)
        is_away = is_unknown = False
        while not self._is_forgotten:
            time.sleep(_MASTER_PERIOD)
            try:
                master.lookupNode(self._own_name)
            except rosgraph.MasterError:
                # asked twice: at its end, rospy unregisters the node before is_shutdown is true
                self._is_forgotten, is_unknown = is_unknown, True
            except Exception as error:  # xmlrpc raises many types
                if not is_away:
                    self._report(
                        f"the master at {master.master_uri} does not answer ({error}); connections "
                        "remain, new ones are impossible"
                    )
                is_away = True
            else:
                is_away = is_unknown = False

    def _publisher(self, name: str, topic: Topic) -> Any:
        return self._rospy.Publisher(
            name,
            wire_type(topic.kind),
            queue_size=topic.queue,
            latch=topic.latched,
            tcp_nodelay=True,
        )

    def _receive_raw(self, name: str, kind: str, raw: Any) -> None:
        """Hands over received bytes, except those that this node published."""
        header = getattr(raw, "_connection_header", None) or {}
        if header.get("callerid") != self._own_name:
            self._receive(name, kind, partial(_messages.deserialized, raw.data, kind))

    def _send(self, name: str, message: Message) -> None:
        publisher, latched = self._publishers[name]
        if latched or publisher.get_num_connections() > 0:
            wire = wire_type(message.__msgtype__)()
            wire.data = _messages.serialized(message)
            publisher.publish(wire)

    def _is_shutdown(self) -> bool:
        if self._rospy.is_shutdown():
            return True
        if self._is_forgotten:
            raise ConnectionError(
                "the ROS master does not know this node any more, as after a restart of roscore; "
                "start this node again"
            )
        return False


@cache
def message_class(kind: str) -> Any:
    """A message class of rospy, also of a type whose package is not installed."""
    import_rospy()
    from genpy import dynamic

    text, _ = _messages.definition(kind)
    name = _messages.ros1_name(kind)
    return dynamic.generate_dynamic(name, text)[name]
