"""Settings and fixtures for all Python tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Every run has the same examples, so that a failure indicates a change.
settings.register_profile(
    "propwash",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("propwash")


@pytest.fixture(autouse=True, scope="session")
def _logs_of_stable_baselines3(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its logger would write into a new directory of the system's for each training."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


@pytest.fixture
def ports() -> tuple[int, int]:
    """Two free ports: for poses and for images."""
    from fake_renderer import free_pair

    return free_pair()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch with one thread, which makes its results reproducible."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where pytest runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
