"""Policies trained without randomisation, in a box and on a posterior: vehicles held out, a table.

python bench/posterior.py fitted.toml held_out.toml --seeds 5 --speed 3

The files are those of two identifications, docs/train.md; each training takes 15 s of CPU. The
policies fly vehicles that are drawn from the posterior of the second file, with the actions and the
controllers of the first.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from propwash.cli.main import main as propwash
from propwash.gym.evaluation import evaluate
from propwash.gym.policy import Policy
from propwash.identify import Posterior

VARIED = (
    *("thrust_coefficient", "torque_coefficient", "rotors.inertia", "body.inertia"),
    *("time_constant_up", "time_constant_down", "speed_offset"),
    *("rotor_drag.linear", "blow_back"),
)
KINDS = {"none": {}, "box": dict.fromkeys(VARIED, 0.2), "posterior": "posterior"}
VEHICLES, EPISODES = 40, 400


def train(fitted: Path, kind: str, seed: int, speed: float, out: Path) -> Path:
    """Trains a policy, unless it exists; returns its file."""
    if not (out / "flight.png").exists():
        options = [f"vehicle={fitted}", f"randomize={json.dumps(KINDS[kind])}", f"speed={speed}"]
        command = ["train", "track", "--method", "shac", "--seed", str(seed), "--out", str(out)]
        if propwash(command + [word for each in options for word in ("--option", each)]):
            raise SystemExit(f"{out}: expected a training without failure")
    return out / "policy.onnx"


def flown(fitted: Path, held_out: Posterior, policy: Path) -> tuple[float, float, float]:
    """m, m, %: median and mean error after 2 s of vehicles that stay on the path; lost ones."""
    pilot = Policy.load(policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = pilot.make_vec(EPISODES, randomize={}, vehicle=str(fitted))
    nominal = held_out.vehicle
    others = {
        "motor.time_constant_up": np.array(nominal.motor.time_constant_up),
        "motor.time_constant_down": np.array(nominal.motor.time_constant_down),
    }
    _, drawn = held_out.draw(VEHICLES, seed=1)
    drawn.pop("motor.command_delay", None)  # common to all vehicles of a fleet
    rows = np.arange(EPISODES) % VEHICLES
    envs.fleet.set_parameters({**others, **{name: each[rows] for name, each in drawn.items()}})
    result = evaluate(pilot, envs, 7)
    errors = result.error(2.0)[~result.lost]
    return float(np.median(errors)), float(errors.mean()), 100.0 * float(result.lost.mean())


def main() -> None:
    """Prints a row for each kind of randomisation: means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fitted", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--speed", type=float, default=2.0, help="m/s")
    parser.add_argument("--out", type=Path, default=Path("train_posterior"))
    options = parser.parse_args()
    held_out, fitted = Posterior.load(options.held_out), options.fitted.resolve()
    print(
        "| randomisation | median error, m | mean error, m | lost, % |",
        "| --- " * 4 + "|",
        sep="\n",
    )
    for kind in KINDS:
        found = np.array(
            [
                flown(
                    fitted,
                    held_out,
                    train(fitted, kind, seed, options.speed, options.out / kind / f"seed_{seed}"),
                )
                for seed in range(1, options.seeds + 1)
            ]
        )
        cells = [
            f"{mean:.3g} ({low:.3g} to {high:.3g})"
            for mean, low, high in zip(found.mean(0), found.min(0), found.max(0), strict=True)
        ]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
