"""The C++ client's example against the reference renderer, each a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_renderer import free_pair
from helpers import compiler

ROOT = Path(__file__).resolve().parents[2]


def built(folder: Path) -> Path:
    """The program; skips where its compiler or libraries are missing."""
    json = pytest.importorskip("nlohmann_json", reason="nlohmann-json of PyPI is missing")
    there = "#include <zmq.hpp>\nint main() { zmq::context_t context; }\n"
    probe = subprocess.run(
        [compiler(), "-std=c++17", "-x", "c++", "-", "-o", str(folder / "probe"), "-lzmq"],
        input=there,
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode != 0:
        pytest.skip("cppzmq and libzmq are missing (Debian: cppzmq-dev)")
    program = folder / "render_client"
    source = ROOT / "examples" / "render_client.cpp"
    includes = ["-I", str(ROOT / "include"), "-isystem", json.get_include()]
    command = [compiler(), "-std=c++17", *includes, str(source), "-lzmq", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def test_the_cpp_client_gets_every_picture_of_the_reference_renderer(tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    program = built(tmp_path)
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
        # level at 2 m above a plain, and nothing is below but the plain
        assert re.search(r"1024 x 768 px, 2359296 bytes, range 2\.00 m, \d+ landmarks, after", line)
    assert any("0 landmarks" not in line for line in lines)
