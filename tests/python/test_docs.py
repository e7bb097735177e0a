"""The pages make a site: each is in its contents, and every link leads somewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "docs" / "conf.py").exists(), reason="the tests do not lie beside the docs"
    ),
]


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    """Notebooks are not run here, but in test_notebooks.py."""
    for module in ("sphinx", "myst_nb", "sphinx_external_toc", "furo"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-c"]
    command += [str(ROOT / "docs"), "-b", "dummy", "-D", "nb_execution_mode=off"]
    made = subprocess.run(
        [*command, "-d", str(tmp_path / "read"), str(ROOT), str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stderr
