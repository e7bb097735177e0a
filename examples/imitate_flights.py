"""Learns to fly a course from ten flights: behaviour cloning.

The flights are logs of one course and vehicle, of `python -m propwash arcade` (docs/arcade.md).
Without logs, `arcade_pilot.py` flies ten, with the errors of a person. A network learns the
velocity that the pilot commanded from what the task `Race` observes; in angle and acro mode, which
command none, it learns the velocity 0.35 s later. The policy then flies 100 courses whose gates are
at other places than in the flights.

    python examples/imitate_flights.py [--flights arcade] [--plot imitated.png]
    python -m propwash fly --policy imitated.onnx --out imitated.mp4

It needs PyTorch: pip install "propwash[gym,torch,viz]"
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import propwash.gym as pg
import torch
from arcade_pilot import Pilot, fly
from numpy.typing import NDArray
from propwash import logs, race
from propwash.arcade import MODES, Game, Mode
from propwash.gym import policy
from propwash.gym.evaluation import Evaluation, evaluate, measures
from propwash.gym.ppo import Agent, Args

Array = NDArray[np.float64]
Numbers = NDArray[np.float32]

SPEED = 3.5  # m/s, of the scripted pilot on straight lines
LEAD = 0.35  # s, until the velocity that stands for the command in modes without one
ROWS = 4  # every fourth row of a log: 60 Hz
COLUMNS = (*range(3), *range(22, 38))
"""Positions and directions of the next gates, but not the velocity: a network that sees it learns
to continue the present motion (de Haan et al., "Causal confusion in imitation learning", 2019). Nor
the heading, which need not be that of the flights at the same place."""


def read_flights(folder: Path, course: str | None = None) -> list[logs.FlightRecord]:
    """The flights of a folder that passed a gate, of any course or of one, the newest last."""
    if not folder.is_dir():
        raise SystemExit(f"error: --flights {folder}: expected a folder of logs, found none")
    files = sorted(each for each in folder.iterdir() if each.suffix in (".csv", ".mcap"))
    flights = [logs.read_record(file) for file in files]
    kept = [each for each in flights if each.gates is not None and each.gates[-1] > 0]
    kept = [each for each in kept if course in (None, each.info.get("course"))]
    if not kept:
        raise SystemExit(
            f"error: --flights {folder}: expected logs of flights that passed a gate"
            f"{f' of {course}' if course else ''}, got {len(files)} others; fly some with "
            f"python -m propwash arcade --folder {folder}"
        )
    return sorted(kept, key=lambda each: str(each.info.get("date", "")))


def later(values: Array, time: Array) -> Array:
    """Values (K, …) of the rows that are LEAD later, or of the last row."""
    rows = np.arange(len(time)) + round(LEAD / (time[1] - time[0]))
    return values[np.minimum(rows, len(time) - 1)]


def commanded(flight: logs.FlightRecord) -> Array:
    """Velocity [m/s] that the pilot commanded, (K, 3), or flew later."""
    target = later(flight.velocity, flight.time)
    if flight.command_velocity is None:
        return target
    return np.where(np.isnan(flight.command_velocity), target, flight.command_velocity)


@dataclass(frozen=True)
class Task:
    """The environments of the course that the flights passed."""

    course: race.Course
    options: dict[str, Any]

    @property
    def gates(self) -> list[str]:
        """Names of the gates to pass."""
        return list(self.options["gates"])

    @classmethod
    def of(
        cls,
        flights: Sequence[logs.FlightRecord],
        course: race.Course | None = None,
        vehicle: str | None = None,
    ) -> Task:
        """The course of the flights, up to the last gate that half of them passed.

        course, vehicle: None: found by the names in the logs.
        """
        names = sorted({(each.info["course"], each.info["vehicle"]) for each in flights})
        if len(names) > 1:
            found = ", ".join(" with ".join(each) for each in names)
            raise SystemExit(f"error: expected flights of one course and vehicle, got {found}")
        course = course or race.find_course(names[0][0])
        counts = sorted(int(each.gates[-1]) for each in flights if each.gates is not None)
        passed = counts[len(counts) // 2]
        speeds = [np.abs(commanded(each)).max() for each in flights]
        longest = max(each.time[-1] - each.info["take_off"] for each in flights)
        return cls(
            course,
            {
                "vehicle": vehicle or names[0][1],
                "course": course.file,
                "gates": [gate.name for gate in course.gates[:passed]],
                "action": "velocity",
                "max_speed": float(math.ceil(max(speeds))),
                "episode_seconds": float(math.ceil(1.5 * longest)),
            },
        )

    def examples(self, flight: logs.FlightRecord) -> tuple[Numbers, Numbers]:
        """Observations (m, k) and actions (m, 4) in rows between take-off and the last gate.

        The yaw rate is 0: the velocity is one in the world frame, whatever the heading.
        """
        assert flight.gates is not None
        end = min(flight.gates[-1], len(self.gates))
        is_flying = (flight.time >= flight.info["take_off"]) & (flight.gates < end)
        rows = np.flatnonzero(is_flying)[::ROWS]
        seed = {"course_seed": flight.info["seed"]}
        envs = pg.make_vec(pg.Race, len(rows), **self.options, **seed)
        envs.reset(seed=0)
        envs.task.next[:] = flight.gates[rows]
        parts = ("position", "velocity", "attitude", "body_rates")
        envs.set_state({name: getattr(flight, name)[rows] for name in parts})
        actions = np.zeros((len(rows), 4), dtype=np.float32)
        actions[:, :3] = commanded(flight)[rows] / self.options["max_speed"]
        return envs.observe(), actions


def clone(observations: Numbers, actions: Numbers, steps: int, seed: int) -> Agent:
    """A network trained to give the actions for the observations, by least squares."""
    generator = torch.Generator().manual_seed(seed)
    agent = Agent(observations.shape[1], actions.shape[1], Args(columns=COLUMNS), generator)
    inputs, targets = torch.from_numpy(observations), torch.from_numpy(actions)
    agent.learn_scale(inputs)
    inputs = agent.normalise(inputs)
    optimizer = torch.optim.Adam(agent.actor.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    total = 0.0
    for step in range(1, steps + 1):
        rows = torch.randint(len(inputs), (512,), generator=generator)
        loss = (agent.mean_action(inputs[rows]) - targets[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 500 == 0:
            print(f"  step {step:5}: error {math.sqrt(total / 500):.4f} of full scale", flush=True)
            total = 0.0
    return agent


def plot(flights: list[logs.FlightRecord], result: Evaluation, task: Task, file: Path) -> None:
    """Draws the flights and those of the policy from above, and the gates that it passed."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 5), width_ratios=(1, 1, 0.8))
    paths = [each.position for each in flights]
    own = [result.position[:, k] for k in range(min(20, result.position.shape[1]))]
    gates = task.course.gates[: len(task.gates)]
    for where, lines, title in ((axes[0], paths, "flights: "), (axes[1], own, "policy, flights: ")):
        for line in lines:
            where.plot(line[:, 0], line[:, 1], color="C0", linewidth=0.7, alpha=0.6)
        for number, gate in enumerate(gates, 1):
            w, _, _, z = gate.attitude
            yaw = 2.0 * math.atan2(z, w)
            side = 0.5 * gate.width * np.array([-math.sin(yaw), math.cos(yaw)])
            ends = np.array([gate.position[:2] - side, gate.position[:2] + side])
            where.plot(*ends.T, color="C3", linewidth=2.5)
            where.annotate(str(number), ends[1], fontsize=8)
        where.set(title=f"{title}{len(lines)}", xlabel="x / m", ylabel="y / m", aspect="equal")
    passed = result.infos["gates"]
    axes[2].hist(passed, np.arange(len(task.gates) + 2) - 0.5, rwidth=0.8)
    axes[2].set(title=f"gates passed in {len(passed)} flights", xlabel="gates")
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    print(f"plot {file}")


def demonstrated(
    count: int, course: race.Course, mode: Mode, vehicle: str | None
) -> list[logs.FlightRecord]:
    """Flights of the scripted pilot that passed a gate."""
    print(f"no logs: a script flies the course {course.name} {count} times, {mode} mode")
    flights = []
    for seed in range(count):
        game = Game(course, vehicle or "flightgoggles", seed=seed)
        end = fly(game, Pilot(game, mode, SPEED, human=seed))
        print(f"  seed {seed}: {len(end.passed)} gates, {end.phase}, {end.race_time:.1f} s")
        if end.passed:
            flights.append(game.record())
    if not flights:
        raise SystemExit("error: expected a flight that passed a gate; raise --count")
    return flights


def main() -> None:
    """Reads or flies the flights, trains, evaluates, and writes the policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--flights", type=Path, help="folder of logs, .csv or .mcap; by default a script flies")
    add("--course", help="name or scene file; by default that of the logs, or alphapilot")
    add("--vehicle", help="name or TOML file; by default that of the logs, or flightgoggles")
    add("--mode", choices=MODES, default="assisted", help="of its sticks (default: %(default)s)")
    add("--count", type=int, default=10, help="flights, the newest (default: %(default)s)")
    add("--steps", type=int, default=3000, help="of the optimiser (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the training (default: %(default)s)")
    add("--episodes", type=int, default=100, help="of the evaluation (default: %(default)s)")
    add("--out", type=Path, default=Path("imitated.onnx"), help="policy (default: %(default)s)")
    add("--plot", type=Path, help="an image of the flights")
    options = parser.parse_args()
    for name in ("count", "steps", "episodes"):
        if getattr(options, name) < 1:
            raise SystemExit(f"error: --{name}: expected at least 1")
    for file in (options.out, options.plot or options.out):
        if not file.parent.is_dir():
            raise SystemExit(f"error: {file}: expected a file in a folder that exists")
    torch.set_num_threads(1)

    course = None if options.course is None else race.find_course(options.course)
    if options.flights is None:
        course = course or race.find_course("alphapilot")
        flights = demonstrated(options.count, course, options.mode, options.vehicle)
    else:
        flights = read_flights(options.flights, course.name if course else None)[-options.count :]
        print(f"{len(flights)} flights of {options.flights}")
    task = Task.of(flights, course, options.vehicle)
    start = time.process_time()
    observations, actions = map(np.concatenate, zip(*map(task.examples, flights), strict=True))
    print(f"{len(observations):,} rows to learn from, {len(task.gates)} gates")
    agent = clone(observations, actions, options.steps, options.seed)
    seconds = round(time.process_time() - start, 1)

    # gates at places that no flight has seen
    course_seed = list(range(1000, 1000 + options.episodes))
    training = {"method": "behaviour cloning", "flights": len(flights), "steps": options.steps}
    description = policy.describe(
        "race", {**task.options, "course_seed": course_seed}, {**training, "seconds": seconds}
    )
    policy.save(agent, options.out, description)
    envs = description.make_vec(options.episodes, copy=False)
    result = evaluate(policy.Policy.load(options.out), envs, options.seed)
    print(f"{options.out}: trained in {seconds} s of processor time")
    for name, value in measures(envs.task, result).items():
        print(f"  {name:20} {value:8.2f}")
    if options.plot is not None:
        plot(flights, result, task, options.plot)


if __name__ == "__main__":
    try:
        main()
    except (ImportError, OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
