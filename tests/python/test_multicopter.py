"""One multicopter: laws of flight, reproducibility, snapshots, wind, battery, IMU rate."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS, Array, in_flight, tilted_hexacopter
from plain_model import packed
from propwash._rotation import rotation

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
    # blow-back and flapping increase with speed while the vehicle is tilted
    vehicle = uav.parameters.replace(rotor_drag={"blow_back": 0.0}, inflow={"flapping": 0.0})
    uav = pw.Multicopter(vehicle, noise=False)
    uav.step(pw.RateThrust([0.4, -0.3, 0.2], weight), substeps=1920)
    assert np.allclose(uav.body_rates, [0.4, -0.3, 0.2], rtol=0, atol=0.05)


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


def test_snapshot_of_another_vehicle_is_refused() -> None:
    uav = in_flight(pw.Multicopter("hexacopter"))
    before = uav.snapshot()
    older = re.sub(rb" format \d+ ", b" format 1 ", before)
    assert older != before
    others = (pw.Multicopter("flightgoggles").snapshot(), b"", before[:-1], before + b"\0", older)
    for other in others:
        with pytest.raises(ValueError, match="snapshot: expected"):
            uav.restore(other)
    assert uav.snapshot() == before


def test_returned_arrays_are_copies() -> None:
    uav = in_flight(pw.Multicopter("flightgoggles"))
    before = uav.snapshot()
    arrays: list[Array] = [uav.position, uav.attitude, uav.rotor_speeds, uav.rotor_command]
    arrays += [uav.wind, uav.imu.specific_force, np.asarray(uav.state.velocity)]
    for array in arrays:
        array[:] = 77.0
    assert uav.snapshot() == before


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


@pytest.mark.parametrize("vehicle", ["flightgoggles", "hexacopter", "penguin"])
@pytest.mark.parametrize("noise", [True, False])
def test_gusts_are_those_of_a_fleet_of_one(vehicle: str, noise: bool) -> None:
    air = pw.Dryden(wind_speed_6m=8.0, altitude=10.0, airspeed=8.0, heading=0.7)
    uav = pw.Multicopter(vehicle, seed=3, id=5, noise=noise, turbulence=air)
    calm = pw.Multicopter(vehicle, seed=3, id=5, noise=noise)
    fleet = pw.Fleet(vehicle, 1, "float64", seed=3, first_id=5, noise=noise, turbulence=air)
    command = pw.RateThrust([0.1, -0.2, 0.3], thrust=uav.parameters.weight)
    fleet.set_wind([3.0, 1.0, 0.0])
    fleet.step(command, substeps=960)
    for one in (uav, calm):
        one.wind = [3.0, 1.0, 0.0]
        one.step(command, substeps=960)
    assert uav.turbulence == air
    np.testing.assert_allclose(uav.state.velocity, fleet.velocity[0], rtol=1e-9)
    np.testing.assert_allclose(uav.imu.specific_force, fleet.imu.specific_force[0], rtol=1e-8)
    assert np.linalg.norm(uav.state.velocity - calm.state.velocity) > 0.01


def test_gusts_continue_from_a_snapshot_and_restart_with_a_seed() -> None:
    air = pw.Dryden(wind_speed_6m=8.0, altitude=10.0, airspeed=8.0)
    uav = pw.Multicopter(seed=1, turbulence=air)
    command = pw.RateThrust([0.0, 0.0, 0.0], thrust=uav.parameters.weight)
    start = uav.snapshot()
    uav.step(command, substeps=300)
    middle, copied = uav.snapshot(), pickle.loads(pickle.dumps(uav))
    uav.step(command, substeps=300)
    end = uav.snapshot()
    uav.restore(middle)
    for one in (uav, copied):
        one.step(command, substeps=300)
        assert one.snapshot() == end
    uav.reset(seed=1)
    assert uav.snapshot() == start
    for other in (None, pw.Dryden(7.0, altitude=10.0, airspeed=8.0)):
        with pytest.raises(ValueError, match="the same parameters, control vehicle and turbulence"):
            pw.Multicopter(seed=1, turbulence=other).restore(start)


def test_the_derivative_and_the_reading_are_those_of_the_present_air() -> None:
    """Without noise, the accelerometer measures the acceleration minus gravity."""
    uav = pw.Multicopter(
        "hexacopter", noise=False, turbulence=pw.Dryden(9.0, altitude=10.0, airspeed=8.0)
    )
    uav.step(pw.RateThrust([0.3, 0.2, 0.1], thrust=20.0), substeps=200)
    force_W = uav.derivative().velocity - uav.parameters.body.gravity
    force_B = rotation(uav.state.attitude).T @ force_W
    np.testing.assert_allclose(force_B, uav.imu.specific_force, atol=1e-9)
