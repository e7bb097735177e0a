"""A video from on board of flights that observe depth, with their depth images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.render import Offscreen, RenderCamera
from propwash.viz.figures import Canvas, video_figure

Image = NDArray[np.uint8]

FLIGHTS = 4
"""Maximum number of flights, one after the other."""
_WIDTH, _HEIGHT = 960, 420
_VIEW = (480, 320)
"""px, of the view from on board."""


def video(
    recorded: Any, envs: Any, title: str, rate: float, rows: Sequence[int] | None = None
) -> Iterator[Image]:
    """Yields frames at `rate` [Hz]: the view ahead, and the depth image of that moment.

    The depth images are without noise and delay.

    recorded: An Evaluation. envs: Its environments, with the observation "depth". rows: Numbers of
    the flights; None for the first ones.
    """
    shown = range(recorded.position.shape[1]) if rows is None else rows
    figure = video_figure(_WIDTH, _HEIGHT)
    head = figure.suptitle(title, fontsize=11)
    ahead, depth = figure.subplots(1, 2)
    settings, state = envs._engine.settings, envs._engine.state
    seen = envs._engine.observer.parts["depth"].without_errors(state, settings)
    width, height = settings.pooled_size
    view = ahead.imshow(np.zeros((*_VIEW[::-1], 3), np.uint8))
    image = depth.imshow(np.zeros((height, width)), cmap="magma", vmin=0.0, vmax=1.0, aspect="auto")
    name = f"nearness, {settings.depth_near:g} m / depth" if settings.depth_near else "depth"
    for axes, text in ((ahead, "view ahead"), (depth, f"{name}, {width} × {height} px")):
        axes.set_title(text, fontsize=10)
        axes.set_axis_off()
    canvas = Canvas(figure, [view, image, head])
    camera = RenderCamera("rgb", position=(0.0, 0.0, 0.0), attitude=seen.camera.attitude)
    for row in list(shown)[:FLIGHTS]:
        scene = envs.task.scenery(row)
        renderer = Offscreen(scene, width=_VIEW[0], height=_VIEW[1], antialias=1)
        going = np.isfinite(recorded.position[:, row, 0])
        time = recorded.time[going]
        for moment in np.arange(0.0, float(time[-1]), 1.0 / rate):
            k = min(int(np.searchsorted(time, moment)), len(time) - 1)
            pose = recorded.position[k, row], recorded.attitude[k, row]
            view.set_data(renderer.render(camera, *pose).images["rgb"])
            pixels = seen.measured(scene, state, *(part[None] for part in pose))[0]
            image.set_data(pixels**0.4 if settings.depth_near else pixels)  # as far ones are dark
            speed = float(np.linalg.norm(recorded.velocity[k, row]))
            head.set_text(f"{title}: flight {row}, {moment:.2f} s, {speed:.1f} m/s")
            yield canvas.image()
