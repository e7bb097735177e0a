"""Lossless files of images: HEVC videos, and tar archives of PNG files."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propwash.viz import video as _video

Image = NDArray[Any]

_PIXELS = {2: "gray", 3: "gbrp"}
"""Pixel formats of the video for images (h, w) and (h, w, 3): without chroma conversion."""
_RAW = {2: "gray", 3: "rgb24"}


class LosslessVideo:
    """A video of images (h, w) or (h, w, 3) uint8, in HEVC without loss; a context manager.

    Colours are stored as red, green and blue: a decoder that keeps them (OpenCV, ffmpeg) returns
    the same bytes. Raises ImportError without ffmpeg, OSError if the file cannot be written.
    """

    def __init__(self, file: Path, rate: float) -> None:
        self._file, self._rate = file, rate
        self._program = _ffmpeg()
        self._process: subprocess.Popen[bytes] | None = None
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115

    def append(self, image: Image) -> None:
        """Adds an image of the size of the first."""
        if self._process is None:
            self._process = self._start(image)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(image).data)
        except BrokenPipeError:
            self._fail()

    def close(self) -> None:
        """Completes the file."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                self._process.communicate()
            if self._process.returncode != 0:
                self._fail()
        self._messages.close()

    def abort(self) -> None:
        """Ends the encoder; the file is not complete."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close() if kind is None else self.abort()

    def _start(self, image: Image) -> subprocess.Popen[bytes]:
        height, width = image.shape[:2]
        options = ["-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", _RAW[image.ndim]]
        options += ["-s", f"{width}x{height}", "-framerate", f"{self._rate:g}", "-i", "-", "-an"]
        options += ["-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1"]
        options += ["-x265-params", "lossless=1:log-level=error", "-pix_fmt", _PIXELS[image.ndim]]
        return subprocess.Popen(
            [self._program, *options, str(self._file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            start_new_session=True,  # Ctrl-C is for this process, which ends the encoder itself
        )

    def _fail(self) -> None:
        assert self._process is not None
        status = self._process.wait()
        self._messages.seek(0)
        text = self._messages.read().decode("utf-8", "replace").strip() or f"status {status}"
        if os.strerror(errno.ENOSPC) in text:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._file))
        raise OSError(f"{self._file}: expected a video, ffmpeg failed: {text:.300}")


class ImageArchive:
    """A tar archive of PNG images, named by their time stamps; a context manager."""

    def __init__(self, file: Path) -> None:
        self._pillow = _video.pillow()
        self._archive = tarfile.open(file, "w")  # noqa: SIM115

    def append(self, image: Image, stamp: int) -> None:
        """Adds `<stamp>.png`, of (h, w) or (h, w, 3) uint8."""
        data = png(self._pillow, image)
        entry = tarfile.TarInfo(f"./{stamp}.png")
        entry.size, entry.mtime = len(data), stamp // 10**9
        self._archive.addfile(entry, io.BytesIO(data))

    def close(self) -> None:
        """Completes the archive."""
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._archive.fileobj.close()


def png(pillow: Any, image: Image) -> bytes:
    """A PNG file of an image (h, w) or (h, w, 3) uint8."""
    buffer = io.BytesIO()
    pillow.Image.fromarray(image).save(buffer, "png", compress_level=1)
    return buffer.getvalue()


def check_encoder() -> None:
    """Raises ImportError if a package for videos and images is missing."""
    _ffmpeg()
    _video.pillow()


def _ffmpeg() -> str:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError as error:
        raise ImportError('videos need ffmpeg: pip install "propwash[video]"') from error
    return str(get_ffmpeg_exe())
