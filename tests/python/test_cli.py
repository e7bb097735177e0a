"""The command line `python -m propwash`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import propwash as pw
import pytest
from log_files import write_simulated_flight
from propwash.__main__ import main
from propwash._bridge import uninterrupted

PNG = b"\x89PNG\r\n\x1a\n"


def test_demo_prints_a_summary_and_writes_the_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo.png"
    assert main(["demo", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "9600 steps of RK4 at 960 Hz" in text
    speed = re.search(r"([\d.]+) million steps/s", text)
    assert speed is not None
    assert float(speed.group(1)) > 0.0
    assert out.read_bytes().startswith(PNG)


def test_replay_prints_a_table_and_writes_the_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "flight.csv"
    write_simulated_flight(log)
    arguments = ["replay", str(log), "--horizons", "0.1,0.3", "--every", "0.5"]
    assert main([*arguments, "--out", str(tmp_path / "plots")]) == 0
    text = capsys.readouterr().out
    assert "windows in the air" in text
    assert "0.3 s ahead" in text
    assert (tmp_path / "plots" / "replay_flight.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "no_such.csv"], "no flight log 'no_such.csv'"),
        (["demo", "--vehicle", "fligtgoggles"], "did you mean 'flightgoggles'"),
        (["demo", "--seed", "-1"], r"seed: expected a whole number"),
    ],
)
def test_errors_are_printed_in_one_line_with_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(message, captured.err)
    assert captured.err.startswith("propwash: ")


@pytest.mark.parametrize("module", ["propwash.cli.main", "numpy", "propwash.cli.ros"])
def test_ctrl_c_during_the_start_prints_one_line(module: str) -> None:
    """Interrupts the import of a module that the command needs."""
    program = f"""
import importlib.abc, runpy, signal, sys
class Interrupter(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where pytest is in the background
sys.meta_path.insert(0, Interrupter())
sys.argv[1:] = ["ros"]
runpy.run_module("propwash", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "propwash: stopped\n")


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_for_the_end_of_a_block() -> None:
    done = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("before the interrupt")
        done.append("after it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["before the interrupt"]


def test_ctrl_c_does_not_interrupt_the_imports_of_the_start() -> None:
    """Interrupts code that an extension runs: Python would end by the signal, not with 130."""
    program = """
import ctypes, importlib.abc, runpy, signal, sys
class Interrupter(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "propwash.cli.ros":
            ctypes.pythonapi.PyRun_SimpleString(b"__import__('signal').raise_signal(2)")
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupter())
sys.argv[1:] = ["ros"]
runpy.run_module("propwash", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "propwash: stopped\n")


def test_paths_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for option, file in [
        ("--includedir", "propwash/propwash.hpp"),
        ("--cmakedir", "propwashConfig.cmake"),
        ("--pkgconfigdir", "propwash.pc"),
    ]:
        assert main([option]) == 0
        assert (Path(capsys.readouterr().out.strip()) / file).is_file()


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == pw.__version__
    assert main([]) == 2
    assert "replay" in capsys.readouterr().out
