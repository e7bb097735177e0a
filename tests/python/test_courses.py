"""The shipped courses: their files, their seeds, and flights of the built-in pilot."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import numpy as np
import propwash as pw
import pytest
from propwash import arcade, race, world
from propwash._files import read_toml
from propwash.gym import Race
from propwash.race import Course

COURSES = race.courses()
SEEDS = (0, 1, 2)


def test_there_are_a_lesson_alphapilot_five_courses_in_the_warehouse_and_two_in_the_room() -> None:
    assert list(COURSES)[:2] == ["lesson", "alphapilot"]
    assert arcade.ArcadeSettings().course == "lesson"
    bases = [read_toml(Path(course.file), ValueError)["base"] for course in COURSES.values()]
    assert sorted(bases) == ["alphapilot", "empty", *["room"] * 2, *["warehouse"] * 5]
    folder = Path(COURSES["alphapilot"].file).parent
    assert {path.stem for path in folder.iterdir()} == set(COURSES), "files without a title"
    for name, course in COURSES.items():
        assert course.name == course.scene(None).name == name
        assert course.title
        assert "\n" not in course.title


@pytest.mark.parametrize("name", COURSES)
def test_files_fit_the_schema(name: str) -> None:
    jsonschema.validate(read_toml(Path(COURSES[name].file), ValueError), world.scene_json_schema())


@pytest.mark.parametrize("name", COURSES)
def test_a_seed_moves_each_gate_within_its_bounds(name: str) -> None:
    course = COURSES[name]
    scenes = [course.scene(seed).gates for seed in SEEDS]
    for k, nominal in enumerate(course.gates):
        assert any(nominal.perturbation), f"{nominal.name} is the same for all seeds"
        x, y, yaw = nominal.perturbation
        poses = [gates[k] for gates in scenes]
        assert len({(gate.position, gate.attitude) for gate in poses}) == len(SEEDS)
        for gate in poses:
            moved = np.abs(np.subtract(gate.position, nominal.position))
            rotated = abs((gate.yaw - nominal.yaw + np.pi) % (2 * np.pi) - np.pi)
            assert np.all(moved <= np.array([x, y, 0.0]) + 1e-12)
            assert rotated <= yaw + 1e-9


@pytest.mark.parametrize(
    "vehicle", ["flightgoggles", pytest.param("blackbird", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", COURSES)
def test_the_built_in_pilot_finishes_each_course(name: str, vehicle: str) -> None:
    for seed in SEEDS:
        result = race.fly(seed, vehicle, scene=COURSES[name].scene(seed))
        assert result.finished, race.report(result)


@pytest.mark.parametrize("name", COURSES)
def test_the_way_up_from_the_ground_below_the_start_is_free(name: str) -> None:
    for seed in SEEDS:
        scene = COURSES[name].scene(seed)
        assert scene.start is not None
        x, y, z = scene.start.position
        lowest = race.COLLISION_RADIUS + 0.05
        hits = scene.spherecast([x, y, lowest], [x, y, z], 2.0 * race.COLLISION_RADIUS - 0.05)
        below = scene.spherecast([x, y, lowest], [x, y, lowest + 0.01], race.COLLISION_RADIUS)
        assert below.id < 0
        assert hits.id < 0 or scene[int(hits.id)].shape == "plane"


@pytest.mark.slow
@pytest.mark.parametrize("name", COURSES)
def test_environments_accept_each_course(name: str) -> None:
    # they refuse gates that overlap
    for seed in range(20):
        Race(course=COURSES[name].scene(seed))


@pytest.mark.parametrize("name", COURSES)
def test_openings_are_free_for_a_vehicle(name: str) -> None:
    # along the axis of each gate, at its centre and half the way to its bars
    for seed in SEEDS:
        scene = COURSES[name].scene(seed)
        for gate in scene.gates:
            forward = np.array([np.cos(gate.yaw), np.sin(gate.yaw), 0.0])
            left = np.array([-forward[1], forward[0], 0.0])
            for side in (-0.5, 0.0, 0.5):
                for up in (-0.5, 0.0, 0.5):
                    point = gate.position + 0.5 * side * gate.width * left
                    point[2] += 0.5 * up * gate.height
                    hit = scene.spherecast(
                        point - 0.3 * forward, point + 0.3 * forward, race.COLLISION_RADIUS
                    )
                    assert hit.id < 0, f"{gate.name}: {scene.names[int(hit.id)]}"


def test_a_course_is_found_by_its_name_or_file(tmp_path: Path) -> None:
    assert race.find_course("slalom") == COURSES["slalom"]
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "My / course"\nbase = "room"\n[[items]]\nshape = "gate"\nname = "Gate1"\n'
        "width = 1.5\nheight = 1.2\nposition = [2, 0, 1.5]\n"
    )
    course = race.find_course(file)
    assert isinstance(course, Course)
    assert (course.name, course.title) == ("mine", "My / course")
    assert [gate.name for gate in course.gates] == ["Gate1"]
    assert race.fly(0, scene=course.scene(0)).finished


@pytest.mark.parametrize(
    ("course", "message"),
    [
        ("slalon", "no course 'slalon'; did you mean 'slalom'? Expected one of alphapilot"),
        ("missing.toml", "no course file 'missing.toml'"),
        ("empty.toml", "empty.toml: course: expected names of gates in the scene (it has none)"),
        ("slalom.toml", "slalom.toml: expected another name than that of the shipped course"),
        ("still.toml", "still.toml: start: expected a [start] of the scene or its base"),
    ],
)
def test_courses_that_cannot_be_flown_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, course: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.toml").write_text('name = "empty"\n')
    Path("slalom.toml").write_text('name = "mine"\nbase = "alphapilot"\n')
    Path("still.toml").write_text(
        'name = "still"\n[[items]]\nshape = "gate"\nname = "Gate1"\nwidth = 1\nheight = 1\n'
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        race.find_course(course)
    with pytest.raises(pw.ParameterError):
        race.find_course(3)  # type: ignore[arg-type]
