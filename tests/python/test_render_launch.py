"""Renderers launched by a client: start, failure and end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

zmq = pytest.importorskip("zmq")

from fake_renderer import AHEAD, SIZE, FakeRenderer  # noqa: E402
from propwash.render import Client, RendererError  # noqa: E402

CHILD = """
import sys
sys.path.insert(0, {folder!r})
from fake_renderer import FakeRenderer
import argparse, time
from pathlib import Path
parser = argparse.ArgumentParser()
parser.add_argument("--scene")
parser.add_argument("--port", type=int, nargs=2)
parser.add_argument("--client-ip")
parser.add_argument("--until", type=Path)
options = parser.parse_args()
assert options.client_ip == "127.0.0.1", options
if options.scene == "broken":
    sys.exit("no scene 'broken' here")
with FakeRenderer(tuple(options.port), ignored=0):
    if options.until is None:
        time.sleep(60.0)
    while not options.until.exists():
        time.sleep(0.02)
    sys.exit("stopped early")
"""


def _command() -> list[str]:
    return [sys.executable, "-c", CHILD.format(folder=str(Path(__file__).parent))]


def test_launch_starts_a_renderer_and_ends_it(ports: tuple[int, int]) -> None:
    with Client.launch("room", ports=ports, probe=0.1, command=_command(), **SIZE) as client:
        assert client.request_vehicle(1, *AHEAD).time_ns == 1
        children = list(client._children.processes)
        assert [child.status for child in children] == [None]
    assert all(child.status is not None for child in children)


def test_launch_uses_a_running_renderer(ports: tuple[int, int]) -> None:
    command = [sys.executable, "-c", "raise SystemExit('not expected')"]
    with (
        FakeRenderer(ports, ignored=0),
        Client.launch("room", ports=ports, probe=5.0, command=command, **SIZE) as client,
    ):
        assert client.request_vehicle(1, *AHEAD).time_ns == 1


def test_errors_quote_the_output_of_a_failed_renderer(
    ports: tuple[int, int], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"ports": ports, "probe": 0.0, "command": _command(), **SIZE}
    with pytest.raises(RendererError, match=r"ended with status 1(.|\n)*no scene 'broken' here"):
        Client.launch("broken", **options)
    # the ports are released
    end = tmp_path / "end"
    with Client.launch("room", arguments=["--until", str(end)], **options) as client:
        client.request_vehicle(1, *AHEAD)
        end.touch()
        with pytest.raises(RendererError, match="stopped early"):
            _request_repeatedly(client)


def test_the_reference_renderer_fails_with_a_message(ports: tuple[int, int]) -> None:
    with pytest.raises(RendererError, match="no scene 'broken'") as caught:
        Client.launch("broken", ports=ports, probe=0.0, **SIZE)
    assert "Fatal" not in str(caught.value)
    assert re.search("ended with status [1-9]", str(caught.value))  # a status, not a signal


def test_a_renderer_that_ended_can_be_replaced(
    ports: tuple[int, int],
) -> None:
    with Client.launch("room", ports=ports, probe=0.0, command=_command(), **SIZE) as client:
        client.request_vehicle(1, *AHEAD)
        os.kill(client._children.processes[0].process_id, signal.SIGKILL)
        with pytest.raises(RendererError, match="ended with status -9"):
            _poll_repeatedly(client)
        with FakeRenderer(ports, ignored=0):
            deadline = time.monotonic() + 10.0
            while client.renderers == [0]:
                assert time.monotonic() < deadline
                client.sleep(0.02)
            assert client.request_vehicle(2, *AHEAD).time_ns == 2
            assert client.poll() is None


PARENT = """
import os, signal
from propwash.render import Client
client = Client.launch("empty", ports={ports}, probe=0.0, width=48, height=32)
print(client._children.processes[0].process_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_renderer_ends_with_a_client_that_was_killed(ports: tuple[int, int]) -> None:
    parent = subprocess.run(
        [sys.executable, "-c", PARENT.format(ports=ports)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60.0,
        check=False,
    )
    child = int(parent.stdout)
    deadline = time.monotonic() + 10.0
    while _is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_running(process: int) -> bool:
    """Whether a process runs; False for a zombie."""
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _poll_repeatedly(client: Client) -> None:
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        client.poll(0.02)


def _request_repeatedly(client: Client) -> None:
    for stamp in range(2, 10**6):
        client.request_vehicle(stamp, *AHEAD)
