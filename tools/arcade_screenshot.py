"""Flies the slalom of the arcade by keys in Chromium, and writes a screenshot of the page.

python tools/arcade_screenshot.py docs/figures/arcade.jpg
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from arcade_browser_helpers import (
    ArcadePage,
    KeyPilot,
    RunningArcade,
    offline_chromium,
    require_chromium,
)

AHEAD = 3.0  # m after the first gate


def main(path: str) -> None:
    """Writes the screenshot to `path`."""
    with tempfile.TemporaryDirectory() as folder, offline_chromium(require_chromium()) as browser:
        arcade = RunningArcade(Path(folder), "--course", "slalom")
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page = ArcadePage(context, arcade.url)
        page.clock(0.25)
        page.get("document.querySelector('#ghosts [value=pilot]').click()")
        page.get("document.querySelector('#settings [type=submit]').click()")
        page.wait("arcade.course.ghosts.length")
        pilot = KeyPilot(page, speed=2.0)
        gate = "arcade.course.gates[0].position"
        passed = f"arcade.hud.passed.length === 1 && arcade.hud.position[0] > {gate}[0] + {AHEAD}"
        page.wait(f"arcade.hud.phase === 'collided' || ({passed})", pilot.step)
        page.page.screenshot(path=path, type="jpeg", quality=85)
        pilot.release()
        context.close()
        arcade.stop()


if __name__ == "__main__":
    main(sys.argv[1])
