"""Vehicle dynamics, sensors, control and rendering, after the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)

Subpackages are imported at first use of one of their names.
"""

import lazy_loader

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)
# these need an extra, without which `from propwash import *` and `help(propwash)` must work
__all__ = [name for name in _names if name not in ("gym", "torch")]


def __dir__() -> list[str]:
    return __all__
