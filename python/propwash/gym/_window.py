"""A window that shows frames, with pygame (the extra `show`)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray


class Window:
    """Opened by the first frame; `fps` frames a second at most."""

    def __init__(self, title: str, fps: float) -> None:
        try:
            self._pygame: Any = import_module("pygame")
        except ImportError as error:
            raise DependencyNotInstalled(
                "render_mode='human' needs pygame; install it with: pip install \"propwash[show]\""
            ) from error
        self._title, self._fps = title, fps
        self._surface: Any = None
        self._clock: Any = None

    def __reduce__(self) -> tuple[type[Window], tuple[str, float]]:
        return Window, (self._title, self._fps)

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Shows a frame (height, width, 3)."""
        game = self._pygame
        if self._surface is None:
            game.display.init()
            game.display.set_caption(self._title)
            self._surface = game.display.set_mode(frame.shape[1::-1])
            self._clock = game.time.Clock()
        picture = game.image.frombuffer(np.ascontiguousarray(frame), frame.shape[1::-1], "RGB")
        self._surface.blit(picture, (0, 0))
        game.event.pump()
        self._clock.tick(self._fps)
        game.display.flip()

    def close(self) -> None:
        """Closes it; nothing happens where it is not open."""
        if self._surface is not None:
            self._surface = None
            self._pygame.display.quit()
