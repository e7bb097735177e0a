"""The shipped policies have the scores of docs/zoo.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

import propwash.gym as pg
from propwash.gym import policy
from propwash.gym.evaluation import evaluate, measures

PAGE = Path(__file__).resolve().parents[2] / "docs" / "zoo.md"
MEASURE = re.compile(r"\| `(\w+)` \| (\d+) \| ([^|]+) \| ([\d.]+) \|")
"""A row of the page: policy, episodes, measure and value."""


def rows() -> list[tuple[str, int, str, float]]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return [(name, int(n), measure, float(value)) for name, n, measure, value in
            MEASURE.findall(text)]  # fmt: skip


@pytest.mark.skipif(not PAGE.exists(), reason="docs/zoo.md is missing")
@pytest.mark.parametrize("name", policy.KINDS)
def test_a_shipped_policy_has_its_scores(name: str) -> None:
    """In the episodes of `python -m propwash fly --policy NAME --seed 0`."""
    stated = [row[1:] for row in rows() if row[0] == name]
    assert stated
    loaded = policy.Policy.load(name)
    envs = loaded.make_vec(stated[0][0], copy=False)
    measured = measures(envs.task, evaluate(loaded.act, envs, seed=0))
    for _, measure, value in stated:
        # other versions of onnxruntime round differently
        allowed = 0.5 if "[%]" in measure or measure == "score" else 0.1 * value
        assert measured[measure] == pytest.approx(value, abs=allowed), measure


@pytest.mark.parametrize("name", policy.KINDS)
def test_a_shipped_policy_is_small_and_states_its_training(name: str) -> None:
    assert (policy._SHIPPED / f"{name}.onnx").stat().st_size < 200_000
    described = policy.Policy.load(name).description
    assert described.task == name
    assert described.training["seed"] == 1
    assert described.training["steps"] >= described.training["best_step"] > 0
    assert isinstance(policy.Policy.load(name).make_vec(2).task, pg.Task)


@pytest.mark.skipif(not PAGE.exists(), reason="docs/zoo.md is missing")
def test_the_page_lists_all_shipped_policies() -> None:
    assert {row[0] for row in rows()} == policy.KINDS.keys()
    assert {path.stem for path in policy._SHIPPED.iterdir()} == policy.KINDS.keys()
