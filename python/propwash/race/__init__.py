"""The AlphaPilot course: a flight through its gates, and the referee who says what it is worth.

The rule of the qualification (Guerra et al., arXiv 1905.11377, section VII-E): eleven gates in
their order, ten points for each, less the seconds to the last one; nothing after a collision or
past the time limit. The course is the scene `alphapilot`, its gates moved within the published
bounds by a seed.

`fly` plans a path through the gates and flies it with the tracking controller of the library;
`judge` takes any flight.

>>> from propwash import race
>>> result = race.fly(seed=3)
>>> print(race.report(result))
>>> race.show(result, "flight.gif")
"""

from __future__ import annotations

from propwash.race._film import show
from propwash.race._race import (
    COLLISION_RADIUS,
    PERIOD,
    POINTS,
    TIME_LIMIT,
    Collision,
    Flight,
    Passage,
    Result,
    course_gates,
    fly,
    gates_in_order,
    judge,
    passages,
    report,
    route,
    score,
    table,
    team_score,
)

__all__ = [
    "COLLISION_RADIUS",
    "PERIOD",
    "POINTS",
    "TIME_LIMIT",
    "Collision",
    "Flight",
    "Passage",
    "Result",
    "course_gates",
    "fly",
    "gates_in_order",
    "judge",
    "passages",
    "report",
    "route",
    "score",
    "show",
    "table",
    "team_score",
]
