"""Propwash's own fleet."""

from __future__ import annotations

import propwash as pw
from common import DT, Result, report, steps_per_second
from propwash.cli import bench

NO_NOISE = "noise, floor"


def main() -> None:
    """4096 vehicles with and without noise and controller, and one at a time."""
    for work, leaves_out in [("physics", NO_NOISE), ("noise", "floor"), ("closed_loop", "floor")]:
        for dtype in bench.DTYPES:
            case = bench.Case(work, dtype, "rk4", 1, 4096, 10)  # type: ignore[arg-type]
            flight = bench.BenchFlight(case)
            rate = steps_per_second(flight.step, case.batch * case.substeps)
            method = f"RK4, 960 Hz, {dtype}, 10 steps per call"
            includes = bench.WORKS[case.work]
            report(
                Result(
                    f"propwash, fleet, {work}",
                    pw.__version__,
                    method,
                    case.batch,
                    rate,
                    includes,
                    leaves_out,
                )
            )
    one = pw.Multicopter("flightgoggles", integrator="rk4", noise=False)
    command = pw.RotorSpeeds(one.rotor_speeds)
    rate = steps_per_second(lambda: one.step(command, dt=DT, substeps=1), 1)
    report(
        Result(
            "propwash, one vehicle",
            pw.__version__,
            "RK4, 960 Hz, float64, 1 step per call",
            1,
            rate,
            bench.WORKS["physics"],
            NO_NOISE,
        )
    )


if __name__ == "__main__":
    main()
