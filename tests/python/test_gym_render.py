"""Rendering of environments: contents of the frames, and wrappers of gymnasium."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

from gym_helpers import idle

gym = pytest.importorskip("gymnasium")

import propwash.gym as pg  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.wrappers import HumanRendering, RecordVideo  # noqa: E402
from gymnasium.wrappers import vector as vector_wrappers  # noqa: E402

Frame = NDArray[np.uint8]

SMALL: dict[str, Any] = {"render_size": (320, 240)}
RGB: dict[str, Any] = {"render_mode": "rgb_array", **SMALL}
TASKS: tuple[type[pg.Task], ...] = (pg.Hover, pg.Track, pg.Race, pg.Land)

needs_pygame = pytest.mark.skipif(find_spec("pygame") is None, reason="pygame is not installed")
needs_moviepy = pytest.mark.skipif(find_spec("moviepy") is None, reason="moviepy is not installed")
# side effects of libraries that write videos
quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def frame_of(env: Any) -> Frame:
    frame: Frame = env.render()
    assert isinstance(frame, np.ndarray)
    return frame


def is_green(frame: Frame) -> NDArray[np.bool_]:
    """The pixels of the ball at the target."""
    r, g, b = frame.astype(int).transpose(2, 0, 1)
    return np.asarray((g > 60) & (g > 2 * r) & (g > 2 * b))


def is_blue(frame: Frame) -> NDArray[np.bool_]:
    """The pixels of the trail."""
    r, g, b = frame.astype(int).transpose(2, 0, 1)
    return np.asarray((b > 90) & (b > 2.2 * r) & (b > 1.5 * g))


def is_vehicle(frame: Frame) -> NDArray[np.bool_]:
    """The pixels of the hull (black) and of the front rotors (orange)."""
    r, g, b = frame.astype(int).transpose(2, 0, 1)
    return np.asarray((frame.max(axis=2) < 45) | ((r > 130) & (r > 1.4 * g) & (g > 1.3 * b)))


def centre_of(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(2,) mean position right and down, from -1 to 1."""
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    return np.array([columns.mean() / width, rows.mean() / height]) * 2.0 - 1.0


# content


@pytest.mark.parametrize("kind", TASKS)
def test_frames_of_every_task_are_not_blank(kind: type[pg.Task]) -> None:
    env = pg.make(kind, **RGB)
    env.reset(seed=3)
    frames = []
    for _ in range(2):
        frame = frame_of(env)
        assert frame.shape == (240, 320, 3)
        assert frame.dtype == np.uint8
        assert is_vehicle(frame).sum() > 20
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 500  # not blank
        frames.append(frame)
        for _ in range(20):
            env.step(idle(env))
    assert not np.array_equal(frames[0], frames[1])
    again = frame_of(env)
    assert np.array_equal(again, frame_of(env))  # rendering does not change the state


def test_target_and_vehicle_are_shown_at_their_heights() -> None:
    for height in (-1.0, 1.0):
        env = pg.make(pg.Hover, tilt=0.0, **RGB)
        start = {"position": [-2.0, 0.0, -height], "attitude": [1, 0, 0, 0], "velocity": [0, 0, 0]}
        env.reset(seed=0, options={"state": start})
        frame = frame_of(env)
        ball, vehicle = centre_of(is_green(frame)), centre_of(is_vehicle(frame))
        assert (np.abs([ball, vehicle]) < 0.9).all()
        assert np.sign(vehicle[1] - ball[1]) == height


def test_the_trail_shows_the_path_of_the_episode() -> None:
    env = pg.make(pg.Track, path="circle", noise=False, **RGB)
    env.reset(seed=0)
    first = frame_of(env)
    assert is_blue(first).sum() == 0
    for _ in range(60):
        env.step(np.array([0, 0, 0, 0.2], dtype=np.float32))
    later = frame_of(env)
    assert is_blue(later).sum() > 15
    # it has climbed
    assert centre_of(is_blue(later))[1] > centre_of(is_vehicle(later))[1]
    env.reset()
    restarted = frame_of(env)
    assert is_blue(restarted).sum() == 0


def test_an_onboard_camera_rotates_with_the_vehicle() -> None:
    """At a roll of 180 degrees the sky is in the lower half."""
    env = pg.make(pg.Hover, render_camera="onboard", **RGB)
    differences = []
    for attitude in ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]):
        env.reset(seed=0, options={"state": {"attitude": attitude, "position": [2.0, 0.0, 0.0]}})
        frame = frame_of(env)
        assert is_vehicle(frame).sum() < 10
        blueness = frame[..., 2].astype(int) - frame[..., 0]
        differences.append(blueness[:60].mean() - blueness[-60:].mean())
    assert differences[0] > 20
    assert differences[1] < -20


def test_the_floor_is_never_above_the_vehicle() -> None:
    env = pg.make(pg.Hover, bound=100.0, **RGB)
    env.reset(seed=0)
    for height in (-2.5, -3.5, -11.0, -40.0):
        env.set_state({"position": [0.0, 0.0, height], "attitude": [1, 0, 0, 0]})
        frame = frame_of(env)
        assert is_vehicle(frame).sum() > 20, height


def test_each_image_shows_its_own_environment() -> None:
    envs = pg.make_vec(pg.Race, 3, course_seed=[0, 1], **RGB)
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None
    for row, frame in enumerate(frames):
        alone = pg.make_vec(pg.Race, 1, course_seed=[0, 1], index=row, **RGB)
        alone.reset(seed=0)
        single = alone.render()
        assert single is not None
        assert np.array_equal(frame, single[0])
        assert not np.array_equal(frame, frames[row - 1])


# conventions of gymnasium


def test_frames_of_vector_environments_are_a_tuple() -> None:
    envs = gym.make_vec(
        "propwash.gym:propwash/Hover-v0", num_envs=3,
        vectorization_mode="vector_entry_point", **RGB,
    )  # fmt: skip
    envs.reset(seed=0)
    frames = envs.render()
    assert isinstance(frames, tuple)
    assert [frame.shape for frame in frames] == [(240, 320, 3)] * 3
    many = pg.make_vec(pg.Hover, 100, render_envs=2, **RGB)
    many.reset(seed=0)
    few = many.render()
    assert few is not None
    assert all(np.array_equal(one, other) for one, other in zip(few, frames[:2], strict=True))


def test_registered_environments_render() -> None:
    env = gym.make("propwash.gym:propwash/Hover-v0", render_mode="rgb_array")
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    env.reset(seed=1)
    assert env.render().shape == (480, 640, 3)
    assert env.metadata["render_fps"] == 96
    assert set(env.metadata["render_modes"]) == {"rgb_array", "human"}
    slow = gym.make("propwash/Hover-v0", render_mode="rgb_array", substeps=30)
    assert slow.metadata["render_fps"] == 32
    listed = gym.make("propwash/Hover-v0", render_mode="rgb_array_list", **SMALL)
    listed.reset(seed=1)
    listed.step(idle(listed))
    assert len(listed.render()) == 2


@needs_pygame
@pytest.mark.filterwarnings("ignore:.*A Box observation space m..imum value is")
def test_the_environment_checker_accepts_all_render_modes() -> None:
    env = gym.make("propwash/Hover-v0", **SMALL)
    check_env(env.unwrapped)
    env.close()


@quiet
@needs_moviepy
def test_gymnasium_records_videos(tmp_path: Path) -> None:
    one: Any = RecordVideo(
        gym.make("propwash/Land-v0", **RGB), str(tmp_path / "one"), video_length=8
    )
    one.reset(seed=0)
    for _ in range(9):
        one.step(idle(one))
    one.close()
    envs = gym.make_vec("propwash/Land-v0", num_envs=3, **RGB)
    many: Any = vector_wrappers.RecordVideo(
        envs, str(tmp_path / "many"), step_trigger=lambda step: step == 0, video_length=8
    )
    many.reset(seed=0)
    for _ in range(9):
        many.step(idle(many))
    many.close()
    videos = sorted(tmp_path.rglob("*.mp4"))
    assert len(videos) == 2
    assert all(video.stat().st_size > 1000 for video in videos)


@needs_pygame
def test_windows_show_the_frames() -> None:
    import pygame

    windows: list[Any] = [
        gym.make("propwash/Hover-v0", render_mode="human", **SMALL),
        HumanRendering(gym.make("propwash/Hover-v0", **RGB)),
    ]
    for env in windows:
        env.reset(seed=0)
        env.step(idle(env))
        shown = pygame.surfarray.array3d(pygame.display.get_surface())
        assert shown.shape == (320, 240, 3)
        assert shown.std() > 10
        assert env.render() is None
        env.close()
        assert not pygame.display.get_init()
    envs: Any = pg.make_vec(pg.Hover, 9, render_mode="human", render_envs=5, **SMALL)
    envs.reset(seed=0)
    assert pygame.display.get_surface().get_size() == (960, 480)
    assert envs.render() is None
    envs.close()
    wrapped: Any = vector_wrappers.HumanRendering(pg.make_vec(pg.Hover, 2, **RGB))
    wrapped.reset(seed=0)
    wrapped.step(idle(wrapped))
    wrapped.close()


# resources and refused arguments


def test_rendering_resources_are_created_on_demand() -> None:
    code = (
        "import sys, propwash.gym as pg, numpy as np\n"
        "envs = pg.make_vec(pg.Track, 2)\n"
        "envs.reset(seed=0)\n"
        "envs.step(np.zeros((2, 4)))\n"
        "assert envs._renderer is None and envs.task._scenery is None\n"
        "wanted = ('propwash.gym._frames', 'propwash.render.bodies', 'pygame', 'PIL')\n"
        "sys.exit(any(name in sys.modules for name in wanted))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_a_render_mode_render_warns() -> None:
    env = pg.make(pg.Hover)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array' or 'human'"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"render_mode": "ansi"}, "render_mode: expected 'rgb_array' or 'human'"),
        ({"render_camera": "side"}, "render_camera: expected 'chase' or 'onboard'"),
        ({"render_size": (640,)}, "render_size = .*: expected width and height"),
        ({"render_size": (640, 0)}, "render_size: expected a whole number from 16"),
        ({"render_envs": 0}, "render_envs: expected a whole number from 1"),
        ({"render_envs": 4, "render_mode": "rgb_array"}, "of the 3 environments to draw"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pg.make_vec(pg.Hover, 3, **options)


def test_too_many_environments_to_render_are_refused() -> None:
    with pytest.raises(ValueError, match=r"of the 65 environments.*render_envs=64"):
        pg.make_vec(pg.Hover, 65, render_mode="rgb_array")


def test_without_pygame_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"propwash\[show\]"):
        pg.make(pg.Hover, render_mode="human")
