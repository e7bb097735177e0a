"""Scene files that are based on another scene."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import propwash as pw
import pytest
from propwash import world
from propwash.world import Scene

BALL = """
[[items]]
shape = "sphere"
name = "{name}"
radius = 0.5
position = [1, 2, 3]
perturbation = [1, 1, 0]
"""


def written(folder: Path, name: str, head: str, items: str = "") -> Path:
    path = folder / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'name = "{name}"\n{head}\n{items}', encoding="utf-8")
    return path


@pytest.mark.parametrize("base", world.scene_names())
@pytest.mark.parametrize("seed", [None, 3])
def test_the_items_of_the_base_come_first_as_they_are_there(
    tmp_path: Path, base: str, seed: int | None
) -> None:
    alone = Scene.load(base, seed=seed)
    above = written(tmp_path, "above", f'base = "{base}"', BALL.format(name="ball"))
    jsonschema.validate(tomllib.loads(above.read_text("utf-8")), world.scene_json_schema())
    scene = Scene.load(above, seed=seed)
    assert scene.items[:-1] == alone.items
    assert scene.items[-1].name == "ball"
    assert (scene.items[-1].position == (1.0, 2.0, 3.0)) == (seed is None)
    assert scene.start == alone.start
    assert scene.markers.names == alone.markers.names
    assert scene.name == "above"


def test_a_base_may_have_a_base_and_paths_are_relative_to_their_files(tmp_path: Path) -> None:
    written(tmp_path / "deep", "lowest", "", BALL.format(name="a") + "[start]\nposition=[1,1,1]\n")
    written(tmp_path / "deep", "middle", 'base = "lowest.toml"', BALL.format(name="b"))
    head = 'base = "deep/middle.toml"\nstart = { position = [2, 2, 2], yaw = 1 }'
    marker = '[[markers]]\nname = "lamp"\nposition = [0, 0, 0]\n'
    top = Scene.load(written(tmp_path, "top", head, BALL.format(name="c") + marker))
    assert top.names == ("a", "b", "c")
    assert top.start == world.Start(position=(2, 2, 2), yaw=1)
    assert top.markers.names == ("lamp",)
    middle = Scene.load(tmp_path / "deep" / "middle.toml")
    assert middle.start == world.Start(position=(1, 1, 1))


def test_a_saved_scene_with_a_base_needs_no_base(tmp_path: Path) -> None:
    path = written(tmp_path, "above", 'base = "warehouse"', BALL.format(name="ball"))
    scene = Scene.load(path, seed=1)
    scene.save(tmp_path / "saved.toml")
    assert "base" not in tomllib.loads((tmp_path / "saved.toml").read_text("utf-8"))
    assert Scene.load(tmp_path / "saved.toml").items == scene.items


@pytest.mark.parametrize("length", [1, 2, 3, 40])
def test_cycles_are_refused(tmp_path: Path, length: int) -> None:
    for k in range(length):
        written(tmp_path, f"s{k}", f'base = "../{tmp_path.name}/s{(k + 1) % length}.toml"')
    last = tmp_path / f"s{length - 1}.toml"
    with pytest.raises(pw.ParameterError, match="that is not based on this one") as error:
        Scene.load(tmp_path / "s0.toml")
    assert str(last.name) in str(error.value)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ('"warehose"', "above.toml: base = 'warehose': expected a shipped scene or a TOML file"),
        ('"warehose"', "did you mean 'warehouse'?"),
        ('"other.toml"', "above.toml: base = 'other.toml'"),
        ('""', "above.toml: base = ''"),
        ('"\\u0000"', "above.toml: base = "),
        ("3", "above.toml: base = 3: expected a text"),
        ("[]", "above.toml: base = []: expected a text"),
        ('"broken.toml"', "broken.toml: items[0].shape = 'bal'"),
        ('"twice.toml"', "above.toml: item name = 'ball': expected a unique name"),
    ],
)
def test_errors_name_the_file_with_the_invalid_value(
    tmp_path: Path, base: str, message: str
) -> None:
    written(tmp_path, "broken", "", '[[items]]\nshape = "bal"\nname = "ball"\n')
    written(tmp_path, "twice", "", BALL.format(name="ball"))
    above = written(tmp_path, "above", f"base = {base}", BALL.format(name="ball"))
    with pytest.raises(pw.ParameterError, match=re.escape(message)):
        Scene.load(above)


def test_parameters_of_the_generator_of_a_base_may_be_changed(tmp_path: Path) -> None:
    middle = written(tmp_path, "middle", 'base = "forest"', BALL.format(name="ball"))
    top = written(tmp_path, "top", 'base = "middle.toml"')
    dense = Scene.load("forest", seed=3, density=0.1)
    for path in (middle, top):
        assert Scene.load(path, seed=3, density=0.1).items[:-1] == dense.items
    own = Path(world.__file__).parent / "scenes" / "warehouse.toml"
    generator = tomllib.loads(own.read_text("utf-8"))["generator"]
    table = "[generator]\n" + "\n".join(
        f"{name} = {f'{value!r}'.replace(chr(39), chr(34))}" for name, value in generator.items()
    )
    nearest = written(tmp_path, "nearest", 'base = "forest"', table)
    names = Scene.load(nearest, fill=0.0).names
    assert "trunk0" in names
    assert not any("crate" in name for name in names)
    with pytest.raises(pw.ParameterError, match=r"alone.toml: fill: expected none for a scene wit"):
        Scene.load(written(tmp_path, "alone", 'base = "room"'), fill=0.0)
