"""Films hold the pictures that were given."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash.viz import video as _video


def picture(value: int, height: int = 20, width: int = 32) -> NDArray[np.uint8]:
    return np.full((height, width, 3), value, dtype=np.uint8)


def test_gifs_hold_every_picture(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    file = tmp_path / "film.gif"
    assert _video.write(file, (picture(20 * i) for i in range(10)), 12.5) == 10
    with image.open(file) as film:
        assert film.n_frames == 10
        assert film.info["duration"] == 80
        assert film.size == (32, 20)
        film.seek(9)
        assert np.abs(np.asarray(film.convert("RGB"), dtype=int) - 180).max() <= 2


# imageio leaves the pipes of the program that reads to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_films_in_mp4_hold_every_picture(tmp_path: Path) -> None:
    imageio = pytest.importorskip("imageio.v2")
    pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / "film.mp4"
    assert _video.write(file, (picture(20 * i, 65, 97) for i in range(10)), 30.0) == 10
    with imageio.get_reader(file) as film:
        shades = [float(np.mean(frame)) for frame in film]
        assert film.get_meta_data()["size"] == (96, 64)
    assert shades == pytest.approx([20.0 * i for i in range(10)], abs=6.0)


def test_bad_pictures_leave_no_file(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    file = tmp_path / "film.gif"
    for pictures, message in [
        ([picture(1), picture(1, 21)], "image 1: expected uint8 of shape"),
        ([np.zeros((4, 4))], "image 0: expected uint8"),
        ([], "at least one image"),
    ]:
        with pytest.raises(ValueError, match=message):
            _video.write(file, pictures, 10.0)  # type: ignore[arg-type]
        assert not file.exists()
    with pytest.raises(ValueError, match=r"ends in \.mp4, \.gif or \.png"):
        _video.write(tmp_path / "film.avi", [picture(1)], 10.0)


def test_without_imageio_an_error_tells_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio.v2", None)
    with pytest.raises(ImportError, match=r'pip install "propwash\[video\]"'):
        _video.write(tmp_path / "film.mp4", [picture(1)], 10.0)
