"""The page of the arcade in Chromium: flown by keys and by a gamepad, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arcade_browser_helpers import (
    FAKE_GAMEPAD,
    ArcadePage,
    KeyPilot,
    RunningArcade,
    calibrate,
    load_course,
    take_off,
)
from propwash import logs

pytest_plugins = "arcade_browser_fixtures"
pytestmark = pytest.mark.slow


def test_the_page_needs_no_network(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    socket = arcade.url.replace("http:", "ws:") + "socket"
    assert socket in page.requests
    assert all(url.startswith(arcade.url) for url in page.requests if url != socket)
    assert {url.rsplit("/", 1)[1] for url in page.requests} >= {"main.js", "style.css", "icon.svg"}
    assert page.errors == []
    assert page.get("document.getElementById('flight-title').textContent").endswith("seed 0")


@pytest.mark.parametrize(
    ("width", "height"), [(1280, 720), (1920, 1080), (390, 780), (800, 400), (320, 600)]
)
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
    assert page.get(f"{buttons}.every(b => b.getBoundingClientRect().right <= {width})")


def fly_to_a_gate(page: ArcadePage) -> list[str]:
    """Flies until a gate or a collision, and resets; returns the names of the gates passed."""
    page.get("arcade.lastLog = null")
    pilot = KeyPilot(page)
    page.wait("arcade.hud.passed.length > 0 || arcade.hud.phase === 'collided'", pilot.step)
    pilot.release()
    passed = page.get("arcade.hud.passed.map((each) => each[0])")
    page.press("r")
    page.wait("arcade.lastLog && arcade.hud.phase === 'ready'")
    return list(passed)


@pytest.mark.slow
def test_keys_fly_through_a_gate_and_the_log_has_the_flight(
    arcade: RunningArcade, context: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    page.press("t")
    page.wait("arcade.hud.scale === 0.5")  # two images for one at full speed: the machine is busy
    before = arcade.logs()
    passed = fly_to_a_gate(page)
    (log,) = set(arcade.logs()) - set(before)
    assert log.name == Path(page.get("arcade.lastLog")).name
    assert passed == [page.get("arcade.course.gates[0].name")]
    record = logs.read_record(log)
    assert record.gates is not None
    assert record.gates[-1] == 1
    assert record.sticks is not None
    assert set(np.sign(record.sticks[:, 3] - 0.5)) >= {0.0, 1.0}  # throttle: centred, and up
    assert np.ptp(record.sticks[:, 1]) > 0.1  # pitch
    assert record.position[0, 2] < 0.3 < record.position[:, 2].max()
    assert page.errors == []


RELEASE = """([code, x, y]) => {
  window.hasMoved = false;
  const timer = setInterval(() => {
    if (arcade.hud.velocity[0] * x + arcade.hud.velocity[1] * y < 0.4) return;
    clearInterval(timer);
    window.hasMoved = true;
    window.dispatchEvent(new KeyboardEvent("keyup", { code, bubbles: true }));
  }, 10);
}"""


def moves(page: ArcadePage, key: str, direction: Any) -> bool:
    """Holds a key until the vehicle moves in a direction, and stops; False if it collides.

    The page releases the key, as this process may be late.
    """
    collided = "arcade.hud.phase === 'collided'"
    page.page.evaluate(RELEASE, [key, *direction.tolist()])
    page.page.keyboard.down(key)
    page.wait(f"hasMoved || {collided}")
    page.page.keyboard.up(key)
    page.wait(f"Math.hypot(...arcade.hud.velocity) < 0.2 || {collided}")
    return not page.get(collided)


@pytest.mark.slow
def test_each_key_moves_the_vehicle_in_its_direction(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page, scale=0.25)
    x, y, _, yaw = page.get("arcade.course.start")
    del x, y
    along, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
    for key, direction in (
        ("ArrowUp", along),
        ("ArrowDown", -along),
        ("ArrowLeft", left),
        ("ArrowRight", -left),
    ):
        assert moves(page, key, direction), key


@pytest.mark.slow
@pytest.mark.parametrize("course", ["alphapilot", "eight"])
def test_latency_from_key_to_image(
    arcade: RunningArcade, context: Any, record_property: Any, course: str
) -> None:
    page = ArcadePage(context, arcade.url)
    load_course(page, course, "flightgoggles", 0)
    take_off(page)
    page.get("arcade.latency.values.length = 0")
    for key in "adadadadadad":  # yaw
        count = page.get("arcade.latency.values.length")
        page.page.keyboard.down(key)
        page.wait(f"arcade.latency.values.length > {count}")
        page.page.keyboard.up(key)
        page.wait(f"arcade.latency.values.length > {count + 1}")
    read = "[arcade.latency.values, arcade.rate, arcade.latency.median]"
    values, rate, median = map(np.array, page.get(read))
    assert median == pytest.approx(np.median(values))
    assert len(values) >= 24
    assert np.all(values > 0.0)
    assert median < 2000.0  # of a machine that does much else
    low, high = np.quantile(values, [0.1, 0.9])
    text = f"{median:.0f} ms, 10 % {low:.0f} ms, 90 % {high:.0f} ms, {rate} images/s"
    record_property("latency", text)
    print(f"{course}: from key to image {text}")


@pytest.mark.slow
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
    for scale in (0.5, 0.25, 1, 0.5, 0.25):
        page.press("t")
        page.wait(f"arcade.hud.scale === {scale}")
    for view in ("onboard", "chase"):
        page.press("c")
        page.wait(f"arcade.status.view === '{view}'")
    for key, mode in (("2", "angle"), ("1", "acro"), ("3", "assisted")):
        page.press(key)
        page.wait(f"arcade.hud.mode === '{mode}'")


@pytest.mark.slow
def test_a_hidden_page_pauses_and_a_lost_focus_centres_the_sticks(
    arcade: RunningArcade, context: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.get(
        "Object.defineProperty(document, 'hidden', { value: true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.wait("arcade.status.paused")  # the key below cannot cause a collision
    page.page.keyboard.down("ArrowRight")
    page.wait("arcade.sticks.roll > 0.2")
    page.get("window.dispatchEvent(new Event('blur'))")
    page.wait("arcade.sticks.roll === 0")
    page.page.keyboard.up("ArrowRight")


@pytest.mark.slow
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


@pytest.mark.slow
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
    page.clock(0.25)
    page.press("r")
    page.get("pad.axes[2] = 1")
    page.wait("arcade.hud.phase === 'flying' && arcade.hud.height > 0.5")
    page.get("pad.axes[2] = 0")
    page.page.keyboard.down("d")  # the keyboard, when it is used
    page.wait("arcade.source === 'keyboard'")
    page.get(  # the key is released and the stick moves between two frames of the screen
        "window.dispatchEvent(new KeyboardEvent('keyup', { code: 'KeyD', bubbles: true }));"
        "pad.axes[0] = 0.5"
    )
    page.wait("arcade.source === 'gamepad'")
    page.page.keyboard.up("d")
    page.get("navigator.getGamepads = () => [null]")  # the cable
    page.wait("arcade.source === 'keyboard' && arcade.status.paused")
    assert page.errors == []


SWEEP = """async ([channel, deadband]) => {
  const { deflection } = await import(new URL("gamepad.js", location.href));
  return Array.from({ length: 2001 }, (_, i) => deflection(channel, i / 1000 - 1, deadband));
}"""


def test_a_stick_is_linear_outside_of_its_deadband(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url).page
    values = np.linspace(-1.0, 1.0, 2001)
    for centre, low, high in ((0.0, -1.0, 1.0), (0.2, -0.7, 0.9), (-0.1, -0.5, 1.0)):
        channel = {"axis": 0, "min": low, "centre": centre, "max": high, "inverted": False}
        for deadband in (0.0, 0.05, 0.2):
            read = np.array(page.evaluate(SWEEP, [channel, deadband]))
            part = np.where(values < centre, centre - low, high - centre)
            part = np.minimum(np.abs(values - centre) / part, 1.0)
            expected = np.maximum(part - deadband, 0.0) / (1.0 - deadband)
            np.testing.assert_allclose(read, np.sign(values - centre) * expected, atol=1e-12)
            inverted = page.evaluate(SWEEP, [{**channel, "inverted": True}, deadband])
            np.testing.assert_allclose(inverted, -read, atol=0.0)


RAMP = """async ([mode, presses, steps]) => {
  const { KeyboardSticks } = await import(new URL("sticks.js", location.href));
  const keyboard = new KeyboardSticks();
  keyboard.start(mode);
  const rows = [];
  for (const [codes, seconds] of presses) {
    keyboard.pressed = new Set(codes);
    for (let i = 0; i < steps; ++i) keyboard.update(seconds / steps, mode);
    rows.push(["roll", "pitch", "yaw", "throttle"].map((name) => keyboard.sticks[name]));
  }
  return rows;
}"""


@pytest.mark.parametrize("mode", ["acro", "angle", "assisted"])
def test_sticks_of_the_keyboard_do_not_depend_on_the_frame_rate(
    arcade: RunningArcade, context: Any, mode: str
) -> None:
    page = ArcadePage(context, arcade.url).page
    presses = [
        (["KeyW"], 0.11),
        (["KeyW", "ArrowUp", "KeyA"], 0.07),
        (["ArrowUp", "ArrowLeft", "ShiftLeft"], 0.3),
        (["ArrowUp", "ArrowDown", "KeyS"], 0.05),
        ([], 0.02),
        ([], 1.0),
    ]
    rows = np.array(page.evaluate(RAMP, [mode, presses, 50]))
    for steps in (1, 7):
        np.testing.assert_allclose(
            page.evaluate(RAMP, [mode, presses, steps]), rows, rtol=0.0, atol=1e-9
        )
    assert np.all(np.abs(rows[:, :3]) <= 1.0)
    assert np.all((rows[:, 3] >= 0.0) & (rows[:, 3] <= 1.0))
    assert rows[1, 1] > 0.0 > rows[1, 2]
    assert rows[2, 0] < 0.0
    np.testing.assert_allclose(rows[-1, :3], 0.0, atol=0.0)  # released: centred
    if mode == "assisted":
        assert rows[-1, 3] == 0.5
    else:
        assert rows[-1, 3] == rows[-2, 3] > 0.0  # the throttle stays


def test_a_kept_calibration_that_is_invalid_is_ignored(arcade: RunningArcade, context: Any) -> None:
    context.add_init_script(FAKE_GAMEPAD)
    page = ArcadePage(context, arcade.url)
    read = """async (text) => {
      localStorage.setItem("propwash-arcade-gamepad:x", text);
      return (await import(new URL("gamepad.js", location.href))).load("x");
    }"""
    channel = '{"axis": 0, "min": 1, "centre": 0, "max": -1, "inverted": false}'
    reversed_range = ", ".join(f'"{c}": {channel}' for c in ("roll", "pitch", "yaw", "throttle"))
    for text in (
        "",
        "no JSON",
        "null",
        "[]",
        '{"channels": null, "deadband": 0.1}',
        '{"channels": {"roll": {}}, "deadband": 0.1}',
        '{"channels": {' + reversed_range + '}, "deadband": 0.1}',
    ):
        assert page.page.evaluate(read, text) is None, text


@pytest.mark.slow
def test_no_sequence_of_keys_sends_an_invalid_message(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    rng = np.random.default_rng(22)
    keys = [*"wasd123rpctmh", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Shift", "Space"]
    keys += ["Escape", "Tab", "Enter", "w", "w"]
    down: set[str] = set()
    for key in rng.choice(keys, 400):
        if key in down:
            page.page.keyboard.up(key)
        else:
            page.page.keyboard.down(key)
        down ^= {key}
        values = page.get("Object.values(arcade.sticks)")
        assert all(-1.0 <= value <= 1.0 for value in values)
        assert page.get("arcade.sticks.throttle") >= 0.0
    for key in down:
        page.page.keyboard.up(key)
    frames = page.get("arcade.frames")
    page.wait(f"arcade.connected && arcade.frames > {frames}")
    assert page.errors == []  # and the server has refused nothing: see the fixture
