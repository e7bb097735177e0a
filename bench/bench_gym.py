"""The time of environments relative to the bare fleet: one core, ratios within one run.

Short rounds of the fleet's step and of the environments' alternate, so that changes of the clock
affect both; the best of each counts, in CPU time, so that other programs affect it little.
`--profile` prints the functions with the most time, `--depth` the steps per second with depth
images as observations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
from propwash.gym import multi
from propwash.world import Scene


class Spin(pg.Task):
    """The custom task of docs/gym.md."""

    episode_seconds = 4.0

    def reset_state(self, draws: pg.Draws) -> dict[str, Any]:
        """Starts near the origin."""
        return {"position": draws.uniform(-0.5, 0.5, 3), "attitude": draws.attitude(tilt=0.5)}

    def reward(self, state: pg.State) -> Any:
        """Rewards small errors, yaw rate and a level attitude."""
        distance = np.linalg.norm(state.position, axis=1)
        return 1 / (1 + distance) - 0.1 * np.abs(state.body_rates[:, 2] - 2) + 0.2 * state.upright

    def terminated(self, state: pg.State) -> Any:
        """Ends episodes too far from the origin."""
        return np.abs(state.position).max(axis=1) > 3


class Warehouse(Spin):
    """The same in a warehouse of 400 boxes."""

    scene = Scene.load("warehouse")

    def reset_state(self, draws: pg.Draws) -> dict[str, Any]:
        """Starts anywhere between the racks, with any heading."""
        place = draws.uniform([-12.0, -8.0, 0.5], [12.0, 8.0, 4.0], 3)
        return {"position": place, "attitude": draws.attitude(tilt=0.2)}

    def terminated(self, state: pg.State) -> Any:
        """Never ends an episode."""
        return np.zeros(state.size, dtype=np.bool_)


TASKS: dict[str, type[pg.Task]] = {
    "hover": pg.Hover,
    "track": pg.Track,
    "land": pg.Land,
    "race": pg.Race,
    "custom": Spin,
    "formation": multi.Formation,
    "multirace": multi.MultiRace,
}

VEHICLES = 4
"""Vehicles in a scene, for tasks with several."""


def made(name: str, n: int, **options: Any) -> Any:
    """Environments of n vehicles."""
    kind = TASKS[name]
    if issubclass(kind, multi.MultiTask):
        return multi.make_parallel_vec(kind, n // VEHICLES, vehicles=VEHICLES, **options)
    return pg.make_vec(kind, n, **options)


def seconds(work: Callable[[], Any], calls: int) -> float:
    """The CPU time of one call."""
    began = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - began) / calls


def policy(env: Any) -> Any:
    """Small actions near hover, so that episodes last."""
    shape = env.action_space.shape
    return np.random.default_rng(0).uniform(-0.1, 0.1, shape).astype(np.float32)


def vector(name: str, n: int, rounds: int, options: dict[str, Any]) -> None:
    """Steps of n environments and of the same fleet, and their construction."""
    began = time.perf_counter()
    env = made(name, n, **options)
    env.reset(seed=1)
    took = time.perf_counter() - began
    actions = policy(env)
    fleet = pw.Fleet("flightgoggles", n, seed=1, threads=1)
    command = pw.RateThrust(np.zeros((n, 3), np.float32), np.full(n, 9.81, np.float32))
    calls = max(2, 8_000 // n)
    bare, whole = [], []
    for _ in range(rounds):
        bare.append(seconds(lambda: fleet.step(command, substeps=10), calls))
        whole.append(seconds(lambda: env.step(actions), calls))
    ratio = min(bare) / min(whole)
    print(
        f"{name:9s} n={n:<6d} fleet {1e6 * min(bare):8.1f} us  environments {1e6 * min(whole):8.1f}"
        f" us  ratio {ratio:.2f}  {n / min(whole) / 1e6:6.2f} M steps/s  made in {took:.3f} s"
    )


def single(name: str, rounds: int) -> None:
    """A step of one environment, including resets."""
    env = pg.make(TASKS[name], max_episode_steps=0)
    env.reset(seed=1)
    action = policy(env)

    def step() -> None:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    took = min(seconds(step, 200) for _ in range(rounds))
    print(f"{name:6s} single environment {1e6 * took:.1f} us per step")


def depth(kind: type[pg.Task], n: int, rounds: int) -> None:
    """Steps with depth images in CPU time, and images alone: the difference to steps without."""
    size = (32, 24)
    env = pg.make_vec(kind, n, observation="depth", depth_size=size)
    plain = pg.make_vec(kind, n)
    actions = policy(env)
    env.reset(seed=1)
    plain.reset(seed=1)
    steps = min(seconds(lambda: env.step(actions), 1) for _ in range(rounds))
    images = steps - min(seconds(lambda: plain.step(actions), 1) for _ in range(rounds))
    print(
        f"{kind.__name__:9s} n={n:<6d} depth {size[0]} x {size[1]}: {n / steps:9,.0f} steps/s, "
        f"{n / images:9,.0f} images/s"
    )


def profile(name: str, n: int) -> None:
    """Prints the functions with the most exclusive time in a step."""
    import cProfile
    import pstats

    env = made(name, n)
    env.reset(seed=1)
    actions = policy(env)
    with cProfile.Profile() as watch:
        for _ in range(min(2000, max(50, 400_000 // n))):
            env.step(actions)
    pstats.Stats(watch).sort_stats("tottime").print_stats(18)


def main() -> None:
    """Prints one line for each task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--randomize", action="store_true", help="mass and thrust, by 20 %%")
    parser.add_argument("--depth", action="store_true", help="depth images instead of tasks")
    chosen = parser.parse_args()
    for kind in (pg.Race, Warehouse) if chosen.depth else ():
        depth(kind, chosen.envs, chosen.rounds)
    if chosen.depth:
        return
    for name in chosen.tasks:
        if chosen.profile:
            profile(name, chosen.envs)
            continue
        drawn = {"mass": 0.2, "thrust_coefficient": 0.2} if chosen.randomize else {}
        vector(name, chosen.envs, chosen.rounds, {"randomize": drawn})
        if not issubclass(TASKS[name], multi.MultiTask):
            single(name, chosen.rounds)


if __name__ == "__main__":
    main()
