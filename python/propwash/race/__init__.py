"""The AlphaPilot race: flights through the gates of its course, and their scores.

Scores follow the qualification rules (Guerra et al., arXiv 1905.11377, section VII-E): eleven gates
in order, ten points per gate, minus the time [s] of the last gate; zero after a collision or beyond
the time limit. The course is the scene `alphapilot`; a seed moves its gates within the published
bounds.

`fly` plans a path through the gates and simulates a flight with the library's tracking controller.
With `pilot=SensorPilot` the pilot knows only the readings of its sensors. `judge` scores any
flight.

>>> from propwash import race
>>> result = race.fly(seed=3)
>>> print(race.report(result))
>>> race.show(result, "flight.gif")
"""

from __future__ import annotations

from propwash.race._courses import LESSON, Course, courses, find_course
from propwash.race._estimates import Estimates, EstimationErrors
from propwash.race._fastest import FASTEST_LIMITS, fastest_path, fastest_time
from propwash.race._fastest_pilot import FastestPilot
from propwash.race._fly import fly
from propwash.race._interface import (
    Briefing,
    Image,
    Pilot,
    PilotEstimate,
    PilotMaker,
    Range,
    Readings,
    SensorSuite,
    Sighting,
    mounted_camera,
)
from propwash.race._isolated import isolated, load_pilot
from propwash.race._navigation import Navigation
from propwash.race._pilot import SensorPilot
from propwash.race._plan import LIMITS, Planner, PlanStart, RacePath
from propwash.race._race import (
    COLLISION_RADIUS,
    PERIOD,
    POINTS,
    TIME_LIMIT,
    Collision,
    Passage,
    RaceFlight,
    Result,
    course_gates,
    gates_in_order,
    judge,
    passages,
    report,
    score,
    table,
    team_score,
)
from propwash.race._route import Route, route
from propwash.race._video import show

__all__ = [
    "COLLISION_RADIUS",
    "FASTEST_LIMITS",
    "LESSON",
    "LIMITS",
    "PERIOD",
    "POINTS",
    "TIME_LIMIT",
    "Briefing",
    "Collision",
    "Course",
    "Estimates",
    "EstimationErrors",
    "FastestPilot",
    "Image",
    "Navigation",
    "Passage",
    "Pilot",
    "PilotEstimate",
    "PilotMaker",
    "PlanStart",
    "Planner",
    "RaceFlight",
    "RacePath",
    "Range",
    "Readings",
    "Result",
    "Route",
    "SensorPilot",
    "SensorSuite",
    "Sighting",
    "course_gates",
    "courses",
    "fastest_path",
    "fastest_time",
    "find_course",
    "fly",
    "gates_in_order",
    "isolated",
    "judge",
    "load_pilot",
    "mounted_camera",
    "passages",
    "report",
    "route",
    "score",
    "show",
    "table",
    "team_score",
]
