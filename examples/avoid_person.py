"""Flies past a walking person: the person is measured, predicted, and avoided by new paths.

The vehicle flies a minimum-snap path. A person crosses it so that both meet. A depth camera
measures at 30 Hz with noise; what is not on the map is the person. A line through the positions of
the last 0.6 s predicts the next ones. If the path comes too close to the prediction, a waypoint
beside the person is added, with another one after it that limits how far the path swings out, and
the path is planned again from the present state of the reference, so that it is smooth up to the
snap. Paths into walls and ground are avoided; contact with these, too, is a collision.

    python examples/avoid_person.py [--encounters 100] [--out plot.png] [--video avoid.mp4]
"""

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash.trajectories import Polynomial, minimum_snap
from propwash.world import Box, Plane, Scene, Waypoints, person

Array = NDArray[np.float64]

START, GOAL = np.array([0.0, 0.0, 1.3]), np.array([14.0, 0.0, 1.3])
DURATION = 7.0  # s
RADIUS = 0.25  # m, of the vehicle
FRAME, STEP = 1 / 30, 1 / 240  # s, camera and control
SAFE, WANTED = 1.0, 1.4  # m, between the centres: below SAFE the path is changed
HORIZON = 2.5  # s, of the prediction
MEMORY = 0.6  # s, of the measurements in the fit
MAX_ACCELERATION = 8.0  # m/s^2, of a new path
SIDES = np.radians([90.0, -90.0, 60.0, -60.0, 120.0, -120.0, 150.0, -150.0, 180.0])
MARGIN = 0.25  # m, from what is on the map
CAMERA = pw.Camera(64, 48, 70.0)
MAP = [
    Plane(name="ground", category="ground"),
    Box(name="left", category="wall", size=(20.0, 0.3, 3.0), position=(7.0, 7.0, 1.5)),
    Box(name="right", category="wall", size=(20.0, 0.3, 3.0), position=(7.0, -7.0, 1.5)),
]
FREE = Scene(MAP)


def walk(rng: np.random.Generator, path: Polynomial) -> Waypoints:
    """A walk with changes of speed and direction that meets the path, give or take 0.25 s."""
    meeting = rng.uniform(0.35, 0.75) * path.duration
    place = path.sample([meeting]).position[0] * [1.0, 1.0, 0.0]
    bearing = rng.choice([-1.0, 1.0]) * np.radians(rng.uniform(50.0, 130.0))
    bearings = bearing + np.radians(rng.uniform(-10.0, 10.0, 12))
    speeds = rng.uniform(0.8, 1.8) * rng.uniform(0.9, 1.1, 12)
    steps = np.stack((np.cos(bearings), np.sin(bearings), 0.0 * bearings), 1) * speeds[:, None]
    positions = np.concatenate((np.zeros((1, 3)), np.cumsum(steps, axis=0)))
    times = meeting + rng.uniform(-0.25, 0.25) + np.arange(-6.0, 7.0)
    return Waypoints(times, positions - positions[6] + place, yaws=[*bearings, bearings[-1]])


class Watcher:
    """Finds the person in depth images and predicts the motion."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.camera = pw.DepthCamera(scene, CAMERA, max_depth=14.0, deviation=0.05, seed=seed)
        self.map = pw.DepthCamera(FREE, CAMERA, max_depth=14.0)
        self.seen: list[tuple[float, Array]] = []

    def look(self, now: float, position: Array, attitude: Array) -> None:
        """Takes an image; measures the person where it differs from the map."""
        depth = self.camera.measure(position, attitude, now).depth
        rows, columns = np.nonzero(depth < self.map.measure(position, attitude).depth - 0.4)
        if len(rows) < 6:
            return
        points = CAMERA.unproject(columns + 0.5, rows + 0.5, depth[rows, columns])
        middle = np.median(points, axis=0)
        at, q = CAMERA.pose(position, attitude)
        w, axis = q[0], q[1:]
        turned = middle + 2.0 * np.cross(axis, np.cross(axis, middle) + w * middle)
        self.seen.append((now, (at + turned)[:2]))

    def predicted(self, now: float) -> tuple[Array, Array] | None:
        """Position (2,) and velocity (2,) of the person now; None: unknown."""
        recent = [each for each in self.seen if each[0] > self.seen[-1][0] - MEMORY]
        if len(recent) < 8 or now > recent[-1][0] + 1.0:
            return None
        times = np.array([each[0] for each in recent]) - now
        rate, offset = np.polyfit(times, np.array([each[1] for each in recent]), 1)
        return offset, rate


@dataclass
class Plan:
    """The path in use, which started at `since`."""

    path: Polynomial
    since: float = 0.0

    @property
    def end(self) -> float:
        """s, when the goal is reached."""
        return self.since + self.path.duration

    def clearance(self, now: float, seen: tuple[Array, Array]) -> tuple[float, float]:
        """The smallest horizontal distance to the predicted person, and when: m, s."""
        times = now + np.linspace(0.0, HORIZON, 40)
        at = self.path.sample(times - self.since).position[:, :2]
        apart = np.linalg.norm(at - seen[0] - (times - now)[:, None] * seen[1], axis=1)
        nearest = int(np.argmin(apart))
        return float(apart[nearest]), float(times[nearest])


def replanned(plan: Plan, now: float, seen: tuple[Array, Array]) -> Plan:
    """The cheapest path with a waypoint beside the person that keeps the wanted distance."""
    here = plan.path.sample([now - plan.since])
    start = np.concatenate((here.velocity, here.acceleration, here.jerk, here.snap))
    _, nearest = plan.clearance(now, seen)
    after = max(nearest - now, 0.5)
    left = max(plan.end - now - after, 1.5)
    at = here.position[0]
    heading = np.arctan2(*(GOAL - at)[1::-1])
    middle = seen[0] + after * seen[1]
    besides = [middle + WANTED * np.array([np.cos(a), np.sin(a)]) for a in SIDES + heading]
    plans = []
    for beside in ([*each, GOAL[2]] for each in besides):
        # the third point limits how far the path swings out after the second
        points = [at, beside, 0.3 * GOAL + 0.7 * np.array(beside), GOAL]
        times = [after, 0.4 * left, 0.6 * left]
        plans.append(Plan(minimum_snap(points, start=start, times=times), now))
    return min(plans, key=lambda new: cost(new, now, seen))


def cost(plan: Plan, now: float, seen: tuple[Array, Array]) -> float:
    """The cost of a path: its snap, with penalties for the person, the map and acceleration."""
    sampled = plan.path.sample(np.linspace(0.0, plan.path.duration, 40))
    acceleration = np.linalg.norm(sampled.acceleration, axis=1).max()
    missing = max(0.0, 0.95 * WANTED - plan.clearance(now, seen)[0])
    excess = max(0.0, acceleration / MAX_ACCELERATION - 1.0)
    blocked = FREE.collides(sampled.position, radius=RADIUS + MARGIN).collided.mean()
    return float(plan.path.snap_cost * (1.0 + 1e3 * excess) + 1e6 * missing + 1e9 * blocked)


@dataclass
class Encounter:
    """What happened."""

    scene: Scene
    collided: bool = False
    nearest: float = np.inf  # m, from the centre of the vehicle to that of the person
    plans: list[float] = field(default_factory=list)  # s, processor time of each
    flown: list[Array] = field(default_factory=list)  # time, position, attitude, person


def encounter(seed: int, avoid: bool = True) -> Encounter:
    """Flies one encounter."""
    rng = np.random.default_rng(seed)
    plan = Plan(minimum_snap([START, GOAL], duration=DURATION))
    motion = walk(rng, plan.path)
    result = Encounter(Scene([*MAP, *person(motion=motion)]))
    watcher = Watcher(result.scene, seed)
    uav = pw.Multicopter("flightgoggles", seed=seed)
    uav.reset(position=START)
    step, frame = 0, 0
    while (now := step * STEP) < plan.end + 0.5:
        if avoid and now >= frame * FRAME:
            frame += 1
            watcher.look(now, uav.position, uav.attitude)
            seen = watcher.predicted(now) if watcher.seen else None
            if seen is not None and plan.clearance(now, seen)[0] < SAFE and now < plan.end - 0.5:
                began = time.process_time()
                plan = replanned(plan, now, seen)
                result.plans.append(time.process_time() - began)
        reference = plan.path.sample([now - plan.since])
        uav.step(reference[0].command(), dt=STEP / 4, substeps=4)
        step += 1
        now = step * STEP
        walker = motion(now).position
        result.flown.append(np.array([now, *uav.position, *uav.attitude, *walker]))
        result.nearest = min(result.nearest, float(np.linalg.norm((uav.position - walker)[:2])))
        touched = result.scene.at(now).collides(uav.position, radius=RADIUS)
        result.collided |= bool(touched.collided)
    return result


def plot(encounters: list[Encounter], file: str) -> None:
    """Draws the paths of the first encounters and the distances of all."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), width_ratios=(2, 1))
    for number, each in enumerate(encounters[:6]):
        rows = np.array(each.flown)
        colour = f"C{number}"
        axes[0].plot(rows[:, 1], rows[:, 2], color=colour)
        axes[0].plot(rows[:, 8], rows[:, 9], ":", color=colour)
        k = int(np.argmin(np.linalg.norm(rows[:, 1:3] - rows[:, 8:10], axis=1)))
        axes[0].plot(*rows[k][[[1, 8], [2, 9]]], "o-", color=colour, markersize=4, linewidth=0.8)
    axes[0].set(title="Vehicle (lines) and person (dots)", xlabel="x / m", ylabel="y / m")
    axes[0].set(xlim=(-0.5, 14.5), ylim=(-5.0, 5.0), aspect="equal")
    axes[1].hist([each.nearest for each in encounters], 20)
    axes[1].set(title="Smallest distance of the centres", xlabel="m", ylabel="encounters")
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    print(f"plot {file}")


def film(each: Encounter, file: str) -> None:
    """Renders an encounter from the side."""
    from propwash.render import Offscreen, RenderCamera, RenderObject
    from propwash.viz import video

    renderer = Offscreen(each.scene, width=640, height=360, vertical_fov_deg=50.0)
    down, left = np.radians([20.0, 90.0]) / 2.0
    yaw, pitch = np.array([np.cos(left), 0, 0, np.sin(left)]), (np.cos(down), 0, np.sin(down), 0)
    attitude = (yaw[0] * pitch[0], -yaw[3] * pitch[2], yaw[0] * pitch[2], yaw[3] * pitch[0])
    camera = RenderCamera("side", position=(7.0, -6.5, 4.5), attitude=attitude)

    def images() -> object:
        for row in each.flown[::8]:
            quad = RenderObject("quad", "quad", position=row[1:4], attitude=row[4:8])
            yield renderer.render(camera, objects=[quad], time=row[0]).images["side"]

    print(f"film {file}: {video.write(file, images(), 30.0)} images")  # type: ignore[arg-type]


def main() -> None:
    """Flies the encounters and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encounters", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first encounter")
    parser.add_argument("--out", default="", help="a plot")
    parser.add_argument("--video", default="", help=".mp4 or .gif of the first encounter")
    arguments = parser.parse_args()

    seeds = range(arguments.seed, arguments.seed + arguments.encounters)
    print("              encounters  collisions  nearest m: min  median  new paths  ms for each")
    for name, avoid in (("no avoidance", False), ("avoidance", True)):
        results = [encounter(seed, avoid) for seed in seeds]
        nearest = np.array([each.nearest for each in results])
        plans = [taken for each in results for taken in each.plans]
        print(
            f"{name:12} {len(results):11} {sum(each.collided for each in results):11} "
            f"{nearest.min():15.2f} {np.median(nearest):7.2f} {len(plans) / len(results):10.1f} "
            f"{1e3 * np.mean(plans) if plans else 0.0:12.1f}"
        )
    if arguments.out:
        plot(results, arguments.out)
    if arguments.video:
        film(results[0], arguments.video)


if __name__ == "__main__":
    main()
