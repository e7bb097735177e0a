"""Coverage of the stated intervals, for fewer sets than `identify_coverage.py` counts."""

from __future__ import annotations

import pytest
from identify_coverage import IMU, KINDS, POSE, SPEEDS, coverage, total
from scipy.stats import binom, chi2, norm

pytestmark = pytest.mark.slow

SETS = {POSE: 5, IMU: 9, SPEEDS: 6}
INDEPENDENT = 4
"""The errors of the parameters of a fit are correlated: a fit counts as so many intervals."""
REFUSED = 1e-4
"""Probability of a failure of this test with a coverage at a limit of 90 to 98 %."""


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_contain_the_truth(kind: str) -> None:
    sets = SETS[kind]
    every = total(coverage(kind, sets, flights=3, seconds=6.0, seed=3))
    assert every.total > 6 * sets, "most parameters are identifiable"
    intervals = INDEPENDENT * sets
    assert every.inside / every.total * intervals >= binom.ppf(REFUSED, intervals, 0.90)
    # all intervals may contain the truth; those that are too wide exceed the errors
    spread = 1.96 / norm.ppf(0.99)
    assert every.squares / every.total * intervals > spread**2 * chi2.ppf(REFUSED, intervals)
