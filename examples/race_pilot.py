"""A pilot of the AlphaPilot race: filter, planner and tracking controller, by sensors alone.

python examples/race_pilot.py --seed 3 --isolate
python -m propwash race --sensors --pilot examples/race_pilot.py:Pilot --isolate --seeds 25
"""

import argparse

import numpy as np
from propwash import race
from propwash.vehicle.commands import Command

COMMAND_STEPS = 4  # of 1/960 s, between commands
PLAN_PERIOD = 0.1  # s, between plans
COMMIT = 0.2  # s, before a point of the route, in which the path is kept


class Pilot:
    """Flies through the gates where they are estimated."""

    def __init__(self, briefing: race.Briefing) -> None:
        self.gates, self.dt = briefing.gates, briefing.dt
        self.navigation = race.Navigation(briefing)
        self.route = race.route(briefing.position, self.gates)
        self.planner = race.Planner(briefing.vehicle)
        self.path = self.planner.plan(self.route.points(self.gates), briefing.yaw)
        self.begin = self.planned = 0.0  # s, of the path and of the last plan
        self.next = 1  # number of the first point of the route that is ahead
        self.answer = self.command(0.0)

    def __call__(self, readings: race.Readings) -> tuple[Command, race.PilotEstimate]:
        """The command for the next step, and the estimate that it is based on."""
        self.navigation.update(readings)
        if round(readings.time / self.dt) % COMMAND_STEPS == 0:
            if readings.time >= self.planned + PLAN_PERIOD:
                self.plan(readings.time)
            self.answer = self.command(readings.time)
        return self.answer

    def command(self, time: float) -> tuple[Command, race.PilotEstimate]:
        """The point of the path at a time [s], and the estimate."""
        row = self.path.sample(np.array([time - self.begin]))[0]
        return row.command(), self.navigation.estimate

    def plan(self, time: float) -> None:
        """Continues the path through the gates where they are estimated now."""
        self.planned, now = time, time - self.begin
        ahead = self.path.point_times[1:]
        passed = int(np.sum(ahead < now + 0.05))
        points = self.route.points(self.gates, self.navigation.filter.gates)
        if self.next + passed == len(points) or ahead[passed] < now + COMMIT:
            return
        self.next += passed
        motion, left = self.path.motion(now), points[self.next :]
        self.path = self.planner.plan(left, start=motion, horizon=60.0, rounds=1)
        self.begin = time


def main() -> None:
    """Flies a course and prints its passages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--isolate", action="store_true", help="in a process of its own")
    chosen = parser.parse_args()
    maker: race.PilotMaker = race.isolated(Pilot) if chosen.isolate else Pilot
    print(race.report(race.fly(chosen.seed, pilot=maker)))


if __name__ == "__main__":
    main()
