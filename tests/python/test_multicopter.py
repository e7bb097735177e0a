"""One multicopter: laws of flight, reproducibility, snapshots, wind, battery, IMU rate."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS, Array, in_flight, tilted_hexacopter
from plain_model import packed

DT = 1.0 / 960.0
VEHICLES: dict[str, pw.VehicleParameters] = {
    **{name: pw.vehicles.load(name) for name in MULTICOPTERS},
    "tilted": tilted_hexacopter(),
}


@pytest.fixture(params=VEHICLES)
def vehicle(request: pytest.FixtureRequest) -> pw.VehicleParameters:
    """Each shipped multicopter, and one with every term of the model."""
    return VEHICLES[request.param]


def commands(vehicle: pw.VehicleParameters, rows: int) -> pw.RateThrust:
    """Rapidly changing commands, one for each row."""
    t = np.linspace(0.0, 3.0, rows)
    rates = np.stack([1.5 * np.sin(9 * t), np.cos(7 * t), 0.5 * np.sin(3 * t)], axis=1)
    return pw.RateThrust(rates, vehicle.body.mass * 9.81 * (1.0 + 0.1 * np.sin(5 * t)))


def row(command: pw.RateThrust, i: int) -> pw.RateThrust:
    """One row of a command."""
    return pw.RateThrust(command.rates[i], float(command.thrust[i]))


@pytest.mark.parametrize("name", MULTICOPTERS)
@pytest.mark.parametrize("integrator", ["euler", "rk4", "symplectic_euler"])
def test_hover_trim_is_stationary(name: str, integrator: pw.vehicle.Integrator) -> None:
    uav = pw.Multicopter(name, integrator=integrator, noise=False)
    hover = uav.trim()
    uav.step(pw.RotorSpeeds(hover.rotor_speeds), substeps=960)
    # the rounding error of the trim thrust, about 1e-15 g, acts for a second
    assert np.abs(packed(uav.state) - packed(hover)).max() < 1e-10
    assert np.allclose(uav.imu.specific_force, [0.0, 0.0, 9.81], rtol=0, atol=1e-12)
    assert np.allclose(uav.imu.angular_rate, 0.0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MULTICOPTERS)
def test_rate_loop_holds_hover_and_follows_its_command(name: str) -> None:
    uav = pw.Multicopter(name, noise=False)
    weight = uav.parameters.body.mass * 9.81
    uav.step(pw.RateThrust([0.0, 0.0, 0.0], weight), substeps=960)
    assert np.abs(uav.position).max() < 1e-9
    # blow-back increases with speed while the vehicle is tilted
    vehicle = uav.parameters.replace(rotor_drag={"blow_back": 0.0})
    uav = pw.Multicopter(vehicle, noise=False)
    uav.step(pw.RateThrust([0.4, -0.3, 0.2], weight), substeps=1920)
    assert np.allclose(uav.body_rates, [0.4, -0.3, 0.2], rtol=0, atol=0.05)


def test_free_fall_without_thrust_or_air() -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(drag=pw.DragParameters())
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(velocity=[2.0, -1.0, 3.0], rotor_speeds=np.zeros(4))
    uav.step(pw.RotorSpeeds(np.zeros(4)), substeps=960)
    assert np.allclose(uav.position, [2.0, -1.0, 3.0 - 9.81 / 2], rtol=0, atol=1e-12)
    assert np.allclose(uav.velocity, [2.0, -1.0, 3.0 - 9.81], rtol=0, atol=1e-12)
    assert np.allclose(uav.imu.specific_force, 0.0, rtol=0, atol=1e-15)


def test_terminal_speed() -> None:
    """Weight and drag (6) balance: v^2 = m g / k_fD."""
    vehicle = pw.vehicles.load("flightgoggles")
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(rotor_speeds=np.zeros(4))
    uav.step(pw.RotorSpeeds(np.zeros(4)), substeps=960 * 20)
    speed = np.sqrt(vehicle.body.mass * 9.81 / vehicle.drag.translational)
    assert np.allclose(uav.velocity, [0.0, 0.0, -speed], rtol=1e-9, atol=1e-12)


def test_motor_follows_its_exponential() -> None:
    uav = pw.Multicopter("hexacopter", noise=False)
    start = np.asarray(uav.trim().rotor_speeds)
    target = start + np.array([90.0, -90.0, 60.0, -60.0, 30.0, -30.0])
    motor = uav.parameters.motor
    tau = np.where(target > start, motor.time_constant_up, motor.time_constant_down)
    uav.step(pw.RotorSpeeds(target), dt=0.0001, substeps=200)
    expected = target + (start - target) * np.exp(-0.02 / tau)
    assert np.allclose(uav.rotor_speeds, expected, rtol=1e-9, atol=0)


def test_rotor_speeds_saturate_at_the_limits() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    uav.step(pw.RotorSpeeds([1e9, -1e9, 1e9, -1e9]), dt=0.002, substeps=1000)
    motor = uav.parameters.motor
    limits = [motor.speed_max, motor.speed_min] * 2
    assert np.allclose(uav.rotor_speeds, limits, rtol=1e-12, atol=1e-12)
    assert list(uav.rotor_command) == limits


def test_lever_arm_adds_the_centripetal_force() -> None:
    """A sensor at r from the centre of a body that spins at W reads -W^2 r outwards."""
    r, spin = 0.2, 5.0
    vehicle = pw.vehicles.load("flightgoggles").replace(
        imu={"position": (r, 0.0, 0.0)}, drag=pw.DragParameters()
    )
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(body_rates=[0.0, 0.0, spin])
    assert np.allclose(uav.imu.specific_force, [-spin * spin * r, 0.0, 9.81], rtol=0, atol=1e-12)


def test_command_delay_shifts_the_response() -> None:
    """A delay of n or n + 1/2 steps shifts the response by the same time."""
    steps = 60
    quick = pw.vehicles.load("crazyflie").replace(motor={"command_delay": 0.0})
    target = np.asarray(pw.Multicopter(quick).rotor_speeds) + 50.0
    prompt = pw.Multicopter(quick, noise=False).rollout(pw.RotorSpeeds(target), DT, steps=steps)
    for delay in (1, 7, 20):
        delayed = pw.Multicopter(
            quick.replace(motor={"command_delay": delay * DT}), noise=False
        ).rollout(pw.RotorSpeeds(target), DT, steps=steps)
        assert np.allclose(delayed.rotor_speeds[delay:], prompt.rotor_speeds[:-delay], rtol=1e-12)
        assert np.ptp(delayed.rotor_speeds[:delay], axis=0).max() < 1e-9


@pytest.mark.parametrize("delay", [0.0, 0.0055, 0.05, 0.11])
@pytest.mark.parametrize("dt", [1 / 240, 1 / 960, 1 / 2000])
def test_command_delay_does_not_depend_on_the_time_step(delay: float, dt: float) -> None:
    """The area between command and response of a delayed lag is delay + time constant.

    A delay of more steps than the command buffer holds is refused, not shortened.
    """
    vehicle = pw.vehicles.load("flightgoggles").replace(motor={"command_delay": delay})
    tau = vehicle.motor_values("time_constant_up")[0]
    uav = pw.Multicopter(vehicle, noise=False)
    before = uav.snapshot()
    target = uav.rotor_speeds[0] + 100.0
    steps = round((delay + 0.1) / dt)
    if delay / dt > 62:
        with pytest.raises(pw.ParameterError, match=r"motor\.command_delay"):
            uav.rollout(pw.RotorSpeeds([target] * 4), dt, steps=steps)
        assert uav.snapshot() == before
        return
    flown = uav.rollout(pw.RotorSpeeds([target] * 4), dt, steps=steps)
    area = dt * np.sum(target - flown.rotor_speeds[:, 0]) / 100.0
    beyond = tau * np.exp(-(steps * dt - delay) / tau)
    assert area + beyond == pytest.approx(delay + tau, abs=dt)


def test_battery_voltage_scales_the_rotor_speeds() -> None:
    uav = pw.Multicopter("crazyflie", noise=False)
    nominal = uav.parameters.battery.nominal_voltage
    assert uav.battery_voltage == nominal
    for ratio in (0.8, 1.0, 1.1):
        uav.battery_voltage = ratio * nominal
        uav.step(pw.RotorSpeeds([1500.0] * 4), substeps=1920)
        assert np.allclose(uav.rotor_speeds, 1500.0 * ratio, rtol=1e-6)
    uav.battery_voltage = 10.0 * nominal
    uav.step(pw.RotorSpeeds([1500.0] * 4), substeps=1920)
    assert np.allclose(uav.rotor_speeds, uav.parameters.motor.speed_max, rtol=1e-6)
    uav.reset()
    assert uav.battery_voltage == 10.0 * nominal


def test_battery_voltage_has_no_effect_without_a_nominal_voltage() -> None:
    uav, other = (pw.Multicopter("flightgoggles", seed=2) for _ in range(2))
    other.battery_voltage = 3.0
    for each in (uav, other):
        each.step(pw.RotorSpeeds([1200.0] * 4), substeps=50)
    assert np.array_equal(packed(uav.state), packed(other.state))


def test_uniform_wind_is_a_galilean_transformation(vehicle: pw.VehicleParameters) -> None:
    """In uniform wind a vehicle moves as in still air, seen in the frame of the moving air."""
    wind = np.array([3.0, -2.0, 1.0])
    vehicle = vehicle.replace(
        ground_effect={"radius": 0.0}, contact={"frequency": 0.0}
    )  # the ground does not move
    still, moved = (pw.Multicopter(vehicle, seed=4) for _ in range(2))
    moved.wind = wind
    still.reset(velocity=[1.0, 2.0, -1.0])
    moved.reset(velocity=np.array([1.0, 2.0, -1.0]) + wind)
    assert np.array_equal(moved.wind, wind)
    command = commands(vehicle, 100)
    a = still.rollout(command, DT, substeps=5)
    b = moved.rollout(command, DT, substeps=5)
    assert np.allclose(a.velocity + wind, b.velocity, rtol=0, atol=1e-10)
    drift = wind * a.time[:, np.newaxis]
    assert np.allclose(a.position + drift, b.position, rtol=0, atol=1e-10)
    assert np.allclose(a.attitude, b.attitude, rtol=0, atol=1e-10)
    assert np.allclose(a.specific_force, b.specific_force, rtol=0, atol=1e-8)


def test_slow_imu_measures_at_its_rate() -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(imu={"rate": 96.0})
    uav = pw.Multicopter(vehicle, seed=3)
    flown = uav.rollout(commands(vehicle, 961), DT)
    changed = np.flatnonzero(np.any(np.diff(flown.angular_rate, axis=0) != 0.0, axis=1)) + 1
    assert np.array_equal(changed, np.arange(9, 961, 10))
    assert uav.imu.time == pytest.approx(0.1 * 10)
    quiet = pw.Multicopter(vehicle, noise=False)
    flown = quiet.rollout(commands(vehicle, 961), DT)
    assert np.array_equal(flown.angular_rate[changed], flown.body_rates[changed])


def test_imu_rate_that_does_not_divide_the_steps() -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(imu={"rate": 100.0})
    uav = pw.Multicopter(vehicle, seed=3)
    flown = uav.rollout(pw.RateThrust([0.5, 0.0, 0.0], 9.81), DT, steps=9600)
    changes = np.any(np.diff(flown.angular_rate, axis=0) != 0.0, axis=1)
    assert abs(int(changes.sum()) - 1000) <= 1


def test_noise_depends_only_on_seed_and_id(vehicle: pw.VehicleParameters) -> None:
    command = commands(vehicle, 40)
    flights = {
        (seed, number): packed(
            pw.Multicopter(vehicle, seed=seed, id=number).rollout(command, substeps=3)
        )
        for seed, number in [(1, 0), (1, 1), (2, 0), (2**64 - 1, 2**32 - 1)]
    }
    again = pw.Multicopter(vehicle, seed=1, id=0).rollout(command, substeps=3)
    assert np.array_equal(packed(again), flights[1, 0])
    if vehicle.name == "tilted":  # which has no noise
        return
    different = [states.tobytes() for states in flights.values()]
    assert len(set(different)) == len(different)


def test_a_reset_with_a_seed_starts_as_if_new(vehicle: pw.VehicleParameters) -> None:
    uav = pw.Multicopter(vehicle, seed=9)
    first = uav.rollout(commands(vehicle, 30))
    for seed in (9, 4):
        uav.reset(seed=seed)
        assert (uav.time, uav.steps, uav.seed) == (0.0, 0, seed)
        new = pw.Multicopter(vehicle, seed=seed)
        assert uav.snapshot() == new.snapshot()
        again = uav.rollout(commands(vehicle, 30))
        expected = new.rollout(commands(vehicle, 30)) if seed != 9 else first
        assert np.array_equal(packed(again), packed(expected))
        assert np.array_equal(again.specific_force, expected.specific_force)


def test_noise_continues_after_a_reset_as_in_a_fleet() -> None:
    uav = pw.Multicopter("crazyflie", seed=9, id=3)
    fleet = pw.Fleet("crazyflie", 1, "float64", seed=9, first_id=3, threads=1)
    hover = pw.RateThrust([0.0, 0.0, 0.0], uav.parameters.weight)
    first = uav.rollout(hover, steps=30)
    fleet.step(hover, substeps=30)
    uav.reset()
    fleet.reset()
    assert (uav.time, uav.steps) == (0.0, 30)
    assert uav.steps == fleet.steps
    assert np.array_equal(uav.gyroscope_bias, fleet.gyroscope_bias[0])
    second = uav.rollout(hover, steps=30)
    assert not np.array_equal(first.velocity, second.velocity)
    fleet.step(hover, substeps=30)
    for name, value in vars(uav.state).items():
        found = getattr(fleet.state, name)[0]
        assert np.allclose(found, value, rtol=1e-12, atol=1e-12), name
    reading = fleet.imu.specific_force[0]
    assert np.allclose(reading, uav.imu.specific_force, rtol=1e-12, atol=1e-12)


def test_rollout_equals_a_loop_of_steps(vehicle: pw.VehicleParameters) -> None:
    flown, looped, held = (pw.Multicopter(vehicle, seed=6) for _ in range(3))
    command = commands(vehicle, 50)
    flight = flown.rollout(command, DT, substeps=4)
    assert len(flight) == 50
    for i in range(50):
        for _ in range(4):
            looped.step(row(command, i), DT)
        held.step(row(command, i), DT, substeps=4)
        assert np.array_equal(packed(looped.state), packed(flight)[i])
        assert np.array_equal(looped.rotor_command, flight.rotor_command[i])
        assert np.array_equal(looped.imu.specific_force, flight.specific_force[i])
        assert np.array_equal(looped.imu.angular_rate, flight.angular_rate[i])
        assert looped.time == flight.time[i]
    assert flown.snapshot() == looped.snapshot() == held.snapshot()
    assert flown.steps == 200


def test_one_command_for_all_rows_of_a_rollout() -> None:
    a, b = (pw.Multicopter("penguin", seed=1) for _ in range(2))
    one = a.rollout(pw.RateThrust([0.1, 0.2, 0.3], 10.0), steps=20)
    rows = b.rollout(pw.RateThrust(np.tile([0.1, 0.2, 0.3], (20, 1)), 10.0))
    assert np.array_equal(packed(one), packed(rows))


def copied_by_pickle(uav: pw.Multicopter) -> pw.Multicopter:
    """A copy made with pickle."""
    copied = pickle.loads(pickle.dumps(uav))
    assert isinstance(copied, pw.Multicopter)
    return copied


def copied_by_state(uav: pw.Multicopter) -> pw.Multicopter:
    """A new vehicle with the snapshot restored."""
    fresh = pw.Multicopter(uav.parameters, seed=11, id=3)
    fresh.restore(uav.snapshot())
    return fresh


@pytest.mark.parametrize("copied", [copy.deepcopy, copied_by_pickle, copied_by_state])
def test_a_copy_in_flight_continues_identically(
    vehicle: pw.VehicleParameters, copied: Callable[[pw.Multicopter], pw.Multicopter]
) -> None:
    imu = {"rate": 100.0, "accelerometer_bias_walk": 0.01, "gyroscope_noise_density": 0.01}
    vehicle = vehicle.replace(imu=imu, motor={"command_delay": 0.0123})
    uav = in_flight(pw.Multicopter(vehicle, seed=11, id=3))
    uav.wind, uav.battery_voltage = [1.0, 2.0, 3.0], 4.0
    other = copied(uav)
    assert other.snapshot() == uav.snapshot()
    assert np.array_equal(other.imu.specific_force, uav.imu.specific_force)
    assert np.array_equal(other.wind, uav.wind)
    assert other.battery_voltage == uav.battery_voltage
    command = commands(vehicle, 60)
    a, b = uav.rollout(command), other.rollout(command)
    for name in vars(a):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert uav.snapshot() == other.snapshot()


def test_a_restored_vehicle_repeats_its_flight() -> None:
    uav = in_flight(pw.Multicopter("crazyflie", seed=5))
    snapshot = uav.snapshot()
    command = commands(uav.parameters, 30)
    first = uav.rollout(command)
    uav.restore(snapshot)
    assert np.array_equal(packed(uav.rollout(command)), packed(first))


def test_snapshot_of_another_vehicle_is_refused() -> None:
    uav = in_flight(pw.Multicopter("hexacopter"))
    before = uav.snapshot()
    older = before.replace(b" format 2 ", b" format 1 ")
    others = (pw.Multicopter("flightgoggles").snapshot(), b"", before[:-1], before + b"\0", older)
    for other in others:
        with pytest.raises(ValueError, match="snapshot: expected"):
            uav.restore(other)
    assert uav.snapshot() == before


def test_setting_the_state_keeps_time_and_internal_states() -> None:
    uav = in_flight(pw.Multicopter("flightgoggles", seed=8))
    time, bias = uav.time, uav.gyroscope_bias
    start = uav.trim()
    start.position = np.array([5.0, 6.0, 7.0])
    uav.set_state(start)
    assert np.array_equal(uav.position, [5.0, 6.0, 7.0])
    assert uav.time == time
    assert np.array_equal(uav.gyroscope_bias, bias)


def test_returned_arrays_are_copies() -> None:
    uav = in_flight(pw.Multicopter("flightgoggles"))
    before = uav.snapshot()
    arrays: list[Array] = [uav.position, uav.attitude, uav.rotor_speeds, uav.rotor_command]
    arrays += [uav.wind, uav.imu.specific_force, np.asarray(uav.state.velocity)]
    for array in arrays:
        array[:] = 77.0
    assert uav.snapshot() == before


def test_the_rate_loop_equals_the_rate_controller() -> None:
    """RateController receives the IMU reading of the previous step."""
    for noise in (False, True):
        uav, other = (pw.Multicopter("flightgoggles", seed=4, noise=noise) for _ in range(2))
        controller = pw.RateController("flightgoggles", DT)
        command = commands(uav.parameters, 50)
        for i in range(50):
            speeds = controller.update(other.imu.angular_rate, row(command, i)).speeds
            other.step(pw.RotorSpeeds(speeds), DT)
            uav.step(row(command, i), DT)
            assert np.array_equal(uav.rotor_command, speeds)
        assert np.array_equal(packed(uav.state), packed(other.state))


@pytest.mark.parametrize("integrator", ["euler", "symplectic_euler"])
def test_step_beyond_the_motor_time_constant_warns(
    integrator: pw.vehicle.Integrator,
) -> None:
    uav = pw.Multicopter("flightgoggles", integrator=integrator)
    command = pw.RotorSpeeds([1000.0] * 4)
    tau = uav.parameters.motor_values("time_constant_up")[0]
    uav.step(command, dt=0.99 * tau)
    before = uav.snapshot()
    too_long = 1.01 * tau
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(RuntimeWarning, match=r"dt = 0\.0202 s is larger than 0\.02 s"):
                uav.step(command, dt=too_long)
            with pytest.raises(RuntimeWarning, match="motor time constant"):
                uav.rollout(command, dt=too_long, steps=3)
    assert uav.snapshot() == before
    with pytest.warns(RuntimeWarning, match="dt = "):
        uav.step(command, dt=too_long)
    assert uav.snapshot() != before
    uav.step(command, dt=too_long)  # warns once for each dt


def test_rk4_allows_longer_steps() -> None:
    uav = pw.Multicopter("flightgoggles", integrator="rk4")
    tau = uav.parameters.motor_values("time_constant_up")[0]
    uav.step(pw.RotorSpeeds([1000.0] * 4), dt=2.7 * tau)
    with pytest.warns(RuntimeWarning, match="dt = "):
        uav.step(pw.RotorSpeeds([1000.0] * 4), dt=2.8 * tau)


def test_an_uncontrollable_vehicle_accepts_only_rotor_speeds() -> None:
    quadcopter = pw.vehicles.load("flightgoggles")
    rotor = quadcopter.rotors[0].replace(thrust_coefficient=1e-5)
    vehicle = quadcopter.replace(rotors=(rotor, rotor.replace(spin=-1)))
    uav = pw.Multicopter(vehicle)
    uav.step(pw.RotorSpeeds([1000.0, 1000.0]))
    before = uav.snapshot()
    with pytest.raises(pw.ParameterError, match=r"rank of the allocation .* = \d: expected 4"):
        uav.step(pw.RateThrust([0.0, 0.0, 0.0], 9.81))
    assert uav.snapshot() == before


def test_repr_describes_the_vehicle() -> None:
    uav = pw.Multicopter("penguin", seed=3, id=2)
    assert repr(uav).startswith("Multicopter('penguin', integrator='rk4', seed=3, id=2, noise=True")


class Subclass(pw.Multicopter):
    """A subclass defined by a user."""


def test_copies_keep_class_and_attributes() -> None:
    uav = Subclass("blackbird", seed=3)
    uav.step(pw.RateThrust([0.1, 0.2, 0.3], thrust=9.0), substeps=10)
    vars(uav)["label"] = "mine"
    for twin in (copy.deepcopy(uav), pickle.loads(pickle.dumps(uav))):
        assert type(twin) is Subclass
        assert vars(twin)["label"] == "mine"
        assert twin.snapshot() == uav.snapshot()


def test_errors_name_the_file_of_a_vehicle_that_cannot_hover(tmp_path: Path) -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    shifted = [
        rotor.replace(position=(rotor.position[0] + 0.3, *rotor.position[1:]))
        for rotor in vehicle.rotors
    ]
    with pytest.raises(pw.ParameterError, match="between the rotors"):
        pw.Multicopter(vehicle.replace(rotors=shifted))
    path = tmp_path / "shifted.toml"
    path.write_text(vehicle.replace(rotors=shifted).to_toml())
    with pytest.raises(pw.ParameterError, match=r"shifted\.toml: .*torque"):
        pw.Multicopter(path)
