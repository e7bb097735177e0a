"""The shell without ROS: a node that receives the messages of a bag, as fast as it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from propwash.ros import _messages
from propwash.ros._bags import from_ros2
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Node, Outputs
from propwash.ros._shell import Recorder

Inputs = Iterator[tuple[int, str, Message | None]]
"""Time [ns], topic and message, in the order of time; None: a malformed message."""


class Bag:
    """The messages of a bag of ROS 1 or ROS 2 on some topics. A context manager.

    Raises OSError or ValueError for a path that is not a bag, ImportError without rosbags.
    """

    def __init__(self, path: Path, topics: Mapping[str, Topic]) -> None:
        _messages.typestore()
        from rosbags.highlevel import AnyReader, AnyReaderError

        if not path.exists():
            raise FileNotFoundError(f"{path}: expected a bag of ROS 1 or ROS 2, found none")
        if path.is_dir() and not (path / "metadata.yaml").exists():
            raise ValueError(
                f"{path}: expected a bag of ROS 1 or ROS 2, got a folder without metadata.yaml"
            )
        try:
            self._reader = AnyReader([path])
            self._reader.open()
        except AnyReaderError as error:
            raise ValueError(f"{path}: expected a bag of ROS 1 or ROS 2, {error}") from None
        self._chosen = [
            each
            for each in self._reader.connections
            if each.topic in topics and each.msgtype == topics[each.topic].kind
        ]
        if not self._chosen:
            self.close()
            raise ValueError(f"{path}: expected messages on one of {', '.join(topics)}, got none")
        self.start: int = self._reader.start_time
        """Time of the first message [ns]."""

    def messages(self) -> Inputs:
        """All messages in the order of time."""
        is_ros1 = not self._reader.is2
        decode = {each.msgtype: _decoder(each.msgtype, is_ros1) for each in self._chosen}
        for connection, stamp, data in self._reader.messages(connections=self._chosen):
            try:
                message = decode[connection.msgtype](data)
            except Exception:  # rosbags raises many types
                message = None
            yield stamp, connection.topic, message

    def close(self) -> None:
        """Closes the files."""
        self._reader.close()

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _decoder(kind: str, is_ros1: bool) -> Any:
    if is_ros1:
        return lambda data: _messages.deserialized(data, kind)
    return from_ros2(kind)


def play(node: Node, inputs: Inputs, recorder: Recorder | None = None) -> None:
    """Runs a node over received messages, each in the first step at or after its time.

    It ends with the messages. In lock step, a node that waits receives the next one.
    """
    _record(recorder, node.stamp, node.start())
    for stamp, name, message in inputs:
        while node.stamp < stamp:
            outputs = node.step()
            if outputs is None:
                break
            _record(recorder, node.stamp, outputs)
        if message is None:
            node.refused.add(f"{name}: malformed message")
        else:
            node.post(name, message)
    outputs = node.step()
    if outputs is not None:
        _record(recorder, node.stamp, outputs)


def _record(recorder: Recorder | None, stamp: int, outputs: Outputs) -> None:
    if recorder is not None:
        recorder.write(stamp, outputs)
