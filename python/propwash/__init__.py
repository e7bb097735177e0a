"""Vehicle dynamics, sensors, control and rendering, after the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)

Subpackages are imported at first use of one of their names.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import lazy_loader


class _Part(ModuleType):
    """A part of the extension that is imported at first use of one of its names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            module = import_module(self.__name__)
        except ModuleNotFoundError as error:
            part = self.__name__.partition("._")[2]
            raise ImportError(
                f'the part "{part}" of propwash was not built (PROPWASH_PARTS): install propwash '
                "with all parts, in its source tree with `make test` or `pip install .`"
            ) from error
        self.__dict__.update(vars(module))
        return getattr(module, name)


_derivatives = _Part(f"{__name__}._derivatives")
_float64 = _Part(f"{__name__}._float64")
_learn = _Part(f"{__name__}._learn")
_models = _Part(f"{__name__}._models")  # which _core imports
_render = _Part(f"{__name__}._render")
_world = _Part(f"{__name__}._world")

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)
# without an extra or a part, `from propwash import *` and `help(propwash)` must work
_OPTIONAL = {
    "_models": ("Allocation", "LowPass", "Pid", "RateController", "RotorCommand", "Wrench"),
    "_render": ("arcade", "datasets", "render", "ros"),
    "_world": ("estimate",),
}
_omitted = ["gym", "torch"]
for _part, _without in _OPTIONAL.items():
    if find_spec(f"{__name__}.{_part}") is None:
        _omitted += _without
__all__ = [name for name in _names if name not in _omitted]


def __dir__() -> list[str]:
    return __all__
