"""ROS packages whose nodes are those of propwash, for launch files of FlightGoggles."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = {
    "flightgoggles_uav_dynamics": ("node", ("--node", "uav", "--renderer", "none")),
    "flightgoggles_car_dynamics": ("node", ("--node", "car", "--renderer", "none")),
    "flightgoggles_ros_bridge": ("ROSClient", ("--node", "none")),
    "flightgoggles_reporter": ("reporter.py", ("--node", "none", "--renderer", "none", "--report")),
}
"""Packages of FlightGoggles: the name of their program, and the options of `python -m propwash ros`
that take its place."""

_MANIFEST = """<?xml version="1.0"?>
<package format="2">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>Starts python -m propwash ros.</description>
  <maintainer email="none@example.com">none</maintainer>
  <license>MIT</license>
</package>
"""
_PROGRAM = """#!{python}
import sys

from propwash.__main__ import run

sys.exit(run(["ros", *{options!r}, *sys.argv[1:]]))
"""


def write_packages(folder: Path, cameras: Sequence[str] = ()) -> list[Path]:
    """Writes the packages into `folder`, for ROS_PACKAGE_PATH; returns their programs.

    cameras: further options of the camera bridge, such as --renderer zeromq. Raises FileExistsError
    for a package that this function did not write.
    """
    programs = []
    for name, (program, options) in PROGRAMS.items():
        manifest = folder / name / "package.xml"
        text = _MANIFEST.format(name=name)
        if manifest.parent.exists() and not (manifest.is_file() and manifest.read_text() == text):
            raise FileExistsError(
                f"{manifest.parent}: expected no package of this name; choose another folder"
            )
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_text(text, encoding="utf-8")
        if name == "flightgoggles_ros_bridge":
            options = (*options, *cameras)
        file = manifest.parent / program
        file.write_text(_PROGRAM.format(python=sys.executable, options=options), encoding="utf-8")
        file.chmod(0o755)
        programs.append(file)
    return programs
