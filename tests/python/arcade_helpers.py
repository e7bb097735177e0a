"""The scripted pilot of `examples/arcade_pilot.py`, for tests of the arcade."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
if not EXAMPLES.is_dir():
    pytest.skip("examples are missing", allow_module_level=True)
sys.path.insert(0, str(EXAMPLES))
_program = importlib.import_module("arcade_pilot")

Pilot = _program.Pilot
fly = _program.fly
