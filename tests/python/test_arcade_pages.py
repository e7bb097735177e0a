"""Roles, commands and refusals of the arcade's pages, and its HTTP answers; no sockets."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from propwash._bridge import Refused
from propwash.arcade import _messages as messages
from propwash.arcade._interface import Mode, Sticks
from propwash.arcade._pages import COUNTDOWN, MAX_UNSHOWN, SILENCE, STALL, Page, Pages
from propwash.arcade._site import Site


class Recorder:
    """Controls that record their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        """Records."""
        self.calls.append(("input", (sticks, mode, number)))

    def reset(self) -> None:
        """Records."""
        self.calls.append(("reset", None))

    def pause(self, paused: bool) -> None:
        """Records."""
        self.calls.append(("pause", paused))

    def set_scale(self, scale: float) -> None:
        """Records."""
        self.calls.append(("scale", scale))

    def select(self, message: messages.Select) -> None:
        """Records; knows one course."""
        if message.course != "eight":
            raise ValueError(f"course = {message.course!r}: expected one of eight")
        self.calls.append(("select", message))

    def set_view(self, view: messages.ViewName) -> None:
        """Records."""
        self.calls.append(("view", view))


@pytest.fixture
def controls() -> Recorder:
    """What the pages command."""
    return Recorder()


@pytest.fixture
def pages(controls: Recorder) -> Pages:
    """No pages yet."""
    return Pages(controls, Refused())


def send(pages: Pages, page: Page, now: float = 0.0, /, **message: Any) -> bool:
    """Sends a message from a page."""
    return pages.receive(page, json.dumps(message).encode(), now)


def stick_message(number: int = 1, mode: str = "acro") -> dict[str, Any]:
    """A valid input."""
    return {"type": "input", "number": number, "sticks": [0.1, -0.2, 0.3, 0.4], "mode": mode}


def status(page: Page) -> dict[str, Any]:
    """The newest status sent to a page."""
    found = [text for text in map(json.loads, page.texts) if text["type"] == "status"]
    return dict(found[-1])


def test_every_command_of_the_pilot_is_carried_out(pages: Pages, controls: Recorder) -> None:
    page = pages.join(0.0)
    send(pages, page, **stick_message(7))
    send(pages, page, type="reset")
    send(pages, page, type="pause", paused=True)
    send(pages, page, type="clock", scale=0.25)
    send(pages, page, type="camera", view="onboard")
    send(pages, page, type="select", course="eight", vehicle="blackbird", seed=4, ghosts=["best"])
    expected = messages.Select("eight", "blackbird", 4, ("best",))
    assert controls.calls == [
        ("input", (Sticks(0.1, -0.2, 0.3, 0.4), "acro", 7)),
        ("reset", None),
        ("pause", False),
        ("pause", True),
        ("scale", 0.25),
        ("view", "onboard"),
        ("select", expected),
    ]
    assert not pages.refused.counts
    assert status(page) | {"scale": 0.25, "view": "onboard", "paused": False} == status(page)


def test_second_page_watches_and_commands_nothing(pages: Pages, controls: Recorder) -> None:
    pilot, watcher = pages.join(0.0), pages.join(0.0)
    assert (pilot.role, watcher.role) == ("pilot", "watcher")
    for message in (
        stick_message(),
        {"type": "reset"},
        {"type": "pause", "paused": True},
        {"type": "clock", "scale": 0.5},
        {"type": "select", "course": "eight", "vehicle": "blackbird"},
        {"type": "camera", "view": "onboard"},
        {"type": "take_over"},
    ):
        assert send(pages, watcher, **message)
    assert controls.calls == []
    assert pages.refused.counts == {"command of a watcher": 6, "take_over beside a pilot": 1}
    assert pages.pilot is pilot


def test_lost_pilot_pauses_and_a_watcher_takes_over_by_request(
    pages: Pages, controls: Recorder
) -> None:
    pilot, watcher = pages.join(0.0), pages.join(0.0)
    send(pages, pilot, **stick_message(mode="angle"))
    pages.leave(pilot)
    assert controls.calls[-2:] == [
        ("input", (Sticks(throttle=0.4), "angle", 0)),
        ("pause", True),
    ]
    assert watcher.role == "watcher"
    lost = status(watcher)
    assert lost["paused"]
    assert not lost["has_pilot"]
    assert "lost" in lost["reason"]
    send(pages, watcher, type="take_over")
    assert status(watcher)["role"] == "pilot"
    assert pages.paused  # until the new pilot continues
    send(pages, watcher, type="pause", paused=False)
    assert controls.calls[-1] == ("pause", False)


def test_new_page_is_the_pilots_after_the_pilot_left(pages: Pages) -> None:
    first, watcher = pages.join(0.0), pages.join(0.0)
    pages.leave(first)
    again = pages.join(1.0)
    assert (again.role, watcher.role) == ("pilot", "watcher")
    assert pages.paused


def test_silent_pilot_can_be_replaced(pages: Pages) -> None:
    pilot, watcher = pages.join(0.0), pages.join(0.0)
    fly(pages, pilot, 0.0, 10.0)
    send(pages, watcher, 9.9 + SILENCE, type="take_over")
    assert (pilot.role, watcher.role) == ("pilot", "watcher")
    send(pages, watcher, 10.0 + SILENCE, type="take_over")
    assert (pilot.role, watcher.role) == ("watcher", "pilot")
    assert pages.paused


def shown(pages: Pages, page: Page, now: float, frame: int) -> None:
    """Sends an image to the pages, which this one acknowledges."""
    pages.receivers(frame)
    send(pages, page, now, type="shown", frame=frame)


def fly(pages: Pages, page: Page, start: float, end: float, *, images: bool = True) -> list[int]:
    """Checks ten times a second in flight, with inputs; returns the countdown after each check."""
    found = []
    for k in range(round(10.0 * start), round(10.0 * end)):
        send(pages, page, 0.1 * k, **stick_message())
        if images:
            shown(pages, page, 0.1 * k, k + 1)
        pages.check(0.1 * k, flying=True)
        found.append(pages.countdown)
    return found


def test_flight_without_images_pauses_and_continues_after_a_countdown(
    pages: Pages, controls: Recorder
) -> None:
    pilot = pages.join(0.0)
    fly(pages, pilot, 0.0, 5.0)
    assert not pages.paused
    fly(pages, pilot, 5.0, 4.9 + STALL, images=False)
    assert not pages.paused
    fly(pages, pilot, 4.9 + STALL, 45.0, images=False)
    assert [value for what, value in controls.calls if what == "pause"] == [True]
    assert status(pilot)["reason"] == "no image was shown for 1 s"
    assert status(pilot)["countdown"] == 0
    counted = fly(pages, pilot, 45.0, 45.0 + COUNTDOWN)
    assert counted == sorted(counted, reverse=True)
    assert set(counted) == {1, 2, 3}
    assert pages.paused
    assert status(pilot)["countdown"] == 1
    fly(pages, pilot, 45.0 + COUNTDOWN, 50.0)
    assert [value for what, value in controls.calls if what == "pause"] == [True, False]
    assert status(pilot) | {"paused": False, "reason": "", "countdown": 0} == status(pilot)


def test_countdown_begins_again_after_another_stall(pages: Pages) -> None:
    pilot = pages.join(0.0)
    fly(pages, pilot, 0.0, 10.0, images=False)
    assert fly(pages, pilot, 10.0, 11.2)[-1] == COUNTDOWN - 1
    assert fly(pages, pilot, 11.2, 20.0, images=False)[-1] == 0
    assert pages.paused
    assert fly(pages, pilot, 20.0, 20.5)[-1] == COUNTDOWN
    fly(pages, pilot, 20.5, 24.0)
    assert not pages.paused


def test_images_of_a_watcher_do_not_keep_a_flight_going(pages: Pages) -> None:
    pilot, watcher = pages.join(0.0), pages.join(0.0)
    fly(pages, pilot, 0.0, 1.0)
    for frame in range(20, 40):
        pages.receivers(frame)
        send(pages, watcher, 0.1 * frame, type="shown", frame=frame)
        send(pages, pilot, 0.1 * frame, **stick_message())
        pages.check(0.1 * frame, flying=True)
    assert pages.paused


def test_waiting_on_the_ground_needs_no_images(pages: Pages) -> None:
    pilot = pages.join(0.0)
    for k in range(100):
        send(pages, pilot, float(k), **stick_message())
        pages.check(float(k), flying=False)
    assert not pages.paused
    pages.check(99.1, flying=True)  # it has taken off, unseen
    assert pages.paused


def test_commands_of_the_pilot_end_a_countdown(pages: Pages, controls: Recorder) -> None:
    for message, paused in (
        ({"type": "pause", "paused": False}, False),
        ({"type": "reset"}, False),
        ({"type": "select", "course": "eight", "vehicle": "blackbird"}, False),
        ({"type": "pause", "paused": True}, True),
    ):
        pages = Pages(controls, Refused())
        pilot = pages.join(0.0)
        fly(pages, pilot, 0.0, 3.0, images=False)
        assert fly(pages, pilot, 3.0, 4.0)[-1] > 0
        send(pages, pilot, 4.0, **message)
        assert (pages.paused, pages.countdown) == (paused, 0)
        fly(pages, pilot, 4.0, 4.0 + 2.0 * COUNTDOWN)
        assert pages.paused is paused


def test_a_pause_by_the_arcade_ends_with_a_countdown_and_one_by_the_pilot_at_once(
    pages: Pages,
) -> None:
    pilot = pages.join(0.0)
    fly(pages, pilot, 0.0, 1.0)
    send(pages, pilot, 1.0, type="pause", paused=True)
    fly(pages, pilot, 1.0, 2.0)
    send(pages, pilot, 2.0, type="pause", paused=False)
    assert not pages.paused
    pages.leave(pilot)
    pilot = pages.join(3.0)
    assert fly(pages, pilot, 3.0, 10.0)[-1] == 0  # the pilot decides when
    assert pages.paused
    send(pages, pilot, 10.0, type="pause", paused=False)
    assert (pages.paused, pages.countdown) == (True, COUNTDOWN)
    fly(pages, pilot, 10.0, 10.1 + COUNTDOWN)
    assert not pages.paused


def test_images_wait_for_acknowledgements_of_each_page(pages: Pages) -> None:
    fast, slow = pages.join(0.0), pages.join(0.0)
    received: Counter[str] = Counter()
    for frame in range(1, 101):
        assert pages.wants_image()
        for page in pages.receivers(frame):
            received["fast" if page is fast else "slow"] += 1
        send(pages, fast, frame * 0.02, type="shown", frame=frame)
        if frame % 10 == 0:  # a slow page acknowledges what it has
            send(pages, slow, frame * 0.02, type="shown", frame=slow.unshown[0])
    assert received["fast"] == 100
    assert received["slow"] == MAX_UNSHOWN + 9
    assert not pages.refused.counts
    send(pages, fast, 3.0, type="shown", frame=100)  # for the second time
    assert pages.refused.counts == {"acknowledgement of an image that was not sent": 1}


def test_unknown_settings_are_a_notice(pages: Pages) -> None:
    page = pages.join(0.0)
    send(pages, page, type="select", course="nine", vehicle="blackbird")
    notice = json.loads(page.texts[-1])
    assert notice == {"type": "notice", "text": "course = 'nine': expected one of eight"}


def test_a_page_that_floods_is_disconnected_and_one_at_the_limit_is_not(
    controls: Recorder,
) -> None:
    pages = Pages(controls, Refused(), message_rate=100.0)
    steady, flooding = pages.join(0.0), pages.join(0.0)
    assert all(send(pages, steady, k / 100.0, **stick_message()) for k in range(1000))
    answers = [send(pages, flooding, k / 300.0, **stick_message()) for k in range(300)]
    assert False in answers
    assert pages.refused.counts["too many messages"] >= 1


WRONG: Sequence[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b'{"type":"input"}',
    b'{"type":"nothing"}',
    b'{"type":"input","number":1,"sticks":[0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[NaN,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[1e999,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[1.001,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[0,0,0,-0.1],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[true,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":-1,"sticks":[0,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1e3,"sticks":[0,0,0,0],"mode":"loop"}',
    b'{"type":"input","number":99999999999999999999,"sticks":[0,0,0,0],"mode":"acro"}',
    b'{"type":"input","number":1,"sticks":[0,0,0,0],"mode":"acro","more":1}',
    b'{"type":"clock","scale":0}',
    b'{"type":"clock","scale":2}',
    b'{"type":"pause","paused":1}',
    b'{"type":"camera","view":"above"}',
    b'{"type":"select","course":"","vehicle":"x"}',
    b'{"type":"select","course":"eight","vehicle":"blackbird","seed":-1}',
    b'{"type":"select","course":"eight","vehicle":"blackbird","ghosts":["best","best","best","best"]}',
    b'{"type":"shown","frame":"1"}',
    b'{"type":"reset"',
    b"[" * 4000,
    b'{"type":"reset","a":' + b"[" * 2000 + b"]" * 2000 + b"}",
    b" " * 5000,
]


@pytest.mark.parametrize("data", WRONG)
def test_malformed_message_is_counted_and_changes_nothing(
    data: bytes, pages: Pages, controls: Recorder
) -> None:
    page = pages.join(0.0)
    texts = list(page.texts)
    assert pages.receive(page, data, 0.0)
    assert pages.refused.counts.total() == 1
    assert controls.calls == []
    assert list(page.texts) == texts


def fuzzed(seed: int, count: int) -> list[bytes]:
    """Valid messages with changes: bytes, values, keys, truncation, nesting."""
    random_ = random.Random(seed)
    valid: list[dict[str, Any]] = [
        stick_message(),
        {"type": "shown", "frame": 3},
        {"type": "reset"},
        {"type": "pause", "paused": True},
        {"type": "clock", "scale": 0.5},
        {"type": "select", "course": "eight", "vehicle": "blackbird", "seed": 1, "ghosts": []},
        {"type": "camera", "view": "chase"},
        {"type": "take_over"},
    ]
    values: list[Any] = [
        None, True, -1, 2**70, 1e308, float("nan"), float("inf"), "", "x" * 3000, "\u0000\ud800",
        [], {}, [[[[]]]], {"type": "input"}, "acro", 0.5,
    ]  # fmt: skip
    found = []
    for _ in range(count):
        message: Any = dict(random_.choice(valid))
        for _ in range(random_.choice([0, 0, 1, 2])):
            key = random_.choice([*message, "number", "sticks", "extra", "type", ""])
            message[key] = random_.choice(values)
        if random_.random() < 0.1:
            message = [message] * random_.randint(0, 3)
        data = bytearray(json.dumps(message).encode())
        for _ in range(random_.choice([0, 0, 0, 1, 3, 30])):
            data[random_.randrange(len(data))] = random_.randrange(256)
        if random_.random() < 0.2:
            del data[random_.randrange(len(data)) :]
        if random_.random() < 0.1:
            data = bytearray(random_.randbytes(random_.randint(0, 5000)))
        found.append(bytes(data))
    return found


def test_fuzzed_messages_never_raise_and_each_is_carried_out_or_counted(
    pages: Pages, controls: Recorder
) -> None:
    page = pages.join(0.0)
    carried_out = 0
    data = fuzzed(seed=22, count=10_000)
    for k, each in enumerate(data):
        pages.receivers(3)
        before = pages.refused.counts.total(), len(controls.calls), len(page.unshown)
        assert pages.receive(page, each, 0.1 * k)
        refused = pages.refused.counts.total() - before[0]
        assert refused in (0, 1)
        if refused:
            assert len(controls.calls) == before[1]
        else:
            carried_out += 1
            messages.decode(each)  # a valid one
    assert 1000 < carried_out < 9000
    assert len(pages.refused.counts) < 10
    for what, value in controls.calls:
        if what == "input":
            sticks, mode, _ = value
            assert isinstance(sticks, Sticks)
            assert mode in ("acro", "angle", "assisted")


TOKEN = "token-of-the-test"
SITE = Site("127.0.0.1:8765", TOKEN)
OWN = {"Host": ["127.0.0.1:8765"]}


def answer(path: str, headers: dict[str, list[str]] = OWN) -> int | None:
    """The status of a request; None: a web socket."""
    found = SITE.answer(path, lambda name: headers.get(name, []))
    return None if found is None else found.status


def test_page_is_served_below_the_token() -> None:
    assert answer(f"/{TOKEN}/") == 200
    assert answer(f"/{TOKEN}/index.html") == 200
    origin = {**OWN, "Origin": ["http://127.0.0.1:8765"]}
    assert answer(f"/{TOKEN}/main.js", origin) == 200
    assert answer(f"/{TOKEN}/socket", origin) is None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/index.html",
        f"/{TOKEN}",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"/{TOKEN.upper()}/",
        f"//{TOKEN}/",
        f"/{TOKEN}/../_site.py",
        f"/{TOKEN}/..%2f_site.py",
        f"/{TOKEN}/%2e%2e/_site.py",
        f"/{TOKEN}//etc/passwd",
        f"/{TOKEN}/./index.html",
        f"/{TOKEN}/index.html?x=1",
        f"/{TOKEN}/index.html/",
        f"/{TOKEN}/socket/",
        f"/../{TOKEN}/",
        "/\udcff/",
    ],
)
def test_other_paths_are_not_found(path: str) -> None:
    assert answer(path) == 404
    assert answer(path, {**OWN, "Origin": ["http://127.0.0.1:8765"]}) == 404


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["127.0.0.1"],
        ["127.0.0.1:8766"],
        ["localhost:8765"],
        ["evil.example:8765"],
        ["127.0.0.1:8765", "evil.example"],
        ["127.0.0.1:8765.evil.example"],
    ],
)
def test_other_hosts_are_refused(hosts: list[str]) -> None:
    origin = {"Origin": ["http://127.0.0.1:8765"]}
    assert answer(f"/{TOKEN}/", {"Host": hosts}) == 403
    assert answer(f"/{TOKEN}/socket", {"Host": hosts, **origin}) == 403


@pytest.mark.parametrize(
    "origins",
    [
        [],
        ["null"],
        ["https://127.0.0.1:8765"],
        ["http://127.0.0.1"],
        ["http://127.0.0.1:8765/"],
        ["http://evil.example"],
        ["http://127.0.0.1:8765", "http://evil.example"],
    ],
)
def test_socket_needs_the_origin_of_the_page(origins: list[str]) -> None:
    assert answer(f"/{TOKEN}/socket", {**OWN, "Origin": origins}) == 403


def test_headers_forbid_frames_other_sources_and_caches() -> None:
    found = SITE.answer(f"/{TOKEN}/", lambda name: OWN.get(name, []))
    assert found is not None
    headers = SITE.headers(found)
    policy = headers["Content-Security-Policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
