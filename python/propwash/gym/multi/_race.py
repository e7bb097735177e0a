"""A race of several vehicles on one course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash import race
from propwash.fleet import Fleet
from propwash.gym._race import Race, Seeds
from propwash.gym._randomize import Draws
from propwash.gym._rewards import weights_of
from propwash.gym._task import Numbers
from propwash.gym.multi._downwash import Downwash
from propwash.gym.multi._rewards import MultiRaceReward
from propwash.gym.multi._task import MultiTask
from propwash.world import Scene

Array = NDArray[np.float64]


class MultiRace(MultiTask, Race):
    """Pass the gates in order, ahead of the others: `Race` for several vehicles on one course.

    The vehicles start abreast, in an order that changes from episode to episode. A vehicle's run
    ends as in Race, and by a collision with another vehicle, for both of them with score 0. The
    others fly on.

    Progress is the length of the course, from start to centre to centre, up to the next gate, minus
    the distance from it. It stays constant after the run of a vehicle has ended.

    Infos of ended runs: those of Race, and place, 1 + the number of vehicles that had finished
    earlier, or were ahead of a vehicle that did not finish.

    Args:
        vehicles: Number of vehicles in a scene.
        course: As in Race.
        course_seed: As in Race; scene i uses element i modulo its length.
        gates: As in Race.
        grid: Distance between the vehicles at the start [m].
        spread: As in Race.
        radius: Radius of each vehicle's collision sphere [m].
        bound: As in Race.
        anywhere: As in Race, with the same gate for the vehicles of a scene.
        neighbours: Number of the nearest others in the observation; None for all, at most 3.
        downwash: A Downwash, or None for none.
        frame: Frame of position, velocity and neighbours in observations, "world" or "body".
        weights: Weights of the reward, a MultiRaceReward or a dict of its fields.

    Raises:
        ValueError: For an invalid course, or starts at which vehicles might collide.
    """

    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = (*Race.constants, "_lengths")

    def __init__(
        self,
        vehicles: int = 2,
        course: str | PathLike[str] | Scene = "alphapilot",
        course_seed: Seeds = None,
        gates: Sequence[str] | None = None,
        grid: float = 1.0,
        spread: float = 0.2,
        radius: float = race.COLLISION_RADIUS,
        bound: float = 100.0,
        anywhere: bool = False,
        neighbours: int | None = None,
        downwash: Downwash | None = None,
        frame: str = "world",
        weights: MultiRaceReward | Mapping[str, float] | None = None,
    ) -> None:
        Race.__init__(
            self, course, course_seed, gates, spread, radius, bound, anywhere, frame, None
        )
        self._share(vehicles, radius, neighbours, downwash)
        self.weights: MultiRaceReward = weights_of(MultiRaceReward, weights)
        needed = 2.0 * radius + 2.0 * np.sqrt(2.0) * spread
        if self.vehicles > 1 and not checks.positive("grid", grid) > needed:
            raise ValueError(
                f"grid = {grid!r:.50}: expected more than {needed:.3g} m, two radii and the random "
                "part of the starts; increase grid, or decrease spread or radius"
            )
        self.grid = grid

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Assigns the courses and allocates the progress of each vehicle."""
        Race.begin(self, fleet, period, index)
        n = fleet.size
        self.course = (index + np.arange(n) // self.vehicles) % len(self.courses)
        legs = [
            np.linalg.norm(np.diff(np.vstack([each.start, each.centre]), axis=0), axis=1)
            for each in self.courses
        ]
        self._lengths = np.cumsum(legs, axis=1)
        """(courses, gates) m, length of the course up to each gate."""
        self.progress = np.zeros(n)
        """(n,) m, along the course."""
        self._rank = np.zeros(n)
        """(n,) greater for a better place."""
        self._lead = np.zeros(n)

    def _first_gate(self, draws: Draws) -> Any:
        first, behind = Race._first_gate(self, draws)
        return self.per_scene(first), self.per_scene(behind)

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws states abreast at the start, or behind a gate, level and at rest."""
        start = Race.reset_state(self, draws)
        w, _, _, z = start["attitude"].T
        left = np.stack([-2.0 * w * z, w * w - z * z, np.zeros_like(w)], axis=1)
        order = (draws.rows + self.per_scene(draws.integers(self.vehicles))) % self.vehicles
        aside = self.grid * (order - 0.5 * (self.vehicles - 1))
        place = start["position"] + aside[:, None] * left
        self._start[draws.rows] = place
        return {**start, "position": place}

    def started(self, rows: NDArray[np.intp]) -> None:
        """Resets the progress."""
        Race.started(self, rows)
        start = self._start[rows]
        target = self._gates.look(start, self.course[rows], self.next[rows])[0]
        self._measure(start, target, rows)

    def moved(self, state: Any, rows: NDArray[np.intp]) -> None:
        """Restarts the path line and the progress at the new position."""
        Race.moved(self, state, rows)
        self._measure(state.position[rows], self.target(state)[rows], rows)

    def _measure(self, position: Numbers, target: Numbers, rows: NDArray[np.intp]) -> None:
        """Computes progress and rank of `rows` from their positions, and the leads of all."""
        ahead = np.linalg.norm(position - target, axis=1)
        passed = self.next[rows]
        finished = passed == self.count
        length = self._lengths[self.course[rows], np.minimum(passed, self.count - 1)]
        self.progress[rows] = length - np.where(finished, 0.0, ahead)
        self._rank[rows] = np.where(finished, _FINISHED - self.time[rows], self.progress[rows])
        self._lead = self._leads()

    def _leads(self) -> Array:
        """(n,) m, progress minus the greatest of the others; 0 for a single vehicle."""
        own = self.progress.reshape(-1, self.vehicles)
        if self.vehicles == 1:
            return np.zeros(len(own))
        first, second = np.partition(own, -2, axis=1)[:, [-1, -2]].T
        is_first = own == first[:, None]
        best = np.where(is_first, second[:, None], first[:, None])
        leads: Array = (own - best).ravel()
        return leads

    def update(self, state: Any) -> None:
        """Detects passed gates and collisions, and computes rewards and terminations."""
        Race.update(self, state)
        hit = state.collided & (self.next < self.count) & ~self.collided
        self.collided |= hit
        self._terminated |= hit
        before, rows = self._lead, np.flatnonzero(state.active)
        self._measure(state.position[rows], self.target(state)[rows], rows)
        self._reward += self.weights.lead * (self._lead - before) - self.weights.failure * hit

    def extras(self, state: Any) -> list[Numbers]:
        """Returns the columns of Race and those of the nearest others, (n, 7 k)."""
        return [*Race.extras(self, state), *MultiTask.extras(self, state)]

    def info(self, state: Any) -> Mapping[str, Any]:
        """Returns those of Race, and the place of each run."""
        rank = state.by_scene(self._rank)
        place = 1 + (rank[:, None] > rank[:, :, None]).sum(axis=2)
        return {**Race.info(self, state), "place": place.ravel()}


_FINISHED = 1e9
"""Rank of a vehicle that finished at time 0; greater than any progress [m]."""
