"""A recorded flight in a simulated scene: its poses drive a renderer and synthetic sensors.

The flight is a motion capture recording (docs/replay.md has sources of such logs); if it is not
found, the library simulates one and says so. Poses keep their time stamps. With pyzmq the renderer
is a separate program that uses the published protocol; without, it runs in this process.

    python examples/vehicle_in_the_loop.py [--flight LOG.csv] [--seconds 20] [--speed 1]
"""

import argparse
import importlib.util
from dataclasses import replace

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import logs, render
from propwash.render.in_the_loop import LoopStep, PoseClient, Source
from propwash.world import Scene

LOG = "nanobench_B9_trefoil_fast_rep14.csv"
WIDTH, HEIGHT = 320, 240
Poses = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def simulated(seconds: float) -> Poses:
    """Simulates a circle of 1.5 m radius in 6 s, with all noise, and a row every 10 ms."""
    uav = pw.Multicopter("crazyflie", seed=1)
    mass = uav.parameters.body.mass
    uav.reset(position=[1.5, 0.0, 1.2])
    rows = []
    for row in range(round(100.0 * seconds)):
        state, angle = uav.state, 2.0 * np.pi * 0.01 * row / 6.0
        rows.append((1.0 + 0.01 * row, *state.position, *state.attitude))
        target = np.array([1.5 * np.cos(angle), 1.5 * np.sin(angle), 1.2])
        force = mass * (4.0 * (target - state.position) - 3.0 * state.velocity + [0.0, 0.0, 9.81])
        w, x, y, z = state.attitude
        up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        # the rotation from the thrust axis to the force, in body axes
        rotation = np.cross(up, force / np.linalg.norm(force))
        axis = np.array([x, y, z])
        tilt_B = (
            rotation
            + 2.0 * np.cross(axis, np.cross(axis, rotation))
            - 2.0 * w * np.cross(axis, rotation)
        )
        uav.step(pw.RateThrust(6.0 * tilt_B, max(0.0, float(force @ up))), dt=0.001, substeps=10)
    table = np.array(rows)
    return table[:, 0], table[:, 1:4], table[:, 4:]


def poses(log: str, seconds: float) -> Poses:
    """The recorded poses, or simulated ones."""
    try:
        flight = logs.read_flight(log)
    except FileNotFoundError as error:
        print(f"{error}\nSimulating a circle instead.")
        return simulated(seconds)
    if flight.position is None or flight.attitude is None:
        raise SystemExit(f"{log}: expected a motion capture log with poses")
    print(f"{flight.path.name}: {flight.time[-1]:.1f} s of a real Crazyflie")
    moving = np.linalg.norm(flight.position - flight.position[0], axis=1) > 0.1
    rows = np.flatnonzero(moving)[0] + np.arange(round(100.0 * seconds))
    rows = rows[rows < len(flight.time)]
    return flight.time[rows], flight.position[rows], flight.attitude[rows]


def with_log_times(source: Source, first: float) -> Source:
    """Shifts the times of a recording, which start at 0, back to those of the log."""

    def shifted() -> render.PoseSample | None:
        sample = source()
        return sample and replace(sample, time_ns=sample.time_ns + round(1e9 * first))

    return shifted


class InProcess:
    """A renderer in this process, with the interface of a client."""

    def __init__(self, scene: Scene, cameras: list[render.RenderCamera]) -> None:
        self._renderer = render.Offscreen(scene, width=WIDTH, height=HEIGHT, antialias=1)
        self._cameras = cameras
        self._frames: list[render.Frame] = []

    def submit_vehicle(
        self, time_ns: int, position: NDArray[np.float64], attitude: NDArray[np.float64]
    ) -> None:
        """Renders immediately."""
        frame = self._renderer.render(self._cameras, position, attitude, time=time_ns * 1e-9)
        self._frames.append(replace(frame, time_ns=time_ns))

    def poll(self) -> render.Frame | None:
        """The next frame."""
        return self._frames.pop(0) if self._frames else None


def main() -> None:
    """Replays the recording in the loop and prints statistics."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flight", default=LOG)
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the flight")
    parser.add_argument("--speed", type=float, default=1.0, help="replay speed; 1: real time")
    parser.add_argument(
        "--in-process", action="store_true", help="render in this process, without pyzmq"
    )
    arguments = parser.parse_args()

    time, position, attitude = poses(arguments.flight, arguments.seconds)
    scene = Scene.load("room")
    sensors = {
        "range": pw.RangeFinder(scene, seed=1),
        "walls": pw.RangeFinder(scene, directions=[[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]]),
    }
    cameras = [render.RenderCamera("front"), render.RenderCamera("depth", "depth")]
    source = render.recorded(time, position, attitude, speed=arguments.speed)
    source = with_log_times(source, float(time[0]))
    wire = importlib.util.find_spec("zmq") is not None and not arguments.in_process
    if wire:
        with render.Client.launch("room", cameras, width=WIDTH, height=HEIGHT) as client:
            client.request_vehicle(0, position[0], attitude[0])  # waits until the renderer runs
            fly(source, client, sensors, len(time), (time[-1] - time[0]) / arguments.speed)
    else:
        print("renderer in this process")
        fly(
            source,
            InProcess(scene, cameras),
            sensors,
            len(time),
            (time[-1] - time[0]) / arguments.speed,
        )


def fly(
    source: Source,
    renderer: PoseClient,
    sensors: dict[str, pw.RangeFinder],
    rows: int,
    wall_s: float,
) -> None:
    """Runs the loop until the recording ends."""
    loop = render.VehicleInTheLoop(source, renderer, sensors, camera_rate=30.0)
    heights, times, frames = [], [], []

    def record(step: LoopStep) -> None:
        for reading in step.readings:
            times.append(reading.sample.time_ns)
            heights.append((reading.sample.position[2], float(reading.values["range"].range)))
        frames.extend(step.frames)

    loop.run(wall_s + 0.5, record)
    above, measured = np.array(heights).T
    print(f"{loop.poses} of {rows} poses used, {loop.stale} stale, {len(frames)} frames")
    print(f"  every frame has the time stamp of a pose: {all(f.time_ns in times for f in frames)}")
    print(f"  range minus height: mean {np.mean(measured - above):+.3f} m, ", end="")
    print(f"deviation {np.std(measured - above):.3f} m (0.095 m of noise, and the tilt)")
    print(f"  from pose to image: {loop.latency}")


if __name__ == "__main__":
    main()
