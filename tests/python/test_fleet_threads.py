"""Fleets with threads and processes, and vehicles with non-finite states."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import restore_signals


def hover(n: int) -> pw.RateThrust:
    """The hover command of n `flightgoggles` vehicles."""
    return pw.RateThrust(np.zeros((n, 3), np.float32), np.full(n, 9.81, np.float32))


@pytest.mark.parametrize("threads", [1, 2])
def test_other_python_threads_run_during_a_step(threads: int) -> None:
    fleet = pw.Fleet("flightgoggles", 2048, threads=threads)
    command = hover(2048)
    fleet.step(command)
    done, counts = threading.Event(), []

    def count() -> None:
        while not done.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    fleet.step(command, substeps=2000)
    end = time.perf_counter()
    done.set()
    thread.join()
    during = sum(start < t < end for t in counts)
    # a thread that waits for the step would count at most once
    assert during > 5, (during, end - start)


def flown(fleet: pw.Fleet, calls: int) -> bytes:
    """The snapshot after some steps."""
    command = hover(len(fleet))
    for _ in range(calls):
        fleet.step(command, substeps=3)
    return fleet.snapshot()


def test_two_fleets_from_two_threads_with_one_pool() -> None:
    alone = [flown(pw.Fleet("flightgoggles", 300, seed=s, threads=1), 60) for s in range(2)]
    pool = pw.ThreadPool(2)
    results: list[bytes] = [b"", b""]

    def fly(s: int) -> None:
        results[s] = flown(pw.Fleet("flightgoggles", 300, seed=s, threads=pool), 60)

    threads = [threading.Thread(target=fly, args=(s,)) for s in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == alone


def test_two_threads_can_share_a_fleet() -> None:
    fleet = pw.Fleet("flightgoggles", 200, seed=1, threads=2)
    reads: list[Any] = []

    def read() -> None:
        for _ in range(100):
            reads.append((fleet.position, fleet.imu, fleet.snapshot()))

    threads = [threading.Thread(target=flown, args=(fleet, 50)) for _ in range(2)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fleet.snapshot() == flown(pw.Fleet("flightgoggles", 200, seed=1, threads=1), 100)
    assert len(reads) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_step_a_fleet() -> None:
    fleet = pw.Fleet("flightgoggles", 500, seed=1, threads=2)
    fleet.step(hover(500), substeps=3)  # the threads of the pool have started
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def fly() -> None:
        sender.send_bytes(flown(fleet, 20))

    child = context.Process(target=fly)
    child.start()
    assert receiver.poll(30), "the child hangs"
    received = receiver.recv_bytes()
    child.join(30)
    assert child.exitcode == 0
    assert received == flown(fleet, 20)


INTERRUPTED = """
import os, signal, sys, threading, time, numpy as np, propwash as pw
fleet = pw.Fleet("flightgoggles", 64, threads=1)
command = pw.RateThrust(np.zeros(3), 9.81)

def press_ctrl_c():
    start = time.process_time()  # a machine that is busy delays the call, too
    while time.process_time() < start + 0.2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

try:
    threading.Thread(target=press_ctrl_c).start()
    if sys.argv[1] == "step":
        fleet.step(command, substeps=2**31 - 1)
    else:
        fleet.rollout(command, steps=20_000_000, record=[])
except KeyboardInterrupt:
    assert 0 < fleet.steps < 20_000_000, fleet.steps
    fleet.step(command)
    print("interrupted")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C in another way")
@pytest.mark.parametrize("method", ["step", "rollout"])
def test_ctrl_c_interrupts_a_long_call(method: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, method]
    child = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
        preexec_fn=restore_signals,
    )
    assert child.stdout == "interrupted\n"


def test_idle_threads_use_no_cpu_time() -> None:
    fleet = pw.Fleet("flightgoggles", 2000, threads=2)
    fleet.step(hover(2000), substeps=3)
    start = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - start < 0.03
