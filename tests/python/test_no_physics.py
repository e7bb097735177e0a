"""The equations of the model are in C++ only: Python modules do not read its coefficients."""

from __future__ import annotations

import ast
from pathlib import Path

import propwash
import pytest

ROOT = Path(propwash.__file__).parent
COEFFICIENTS = {"thrust_coefficient", "torque_coefficient", "drag", "rotor_drag"}
"""Attributes of vehicle parameters from which forces and torques follow."""
EXEMPT = {
    "vehicle",  # the parameters themselves
    "identify",  # estimates them
    "frames.py",  # expresses a vehicle's tensors in other axes
    "logs/_observer.py",  # estimates velocity from rotor drag
}
MODULES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).parts[0] not in EXEMPT
    and path.relative_to(ROOT).as_posix() not in EXEMPT
)


def reads(source: str) -> list[str]:
    """The coefficients that a module reads as attributes, each with its line."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in COEFFICIENTS
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reads_coefficients_of_forces(path: Path) -> None:
    assert reads(path.read_text(encoding="utf-8")) == []


def test_a_thrust_formula_in_python_is_detected() -> None:
    found = reads("force = rotor.thrust_coefficient * speed**2\nquadratic = v.drag.translational")
    assert [text.split(":")[0] for text in found] == ["line 1", "line 2"]
    assert all((ROOT / name).exists() for name in EXEMPT)
