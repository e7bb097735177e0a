"""Options of environments and their checks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from propwash import _checks as checks
from propwash._checks import nearest
from propwash._core import ThreadPool
from propwash.fleet import FleetIntegrator
from propwash.sensors import StereoError
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.turbulence import Dryden

if TYPE_CHECKING:
    from propwash.identify import Posterior

MAX_FRAMES = 64
"""Maximum number of environments that are drawn."""

Spread = float | tuple[str, Any, Any]
"""Range of a parameter: a fraction of its value, ("uniform", low, high), ("normal", mean, sd)."""

ActionName = Literal[
    "rate_thrust",
    "rotor_thrusts",
    "attitude_thrust",
    "velocity",
    "heading_velocity",
    "target_velocity",
    "goal_velocity",
]
ObservationName = Literal["state", "sensors", "imu", "depth", "grey", "rgb"]
DepthDtype = Literal["float32", "uint8"]
PrivilegedName = Literal["state", "rotors", "parameters", "wind", "delay", "imu_bias"]
YawMode = Literal["goal", "velocity"]
RenderMode = Literal["rgb_array", "human"]
RenderCamera = Literal["chase", "onboard"]


_NAMES: dict[str, Any] = {
    "action": ActionName,
    "depth_dtype": DepthDtype,
    "yaw_mode": YawMode,
    "render_mode": RenderMode,
    "render_camera": RenderCamera,
}


_OPTIONAL = ("render_mode", "max_episode_steps", "render_envs")
"""Options that may be None."""


class Options(TypedDict, total=False):
    """Keyword options of all environments of this package; `Settings` documents them."""

    vehicle: str | PathLike[str] | VehicleParameters
    action: ActionName
    observation: ObservationName | Sequence[ObservationName]
    privileged: bool | Sequence[PrivilegedName]
    history: int
    depth_size: Sequence[int]
    depth_fov: float
    depth_range: float
    depth_dtype: DepthDtype
    depth_error: Mapping[str, float]
    depth_tilt: float
    depth_pool: Sequence[int]
    depth_near: float
    depth_noise: float
    depth_delay: int
    image_size: Sequence[int]
    image_fov: float
    image_tilt: float
    max_rates: Sequence[float]
    max_tilt: float
    max_speed: float
    yaw_mode: YawMode
    outer_loops: Mapping[str, Any]
    randomize: Mapping[str, Spread] | Literal["posterior"] | Posterior
    control_vehicle: str | PathLike[str] | VehicleParameters | None
    wind: float | Sequence[float]
    turbulence: Dryden | None
    action_delay: int | Sequence[int]
    imu_bias: Mapping[str, float]
    noise: bool
    substeps: int
    dt: float
    integrator: FleetIntegrator
    threads: int | ThreadPool
    index: int
    episode_seconds: float | None
    max_episode_steps: int | None
    render_mode: RenderMode | None
    render_camera: RenderCamera
    render_size: Sequence[int]
    render_envs: int | None


@dataclass(frozen=True)
class Settings:
    """Options of environments. Raises TypeError and ValueError for invalid values."""

    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles"
    """Name, TOML file or parameters."""
    action: ActionName = "rate_thrust"
    """Meaning of an action."""
    observation: ObservationName | Sequence[ObservationName] = "state"
    """The task's function of the true state, readings of all sensors or of the IMU alone, a depth,
    grey or colour image; a sequence of these makes observations a dict by name."""
    privileged: bool | Sequence[PrivilegedName] = False
    """Columns for a critic or teacher, as "privileged" of the observations, which are then a dict;
    True for all."""
    history: int = 8
    """Number of IMU readings in an observation of sensors or the IMU."""
    depth_size: Sequence[int] = (32, 24)
    """px, width and height of depth images."""
    depth_fov: float = 70.0
    """degrees, vertical field of view of depth images."""
    depth_range: float = 20.0
    """m, the depth of the largest value of an image."""
    depth_dtype: DepthDtype = "float32"
    """float32 from 0 to 1, or uint8 from 0 to 255."""
    depth_error: Mapping[str, float] = field(default_factory=dict)
    """Fields of `StereoError` that differ from its defaults: images have the errors of a stereo
    camera, and 0 where it has no reading; {} for no errors."""
    depth_tilt: float = 0.0
    """degrees, by which the camera is tilted up from body x."""
    depth_pool: Sequence[int] = (1, 1)
    """px, width and height of the blocks of which an image has the nearest depth."""
    depth_near: float = 0.0
    """m: images are inverse depths, as fractions of that at this depth; 0 for depths."""
    depth_noise: float = 0.0
    """m, deviation of white noise on depths."""
    depth_delay: int = 0
    """Steps by which images are late."""
    image_size: Sequence[int] = (64, 48)
    """px, width and height of grey and colour images."""
    image_fov: float = 70.0
    """degrees, vertical field of view of grey and colour images."""
    image_tilt: float = 0.0
    """degrees, by which their camera is tilted up from body x."""
    max_rates: Sequence[float] = (8.0, 8.0, 4.0)
    """rad/s, body rates for an action of 1."""
    max_tilt: float = 0.7
    """rad, tilt of the thrust for an action of 1, with attitude_thrust; below pi/2."""
    max_speed: float = 5.0
    """m/s, for an action of 1, with the actions that are velocities."""
    yaw_mode: YawMode = "goal"
    """Heading with goal_velocity: that of the goal, or of the commanded velocity."""
    outer_loops: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `OuterLoops` that differ from the defaults for the vehicle."""
    randomize: Mapping[str, Spread] | Literal["posterior"] | Posterior = field(default_factory=dict)
    """Vehicle parameters that are drawn for each episode, and their ranges; or vehicles of a
    posterior, "posterior" for that in the file of `vehicle`."""
    control_vehicle: str | PathLike[str] | VehicleParameters | None = "nominal"
    """The vehicle that the controllers assume: "nominal" for `vehicle` without randomisation, None
    for the parameters that are drawn."""
    wind: float | Sequence[float] = 0.0
    """m/s, maximum horizontal wind, or (min, max); drawn for each episode, in any direction."""
    turbulence: Dryden | None = None
    """Dryden turbulence."""
    action_delay: int | Sequence[int] = 0
    """Maximum delay of commands in steps of dt, or (min, max); drawn for each episode."""
    imu_bias: Mapping[str, float] = field(default_factory=dict)
    """Standard deviations at the start of an episode: accelerometer, m/s^2; gyroscope, rad/s."""
    noise: bool = True
    """Whether process noise and IMU noise are on."""
    substeps: int = 10
    """Steps of dt under one action."""
    dt: float = DEFAULT_DT
    """Time step of the integrator [s]."""
    integrator: FleetIntegrator = "rk4"
    """Or "euler"."""
    threads: int | ThreadPool = 1
    """Threads of the Fleet."""
    index: int = 0
    """Number of the first environment, which with the seed determines the random streams."""
    episode_seconds: float | None = None
    """s, after which an episode is truncated, inf for never; None for the task's default."""
    max_episode_steps: int | None = None
    """The same in steps, 0 for never; None for `episode_seconds`."""
    render_mode: RenderMode | None = None
    """Whether render() returns frames or shows them in a window; None for no rendering."""
    render_camera: RenderCamera = "chase"
    """Camera behind the vehicle, or on board looking forward."""
    render_size: Sequence[int] = (640, 480)
    """px, width and height of a frame."""
    render_envs: int | None = None
    """Number of environments that are drawn, the first ones; None for all, at most 64."""

    def __post_init__(self) -> None:
        for name, known in _NAMES.items():
            if getattr(self, name) is not None or name not in _OPTIONAL:
                checks.choice(name, getattr(self, name), get_args(known))
        self.observations  # noqa: B018
        self.privileged_groups  # noqa: B018
        for name, smallest, largest in (
            ("render_size", 16, 4096),
            ("depth_size", 1, 1024),
            ("image_size", 1, 1024),
        ):
            size = getattr(self, name)
            if not isinstance(size, Sequence) or len(size) != 2:
                raise ValueError(f"{name} = {size!r:.100}: expected width and height [px]")
            for pixels in size:
                checks.whole_number(name, pixels, smallest, largest)
        self.pooled_size  # noqa: B018
        checks.number("depth_fov", self.depth_fov, "degrees in (0, 180)", lambda x: 0 < x < 180)
        of_images = "degrees in [0.1, 179]"  # of the renderer
        checks.number("image_fov", self.image_fov, of_images, lambda x: 0.1 <= x <= 179)
        checks.number("depth_range", self.depth_range, "m in (0, 1e6]", lambda x: 0 < x <= 1e6)
        for name in ("depth_tilt", "image_tilt"):
            value = getattr(self, name)
            checks.number(name, value, "degrees in [-90, 90]", lambda x: abs(x) <= 90)
        near = f"m in [0, depth_range = {self.depth_range:g})"
        checks.number("depth_near", self.depth_near, near, lambda x: 0 <= x < self.depth_range)
        checks.not_negative("depth_noise", self.depth_noise, "m")
        if self.episode_seconds is not None:
            if self.max_episode_steps is not None:
                raise ValueError(
                    "episode_seconds, max_episode_steps: expected one of the two, got both"
                )
            if not (is_real(self.episode_seconds) and self.episode_seconds > 0.0):
                raise ValueError(
                    f"episode_seconds = {self.episode_seconds!r:.100}: expected a number > 0 [s]"
                )
        for name, low, high in (
            ("history", 1, 1000),
            ("depth_delay", 0, 1000),
            ("substeps", 1, 100_000),
            ("index", 0, 2**32 - 1),
            ("max_episode_steps", 0, 2**31 - 1),
            ("render_envs", 1, MAX_FRAMES),
        ):
            if getattr(self, name) is not None or name not in _OPTIONAL:
                checks.whole_number(name, getattr(self, name), low, high)
        checks.flag("noise", self.noise)
        if not isinstance(self.max_rates, Sized) or len(self.max_rates) != 3:
            raise ValueError(f"max_rates: expected 3 numbers [rad/s], got {self.max_rates!r:.100}")
        for rate in self.max_rates:
            if not 0.0 < checks.number("max_rates", rate) <= 1e6:
                raise ValueError(
                    f"max_rates: expected numbers in (0, 1e6] rad/s, got {rate!r:.100}"
                )
        if not 0.0 < checks.number("max_tilt", self.max_tilt) < 1.57:
            raise ValueError(f"max_tilt: expected a number in (0, 1.57) rad, got {self.max_tilt!r}")
        if not 0.0 < checks.number("max_speed", self.max_speed) <= 1e6:
            raise ValueError(
                f"max_speed: expected a number in (0, 1e6] m/s, got {self.max_speed!r:.100}"
            )
        self.posterior  # noqa: B018
        for name in ("imu_bias", "depth_error", "outer_loops"):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(
                    f"{name}: expected a mapping from names, got {getattr(self, name)!r:.100}"
                )
        check_names("imu_bias", self.imu_bias, ("accelerometer", "gyroscope"))
        for key, value in self.imu_bias.items():
            if checks.number(f"imu_bias[{key!r}]", value) < 0.0:
                raise ValueError(f"imu_bias[{key!r}]: expected a number >= 0, got {value!r:.100}")
        self.wind_range  # noqa: B018
        self.delay_range  # noqa: B018
        self.stereo_error  # noqa: B018

    @property
    def observations(self) -> tuple[str, ...]:
        """Names of the observations."""
        return _names("observation", self.observation, get_args(ObservationName))

    @property
    def privileged_groups(self) -> tuple[str, ...]:
        """Names of the groups of privileged columns; () for none."""
        known = get_args(PrivilegedName)
        if isinstance(self.privileged, bool):
            return known if self.privileged else ()
        groups = _names("privileged", self.privileged, known)
        if "parameters" in groups and not self.randomize:
            raise ValueError(
                "privileged: expected 'parameters' only with randomize, as no parameter is drawn "
                "without it; leave it out"
            )
        return groups

    @cached_property
    def posterior(self) -> Posterior | None:
        """The distribution of vehicles of `randomize`; None for ranges."""
        if isinstance(self.randomize, Mapping):
            return None
        from propwash.identify import Posterior

        if self.randomize == "posterior":
            return Posterior.load(self.vehicle)
        if not isinstance(self.randomize, Posterior):
            raise TypeError(
                f'randomize: expected a mapping from names, "posterior" or an '
                f"identify.Posterior, got {self.randomize!r:.100}"
            )
        if vehicles.load(self.vehicle) != self.randomize.vehicle:
            raise ValueError(
                f"vehicle: expected that of the posterior, {self.randomize.vehicle.name!r:.50}; "
                "pass vehicle=posterior.vehicle"
            )
        return self.randomize

    @property
    def stereo_error(self) -> StereoError | None:
        """The errors of depth images; None for none."""
        check_names("depth_error", self.depth_error, [each.name for each in fields(StereoError)])
        return StereoError(**cast(Any, self.depth_error)) if self.depth_error else None

    @property
    def pooled_size(self) -> tuple[int, int]:
        """px, width and height of depth images after pooling."""
        pool, size = self.depth_pool, self.depth_size
        if (
            not isinstance(pool, Sequence)
            or len(pool) != 2
            or any(
                checks.whole_number("depth_pool", each, 1, 1024) and pixels % each
                for each, pixels in zip(pool, size, strict=True)
            )
        ):
            raise ValueError(
                f"depth_pool = {pool!r:.100}: expected width and height that divide depth_size = "
                f"{tuple(size)} [px]"
            )
        return size[0] // pool[0], size[1] // pool[1]

    def loops(self, vehicle: VehicleParameters) -> OuterLoops | None:
        """The outer loops for a vehicle; None for the defaults."""
        check_names("outer_loops", self.outer_loops, [each.name for each in fields(OuterLoops)])
        if not self.outer_loops:
            return None
        changes = {k: tuple(v) if isinstance(v, list) else v for k, v in self.outer_loops.items()}
        return replace(OuterLoops.of(vehicle, self.dt), **cast(Any, changes))

    @property
    def wind_range(self) -> tuple[float, float]:
        """m/s, minimum and maximum."""
        low, high = _pair("wind", self.wind, 0.0)
        pair = checks.number("wind", low), checks.number("wind", high)
        if not 0.0 <= pair[0] <= pair[1]:
            raise ValueError(f"wind: expected 0 <= min <= max [m/s], got {self.wind!r:.100}")
        return pair

    @property
    def delay_range(self) -> tuple[int, int]:
        """Minimum and maximum, in steps of dt."""
        low, high = _pair("action_delay", self.action_delay)
        low = checks.whole_number("action_delay", low, 0, 1000)
        return low, checks.whole_number("action_delay", high, low, 1000)


def _pair(name: str, value: Any, low: Any = None) -> tuple[Any, Any]:
    """Returns (min, max) from a pair, or from one number with `low`, by default itself."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value if low is None else low, value
    if len(value) != 2:
        raise ValueError(f"{name}: expected one number, or (min, max), got {value!r:.100}")
    return value[0], value[1]


def _names(what: str, value: Any, known: Sequence[str]) -> tuple[str, ...]:
    """Returns one name, or a sequence of different names, as a tuple."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, Sequence) or len(value) == 0:
        raise ValueError(f"{what}: expected some of {', '.join(known)}, got {value!r:.100}")
    for name in value:
        checks.choice(what, name, known)
    if len(set(value)) < len(value):
        raise ValueError(f"{what}: expected each name once, got {', '.join(value)}")
    return tuple(value)


def check_names(what: str, names: Any, known: Sequence[str]) -> None:
    """Raises TypeError for the first unknown name and suggests the nearest known one."""
    for name in names:
        if name not in known:
            hint = nearest(str(name), known)
            raise TypeError(
                f"{what}: there is no {str(name)!r:.100}{hint or '; there are ' + ', '.join(known)}"
            )


def checked_reset(options: Any, known: Sequence[str]) -> Any:
    """The options of a reset. Raises TypeError for another type, or an unknown name."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(
            f"options: expected a dict of some of {', '.join(known)}, got {options!r:.100}"
        )
    check_names("options", options, known)
    return options


def is_real(value: object) -> bool:
    """Whether `value` is a number, infinity included and NaN excluded."""
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


def settings(options: Mapping[str, Any]) -> Settings:
    """Returns checked options.

    Raises TypeError, and ValueError also for options that have no effect with the others.
    """
    check_names("options", options, option_names())
    chosen = Settings(**cast(Any, dict(options)))
    for name in options:
        if not has_effect(name, chosen):
            other, values = _NEEDED[name]
            raise ValueError(
                f"{name} = {options[name]!r:.50}: expected {other}="
                f"{' or '.join(map(repr, values))}, as it has no effect with "
                f"{getattr(chosen, other)!r}; leave {name} out"
            )
    return chosen


def has_effect(name: str, chosen: Settings) -> bool:
    """Whether an option has an effect with the others."""
    if name not in _NEEDED:
        return True
    other, values = _NEEDED[name]
    found = chosen.observations if other == "observation" else (chosen.action,)
    return not set(found).isdisjoint(values)


_DEPTH = (
    *("size", "fov", "range", "dtype", "error"),
    *("tilt", "pool", "near", "noise", "delay"),
)
_WITH_YAW_RATE = ("velocity", "heading_velocity", "target_velocity")
_BY_VELOCITY = (*_WITH_YAW_RATE, "goal_velocity")
_NEEDED = {
    "history": ("observation", ("sensors", "imu")),
    **{f"image_{name}": ("observation", ("grey", "rgb")) for name in ("size", "fov", "tilt")},
    **{f"depth_{name}": ("observation", ("depth",)) for name in _DEPTH},
    "max_tilt": ("action", ("attitude_thrust",)),
    "max_speed": ("action", _BY_VELOCITY),
    "yaw_mode": ("action", ("goal_velocity",)),
    "outer_loops": ("action", ("attitude_thrust", *_BY_VELOCITY)),
    "max_rates": ("action", ("rate_thrust", "attitude_thrust", *_WITH_YAW_RATE)),
}
"""Options that have an effect only for some values of another option."""


def option_names() -> list[str]:
    """The names of `Options`."""
    return [each.name for each in fields(Settings)]


def split(task: type, options: Mapping[str, Any], more: Sequence[str] = ()) -> tuple[Any, Any]:
    """Splits options into arguments of the task and of the environment, the latter with `more`."""
    names = arguments(task)
    check_names(f"options of {task.__name__}", options, [*names, *option_names(), *more])
    chosen = {name: value for name, value in options.items() if name in names}
    return chosen, {name: value for name, value in options.items() if name not in names}


_LENGTHS = ("episode_seconds", "max_episode_steps")


def merged(task: Any, options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options updated by `changes`, without those that lose their effect by the changes."""
    replaced = {**task.replaced, **dict.fromkeys(_LENGTHS, _LENGTHS)}
    chosen = [name for name, each in changes.items() if each is not None]
    dropped = {each for name in chosen for each in replaced.get(name, ())}
    kept = {name: each for name, each in options.items() if name not in dropped}
    return {**with_effect({**kept, **changes}), **changes}


def with_effect(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options without those of environments that have no effect with the others."""
    chosen = Settings(**{name: options[name] for name in option_names() if name in options})
    return {name: each for name, each in options.items() if has_effect(name, chosen)}


def arguments(task: type) -> dict[str, Any]:
    """Arguments of a task's constructor by name, with their defaults.

    A constructor with `**others` has those of the constructor of its base class too.
    """
    found: dict[str, Any] = {}
    for each in task.__mro__:
        if "__init__" not in vars(each):
            continue
        _, *parameters = inspect.signature(vars(each)["__init__"]).parameters.values()
        named = {one.name: one.default for one in parameters if one.kind not in _VARIADIC}
        found = {**named, **found}
        if all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters):
            break
    return found


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
