"""Convolutions of the image in an observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from propwash.gym._observations import arrays_of


@dataclass(frozen=True)
class ImageColumns:
    """Place of the first image (height, width, channels) in the columns of observations."""

    first: int
    shape: tuple[int, int, int]

    @property
    def size(self) -> int:
        """Number of columns."""
        height, width, channels = self.shape
        return height * width * channels


def image_columns(envs: Any) -> ImageColumns:
    """Returns the columns of the image that environments observe. Raises ValueError for none."""
    first = 0
    for array in arrays_of(envs._engine.observe()):
        if array.ndim == 4:
            return ImageColumns(first, array.shape[1:])
        first += array[0].size
    raise ValueError(
        "convolution: expected an observation with an image, such as 'depth', found none; leave "
        "it out"
    )


class Convolutions(nn.Module):
    """Convolutions of 3 x 3 with a stride of 2 and tanh; other columns follow unchanged.

    columns: Number of columns of the input (…, columns). channels: Those of each convolution.
    """

    def __init__(
        self,
        image: ImageColumns,
        columns: int,
        channels: Sequence[int],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.shape = image.shape
        pixels = range(image.first, image.first + image.size)
        rest = [column for column in range(columns) if column not in pixels]
        self.pixels = nn.Buffer(torch.tensor(pixels), persistent=False)
        self.rest = nn.Buffer(torch.tensor(rest, dtype=torch.int64), persistent=False)
        height, width, depth = image.shape
        pairs = pairwise([depth, *channels])
        layers = [nn.Conv2d(*pair, 3, stride=2, padding=1) for pair in pairs]
        self.layers = nn.ModuleList(layers)
        for layer in layers:
            weight, bias = layer.parameters()
            nn.init.orthogonal_(weight, 2**0.5, generator)
            nn.init.zeros_(bias)
            height, width = -(-height // 2), -(-width // 2)
        self.size = height * width * channels[-1] + len(rest)
        """Number of columns of the output."""

    def forward(self, x: Tensor) -> Tensor:
        """Returns (…, size)."""
        image = x.index_select(-1, self.pixels).reshape(-1, *self.shape).permute(0, 3, 1, 2)
        for layer in self.layers:
            image = layer(image).tanh()
        features = image.reshape(*x.shape[:-1], -1)
        return torch.cat([features, x.index_select(-1, self.rest)], -1)
