"""The cost of a tick of the arcade, and how long ticks are delayed while images are drawn.

    python bench/arcade_step.py [--course alphapilot] [--seconds 20] [--threads 1] [--switch 1]

The vehicle climbs and descends in assisted mode. The first part is the processor time of a
tick (four steps, sticks, rule, log). The second is in real time: the physics thread, with and
without the thread of the images, which draws as often as a page that acknowledges at once. The
delay of a tick is its start compared with the wall clock, beyond that of the earliest tick. The
first rows are the delays of the machine itself: of a thread that only sleeps until each tick, alone
and beside another process that computes as much as the images.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from propwash.arcade import TICK, FlightSnapshot, Game, Runner, Sticks
from propwash.arcade._images import FrameState, ImageRenderer, Images, Lineup
from propwash.arcade._serve import SWITCH_INTERVAL
from propwash.race import find_course

CLIMB, DESCEND = Sticks(throttle=0.6, yaw=0.2), Sticks(throttle=0.45, yaw=0.2)
SIZE = (640, 360)
BURSTS = """
import time
while True:
    end = time.monotonic() + 0.009
    while time.monotonic() < end:
        pass
    time.sleep(1.0 / 60.0 - 0.009)
"""


def sticks_of(snapshot: FlightSnapshot) -> Sticks:
    """Sticks that climb and descend between 1 and 3 m, rotating."""
    rises = snapshot.velocity[2] > 0.0
    return CLIMB if snapshot.position[2] < (3.0 if rises else 1.0) else DESCEND


def tick_time(game: Game, seconds: float) -> float:
    """Processor time [s] of a tick."""
    game.reset()
    count = round(seconds / TICK)
    began = time.process_time()
    for _ in range(count):
        game.tick(sticks_of(game.snapshot), "assisted")
    return (time.process_time() - began) / count


class Timed(Game):
    """A game that notes when its ticks begin, on a clock without the time that is left out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.began: list[float] = []
        self.runner: Runner | None = None
        super().__init__(*arguments, **options)

    def tick(self, sticks: Sticks, mode: Any, number: int = 0) -> FlightSnapshot:
        """Notes the time, and advances."""
        skipped = 0.0 if self.runner is None else self.runner.skipped
        self.began.append(time.monotonic() - skipped)
        return super().tick(sticks, mode, number)


def sleep_delays(seconds: float) -> np.ndarray:
    """Delays [s] of wake-ups at the times of the ticks."""
    began, delays = time.monotonic(), []
    for due in np.arange(TICK, seconds, TICK).tolist():
        time.sleep(max(0.0, began + due - time.monotonic()))
        delays.append(time.monotonic() - began - due)
    return np.array(delays)


@contextmanager
def busy_process() -> Iterator[None]:
    """Another process, which computes 9 ms of each 60th of a second."""
    with subprocess.Popen([sys.executable, "-c", BURSTS]) as process:
        try:
            yield
        finally:
            process.kill()


def row(name: str, delays: np.ndarray, note: str = "") -> str:
    """A row of the table."""
    quantiles = 1e3 * np.quantile(delays, [0.5, 0.99, 0.999, 1.0])
    return f"{name:24s}" + "".join(f"{q:8.2f}" for q in quantiles) + note


def tick_delays(
    game: Timed, seconds: float, threads: int | None
) -> tuple[np.ndarray, float, float]:
    """Delays [s] of ticks, simulated time left out [s], and images per second."""
    runner = game.runner = Runner(game)
    frames = 0
    images: Images | None = None
    if threads is not None:
        lineup = Lineup(game)

        def publish(number: int, message: bytes) -> None:
            nonlocal frames
            frames = number
            assert images is not None
            images.request()

        def failed(error: BaseException) -> None:
            raise SystemExit(f"error: {error}")

        renderer = ImageRenderer(SIZE, threads)
        images = Images(renderer, lambda: FrameState(lineup, runner.snapshot), publish, failed)
        images.start()
        images.request()
    runner.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        runner.set_input(sticks_of(runner.snapshot), "assisted")
        time.sleep(0.02)
    if images is not None:
        images.stop()
    runner.stop()
    began = np.array(game.began)
    delays = began - TICK * np.arange(len(began))
    return delays - delays.min(), runner.skipped, frames / seconds


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--course", default="alphapilot")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--threads", type=int, default=1, help="of the renderer")
    parser.add_argument(
        "--switch",
        type=float,
        default=1e3 * SWITCH_INTERVAL,
        help="ms, switch interval of Python (default: that of the command, %(default)g)",
    )
    options = parser.parse_args()
    sys.setswitchinterval(1e-3 * options.switch)
    course = find_course(options.course)
    cost = tick_time(Game(course), options.seconds)
    print(f"{course.name}: a tick takes {1e6 * cost:.0f} us of {1e6 * TICK:.0f} us")
    print(f"{'delay of ticks [ms]':24s}{'median':>8s}{'99 %':>8s}{'99.9 %':>8s}{'max':>8s}")
    print(row("sleep alone", sleep_delays(options.seconds)))
    with busy_process():
        print(row("sleep, busy process", sleep_delays(options.seconds)))
    for name, threads in (("without images", None), ("with images", options.threads)):
        delays, skipped, rate = tick_delays(Timed(course), options.seconds, threads)
        note = f"   {rate:.0f} images/s, {1e3 * skipped:.0f} ms left out"
        print(row(name, delays, note))


if __name__ == "__main__":
    main()
