# The public names, imported at first use, so that the commands need no other part of the extension.

__all__: list[str]

from ._commands import (
    AttitudeThrust as AttitudeThrust,
    OuterLoops as OuterLoops,
    PositionCommand as PositionCommand,
    TrajectoryCommand as TrajectoryCommand,
    VelocityCommand as VelocityCommand,
)
from ._casadi import (
    CasadiModel as CasadiModel,
    casadi_model as casadi_model,
)
from ._controllers import (
    Allocation as Allocation,
    Discretisation as Discretisation,
    LowPass as LowPass,
    Pid as Pid,
    RateController as RateController,
    RotorCommand as RotorCommand,
    Wrench as Wrench,
)
from ._linearize import (
    LinearModel as LinearModel,
    linearize as linearize,
)
