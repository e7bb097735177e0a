"""Flies the AlphaPilot course and saves what a camera on board sees as a film.

A seed moves the gates within the published bounds. MP4 needs the extra `video`, GIF Pillow.

    python examples/alphapilot_camera.py [--seed 3] [--courses 1] [--out flight.gif]
"""

import argparse

import numpy as np
from propwash import race
from propwash.render import Offscreen, RenderCamera, depth_in_metres


def look_ahead(result: race.Result) -> None:
    """Prints what a depth camera and the gates' markers tell half a second before the gate."""
    eyes = Offscreen(result.scene, width=320, height=240)
    flight = result.flight
    row = int(np.searchsorted(flight.time, result.passages[3].time - 0.5))
    # tilted up by 45 degrees, as racers mount them: at full speed the vehicle leans forward
    up = (np.cos(np.pi / 8), 0.0, -np.sin(np.pi / 8), 0.0)
    cameras = [RenderCamera("front", attitude=up), RenderCamera("depth", "depth", attitude=up)]
    frame = eyes.render(cameras, flight.position[row], flight.attitude[row])
    depth = depth_in_metres(frame.images["depth"])
    print(f"half a second before {result.passages[3].gate}: nearest {depth.min():.2f} m ahead,")
    print(f"  {len(frame.landmarks)} markers in view: {', '.join(sorted(frame.landmarks.ids)[:8])}")


def main() -> None:
    """Flies, tells, films."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--courses", type=int, default=1, help="fly so many, film the first")
    parser.add_argument("--out", default="flight.gif", help=".mp4, .gif or .png")
    parser.add_argument("--width", type=int, default=320)
    chosen = parser.parse_args()

    flown = [race.fly(chosen.seed + k) for k in range(chosen.courses)]
    print(race.report(flown[0]))
    if len(flown) > 1:
        scores = [result.score for result in flown]
        best = min(5, len(scores))
        print(f"{len(scores)} courses: mean of the best {best} {race.team_score(scores, best):.2f}")
    look_ahead(flown[0])
    size = (chosen.width, chosen.width * 3 // 4)
    print(race.show(flown[0], chosen.out, camera=True, size=size))


if __name__ == "__main__":
    main()
