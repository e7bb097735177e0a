"""Writes videos: MP4 with imageio and ffmpeg, GIF with Pillow (extra `video`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

SUFFIXES = (".mp4", ".gif")
"""Suffixes of video files."""
_COLOURS = 128


def check(path: str | PathLike[str], others: str = "") -> None:
    """Raises ImportError if a required package is missing, ValueError for other suffixes.

    others: suffixes that the caller also supports, for the message.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".mp4":
        _imageio()
    elif suffix in (".gif", ".png"):
        pillow()
    else:
        raise ValueError(f"{path}: expected a name that ends in .mp4, .gif{others} or .png")


def write(path: str | PathLike[str], images: Iterable[Image], rate: float) -> int:
    """Writes images (h, w, 3) of one size at `rate` [Hz]; returns their number.

    The frame time of a GIF is rounded to 0.01 s. Raises as check() does, and ValueError for invalid
    images; then the incomplete file is removed.
    """
    file = Path(path)
    check(file)
    checked = _Checked(images)
    try:
        if file.suffix.lower() == ".mp4":
            _write_mp4(file, checked, rate)
        else:
            _write_gif(file, checked, rate)
        if checked.count == 0:
            raise ValueError(f"{file}: expected at least one image, got none")
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return checked.count


class _Checked:
    """Checks and counts images of one size."""

    def __init__(self, images: Iterable[Image]) -> None:
        self._images = images
        self.count = 0

    def __iter__(self) -> Iterator[Image]:
        shape: tuple[int, ...] | None = None
        for image in self._images:
            is_rgb = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
            if not is_rgb or (shape is not None and image.shape != shape):
                expected = "(height, width, 3)" if shape is None else str(shape)
                raise ValueError(
                    f"image {self.count}: expected uint8 of shape {expected}, got "
                    f"{image.dtype} of shape {image.shape}"
                )
            shape = image.shape
            self.count += 1
            yield np.ascontiguousarray(image)


def _write_mp4(file: Path, images: _Checked, rate: float) -> None:
    # chroma is subsampled by two: an odd row or column is omitted
    with _imageio().get_writer(
        file, format="FFMPEG", mode="I", fps=rate, codec="libx264", quality=7, macro_block_size=2
    ) as writer:
        for image in images:
            height, width = image.shape[:2]
            writer.append_data(image[: height - height % 2, : width - width % 2])


def _write_gif(file: Path, images: _Checked, rate: float) -> None:
    from_array = pillow().Image.fromarray
    frames = (from_array(image).quantize(_COLOURS, dither=0) for image in images)
    first = next(frames, None)
    if first is not None:
        duration = 10 * max(2, round(100.0 / rate))
        first.save(file, save_all=True, append_images=frames, duration=duration, loop=0)


def pillow() -> Any:
    """The package PIL with its modules Image, ImageDraw and ImageFont."""
    try:
        import PIL
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise ImportError('images need Pillow: pip install "propwash[video]"') from error
    return PIL


def _imageio() -> Any:
    try:
        import_module("imageio_ffmpeg")
        return import_module("imageio.v2")
    except ImportError as error:
        raise ImportError(
            'videos in MP4 need imageio with ffmpeg: pip install "propwash[video]"; a GIF needs '
            "Pillow alone"
        ) from error
