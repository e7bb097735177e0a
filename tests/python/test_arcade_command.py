"""`python -m propwash arcade` from start to end, flown over its web socket."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets")

from arcade_client import PageClient, opened, snapshot_of
from arcade_helpers import Pilot
from helpers import restore_signals
from propwash import arcade, logs, race
from propwash.arcade import _serve

LIMIT = 90.0
"""s, for a flight on a loaded machine."""
FLIGHTS = 5
"""Tries: a vehicle collides if the machine stops while it flies."""


@contextmanager
def command(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command's address and its process, which is stopped at the end."""
    arguments = [sys.executable, "-m", "propwash", "arcade", "--no-browser", "--port", "0"]
    arguments += ["--size", "160x90", "--folder", str(folder), "--name", "tester", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        arguments, stdout=pipe, stderr=pipe, text=True, preexec_fn=restore_signals
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """The errors that a process printed until a signal ended it."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    return errors


async def climb(page: PageClient, throttle: float) -> None:
    """Flies upwards for a while."""
    async with asyncio.timeout(LIMIT):
        while (await page.image()).race_time < 0.3:
            await page.input(arcade.Sticks(throttle=throttle))


async def fly(page: PageClient, pilot: Pilot, gates: int) -> dict[str, Any]:
    """Flies by the images until so many gates are passed, and resets; returns the result."""
    async with asyncio.timeout(LIMIT):
        while True:
            hud = await page.image()
            if hud.phase not in ("ready", "flying") or len(hud.passed) >= gates:
                break
            await page.input(pilot(snapshot_of(hud)), pilot.mode)
        await page.input(arcade.Sticks())  # the next flight stays on the ground
        await page.send(type="reset")
        while not any(message["type"] == "flight" for message in page.texts):
            await page.receive()
    return page.newest("flight")


@pytest.mark.slow
def test_flight_passes_gates_and_is_logged_and_ranked(tmp_path: Path) -> None:
    game = arcade.Game(race.find_course("eight"), seed=3)

    async def flown(url: str) -> PageClient:
        async with opened(url) as socket:
            page = PageClient(socket)
            assert (await page.until("hello"))["role"] == "pilot"
            assert (await page.until("course"))["gates"][0]["name"] == game.scene.gates[0].name
            await fly(page, Pilot(game, "assisted"), 2)
            while not page.newest("board")["entries"]:
                await page.receive()
        return page

    for attempt in range(FLIGHTS):
        folder = tmp_path / f"{attempt}" / "flights"
        with command(folder, "--course", "eight", "--seed", "3") as (url, process):
            page = asyncio.run(flown(url))
            errors = stopped(process)
        flight = page.newest("flight")
        if flight["result"] != "collided":
            break
    assert flight["result"] == "reset"
    assert flight["gates"] >= 2
    assert flight["place"] == 1
    assert page.newest("board")["entries"][0]["name"] == "tester"
    assert process.returncode == 130, errors
    assert "arcade: 1 flight log written" in errors
    record = logs.read_record(flight["log"])
    assert record.info["course"] == "eight"
    assert record.info["pilot"] == "tester"
    assert len(record.info["passed"]) >= 2
    assert page.jpeg[:3] == b"\xff\xd8\xff"


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_signal_writes_the_flight_in_the_air(tmp_path: Path, number: int) -> None:
    async def take_off(url: str) -> None:
        async with opened(url) as socket:
            await climb(PageClient(socket), 1.0)

    with command(tmp_path) as (url, process):
        asyncio.run(take_off(url))
        errors = stopped(process, number)
    assert process.returncode == 130, errors
    (log,) = tmp_path.glob("*.csv")
    assert logs.read_record(log).info["phase"] == "stopped"


@pytest.mark.parametrize("package", ["PIL", "websockets.asyncio.server"])
def test_missing_package_names_the_extra(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from propwash.cli.main import main

    monkeypatch.setitem(sys.modules, package, None)
    assert main(["arcade", "--no-browser"]) == 2
    assert 'pip install "propwash[arcade]"' in capsys.readouterr().err


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    with command(tmp_path) as (url, _):
        port = url.split(":")[2].split("/")[0]
        again = [sys.executable, "-m", "propwash", "arcade", "--no-browser", "--port", port]
        done = subprocess.run(again, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"--port {port}: expected a free port of 127.0.0.1" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "expected the IP address of this machine"),
        (("--host", "example.org"), "expected the IP address of this machine"),
        (("--course", "alphapilo"), "alphapilot"),
        (("--vehicle", "nothing"), "no vehicle 'nothing'"),
        (("--seed", "-1"), "seed"),
        (("--size", "1x1"), "WIDTHxHEIGHT"),
        (("--port", "70000"), "0 to 65535"),
        (("--threads", "0"), "--threads"),
        (("--name", "x" * 41), "expected 1 to 40 printable characters"),
        (("--folder", f"{__file__}/flights"), "--folder"),
        (("--folder", "unwritable/flights"), "--folder unwritable/flights: expected a folder that"),
    ],
)
def test_invalid_options_are_one_line(
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from propwash.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "unwritable").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: "unwritable" not in str(path))  # of root
    monkeypatch.setattr(_serve._Session, "run", lambda *arguments: pytest.fail("it serves"))
    try:
        code = main(["arcade", "--no-browser", *options])
    except SystemExit as error:  # of argparse
        code = error.code if isinstance(error.code, int) else -1
    assert code == 2
    assert message in capsys.readouterr().err
