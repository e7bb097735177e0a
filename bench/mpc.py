"""Tracking at the limit: model predictive control beside the other trajectory controllers.

A figure eight of 8 m half length at 7, 11 and 15 m/s, with the vehicle as assumed, with a mass
20 % larger and in a wind of 5 m/s that no controller knows. Prints the table of
docs/control/mpc.md, the RMS and the maximum of the position error after the first second, and the
processor time of a command.

    python bench/mpc.py [--speeds 7 11 15] [--vehicle flightgoggles]
"""

import argparse
import time

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash.trajectories import Controller, Lemniscate, Mpc, Reference

Array = NDArray[np.float64]
CONTROLLERS: tuple[Controller, ...] = ("geometric", "indi", "backstepping")
SUBSTEPS = 4  # of 1/960 s between commands
CASES = ("nominal", "mass +20 %", "wind 5 m/s")


def start(vehicle: str, case: str, reference: Reference) -> pw.Multicopter:
    """The vehicle of a case at the start; its controllers assume the nominal one."""
    assumed = pw.vehicles.load(vehicle)
    true = assumed
    if case == "mass +20 %":
        true = assumed.replace(body={"mass": 1.2 * assumed.body.mass})
    uav = pw.Multicopter(true, control_vehicle=assumed, seed=1)
    uav.reset(position=reference.position[0])
    if case == "wind 5 m/s":
        uav.wind = np.array([0.0, 5.0, 0.0])
    return uav


def by_controller(uav: pw.Multicopter, reference: Reference, controller: Controller) -> Array:
    """Position errors, m: (T,)."""
    flown = uav.rollout(reference[:-1].command(controller), substeps=SUBSTEPS)
    return np.asarray(
        np.linalg.norm(flown.position.reshape(-1, 3) - reference.position[1:], axis=1)
    )


def by_mpc(uav: pw.Multicopter, reference: Reference, vehicle: str) -> tuple[Array, Array]:
    """Position errors, m, and processor times of the commands, s: (T,)."""
    mpc = Mpc(vehicle, reference)
    errors, times = [], []
    for k in range(len(reference) - 1):
        before = time.thread_time()
        command = mpc.command(uav.state, float(reference.time[k]))
        times.append(time.thread_time() - before)
        uav.step(command, substeps=SUBSTEPS)
        errors.append(np.linalg.norm(uav.state.position - reference.position[k + 1]))
    return np.asarray(errors), np.asarray(times)


def main() -> None:
    """Flies all cases and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vehicle", default="flightgoggles")
    parser.add_argument("--size", type=float, default=8.0, help="m, half length of the figure")
    parser.add_argument("--speeds", type=float, nargs="+", default=[7.0, 11.0, 15.0], help="m/s")
    chosen = parser.parse_args()
    print("| speed | case | geometric m | INDI m | backstepping m | MPC m |")
    print("| --- | --- | --- | --- | --- | --- |")
    all_times = []
    for speed in chosen.speeds:
        path = Lemniscate(chosen.size, speed, laps=2.0, ramp=2.0)
        reference = path.sample(period=SUBSTEPS * pw.DEFAULT_DT)
        moving = reference.time[1:] > 1.0
        for case in CASES:
            found = [
                by_controller(start(chosen.vehicle, case, reference), reference, controller)
                for controller in CONTROLLERS
            ]
            errors, times = by_mpc(
                start(chosen.vehicle, case, reference), reference, chosen.vehicle
            )
            all_times.append(times)
            cells = [
                f"{np.sqrt(np.mean(e[moving] ** 2)):.3f} ({e[moving].max():.3f})"
                for e in (*found, errors)
            ]
            print(f"| {speed:g} m/s | {case} | {' | '.join(cells)} |", flush=True)
    median, late = np.percentile(np.concatenate(all_times) * 1e6, [50.0, 99.0])
    print(f"one command of MPC: median {median:.0f} us, 99 % {late:.0f} us of processor time")


if __name__ == "__main__":
    main()
