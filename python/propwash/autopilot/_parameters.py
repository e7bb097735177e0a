"""Parameters of PX4, ArduPilot and Betaflight for a vehicle (docs/autopilot.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from propwash.autopilot._firmware import (
    BETAFLIGHT_FILTERS,
    SPIN_MIN,
    FirmwareLoop,
    levers,
    significant,
)
from propwash.vehicle import VehicleParameters

_MAX_BETAFLIGHT = 250
_PX4_INTEGERS = ("CA_ROTOR_COUNT", "CBRK_SUPPLY_CHK", "SYS_HITL", "HIL_ACT_FUNC")
"""Beginnings of the names of parameters that are integers."""
_INTEGER, _REAL = 6, 9
"""MAV_PARAM_TYPE_INT32 and _REAL32."""


def ardupilot_parameters(vehicle: VehicleParameters, own_spins: bool = False) -> dict[str, float]:
    """The parameters with which ArduCopter flies a vehicle, by name.

    own_spins: whether the rotors keep the spins of the vehicle (`Simulation`). Raises ValueError
    for a vehicle that is no quad-x, or without torque about its rotors' axes.
    """
    return firmware_parameters(FirmwareLoop("ardupilot", vehicle, own_spins))


def px4_parameters(vehicle: VehicleParameters, own_spins: bool = False) -> dict[str, float]:
    """The parameters with which PX4 flies a vehicle, by name; as `ardupilot_parameters`."""
    return firmware_parameters(FirmwareLoop("px4", vehicle, own_spins))


def px4_hil_parameters(motors: int = 4) -> dict[str, float]:
    """The parameters with which PX4 runs with hardware in the loop, beside those of a vehicle."""
    outputs = {f"HIL_ACT_FUNC{k + 1}": 101.0 + k for k in range(motors)}
    return {"SYS_HITL": 1.0, "CBRK_SUPPLY_CHK": 894281.0, **outputs}


def firmware_parameters(loop: FirmwareLoop) -> dict[str, float]:
    """The parameters of a program, by name: its gains, and what it needs to know of the vehicle.

    Raises ValueError for gains beyond the range of the program.
    """
    make = {"px4": _px4, "ardupilot": _ardupilot, "betaflight": _betaflight}[loop.program]
    return {name: float(significant(value)) for name, value in make(loop).items()}


def settings_file(loop: FirmwareLoop, others: Mapping[str, float] | None = None) -> tuple[str, str]:
    """The suffix and the text of a file of these parameters, and others, for a ground station.

    `.params` of QGroundControl, `.parm` of Mission Planner and MAVProxy, `.txt` with lines for the
    command line of Betaflight.
    """
    parameters = {**firmware_parameters(loop), **(others or {})}
    if loop.program == "px4":
        rows = (
            f"1\t1\t{name}\t{value:.10g}\t{_INTEGER if name.startswith(_PX4_INTEGERS) else _REAL}\n"
            for name, value in parameters.items()
        )
        return ".params", "# Vehicle-Id Component-Id Name Value Type\n" + "".join(rows)
    if loop.program == "ardupilot":
        return ".parm", "".join(f"{name} {value:.10g}\n" for name, value in parameters.items())
    return ".txt", betaflight_lines(parameters)


def betaflight_lines(parameters: Mapping[str, float]) -> str:
    """The parameters as lines of Betaflight's command line, for the first profile."""
    lines = "".join(f"set {name} = {value:g}\n" for name, value in parameters.items())
    return "profile 0\nset simplified_pids_mode = OFF\n" + lines


def _ardupilot(loop: FirmwareLoop) -> dict[str, float]:
    parameters: dict[str, float] = {"FRAME_CLASS": 1, "FRAME_TYPE": 1}  # quadcopter, X
    if loop.motor_map.reversed:
        # X with reversed spins has the motors in the order RR FR RL FL: outputs in that of X
        parameters["FRAME_TYPE"] = 18
        parameters |= {f"SERVO{k}_FUNCTION": 32 + motor for k, motor in enumerate((2, 3, 4, 1), 1)}
    parameters |= {
        "MOT_THST_EXPO": 0,  # an output is a fraction of the maximum thrust
        "MOT_SPIN_ARM": 0.01,
        "MOT_SPIN_MIN": SPIN_MIN,
        "MOT_SPIN_MAX": 1,
        "MOT_BAT_VOLT_MAX": 0,  # no compensation of the battery's voltage
        "MOT_THST_HOVER": _hover(loop.vehicle, 0.125, 0.6875),
    }
    for axis, name in enumerate(("RLL", "PIT", "YAW")):
        parameters |= _named(f"ATC_RAT_{name}_{{}}", "PID", loop.numbers[axis])
        parameters[f"ATC_ANG_{name}_P"] = loop.attitude_gain(axis)
    return parameters


def _px4(loop: FirmwareLoop) -> dict[str, float]:
    hover = _hover(loop.vehicle, 0.1, 0.8)
    parameters: dict[str, float] = {
        "THR_MDL_FAC": 0,  # an output is a fraction of the maximum thrust
        "MPC_THR_HOVER": hover,
        "MPC_THR_MIN": min(0.12, 0.5 * hover),
        "CA_ROTOR_COUNT": len(loop.vehicle.rotors),
    }
    arms = levers(loop.vehicle)
    # PX4 does not control an axis on which no rotor has a coefficient above 0.05; it uses ratios
    coefficient = max(6.5, 0.1 / float(np.abs(arms).max(axis=0).min()))
    for rotor, motor in sorted(enumerate(loop.motor_map.order), key=lambda pair: pair[1]):
        roll, pitch, yaw = arms[rotor]
        parameters |= {
            f"CA_ROTOR{motor}_CT": coefficient,
            f"CA_ROTOR{motor}_PX": -pitch,
            f"CA_ROTOR{motor}_PY": -roll,
            f"CA_ROTOR{motor}_KM": -yaw,  # positive: counter-clockwise from above
        }
    for axis, name in enumerate(("ROLL", "PITCH", "YAW")):
        parameters |= _named(f"MC_{name}RATE_{{}}", "PID", loop.numbers[axis])
        parameters[f"MC_{name}_P"] = loop.attitude_gain(axis)
    return parameters


def _betaflight(loop: FirmwareLoop) -> dict[str, float]:
    if loop.numbers.max() > _MAX_BETAFLIGHT:
        raise ValueError(
            f"vehicle {loop.vehicle.name!r}: expected gains of at most {_MAX_BETAFLIGHT}, as "
            f"Betaflight has them, got {loop.numbers.max():g}; lower the bandwidth"
        )
    parameters: dict[str, float] = {}
    for axis, name in enumerate(("roll", "pitch", "yaw")):
        parameters |= _named("{}_" + name, "pid", loop.numbers[axis])
        parameters |= {f"f_{name}": 0, f"d_max_{name}": 0}  # neither a feedforward nor a second D
    tilt = min(loop.attitude_gain(0), loop.attitude_gain(1))
    return parameters | BETAFLIGHT_FILTERS | {"angle_p_gain": round(10.0 * tilt)}


def _named(pattern: str, letters: str, values: Iterable[float]) -> dict[str, float]:
    return {pattern.format(k): float(value) for k, value in zip(letters, values, strict=True)}


def _hover(vehicle: VehicleParameters, low: float, high: float) -> float:
    """The output of hover, within the range of the parameter."""
    return min(max(vehicle.weight / vehicle.max_thrust, low), high)
