"""The page of the arcade in Chromium: flown by keys and by a gamepad, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arcade_browser_helpers import (
    ArcadePage,
    KeyPilot,
    RunningArcade,
    offline_chromium,
    require_chromium,
)
from propwash import logs

pytestmark = pytest.mark.slow

FAKE_GAMEPAD = """
window.pad = {
  id: "Test transmitter", index: 0, connected: true, mapping: "", timestamp: 0,
  axes: [0, 0, -1, 0, -1], buttons: [0, 1].map(() => ({ pressed: false, touched: false, value: 0 })),
};
navigator.getGamepads = () => [window.pad, null, null, null];
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with offline_chromium(require_chromium()) as opened:
        yield opened


@pytest.fixture(scope="module")
def arcade(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArcade]:
    running = RunningArcade(tmp_path_factory.mktemp("arcade") / "flights", "--course", "eight")
    yield running
    assert running.stop() == ""


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    opened = browser.new_context(viewport={"width": 1280, "height": 720})
    yield opened
    opened.close()


def take_off(page: ArcadePage, height: float = 0.8) -> None:
    """Flies straight up, after a reset."""
    page.press("r")
    page.wait("arcade.hud.phase === 'ready' && arcade.hud.time < 5")
    page.page.keyboard.down("w")
    page.wait(f"arcade.hud.phase === 'flying' && arcade.hud.height > {height}")
    page.page.keyboard.up("w")
    page.wait("Math.abs(arcade.hud.velocity[2]) < 0.3")


def test_the_page_needs_no_network(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    socket = arcade.url.replace("http:", "ws:") + "socket"
    assert socket in page.requests
    assert all(url.startswith(arcade.url) for url in page.requests if url != socket)
    assert {url.rsplit("/", 1)[1] for url in page.requests} >= {"main.js", "style.css", "icon.svg"}
    assert page.errors == []
    assert page.get("document.getElementById('flight-title').textContent").endswith("seed 0")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (390, 780), (800, 400)])
def test_the_page_fits_the_screen(
    arcade: RunningArcade, context: Any, width: int, height: int
) -> None:
    page = ArcadePage(context, arcade.url)
    page.page.set_viewport_size({"width": width, "height": height})
    body = page.get("[document.body.scrollWidth, document.body.scrollHeight]")
    assert body[0] <= width
    assert body[1] <= height
    image = page.page.locator("#image").bounding_box()
    assert image["width"] / image["height"] == pytest.approx(16 / 9, rel=0.01)
    assert max(image["width"] / width, image["height"] / height) > 0.8
    buttons = "[...document.querySelectorAll('button')].filter(b => b.checkVisibility())"
    assert page.get(f"{buttons}.every(b => b.textContent.trim())")


def test_keys_fly_through_a_gate_and_the_log_has_the_flight(
    arcade: RunningArcade, context: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    before = arcade.logs()
    pilot = KeyPilot(page)
    page.press("t")
    page.wait("arcade.hud.scale === 0.5")  # two images for one at full speed: the machine is busy
    page.wait("arcade.hud.phase !== 'ready' && arcade.hud.passed.length > 0", pilot.step)
    pilot.release()
    assert page.get("arcade.hud.passed[0][0]") == page.get("arcade.course.gates[0].name")
    page.press("r")
    page.wait("arcade.lastLog && arcade.hud.phase === 'ready'")
    page.press("t")
    page.press("t")
    (log,) = set(arcade.logs()) - set(before)
    assert log.name == Path(page.get("arcade.lastLog")).name
    record = logs.read_record(log)
    assert record.gates is not None
    assert record.gates[-1] == 1
    assert record.sticks is not None
    assert set(np.sign(record.sticks[:, 3] - 0.5)) >= {0.0, 1.0}  # throttle: centred, and up
    assert np.ptp(record.sticks[:, 1]) > 0.1  # pitch
    assert record.position[0, 2] < 0.3 < record.position[:, 2].max()
    assert page.errors == []


def test_each_key_moves_the_vehicle_in_its_direction(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    x, y, _, yaw = page.get("arcade.course.start")
    del x, y
    along, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
    for key, direction in (
        ("ArrowUp", along),
        ("ArrowDown", -along),
        ("ArrowLeft", left),
        ("ArrowRight", -left),
    ):
        page.page.keyboard.down(key)
        ahead = f"arcade.hud.velocity[0] * {direction[0]} + arcade.hud.velocity[1] * {direction[1]}"
        page.wait(f"{ahead} > 0.4")
        page.page.keyboard.up(key)
        page.wait("Math.hypot(...arcade.hud.velocity) < 0.2")
    assert page.get("arcade.hud.phase") == "flying"


def test_latency_from_key_to_image(
    arcade: RunningArcade, context: Any, record_property: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.get("arcade.latency.values.length = 0")
    for key in ("ArrowLeft", "ArrowRight") * 6:
        count = page.get("arcade.latency.values.length")
        page.page.keyboard.down(key)
        page.wait(f"arcade.latency.values.length > {count}")
        page.page.keyboard.up(key)
        page.wait(f"arcade.latency.values.length > {count + 1}")
    values = np.array(page.get("arcade.latency.values"))
    rate, median = page.get("[arcade.rate, arcade.latency.median]")
    assert median == pytest.approx(np.median(values))
    assert len(values) >= 24
    assert np.all(values > 0.0)
    assert median < 2000.0  # of a machine that does much else
    low, high = np.quantile(values, [0.1, 0.9])
    text = f"{median:.0f} ms, 10 % {low:.0f} ms, 90 % {high:.0f} ms, {rate} images/s"
    record_property("latency", text)
    print(f"latency from key to image: {text}")


def test_pause_slow_motion_camera_and_modes_by_keys(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.press("p")
    page.wait("arcade.hud.paused")
    time = page.get("arcade.hud.time")
    frames = page.get("arcade.frames")
    page.wait(f"arcade.frames > {frames + 2}")
    assert page.get("arcade.hud.time") == time
    assert page.page.locator("#message").is_visible()
    page.press("Space")
    page.wait(f"!arcade.hud.paused && arcade.hud.time > {time}")
    for scale in (0.5, 0.25, 1):
        page.press("t")
        page.wait(f"arcade.hud.scale === {scale}")
    for view in ("onboard", "chase"):
        page.press("c")
        page.wait(f"arcade.status.view === '{view}'")
    for key, mode in (("2", "angle"), ("1", "acro"), ("3", "assisted")):
        page.press(key)
        page.wait(f"arcade.hud.mode === '{mode}'")


def test_the_menu_loads_another_course(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    page.press("m")
    form = page.page.locator("#settings")
    form.locator("[name=course]").select_option("alphapilot")
    form.locator("[name=vehicle]").select_option("blackbird")
    form.locator("[name=seed]").fill("7")
    form.locator("button").click()
    page.wait("arcade.course.name === 'alphapilot' && arcade.hud.gates === 11")
    assert page.get("[arcade.course.seed, arcade.course.vehicle]") == [7, "blackbird"]
    form.locator("[name=course]").select_option("eight")
    form.locator("[name=vehicle]").select_option("flightgoggles")
    form.locator("[name=seed]").fill("0")
    form.locator("button").click()
    page.wait("arcade.course.name === 'eight' && arcade.course.seed === 0")


def test_lost_pilot_pauses_and_a_watcher_takes_over(arcade: RunningArcade, context: Any) -> None:
    pilot, watcher = ArcadePage(context, arcade.url), ArcadePage(context, arcade.url)
    assert pilot.get("arcade.status.role") == "pilot"
    assert watcher.get("arcade.status.role") == "watcher"
    assert watcher.page.locator("#banner").is_visible()
    assert not watcher.page.locator("#take-over").is_visible()
    take_off(pilot)
    watcher.press("r")  # has no effect
    watcher.wait("arcade.hud.phase === 'flying' && arcade.hud.height > 0.3")
    pilot.page.close()
    watcher.wait("arcade.status.paused && !arcade.status.has_pilot")
    assert watcher.get("arcade.status.role") == "watcher"
    watcher.page.locator("#take-over").click()
    watcher.wait("arcade.status.role === 'pilot' && arcade.status.paused")
    place = np.array(watcher.get("arcade.hud.position"))
    watcher.press("p")
    watcher.wait("!arcade.hud.paused && arcade.hud.input > 0")
    assert watcher.get("arcade.hud.phase") == "flying"
    assert np.linalg.norm(np.array(watcher.get("arcade.hud.position")) - place) < 1.0


def test_a_hidden_page_pauses_and_a_lost_focus_centres_the_sticks(
    arcade: RunningArcade, context: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.page.keyboard.down("ArrowRight")
    page.wait("arcade.sticks.roll > 0.2")
    page.get("window.dispatchEvent(new Event('blur'))")
    page.wait("arcade.sticks.roll === 0")
    page.page.keyboard.up("ArrowRight")
    page.get(
        "Object.defineProperty(document, 'hidden', { value: true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.wait("arcade.status.paused")


def test_a_lost_server_is_shown_and_the_log_of_the_flight_is_kept(
    browser: Any, context: Any, tmp_path: Path
) -> None:
    arcade = RunningArcade(tmp_path, "--course", "eight")
    try:
        page = ArcadePage(context, arcade.url)
        take_off(page)
    finally:
        arcade.stop()
    page.wait("!arcade.connected")
    assert page.page.locator("#message-title").inner_text() == "Connection lost"
    (log,) = arcade.logs()
    assert logs.read_record(log).position[:, 2].max() > 0.7


def calibrate(page: ArcadePage) -> None:
    """Throttle on axis 2 without a spring, yaw on 3, pitch on 1 with the sign changed, roll on 0."""
    page.page.locator("#open-gamepad").click()
    assert "needs a calibration" in page.page.locator("#calibration-text").inner_text()
    page.page.locator("#calibration-start").click()
    page.page.locator("#calibration-next").click()
    for word, axis, value in (("throttle", 2, 1), ("yaw", 3, 0.8), ("pitch", 1, -1), ("roll", 0, 1)):
        page.wait(f"document.getElementById('calibration-text').textContent.includes('{word}')")
        page.get(f"pad.axes[{axis}] = {value}")
    page.wait("document.getElementById('calibration-text').textContent.includes('edges')")
    for value in (-0.8, 0.8, 0):
        page.get(f"pad.axes = [{value}, {value}, {value}, {value}, -1]")
        page.get("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
    page.page.locator("#calibration-next").click()
    page.get("pad.axes[4] = 1")  # the switch of the mode
    page.wait("document.getElementById('calibration-text').textContent.includes('Saved')")
    page.get("pad.axes = [0, 0, -1, 0, 0]")
    page.press("Escape")


def test_a_transmitter_is_calibrated_once_and_flies(arcade: RunningArcade, context: Any) -> None:
    context.add_init_script(FAKE_GAMEPAD)
    page = ArcadePage(context, arcade.url)
    calibrate(page)
    page.page.reload()  # the mapping is in the local storage
    page.wait("window.arcade?.frames > 1 && arcade.status")
    page.get("pad.axes = [1, -1, -1, -0.8, -1]")
    page.wait("arcade.source === 'gamepad' && arcade.sticks.roll === 1")
    assert page.get("arcade.sticks") == {"roll": 1, "pitch": 1, "yaw": -1, "throttle": 0}
    page.get("pad.axes = [0, 0, -1, 0, 0]")
    page.wait("arcade.mode === 'angle'")  # the switch, in the middle
    page.get("pad.axes = [0.02, 0.02, -1, 0.02, 1]")  # within the deadband
    page.wait("arcade.mode === 'assisted' && arcade.sticks.roll === 0")
    page.press("r")
    page.get("pad.axes[2] = 1")
    page.wait("arcade.hud.phase === 'flying' && arcade.hud.height > 0.5")
    page.page.keyboard.down("w")  # the keyboard, when it is used
    page.wait("arcade.source === 'keyboard'")
    page.page.keyboard.up("w")
    assert page.errors == []
