"""The loss of flights to a goal at a set speed among obstacles."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import smooth_l1_loss, softplus

from propwash.gym._differentiable import StateWindow

Array = NDArray[Any]

_CLEAR = 0.7
"""m, gap below which obstacles cost."""


def loss(
    window: StateWindow,
    gap: Array,
    normal: Array,
    speed: Array,
    period: float,
    smoothness: float,
) -> Tensor:
    """Returns the costs (T, n) of a window of flight, with gradients.

    They grow with the speed towards the nearest obstacle and its proximity, the deviation of the
    mean velocity of one second from the straight flight, of the height from that of the goal, the
    acceleration and the changes of the action.

    gap: (n, T) m, float32, between the vehicle and its nearest obstacle. normal: (n, T, 3), its
    derivative by the position. speed: (n,) m/s, set. period: s, of a step. smoothness: s^4, of
    ForestReward.
    """
    position, velocity = window.position[1:], window.velocity[1:]
    place = position.detach()
    away = torch.from_numpy(normal.astype(np.float32).transpose(1, 0, 2))
    distance = torch.from_numpy(gap.T)
    distance = distance + (away * (position - place)).sum(-1)  # linear, with the derivative
    closing = -(away * velocity).sum(-1).detach()
    near = 4.0 * softplus(-32.0 * distance) + 3.0 * (_CLEAR - distance).relu().square()

    to_goal = window.target[1:] - place
    straight = torch.from_numpy(speed)[:, None] * to_goal / to_goal.norm(dim=-1, keepdim=True)
    steps = min(max(1, round(1.0 / period)), len(velocity))
    mean = velocity.unfold(0, steps, 1).mean(-1)
    error = smooth_l1_loss(mean, straight[steps - 1 :], reduction="none").sum(-1)
    error = torch.cat([error.new_zeros(steps - 1, error.shape[1]), error])

    height = (position[..., 2] - window.target[1:, :, 2]).square()
    acceleration = window.velocity.diff(dim=0) / period
    changes = window.action.diff(n=2, dim=0).square().sum(-1)
    changes = torch.cat([changes.new_zeros(1, changes.shape[1]), changes])
    return (
        closing.clamp(min=1.0) * near
        + error
        + 0.5 * height
        + 0.003 * acceleration.square().sum(-1)
        + smoothness / period**4 * changes
    )
