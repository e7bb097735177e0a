"""The shipped courses: scene files whose gates are passed in order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from propwash import _files
from propwash.race._race import course_gates
from propwash.world import Gate, Scene

_FOLDER = Path(__file__).parent / "courses"
LESSON = "lesson"
"""The name of the course for beginners."""
_TITLES = {
    LESSON: "Lesson: three gates ahead, to learn the keys",
    "alphapilot": "AlphaPilot: the 240 m of the challenge",
    "slalom": "Slalom: round the ends of the racks",
    "hairpins": "Hairpins: under the lowest boards, from aisle to aisle",
    "shelves": "Shelves: under and over a rack in turns",
    "climb": "Climb: through the aisles to the ceiling, and down",
    "circuit": "Circuit: two fast laps along the walls",
    "eight": "Eight: a figure of eight in the room",
    "tower": "Tower: up around a pillar, and a dive",
}
"""Names of the courses, in the order in which they are shown, and their titles."""


@dataclass(frozen=True)
class Course:
    """A course: a scene file with gates. A seed moves the gates within their bounds."""

    name: str
    """That of the file, without its suffix."""
    title: str
    """One line."""
    file: str
    """Path of the scene file."""

    def scene(self, seed: int | None) -> Scene:
        """The scene for a seed; None: the gates at their nominal poses."""
        return Scene.load(self.file, seed=seed)

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The gates in order, at their nominal poses."""
        return self.scene(None).gates


def courses() -> dict[str, Course]:
    """The shipped courses by name."""
    return {name: _shipped(name) for name in _TITLES}


def find_course(course: str | PathLike[str]) -> Course:
    """A shipped course by name, or the course of a scene file, which is named as its file.

    Raises ParameterError for an unknown name or an invalid file, and ValueError for a scene without
    gates or start, and for a file with the name of a shipped course.
    """
    file = _files.find_shipped("course", _FOLDER, course)
    if file.parent == _FOLDER:
        return _shipped(file.stem)
    scene = Scene.load(file)
    try:
        course_gates(scene)
        if scene.start is None:
            raise ValueError("start: expected a [start] of the scene or its base")
        if file.stem in _TITLES:
            raise ValueError(f"expected another name than that of the shipped course {file.stem!r}")
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return Course(file.stem, scene.name, str(file))


def _shipped(name: str) -> Course:
    return Course(name, _TITLES[name], str(_FOLDER / f"{name}.toml"))
