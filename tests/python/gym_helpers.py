"""Helpers for the tests of environments."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import propwash as pw
import pytest

VARIED: dict[str, Any] = {
    "randomize": {"mass": 0.2, "thrust_coefficient": ("uniform", 1.8e-6, 2.0e-6)},
    "wind": (1.0, 3.0),
    "turbulence": pw.Dryden(3.0, 10.0, 3.0),
    "action_delay": (0, 20),
    "imu_bias": {"gyroscope": 0.05, "accelerometer": 0.1},
}
"""Every option that varies between episodes."""


def idle(env: Any) -> Any:
    """The zero action, which commands hover."""
    return np.zeros(env.action_space.shape, dtype=np.float32)


def adapter(name: str, kind: str) -> Any:
    """The adapter class; skips if its library is missing, and ignores warnings of imports."""
    pytest.importorskip(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(f"propwash.gym.adapters.{name}"), kind)
