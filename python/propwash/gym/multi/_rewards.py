"""Weights of the rewards of tasks with several vehicles."""

# Annotations are read at run time, so they are not postponed here.
from typing import Annotated, ClassVar

from propwash.gym._rewards import HoverReward, RaceReward
from propwash.vehicle.fields import Field


class FormationReward(HoverReward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `Formation`; each vehicle receives the mean of the scene.

    That of HoverReward, for the vehicle's slot − nearness max(0, 1 − gap / margin) − failure for a
    collision or a distance out of bound; gap: between the spheres of the vehicle and of the nearest
    """

    lengths: ClassVar[tuple[str, ...]] = ("position_scale", "margin")

    nearness: Annotated[float, Field("", "cost of a gap of zero to another vehicle")] = 1.0
    margin: Annotated[float, Field("m", "gap from which that cost is zero")] = 0.5
    failure: Annotated[
        float, Field("", "cost of a collision, or of a distance out of bound, for the scene")
    ] = 10.0


class MultiRaceReward(RaceReward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `MultiRace`.

    That of RaceReward, of which `failure` includes a collision with another vehicle; + lead (lead −
    lead before), lead: progress along the course − that of the best of the others
    """

    signed: ClassVar[tuple[str, ...]] = ("lead",)

    lead: Annotated[
        float, Field("1/m", "weight of the increase of the lead; negative: stay behind")
    ] = 0.5
