"""Time-optimal flight through published tracks, and the time and processor time of each level.

The quadrotor and the tracks are those of "Time-Optimal Planning for Quadrotor Waypoint Flight"
(Foehn, Romero and Scaramuzza, Science Robotics 2021; rpg_time_optimal) and "Time-Optimal
Gate-Traversing Planner for Autonomous Drone Racing" (Qin et al., ICRA 2024; TOGT-Planner).

    pip install "propwash[optimal,viz]"
    python examples/time_optimal.py [--tracks split-s seven-points seven-gates] [--plot split_s.png]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import propwash as pw
from propwash import trajectories
from propwash.trajectories import Ball, Boundary, Limits, Rectangle, TimeOptimal

MASS, ARM, TORQUE = 0.85, 0.15, 0.05  # kg; m, along x and along y; m, torque over thrust
INERTIA = (0.001, 0.001, 0.0017)  # kg m^2
THRUST_TO_WEIGHT, SPEED_MAX = 3.3, 1000.0  # rad/s, any number, as the motors have no lag
LIMITS = Limits(
    thrust=1.0, rates=(15.0, 15.0, 0.3), tilt=math.pi, rotor_thrust_min=0.0,
    vertical_thrust_min=-math.inf,
)  # fmt: skip
START, END, TOLERANCE, GROUND = (-5.0, 4.5, 1.2), (4.75, -0.9, 1.2), 0.3, 0.5  # m
GATES = [  # m
    (-1.1, -1.6, 3.6), (9.2, 6.6, 1.0), (9.2, -4.0, 1.2), (-4.5, -6.0, 3.5), (-4.5, -6.0, 0.8),
    (4.75, -0.9, 1.2), (-2.8, 6.8, 1.2),
]  # fmt: skip
YAWS_DEG, OPENING = (0, -20, -130, 180, 0, 70), 2.4  # of the first six as windows; m
TRACKS = {
    "split-s": [Ball(gate, TOLERANCE) for gate in [*GATES, *GATES, *GATES[:5]]],
    "seven-points": [Ball(gate, TOLERANCE) for gate in GATES],
    "seven-gates": [
        *(
            Rectangle(gate, (math.cos(half), 0.0, 0.0, math.sin(half)), OPENING, OPENING)
            for gate, half in zip(GATES, np.radians(YAWS_DEG) / 2, strict=False)
        ),
        Ball(GATES[-1], TOLERANCE),
    ],
}
Rows = list[tuple[float, float]]
PUBLISHED = {"split-s": "17.56 s (CPC), 17.93 s (TOGT)"}


def quadrotor() -> pw.VehicleParameters:
    """The published quadrotor, without drag and motor lag."""
    base = pw.vehicles.load("flightgoggles")
    thrust = THRUST_TO_WEIGHT * 9.81 * MASS / 4
    rotors = tuple(
        rotor.replace(
            position=(*np.copysign(ARM, rotor.position[:2]).tolist(), 0.0),
            thrust_coefficient=thrust / SPEED_MAX**2,
            torque_coefficient=TORQUE * thrust / SPEED_MAX**2,
            inertia=0.0,
        )
        for rotor in base.rotors
    )
    return base.replace(
        name="cpc",
        body={"mass": MASS, "inertia": tuple(map(tuple, np.diag(INERTIA).tolist()))},
        rotors=rotors,
        motor={"speed_max": SPEED_MAX},
        drag={"translational": 0.0, "rotational": (0.0, 0.0, 0.0)},
    )


def plan(track: str, progress: Callable[[TimeOptimal], None] | None = None) -> TimeOptimal:
    """The fastest path through a track, from rest to rest within the tolerance of the end."""
    gates = [Ball(START), *TRACKS[track], Ball(END, TOLERANCE)]
    return trajectories.time_optimal(
        gates, quadrotor(), limits=LIMITS, progress=progress,
        start=Boundary(attitude=(1.0, 0.0, 0.0, 0.0)), end=Boundary(attitude=None, body_rates=None),
        region=[(-np.inf, -np.inf, GROUND), (np.inf, np.inf, np.inf)],
    )  # fmt: skip


def plot(path: TimeOptimal, track: str, file: Path) -> None:
    """Draws the path from above, and speed and rotor thrusts over time."""
    import matplotlib.pyplot as plt

    reference = path.sample(period=0.01)
    speed = np.linalg.norm(reference.velocity, axis=1)
    figure = plt.figure(figsize=(10, 5), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1.0))
    above = figure.add_subplot(grid[:, 0])
    points = above.scatter(*reference.position[:, :2].T, c=speed, s=4, cmap="viridis")
    figure.colorbar(points, ax=above, label="speed [m/s]", location="bottom")
    above.plot(*np.array([gate.centre for gate in TRACKS[track]])[:, :2].T, "kx", label="gates")
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    figure.suptitle(f"{track}: {path.duration:.2f} s")
    above.legend()
    top, bottom = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    top.plot(reference.time, speed)
    top.set(ylabel="speed [m/s]", xlim=(0, path.duration))
    thrusts = quadrotor().rotors[0].thrust_coefficient * path.commands**2
    for rotor, thrust in enumerate(thrusts.T, 1):
        bottom.stairs(thrust, path.time, baseline=None, label=f"rotor {rotor}", linewidth=0.8)
    bottom.set(xlabel="time [s]", ylabel="thrust [N]", xlim=(0, path.duration), ylim=0)
    bottom.legend(ncols=4, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main() -> None:
    """Prints the table and draws the first track."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tracks", nargs="+", choices=list(TRACKS), default=list(TRACKS))
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    trajectories.time_optimal([(0, 0, 1), (1, 0, 1)], level="fast")  # imports
    print(f"{'track':14s}{'level':>7s}{'time [s]':>10s}{'processor [s]':>15s}  published")
    for track in arguments.tracks:
        begin = time.process_time()
        rows: Rows = []

        def add(path: TimeOptimal, begin: float = begin, rows: Rows = rows) -> None:
            rows.append((path.duration, time.process_time() - begin))

        path = plan(track, add)
        for level, (duration, used) in zip(("fast", "exact"), rows, strict=True):
            published = PUBLISHED.get(track, "")
            print(f"{track:14s}{level:>7s}{duration:10.3f}{used:15.1f}  {published}", flush=True)
        if arguments.plot and track == arguments.tracks[0]:
            plot(path, track, arguments.plot)
            print(f"plot {arguments.plot}")


if __name__ == "__main__":
    main()
