"""The notebooks run without errors; their cells assert their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from propwash.logs import flight_folders

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))

pytestmark = pytest.mark.skipif(not NOTEBOOKS.is_dir(), reason="examples/notebooks is missing")


def test_there_are_notebooks() -> None:
    assert PATHS


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another folder, without output on stderr, and with figures."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for folder in filter(Path.is_dir, reversed(flight_folders())):
        monkeypatch.setenv("PROPWASH_FLIGHTS", str(folder.resolve()))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    work = tmp_path / "work"
    work.mkdir()

    notebook: Any = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    client.execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    stderr = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not stderr, stderr
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not list(work.iterdir())


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_notebooks_assert_their_claims(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert any(line.startswith("assert ") for cell in code for line in cell.splitlines())
    assert "".join(cells[0]["source"]).startswith("# ")
