"""The rate controller and its parts, commands of the outer loops, linear and symbolic models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
