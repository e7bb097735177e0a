"""Weights of the tasks' rewards. Each class states the reward of a step, which C++ computes."""

# Annotations are read at run time, so they are not postponed here.
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np

from propwash._checks import refusal
from propwash.vehicle import fields as values
from propwash.vehicle.fields import Field, ParameterSet

RewardT = TypeVar("RewardT", bound="Reward")

_LEAST_LENGTH = 1e-6
_LARGEST = float(np.finfo(np.float32).max)


class Reward(ParameterSet, frozen=True, kw_only=True):
    """Base class: finite weights in single precision, lengths of at least 1 µm, others >= 0."""

    table = "weights"
    lengths: ClassVar[tuple[str, ...]] = ()
    """Weights that are lengths [m]."""
    signed: ClassVar[tuple[str, ...]] = ()
    """Weights that may be negative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not abs(value) <= _LARGEST:
                raise refusal(f"weights.{name}", value, "a finite number (float32)")
            if name in self.lengths and value < _LEAST_LENGTH:
                raise refusal(f"weights.{name}", value, f"at least {_LEAST_LENGTH:g} m")
            if value < 0.0 and name not in self.signed:
                sign = "rewards and costs have their sign in the reward; 0 leaves one out"
                raise refusal(f"weights.{name}", value, f"a number >= 0; {sign}")


class HoverReward(Reward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `Hover`.

    position / (1 + distance / position_scale) + upright cos(tilt) − body_rates |body rates|²
    − action_change |change of action|²
    """

    lengths: ClassVar[tuple[str, ...]] = ("position_scale",)
    signed: ClassVar[tuple[str, ...]] = ("upright",)

    position: Annotated[float, Field("", "weight of nearness to the target")] = 1.0
    position_scale: Annotated[float, Field("m", "distance that halves that term")] = 1.0
    upright: Annotated[
        float, Field("", "weight of the cosine of the tilt; negative: upside down")
    ] = 0.2
    body_rates: Annotated[float, Field("s^2/rad^2", "cost of the squared body rates")] = 0.002
    action_change: Annotated[float, Field("", "cost of the squared change of action")] = 0.02


class ForestReward(Reward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `ForestFlight`: progress × metres nearer − collision.

    `smoothness` is part of `ForestFlight.loss` only. Its default is for the action `goal_velocity`.
    """

    progress: Annotated[float, Field("1/m", "weight of the approach to the goal")] = 0.1
    collision: Annotated[float, Field("", "cost of a collision")] = 2.0
    smoothness: Annotated[float, Field("s^4", "cost of the action's squared 2nd derivative")] = (
        2.5e-3
    )


class TrackReward(Reward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `Track`.

    position / (1 + distance / position_scale) − velocity |velocity error|
    − body_rates |body rates|² − action_change |change of action|²
    """

    lengths = ("position_scale",)

    position: Annotated[float, Field("", "weight of nearness to the target")] = 1.0
    position_scale: Annotated[float, Field("m", "distance that halves that term")] = 0.5
    velocity: Annotated[float, Field("s/m", "cost of the velocity error")] = 0.02
    body_rates: Annotated[float, Field("s^2/rad^2", "cost of the squared body rates")] = 0.002
    action_change: Annotated[float, Field("", "cost of the squared change of action")] = 0.02


class LandReward(Reward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `Land`.

    progress (distance before − distance) − speed (|velocity| / (distance + speed_margin))²
    − body_rates |body rates|²; + success at a soft landing, − failure at every other end
    """

    lengths = ("speed_margin",)

    progress: Annotated[float, Field("1/m", "weight of the decrease of the distance")] = 4.0
    speed: Annotated[float, Field("s^2", "cost of speed near the pad")] = 0.002
    speed_margin: Annotated[float, Field("m", "added to the distance in that term")] = 0.3
    body_rates: Annotated[float, Field("s^2/rad^2", "cost of the squared body rates")] = 0.002
    success: Annotated[float, Field("", "reward of a soft landing")] = 10.0
    failure: Annotated[float, Field("", "cost of every other end")] = 10.0


class RaceReward(Reward, frozen=True, kw_only=True):
    """Weights of the reward of a step of `Race`.

    progress (distance to the next gate before − distance) − body_rates |body rates|²; + gate for
    each gate passed, − failure for a collision or a distance beyond the bound
    """

    progress: Annotated[float, Field("1/m", "weight of the decrease of the distance")] = 1.0
    gate: Annotated[float, Field("", "reward of a gate")] = 10.0
    failure: Annotated[float, Field("", "cost of a collision, or of a distance out of bound")] = (
        10.0
    )
    body_rates: Annotated[float, Field("s^2/rad^2", "cost of the squared body rates")] = 0.001


def weights_of(kind: type[RewardT], weights: Any) -> RewardT:
    """Weights from an object of the class, a dict of its fields, or None for the defaults."""
    reward: RewardT = values.group(kind)({} if weights is None else weights, "weights", "")
    return reward
