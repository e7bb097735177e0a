"""The example of the C++ client against the reference renderer, in separate processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_renderer import free_pair
from helpers import compiler

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "render_client.cpp"


def build(folder: Path) -> Path:
    """The compiled program; skips if its compiler or libraries are missing."""
    json = pytest.importorskip("nlohmann_json", reason="nlohmann-json of PyPI is missing")
    source = "#include <zmq.hpp>\nint main() { zmq::context_t context; }\n"
    probe = subprocess.run(
        [compiler(), "-std=c++17", "-x", "c++", "-", "-o", str(folder / "probe"), "-lzmq"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode != 0:
        pytest.skip("cppzmq and libzmq are missing (Debian: cppzmq-dev)")
    program = folder / "render_client"
    includes = ["-I", str(ROOT / "include"), "-isystem", json.get_include()]
    command = [compiler(), "-std=c++17", *includes, str(SOURCE), "-lzmq", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.slow
def test_the_cpp_client_receives_all_images(tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    program = build(tmp_path)
    ports = [str(port) for port in free_pair()]
    command = [sys.executable, "-m", "propwash", "render", "--scene", "alphapilot"]
    with subprocess.Popen([*command, "--antialias", "1", "--port", *ports]) as renderer:
        try:
            ran = subprocess.run(
                [program, *ports], capture_output=True, text=True, timeout=60, check=False
            )
        finally:
            renderer.kill()
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 60
    for line in lines:
        # level, 2 m above the ground
        assert re.search(r"1024 x 768 px, 2359296 bytes, range 2\.00 m, \d+ landmarks, after", line)
    assert any("0 landmarks" not in line for line in lines)
