"""What the arcade's page shows a beginner: the lesson, wrong gates, sounds, titles, and a stall."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arcade_browser_helpers import ArcadePage, KeyPilot, RunningArcade, take_off

pytest_plugins = "arcade_browser_fixtures"
pytestmark = pytest.mark.slow


@pytest.fixture(name="lesson")
def lesson_(tmp_path: Path) -> Iterator[RunningArcade]:
    """The arcade as a beginner starts it."""
    running = RunningArcade(tmp_path)
    yield running
    running.stop()


def text(page: ArcadePage, name: str) -> str:
    """The text of an element."""
    return str(page.get(f"document.getElementById('{name}').textContent"))


def hold(page: ArcadePage, key: str, condition: str) -> bool:
    """Holds a key until a condition or a collision; whether it is the former."""
    page.page.keyboard.down(key)
    page.wait(f"{condition} || arcade.hud.phase === 'collided'")
    page.page.keyboard.up(key)
    return bool(page.get("arcade.hud.phase !== 'collided'"))


def learn(page: ArcadePage) -> bool:
    """Flies the lesson by keys until its first gate is passed, and back; False: it collides."""
    page.press("r")
    page.wait("arcade.hud.task === 'take_off' && arcade.hud.phase === 'ready'")
    page.get("arcade.sounds.played = []")
    assert text(page, "task-step") == "1 / 5"
    if not hold(page, "w", "arcade.hud.task === 'hover'"):
        return False
    page.wait("arcade.hud.task === 'yaw'")
    if not hold(page, "d", "arcade.hud.task === 'gate'"):
        return False
    assert "orange gate" in text(page, "task-text")
    page.wait("arcade.hud.guide.includes('turn left')")
    assert "Gate1" in text(page, "next-gate")
    pilot = KeyPilot(page)
    page.wait("arcade.hud.passed.length > 0 || arcade.hud.phase === 'collided'", pilot.step)
    pilot.release()
    page.wait("arcade.hud.passed.length > 0 || arcade.hud.phase === 'collided'")
    return hold(page, "ArrowDown", "arcade.hud.wrong")


def test_a_beginner_learns_to_fly_through_a_gate(lesson: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, lesson.url)
    assert page.get("arcade.course.name") == "lesson"
    assert page.get("document.querySelectorAll('#map path:not(.vehicle)').length") == 3
    page.clock(0.25)
    assert learn(page)
    assert text(page, "notice") == "Gate1 was passed backwards"
    assert page.get("document.getElementById('notice').className") == "wrong"
    states = "[...document.querySelectorAll('#map path')].map((gate) => gate.getAttribute('class'))"
    assert page.get(states) == ["passed", "next", "", "vehicle"]
    assert text(page, "next-gate").startswith("next: Gate2 · ")
    played = page.get("arcade.sounds.played")
    assert [played.count(name) for name in ("take_off", "task", "gate", "wrong")] == [1, 3, 1, 1]
    assert page.errors == []


def test_muted_sounds_stay_muted_after_a_reload(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    take_off(page)
    assert page.get("arcade.sounds.played").count("take_off") == 1
    page.press("v")
    assert page.get("document.getElementById('sound').ariaPressed") == "false"
    take_off(page)
    assert page.get("arcade.sounds.played").count("take_off") == 1
    page.page.reload()
    page.wait("window.arcade?.frames > 1 && arcade.status")
    assert page.get("[arcade.sounds.muted, document.getElementById('sound').ariaPressed]") == [
        True,
        "false",
    ]
    page.page.locator("#sound").click()
    assert page.get("arcade.sounds.muted") is False
    assert page.errors == []


SOUNDS = """async ([before, hud]) => {
  const { soundsOf } = await import(new URL("sounds.js", location.href));
  const flight = { time: 1, phase: "flying", passed: [], task: null, wrong: null };
  return soundsOf(before && { ...flight, ...before }, { ...flight, ...hud });
}"""


def test_sounds_of_two_images(arcade: RunningArcade, context: Any) -> None:
    page = context.new_page()
    page.goto(arcade.url)
    passed = [["A", 1.0]]
    cases: list[tuple[Any, Any, list[str]]] = [
        (None, {"phase": "flying"}, []),
        ({}, {}, []),
        ({"phase": "ready"}, {}, ["take_off"]),
        ({}, {"passed": passed}, ["gate"]),
        ({"task": "yaw"}, {"task": "gate"}, ["task"]),
        ({"task": "gate"}, {"task": "gates", "passed": passed}, ["gate"]),
        ({}, {"phase": "finished", "passed": passed}, ["finished"]),
        ({}, {"phase": "collided"}, ["collided"]),
        ({}, {"phase": "timeout"}, []),
        ({}, {"wrong": {"time": 1.0}}, ["wrong"]),
        ({"wrong": {"time": 1.0}}, {"wrong": {"time": 1.0}}, []),
        ({"wrong": {"time": 1.0}}, {"wrong": {"time": 2.0}}, ["wrong"]),
        ({"time": 9, "phase": "collided", "task": "gate"}, {"phase": "ready", "task": None}, []),
    ]
    for before, hud, names in cases:
        assert page.evaluate(SOUNDS, [before, hud]) == names, (before, hud)


CLIPPED = """() => {
  const select = document.querySelector("#settings [name=course]");
  const style = getComputedStyle(select);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const arrow = 24;
  const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const options = [...select.options].filter(
    (option) => pen.measureText(option.text).width > room - arrow);
  const titles = ["flight-title", "course-about", "message-title", "next-gate"]
    .map((id) => document.getElementById(id))
    .filter((box) => getComputedStyle(box).overflow !== "visible")
    .filter((box) => box.scrollWidth > box.clientWidth);
  return [...options.map((option) => option.text), ...titles.map((box) => box.textContent)];
}"""


def test_no_title_is_clipped(arcade: RunningArcade, context: Any) -> None:
    page = ArcadePage(context, arcade.url)
    page.press("m")
    names = [course["name"] for course in page.get("arcade.hello.courses")]
    assert len(names) == 9
    for width in (1280, 800):
        page.page.set_viewport_size({"width": width, "height": 720})
        for name in names:
            page.page.locator("#settings [name=course]").select_option(name)
            assert page.page.evaluate(CLIPPED) == []
            about = page.page.locator("#course-about")
            assert about.inner_text()
            assert about.evaluate("(box) => getComputedStyle(box).whiteSpace") == "normal"
    # a long title of the flight wraps
    long = "a course with a rather long name · " * 5
    page.get(f"document.getElementById('flight-title').textContent = {long!r}")
    assert page.page.evaluate(CLIPPED) == []
    body = page.get("[document.body.scrollWidth, document.body.scrollHeight]")
    assert body == [800, 720]
