"""Covariance of the unknowns of a fit, for residuals that are correlated in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propwash.identify._problem import FitProblem

Array = NDArray[np.float64]

_BLOCKS = 5
"""Number of blocks of a flight of correlated windows, unless that makes them too short or long."""
_BLOCK_LENGTHS = (1.0, 2.5)
"""s; the shortest is the length of a window of forces."""


def covariances_of(problem: FitProblem, pieces: Sequence[tuple[Array, Array]]) -> Array:
    """Returns two estimates (2, U, U) of the covariance of the unknowns; the larger one holds.

    The second assumes white residuals as large as the noise. The first is a sandwich estimate with
    blocks of consecutive windows as clusters, so that the residuals of a block may be correlated
    and of any size. The fit reduces the residuals of a block that it contains: the score of each
    block is corrected to that of the estimate without the block (CR3; Bell and McCaffrey, Survey
    Methodology 28, 2002), as else few blocks would result in too small errors.
    """
    identity = np.eye(problem.size)
    scores, curvatures = _by_block(problem, pieces)
    inverse = np.linalg.inv(identity + curvatures.sum(axis=0))
    left_out = np.linalg.solve(identity - curvatures @ inverse, scores[..., np.newaxis])[..., 0]
    sandwich = inverse @ (identity + left_out.T @ left_out) @ inverse
    both: Array = np.stack([sandwich, inverse])
    both += both.transpose(0, 2, 1).copy()  # rounding may have left them asymmetric
    return both / 2.0


def deviation_of(covariances: Array, combination: Array) -> float:
    """Standard error of a linear combination (U,) of the unknowns."""
    variances = np.einsum("i,kij,j->k", combination, covariances, combination)
    return float(np.sqrt(variances.max()))


def _by_block(problem: FitProblem, pieces: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Returns gradients (B, unknowns) and Hessians of the cost, without prior, for each block."""
    scores, curvatures = [], []
    following = iter(pieces)
    for log in problem.logs:
        first, last = log.grid.rows
        seconds = (last - first) * log.grid.period
        count = max(1, round(seconds / np.clip(seconds / _BLOCKS, *_BLOCK_LENGTHS)))
        score = np.zeros((count, problem.size))
        curvature = np.zeros((count, problem.size, problem.size))
        for residuals, slopes in (next(following) for _ in log.pieces):
            square = 1.0 + residuals**2
            for k, rows in enumerate(np.array_split(np.arange(len(residuals)), count)):
                s, r, q = slopes[rows], residuals[rows], square[rows]
                score[k] += np.einsum("wmi,wm->i", s, r * q**-0.5)
                curvature[k] += np.einsum("wmi,wm,wmj->ij", s, q**-1.5, s, optimize=True)
        scores.append(score)
        curvatures.append(curvature)
    return np.concatenate(scores), np.concatenate(curvatures)
