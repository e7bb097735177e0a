"""Keys, gamepads and menus of the arcade's page in unusual situations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from arcade_browser_helpers import ArcadePage, RunningArcade, take_off
from propwash.arcade import Board, Entry
from propwash.race import courses

pytest_plugins = "arcade_browser_fixtures"
pytestmark = pytest.mark.slow

FAKE_GAMEPADS = """
window.pads = ["First", "Second"].map((id, index) => ({
  id, index, connected: true, mapping: "standard", timestamp: 0, axes: [0, 0, 0, 0],
  buttons: Array.from({ length: 16 }, () => ({ pressed: false, touched: false, value: 0 })),
}));
navigator.getGamepads = () => window.pads;
"""
TWO_FRAMES = "new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))"
MARKUP = "<img src=x onerror=a()>"


def test_of_two_gamepads_the_one_that_moved_last_flies(arcade: RunningArcade, context: Any) -> None:
    context.add_init_script(FAKE_GAMEPADS)
    page = ArcadePage(context, arcade.url)
    take_off(page, scale=0.25)
    page.get("pads[1].axes[2] = 0.2")
    page.wait("arcade.source === 'gamepad' && arcade.sticks.roll > 0.1")
    page.get("pads[0].axes[2] = -0.2")
    page.wait("arcade.sticks.roll < -0.1")
    page.get("pads[1].axes[2] = 0")
    page.wait("arcade.sticks.roll === 0")
    page.get("pads[1] = null")  # the cable of the one in use; the other one deflects its stick
    page.wait("arcade.status.paused && arcade.source === 'keyboard'")
    page.get(TWO_FRAMES)
    assert page.get("[arcade.source, arcade.sticks.roll]") == ["keyboard", 0]
    page.get("pads[0].axes[2] = 0.2")
    page.wait("arcade.source === 'gamepad' && arcade.sticks.roll > 0.1")
    assert page.errors == []


@pytest.mark.parametrize("axes", ["[]", "[NaN, NaN, NaN, NaN]", "[0.5]", "[9, -9, 9, -9]"])
def test_invalid_axes_of_a_gamepad_give_valid_sticks(
    arcade: RunningArcade, context: Any, axes: str
) -> None:
    context.add_init_script(FAKE_GAMEPADS)
    page = ArcadePage(context, arcade.url)
    page.get("pads[0].axes[0] = 1")
    page.wait("arcade.source === 'gamepad'")
    page.get(f"pads[0].axes = {axes}")
    page.get(TWO_FRAMES)
    page.page.locator("#open-gamepad").click()
    page.get(TWO_FRAMES)
    page.press("Escape")
    values = page.get("Object.values(arcade.sticks)")
    assert all(-1.0 <= value <= 1.0 for value in values)
    assert page.errors == []


def test_a_gamepad_does_not_fly_while_a_dialog_is_open(arcade: RunningArcade, context: Any) -> None:
    context.add_init_script(FAKE_GAMEPADS)
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.press("h")
    page.wait("arcade.status.paused")
    page.get("pads[0].axes = [0.5, -1, 0.5, 0]; pads[0].buttons[9].pressed = true")
    page.get(TWO_FRAMES)
    page.get("pads[0].buttons[9].pressed = false")
    number = page.get("arcade.number")
    page.wait(f"arcade.number > {number + 2}")
    assert page.get("[arcade.status.paused, arcade.source]") == [True, "keyboard"]
    assert page.get("arcade.sticks") == {"roll": 0, "pitch": 0, "yaw": 0, "throttle": 0.5}
    page.press("Escape")
    page.get(TWO_FRAMES)
    page.get("pads[0].axes = [0, 0, 0, 0]")
    page.wait("arcade.source === 'gamepad'")


def test_each_of_two_devices_can_be_calibrated(arcade: RunningArcade, context: Any) -> None:
    context.add_init_script(FAKE_GAMEPADS)
    page = ArcadePage(context, arcade.url)
    page.get("pads[1].mapping = ''")
    page.page.locator("#open-gamepad").click()
    text = page.page.locator("#calibration-text")
    assert text.inner_text() == "Ready to fly."
    page.page.locator("#calibration-device").select_option("Second")
    page.wait("document.getElementById('calibration-text').textContent.includes('needs a')")
    page.page.locator("#calibration-start").click()
    page.page.locator("#calibration-next").click()
    page.wait("document.getElementById('calibration-text').textContent.includes('throttle')")
    page.get("pads[1] = null")  # cancels the calibration
    page.wait("document.getElementById('calibration-text').textContent === 'Ready to fly.'")
    page.get("pads.length = 0")
    page.wait("document.getElementById('calibration-text').textContent.includes('No device')")
    assert page.page.locator("#calibration-start").is_disabled()
    assert page.errors == []


def test_a_change_of_mode_in_flight_keeps_the_throttle(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page, scale=0.25)
    page.press("2")
    page.wait("arcade.hud.mode === 'angle'")
    assert page.get("arcade.sticks.throttle") == 0.5  # hover
    page.press("p")
    page.wait("arcade.status.paused")
    page.page.keyboard.down("w")
    page.wait("arcade.sticks.throttle > 0.6")
    page.page.keyboard.up("w")
    throttle = page.get("arcade.sticks.throttle")
    page.press("1")
    assert page.get("[arcade.mode, arcade.sticks.throttle]") == ["acro", throttle]
    page.press("3")
    assert page.get("[arcade.mode, arcade.sticks.throttle]") == ["assisted", 0.5]


def test_keys_are_released_without_an_event_of_their_own(
    arcade: RunningArcade, context: Any
) -> None:
    page = ArcadePage(context, arcade.url)
    keyboard = page.page.keyboard
    keyboard.down("ArrowRight")
    page.wait("arcade.sticks.roll > 0.2")
    keyboard.down("Meta")  # as on macOS: the release of the arrow key is lost
    page.wait("arcade.sticks.roll === 0")
    keyboard.up("Meta")
    keyboard.up("ArrowRight")
    page.press("1")
    keyboard.down("ShiftLeft")
    keyboard.down("ShiftRight")
    keyboard.up("ShiftRight")  # as on Windows: the only event for both
    keyboard.down("ArrowRight")
    page.wait("arcade.sticks.roll > 0.34")
    page.get(f"{TWO_FRAMES}.then(() => {TWO_FRAMES})")
    assert page.get("arcade.sticks.roll") == 0.35
    keyboard.up("ArrowRight")
    keyboard.up("ShiftLeft")
    page.press("3")


def test_an_invalid_image_does_not_stop_the_next_ones(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    page.get(
        "(() => { const create = createImageBitmap; window.createImageBitmap = () => {"
        " window.createImageBitmap = create; return Promise.reject(new Error('no JPEG')); }; })()"
    )
    frames = page.get("arcade.frames")
    page.wait(f"arcade.frames > {frames + 2}")
    assert page.errors == ["no JPEG"]


def test_the_menu_refuses_invalid_seeds(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    page.press("m")
    for seed in ("-1", "1e30", "", "0.5", "4294967296"):
        page.page.locator("#settings [name=seed]").fill(seed)
        page.page.locator("#settings [type=submit]").click()
        assert not page.get("document.getElementById('settings').checkValidity()"), seed
    page.page.locator("#settings [name=seed]").press("w")  # a letter for the field
    assert page.get("arcade.sticks.throttle") == 0.5
    assert page.get("arcade.course.seed") == 0


def test_messages_of_a_former_choice_change_nothing(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    page.get("arcade.lastLog = null")
    page.press("m")
    form = page.page.locator("#settings")
    form.locator("[name=course]").select_option("tower")
    form.locator("[value=pilot]").check()
    form.locator("[type=submit]").click()
    page.wait("arcade.course.name === 'tower'")
    form.locator("[name=seed]").fill("5")
    page.wait("arcade.course.ghosts.length && arcade.lastLog && arcade.board")
    assert form.locator("[name=seed]").input_value() == "5"  # the ghost came later
    page.page.wait_for_timeout(300)
    assert page.page.locator("#board-title").inner_text() == "tower · seed 0"


def test_a_watcher_keeps_the_result_of_a_flight(arcade: RunningArcade, context: Any) -> None:
    pilot, watcher = ArcadePage(context, arcade.url), ArcadePage(context, arcade.url)
    take_off(pilot)
    pilot.page.keyboard.down("s")
    watcher.wait("arcade.flight")
    pilot.page.keyboard.up("s")
    watcher.press("r")
    assert watcher.get("arcade.flight.result") == "collided"
    watcher.page.close()


def test_markup_in_names_is_text(context: Any, tmp_path: Path) -> None:
    source = Path(courses()["eight"].file).read_text()
    course = tmp_path / "mine.toml"
    first_line = source.splitlines()[0]
    course.write_text(source.replace(first_line, f"# {MARKUP}").replace('"Gate1"', f'"{MARKUP}"'))
    Board(tmp_path).add(
        Entry(
            name=MARKUP,
            course="mine",
            seed=0,
            vehicle=MARKUP,
            mode="acro",
            gates=1,
            race_time=1.0,
            score=1.0,
        )
    )
    arcade = RunningArcade(tmp_path, "--course", str(course))
    try:
        page = ArcadePage(context, arcade.url)
        page.press("m")
        page.wait("arcade.board?.entries.length && arcade.hud.next")
        text = page.page.locator("body").inner_text()
        assert text.count(MARKUP) >= 2
        assert page.get("document.querySelectorAll('body img').length") == 1  # the icon
        assert page.errors == []
    finally:
        arcade.stop()
