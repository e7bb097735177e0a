"""Stereo feature tracks: corners, Lucas-Kanade flow, stereo matches and outlier rejection."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vio.rig import Array, Rig, VioError

Image = NDArray[np.uint8]
WINDOW, LEVELS = (7, 7), 2
BORDER = 7  # px
PATCH = 5  # px, half the size of a stereo patch
MAX_RETURN = 0.2  # px, forward-backward
MAX_ROWS = 0.5  # px, distance of a stereo match from its epipolar line
MIN_DISPARITY = 1.5  # px
MIN_CORRELATION, MAX_SECOND = 0.9, 0.97
CONSENSUS = 1.0  # px
_CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.01)


@dataclass(frozen=True, eq=False)
class Features:
    """The features of one image pair."""

    time: float
    """s."""
    ids: NDArray[np.int64]
    """(n,), the same number for the same feature."""
    measured: Array
    """(n, 3) px: u left, u right, v."""


class StereoTracker:
    """Follows up to `target` features through a sequence of image pairs."""

    def __init__(self, rig: Rig, target: int = 50) -> None:
        cv2.setNumThreads(1)
        self._rig, self._target = rig, target
        self._spacing = max(6.0, 0.8 * np.sqrt(rig.width * rig.height / (4.0 * target)))
        self._next_id = 0
        self._image: Image = np.zeros((0, 0), dtype=np.uint8)
        self._last = Features(-np.inf, np.zeros(0, dtype=np.int64), np.zeros((0, 3)))

    @property
    def features(self) -> Features:
        """Those of the last image pair."""
        return self._last

    def track(
        self, time: float, left: Image, right: Image, rotation: Array, translation: Array
    ) -> Features:
        """Tracks features into a new image pair and detects new ones where some are missing.

        rotation, translation: predicted pose of the previous left camera in the new one. The
            rotation must be good to some pixels, as that of integrated gyroscope readings is.

        Raises VioError if the time is not later than that of the previous pair.
        """
        if not time > self._last.time:
            raise VioError(
                f"image at {time:.6f} s: expected a time after the previous image, "
                f"{self._last.time:.6f} s; pass images in order of their time stamps"
            )
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        kept = self._follow(time, left, right, rotation, translation)
        missing = self._target - len(kept.ids)
        if missing > self._target // 5:
            kept = self._extended(kept, missing, left, right)
        self._image, self._last = left, kept
        return kept

    def remove(self, ids: set[int]) -> None:
        """Ends the tracks of these features."""
        keep = np.array([i not in ids for i in self._last.ids.tolist()], dtype=bool)
        self._last = _selected(self._last, keep)

    def _follow(
        self,
        time: float,
        left: Image,
        right: Image,
        rotation: Array,
        translation: Array,
    ) -> Features:
        before = self._last
        if not len(before.ids):
            return Features(time, before.ids, before.measured)
        points = self._rig.points(before.measured)
        guess = self._rig.measurements(points @ rotation.T + translation)
        guess = np.where(np.isfinite(guess), guess, before.measured)
        start = before.measured[:, [0, 2]]
        end, good = _flow(self._image, left, start, guess[:, [0, 2]])
        disparity = guess[:, :1] - guess[:, 1:2]
        across = np.concatenate([end[:, :1] - disparity, end[:, 1:]], axis=1)
        matched, found = _flow(left, right, end, across)
        measured = np.stack([end[:, 0], matched[:, 0], end[:, 1]], axis=1)
        good &= found & self._plausible(end, matched)
        rows = np.flatnonzero(good)
        agreed = self._consensus(points[rows] @ rotation.T, measured[rows])
        good[rows[~agreed]] = False
        return _selected(Features(time, before.ids, measured), good)

    def _plausible(self, left: Array, right: Array) -> NDArray[np.bool_]:
        size = np.array([self._rig.width, self._rig.height])
        inside = np.all((left > BORDER) & (left < size - BORDER), axis=1)
        inside &= right[:, 0] > BORDER
        inside &= left[:, 0] - right[:, 0] > MIN_DISPARITY
        return np.asarray(inside & (np.abs(left[:, 1] - right[:, 1]) < MAX_ROWS))

    def _consensus(self, rotated: Array, measured: Array) -> NDArray[np.bool_]:
        """Inliers of the translation that most features agree with.

        rotated: (n, 3) m, previous points turned into the axes of the new camera.

        With the rotation known, one stereo feature determines the translation: every feature is
        tried, so that the result does not depend on random samples.
        """
        if len(rotated) < 3:
            return np.zeros(len(rotated), dtype=bool)
        trials = self._rig.points(measured) - rotated
        for _ in range(2):
            expected = self._rig.measurements(rotated + trials[:, None])
            with np.errstate(invalid="ignore"):
                agrees = np.max(np.abs(expected - measured), axis=2) < CONSENSUS
            best = agrees[np.argmax(np.count_nonzero(agrees, axis=1))]
            if np.count_nonzero(best) < 3:
                break
            # near points determine the translation best
            weight = 1.0 / np.maximum(rotated[best, 2:], 0.1) ** 2
            shift = self._rig.points(measured[best]) - rotated[best]
            mean = np.sum(weight * shift, axis=0) / np.sum(weight)
            trials = np.concatenate([trials, mean[None]])
        return np.asarray(best)

    def _extended(
        self,
        kept: Features,
        missing: int,
        left: Image,
        right: Image,
    ) -> Features:
        mask = np.full(left.shape, 255, dtype=np.uint8)
        mask[:BORDER], mask[-BORDER:] = 0, 0
        mask[:, :BORDER], mask[:, -BORDER:] = 0, 0
        for u, _, v in kept.measured.tolist():
            cv2.circle(mask, (round(u - 0.5), round(v - 0.5)), int(self._spacing), 0, -1)
        corners = cv2.goodFeaturesToTrack(left, 2 * missing, 0.01, self._spacing, mask=mask)
        if corners is None:
            return kept
        start = corners.reshape(-1, 2).astype(np.float64) + 0.5
        disparity = self._disparities(left, right, start)
        found = np.isfinite(disparity)
        start, disparity = start[found], disparity[found]
        if not len(start):
            return kept
        guess = np.stack([start[:, 0] - disparity, start[:, 1]], axis=1)
        matched, good = _flow(left, right, start, guess)
        good &= self._plausible(start, matched)
        measured = np.stack([start[:, 0], matched[:, 0], start[:, 1]], axis=1)[good][:missing]
        ids = self._next_id + np.arange(len(measured), dtype=np.int64)
        self._next_id += len(measured)
        return Features(
            kept.time,
            np.concatenate([kept.ids, ids]),
            np.concatenate([kept.measured, measured]),
        )

    def _disparities(self, left: Image, right: Image, corners: Array) -> Array:
        """Disparities [px] by correlation along the rows; NaN where not unique."""
        result = np.full(len(corners), np.nan)
        reach = int(self._rig.focal_length * self._rig.baseline / 0.5)
        for number, (u, v) in enumerate(corners.tolist()):
            column, row = int(u), int(v)
            rows = slice(row - PATCH, row + PATCH + 1)
            first = max(column - PATCH - reach, 0)
            strip = right[rows, first : column + PATCH + 1]
            patch = left[rows, column - PATCH : column + PATCH + 1]
            score = cv2.matchTemplate(strip, patch, cv2.TM_CCOEFF_NORMED)[0]
            best = int(score.argmax())
            peak = score[best]
            score[max(best - 3, 0) : best + 4] = -1.0
            if peak > MIN_CORRELATION and score.max() < MAX_SECOND * peak:
                result[number] = column - PATCH - first - best
        return result


def _flow(
    before: Image, after: Image, start: Array, guess: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Positions (n, 2) px in the second image, and whether the flow back returns to the start."""
    options = {"winSize": WINDOW, "maxLevel": LEVELS, "criteria": _CRITERIA}
    options["flags"] = cv2.OPTFLOW_USE_INITIAL_FLOW
    first = np.ascontiguousarray(start - 0.5, dtype=np.float32)
    second = np.ascontiguousarray(guess - 0.5, dtype=np.float32)
    end, forward, _ = cv2.calcOpticalFlowPyrLK(before, after, first, second, **options)
    back, backward, _ = cv2.calcOpticalFlowPyrLK(after, before, end, first.copy(), **options)
    returned = np.max(np.abs(back - first), axis=1) < MAX_RETURN
    good = (forward.ravel() > 0) & (backward.ravel() > 0) & returned
    return end.astype(np.float64) + 0.5, good


def _selected(features: Features, keep: NDArray[np.bool_]) -> Features:
    return Features(features.time, features.ids[keep], features.measured[keep])
