"""Environments on a device, whose kernels are compiled for the host, give the bits of the CPU."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import propwash as pw  # noqa: E402
import propwash.gym as pg  # noqa: E402
import propwash.world as world  # noqa: E402
from host_device import COMPILER, INCLUDE, HostDriver  # noqa: E402
from propwash.fleet import _device  # noqa: E402
from propwash.gym import torch_env  # noqa: E402
from propwash.gym.torch_env import TorchVectorEnv  # noqa: E402

needs_compiler = pytest.mark.skipif(
    COMPILER is None or not INCLUDE.exists(), reason="a C++ compiler or include/ is missing"
)
SIZE = 37
SHORT: dict[str, Any] = {"max_episode_steps": 23}
AIR: dict[str, Any] = {
    "turbulence": pw.Dryden(6.0, 15.0, 6.0), "imu_bias": {"gyroscope": 0.01}, "dt": 0.002,
}  # fmt: skip


def every_shape() -> pw.Scene:
    """Two gates, and a body of each kind around the start of the vehicles."""
    tilted = (0.8, 0.4, -0.4, 0.2)
    corners = np.array([[-0.3, -1.2, 0.2], [0.8, -1.4, 0.3], [0.2, -1.3, 1.0], [0.3, -2.0, 0.4]])
    faces = np.array([[0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 2, 3]], np.int32)
    items: list[Any] = [
        world.Plane(name="ground"),
        world.Gate(name="Gate1", position=(0.6, 0.0, 1.5), width=1.4, height=1.2),
        world.Gate(name="Gate2", position=(2.0, 0.3, 1.6), width=1.4, height=1.2, attitude=tilted),
        world.Box(name="box", size=(0.4, 0.5, 0.6), position=(0.0, 1.3, 1.6), attitude=tilted),
        world.Sphere(name="ball", radius=0.3, position=(-1.0, 0.2, 1.0)),
        world.Cylinder(
            name="post", radius=0.2, height=0.9, position=(-0.3, 0.3, 2.5), attitude=tilted
        ),
        world.Capsule(
            name="bar", radius=0.2, length=0.8, position=(-0.9, -0.6, 2.0), attitude=tilted
        ),
        world.Mesh(name="mesh", vertices=corners, triangles=faces),
        world.Box(
            name="cart",
            size=(0.3, 0.3, 0.3),
            motion=world.Waypoints([0.0, 1.0], [[-0.6, 0.9, 0.6], [3.0, 0.0, 0.6]]),
        ),
    ]
    return pw.Scene(items, start=world.Start(position=(0.0, 0.0, 1.5))).at(0.0)


KINDS: dict[str, tuple[type[pg.Task], dict[str, Any]]] = {
    "hover": (pg.Hover, {"bound": 1.5, "velocity": 2.0, **SHORT}),
    "hover, body": (pg.Hover, {"frame": "body", "bound": 1.5, **AIR, "index": 5}),
    "track": (pg.Track, {"speed": 3.0, "bound": 0.8, **SHORT}),
    "track, body": (pg.Track, {"path": "circle", "frame": "body", "bound": 0.8, **AIR}),
    "land": (pg.Land, {"height": (0.1, 0.5), "speed": 2.0, **SHORT}),
    "land, body": (pg.Land, {"height": (0.1, 0.5), "frame": "body", **AIR}),
    "race": (pg.Race, {"anywhere": True, "spread": 2.0, "max_episode_steps": 200}),
    "race, body": (
        pg.Race,
        {"course": every_shape(), "anywhere": True, "frame": "body", "bound": 8.0, **AIR},
    ),
    "race, courses": (pg.Race, {"course_seed": [1, 2, 3], "spread": 2.0, "max_episode_steps": 99}),
}
WEIGHTS = {
    **{pg.Hover: pg.HoverReward, pg.Track: pg.TrackReward, pg.Land: pg.LandReward},
    pg.Race: pg.RaceReward,
}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> HostDriver:
    """The device "cuda" is the host."""
    made = HostDriver()
    monkeypatch.setattr(_device, "open_driver", lambda device: made)
    monkeypatch.setattr(torch_env, "_usable", torch.device)
    sender = torch_env._Sender
    monkeypatch.setattr(torch_env, "_Sender", lambda _: sender(torch.device("cpu")))
    return made


def both(name: str) -> tuple[TorchVectorEnv, TorchVectorEnv]:
    """The same environments on the CPU and on the device, all weights different."""
    kind, options = KINDS[name]
    weights = WEIGHTS[kind]
    chosen = {each: 0.5 + 0.1 * k for k, each in enumerate(weights.__struct_fields__)}
    cpu, device = (
        TorchVectorEnv(kind, SIZE, device=where, weights=chosen, **options)
        for where in ("cpu", "cuda")
    )
    assert device.unwrapped.fleet.device.startswith("cuda")
    return cpu, device


def check_same(cpu: Any, device: Any) -> None:
    """All tensors that the CPU returns; it leaves out infos that concern no environment."""
    for name, value in cpu.items():
        if isinstance(value, dict):
            check_same(value, device[name])
        else:
            assert value.dtype == device[name].dtype, name
            assert value.numpy().tobytes() == device[name].cpu().numpy().tobytes(), name


def fly(cpu: TorchVectorEnv, device: TorchVectorEnv, steps: int, seed: int) -> Counter[str]:
    """Steps both with the same actions, some out of range; counts the episodes that ended, and of
    those of a race the collisions and finished runs."""
    numbers = np.random.default_rng(seed).uniform(-1.1, 1.1, (steps, SIZE, 4))
    counts: Counter[str] = Counter()
    for row in np.concatenate([numbers[: steps // 2], 0.1 * numbers[steps // 2 :]]):
        actions = torch.from_numpy(row.astype(np.float32))
        a, b = cpu.step(actions), device.step(actions)
        names = ("observation", "reward", "terminated", "truncated")
        check_same(*(dict(zip(names, each[:4], strict=True)) for each in (a, b)))
        check_same(a[4], b[4])
        counts["ended"] += int((a[2] | a[3]).sum())
        for name in ("collision", "finished"):
            counts[name] += int(a[4].get("final_info", {}).get(name, torch.zeros(1)).sum())
    return counts


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_device_gives_the_bits_of_the_cpu(driver: HostDriver, name: str) -> None:
    cpu, device = both(name)
    check_same({"seen": cpu.reset(seed=3)[0]}, {"seen": device.reset(seed=3)[0]})
    counts = fly(cpu, device, 1000, 1)
    assert counts["ended"] > 100
    assert name != "race, body" or min(counts.values()) > 20
    assert cpu.unwrapped.fleet.snapshot() == device.unwrapped.fleet.snapshot()


@needs_compiler
@pytest.mark.parametrize("name", ["track", pytest.param("race, body", marks=pytest.mark.slow)])
def test_steps_continue_after_changes_on_the_host(driver: HostDriver, name: str) -> None:
    cpu, device = both(name)
    for envs in (cpu, device):
        envs.reset(seed=3)
    fly(cpu, device, 60, 1)
    mask = np.arange(SIZE) % 3 == 0
    seen = [envs.reset(options={"reset_mask": mask})[0] for envs in (cpu, device)]
    check_same({"seen": seen[0]}, {"seen": seen[1]})
    fly(cpu, device, 20, 2)
    for envs in (cpu, device):
        envs.unwrapped.set_state({"velocity": [1.0, 0.0, 0.0]})
        envs.unwrapped.task.weights = type(envs.unwrapped.task.weights)()
    fly(cpu, device, 20, 3)
    snapshot = device.unwrapped.snapshot()
    for envs in (cpu, device):
        envs.reset(seed=4)
        envs.unwrapped.restore(snapshot)
    assert fly(cpu, device, 40, 5)["ended"] > 10


@needs_compiler
def test_a_course_that_does_not_exist_is_refused(driver: HostDriver) -> None:
    _, device = both("race, courses")
    device.reset(seed=0)
    device.unwrapped.task.next[4] = 1000
    with pytest.raises(IndexError, match="environment 4: expected course"):
        device.step(torch.zeros(SIZE, 4))


@needs_compiler
def test_a_step_copies_no_state(driver: HostDriver) -> None:
    _, device = both("track")
    device.reset(seed=0)
    actions = torch.zeros(SIZE, 4)
    for _ in range(2):
        device.step(actions)
    before = dict(driver.copied)
    for _ in range(20):
        device.step(actions)
    assert driver.copied == before


@needs_compiler
def test_actions_that_are_no_numbers_are_zero_and_counted(driver: HostDriver) -> None:
    _, device = both("track")
    seen, _ = device.reset(seed=0)
    actions = torch.zeros(SIZE, 4)
    actions[5, 2], actions[6, 0] = torch.nan, torch.inf
    seen, *_, infos = device.step(actions)
    assert infos["clipped"].nonzero().flatten().tolist() == [5, 6]
    assert seen.isfinite().all()
    assert seen[6, 18:22].tolist() == [1.0, 0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"shape \(37, 4\), got"):
        device.step(actions[:, :3])


def test_other_environments_step_on_the_cpu(driver: HostDriver) -> None:
    others: list[tuple[type[pg.Task], dict[str, Any]]] = [
        (pg.Race, {"observation": ["state", "sensors"]}),
        (pg.Hover, {"scene": "alphapilot"}),
        (pg.Hover, {"autoreset_mode": "NEXT_STEP"}),
        (pg.Hover, {"action": "velocity"}),
        (pg.Hover, {"observation": ["state", "sensors"]}),
        (pg.Hover, {"privileged": True}),
        (pg.Hover, {"randomize": {"body.mass": 0.1}}),
        (pg.Hover, {"wind": 1.0}),
        (pg.Hover, {"action_delay": 2}),
    ]
    for kind, options in others:
        assert TorchVectorEnv(kind, 2, device="cuda", **options).unwrapped.fleet.device == "cpu"


def test_without_a_gpu_a_warning_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(device: str) -> Any:
        raise OSError("no GPU")

    monkeypatch.setattr(_device, "open_driver", missing)
    monkeypatch.setattr(torch_env, "_usable", torch.device)
    with pytest.warns(RuntimeWarning, match="environments step on the CPU: no GPU"):
        TorchVectorEnv(pg.Hover, 2, device="cuda")


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="a GPU is missing")
@pytest.mark.parametrize("name", KINDS)
def test_a_gpu_gives_the_bits_of_the_cpu(name: str) -> None:
    cpu, device = both(name)
    check_same({"seen": cpu.reset(seed=3)[0]}, {"seen": device.reset(seed=3)[0].cpu()})
    assert fly(cpu, device, 1000, 1)["ended"] > 100
