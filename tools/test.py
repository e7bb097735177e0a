"""Runs both test suites and the style checks, then lists skipped tests and totals.

A failure of one suite does not stop the others. The list has the reason of each skipped test.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CTEST_REPORT = ROOT / "build" / "test" / "ctest.xml"
PYTEST_REPORT = ROOT / "build" / "pytest.xml"


@dataclass
class Suite:
    """The results of one suite."""

    name: str
    returncode: int
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def read(self, report: Path) -> None:
        """Add the cases of a JUnit file."""
        for case in ElementTree.parse(report).iter("testcase"):
            name = case.get("name", "?")
            if "classname" in case.attrib and case.get("classname") != name:
                name = f"{case.get('classname')}::{name}"
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
            f"{len(self.skipped)} skipped"
        )


def reason(case: ElementTree.Element, skip: ElementTree.Element | None) -> str:
    """The reason of a skip: a C++ test prints it after "SKIPPED: ", pytest reports it."""
    for line in (case.findtext("system-out") or "").splitlines():
        if line.startswith("SKIPPED: "):
            return line.removeprefix("SKIPPED: ")
    return (skip.get("message") or "no reason given") if skip is not None else "no reason given"


def run(name: str, commands: list[list[str]], report: Path | None) -> Suite:
    """Run commands until one fails, then read their report."""
    print(f"\n== {name} ==", flush=True)
    if report is not None:
        report.unlink(missing_ok=True)
    returncode = 0
    for command in commands:
        returncode = subprocess.run(command, cwd=ROOT, check=False).returncode
        if returncode != 0:
            break
    suite = Suite(name, returncode)
    if report is not None and report.exists():
        suite.read(report)
    return suite


def main() -> int:
    """Run everything; 0 if nothing failed."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the tests themselves share the processors
    python = [sys.executable, "-m"]
    # tests of a file run in one process, because they share fixtures
    workers = ["-n", str(len(os.sched_getaffinity(0))), "--dist", "loadfile"]
    lint = run("Style (ruff, mypy, clang-format)", [[sys.executable, "tools/lint.py"]], None)
    suites = [
        run("C++ (ctest)", [["cmake", "--workflow", "--preset", "test"]], CTEST_REPORT),
        run(
            "Python (pytest)",
            [[*python, "pytest", "-q", *workers, f"--junitxml={PYTEST_REPORT}"]],
            PYTEST_REPORT,
        ),
    ]

    print("\n== summary ==")
    for suite in suites:
        for case, why in suite.skipped:
            print(f"skipped: {case}: {why}")
    for suite in suites:
        for case in suite.failed:
            print(f"failed: {case}")
    print(f"{lint.name}: {'passed' if lint.returncode == 0 else 'FAILED'}")
    for suite in suites:
        print(suite.summary())
    return 0 if lint.returncode == 0 and all(s.returncode == 0 for s in suites) else 1


if __name__ == "__main__":
    sys.exit(main())
