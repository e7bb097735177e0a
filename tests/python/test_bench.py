"""`python -m propwash bench`: the format of its output, not speed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from propwash.__main__ import main
from propwash.cli import bench

BRIEF = bench.Timing(repeats=1, seconds=1e-4)
KEYS = [
    "work",
    "dtype",
    "integrator",
    "threads",
    "batch",
    "substeps",
    "isa",
    "steps_per_s",
    "peak_gflops",
]


@pytest.fixture(scope="module")
def rows() -> list[bench.Row]:
    """The rows of all cases with 64 vehicles."""
    cases = [case for case in bench.full() if case.batch == 64]
    assert len(cases) == 48
    return list(bench.measure(cases, BRIEF))


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the measuring time of the command line to a minimum."""
    measure = bench.measure

    def briefly(cases: list[bench.Case], **others: Any) -> Iterator[bench.Row]:
        return measure(cases, BRIEF, **others)

    monkeypatch.setattr(bench, "measure", briefly)


@pytest.mark.slow
def test_json_has_the_documented_fields(rows: list[bench.Row]) -> None:
    read = json.loads(bench.as_json(rows))
    assert list(read) == ["machine", "rows"]
    assert sorted(read["machine"]) == ["cores", "cpu", "isa", "python", "version"]
    assert read["machine"]["cores"] >= 1
    assert len(read["rows"]) == len(rows)
    for row in read["rows"]:
        assert list(row) == KEYS
        assert row["work"] in ("physics", "noise", "closed_loop")
        assert row["dtype"] in ("float32", "float64")
        assert row["integrator"] in ("euler", "rk4")
        assert row["isa"] == read["machine"]["isa"]
        for key in ("threads", "batch", "substeps"):
            assert isinstance(row[key], int)
            assert row[key] >= 1
        for key in ("steps_per_s", "peak_gflops"):
            assert math.isfinite(row[key])
            assert row[key] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("markdown", [False, True])
def test_the_table_contains_every_row_and_describes_a_step(
    rows: list[bench.Row], markdown: bool
) -> None:
    text = bench.table(rows, markdown)
    for description in bench.WORKS.values():
        assert description in text
    assert "GFLOP/s" in text
    cells = [line for line in text.splitlines() if "float32" in line or "float64" in line]
    cells = [line for line in cells if "euler" in line or "rk4" in line]
    assert len(cells) == 48
    assert sum(line.count(" / ") for line in cells) == len(rows)


@pytest.mark.slow
def test_output_to_a_file_prints_nothing(
    brief: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.json"
    assert main(["bench", "--quick", "--json", "--out", str(out)]) == 0
    assert len(json.loads(out.read_text())["rows"]) == 12
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_ctrl_c_prints_the_finished_cases(
    brief: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure = bench.measure

    def interrupted(cases: list[bench.Case], **others: Any) -> Iterator[bench.Row]:
        yield from measure(cases[:2], **others)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "measure", interrupted)
    assert main(["bench", "--quick", "--json"]) == 130
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["rows"]) == 2
    assert "2 of 12 rows" in captured.err


@pytest.mark.parametrize("threads", ["0", "-1", "1,", "two", "1.5", "1,100000"])
def test_invalid_threads_are_refused(threads: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["bench", f"--threads={threads}"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "expected whole numbers from 1" in error
    assert repr(threads) in error


def test_json_and_markdown_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "--markdown"]) == 2
    assert "--markdown: expected no --json" in capsys.readouterr().err


def test_a_missing_folder_is_refused_before_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_arguments: Any, **_others: Any) -> Iterator[bench.Row]:
        raise AssertionError("measured")

    monkeypatch.setattr(bench, "measure", never)
    assert main(["bench", "--quick", "--out", str(tmp_path / "none" / "bench.txt")]) == 2
    assert "expected a file in a folder that exists" in capsys.readouterr().err


def test_zero_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="expected whole numbers"):
        bench.full([])
