"""Stereo depth by block matching, compared with the depth camera.

The pair has the published baseline of 0.32 m. For each block of the left image, the search finds
the most similar block in the same rows of the right image.

    python examples/stereo_depth.py [--scene warehouse] [--out stereo.png]
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from propwash import Camera
from propwash.render import Offscreen, RenderCamera, depth_in_metres, stereo

BASELINE = 0.32  # m
BLOCK = 9  # px
SEARCHED = 96  # px of disparity


def block_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the block around each pixel."""
    half = BLOCK // 2
    padded = np.pad(values, ((half + 1, half), (half + 1, half)), mode="edge")
    summed = padded.cumsum(axis=0).cumsum(axis=1)
    wide = summed[BLOCK:] - summed[:-BLOCK]
    return np.asarray(wide[:, BLOCK:] - wide[:, :-BLOCK])


def costs(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences of blocks, (disparities, h, w); infinite outside the image."""
    width = left.shape[1]
    cost = np.full((SEARCHED, *left.shape), np.inf)
    for d in range(SEARCHED):
        difference = np.abs(left[:, d:] - right[:, : width - d])
        cost[d, :, d:] = block_sums(np.minimum(difference, 40.0))
    return cost


def block_matching(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Disparities in pixels; NaN if the searches from left and right disagree."""
    cost = costs(left.astype(np.float64), right.astype(np.float64))
    best = cost.argmin(axis=0)
    rows, columns = np.indices(best.shape)
    d = np.clip(best, 1, SEARCHED - 2)
    before, here, after = (cost[d + k, rows, columns] for k in (-1, 0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        # the vertex of the parabola through three costs
        found = d + 0.5 * (before - after) / (before - 2.0 * here + after)
    # consistency check: the search from the right
    mirrored = costs(right[:, ::-1].astype(np.float64), left[:, ::-1].astype(np.float64))
    back = mirrored.argmin(axis=0)[:, ::-1]
    agrees = np.abs(back[rows, np.maximum(columns - best, 0)] - best) <= 1
    return np.where(agrees & np.isfinite(found) & (found > 0.5), found, np.nan)


def main() -> None:
    """Renders, matches and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="warehouse")
    parser.add_argument("--position", type=float, nargs=3, default=(0.0, 0.0, 1.5))
    parser.add_argument("--out", default="", help="an image of left, depth camera and stereo")
    arguments = parser.parse_args()

    width, height, fov = 480, 360, 70.0
    renderer = Offscreen(arguments.scene, width=width, height=height, vertical_fov_deg=fov, seed=1)
    pair = stereo("grey", BASELINE)
    truth = RenderCamera("depth", "depth", position=pair[0].position)
    frame = renderer.render([*pair, truth], position=arguments.position)
    focal_length = Camera(width, height, fov).focal_length
    disparity = block_matching(frame.images["left"], frame.images["right"])
    with np.errstate(invalid="ignore"):
        depth = focal_length * BASELINE / disparity
    true = depth_in_metres(frame.images["depth"])
    near = focal_length * BASELINE / (SEARCHED - 2)
    # disparities below two pixels are too small to measure
    visible = (true > near) & (true < focal_length * BASELINE / 2.0)
    visible[:, :SEARCHED] = False
    matched = visible & np.isfinite(depth)
    error = np.abs(depth[matched] / true[matched] - 1.0)
    far = true[visible].max()
    print(f"{arguments.scene}: {visible.sum()} pixels between {near:.1f} and {far:.1f} m")
    print(f"matched: {matched.sum() / visible.sum():.0%} of them")
    print(f"error of depth: median {np.median(error):.1%}, {np.mean(error < 0.05):.0%} within 5 %")
    if arguments.out:
        save(arguments.out, frame.images["left"], true, depth)


def save(
    path: str, left: NDArray[np.uint8], true: NDArray[np.floating], depth: NDArray[np.floating]
) -> None:
    """Plots the three images side by side (needs the extra `viz`)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
    axes[0].imshow(left, cmap="gray")
    axes[0].set_title("left camera")
    for axis, values, title in [(axes[1], true, "depth camera"), (axes[2], depth, "stereo")]:
        shown = axis.imshow(values, cmap="turbo_r", vmin=0.0, vmax=30.0)
        axis.set_title(title)
    for axis in axes:
        axis.set_xlabel("u [px]")
        axis.set_ylabel("v [px]")
    figure.colorbar(shown, ax=axes, label="depth [m]")
    figure.savefig(path)
    print(path)


if __name__ == "__main__":
    main()
