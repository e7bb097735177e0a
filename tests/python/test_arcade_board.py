"""The leader board: its order, several writers, and files that are none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from propwash.arcade import Board, Entry

WRITER = """
import sys
from propwash.arcade import Board, Entry
for k in range(20):
    Board(sys.argv[1]).add(Entry(name=f"{sys.argv[2]} {k}", course="slalom", seed=0,
                                 vehicle="flightgoggles", mode="acro", gates=k + 1,
                                 race_time=float(k), score=0.0))
"""


def entry(name: str = "Ada", **changes: Any) -> Entry:
    fields: dict[str, Any] = {
        "name": name,
        "course": "slalom",
        "seed": 0,
        "vehicle": "flightgoggles",
        "mode": "assisted",
        "gates": 14,
        "race_time": 40.0,
        "score": 100.0,
    }
    return Entry(**{**fields, **changes})


def test_more_gates_come_first_then_less_time_then_the_earlier_flight(tmp_path: Path) -> None:
    board = Board(tmp_path / "new" / "folder")
    assert board.best("slalom", 0) == []
    assert board.add(entry("slow", race_time=50.0)) == 1
    assert board.add(entry("fast", race_time=30.0)) == 1
    assert board.add(entry("short", gates=3, race_time=5.0)) == 3
    assert board.add(entry("same", race_time=50.0)) == 3
    assert [each.name for each in board.best("slalom", 0)] == ["fast", "slow", "same", "short"]
    assert [each.name for each in board.best("slalom", 0, 2)] == ["fast", "slow"]


def test_courses_and_seeds_have_lists_of_their_own(tmp_path: Path) -> None:
    board = Board(tmp_path)
    assert [board.add(entry(seed=seed)) for seed in (0, 1, 2)] == [1, 1, 1]
    assert board.add(entry(course="tower")) == 1
    assert len(board.best("slalom", 1)) == 1
    assert board.best("eight", 0) == []


@pytest.mark.parametrize("changes", [{"scale": 0.5}, {"gates": 0, "race_time": 0.0}])
def test_slow_motion_and_flights_without_a_gate_are_kept_but_not_ranked(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    board = Board(tmp_path)
    assert board.add(entry(**changes)) is None
    assert board.best("slalom", 0) == []
    assert len(board.entries()) == 1


def test_another_program_reads_what_was_added(tmp_path: Path) -> None:
    added = entry("Grace, größte Pilotin", log="flight.csv", date="2026-01-02T03:04:05+00:00")
    Board(tmp_path).add(added)
    assert Board(tmp_path).entries() == [added]
    assert Board(tmp_path).best("slalom", 0) == [added]


def test_a_flight_without_a_date_gets_one(tmp_path: Path) -> None:
    Board(tmp_path).add(entry())
    (added,) = Board(tmp_path).entries()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", added.date)


def test_two_programs_and_two_threads_lose_no_flights(tmp_path: Path) -> None:
    programs = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"
    ]

    def add(name: str) -> None:
        for k in range(20):
            Board(tmp_path).add(entry(f"{name} {k}"))

    threads = [threading.Thread(target=add, args=(name,)) for name in "cd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [program.wait(timeout=60) for program in programs] == [0, 0]
    names = {each.name for each in Board(tmp_path).entries()}
    assert names == {f"{who} {k}" for who in "abcd" for k in range(20)}
    assert len(Board(tmp_path).entries()) == 80


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 2, "entries": []}',
        '{"version": 1, "entries": [{"name": "a"}]}',
        '{"version": 1, "entries": [], "more": 1}',
        "\xff",
        "[" * 100_000,
    ],
)
def test_an_invalid_file_is_named_and_stays_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "board.json"
    file.write_bytes(text.encode("latin-1"))
    board = Board(tmp_path)
    for action in (board.entries, lambda: board.best("slalom", 0), lambda: board.add(entry())):
        with pytest.raises(ValueError, match="expected a leader board of the arcade") as error:
            action()
        assert str(file) in str(error.value)
    assert file.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "a" * 41},
        {"name": "a\nb"},
        {"gates": -1},
        {"race_time": float("nan")},
        {"race_time": -1.0},
        {"mode": "manual"},
        {"score": float("inf")},
        {"scale": float("nan")},
        {"scale": 2.0},
        {"log": "../other/flight.csv"},
        {"log": "/etc/passwd"},
        {"log": ".."},
    ],
)
def test_invalid_entries_are_refused_in_code_and_in_files(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="expected"):
        entry(**changes)
    Board(tmp_path).add(entry())
    file = tmp_path / "board.json"
    content = json.loads(file.read_text("utf-8"))
    content["entries"][0].update(changes)
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="expected a leader board"):
        Board(tmp_path).entries()


def test_a_failed_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Board(tmp_path)
    board.add(entry())
    before = (tmp_path / "board.json").read_bytes()

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as error:
        board.add(entry("late"))
    assert error.value.filename == str(tmp_path / "board.json")
    assert (tmp_path / "board.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".board.json.lock", "board.json"]
