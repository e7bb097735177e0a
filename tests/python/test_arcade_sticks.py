"""The sticks of the arcade: rates, thrust, and the motion that they command."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from propwash import _rotation
from propwash.__main__ import main
from propwash.arcade import MODES, Mode, StickMap, StickRates, Sticks
from propwash.arcade._sticks import MAX_CLIMB, MAX_SPEED, MAX_TILT, MAX_YAW_RATE
from propwash.vehicle import files as vehicles

Array = NDArray[np.float64]

unit = st.floats(0.0, 1.0)
deflections = st.floats(-1.0, 1.0)


def heading(attitude: Array) -> float:
    axis = _rotation.rotation(attitude)[:, 0]
    return math.atan2(axis[1], axis[0])


def flown(
    sticks: Sticks,
    mode: Mode,
    seconds: float,
    *,
    vehicle: str = "flightgoggles",
    yaw: float = 0.0,
    uav: pw.Multicopter | None = None,
    sticks_map: StickMap | None = None,
) -> pw.Multicopter:
    """A vehicle that flew with constant sticks, from hover at this yaw [rad] without `uav`."""
    if uav is None:
        uav = pw.Multicopter(vehicle, noise=False)
        uav.reset(position=(0.0, 0.0, 50.0), attitude=_rotation.about_z(yaw))
    sticks_map = sticks_map or StickMap(vehicle)
    for _ in range(round(240 * seconds)):
        command = sticks_map.command(sticks, mode, uav.state)
        assert command is not None
        uav.step(command, substeps=4)
    return uav


@pytest.mark.parametrize(
    "changes", [{"roll": 1.01}, {"pitch": -2.0}, {"yaw": math.nan}, {"throttle": -0.1}]
)
def test_sticks_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sticks: expected roll, pitch and yaw from -1 to 1"):
        Sticks(**changes)


@given(unit, unit, st.floats(0.01, 2.55), st.floats(0.0, 0.99))
def test_rates_are_odd_increasing_and_limited(
    a: float, b: float, rc_rate: float, super_rate: float
) -> None:
    rates = StickRates((rc_rate,) * 3, (super_rate,) * 3, (0.3,) * 3)
    low, high = sorted((a, b))
    small, large = rates.of(Sticks(roll=low))[0], rates.of(Sticks(roll=high))[0]
    assert 0.0 <= small <= large <= 1998.0
    assert rates.of(Sticks(-low, -low, -low)) == (-small, -small, -small)


@given(st.floats(0.01, 2.0), unit, unit)
def test_the_rate_at_the_centre_and_at_full_deflection(
    rc_rate: float, super_rate: float, expo: float
) -> None:
    rates = StickRates((rc_rate,) * 3, (super_rate,) * 3, (expo,) * 3)
    slope = rates.of(Sticks(pitch=1e-7))[1] / 1e-7
    assert slope == pytest.approx(200.0 * rc_rate * (1.0 - expo), rel=1e-5, abs=1e-3)
    # expo does not change the rate at full deflection
    full = min(200.0 * rc_rate / max(1.0 - super_rate, 0.01), 1998.0)
    assert rates.max_rates == pytest.approx((full,) * 3)


def test_the_rates_that_betaflight_states() -> None:
    """Its configurator displays 667 deg/s for its defaults, 1.0, 0.70 and 0."""
    assert [round(rate) for rate in StickRates().max_rates] == [667, 667, 667]
    # above an rc_rate of 2 the gain grows 15.54 times as fast
    gains = [StickRates((x,) * 3, (0.0,) * 3).max_rates[0] for x in (1.99, 2.0, 2.01)]
    assert (gains[2] - gains[1]) / (gains[1] - gains[0]) == pytest.approx(15.54)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rc_rate": (1.0, 3.0, 1.0)}, "rc_rate.*from 0.01 to 2.55.*3"),
        ({"expo": (0.0, 0.0, 1.5)}, "expo.*from 0 to 1.*1.5"),
        ({"super_rate": (0.7, 0.7)}, "super_rate.*3"),
        ({"expo": (math.nan, 0.0, 0.0)}, "expo"),
    ],
)
def test_rates_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StickRates(**changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1,0.7", "expected three numbers"), ("a,b,c", "'a'"), ("1,0.7,1.4", "expo: expected from 0")],
)
def test_the_command_refuses_invalid_rates(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["arcade", "--rates", text])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("vehicle", MULTICOPTERS)
def test_the_throttle_hovers_at_its_centre(vehicle: str) -> None:
    sticks, parameters = StickMap(vehicle), vehicles.load(vehicle)
    thrusts = [sticks.thrust(x) for x in np.linspace(0.0, 1.0, 101)]
    assert thrusts[0] == 0.0
    assert thrusts[50] == pytest.approx(parameters.weight, rel=1e-12)
    assert thrusts[100] == pytest.approx(parameters.max_thrust, rel=1e-12)
    assert np.all(np.diff(thrusts) > 0.0)


@pytest.mark.parametrize("yaw", [0.0, 2.0, -2.6])
@pytest.mark.parametrize("mode", MODES)
def test_the_vehicle_moves_as_the_sticks(mode: Mode, yaw: float) -> None:
    """Right stick to the right: right, forwards: forwards; left stick up: up, right: clockwise."""
    size = 0.1 if mode == "acro" else 0.4  # a rate held for half a second is a tilt
    forward = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    right = np.array([math.sin(yaw), -math.cos(yaw), 0.0])
    for sign in (1.0, -1.0):
        moved = flown(Sticks(roll=sign * size, throttle=0.5), mode, 0.6, yaw=yaw).velocity
        assert sign * moved @ right > 0.3
        assert abs(moved @ forward) < 0.05
        moved = flown(Sticks(pitch=sign * size, throttle=0.5), mode, 0.6, yaw=yaw).velocity
        assert sign * moved @ forward > 0.3
        assert abs(moved @ right) < 0.05
        moved = flown(Sticks(throttle=0.5 + 0.2 * sign), mode, 0.6, yaw=yaw).velocity
        assert sign * moved[2] > 0.3
        uav = flown(Sticks(yaw=sign * 0.3, throttle=0.5), mode, 0.6, yaw=yaw)
        turned = math.remainder(heading(uav.attitude) - yaw, 2.0 * math.pi)
        assert -sign * turned > 0.15
        assert np.linalg.norm(uav.velocity[:2]) < 0.05


@pytest.mark.parametrize("axis", ["roll", "pitch", "yaw"])
def test_acro_reaches_the_commanded_rate(axis: str) -> None:
    sticks = Sticks(**{axis: 0.5}, throttle=0.6)
    uav = flown(sticks, "acro", 4.0)  # the integral removes the error of drag
    index = ("roll", "pitch", "yaw").index(axis)
    desired = np.zeros(3)
    desired[index] = math.radians(StickRates().of(sticks)[index]) * (-1.0 if index == 2 else 1.0)
    np.testing.assert_allclose(uav.body_rates, desired, atol=0.05 * abs(desired[index]))


@pytest.mark.parametrize(
    ("roll", "pitch", "tilt"),
    [(1.0, 0.0, 1.0), (0.0, -0.5, 0.5), (0.3, 0.4, 0.5), (-1.0, 1.0, 1.0)],
)
def test_angle_reaches_a_tilt_proportional_to_the_stick(
    roll: float, pitch: float, tilt: float
) -> None:
    """Of 55 degrees at full deflection, also diagonally, in the direction of the stick."""
    uav = flown(Sticks(roll, pitch, throttle=0.6), "angle", 1.0, yaw=0.7)
    axis = _rotation.rotation(uav.attitude)[:, 2]
    assert math.acos(axis[2]) == pytest.approx(tilt * MAX_TILT, abs=math.radians(1.5))
    yaw = _rotation.heading(uav.attitude)
    forward, left = (
        axis[:2] @ [math.cos(yaw), math.sin(yaw)],
        axis[:2] @ [-math.sin(yaw), math.cos(yaw)],
    )
    assert np.array([forward, -left]) @ [-roll, pitch] == pytest.approx(0.0, abs=0.02)
    assert np.array([forward, -left]) @ [pitch, roll] > 0.0
    assert yaw == pytest.approx(0.7, abs=0.1)  # rotors at their limits disturb it


@given(st.floats(-3.1, 3.1), st.floats(-3.1, 3.1), st.floats(0.0, 3.0))
def test_the_heading_does_not_depend_on_the_tilt(yaw: float, direction: float, tilt: float) -> None:
    x, y = math.sin(0.5 * tilt) * math.cos(direction), math.sin(0.5 * tilt) * math.sin(direction)
    attitude = _rotation.product(_rotation.about_z(yaw), (math.cos(0.5 * tilt), x, y, 0.0))
    assert _rotation.heading(attitude) == pytest.approx(yaw, abs=1e-9)


def test_angle_rotates_at_a_tilt() -> None:
    """The tilt remains in the direction of the stick while the heading changes."""
    uav = flown(Sticks(pitch=0.3, yaw=0.4, throttle=0.55), "angle", 2.0)
    axes = _rotation.rotation(uav.attitude)
    yaw = heading(uav.attitude)
    assert uav.body_rates[2] == pytest.approx(
        -math.radians(StickRates().of(Sticks(yaw=0.4))[2]), rel=0.05
    )
    assert axes[:2, 2] @ [math.cos(yaw), math.sin(yaw)] > 0.8 * math.sin(0.3 * MAX_TILT)


@pytest.mark.parametrize("vehicle", MULTICOPTERS)
def test_assisted_reaches_the_commanded_velocity(vehicle: str) -> None:
    yaw = 1.1
    forward, right = (
        np.array([math.cos(yaw), math.sin(yaw)]),
        np.array([math.sin(yaw), -math.cos(yaw)]),
    )
    uav = flown(Sticks(1.0, 1.0, throttle=0.5), "assisted", 12.0, vehicle=vehicle, yaw=yaw)
    diagonal = MAX_SPEED / math.sqrt(2.0) * (forward + right)
    np.testing.assert_allclose(uav.velocity[:2], diagonal, atol=0.08 * MAX_SPEED)
    uav = flown(Sticks(throttle=1.0), "assisted", 12.0, vehicle=vehicle)
    assert uav.velocity[2] == pytest.approx(MAX_CLIMB, rel=0.05)
    uav = flown(Sticks(yaw=0.1, throttle=0.5), "assisted", 3.0, vehicle=vehicle)
    assert uav.body_rates[2] == pytest.approx(-0.1 * MAX_YAW_RATE, rel=0.05)


def test_assisted_with_centred_sticks_returns_after_a_push() -> None:
    sticks, centred = StickMap("flightgoggles"), Sticks(throttle=0.5)
    uav = flown(Sticks(pitch=0.8, throttle=0.7), "assisted", 2.0, sticks_map=sticks)
    flown(centred, "assisted", 6.0, uav=uav, sticks_map=sticks)
    held = uav.position
    uav.set_external_wrench((3.0, -2.0, 1.0))
    flown(centred, "assisted", 1.0, uav=uav, sticks_map=sticks)
    assert np.linalg.norm(uav.position - held) > 0.3
    uav.set_external_wrench((0.0, 0.0, 0.0))
    flown(centred, "assisted", 15.0, uav=uav, sticks_map=sticks)
    assert np.linalg.norm(uav.position - held) < 0.05
    # a new stick releases it
    flown(Sticks(roll=0.5, throttle=0.5), "assisted", 2.0, uav=uav, sticks_map=sticks)
    assert np.linalg.norm(uav.position - held) > 2.0


def test_assisted_mode_recovers_from_acro() -> None:
    sticks = StickMap("flightgoggles")
    uav = flown(Sticks(roll=0.6, pitch=0.4, throttle=0.7), "acro", 0.8, sticks_map=sticks)
    assert np.linalg.norm(uav.body_rates) > 2.0
    flown(Sticks(throttle=0.5), "assisted", 6.0, uav=uav, sticks_map=sticks)
    assert np.linalg.norm(uav.velocity) < 0.2


def test_motors_stop_on_the_ground_only() -> None:
    sticks, state = StickMap("flightgoggles"), pw.Multicopter().state
    for mode in MODES:
        idle = 0.5 if mode == "assisted" else 0.0
        assert sticks.command(Sticks(throttle=idle), mode, state, on_ground=True) is None
        assert sticks.command(Sticks(throttle=idle), mode, state) is not None
        assert sticks.command(Sticks(throttle=idle + 0.1), mode, state, on_ground=True) is not None
