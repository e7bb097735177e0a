"""Inputs and commands of exported policies: the parts of the C code that depend on the options."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import propwash.gym as pg
from propwash.gym._actions import thrust_range
from propwash.gym.policy import Policy

Floats = NDArray[np.float32]
PREVIEWS = (0.1, 0.2, 0.4)
"""s, learn/impl/track.hpp."""


class Member(NamedTuple):
    """An array of floats in a C struct."""

    name: str
    size: str
    """In brackets, such as "[3][3]"; "" for one number."""
    meaning: str


def struct(members: list[Member]) -> str:
    """The lines of a C struct."""
    return "".join(
        f"  /** {each.meaning} */\n  float {each.name}{each.size};\n" for each in members
    )


def table(members: list[Member]) -> str:
    """A Markdown table of a struct."""
    rows = "".join(f"| `{each.name}{each.size}` | {each.meaning} |\n" for each in members)
    return f"| member | |\n| --- | --- |\n{rows}"


STATE = [
    Member("position", "[3]", "m, world frame"),
    Member("velocity", "[3]", "m/s, world frame"),
    Member("attitude", "[4]", "unit quaternion w, x, y, z from body to world frame"),
    Member("body_rates", "[3]", "rad/s, body frame"),
]


class Inputs(ABC):
    """What the C function receives."""

    function: str
    """C: the function to call in each step."""
    call: str
    """C: a step of the test with row k of the recorded inputs."""

    @abstractmethod
    def read(self, envs: pg.FleetVectorEnv, observation: Any) -> Floats:
        """The inputs of a step in Python, in the order of the C structs."""

    @abstractmethod
    def values(self, common: dict[str, Any]) -> dict[str, str]:
        """The values of the templates."""


class SensorInputs(Inputs):
    """The observation itself, for policies of sensors."""

    def __init__(self, name: str) -> None:
        self.call = f"    status = {name}_act(&policy, INPUT[k]);\n"
        self.function = f"{name}_act"

    def read(self, envs: pg.FleetVectorEnv, observation: Any) -> Floats:
        """The observation."""
        return np.asarray(observation[0], np.float32).copy()

    def values(self, common: dict[str, Any]) -> dict[str, str]:
        """Without functions of the state."""
        name = common["name"]
        return {
            "inputs": '## Observation\n\nThe numbers are the columns of `"sensors"` in '
            "propwash's docs/gym.md, with the history of the environment: readings of the inertial "
            f"sensor, the last action (`{name}_policy.action`), range and beacons.\n",
            "input_structs": "",
            "step_declaration": "",
            "step": "",
            "example": f"if ({name}_act(&policy, observation) == {name.upper()}_OK) {{\n"
            f"  {name}_convert(policy.action, &command);\n}}\n",
            "refusal": "The policy is unchanged, and there is no new command: do not convert the "
            "action",
        }


class StateInputs(Inputs):
    """A state estimate and the goal of the task."""

    def __init__(self, name: str, goal: list[Member], in_body: bool) -> None:
        self.goal, self.in_body = goal, in_body
        self.rotate = "to_body" if in_body else "copy"
        self.function = f"{name}_step"
        self.call = (
            f"    {name}_state state;\n    {name}_goal goal;\n    {name}_command command;\n"
            "    (void)memcpy(&state, &INPUT[k][0], sizeof state);\n"
            "    (void)memcpy(&goal, &INPUT[k][13], sizeof goal);\n"
            f"    status = {name}_step(&policy, &state, &goal, &command);\n"
        )

    def read(self, envs: pg.FleetVectorEnv, observation: Any) -> Floats:
        """The true state, then the goal."""
        state = envs._engine.state
        parts = (state.position, state.velocity, state.attitude, state.body_rates)
        goal = self.goal_of(envs)
        return np.concatenate([*(part[0] for part in parts), *(np.ravel(x) for x in goal)]).astype(
            np.float32
        )

    def goal_of(self, envs: pg.FleetVectorEnv) -> list[Any]:
        """The values of the goal's members."""
        target = envs.task.target(envs._engine.state)
        return [np.zeros(3) if target is None else np.broadcast_to(target, (1, 3))[0]]

    def extras(self) -> str:
        """C: writes the columns after the action, from `first`."""
        return ""

    def values(self, common: dict[str, Any]) -> dict[str, str]:
        """Structs, observation and step."""
        name = common["name"]
        body = (
            "  to[0] = m[0] * v[0] + m[3] * v[1] + m[6] * v[2];\n"
            "  to[1] = m[1] * v[0] + m[4] * v[1] + m[7] * v[2];\n"
            "  to[2] = m[2] * v[0] + m[5] * v[1] + m[8] * v[2];\n"
            if self.in_body
            else "  (void)m;\n  (void)memcpy(to, v, 3U * sizeof(float));\n"
        )
        first = 18 + common["actions"]
        declaration = (
            f"/** Computes the command for a state estimate. */\n{name}_status {name}_step("
            f"{name}_policy *policy, const {name}_state *state, const {name}_goal *goal,\n"
            f"    {name}_command *command);\n\n"
        )
        step = Template(
            resources.files("propwash.gym.firmware").joinpath("state.c.template").read_text("utf-8")
        ).substitute(
            common,
            rotate=self.rotate,
            rotate_body=body,
            target=self.goal[0].name,
            comment="The vector in the body frame"
            if self.in_body
            else "The vector, in the world frame",
            extras=Template(self.extras()).substitute(
                rotate=self.rotate, **{f"c{k}": first + k for k in range(0, 24)}
            ),
        )
        members = (
            f"/** State estimate. */\ntypedef struct {{\n{struct(STATE)}}} {name}_state;\n\n"
            "/** What the vehicle shall do. */\ntypedef struct {\n"
            f"{struct(self.goal)}}} {name}_goal;\n\n"
        )
        return {
            "input_structs": members,
            "inputs": f"## Inputs\n\n`{name}_state`:\n\n{table(STATE)}\n"
            f"`{name}_goal`:\n\n{table(self.goal)}",
            "step_declaration": declaration,
            "step": step,
            "example": f"{name}_step(&policy, &state, &goal, &command);\n",
            "refusal": "The policy is unchanged, and the command is that of an action of zeros "
            f"({common['safe']})",
        }


class TrackInputs(StateInputs):
    """The point to follow, and where it will be."""

    def __init__(self, name: str, in_body: bool) -> None:
        times = ", ".join(f"{seconds:g}" for seconds in PREVIEWS)
        goal = [
            Member("target", "[3]", "m, world frame: the point to follow"),
            Member("target_velocity", "[3]", "m/s, world frame"),
            Member("ahead", "[3][3]", f"m, world frame: the point in {times} s"),
        ]
        super().__init__(name, goal, in_body)

    def goal_of(self, envs: pg.FleetVectorEnv) -> list[Any]:
        """The point now and later."""
        task: Any = envs.task
        state = envs._engine.state
        position, velocity = task.reference(state)
        ahead = [task.reference(state, seconds)[0][0] for seconds in PREVIEWS]
        return [position[0], velocity[0], ahead]

    def extras(self) -> str:
        """Velocity, and the points relative to the vehicle."""
        return (
            "  $rotate(m, goal->target_velocity, &seen[$c0]);\n"
            "  for (int32_t k = 0; k < 3; ++k) {\n"
            "    for (int32_t i = 0; i < 3; ++i) {\n"
            "      error[i] = goal->ahead[k][i] - s->position[i];\n"
            "    }\n"
            "    $rotate(m, error, &seen[$c3 + 3 * k]);\n"
            "  }\n"
        )


class RaceInputs(StateInputs):
    """The next gate and the one after it."""

    def __init__(self, name: str, in_body: bool) -> None:
        goal = [
            Member("centre", "[3]", "m, world frame: centre of the next gate"),
            Member("along", "[3]", "unit vector: direction of passage of the next gate"),
            Member("left", "[3]", "unit vector to the left in the plane of the next gate"),
            Member("up", "[3]", "unit vector upwards in the plane of the next gate"),
            Member(
                "after",
                "[3]",
                "m: centre of the gate after it; of the last gate if there is none",
            ),
            Member("after_along", "[3]", "direction of passage of the gate after it"),
        ]
        super().__init__(name, goal, in_body)

    def goal_of(self, envs: pg.FleetVectorEnv) -> list[Any]:
        """The gates."""
        task: Any = envs.task
        course, last = task.courses[task.course[0]], task.count - 1
        gate, after = min(task.next[0], last), min(task.next[0] + 1, last)
        rotation = course.rotation[gate]
        return [
            course.centre[gate],
            rotation[:, 0],
            rotation[:, 1],
            rotation[:, 2],
            course.centre[after],
            course.rotation[after][:, 0],
        ]

    def extras(self) -> str:
        """Directions and the scaled position at the gate."""
        return (
            "  float from[3];\n"
            "  float place[3] = {0.0F};\n"
            "  float squared = 0.0F;\n"
            "  float distance;\n"
            "  for (int32_t i = 0; i < 3; ++i) {\n"
            "    from[i] = s->position[i] - goal->centre[i];\n"
            "    error[i] = goal->after[i] - s->position[i];\n"
            "    squared += from[i] * from[i];\n"
            "    place[0] += goal->along[i] * from[i];\n"
            "    place[1] += goal->left[i] * from[i];\n"
            "    place[2] += goal->up[i] * from[i];\n"
            "  }\n"
            "  distance = sqrtf(squared);\n"
            "  $rotate(m, goal->along, &seen[$c0]);\n"
            "  $rotate(m, error, &seen[$c3]);\n"
            "  $rotate(m, goal->after_along, &seen[$c6]);\n"
            "  for (int32_t i = 0; i < 3; ++i) {\n"
            "    from[i] /= distance + 1e-3F;\n"
            "    seen[$c12 + i] = asinhf(place[i]);\n"
            "  }\n"
            "  $rotate(m, from, &seen[$c9]);\n"
            "  seen[$c15] = logf(distance + 0.1F);\n"
        )


class OwnInputs(StateInputs):
    """A task of the user: its extras as numbers."""

    def __init__(self, name: str, in_body: bool, count: int) -> None:
        goal = [Member("target", "[3]", "m, world frame")]
        if count:
            goal.append(Member("extras", f"[{count}]", "the extras of the task's observation"))
        super().__init__(name, goal, in_body)
        self.count = count

    def goal_of(self, envs: pg.FleetVectorEnv) -> list[Any]:
        """Target and extras."""
        return [*super().goal_of(envs), np.asarray(envs._engine.observe())[0, -self.count :]][
            : len(self.goal)
        ]

    def extras(self) -> str:
        """A copy."""
        return (
            "  (void)memcpy(&seen[$c0], goal->extras, sizeof goal->extras);\n" if self.count else ""
        )


def inputs_of(policy: Policy, envs: pg.FleetVectorEnv, name: str) -> Inputs:
    """The inputs of a policy. Raises ValueError for observations that C code does not compute."""
    options = policy.description.options
    observed = options.get("observation", "state")
    observed = observed[0] if not isinstance(observed, str) and len(observed) == 1 else observed
    if observed == "sensors":
        return SensorInputs(name)
    task = envs.task
    if observed != "state":
        raise ValueError(
            f'observation: expected "state" or "sensors", as C code computes no others, got '
            f"{observed!r:.100} of {type(task).__name__}"
        )
    if type(task).observation is not pg.Task.observation:
        raise ValueError(
            f"{type(task).__name__}.observation() is overridden: expected that of Task, as C code "
            "computes no others; return further numbers by extras()"
        )
    in_body = task.frame == "body"
    if type(task) in (pg.Hover, pg.Land):
        return StateInputs(
            name, [Member("target", "[3]", "m, world frame: where to hover or to land")], in_body
        )
    if type(task) is pg.Track:
        return TrackInputs(name, in_body)
    if type(task) is pg.Race:
        return RaceInputs(name, in_body)
    count = policy.observation_size - 18 - envs._engine.state.action.shape[1]
    return OwnInputs(name, in_body, count)


@dataclass(frozen=True)
class Command:
    """The command of a policy."""

    actions: int
    """Numbers of an action."""
    members: list[Member]
    safe: str
    """The command of an action of zeros, in words."""
    conversion: str
    """C: body of the function that converts an action."""


_THRUST = [
    Member("thrust", "", "N, of all rotors together, from 0 to {max:.6g}"),
    Member("thrust_fraction", "", "thrust over the maximum thrust, from 0 to 1"),
    Member("duty_cycle", "", "of each motor for its share of the thrust, from 0 to 1"),
]
_THRUST_C = """\
  const float lever = action[3];
  const float thrust = {weight} + lever * ((lever > 0.0F) ? {reserve} : {weight});
  const float fraction = thrust * {per_max};
  const float duty = (sqrtf(fraction) - {offset}) * {per_range};
  command->thrust = thrust;
  command->thrust_fraction = fraction;
  command->duty_cycle = (duty > 0.0F) ? duty : 0.0F;
"""
_ATTITUDE_C = """\
  const float length = sqrtf(action[0] * action[0] + action[1] * action[1]);
  const float half_tilt = 0.5F * {tilt} * ((length < 1.0F) ? length : 1.0F);
  const float scale = sinf(half_tilt) / ((length > 1e-9F) ? length : 1e-9F);
"""
_ROTORS_C = """\
  static const float squared_min[{n}] = {min};
  static const float squared_hover[{n}] = {hover};
  static const float squared_max[{n}] = {max};
  for (int32_t i = 0; i < {n}; ++i) {{
    const float lever = action[i];
    const float end = (lever > 0.0F) ? squared_max[i] : squared_min[i];
    const float range = (lever > 0.0F) ? (end - squared_hover[i]) : (squared_hover[i] - end);
    const float squared = squared_hover[i] + lever * range;
    const float fraction = ((squared > 0.0F) ? squared : 0.0F) / squared_max[i];
    const float duty = (sqrtf(fraction) - {offset}) * {per_range};
    command->speeds[i] = sqrtf(fraction * squared_max[i]);
    command->duty_cycles[i] = (duty > 0.0F) ? duty : 0.0F;
  }}
"""


_ACTIONS = ("rate_thrust", "rotor_thrusts", "attitude_thrust", "velocity")


def command_of(envs: pg.FleetVectorEnv) -> Command:
    """The command of the option `action`, scaled by the vehicle (propwash.gym._actions).

    Raises ValueError for velocities in other axes than the world's.
    """
    chosen = envs._engine.settings
    if chosen.action not in _ACTIONS:
        raise ValueError(
            f"action: expected one of {', '.join(_ACTIONS)}, as C code computes no others, got "
            f"{chosen.action!r}"
        )
    vehicle = envs.fleet.vehicle
    weight, reserve = thrust_range(envs.fleet)
    offset = vehicle.motor.speed_offset
    numbers: dict[str, Any] = {
        "weight": literal(weight),
        "reserve": literal(reserve),
        "per_max": literal(1.0 / vehicle.max_thrust),
        "offset": literal(offset),
        "per_range": literal(1.0 / (1.0 - offset)),
        "tilt": literal(chosen.max_tilt),
    }
    x, y, z = chosen.max_rates
    rates = "".join(
        f"  command->rates[{k}] = action[{k}] * {literal(each)};\n"
        for k, each in enumerate((x, y, z))
    )
    thrust = [
        each._replace(meaning=each.meaning.format(max=vehicle.max_thrust)) for each in _THRUST
    ]
    yaw_rate = Member("yaw_rate", "", f"rad/s, within ±{z:g}")
    if chosen.action == "rate_thrust":
        members = [
            Member("rates", "[3]", f"rad/s, body frame, within ±{x:g}, ±{y:g}, ±{z:g}"),
            *thrust,
        ]
        return Command(
            4,
            members,
            "body rates of 0 and the thrust of hover",
            _THRUST_C.format(**numbers) + rates,
        )
    if chosen.action == "attitude_thrust":
        meaning = f"unit quaternion w, x, y, z without yaw, tilt up to {chosen.max_tilt:g} rad"
        code = (_ATTITUDE_C + _THRUST_C).format(**numbers)
        values = ("cosf(half_tilt)", "-scale * action[1]", "scale * action[0]", "0.0F")
        code += "".join(f"  command->attitude[{k}] = {value};\n" for k, value in enumerate(values))
        code += f"  command->yaw_rate = action[2] * {literal(z)};\n"
        return Command(
            4,
            [Member("attitude", "[4]", meaning), yaw_rate, *thrust],
            "level, with the thrust of hover",
            code,
        )
    if chosen.action == "velocity":
        code = "".join(
            f"  command->velocity[{k}] = action[{k}] * {literal(chosen.max_speed)};\n"
            for k in range(3)
        )
        code += f"  command->yaw_rate = action[3] * {literal(z)};\n"
        meaning = f"m/s, world frame, each within ±{chosen.max_speed:g}"
        return Command(4, [Member("velocity", "[3]", meaning), yaw_rate], "a velocity of 0", code)
    n = len(vehicle.rotors)
    hover = envs._engine.actions.hover  # squared; the fleet has random speeds by now
    low, high = (
        np.array(vehicle.motor_values(f"speed_{end}"), np.float32) ** 2 for end in ("min", "max")
    )
    code = _ROTORS_C.format(
        n=n, min=literals(low), hover=literals(hover), max=literals(high), **numbers
    )
    members = [
        Member("speeds", f"[{n}]", "rad/s, of the rotors in the order of the vehicle file"),
        Member("duty_cycles", f"[{n}]", "of the motors, from 0 to 1"),
    ]
    return Command(n, members, "the speeds of hover", code)


def literal(value: Any) -> str:
    """A C literal that has the value in single precision."""
    return f"{float(str(np.float32(value)))!r}F"


def literals(numbers: Any) -> str:
    """A C list of numbers, in lines of at most 120 characters."""
    texts = [literal(x) if isinstance(x, np.floating) else f"{x}U" for x in numbers]
    return "{" + textwrap.fill(", ".join(texts), 110, subsequent_indent="    ") + "}"
