"""Runs both test suites and the style checks, then lists slow tests, skipped tests and totals.

A failure of one suite does not stop the others. With --all the tests marked `slow` run too.
"""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CTEST_REPORT = ROOT / "build" / "test" / "ctest.xml"
PYTEST_REPORT = ROOT / "build" / "pytest.xml"
SLOWEST = 25


@dataclass
class Suite:
    """The results of one suite."""

    name: str
    returncode: int
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def read(self, report: Path) -> None:
        """Add the cases of a JUnit file."""
        for case in ElementTree.parse(report).iter("testcase"):
            name = case.get("name", "?")
            if "classname" in case.attrib and case.get("classname") != name:
                name = f"{case.get('classname')}::{name}"
            self.seconds[name] = float(case.get("time") or 0.0)
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif skip is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped.append((name, reason(case, skip)))
            else:
                self.passed += 1

    def summary(self) -> str:
        """One line of totals."""
        state = "passed" if self.returncode == 0 and not self.failed else "FAILED"
        return (
            f"{self.name}: {state}: {self.passed} passed, {len(self.failed)} failed, "
            f"{len(self.skipped)} skipped, {sum(self.seconds.values()):.0f} s of tests"
        )


def reason(case: ElementTree.Element, skip: ElementTree.Element | None) -> str:
    """The reason of a skip: a C++ test prints it after "SKIPPED: ", pytest reports it."""
    for line in (case.findtext("system-out") or "").splitlines():
        if line.startswith("SKIPPED: "):
            return line.removeprefix("SKIPPED: ")
    return (skip.get("message") or "no reason given") if skip is not None else "no reason given"


def run(name: str, command: list[str], report: Path) -> Suite:
    """Run a command, then read its report."""
    print(f"\n== {name} ==", flush=True)
    report.unlink(missing_ok=True)
    suite = Suite(name, subprocess.run(command, cwd=ROOT, check=False).returncode)
    if report.exists():
        suite.read(report)
    return suite


def main() -> int:
    """Run everything; 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="slow tests too")
    everything = parser.parse_args().all
    preset = "test-all" if everything else "test"
    selection = [] if everything else ["-m", "not slow"]

    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the tests themselves share the processors
    # tests of a file run in one process, because they share fixtures
    workers = ["-n", str(len(os.sched_getaffinity(0))), "--dist", "loadfile"]
    # beside the build of the C++ tests
    lint = subprocess.Popen(
        [sys.executable, "tools/lint.py"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    suites = [
        run("C++ (ctest)", ["cmake", "--workflow", "--preset", preset], CTEST_REPORT),
        run(
            "Python (pytest)",
            [
                *(sys.executable, "-m", "pytest", "-q", *workers, *selection),
                f"--junitxml={PYTEST_REPORT}",
            ],
            PYTEST_REPORT,
        ),
    ]
    print("\n== Style (ruff, mypy, clang-format) ==")
    print(lint.communicate()[0], end="")

    print("\n== summary ==")
    for suite in suites:
        print(f"{suite.name}: the {SLOWEST} slowest, in s")
        slowest = sorted(suite.seconds.items(), key=lambda item: item[1], reverse=True)
        for case, seconds in slowest[:SLOWEST]:
            print(f"{seconds:8.1f}  {case}")
    for suite in suites:
        for case, why in suite.skipped:
            print(f"skipped: {case}: {why}")
    for suite in suites:
        for case in suite.failed:
            print(f"failed: {case}")
    print(f"Style: {'passed' if lint.returncode == 0 else 'FAILED'}")
    for suite in suites:
        print(suite.summary())
    return 0 if lint.returncode == 0 and all(s.returncode == 0 for s in suites) else 1


if __name__ == "__main__":
    sys.exit(main())
