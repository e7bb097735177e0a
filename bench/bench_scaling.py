"""Constants of training with Ray workers, and the throughput predicted from them (docs/scaling.md).

    python bench/bench_scaling.py --task hover

Measures rollout and update in this process, the transfer of Ray, and then `train --ray` with the
numbers of workers that fit this machine, to compare with the prediction.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import ray
import torch
from propwash.gym import policy, ray_ppo, recipes, recurrent
from propwash.gym.ray_ppo import RayPPO, connect

MANY = (1, 2, 10, 100, 1000)
"""Numbers of workers of the prediction."""


@dataclass
class Line:
    """A time that grows linearly: fixed + each * count."""

    fixed: float
    """s"""
    each: float
    """s"""

    def __mul__(self, factor: float) -> Line:
        """A line with both parts multiplied."""
        return Line(factor * self.fixed, factor * self.each)

    def at(self, count: float) -> float:
        """The time for a count [s]."""
        return self.fixed + self.each * count


@dataclass
class Constants:
    """What determines the duration of an iteration."""

    rollout: Line
    """Over environments of a worker."""
    update: Line
    """Over environment steps of a batch."""
    call: float
    """s for the call of one more worker."""
    transfer: Line
    """Over bytes, between processes of this machine."""
    weights: int
    """bytes"""
    step: float
    """bytes of an environment step in a batch"""

    def iteration(self, envs: int, num_steps: int, workers: int, byte: float) -> float:
        """The time of an iteration [s]; byte: s for one byte to or from the learner."""
        steps = envs * num_steps
        moved = steps * self.step + workers * self.weights
        wait = self.transfer.fixed + self.call * (workers - 1) + byte * moved
        return self.rollout.at(envs / workers) + wait + self.update.at(steps)


def fastest(
    work: Callable[[], Any], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest time of the calls [s]; the first call is not timed."""
    work()
    times = []
    for _ in range(rounds):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def fitted(counts: list[int], seconds: list[float]) -> Line:
    """The line with the least relative errors."""
    weights = 1.0 / np.array(seconds)
    each, fixed = np.polyfit(counts, seconds, 1, w=weights)
    return Line(max(0.0, float(fixed)), float(each))


class Echo:
    """A worker that returns arrays at once."""

    def send(self, weights: Any, size: int) -> Any:
        """Returns `size` bytes."""
        return np.zeros(size, np.uint8)


def measure(recipe: recipes.Recipe, make: Any, rounds: int) -> Constants:
    """Measures the constants."""
    envs = [recipe.num_envs // 8, recipe.num_envs // 2, recipe.num_envs, 2 * recipe.num_envs]
    rollouts, updates = [], []
    clock = time.process_time  # one thread; other programs have little influence
    for n in envs:
        ppo = recurrent.trainer(recipe.args)(make(n), recipe.args, 1)
        ppo.restart()
        rollouts.append(fastest(ppo.rollout, rounds, clock))
        updates.append(fastest(ppo.update, max(2, rounds // 2), clock))
    steps = [n * recipe.args.num_steps for n in envs]
    size = sum(getattr(ppo, name).nbytes for name in ray_ppo.trainer(recipe.args).buffers)
    weights = {name: each.numpy() for name, each in ppo.agent.state_dict().items()}
    echo: Any = ray.remote(num_cpus=1)(Echo)
    handle = echo.remote()

    def exchange(count: int) -> Any:
        return np.concatenate([ray.get(handle.send.remote(ray.put(weights), count))])

    def calls() -> Any:
        reference = ray.put(weights)
        return ray.get([handle.send.remote(reference, 1000) for _ in range(100)])

    sizes = [1000, 2**20, 2**23]
    transfer = fitted(sizes, [fastest(partial(exchange, count), 3 * rounds) for count in sizes])
    return Constants(
        fitted(envs, rollouts),
        fitted(steps, updates),
        fastest(calls, rounds) / 100,
        transfer,
        sum(each.nbytes for each in weights.values()),
        size / steps[-1],
    )


def report(name: str, found: Constants) -> None:
    """Prints the constants."""
    for label, value in (
        ("rollout", f"{1e3 * found.rollout.fixed:.2f} ms + {1e6 * found.rollout.each:.2f} us/env"),
        ("update", f"{1e3 * found.update.fixed:.2f} ms + {1e6 * found.update.each:.2f} us/step"),
        ("weights", f"{found.weights:,} bytes"),
        ("batch", f"{found.step:.1f} bytes/step"),
        (
            "transfer",
            f"{1e3 * found.transfer.fixed:.2f} ms + {1e-9 / found.transfer.each:.2f} GB/s",
        ),
        ("call", f"{1e3 * found.call:.2f} ms for each further worker"),
    ):
        print(f"{name:6s} {label:9s} {value}")


def predict(recipe: recipes.Recipe, found: Constants, byte: float) -> None:
    """Prints the predicted throughput, for all environments fixed and for each worker's fixed."""
    num_steps = recipe.args.num_steps
    print("| workers | steps/s, environments fixed | steps/s, environments of a worker fixed |")
    print("| --- | --- | --- |")
    for workers in MANY:
        fixed, grown = max(recipe.num_envs, workers), recipe.num_envs * workers
        speeds = [
            n * num_steps / found.iteration(n, num_steps, workers, byte) for n in (fixed, grown)
        ]
        print(f"| {workers:,} | {speeds[0]:,.0f} | {speeds[1]:,.0f} |")
    bounds = 1.0 / found.update.each, 1.0 / (byte * found.step)
    print(f"bounds: update {bounds[0]:,.0f} steps/s, network {bounds[1]:,.0f} steps/s")


def check(
    recipe: recipes.Recipe, make: Any, found: Constants, sizes: list[int], rounds: int
) -> None:
    """Compares measured and predicted iterations of this machine.

    Other programs lengthen the wall time more than the processor time of learner and worker.
    """
    for workers in sizes:
        trainer = ray_ppo.trainer(recipe.args)
        learner = trainer(make, recipe.num_envs, recipe.args, 1, workers=workers)
        learner.iterate()
        times = []
        for _ in range(rounds):
            began = time.perf_counter(), time.process_time(), *worker_seconds(learner)
            learner.iterate()
            ended = time.perf_counter(), time.process_time(), *worker_seconds(learner)
            times.append(np.subtract(ended, began))
        wall, own, *simulating = np.min(times, axis=0)
        used = own + max(simulating)
        predicted = found.iteration(
            recipe.num_envs, recipe.args.num_steps, workers, found.transfer.each
        )
        print(
            f"{workers} workers: predicted {1e3 * predicted:.1f} ms; processor time "
            f"{1e3 * used:.1f} ms, {1e3 * (used - own):.1f} of them of a worker, ratio "
            f"{predicted / used:.2f}; wall time {1e3 * wall:.1f} ms, ratio {predicted / wall:.2f}",
            flush=True,
        )


def worker_seconds(learner: RayPPO) -> list[float]:
    """The processor time of each worker [s]."""
    handles = [each.handle for each in learner._workers._workers]
    return ray.get([each.__ray_call__.remote(lambda _: time.process_time()) for each in handles])


def main() -> None:
    """Prints constants, prediction and comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="hover")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s (default: 10)")
    parser.add_argument(
        "--slower", type=float, default=1.0, help="predict for rollouts that take K times as long"
    )
    parser.add_argument("--check", type=int, nargs="*", default=[1, 2], help="numbers of workers")
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    connect(None, max([1, *chosen.check]))
    recipe = recipes.recipe(chosen.task)
    # the last iterations of a training, in which the scale is fixed
    recipe = replace(recipe, args=replace(recipe.args, scale_iterations=0))
    described = policy.describe(chosen.task, recipe.options)
    make = partial(described.make_vec, copy=False, **recipe.training)
    found = measure(recipe, make, chosen.rounds)
    report(chosen.task, found)
    slower = replace(found, rollout=found.rollout * chosen.slower)
    predict(recipe, slower, 8e-9 / chosen.network)
    check(recipe, make, found, chosen.check, chosen.rounds)


if __name__ == "__main__":
    main()
