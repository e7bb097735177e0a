"""The errors of depth from stereo."""

from __future__ import annotations

from dataclasses import dataclass

from propwash import _checks, _world
from propwash._checks import checked_parameters


@dataclass(frozen=True)
class StereoError:
    """The errors of depth from a stereo pair, whose left view is the depth image.

    The depth of a disparity d is f b / d. Its deviation grows with the square of the depth z:
    `disparity_deviation` z² / (f b). A pixel without a reading has depth 0. The defaults are like
    an Intel RealSense D435 of 848 x 480 pixels. Raises ParameterError for invalid values.
    """

    baseline: float = 0.05
    """m, b, from the left to the right view."""
    focal_length: float = 425.0
    """Pixels, f, of the views that are matched; the depth image may have fewer pixels."""
    disparity_deviation: float = 0.1
    """Pixels, of white noise on the disparity."""
    disparity_step: float = 1.0 / 32.0
    """Pixels, to which the disparity is rounded; 0: not rounded."""
    dropout_rate: float = 0.0
    """Probability that a pixel has no reading, independent of the others."""
    shadow: bool = True
    """Whether pixels have no reading if the right view does not show their surface."""

    @checked_parameters()
    def __post_init__(self) -> None:
        _checks.positive("baseline", self.baseline, "m")
        _checks.positive("focal_length", self.focal_length, "pixels")
        _checks.not_negative("disparity_deviation", self.disparity_deviation, "pixels")
        _checks.not_negative("disparity_step", self.disparity_step, "pixels")
        _checks.probability("dropout_rate", self.dropout_rate)
        _checks.flag("shadow", self.shadow)

    @property
    def core(self) -> _world.StereoModel:
        """The errors for the extension module."""
        return _world.StereoModel(
            self.baseline,
            self.focal_length,
            self.disparity_deviation,
            self.disparity_step,
            self.dropout_rate,
            self.shadow,
        )
