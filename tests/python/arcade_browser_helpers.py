"""A browser, a running arcade, and a pilot who flies by the keys of its page."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from propwash import _rotation

PATIENCE = 120.0  # s, as the machine may be busy
FAKE_GAMEPAD = """
window.pad = {
  id: "Test transmitter", index: 0, connected: true, mapping: "", timestamp: 0,
  axes: [0, 0, -1, 0, -1],
  buttons: [0, 1].map(() => ({ pressed: false, touched: false, value: 0 })),
};
navigator.getGamepads = () => [window.pad, null, null, null];
"""
PROGRAM = """
import sys, threading, time
from propwash.arcade import _pages, _runner
from propwash.__main__ import run

class Clock:
    "Passes by the seconds of each line of stdin, and freely after the last."
    now = limit = 0.0
    changed = threading.Condition()

    def read(self):
        for line in sys.stdin:
            self.extend(float(line))
        self.extend(float("inf"))

    def extend(self, seconds):
        with self.changed:
            self.limit += seconds
            self.changed.notify_all()

    def wait(self, seconds):
        with self.changed:
            self.changed.wait_for(lambda: self.limit >= self.now + seconds)
            self.now += seconds
        time.sleep(seconds * (self.limit == float("inf")))

clock = Clock()
threading.Thread(target=clock.read, daemon=True).start()
_runner.Runner.__init__.__kwdefaults__.update(clock=lambda: clock.now, sleep=clock.wait)
_pages.STALL = {stall}  # the browser may stop for a while
sys.exit(run())
"""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def require_chromium() -> str:
    """The browser; skips without it or Playwright."""
    pytest.importorskip(
        "playwright.sync_api", reason="Playwright is missing: pip install playwright"
    )
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("Chromium is missing (Debian: chromium)")
    return path


@contextmanager
def offline_chromium(path: str) -> Iterator[Any]:
    """Chromium, in which no host but 127.0.0.1 can be found."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class RunningArcade:
    """`python -m propwash arcade` in a process, whose flights take time while a test waits.

    So a machine that stops for a while does not fly a vehicle into a wall. stall: s, without
    images, after which a flight is paused.
    """

    by_url: ClassVar[dict[str, RunningArcade]] = {}

    def __init__(self, folder: Path, *options: str, stall: float = PATIENCE) -> None:
        self.folder = folder
        program = PROGRAM.format(stall=stall)
        command = [sys.executable, "-c", program, "arcade", "--no-browser", "--port", "0"]
        command += ["--folder", str(folder), *options]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"no address: {self.stop()}")
        self.by_url[self.url] = self

    def let_pass(self, seconds: float) -> None:
        """Lets time [s] pass."""
        pipe = self._process.stdin
        if pipe is not None and self._process.poll() is None:
            pipe.write(f"{seconds}\n")
            pipe.flush()

    def stop(self) -> str:
        """Ends it as Ctrl-C does; what it has written on stderr."""
        self._process.send_signal(signal.SIGINT)
        _, errors = self._process.communicate(timeout=PATIENCE)
        return errors

    def logs(self) -> list[Path]:
        """The flight logs."""
        return sorted(self.folder.glob("*.csv"))


class ArcadePage:
    """A page of the arcade. Every request and error of it is recorded."""

    def __init__(self, context: Any, url: str) -> None:
        self.page = context.new_page()
        self._arcade = RunningArcade.by_url[url]
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.goto(url)
        self.wait("window.arcade?.frames > 1 && arcade.status && arcade.course")
        if self.get("arcade.status.role") == "pilot":  # whatever the test before has left
            self.wait("arcade.number > 0")  # the sticks of this page
            self.clock(1.0)
            self.get("document.getElementById('reset').click()")
            self.wait("arcade.hud.phase === 'ready'")

    def _console(self, message: Any) -> None:
        """Records errors: a violation of the page's security policy is one."""
        if message.type == "error":
            self.errors.append(message.text)

    def get(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(expression)

    def wait(self, expression: str, meanwhile: Callable[[], None] | None = None) -> Any:
        """Waits until an expression is true. (Playwright's own wait needs unsafe-eval.)"""
        end = time.monotonic() + PATIENCE
        last = time.monotonic()
        while last < end:
            value = self.get(expression)
            if value:
                return value
            if meanwhile:
                meanwhile()
            time.sleep(0.02)
            elapsed, last = time.monotonic() - last, time.monotonic()
            self._arcade.let_pass(min(elapsed, 0.1))
        state = self.get("JSON.stringify({...window.arcade, hello: null, course: null})")
        raise AssertionError(f"not true within {PATIENCE} s: {expression}; {state}")

    def clock(self, scale: float) -> None:
        """Sets the speed of the clock."""
        self.get(f"document.querySelector('#clock-choice [value=\"{scale:g}\"]').click()")
        self.wait(f"arcade.status.scale === {scale:g}")

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        self.page.keyboard.press(key)


class KeyPilot:
    """Flies through gates in assisted mode: reads the state of the page, presses its keys."""

    KEYS = (("ArrowRight", "ArrowLeft"), ("ArrowUp", "ArrowDown"), ("d", "a"), ("w", "s"))
    MARGIN = 0.12  # deflection between the desired and the present one, above which a key is used

    def __init__(self, arcade: ArcadePage, speed: float = 1.2) -> None:
        self._keyboard, self._arcade, self._speed = arcade.page.keyboard, arcade, speed
        self._down: set[str] = set()

    def step(self) -> None:
        """Presses and releases keys for the newest image."""
        hud, gates, sticks = self._arcade.get("[arcade.hud, arcade.course.gates, arcade.sticks]")
        now = [sticks["roll"], sticks["pitch"], sticks["yaw"], 2 * sticks["throttle"] - 1]
        if len(hud["passed"]) < len(gates) and hud["phase"] in ("ready", "flying"):
            desired = self.deflections(hud, gates[len(hud["passed"])])
        else:
            desired = [0.0] * 4
        down = set()
        for (positive, negative), goal, value in zip(self.KEYS, desired, now, strict=True):
            if abs(goal) > self.MARGIN and abs(goal) > abs(value):
                down.add(positive if goal > 0 else negative)
        for key in self._down - down:
            self._keyboard.up(key)
        for key in down - self._down:
            self._keyboard.down(key)
        self._down = down

    def release(self) -> None:
        """Releases all keys, and waits until the sticks are centred."""
        for key in self._down:
            self._keyboard.up(key)
        self._down = set()
        self._arcade.wait("Object.values(arcade.sticks).join() === '0,0,0,0.5'")

    def deflections(self, hud: dict[str, Any], gate: dict[str, Any]) -> list[float]:
        """Roll, pitch, yaw and climb, -1 to 1, along the axis of a gate."""
        axes = _rotation.rotation(np.array(gate["attitude"]))
        offset = axes.T @ (np.array(hud["position"]) - gate["position"])
        error = math.hypot(offset[1], offset[2])
        forward = -0.5 if offset[0] > 0.0 else self._speed * max(0.0, 1.0 - 2.0 * error)
        goal = np.array([forward, 0.0, 0.0])
        goal[1:] = np.clip(-1.2 * offset[1:], -1.0, 1.0)
        velocity = axes @ goal  # m/s, world
        yaw = _rotation.heading(np.array(hud["attitude"]))
        turn = math.remainder(math.atan2(axes[1, 0], axes[0, 0]) - yaw, math.tau)
        forward = math.cos(yaw) * velocity[0] + math.sin(yaw) * velocity[1]
        left = math.cos(yaw) * velocity[1] - math.sin(yaw) * velocity[0]
        return [-left / 3.0, forward / 3.0, -turn, float(velocity[2]) / 2.0]


def take_off(page: ArcadePage, height: float = 0.8, scale: float = 1.0) -> None:
    """Flies straight up, slowly as the machine may be busy, after a reset."""
    page.clock(0.25)
    page.press("r")
    page.wait("arcade.hud.phase === 'ready' && arcade.hud.time < 5")
    page.page.keyboard.down("w")
    page.wait(f"arcade.hud.phase === 'flying' && arcade.hud.height > {height}")
    page.page.keyboard.up("w")
    page.wait("Math.abs(arcade.hud.velocity[2]) < 0.3")
    page.clock(scale)


def load_course(page: ArcadePage, name: str, vehicle: str, seed: int) -> None:
    """By the menu."""
    page.press("m")
    form = page.page.locator("#settings")
    form.locator("[name=course]").select_option(name)
    form.locator("[name=vehicle]").select_option(vehicle)
    form.locator("[name=seed]").fill(str(seed))
    form.locator("button").click()
    page.wait(f"arcade.course.name === '{name}' && arcade.course.seed === {seed}")
    page.wait("arcade.hud.phase === 'ready' && arcade.hud.gates === arcade.course.gates.length")
    page.press("m")


def calibrate(page: ArcadePage) -> None:
    """Throttle on axis 2 without a spring, yaw on 3, pitch on 1 inverted, roll on 0."""
    page.page.locator("#open-gamepad").click()
    assert "needs a calibration" in page.page.locator("#calibration-text").inner_text()
    page.page.locator("#calibration-start").click()
    page.page.locator("#calibration-next").click()
    for word, axis, value in (
        ("throttle", 2, 1),
        ("yaw", 3, 0.8),
        ("pitch", 1, -1),
        ("roll", 0, 1),
    ):
        page.wait(f"document.getElementById('calibration-text').textContent.includes('{word}')")
        page.get(f"pad.axes[{axis}] = {value}")
    page.wait("document.getElementById('calibration-text').textContent.includes('edges')")
    for value in (-0.8, 0.8, 0):
        page.get(f"pad.axes = [{value}, {value}, {value}, {value}, -1]")
        page.get(
            "new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))"
        )
    page.page.locator("#calibration-next").click()
    page.get("pad.axes[4] = 1")  # the switch of the mode
    page.wait("document.getElementById('calibration-text').textContent.includes('Saved')")
    page.get("pad.axes = [0, 0, -1, 0, 0]")
    page.press("Escape")
