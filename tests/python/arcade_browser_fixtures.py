"""Fixtures of the tests in a browser: the browser, a running arcade, and a new context of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from arcade_browser_helpers import RunningArcade, offline_chromium, require_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with offline_chromium(require_chromium()) as opened:
        yield opened


@pytest.fixture(scope="module")
def arcade(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArcade]:
    running = RunningArcade(tmp_path_factory.mktemp("arcade") / "flights", "--course", "eight")
    yield running
    written = r"propwash arcade: \d+ flight logs? written( in \S+)?\npropwash: stopped\n"
    assert re.fullmatch(written, running.stop())


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    opened = browser.new_context(viewport={"width": 1280, "height": 720})
    yield opened
    opened.close()
