"""Clients with the memory layout of the published ones against the reference renderer.

These clients are written from the page of the protocol only and share no code with propwash. They
copy as many bytes of a frame as the published clients do, so a frame that those would read or write
beyond its end fails here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_renderer import free_pair
from numpy.typing import NDArray
from propwash.render import Client, Frame, Offscreen, RenderCamera
from propwash.render.cameras import CHANNELS, KINDS
from wire_client import (
    FOV,
    HEIGHT,
    POSITION,
    SCENE,
    WIDTH,
    camera,
    payload,
    running,
    server,
    serving,
)

Images = dict[str, NDArray[Any]]

CAMERAS = [RenderCamera(kind, kind) for kind in KINDS]  # type: ignore[arg-type]
V2_KEYS = ("channels", "isDepth", "outputIndex")
V3_KEYS = ("outputShaderType", "motionBlurPercent", "shouldRenderThisFrame")


def in_process() -> Frame:
    """The expected images: top row first, in the type of each kind."""
    offscreen = Offscreen(SCENE, width=WIDTH, height=HEIGHT, vertical_fov_deg=FOV, antialias=1)
    return offscreen.render(CAMERAS, POSITION)


def of_version(message: bytes, without: tuple[str, ...], **cameras: dict[str, Any]) -> bytes:
    """A pose without some keys, with additional keys of some cameras."""
    pose = json.loads(message)
    for each in pose["cameras"]:
        for key in without:
            del each[key]
        each.update(cameras.get(each["ID"], {}))
    return json.dumps(pose).encode()


def copied(message: list[bytes], bytes_of: Callable[[int], int]) -> Images:
    """The images as a published client copies them: `bytes_of` channels for each pixel."""
    header = json.loads(message[0].decode("ascii"))
    width, height = header["camWidth"], header["camHeight"]
    images = {}
    columns = (header["cameraIDs"], header["channels"], message[1:])
    for name, channels, frame in zip(*columns, strict=True):
        pixel = bytes_of(channels)
        size = width * height * pixel
        assert len(frame) == size, f"{name}: copies {size} bytes of a frame of {len(frame)}"
        rows = np.frombuffer(frame[:size], "<u2" if channels == 2 else "u1")
        shape = (height, width) if channels in (1, 2) and pixel < 3 else (height, width, 3)
        images[name] = rows.reshape(shape)[::-1]
    return images


def copied_by_v3(message: list[bytes]) -> Images:
    """3 bytes per pixel, also if `channels` is 1; 2 if it is 2."""
    header = json.loads(message[0])
    for key in ("ntime", "camDepthScale", "cameraIndexes"):
        assert key in header
    return copied(message, lambda channels: 2 if channels == 2 else 3)


def copied_by_v2(message: list[bytes]) -> Images:
    """1 byte per pixel if `channels` is 1, 3 if it is 3."""
    header = json.loads(message[0])
    for key in ("ntime", "camDepthScale", "hasCameraCollision", "landmarksInView"):
        assert key in header
    return copied(message, {1: 1, 3: 3}.__getitem__)


@pytest.mark.parametrize("without", [V2_KEYS, ()], ids=["v3", "v2 and v3"])
def test_published_v3_clients_can_copy_all_images(without: tuple[str, ...]) -> None:
    message = of_version(payload([camera(kind, kind) for kind in KINDS], ntime=7), without)
    with running(lambda ports: server(ports=ports)) as (_, peer):
        images = copied_by_v3(peer.request_frames(message))
    expected = in_process().images
    assert list(images) == list(KINDS)
    for kind, shader in KINDS.items():
        image = expected[kind]
        if shader in (2, 5):
            assert image.ndim == 2
            image = np.repeat(image[:, :, np.newaxis], 3, axis=2)
        np.testing.assert_array_equal(images[kind], image)


def test_published_v2_clients_receive_one_byte_per_grey_pixel() -> None:
    keys = {"rgb": {"channels": 3}, "grey": {"channels": 1}}
    message = of_version(payload([camera(kind) for kind in keys], ntime=7), V3_KEYS, **keys)
    with running(lambda ports: server(ports=ports)) as (_, peer):
        images = copied_by_v2(peer.request_frames(message))
    expected = in_process().images
    for kind in keys:
        np.testing.assert_array_equal(images[kind], expected[kind])
    assert images["grey"].ndim == 2


def test_images_of_the_client_equal_those_in_process() -> None:
    ports = free_pair()
    sizes = {"width": WIDTH, "height": HEIGHT, "vertical_fov_deg": FOV}
    with (
        serving(server(ports=ports)),
        Client("", CAMERAS, ports=ports, **sizes) as client,  # type: ignore[arg-type]
    ):
        images = client.request_vehicle(1, POSITION, (1.0, 0.0, 0.0, 0.0)).images
    expected = in_process().images
    for kind in KINDS:
        np.testing.assert_array_equal(images[kind], expected[kind])
        assert (images[kind].ndim == 2) == (CHANNELS[kind] < 3)
        assert not images[kind].flags.writeable
