"""How often the stated 95 % intervals of an identification contain the truth, on simulated flights.

Each set has its own vehicle, drawn around the guess, and a few flights with their own trims, drawn
from `Scatter`, with the noise and the disturbances of `Noise`. Parameters that a kind of log does
not identify are those of the guess. Prints the table of docs/identify.md:

    python tests/python/identify_coverage.py [--sets 100] [--flights 3] [--seconds 7]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import propwash as pw
from propwash import identify
from propwash.identify._log_battery import Battery, hover_load
from propwash.identify._parameters import (
    BALANCES,
    FORCES,
    LAG,
    ROTATION,
    THRUST,
    FreeParameter,
    catalogue,
    changed,
)
from propwash.logs import Flight
from propwash.vehicle.multicopter import Array
from scipy.stats import binomtest

GUESS = pw.vehicles.load("crazyflie")
PERIOD = 4e-3
SUBSTEPS = 2
POPULATION = 0.25
"""Standard deviation of the vehicles, in prior standard deviations."""
SAG = 0.03
"""Standard deviation of the sag of the voltage of logs that did not record it."""
GUST_TIME = 0.3
"""s, correlation time of the disturbing force."""
GUST_RATIO = 1.5
"""Standard deviation of that force, relative to a constant one with this effect over 1 s."""
CIRCLE_RATE, CIRCLE_RADIUS = 2.0, 0.6
"""rad/s and m."""
MAX_RATE = 10.0
"""rad/s, of a vehicle under control."""
SPEED_NOISE = 40.0
"""rad/s, 2 % of the speed in hover: the white noise of measured rotor speeds."""
POSE, IMU, SPEEDS = "pose", "IMU", "speeds"
KINDS = {
    POSE: "poses, commands on another clock",
    IMU: "commands and IMU on one clock",
    SPEEDS: "poses, IMU and noisy rotor speeds on one clock",
}


@dataclass(frozen=True)
class Truth:
    """A vehicle and its flights."""

    vehicle: pw.VehicleParameters
    parameters: dict[str, float]
    individuals: list[pw.VehicleParameters]
    """The vehicle with the trims of each flight."""
    batteries: list[Battery]


def _drawn(parameter: FreeParameter, rng: np.random.Generator) -> float:
    """A deviation from the guess in prior standard deviations, within the parameter's range."""
    while True:
        value = float(POPULATION * rng.standard_normal())
        minimum = -np.inf if parameter.minimum is None else parameter.minimum
        if parameter.is_factor or parameter.read(GUESS) + value * parameter.spread >= minimum:
            return value


def draw(kind: str, flights: int, rng: np.random.Generator) -> Truth:
    """Draws a vehicle and its flights, with what a kind of log identifies."""
    known, scatter = catalogue(GUESS), identify.Scatter()
    names = {
        POSE: (*FORCES, *BALANCES, "blow_back"),
        IMU: (*THRUST, *LAG, *ROTATION),
        SPEEDS: (*(name for name in FORCES if name != "speed_offset"), *ROTATION),
    }[kind]
    free = [known[name] for name in names]
    while True:
        vehicle = changed(GUESS, free, [_drawn(parameter, rng) for parameter in free])
        moments = np.diag(np.array(vehicle.body.inertia))
        if moments[2] < 0.98 * (moments[0] + moments[1]):  # those of a rigid body
            break
    trims = (*BALANCES, *(() if kind == IMU else ("tilt_x", "tilt_y")))
    if kind == SPEEDS:  # the voltage has no effect
        trims = ("thrust", *trims)
    trimmed = [known[name] for name in known if name in trims]
    individuals, batteries = [], []
    common_sag = SAG * rng.standard_normal() if kind == IMU else 0.0
    offset, slope = 0.5 * scatter.thrust, scatter.warming
    if kind == IMU:
        offset, slope = scatter.charge, scatter.discharge
    for _ in range(flights):
        deviations = [scatter.of(p.name) / p.spread * rng.standard_normal() for p in trimmed]
        individuals.append(changed(vehicle, trimmed, deviations))
        batteries.append(
            Battery(
                GUESS.battery.nominal_voltage,
                hover_load(GUESS),
                offset * rng.standard_normal(),
                slope * rng.standard_normal(),
                common_sag,
            )
        )
    return Truth(vehicle, {p.name: p.read(vehicle) for p in free}, individuals, batteries)


class _Pilots:
    """Fly circles with additional excitation of attitude and thrust."""

    def __init__(self, truth: Truth, rng: np.random.Generator) -> None:
        vehicles = truth.individuals
        self._vehicle = truth.vehicle
        self._circles = rng.uniform(0.0, 2.0 * np.pi, (len(vehicles), 1))
        self._phases = rng.uniform(0.0, 2.0 * np.pi, (len(vehicles), 4, 4))
        effects = [
            [
                [c, r.position[1] * c, -r.position[0] * c, -r.spin * r.torque_coefficient]
                for r in v.rotors
                for c in [r.thrust_coefficient]
            ]
            for v in vehicles
        ]
        self._inverse = np.linalg.inv(np.swapaxes(np.array(effects), 1, 2))
        self._climb = np.zeros(len(vehicles))

    def duty(self, fleet: pw.Fleet, time: float) -> Array:
        """(n, N) for the present states."""
        waves = np.outer([2.3, 5.1, 9.7, 17.0], [1.0, 1.1, 0.9, 1.3]) * time
        excitation = np.sin(waves + self._phases).mean(axis=1)
        angle = CIRCLE_RATE * time + self._circles
        centre = CIRCLE_RADIUS * np.concatenate([np.sin(angle), -np.cos(angle)], axis=1)
        speed = CIRCLE_RATE * CIRCLE_RADIUS * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
        drift = fleet.position[:, :2] - centre + fleet.velocity[:, :2] - speed
        accelerate = -(CIRCLE_RATE**2) * centre / 9.81 - 0.1 * np.clip(drift, -3.0, 3.0)
        desired = np.stack([-accelerate[:, 1], accelerate[:, 0], 0.0 * self._climb], axis=1)
        desired += 0.5 * excitation[:, :3]
        w, vector = fleet.attitude[:, :1], fleet.attitude[:, 1:]
        errors = 4.0 * (desired - 2.0 * np.sign(w) * vector) - fleet.body_rates
        inertia = np.diag(np.array(self._vehicle.body.inertia))
        torque = np.array([9.0, 9.0, 4.0]) * errors * inertia
        blown = self._vehicle.rotor_drag.blow_back * fleet.velocity
        torque[:, 0] -= blown[:, 1]
        torque[:, 1] += blown[:, 0]
        self._climb -= PERIOD * np.clip(fleet.position[:, 2] + fleet.velocity[:, 2], -1.0, 1.0)
        climb = -4.0 * fleet.position[:, 2] - 4.0 * fleet.velocity[:, 2] + 3.0 * self._climb
        thrust = GUESS.body.mass * (9.81 + climb + 4.0 * excitation[:, 3])
        wrench = np.concatenate([thrust[:, np.newaxis], torque], axis=1)
        squares = np.einsum("nij,nj->ni", self._inverse, wrench)
        offset = self._vehicle.motor.speed_offset
        speeds = np.sqrt(np.maximum(squares, 0.0)) / GUESS.motor.speed_max
        return np.asarray(np.clip((speeds - offset) / (1.0 - offset), 0.05, 1.0))


class _Supply:
    """The voltages of the flights, as `identify.Battery` models them."""

    def __init__(self, batteries: Sequence[Battery], load: Array) -> None:
        self._numbers = np.array([[b.offset, b.slope, -b.sag] for b in batteries]).T
        self._load = load - hover_load(GUESS)

    def voltage(self, duty: Array, time: float) -> Array:
        """(n,) V, after a period at duty cycles (n, N)."""
        change = np.sum(duty**2, axis=1) - hover_load(GUESS) - self._load
        self._load = self._load + (1.0 - np.exp(-PERIOD / 0.03)) * change
        settled = np.full_like(self._load, 2.0 * -np.expm1(-time / 20.0))
        effects = np.stack([np.ones_like(settled), settled, self._load])
        ratio = 1.0 + np.sum(self._numbers * effects, axis=0)
        return np.asarray(GUESS.battery.nominal_voltage * ratio)


def _fleet(truth: Truth) -> pw.Fleet:
    vehicles, step = truth.individuals, PERIOD / SUBSTEPS
    fleet = pw.Fleet(truth.vehicle, len(vehicles), "float64", dt=step, noise=False, threads=1)
    fleet.set_parameters(
        {
            f"rotors.{field}": [[getattr(rotor, field) for rotor in v.rotors] for v in vehicles]
            for field in ("axis", "thrust_coefficient", "torque_coefficient")
        }
    )
    return fleet


def fly(truth: Truth, kind: str, seconds: float, rng: np.random.Generator) -> list[Flight]:
    """Simulates the flights of a vehicle in one fleet, and records them with noise."""
    noise, fleet, pilots = identify.Noise(), _fleet(truth), _Pilots(truth, rng)
    n, rotors = len(truth.individuals), len(GUESS.rotors)
    offset, inertia = truth.vehicle.motor.speed_offset, np.array(truth.vehicle.body.inertia)
    hover = np.array([hover_load(vehicle) for vehicle in truth.individuals])
    supply = _Supply(truth.batteries, hover)
    duty = np.repeat(np.sqrt(hover / rotors)[:, np.newaxis], rotors, axis=1)
    fleet.reset(rotor_speeds=GUESS.motor.speed_max * (offset + (1.0 - offset) * duty))
    states = ["position", "velocity", "attitude", "body_rates"]
    if kind == SPEEDS:
        states.append("rotor_speeds")
    log: dict[str, list[Array]] = {name: [] for name in (*states, "specific_force", "duty")}
    push = 0.0 if kind == IMU else GUST_RATIO * noise.push
    gust, decay = push * rng.standard_normal((n, 3)), np.exp(-PERIOD / GUST_TIME)
    for row in range(round(seconds / PERIOD)):
        time = row * PERIOD
        for name in states:
            log[name].append(np.array(getattr(fleet, name)))
        log["specific_force"].append(np.array(fleet.imu.specific_force))
        log["duty"].append(duty)
        after = pilots.duty(fleet, time)
        fleet.set_battery_voltage(supply.voltage(duty, time))
        gust = decay * gust + push * np.sqrt(1.0 - decay**2) * rng.standard_normal((n, 3))
        kick = noise.twist / np.sqrt(PERIOD) * rng.standard_normal((n, 3))
        fleet.set_external_wrench(GUESS.body.mass * gust, kick @ inertia)
        held = 0.5 * (duty + after)
        command = GUESS.motor.speed_max * (offset + (1.0 - offset) * held)
        fleet.step(pw.RotorSpeeds(command), substeps=SUBSTEPS)
        duty = after
    recorded = {name: np.stack(values, axis=1) for name, values in log.items()}
    for name in ("position", "velocity", "body_rates", "specific_force", "rotor_speeds"):
        if name not in recorded:
            continue
        shape = recorded[name].shape
        deviation = SPEED_NOISE if name == "rotor_speeds" else getattr(noise, name)
        recorded[name] = recorded[name] + deviation * rng.standard_normal(shape)
    return [_flight(recorded, k, kind) for k in range(n)]


def flown(
    kind: str, flights: int, seconds: float, rng: np.random.Generator
) -> tuple[Truth, list[Flight]]:
    """Draws vehicles until the pilot keeps one under control in all its flights."""
    while True:
        truth = draw(kind, flights, rng)
        try:
            logs = fly(truth, kind, seconds, rng)
        except pw.ParameterError:  # its trims leave no hover
            continue
        if max(float(np.abs(log.body_rates).max()) for log in logs) < MAX_RATE:
            return truth, logs


def _flight(recorded: dict[str, Array], k: int, kind: str) -> Flight:
    values = {name: series[k] for name, series in recorded.items()}
    time = PERIOD * np.arange(len(values["duty"]), dtype=np.float64)
    flight = Flight(Path(f"simulated {k}"), time, synchronous=kind != POSE, **values)
    if kind == IMU:
        return replace(flight, position=None, velocity=None, attitude=None)
    return replace(flight, voltage=np.full(len(time), GUESS.battery.nominal_voltage))


@dataclass
class Count:
    """How many intervals contain the truth."""

    inside: int = 0
    total: int = 0
    weak: int = 0
    """Weakly identifiable, not counted."""
    squares: float = 0.0
    """Sum of squared errors in standard errors."""

    def row(self, name: str) -> str:
        """A row of the table: coverage with its 95 % confidence interval (Clopper-Pearson)."""
        if self.total == 0:
            return f"{name:20s}{'-':>8s}{'':16s}{'':8s}{self.weak:6d}"
        interval = binomtest(self.inside, self.total).proportion_ci(0.95)
        rms = np.sqrt(self.squares / self.total)
        return (
            f"{name:20s}{self.inside / self.total:8.1%}"
            f"{f'{interval.low:.0%} to {interval.high:.0%}':>16s}{rms:8.2f}{self.weak:6d}"
        )


def coverage(kind: str, sets: int, flights: int, seconds: float, seed: int = 1) -> dict[str, Count]:
    """Fits all sets and counts, for each parameter, how many intervals contain the truth."""
    rng = np.random.default_rng(seed)
    counts: dict[str, Count] = {}
    for _ in range(sets):
        truth, logs = flown(kind, flights, seconds, rng)
        fit = identify.fit_vehicle(logs, GUESS, parameters=[*truth.parameters], threads=1)
        for estimate in fit.estimates:
            count = counts.setdefault(estimate.name, Count())
            if not estimate.identified:
                count.weak += 1
                continue
            error = estimate.value - truth.parameters[estimate.name]
            error /= estimate.standard_error
            count.total += 1
            count.inside += abs(error) <= 1.96
            count.squares += error**2
    return counts


def total(counts: dict[str, Count]) -> Count:
    """The sum over all parameters."""
    every = counts.values()
    return Count(
        sum(c.inside for c in every),
        sum(c.total for c in every),
        sum(c.weak for c in every),
        sum(c.squares for c in every),
    )


def main() -> None:
    """Prints the coverage for each kind of log."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--flights", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=7.0)
    parser.add_argument("--kind", choices=KINDS, nargs="*", default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for kind in args.kind:
        counts = coverage(kind, args.sets, args.flights, args.seconds, args.seed)
        print(f"\n{KINDS[kind]}: {args.sets} fits of {args.flights} flights of {args.seconds:g} s")
        print(f"{'parameter':20s}{'coverage':>8s}{'95 % interval':>16s}{'RMS':>8s}{'weak':>6s}")
        for name, count in counts.items():
            print(count.row(name))
        print(total(counts).row("all"))


if __name__ == "__main__":
    main()
