"""Stable names change only on purpose, and each class has a name of its own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import propwash
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "propwash"

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs" / "stability.md").exists(), reason="docs are missing"
)


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs and the extensions of the site can be imported."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_the_stable_names_are_those_that_are_listed() -> None:
    pytest.importorskip("gymnasium")
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "public_names.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_line_of_the_list_shows_members_and_parameters() -> None:
    from public_names import line, parameters

    def step(self: object, command: str, dt: float = 0.1, *, substeps: int = 1) -> None: ...

    assert parameters(step) == "(command, dt=…, *, substeps=…)"
    assert parameters(0.1) == ""
    assert line("A", ["b", "a()"]) == "A: a() b"
    assert line("f", []) == "f"


def test_entry_headers_include_stable_headers() -> None:
    from stability import HEADERS, stable_headers

    stable = stable_headers()
    for entry in HEADERS.glob("*.hpp"):
        if entry.name != "propwash.hpp":  # all documented headers
            named = re.findall(r'#include "propwash/(.+)"', entry.read_text("utf-8"))
            assert set(named) <= set(stable), entry.name


def test_the_reference_marks_what_is_experimental() -> None:
    from cpp_api import header_section
    from python_api import section
    from stability import HEADERS, NOTE

    assert NOTE not in header_section("math", HEADERS / "math" / "vec3.hpp", [])
    assert NOTE in header_section("math", HEADERS / "math" / "dual.hpp", [])
    assert NOTE not in section("propwash.fleet", [], [], set())
    assert NOTE in section("propwash.ros", [], [], set())


def test_a_header_that_does_not_exist_cannot_be_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    import stability

    monkeypatch.setattr(stability, "rows", lambda section: [("math/", "`vec3` `vec4`")])
    with pytest.raises(FileNotFoundError, match=r"math/vec4\.hpp"):
        stability.stable_headers()


def run_without(packages: list[str], code: str, **environment: str) -> str:
    """The output of a program for which these packages are not installed."""
    block = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {packages}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", block + code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout + result.stderr


def test_the_version_needs_no_other_package() -> None:
    print_version = "import propwash; print(propwash.__version__)"
    assert run_without(["numpy", "msgspec"], print_version) == f"{propwash.__version__}\n"


EXTRAS = ["gymnasium", "torch", "casadi", "zmq", "lcm", "rosbags", "matplotlib", "scipy", "cv2"]
INSTALL = 'install it with: pip install "propwash['


def test_every_name_is_imported_without_extras_or_names_its_extra() -> None:
    code = (
        "import propwash\n"
        "for name in [*dir(propwash), 'gym', 'torch']:\n"
        "    try: getattr(propwash, name)\n"
        "    except ImportError as error: print(name, error)"
    )
    gym, torch = run_without(EXTRAS, code).splitlines()
    assert gym.startswith("gym propwash.gym needs gymnasium")
    assert INSTALL in gym
    assert torch.startswith("torch propwash.torch needs torch")
    assert INSTALL in torch


def test_eager_imports_name_the_missing_extra() -> None:
    assert run_without([], "import propwash", EAGER_IMPORT="1") == ""
    assert INSTALL in run_without(EXTRAS, "import propwash", EAGER_IMPORT="1")


def test_no_two_classes_have_the_same_name() -> None:
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.relative_to(PACKAGE).as_posix())
    shared = {name: places for name, places in modules.items() if len(places) > 1}
    assert not shared
