"""Makes the images of the newest snapshot: Images is the thread around FrameRenderer."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.arcade._game import Game
from propwash.arcade._ghosts import Ghost, poses
from propwash.arcade._guide import guidance, next_gate
from propwash.arcade._interface import Array, FlightSnapshot
from propwash.arcade._messages import Hud, ViewName, pack_image
from propwash.arcade._view import FlightView
from propwash.world import Scene

JPEG_QUALITY = 80
_MIN_PERIOD, _IDLE_PERIOD = 1.0 / 60.0, 0.1
"""s, between images; of a snapshot that did not change."""


@dataclass(frozen=True, eq=False)
class Lineup:
    """A game and the ghosts beside it."""

    game: Game
    ghosts: tuple[Ghost, ...] = ()


@dataclass(frozen=True, eq=False)
class FrameState:
    """What an image shows: a snapshot, and the settings of camera and clock."""

    lineup: Lineup
    snapshot: FlightSnapshot
    view: ViewName = "chase"
    scale: float = 1.0
    paused: bool = False


class ImageRenderer:
    """Draws messages with image and numbers.

    size: px, width and height. threads, antialias: of the renderer.
    """

    def __init__(
        self, size: tuple[int, int] = (640, 360), threads: int = 1, antialias: int = 2
    ) -> None:
        self._size, self._threads, self._antialias = size, threads, antialias
        self._view: FlightView | None = None
        self._prepared: FlightView | None = None
        self._lock = threading.Lock()
        self._jpeg = jpeg_encoder()

    def prepare(self, scene: Scene) -> None:
        """Makes what the first image of a scene needs, in any thread; meanwhile none is drawn."""
        with self._lock:  # they would compete for the interpreter: seconds become a minute
            self._prepared = FlightView(scene, self._size, self._threads, self._antialias)

    def draw(self, frame: int, frame_state: FrameState) -> bytes:
        """The message of an image."""
        lineup, snapshot = frame_state.lineup, frame_state.snapshot
        others = poses(lineup.ghosts, snapshot.race_time)
        with self._lock:
            view = self._view_of(lineup.game.scene)
            rgb = view.render(snapshot, others, frame_state.view)
        return pack_image(hud_of(frame, frame_state, view), self._jpeg(rgb))

    def _view_of(self, scene: Scene) -> FlightView:
        prepared = self._prepared
        if prepared is not None and prepared.scene is scene:
            self._view, self._prepared = prepared, None
        elif self._view is None or self._view.scene is not scene:
            self._view = FlightView(scene, self._size, self._threads, self._antialias)
        return self._view


def hud_of(frame: int, frame_state: FrameState, view: FlightView) -> Hud:
    """The numbers of an image that the view has just drawn."""
    lineup, snapshot = frame_state.lineup, frame_state.snapshot
    gates, sticks = lineup.game.scene.gates, snapshot.sticks
    gate = next_gate(gates, snapshot)
    following = None if gate is None else gate.name
    return Hud(
        frame=frame,
        input=snapshot.number,
        time=snapshot.time,
        race_time=snapshot.race_time,
        phase=snapshot.phase,
        passed=list(snapshot.passed),
        next=following,
        guide="" if gate is None else guidance(gate, snapshot),
        wrong=snapshot.wrong,
        task=snapshot.task,
        progress=snapshot.progress,
        gates=len(gates),
        speed=float(np.linalg.norm(snapshot.velocity)),
        height=float(snapshot.position[2]),
        mode=snapshot.mode,
        sticks=(sticks.roll, sticks.pitch, sticks.yaw, sticks.throttle),
        scale=frame_state.scale,
        paused=frame_state.paused,
        collision=snapshot.collision,
        position=_three(snapshot.position),
        velocity=_three(snapshot.velocity),
        attitude=tuple(float(c) for c in snapshot.attitude),  # type: ignore[arg-type]
        target=view.target(following),
        outline=view.outline(following),
        ghosts=[(ghost.name, ghost.difference(snapshot.passed)) for ghost in lineup.ghosts],
    )


def _three(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(c) for c in vector)
    return x, y, z


def jpeg_encoder() -> Callable[[NDArray[np.uint8]], bytes]:
    """A function that encodes an RGB image. Raises ImportError that names the extra."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('the arcade needs Pillow: pip install "propwash[arcade]"') from error

    def encode(rgb: NDArray[np.uint8]) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "jpeg", quality=JPEG_QUALITY)
        return buffer.getvalue()

    return encode


class Images:
    """The thread that draws when a page can show an image.

    frame_state: returns what to draw. publish: called in this thread with number and message of
    each image. failed: called with an error, which ends the thread.
    """

    def __init__(
        self,
        renderer: ImageRenderer,
        frame_state: Callable[[], FrameState],
        publish: Callable[[int, bytes], Any],
        failed: Callable[[BaseException], Any],
    ) -> None:
        self._renderer, self._frame_state, self._publish = renderer, frame_state, publish
        self._failed = failed
        self._wanted, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="arcade images", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def request(self) -> None:
        """Wants another image."""
        self._wanted.set()

    def stop(self) -> None:
        """Ends the thread."""
        self._ended.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as error:  # reported in the thread of the server
            self._failed(error)

    def _loop(self) -> None:
        frame, last = 0, None
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ended.is_set():
                return
            started = time.monotonic()
            frame_state = self._frame_state()
            frame += 1
            self._publish(frame, self._renderer.draw(frame, frame_state))
            is_still = last is not None and _same(last, frame_state)
            last = frame_state
            period = _IDLE_PERIOD if is_still else _MIN_PERIOD
            self._ended.wait(max(0.0, started + period - time.monotonic()))


def _same(a: FrameState, b: FrameState) -> bool:
    return a.snapshot is b.snapshot and a.lineup is b.lineup and a.view == b.view
