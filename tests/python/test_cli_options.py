"""Options of commands declared as dataclasses."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from propwash.cli._options import add_command, option


@dataclass
class Every:
    """One option of each kind."""

    task: str = option("the task", positional=True)
    seed: int = option("the seed", 0, low=0, high=9)
    limit: float | None = option("at most 40 %", low=0.5, high=2.0)
    mode: Literal["fast", "slow"] = option("the mode", "fast")
    view: Literal["top", "side"] | None = option("the view")
    no_noise: bool = option("without noise", False)
    size: tuple[int, int] = option("width and height", (4, 3), group="images")
    file: Path = option("the file", Path("a.png"), group="images")
    names: list[str] = option("may be repeated", [])
    steps: list[int] = option("several", [], nargs="+")


def parsed(*arguments: str) -> Any:
    """The options that the command receives."""
    received: list[Every] = []
    parser = argparse.ArgumentParser()
    add_command(parser.add_subparsers(), "every", "all kinds", Every, received.append)
    options = parser.parse_args(["every", *arguments])
    options.run(options)
    return received[0]


def test_values_have_the_types_and_defaults_of_the_fields() -> None:
    assert parsed("hover") == Every(task="hover")
    text = "hover --seed 3 --limit 1 --mode slow --view top --no-noise --size 8 6 --file b.png"
    found = parsed(*f"{text} --names x --names y --steps 1 2".split())
    expected = ("hover", 3, 1.0, "slow", "top", True, (8, 6), Path("b.png"), ["x", "y"], [1, 2])
    assert tuple(vars(found).values()) == expected
    assert parsed("hover").names is not parsed("hover").names


@pytest.mark.parametrize(("name", "value"), [("seed", "10"), ("limit", "0.4"), ("limit", "nan")])
def test_numbers_out_of_range_are_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^--{name}: expected from .*, got {value}$"):
        parsed("hover", f"--{name}", value)


@pytest.mark.parametrize("arguments", [(), ("hover", "--mode", "x"), ("hover", "--size", "1")])
def test_wrong_forms_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        parsed(*arguments)


def test_the_help_has_groups_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    text = " ".join(capsys.readouterr().out.split())
    for part in ("the seed (default: 0)", "at most 40 %", "{fast,slow}", "images: --size SIZE SIZE",
                 "width and height (default: 4 3)", "without noise --"):  # fmt: skip
        assert part in text
