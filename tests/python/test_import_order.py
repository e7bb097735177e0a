"""Packages import each other in one direction; lazy and type-only imports are included."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "propwash"

# A unit imports only units before it, as in docs/architecture.md.
PARTS = (  # of the extension
    "_core", "_models", "_float64", "_derivatives", "_world", "_learn", "_render",
)  # fmt: skip
ORDER = (
    *PARTS,
    "_checks",
    "_rotation",
    "_files",
    "_bridge",
    "integrate",
    "sampling",
    "vehicle",
    "frames",
    "fleet",
    "torch",
    "world",
    "control",
    "sensors",
    "trajectories",
    "estimate",
    "render",
    "lcm",
    "logs",
    "viz",
    "race",
    "datasets",
    "identify",
    "tune",
    "gym",
    "ros",
    "arcade",
    "autopilot",
    "propwash",
    "cli",
    "__main__",
)


parsed = cache(ast.parse)  # of all modules for each fault


def sources(root: Path) -> dict[str, tuple[str, bool]]:
    """The modules of a package by name: source, and whether the module is a package."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        found[".".join(parts[:-1] if is_package else parts)] = (path.read_text("utf-8"), is_package)
    return found


def imports(modules: dict[str, tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """(importer, imported) of every import statement, at any level of a module."""
    known = {*modules, *(f"propwash.{part}" for part in PARTS)}
    for name, (text, is_package) in modules.items():
        package = name.split(".") if is_package else name.split(".")[:-1]
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) + 1 - node.level] if node.level else []
                base = [*base, *([node.module] if node.module else [])]
                # `from package import x` imports the module x, or the package if x is not a module
                named = [".".join([*base, alias.name]) for alias in node.names]
                named = [each if each in known else each.rpartition(".")[0] for each in named]
            else:
                continue
            for each in named:
                if each.split(".")[0] == "propwash":
                    yield name, each


def unit(module: str) -> str:
    """The subpackage or top-level module that contains a module."""
    return [*module.split("."), "propwash"][1]


def faults(modules: dict[str, tuple[str, bool]]) -> list[str]:
    """Imports against the order, of private modules of other packages, and in cycles."""
    found: list[str] = []
    graph: dict[str, set[str]] = {}
    for importer, imported in sorted(set(imports(modules))):
        if imported == importer:
            continue
        edge = f"{importer} imports {imported}"
        graph.setdefault(importer, set()).add(imported)
        missing = {unit(importer), unit(imported)} - {*ORDER}
        if missing:
            found.append(f"{edge}: {', '.join(sorted(missing))} is not in ORDER")
        elif ORDER.index(unit(imported)) > ORDER.index(unit(importer)):
            found.append(f"{edge}: against ORDER")
        parts = imported.split(".")
        private = next((k for k, part in enumerate(parts) if k > 1 and part[0] == "_"), None)
        if private is not None and not f"{importer}.".startswith(".".join([*parts[:private], ""])):
            found.append(f"{edge}: private")
    return found + [f"cycle: {' -> '.join(cycle)}" for cycle in cycles(graph)]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One cycle for each import that closes one, found by depth-first search."""
    found: list[list[str]] = []
    done: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
        elif module not in done:
            path.append(module)
            for imported in sorted(graph.get(module, ())):
                visit(imported)
            done.add(path.pop())

    for module in sorted(graph):
        visit(module)
    return found


def test_imports_follow_the_order_and_have_no_cycle() -> None:
    assert faults(sources(PACKAGE)) == []


def test_the_top_level_has_at_most_nine_modules() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 9


@pytest.mark.parametrize(
    ("module", "line", "fault"),
    [
        ("vehicle.car", "from propwash.fleet import Fleet", "against ORDER"),
        ("vehicle.car", "def f():\n    import propwash.fleet", "against ORDER"),
        ("vehicle.car", "if TYPE_CHECKING:\n    from .. import fleet", "against ORDER"),
        ("fleet._sensors", "def f():\n    from . import _fleet", "cycle: propwash.fleet._"),
        ("gym._task", "from propwash.world import _items", "private"),
        ("gym._task", "from propwash.world._items import Box", "private"),
        ("gym._task", "import propwash.elsewhere", "elsewhere is not in ORDER"),
    ],
)
def test_faults_are_detected(module: str, line: str, fault: str) -> None:
    modules = sources(PACKAGE)
    text, is_package = modules[f"propwash.{module}"]
    modules[f"propwash.{module}"] = (f"{text}\n{line}\n", is_package)
    assert any(fault in each for each in faults(modules)), faults(modules)


def test_the_subpackages_are_attributes_that_are_imported_at_first_use() -> None:
    names = [unit for unit in ORDER if not unit.startswith("_") and unit not in ("propwash", "cli")]
    code = (
        "import sys, propwash\n"
        "loaded = [name for name in sys.modules if name.startswith('propwash.')]\n"
        f"for name in {names}: getattr(propwash, name)\n"
        "sys.exit(' '.join(loaded) or None)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
