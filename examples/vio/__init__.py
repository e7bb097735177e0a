"""Visual-inertial odometry in the loop; see docs/vio.md."""

from vio.flight import Flight, Options, fly
from vio.rig import Rig, VioError
from vio.smoother import Smoother, Tuning
from vio.tracker import Features, StereoTracker

__all__ = [
    "Features",
    "Flight",
    "Options",
    "Rig",
    "Smoother",
    "StereoTracker",
    "Tuning",
    "VioError",
    "fly",
]
