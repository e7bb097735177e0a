"""Parameters of PX4 and ArduPilot for a vehicle, judged by flights with the programs' loops."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from propwash import vehicles
from propwash.autopilot import (
    QUAD_X,
    ArduPilot,
    Loop,
    OscillationMonitor,
    Px4,
    Simulation,
    ardupilot_parameters,
    px4_parameters,
)
from propwash.cli.main import main
from propwash.vehicle import VehicleParameters

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_peers import ArduPilotPeer, Px4Peer, Wire

QUADS = ("flightgoggles", "blackbird", "crazyflie", "penguin")
PARAMETERS: dict[str, Callable[..., dict[str, float]]] = {
    "px4": px4_parameters,
    "ardupilot": ardupilot_parameters,
}


def flown(
    program: str, vehicle: VehicleParameters, parameters: Mapping[str, float], own_spins: bool
) -> tuple[Any, list[str]]:
    """The peer after a flight with the loops of the program, and messages of the monitor."""
    simulation = Simulation(vehicle, QUAD_X[program], own_spins=own_spins, seed=1)
    hover = vehicle.weight / vehicle.max_thrust
    options: dict[str, Any] = {"lockstep": True, "rate": None}
    peer: Any
    if program == "px4":
        simulation.period = 0.004
        peer = Px4Peer(parameters=parameters, hover=hover)
        loop = Loop(simulation, Px4(seed=1), Wire(peer, b"", peer.hello()), **options)
    else:
        peer = ArduPilotPeer(400, parameters=parameters, hover=hover)
        loop = Loop(simulation, ArduPilot(), Wire(peer, peer.frame()), **options)
    reports: list[str] = []
    end = peer.pilot.HOLD[1] + 0.1
    loop.run(OscillationMonitor(simulation, lambda s: s.time < end, reports.append, "advice"))
    return peer, reports


@pytest.mark.parametrize("program", ["px4", "ardupilot"])
@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie"])
def test_vehicles_fly_without_oscillation(program: str, name: str) -> None:
    vehicle = vehicles.load(name)
    peer, reports = flown(program, vehicle, PARAMETERS[program](vehicle), False)
    assert not peer.errors
    assert not peer.pilot.verdicts()
    assert not reports
    _, place, _ = peer.path[-1]
    assert place == pytest.approx([0.0, 0.0, -3.0], abs=0.6)


@pytest.mark.parametrize("program", ["px4", "ardupilot"])
def test_default_gains_oscillate_with_ten_times_the_torque(program: str) -> None:
    peer, reports = flown(program, vehicles.load("flightgoggles"), {}, False)
    assert set(peer.pilot.verdicts()) == {"yaw rate oscillates", "outputs saturate"}
    (report,) = reports
    assert "yaw rate ±" in report
    assert report.endswith("; advice")


def test_gains_of_yaw_follow_the_authority() -> None:
    """Measured with ArduCopter 4.6.3: the default 0.18 oscillates, 0.03 and 0.002 fly."""
    vehicle = vehicles.load("flightgoggles")
    own = ardupilot_parameters(vehicle)
    assert own["ATC_RAT_YAW_P"] == pytest.approx(0.03, rel=0.25)
    assert own["ATC_RAT_YAW_I"] == pytest.approx(0.002, rel=0.5)
    usual = vehicle.replace(
        rotors=tuple(
            r.replace(torque_coefficient=0.1 * r.torque_coefficient, inertia=0.1 * r.inertia)
            for r in vehicle.rotors
        )
    )
    light = vehicle.replace(body={"inertia": (0.0049, 0.0049, 0.00345)})
    for program, name in (("ardupilot", "ATC_RAT_YAW_P"), ("px4", "MC_YAWRATE_P")):
        gain = PARAMETERS[program](vehicle)[name]
        assert PARAMETERS[program](usual)[name] == pytest.approx(10.0 * gain, rel=1e-3)
        assert PARAMETERS[program](light)[name] == pytest.approx(0.5 * gain, rel=1e-3)
    # another axis, the same: twice the thrust, half the gain
    strong = vehicle.replace(motor={"speed_max": 2200.0 * 2.0**0.5})
    assert px4_parameters(strong)["MC_ROLLRATE_P"] == pytest.approx(
        0.5 * px4_parameters(vehicle)["MC_ROLLRATE_P"], rel=1e-3
    )


def test_slow_motors_get_slow_loops() -> None:
    vehicle = vehicles.load("blackbird")
    slow = vehicle.replace(motor={"command_delay": 0.05})
    for program, rate, attitude in (
        ("ardupilot", "ATC_RAT_RLL_P", "ATC_ANG_RLL_P"),
        ("px4", "MC_ROLLRATE_P", "MC_ROLL_P"),
    ):
        before, after = PARAMETERS[program](vehicle), PARAMETERS[program](slow)
        assert after[rate] < 0.5 * before[rate]
        assert after[attitude] < before[attitude]


@pytest.mark.parametrize("own_spins", [False, True])
@pytest.mark.parametrize("name", QUADS)
def test_px4_gets_the_geometry_and_the_spins_that_are_simulated(name: str, own_spins: bool) -> None:
    simulation = Simulation(name, QUAD_X["px4"], own_spins=own_spins)
    parameters = px4_parameters(vehicles.load(name), own_spins)
    assert parameters["CA_ROTOR_COUNT"] == 4
    for rotor, motor in zip(simulation.parameters.rotors, simulation.motor_map.order, strict=True):
        x, y, _ = rotor.position
        ratio = rotor.torque_coefficient / rotor.thrust_coefficient
        expected = {"PX": x, "PY": -y, "KM": rotor.spin * ratio}
        for key, value in expected.items():
            assert parameters[f"CA_ROTOR{motor}_{key}"] == pytest.approx(value, rel=1e-3)
    vehicle = vehicles.load(name)
    assert parameters["MPC_THR_HOVER"] == pytest.approx(
        vehicle.weight / vehicle.max_thrust, rel=1e-3
    )


def test_ardupilot_gets_a_frame_with_the_spins_of_the_vehicle() -> None:
    """FRAME_TYPE 18 has motors 1 to 4 rear right, front right, rear left, front left, reversed."""
    vehicle = vehicles.load("flightgoggles")
    assert ardupilot_parameters(vehicle)["FRAME_TYPE"] == 1
    own = ardupilot_parameters(vehicle, own_spins=True)
    assert own["FRAME_TYPE"] == 18
    corners = {33: "RR", 34: "FR", 35: "RL", 36: "FL"}
    channels = [corners[int(own[f"SERVO{channel}_FUNCTION"])] for channel in (1, 2, 3, 4)]
    assert channels == ["FR", "RL", "FL", "RR"]


def test_vehicle_without_torque_of_its_rotors_is_refused() -> None:
    vehicle = vehicles.load("flightgoggles")
    bare = vehicle.replace(rotors=tuple(r.replace(torque_coefficient=0.0) for r in vehicle.rotors))
    with pytest.raises(
        ValueError, match=r"'flightgoggles', rotor.torque_coefficient: expected > 0"
    ):
        px4_parameters(bare)


def test_commands_write_the_parameters_and_name_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for program, name in (("px4", "vehicle.sh"), ("ardupilot", "vehicle.parm")):
        folder = tmp_path / program
        options = ["--folder", str(folder), "--vehicle", "crazyflie"]
        assert main(["autopilot", program, "--config", *options]) == 0
        printed = capsys.readouterr().out
        assert not folder.exists()
        assert main(["autopilot", program, "--port", "0", "--duration", "0.05", *options]) == 0
        assert (folder / name).read_text() == printed
        assert str(folder / name) in capsys.readouterr().err
    text = (tmp_path / "ardupilot" / "vehicle.parm").read_text()
    lines = dict(line.split() for line in text.splitlines())
    expected = ardupilot_parameters(vehicles.load("crazyflie"))
    assert {key: float(value) for key, value in lines.items()} == expected


@pytest.mark.skipif(os.name != "posix", reason="PX4's start script needs a shell")
def test_px4_finds_the_parameters_in_its_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PX4's rcS sets each variable PX4_PARAM_NAME as the parameter NAME."""
    assert main(["autopilot", "px4", "--config"]) == 0
    (tmp_path / "vehicle.sh").write_text(capsys.readouterr().out)
    done = subprocess.run(
        ["sh", "-c", ". ./vehicle.sh && env"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    prefix = "PX4_PARAM_"
    found = dict(
        line.removeprefix(prefix).split("=")
        for line in done.stdout.splitlines()
        if line.startswith(prefix)
    )
    expected = px4_parameters(vehicles.load("flightgoggles"))
    assert {name: float(value) for name, value in found.items()} == expected
