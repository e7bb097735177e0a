"""For any arguments: the state stays valid, or a clear exception is raised."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import propwash as pw
from helpers import MULTICOPTERS, Array, tilted_hexacopter
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from plain_model import packed

VEHICLES = {
    **{name: pw.vehicles.load(name) for name in MULTICOPTERS},
    "tilted": tilted_hexacopter(),
}
MAX_STEP = 3.8e-3
"""s; a longer step of Euler gives a warning about the contact of the tilted hexacopter."""

integrators: st.SearchStrategy[Any] = st.sampled_from(["euler", "rk4", "symplectic_euler"])
vehicles = st.sampled_from(list(VEHICLES.values()))
keys = st.integers(0, 2**32 - 1)


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers in [low, high]."""
    return st.floats(low, high, allow_subnormal=False)


def vectors(size: int, bound: float) -> st.SearchStrategy[Array]:
    """Vectors with components in [-bound, bound]."""
    return hnp.arrays(np.float64, size, elements=numbers(-bound, bound))


@st.composite
def attitudes(draw: st.DrawFn) -> Array:
    """Unit quaternions."""
    q = draw(vectors(4, 1.0))
    assume(np.linalg.norm(q) > 1e-3)
    return np.asarray(q / np.linalg.norm(q))


@st.composite
def states(draw: st.DrawFn, vehicle: pw.VehicleParameters) -> pw.MulticopterState:
    """States within and far beyond those of a flight."""
    slowest, fastest = (np.array(vehicle.motor_values(f"speed_{end}")) for end in ("min", "max"))
    fraction = draw(hnp.arrays(np.float64, len(vehicle.rotors), elements=numbers(0.0, 1.0)))
    return pw.MulticopterState(
        position=draw(vectors(3, 1e6)),
        velocity=draw(vectors(3, 50.0)),
        attitude=draw(attitudes()),
        body_rates=draw(vectors(3, 30.0)),
        rotor_speeds=np.clip(slowest + fraction * (fastest - slowest), slowest, fastest),
    )


@st.composite
def commands(draw: st.DrawFn, vehicle: pw.VehicleParameters) -> pw.RateThrust | pw.RotorSpeeds:
    """Any finite command, mostly moderate ones."""
    bound = draw(st.sampled_from([10.0, 1e4, 1e100]))
    if draw(st.booleans()):
        return pw.RotorSpeeds(draw(vectors(len(vehicle.rotors), bound)))
    return pw.RateThrust(draw(vectors(3, bound)), draw(numbers(-bound, bound)))


@st.composite
def flights(draw: st.DrawFn) -> tuple[pw.Multicopter, pw.RateThrust | pw.RotorSpeeds]:
    """A vehicle in flight, and its next command."""
    vehicle = draw(vehicles)
    uav = pw.Multicopter(vehicle, draw(integrators), draw(keys), draw(keys), draw(st.booleans()))
    uav.reset(draw(states(vehicle)))
    uav.wind = draw(vectors(3, 20.0))
    return uav, draw(commands(vehicle))


def check_state(uav: pw.Multicopter) -> None:
    """Requires a finite state, a unit attitude, and rotor speeds within their limits."""
    assert np.all(np.isfinite(packed(uav.state)))
    assert np.all(np.isfinite(uav.imu.specific_force))
    assert np.all(np.isfinite(uav.imu.angular_rate))
    assert abs(np.linalg.norm(uav.attitude) - 1.0) < 1e-14
    motor = uav.parameters.motor
    for speeds in (uav.rotor_speeds, uav.rotor_command):
        assert np.all((speeds >= motor.speed_min) & (speeds <= motor.speed_max))


@given(flights(), numbers(1e-4, MAX_STEP), st.integers(1, 50))
def test_valid_states_stay_valid(
    flight: tuple[pw.Multicopter, pw.RateThrust | pw.RotorSpeeds], dt: float, steps: int
) -> None:
    uav, command = flight
    check_state(uav)
    uav.step(command, dt, substeps=steps)
    check_state(uav)
    assert uav.steps == steps
    assert math.isclose(uav.time, dt * steps, rel_tol=1e-12)


@given(flights(), numbers(1e-4, MAX_STEP), st.integers(1, 8), st.integers(1, 4))
def test_steps_rollouts_and_copies_agree(
    flight: tuple[pw.Multicopter, pw.RateThrust | pw.RotorSpeeds],
    dt: float,
    rows: int,
    substeps: int,
) -> None:
    uav, command = flight
    other, looped = copy.deepcopy(uav), copy.deepcopy(uav)
    flown = uav.rollout(command, dt, steps=rows, substeps=substeps)
    other.step(command, dt, substeps=rows * substeps)
    for _ in range(rows * substeps):
        looped.step(command, dt)
    for each in (other, looped):
        assert np.array_equal(packed(each.state), packed(flown)[-1])
        assert np.array_equal(each.imu.specific_force, flown.specific_force[-1])
        assert np.array_equal(each.imu.angular_rate, flown.angular_rate[-1])


@given(
    numbers(1e-3, 1e5),
    numbers(1e-6, 1e2),
    st.sampled_from(["exact", "backward_euler"]),
    vectors(20, 1e6),
)
def test_filters_are_stable_at_any_rate(
    cutoff: float, dt: float, method: pw.control.Discretisation, samples: Array
) -> None:
    """The output is bounded by the L1 norm of the impulse response."""
    filtered = pw.LowPass(cutoff, dt, discretisation=method).apply(samples)
    # for a second-order Butterworth filter that norm is at most this
    gain = (1.0 + math.exp(-math.pi)) / (1.0 - math.exp(-math.pi))
    assert np.all(np.abs(filtered) <= gain * np.abs(samples).max() * (1 + 1e-9))


@given(vehicles, vectors(3, 1e3), numbers(-1e4, 1e4))
def test_allocation_is_always_within_the_limits(
    vehicle: pw.VehicleParameters, torque: Array, thrust: float
) -> None:
    allocation = pw.Allocation(vehicle)
    speeds = allocation.allocate(torque, thrust)
    assert np.all((speeds >= vehicle.motor.speed_min) & (speeds <= vehicle.motor.speed_max))
    achieved = allocation.matrix @ (speeds * np.abs(speeds))
    attained = allocation.attained(speeds)
    expected = np.append(attained.torque, attained.thrust)
    assert np.allclose(achieved, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


arrays = hnp.arrays(
    st.sampled_from(["f8", "f4", "i8", "?", "c16", "U3", "O", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=10)
    | st.binary(max_size=10)
    | st.sampled_from([object(), pw, pw.Multicopter, b"", (), {}, 10**400, -0.0])
)
garbage = (
    scalars
    | arrays
    | st.recursive(scalars, lambda inner: st.lists(inner, max_size=5), max_leaves=8)
    | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
)
# excludes very large counts, which take too long
no_counts = garbage.filter(lambda x: not (isinstance(x, int) and x > 100)).filter(
    lambda x: not (isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype.kind in "iu")
)


def accepts(call: Any, *arguments: Any, **named: Any) -> bool:
    """Whether a call succeeds; False for an error with a message, or a warning."""
    try:
        call(*arguments, **named)
    except (ValueError, TypeError, RuntimeWarning) as error:
        return not str(error)
    return True


@given(garbage, garbage, garbage)
def test_commands_with_random_arguments(a: Any, b: Any, c: Any) -> None:
    accepts(pw.RateThrust, a, b)
    accepts(pw.RotorSpeeds, c)
    accepts(pw.SpeedYawRate, b, c)


@given(garbage, garbage, garbage, garbage)
def test_constructors_with_random_arguments(a: Any, b: Any, c: Any, d: Any) -> None:
    for make in (pw.Multicopter, pw.Car):
        accepts(make, a)
        accepts(make, integrator=a)
        accepts(make, seed=b)
        accepts(make, id=c)
        accepts(make, noise=d)
    accepts(pw.Allocation, a)
    accepts(pw.RateController, a)
    accepts(pw.RateController, "penguin", b)
    accepts(pw.validate, c)
    accepts(pw.vehicles.load, d)
    accepts(pw.Pid, a, b, c, d)
    accepts(pw.Pid, 1.0, dt=d)


@given(garbage, garbage, garbage)
def test_filters_with_random_arguments(a: Any, b: Any, c: Any) -> None:
    accepts(pw.LowPass, a, b)
    accepts(pw.LowPass, stiffness=a, damping=b)
    accepts(pw.LowPass, 30.0, discretisation=c)
    assume(not (isinstance(a, int) and a > 100))
    accepts(pw.LowPass, 30.0, channels=a)
    lowpass = pw.LowPass(30.0, channels=2)
    accepts(lowpass.update, a)
    accepts(lowpass.apply, b)
    accepts(lowpass.reset, c)
    assert np.all(np.isfinite(lowpass.update([0.0, 0.0])))


FLYING = pw.Multicopter("crazyflie", seed=1)
FLYING.step(pw.RateThrust([0.3, 0.2, 0.1], 0.3), substeps=50)


@given(garbage, no_counts, no_counts)
def test_refused_steps_change_nothing(command: Any, dt: Any, steps: Any) -> None:
    good = pw.RotorSpeeds([1500.0] * 4)
    before = FLYING.snapshot()
    for call, count in ((FLYING.step, "substeps"), (FLYING.rollout, "steps")):
        for held, period, number in (
            (command, 1 / 960, 1),
            (good, dt, 1),
            (good, 1 / 960, steps),
            (command, dt, steps),
        ):
            if accepts(call, held, period, **{count: number}):
                FLYING.restore(before)
            assert FLYING.snapshot() == before
    if accepts(FLYING.rollout, good, steps=2, substeps=steps):
        FLYING.restore(before)
    assert FLYING.snapshot() == before


@given(garbage, st.sampled_from(list(vars(FLYING.trim()))))
def test_refused_states_change_nothing(value: Any, part: str) -> None:
    before = FLYING.snapshot()
    state = FLYING.state
    setattr(state, part, value)
    wind = FLYING.wind

    refused_all = True
    for name in ("wind", "battery_voltage"):
        refused_all &= not accepts(setattr, FLYING, name, value)
    for new_state in (value, state):
        refused_all &= not accepts(FLYING.set_state, new_state)
    refused_all &= not accepts(FLYING.restore, value)
    if refused_all:
        assert FLYING.snapshot() == before
    reset_was_refused = not accepts(FLYING.reset, **{part: value})
    assert accepts(FLYING.reset, value) <= (value is None)
    check_state(FLYING) if reset_was_refused or part == "rotor_speeds" else None
    FLYING.restore(before)
    assert np.array_equal(FLYING.wind, wind)
    assert FLYING.snapshot() == before


@given(garbage, garbage)
def test_refused_controller_inputs_change_nothing(a: Any, b: Any) -> None:
    controller = pw.RateController("penguin")
    good = pw.RateThrust([0.0, 0.0, 0.0], 10.0)
    if not (accepts(controller.update, a, good) or accepts(controller.update, b, a)):
        assert np.array_equal(controller.filtered_rates, np.zeros(3))
        assert np.array_equal(controller.integral, np.zeros(3))
    allocation = pw.Allocation("penguin")
    accepts(allocation.allocate, a, b)
    accepts(allocation.attained, a)
    pid = pw.Pid(1.0, 1.0)
    if not accepts(pid.update, a, b):
        assert pid.integral == 0.0


@given(garbage, garbage, no_counts, garbage)
def test_integration_with_random_arguments(
    vehicle: Any, state: Any, steps: Any, result: Any
) -> None:
    class Vehicle:
        def derivative(self, x: Array, command: Any) -> Any:
            return result

    accepts(pw.integrate.step, vehicle, [1.0], None, 0.1)
    accepts(pw.integrate.step, Vehicle(), state, None, 0.1)
    accepts(pw.integrate.step, Vehicle(), [1.0, 2.0], None, 0.1, steps)
    accepts(pw.integrate.step, Vehicle(), [1.0], None, state)


@given(garbage)
def test_frames_with_random_arguments(value: Any) -> None:
    for name in pw.frames.__all__:
        accepts(getattr(pw.frames, name), value)
