"""The package as installed by users: version, wheel, source distribution, CMake consumer."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import propwash
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "propwash" / "version.hpp"

needs_checkout = pytest.mark.skipif(
    not HEADER.exists(), reason="the tests are not in a source tree of propwash"
)
pytestmark = needs_checkout

FLIGHT = """
import numpy as np, propwash as pw
uav = pw.Multicopter("flightgoggles", seed=1)
uav.step(pw.RateThrust([0, 0, 1], thrust=12.0), dt=1 / 960, substeps=960)
assert np.isfinite(uav.state.position).all() and uav.state.position[2] > 0.1
fleet = pw.Fleet("flightgoggles", 64, seed=1)
fleet.step(pw.RateThrust(np.zeros((64, 3)), thrust=np.full(64, 12.0)), substeps=960)
assert (fleet.state.position[:, 2] > 0.1).all()
print(pw.__file__)
"""


def tool(name: str) -> str:
    """A program beside this Python or on the PATH; skips if it is missing."""
    path = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if path is None:
        pytest.skip(f"{name} is missing (pip install {name})")
    return path


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command; fails if it fails. Programs beside this Python come first."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def directory_of(flag: str, tmp_path: Path) -> Path:
    """The directory that `python -m propwash FLAG` prints outside the source tree."""
    return Path(run(sys.executable, "-m", "propwash", flag, cwd=tmp_path).strip())


def version_macros() -> dict[str, str]:
    """The macros of version.hpp."""
    return dict(re.findall(r'#define (PROPWASH_VERSION\w*) "?([\d.]+)"?', HEADER.read_text()))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from the source tree; reuses the build of `make`."""
    pytest.importorskip("scikit_build_core", reason="wheels need scikit-build-core")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
        "--config-settings=build-dir=build/python",
        "--config-settings=cmake.define.PROPWASH_PARTS=all",
        "--wheel-dir", folder, ".")  # fmt: skip
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The file names of a source distribution, relative to its root; built without git."""
    pytest.importorskip("scikit_build_core", reason="source distributions need scikit-build-core")
    folder = tmp_path_factory.mktemp("sdist")
    make = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", make, folder)
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_version_is_stated_once() -> None:
    macros = version_macros()
    parts = [macros[f"PROPWASH_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
    assert macros["PROPWASH_VERSION"] == ".".join(parts)
    assert propwash.__version__ == macros["PROPWASH_VERSION"]
    assert importlib.metadata.version("propwash") == macros["PROPWASH_VERSION"]


def test_citation_and_changelog_have_the_same_version() -> None:
    version = version_macros()["PROPWASH_VERSION"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.slow
def test_wheel_contains_only_the_package(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    headers = {
        f"propwash/include/{path.relative_to(ROOT / 'include')}"
        for path in (ROOT / "include").rglob("*")
        if path.is_file()
    }
    vehicles = {
        f"propwash/vehicle/files/{path.name}"
        for path in (ROOT / "python" / "propwash" / "vehicle" / "files").glob("*.toml")
    }
    policies = {f"propwash/gym/policies/{name}.onnx" for name in ("hover", "track", "race", "land")}
    required = {
        "propwash/__init__.py",
        "propwash/py.typed",
        "propwash/share/cmake/propwash/propwashConfig.cmake",
        "propwash/share/cmake/propwash/propwashConfigVersion.cmake",
        "propwash/share/cmake/propwash/propwashTargets.cmake",
        "propwash/share/pkgconfig/propwash.pc",
    }
    assert vehicles
    assert required | headers | vehicles | policies <= names
    for part in ("_core", "_derivatives", "_float64", "_learn", "_models", "_render", "_world"):
        assert any(re.fullmatch(rf"propwash/{part}(/.+)?\.pyi", name) for name in names)
        assert len([name for name in names if re.search(rf"/{part}\..*(so|pyd)$", name)]) == 1
    assert any(re.search(r"\.dist-info/licenses/LICENSE$", name) for name in names)
    strays = [name for name in names if not re.match(r"propwash(/|-[\d.]+\.dist-info/)", name)]
    assert not strays
    assert not [name for name in names if name.endswith((".cpp", ".in", ".pyc", ".csv"))]


@pytest.mark.slow
def test_wheel_is_below_ten_megabytes(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).stat().st_size < 10e6


@pytest.mark.slow
def test_wheel_has_few_requirements(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    base = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    names = {re.split(r"[<>=!~ ;]", line.split(": ")[1])[0] for line in base}
    assert names == {"numpy", "msgspec", "lazy-loader"}


@pytest.mark.slow
def test_wheel_runs_in_a_fresh_environment_without_a_compiler(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    """The wheel of `make wheel`, with a manylinux tag on Linux."""
    assert wheel.filename is not None
    path = Path(wheel.filename)
    if sys.platform == "linux":
        pytest.importorskip("auditwheel", reason="the manylinux tag needs auditwheel")
        tool("patchelf")
        run(sys.executable, "-m", "auditwheel", "repair", "--only-plat",
            "--wheel-dir", tmp_path / "dist", path)  # fmt: skip
        (path,) = (tmp_path / "dist").glob("*.whl")
        assert "manylinux" in path.name
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    programs = venv / ("Scripts" if os.name == "nt" else "bin")
    bare = {"PATH": str(programs), "HOME": str(tmp_path), "CXX": "no-compiler"}
    index = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}

    def in_venv(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(programs / "python"), *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=bare | index, capture_output=True, text=True, check=False
        )

    assert shutil.which("c++", path=str(programs)) is None
    required = ("numpy", "msgspec", "lazy-loader")
    packages = in_venv("-m", "pip", "install", "--only-binary=:all:", *required)
    if packages.returncode != 0:
        pytest.skip(f"no package index: {packages.stderr.strip().splitlines()[-1]}")
    installed = in_venv("-m", "pip", "install", "--no-index", path)
    assert installed.returncode == 0, installed.stderr
    flown = in_venv("-c", FLIGHT)
    assert flown.returncode == 0, flown.stderr
    assert str(venv) in flown.stdout


@pytest.mark.slow
def test_source_distribution_contains_all_sources(sdist: set[str]) -> None:
    required = {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "PKG-INFO"}
    folders = ("include", "src", "cmake", "bindings", "python")
    sources = {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix
        in (".hpp", ".cpp", ".in", ".cmake", ".py", ".pyi", ".toml", ".onnx", ".typed")
    }
    assert required | sources <= sdist


@pytest.mark.slow
def test_source_distribution_contains_no_build_products(sdist: set[str]) -> None:
    foreign = re.compile(
        r"(^|/)(\.git|\.venv|build|dist|shared|__pycache__|\.[a-z]+_cache)(/|$)"
        r"|\.(so|pyc|whl|o|a)$|(^|/)demo\.png$"
    )
    assert not [name for name in sdist if foreign.search(name)]


def test_directories_of_the_package_exist(tmp_path: Path) -> None:
    assert (directory_of("--cmakedir", tmp_path) / "propwashConfig.cmake").is_file()
    assert (directory_of("--includedir", tmp_path) / "propwash" / "propwash.hpp").is_file()
    assert (directory_of("--pkgconfigdir", tmp_path) / "propwash.pc").is_file()


@pytest.mark.slow
def test_consumer_finds_propwash_through_the_python_package(tmp_path: Path) -> None:
    cmake = tool("cmake")
    build = tmp_path / "build"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(cmake, "-S", ROOT / "tests" / "consumers" / "cmakedir", "-B", build, *generator,
        f"-DPython3_EXECUTABLE={sys.executable}", cwd=tmp_path)  # fmt: skip
    run(cmake, "--build", build, cwd=tmp_path)
    printed = run(build / "consumer", cwd=tmp_path)
    position = [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", printed)[:3]]
    # the thrust equals the weight, so the vehicle stays near its start for a second
    assert position == pytest.approx([0.0, 0.0, 1.0], abs=1.0)


@pytest.mark.slow
def test_parts_of_the_extension_are_chosen_with_those_that_they_need(tmp_path: Path) -> None:
    command: list[str | Path] = [
        tool("cmake"), "-S", ROOT, "-B", tmp_path / "build", "-DPROPWASH_BUILD_PYTHON=ON",
        "-DPROPWASH_BUILD_TESTS=OFF", "-DPROPWASH_BUILD_EXAMPLES=OFF", "-DPROPWASH_KERNELS=native",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    for parts, built in (
        ("core", {"core"}),
        ("learn", {"core", "world", "learn"}),
        ("all", {"core", "models", "float64", "derivatives", "world", "learn", "render"}),
    ):
        (line,) = re.findall(
            r"parts of the extension: (.*)", run(*command, f"-DPROPWASH_PARTS={parts}")
        )
        assert set(line.split(";")) == built
    refused = subprocess.run(
        [*map(str, command), "-DPROPWASH_PARTS=worlds"], capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "PROPWASH_PARTS = worlds: expected all, or a list of" in refused.stderr


@pytest.mark.slow
def test_stubs_match_the_extension() -> None:
    pytest.importorskip("pybind11_stubgen", reason="stubs are generated by pybind11-stubgen")
    run(sys.executable, ROOT / "tools" / "stubs.py", "--check")
