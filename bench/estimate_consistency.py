"""Consistency of the error-state filter over simulated flights through the AlphaPilot course.

Each flight has its own noise, start errors and offsets of the gates, which are uniformly
distributed within their bounds. The filter gets the IMU at 960 Hz, and beacons in view (without
occlusion) and the range to the ground at 60 Hz. NEES is the normalised estimation error squared,
e^T P^-1 e: if the covariance P is that of the errors e, the sum over N flights has a chi-square
distribution with N times the number of errors as degrees of freedom (Bar-Shalom, Li and
Kirubarajan, "Estimation with applications to tracking and navigation", 2001, section 5.4). Prints
the fraction of the times at which the mean is within the two-sided 95 % bounds, and the RMS errors;
--plot draws it over time.

    python bench/estimate_consistency.py [--flights 100] [--seconds 17.5] [--tilt 35]
        [--pixels 2] [--missed 0] [--imu-noise 1] [--stated 1] [--plot FILE]
"""

import argparse
import time
from functools import cache

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import _rotation, race
from propwash.estimate import ErrorStateFilter
from propwash.trajectories import Limits, Reference, minimum_snap
from propwash.world import Gate
from scipy import stats

Array = NDArray[np.float64]
VEHICLE = "flightgoggles"
RATE = 960  # Hz
FRAME, EVERY = 16, 6  # steps between images; images between evaluations
RANGE_VARIANCE, MAX_RANGE = 0.009, 20.0  # m^2, m
POSITION, VELOCITY, ATTITUDE = 0.05, 0.05, 0.02  # standard deviations of the start
GROUPS = {
    "attitude": slice(0, 3),
    "velocity": slice(3, 6),
    "position": slice(6, 9),
    "biases": slice(9, 15),
    "motion": slice(0, 15),
    "gates": slice(15, None),
    "all": slice(None),
}
"""Errors by name, in the order of the filter."""


@cache
def course() -> tuple[Gate, ...]:
    """The gates at their nominal poses."""
    return tuple(race.course_gates(pw.Scene.load("alphapilot")))


@cache
def reference() -> Reference:
    """A path through the nominal gates at up to 17 m/s."""
    points = [(18.5, 6.5, 1.0), *(gate.position for gate in course()[1:])]
    path = minimum_snap(
        points, VEHICLE, yaw="along", limits=Limits(thrust=0.9, speed=20.0, tilt=1.3)
    )
    return path.sample(period=1.0 / RATE)


def with_imu_noise(factor: float) -> pw.VehicleParameters:
    """The vehicle with the noise densities of its IMU times a factor."""
    vehicle = pw.vehicles.load(VEHICLE)
    names = ("accelerometer_noise_density", "gyroscope_noise_density")
    return vehicle.replace(imu={name: factor * getattr(vehicle.imu, name) for name in names})


def flown(seed: int, seconds: float, imu_noise: float = 1.0) -> pw.Trajectory:
    """A flight with the noise of the vehicle, that of the IMU times a factor."""
    vehicle = pw.Multicopter(with_imu_noise(imu_noise), integrator="rk4", seed=seed)
    path = reference()
    attitude = _rotation.about_z(float(path.yaw[0]))
    vehicle.reset(position=path.position[0], attitude=attitude)
    return vehicle.rollout(path[: int(seconds * RATE) // FRAME * FRAME], dt=1.0 / RATE)


def markers(offsets: Array) -> Array:
    """(4 g, 3) m, the corners of the gates with offsets (g, 3) in x, y and yaw."""
    moved = [
        gate.moved((x, y, 0.0), yaw) for gate, (x, y, yaw) in zip(course(), offsets, strict=True)
    ]
    return np.concatenate([corners(gate) for gate in moved])


def corners(gate: Gate) -> Array:
    """(4, 3) m: upper left, upper right, lower right, lower left, of the front face."""
    sides = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
    half = 0.5 * np.array([gate.width, gate.height])
    local = np.column_stack([np.full(4, -0.5 * gate.depth), sides * half])
    return np.asarray(gate.position) + local @ _rotation.rotation(gate.attitude).T


def rotation_error(estimate: Array, truth: Array) -> Array:
    """(3,) rad, body axes: the rotation from the estimate to the truth."""
    w, x, y, z = estimate
    change = np.array(_rotation.product((w, -x, -y, -z), tuple(truth)))
    return 2.0 * np.sign(change[0]) * change[1:]


def estimated(
    seed: int,
    seconds: float,
    tilt_deg: float,
    noise: float = 2.0,
    missed: float = 0.0,
    imu_noise: float = 1.0,
    stated: float = 1.0,
) -> tuple[Array, Array]:
    """One flight: NEES (K, groups) and errors (K, 9) of the motion, after each sixth image.

    noise: pixels, standard deviation. missed: the probability that a beacon in view is not seen.
    imu_noise, stated: factors on the noise densities of the IMU, and on those stated to the filter.
    """
    flight, rng = flown(seed, seconds, imu_noise), np.random.default_rng(seed)
    bounds = np.array([gate.perturbation for gate in course()])
    offsets = rng.uniform(-bounds, bounds)
    camera = pw.Camera(attitude=_about_y(-np.radians(tilt_deg)))
    pixels = camera.project(
        markers(offsets), flight.position[FRAME - 1 :: FRAME], flight.attitude[FRAME - 1 :: FRAME]
    )
    u, v = (x + noise * rng.standard_normal(x.shape) for x in (pixels.u, pixels.v))
    visible = pixels.in_view & (rng.random(pixels.u.shape) >= missed)
    start = pw.MotionEstimate(
        position=reference().position[0] + POSITION * rng.standard_normal(3),
        velocity=VELOCITY * rng.standard_normal(3),
        attitude=_turned(
            _rotation.about_z(float(reference().yaw[0])), ATTITUDE * rng.standard_normal(3)
        ),
    )
    filter_ = ErrorStateFilter(
        with_imu_noise(stated).imu,
        start,
        course(),
        position_deviation=POSITION,
        velocity_deviation=VELOCITY,
        attitude_deviation=ATTITUDE,
    )
    moving = np.concatenate([np.ones(15, dtype=bool), bounds.ravel() > 0.0])
    nees, errors = [], []
    for image in range(len(u)):
        steps = slice(image * FRAME, (image + 1) * FRAME)
        filter_.propagate(flight.angular_rate[steps], flight.specific_force[steps], 1.0 / RATE)
        (seen,) = np.nonzero(visible[image])
        filter_.update_beacons(seen // 4, seen % 4, u[image, seen], v[image, seen], camera, noise)
        last = steps.stop - 1
        x, y = flight.attitude[last, 1:3]
        distance = flight.position[last, 2] / (1.0 - 2.0 * (x * x + y * y))
        if 0.0 < distance < MAX_RANGE:
            distance += np.sqrt(RANGE_VARIANCE) * rng.standard_normal()
            filter_.update_range(distance, RANGE_VARIANCE)
        if image % EVERY == EVERY - 1:
            error = error_of(filter_, flight, last, offsets)
            nees.append(normalised(error[moving], filter_.covariance[np.ix_(moving, moving)]))
            errors.append(error[:9])
    return np.array(nees), np.array(errors)


def error_of(filter_: ErrorStateFilter, flight: pw.Trajectory, row: int, offsets: Array) -> Array:
    """(e,) truth minus estimate, in the order of the filter."""
    state = filter_.state
    return np.concatenate(
        [
            rotation_error(np.asarray(state.attitude), flight.attitude[row]),
            flight.velocity[row] - state.velocity,
            flight.position[row] - state.position,
            flight.gyroscope_bias[row] - filter_.gyroscope_bias,
            flight.accelerometer_bias[row] - filter_.accelerometer_bias,
            (offsets - filter_.gates).ravel(),
        ]
    )


def normalised(error: Array, covariance: Array) -> list[float]:
    """e^T P^-1 e for each group of errors."""
    parts = [(error[group], covariance[group, group]) for group in GROUPS.values()]
    return [float(e @ np.linalg.solve(p, e)) for e, p in parts]


def _about_y(angle: float) -> Array:
    return np.array([np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])


def _turned(attitude: tuple[float, float, float, float], rotation: Array) -> Array:
    half = 0.5 * np.linalg.norm(rotation)
    change = np.concatenate([[np.cos(half)], 0.5 * np.sinc(half / np.pi) * rotation])
    return np.array(_rotation.product(attitude, tuple(change)))


def degrees_of_freedom() -> list[int]:
    """The number of errors of each group."""
    free = sum(bound > 0.0 for gate in course() for bound in gate.perturbation)
    return [len(range(15 + free)[group]) for group in GROUPS.values()]


def bounds_of(freedom: int, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided bounds of the mean NEES over `count` flights."""
    tail = 0.5 * (1.0 - confidence)
    low, high = stats.chi2.ppf([tail, 1.0 - tail], freedom * count) / count
    return float(low), float(high)


def report(nees: Array, errors: Array) -> None:
    """Prints a table, from NEES (F, K, groups) and errors (F, K, 9)."""
    count = len(nees)
    print(f"{'errors':10s}{'number':>8s}{'mean NEES':>11s}{'95 % bounds':>16s}{'within':>8s}")
    for k, (name, freedom) in enumerate(zip(GROUPS, degrees_of_freedom(), strict=True)):
        mean, (low, high) = nees[:, :, k].mean(axis=0), bounds_of(freedom, count)
        within = np.mean((mean >= low) & (mean <= high))
        bounds = f"{low:.2f} to {high:.2f}"
        print(f"{name:10s}{freedom:8d}{mean.mean():11.2f}{bounds:>16s}{within:8.0%}")
    rms = np.sqrt((errors**2).reshape(-1, 3, 3).sum(axis=2).mean(axis=0))
    print(f"RMS: {1e3 * rms[2]:.0f} mm, {1e3 * rms[1]:.0f} mm/s, {np.degrees(rms[0]):.2f} degrees")


def plot(nees: Array, path: str) -> None:
    """Draws the mean NEES over time, divided by the number of errors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    when = np.arange(1, nees.shape[1] + 1) * EVERY * FRAME / RATE
    for axis, name in zip(axes, ("motion", "gates"), strict=True):
        k = list(GROUPS).index(name)
        freedom = degrees_of_freedom()[k]
        axis.plot(when, nees[:, :, k].mean(axis=0) / freedom, lw=1.2)
        low, high = bounds_of(freedom, len(nees))
        axis.axhspan(low / freedom, high / freedom, color="tab:green", alpha=0.2, label="95 %")
        axis.set_ylabel(f"NEES of the {name} / {freedom}")
        axis.legend(loc="upper right")
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(f"Mean NEES of {len(nees)} flights")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Runs the flights and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flights", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=17.5)
    parser.add_argument("--tilt", type=float, default=35.0, help="degrees, of the camera, up")
    parser.add_argument("--pixels", type=float, default=2.0, help="standard deviation of the noise")
    parser.add_argument("--missed", type=float, default=0.0, help="probability to miss a beacon")
    parser.add_argument("--imu-noise", type=float, default=1.0, help="factor on that of the IMU")
    parser.add_argument(
        "--stated", type=float, default=1.0, help="factor on that stated to the filter"
    )
    parser.add_argument("--plot", help="file for a figure")
    options = parser.parse_args()
    start = time.process_time()
    settings = (
        options.seconds, options.tilt, options.pixels, options.missed, options.imu_noise,
        options.stated,
    )  # fmt: skip
    runs = [estimated(seed, *settings) for seed in range(options.flights)]
    nees, errors = (np.array(column) for column in zip(*runs, strict=True))
    report(nees, errors)
    print(f"{time.process_time() - start:.0f} s of CPU")
    if options.plot:
        plot(nees, options.plot)


if __name__ == "__main__":
    main()
