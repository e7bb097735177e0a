"""Flies the AlphaPilot course and saves a video of the on-board camera.

The seed moves the gates within the published bounds. MP4 needs the extra `video`, GIF Pillow.

    python examples/alphapilot_camera.py [--seed 3] [--courses 1] [--out flight.gif]
"""

import argparse

import numpy as np
from propwash import race
from propwash.render import Offscreen, RenderCamera, depth_in_metres


def look_ahead(result: race.Result) -> None:
    """Prints the depth and the visible markers half a second before a gate."""
    renderer = Offscreen(result.scene, width=320, height=240)
    flight = result.flight
    row = int(np.searchsorted(flight.time, result.passages[3].time - 0.5))
    # tilted up by 45 degrees, as racers mount them: at full speed the vehicle pitches forward
    up = (np.cos(np.pi / 8), 0.0, -np.sin(np.pi / 8), 0.0)
    cameras = [RenderCamera("front", attitude=up), RenderCamera("depth", "depth", attitude=up)]
    frame = renderer.render(cameras, flight.position[row], flight.attitude[row])
    depth = depth_in_metres(frame.images["depth"])
    print(f"half a second before {result.passages[3].gate}: nearest {depth.min():.2f} m ahead,")
    print(f"  {len(frame.landmarks)} markers in view: {', '.join(sorted(frame.landmarks.ids)[:8])}")


def main() -> None:
    """Flies the courses, prints the results and saves the video."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument(
        "--courses", type=int, default=1, help="number to fly; the first is in the video"
    )
    parser.add_argument("--out", default="flight.gif", help=".mp4, .gif or .png")
    parser.add_argument("--width", type=int, default=320)
    arguments = parser.parse_args()

    results = [race.fly(arguments.seed + k) for k in range(arguments.courses)]
    print(race.report(results[0]))
    if len(results) > 1:
        scores = [result.score for result in results]
        best = min(5, len(scores))
        print(f"{len(scores)} courses: mean of the best {best} {race.team_score(scores, best):.2f}")
    look_ahead(results[0])
    size = (arguments.width, arguments.width * 3 // 4)
    print(race.show(results[0], arguments.out, camera=True, size=size))


if __name__ == "__main__":
    main()
