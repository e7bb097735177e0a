"""Settings for all Python tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run, so that a failure indicates a change, not chance.
settings.register_profile(
    "propwash",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("propwash")
