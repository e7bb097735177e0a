"""Motor commands of PX4 logs as duty cycles, and the geometry of the motors.

PX4 1.13 and later log `actuator_motors` and the parameters `CA_ROTOR*`. Older ones log pulse widths
in `actuator_outputs`, and the geometry is that of the airframe.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from propwash.logs._layout import PX4_QUAD_X, Layout

Array = NDArray[np.float64]
Topic = dict[str, Array]
Parameters = Mapping[str, float]

COMMANDS = "actuator_motors"
OUTPUTS = "actuator_outputs"
SPEEDS = "esc_status"
_FIRST_MOTOR = 101
"""PX4's output function of motor 1."""
_MAV_TYPES = {2: 4, 13: 6, 14: 8}
"""Numbers of motors of MAVLink's multicopters."""
_MAX_MOTORS = 12
_QUAD_X_AIRFRAMES = range(4000, 5000)


class Unreadable(ValueError):
    """Motor commands that the log does not specify completely; the message says what is missing."""


def with_duty(topics: Mapping[str, Topic], parameters: Parameters) -> dict[str, Topic]:
    """Returns the topics with `actuator_motors:control` in duty cycles.

    PX4 commands a thrust; the duty cycle u of an output follows from thrust = f u^2 + (1 - f) u
    with f = THR_MDL_FAC. NaN, for a disarmed motor, becomes 0.
    """
    if COMMANDS not in topics:
        return dict(topics)
    duty = {
        name: _duty(values, parameters) if name.startswith("control[") else values
        for name, values in topics[COMMANDS].items()
    }
    return {**topics, COMMANDS: duty}


def _duty(command: Array, parameters: Parameters) -> Array:
    thrust = np.nan_to_num(command.astype(np.float64))
    factor = float(parameters.get("THR_MDL_FAC", 0.0))
    if not 0.0 < factor <= 1.0:
        return np.asarray(thrust)
    half = (1.0 - factor) / (2.0 * factor)
    return np.asarray(np.sign(thrust) * (np.sqrt(half**2 + np.abs(thrust) / factor) - half))


def from_outputs(topics: Mapping[str, Topic], parameters: Parameters) -> Topic:
    """Returns a topic with `control[0]` and so on from the pulse widths of an older log.

    Raises Unreadable if the log does not specify their number or range.
    """
    topic = topics[OUTPUTS]
    kind = int(parameters.get("MAV_TYPE", 0))
    count = _MAV_TYPES.get(kind, 0)
    if count == 0 or f"output[{count - 1}]" not in topic:
        raise Unreadable(
            f"expected the outputs of a multicopter, with parameter MAV_TYPE one of "
            f"{', '.join(map(str, _MAV_TYPES))}, got {kind}"
        )
    result = {"timestamp": topic["timestamp"]}
    for k in range(count):
        low, high = (_bound(parameters, bound, k + 1) for bound in ("MIN", "MAX"))
        width = topic[f"output[{k}]"].astype(np.float64)
        if not (low < high and width.max() <= high and (width.max() > 0.5 * low)):
            raise Unreadable(
                f"expected pulse widths up to {low:g} to {high:g} us in {OUTPUTS}:output[{k}], got "
                f"up to {width.max():g}"
            )
        result[f"control[{k}]"] = np.maximum((width - low) / (high - low), 0.0)
    return result


def _bound(parameters: Parameters, bound: str, number: int) -> float:
    names = (f"PWM_MAIN_{bound}{number}", f"PWM_MAIN_{bound}", f"PWM_{bound}")
    for name in names:
        if parameters.get(name, -1) > 0:  # -1: the next one holds
            return float(parameters[name])
    raise Unreadable(f"expected one of the parameters {', '.join(names)}, found none")


def names(topics: Mapping[str, Topic], parameters: Parameters) -> list[str]:
    """Names of the columns of all motors."""
    topic = topics[COMMANDS]
    commands = [name for name in topic if name.startswith("control[")]
    known = int(parameters.get("CA_ROTOR_COUNT", 0))
    used = [name for name in commands if np.any(topic[name])]
    return [f"{COMMANDS}:{name}" for name in (commands[:known] or used)]


def speeds(topics: Mapping[str, Topic], count: int) -> list[str]:
    """Names of the columns of measured rotor speeds [rpm]; none unless each motor has one.

    An ESC drives the motor of its `actuator_function`; without functions the order is the same.
    """
    topic = topics.get(SPEEDS, {})
    rpm = [name for k in range(_MAX_MOTORS) if (name := f"esc[{k}].esc_rpm") in topic]
    functions = [topic.get(name.replace("esc_rpm", "actuator_function"), ()) for name in rpm]
    known = [int(np.max(function, initial=0)) - _FIRST_MOTOR for function in functions]
    places = known if any(motor >= 0 for motor in known) else range(len(rpm))
    motor_of = dict(zip(places, rpm, strict=True))
    used = [motor_of[motor] for motor in range(count) if motor in motor_of]
    complete = 0 < count == len(used) and all(np.any(topic[name]) for name in used)
    return [f"{SPEEDS}:{name}" for name in used] if complete else []


def layout(parameters: Parameters) -> Layout | None:
    """Returns the geometry of the motors, or None if the log does not specify it."""
    count = int(parameters.get("CA_ROTOR_COUNT", 0))
    if count == 0:
        is_quad_x = int(parameters.get("SYS_AUTOSTART", 0)) in _QUAD_X_AIRFRAMES
        return PX4_QUAD_X if is_quad_x else None
    rotors = [f"CA_ROTOR{k}_" for k in range(min(count, _MAX_MOTORS))]
    if any(f"{rotor}{part}" not in parameters for rotor in rotors for part in ("PX", "PY", "KM")):
        return None
    # forward and right become forward and left; a positive moment coefficient is counter-clockwise
    positions = [[parameters[f"{rotor}PX"], -parameters[f"{rotor}PY"]] for rotor in rotors]
    spins = tuple(int(np.sign(parameters[f"{rotor}KM"])) for rotor in rotors)
    return Layout(np.array(positions), spins)
