"""Ratios of a fleet's speeds and their required minima: medians of five interleaved runs.

    python bench/ratios.py [build/bench/bench/propwash_bench]

A machine's clock varies, but the ratio of two successive measurements hardly does. With the path of
the benchmark program, C++ is compared with Python too. Each instruction set has a separate process,
because a process selects it once.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import propwash as pw
from propwash.cli import bench

ROUNDS = 5
SECONDS = 0.08
"""s, of one measurement."""


@dataclass(frozen=True)
class Request:
    """The conditions of a measurement."""

    case: bench.Case
    individual_parameters: bool = False
    seconds: float = SECONDS


class Flights:
    """Fleets that are kept between requests."""

    def __init__(self) -> None:
        self._flights: dict[Request, tuple[bench.BenchFlight, int]] = {}

    def rate(self, request: Request) -> float:
        """Vehicle-steps per second."""
        if request not in self._flights:
            flight = bench.BenchFlight(request.case)
            if request.individual_parameters:
                mass = flight.fleet.parameters["mass"]
                spread = 1.0 + 0.1 * bench.spread(request.case.batch)
                flight.fleet.set_parameters(mass=mass * spread)
            self._flights[request] = flight, flight.calls(request.seconds)
        flight, calls = self._flights[request]
        return flight.rate(calls)


class Worker:
    """A process that makes measurements with one instruction set."""

    def __init__(self, isa: str | None = None, prefix: tuple[str, ...] = ()) -> None:
        self._process = subprocess.Popen(
            [*prefix, sys.executable, str(Path(__file__).resolve()), "--worker"],
            env={**os.environ, **({"PROPWASH_ISA": isa} if isa else {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, request: Request) -> float:
        """Vehicle-steps per second."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asdict(request)), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("a worker has ended; see its output above")
        return float(answer)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def serve() -> None:
    """The main loop of a worker."""
    flights = Flights()
    for line in sys.stdin:
        fields: dict[str, Any] = json.loads(line)
        request = Request(**{**fields, "case": bench.Case(**fields["case"])})
        print(flights.rate(request), flush=True)


def cpp_rate(program: str, name: str) -> float:
    """Vehicle-steps per second of a row of the benchmark program."""
    done = subprocess.run(
        [program, f"--benchmark_filter=^{name}$", f"--benchmark_min_time={SECONDS}",
         "--benchmark_format=json"],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    row: dict[str, Any] = json.loads(done.stdout)["benchmarks"][0]
    # the program measures processor time, Python wall time
    return float(row["items_per_second"] * row["cpu_time"] / row["real_time"])


def single_vehicle_rate() -> float:
    """Steps per second of one Multicopter, many steps in a call."""
    uav = pw.Multicopter("flightgoggles", integrator="rk4", noise=False)
    command = pw.RotorSpeeds(uav.rotor_speeds)
    steps = 20_000
    began = time.perf_counter()
    uav.step(command, dt=bench.DT, substeps=steps)
    return steps / (time.perf_counter() - began)


def paired(
    a: Callable[[], float], b: Callable[[], float], of: Callable[[float, float], float]
) -> tuple[float, float, float]:
    """Medians of a, b and of(a, b)."""
    a(), b()
    rounds = [(a(), b()) for _ in range(ROUNDS)]
    return (
        statistics.median(x for x, _ in rounds),
        statistics.median(y for _, y in rounds),
        statistics.median(of(x, y) for x, y in rounds),
    )


def quotient(a: float, b: float) -> float:
    """The ratio a / b."""
    return a / b


def show(name: str, values: tuple[float, float, float], required: str = "") -> None:
    """Prints a line of the table."""
    a, b, ratio = values
    print(f"  {name:<58s} {a * 1e-6:9.2f} {b * 1e-6:9.2f} {ratio:8.3f}  {required}", flush=True)


def fleet_ratios(worker: Worker, isa_worker: Callable[[str], Worker]) -> None:
    """The ratios within Python."""
    available = [str(isa) for isa in pw.build_info()["isas"]]
    for work in bench.WORKS:
        plain = Request(bench.Case(work=work))
        against = [
            ("float64 / float32", changed_case(plain, dtype="float64"), ">= 0.45"),
            ("2 threads / 1", changed_case(plain, threads=2), ">= 1.9"),
            (
                "individual parameters / shared",
                replace(plain, individual_parameters=True),
                ">= 0.85",
            ),
            ("batch 1,048,576 / 4096", changed_case(plain, batch=1_048_576), ">= 0.7"),
            ("1 substep / 10", changed_case(plain, substeps=1), ""),
        ]
        for name, changed, required in against:
            if changed.case.threads > bench.machine()["cores"]:
                continue
            rates = paired(partial(worker.rate, changed), partial(worker.rate, plain), quotient)
            show(f"{work}: {name}", rates, required)
        if {"v3", "v4"} <= set(available):
            v3, v4 = isa_worker("v3"), isa_worker("v4")
            rates = paired(partial(v3.rate, plain), partial(v4.rate, plain), quotient)
            show(f"{work}: AVX2 / AVX-512", rates, ">= 0.55")


def changed_case(request: Request, **changes: Any) -> Request:
    """A request with another case."""
    return replace(request, case=replace(request.case, **changes))


def program_ratios(worker: Worker, program: str) -> None:
    """The ratios of C++ and Python."""
    for work in bench.WORKS:
        request = Request(bench.Case(work=work))
        name = f"fleet/{work}/float/rk4/n4096/k10"
        rates = paired(partial(cpp_rate, program, name), partial(worker.rate, request), quotient)
        show(f"{work}: C++ / Python", rates, "<= 1.05")
    one = Request(bench.Case(batch=1, substeps=1))
    cpp, python, overhead = paired(
        partial(cpp_rate, program, "fleet/physics/float/rk4/n1/k1"),
        partial(worker.rate, one),
        lambda cpp, python: 1e6 * (1.0 / python - 1.0 / cpp),
    )
    print(
        f"  batch of 1, per call: C++ {1e6 / cpp:.2f} us, Python {1e6 / python:.2f} us, "
        f"difference: {overhead:.2f} us  <= 4"
    )


def import_seconds(statement: str) -> float:
    """CPU time of a statement in a fresh interpreter, excluding its start."""
    code = f"import time; began = time.process_time(); {statement}; "
    code += "print(time.process_time() - began)"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def imports() -> None:
    """CPU times of imports beside that of numpy."""
    for statement, required in [
        ("import propwash", "  <= 1.5"),
        ("from propwash import Multicopter", ""),
        ("from propwash import Fleet", ""),
    ]:
        ours, numpy, ratio = paired(
            partial(import_seconds, statement), partial(import_seconds, "import numpy"), quotient
        )
        print(f"  {statement} / import numpy: {ours:.3f} s, {numpy:.3f} s, {ratio:.2f}{required}")


def memory() -> None:
    """Memory per vehicle."""
    for dtype, limit in [("float32", "  <= 450"), ("float64", "")]:
        fleet = pw.Fleet("flightgoggles", 4096, dtype=dtype, threads=1)
        shared = fleet.bytes_per_vehicle
        fleet.set_parameters(mass=fleet.parameters["mass"])
        print(
            f"  bytes per vehicle, {dtype}: {shared:.0f} with shared parameters{limit}, "
            f"{fleet.bytes_per_vehicle:.0f} with individual ones"
        )


def main(arguments: list[str]) -> int:
    """Prints the ratios."""
    if arguments == ["--worker"]:
        serve()
        return 0
    workers: dict[str | None, Worker] = {}

    def worker_of(isa: str | None) -> Worker:
        if isa not in workers:
            workers[isa] = Worker(isa)
        return workers[isa]

    print(f"RK4, n = 4096, substeps = 10, float32, one thread, {bench.isa_in_use()}, unless stated")
    print(f"  {'a / b':<58s} {'a, M/s':>9s} {'b, M/s':>9s} {'a / b':>8s}  required")
    worker = worker_of(None)
    fleet_ratios(worker, worker_of)
    double = Request(bench.Case(dtype="float64"))
    rates = paired(partial(worker.rate, double), single_vehicle_rate, quotient)
    show("physics: float64 fleet / one Multicopter", rates)
    if arguments:
        program_ratios(worker, arguments[0])
    for each in workers.values():
        each.close()
    memory()
    imports()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
