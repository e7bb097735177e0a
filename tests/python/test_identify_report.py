"""The report of an identification: one file, with the numbers of the result."""

from __future__ import annotations

import argparse
import base64
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from figure_helpers import check_axes, check_texts, texts_of
from identify_flight import NOISE, simulated_flight, true_vehicle
from propwash import identify
from propwash.cli import identify as _identify_command
from propwash.identify import _report_figures
from propwash.identify._estimates import Estimate
from propwash.identify._validation import table_rows
from propwash.identify._whiteness import whiteness_of

NAME = "<img src=x> & $a_$.csv"
SVG = "data:image/svg+xml;base64,"
VOID = ("meta", "img")


class Page(HTMLParser):
    """Tables, images and text of a page; fails for tags that are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.images: list[bytes] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "img":
            source = dict(attrs)["src"] or ""
            assert source.startswith(SVG)
            self.images.append(base64.b64decode(source.removeprefix(SVG), validate=True))
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data
        if self._open and self._open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def log() -> identify.FlightLog:
    return replace(simulated_flight(4.0), path=Path("/a/folder") / NAME)


@pytest.fixture(scope="module")
def found(log: identify.FlightLog) -> identify.Identified:
    """A fit of a log with poses and of one without."""
    without: dict[str, Any] = {
        "position": None,
        "velocity": None,
        "attitude": None,
        "voltage": None,
    }
    logs = [log, replace(simulated_flight(6.0, seed=2), path=Path("imu.csv"), **without)]
    names = ["thrust", "drag_x", "tilt_x", "delay", "balance_yaw"]
    return identify.fit_vehicle(logs, true_vehicle(), parameters=names, noise=NOISE, threads=1)


@pytest.fixture(scope="module")
def scores() -> list[identify.Score]:
    errors = {"a": np.array([0.1, 0.2, 0.4])}
    return [
        identify.Score(model, quantity, "m", horizon, errors)
        for quantity in ("position", "position, measured attitude")
        for horizon in (0.1, 1.0)
        for model in ("fitted", "constant velocity")
    ]


@pytest.fixture(scope="module")
def page(
    found: identify.Identified,
    scores: list[identify.Score],
    tmp_path_factory: pytest.TempPathFactory,
) -> Page:
    file = tmp_path_factory.mktemp("report") / "report.html"
    identify.report(found, file, scores=scores, command="a command with <b>")
    return Page(file.read_text(encoding="utf-8"))


def _row(table: list[list[str]], name: str) -> dict[str, str]:
    (row,) = [row for row in table[1:] if row[0] == name]
    return dict(zip(table[0], row, strict=True))


def test_the_page_is_one_file_without_scripts(page: Page, found: identify.Identified) -> None:
    assert not {"script", "link", "iframe", "object", "b"} & {*page.tags}
    assert not {"href", "srcset"} & {*page.attributes}
    assert not [name for name in page.attributes if name.startswith("on")]
    assert len(page.images) == 3 + len(found.logs)
    for image in page.images:
        drawing = ElementTree.fromstring(image)
        for element in drawing.iter():
            links = [v for key, v in element.attrib.items() if key.endswith("href")]
            assert all(link.startswith(("#", "data:")) for link in links)


def test_names_of_files_and_vehicles_are_text(
    page: Page, found: identify.Identified, tmp_path: Path
) -> None:
    assert page.text.count(NAME) == 2
    assert "/a/folder" not in page.text
    assert "a command with <b>" in page.text
    vehicle = found.vehicle.replace(name="</title><i>&amp;")
    odd = replace(found, vehicle=vehicle, logs=())
    identify.report(odd, tmp_path / "report.html")
    written = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "i" not in written.tags
    assert written.text.count("</title><i>&amp;") == 2


def test_the_numbers_are_those_of_the_result(page: Page, found: identify.Identified) -> None:
    logs, parameters, residuals = page.tables[:3]
    assert len(parameters) == 1 + len(found.estimates) + 3
    for e in found.estimates:
        row = _row(parameters, e.name)
        assert float(row["guess"]) == pytest.approx(e.guess, rel=1e-4)
        assert float(row["estimate"]) == pytest.approx(e.value, rel=1e-4)
        assert float(row["std. error"]) == pytest.approx(e.standard_error, rel=0.06)
        assert row["unit"] == e.unit
    for axis, value in zip("xyz", found.bias.value, strict=True):
        row = _row(parameters, f"accelerometer bias {axis}")
        assert float(row["estimate"]) == pytest.approx(value, rel=1e-4)
    for w in found.whiteness:
        row = _row(residuals, w.kind)
        assert int(row["number"]) == w.residuals
        assert float(row["RMS"]) == pytest.approx(w.rms, rel=1e-2)
        assert float(row["autocorrelation"]) == pytest.approx(w.autocorrelation, abs=1e-3)
        assert row["notes"] == ("white" if w.is_white else "not white")
    for one in found.logs:
        row = _row(logs, one.flight.path.name)
        assert row["fitted [s]"] == f"{one.seconds[0]:.1f} to {one.seconds[1]:.1f}"
        assert one.battery is not None
        assert float(row["slope of the voltage [1/(10 s)]"]) == pytest.approx(
            one.battery.slope, abs=6e-5
        )
        for trim in one.trims:
            unit, scale = {"rad": ("mrad", 1e3), "relative": ("%", 1e2)}[trim.unit]
            value, error = re.findall(r"-?\d+\.\d+", row[f"{trim.name} [{unit}]"])
            assert float(value) == pytest.approx(scale * trim.value, abs=0.006)
            assert float(error) == pytest.approx(scale * trim.standard_error, abs=0.006)


def test_scores_are_those_of_their_table(page: Page, scores: list[identify.Score]) -> None:
    assert page.tables[3] == table_rows(scores)
    assert len(page.tables) == 4


def test_doubtful_results_are_marked(found: identify.Identified, tmp_path: Path) -> None:
    first, *others = found.estimates
    doubtful = replace(
        found,
        estimates=(replace(first, identified=False, at_bound=True), *others),
        whiteness=tuple(replace(w, rms=50.0) for w in found.whiteness),
        converged=False,
    )
    identify.report(doubtful, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert _row(page.tables[1], first.name)["notes"] == "weakly identifiable, at a bound"
    assert _row(page.tables[1], others[0].name)["notes"] == ""
    for one in (found, doubtful):
        expected = one is doubtful
        assert ("did not converge" in one.table()) is expected
        assert ("far above the assumed noise" in one.table()) is expected
        assert ("weakly identifiable" in one.table().splitlines()[1]) is expected
    assert "did not converge" in page.text
    assert "far above the assumed noise" in page.text


@pytest.mark.slow
def test_equal_results_give_equal_files(
    found: identify.Identified, scores: list[identify.Score], tmp_path: Path
) -> None:
    found = replace(found, logs=found.logs[:1])
    files = [tmp_path / "one.html", tmp_path / "two.html"]
    for file in files:
        identify.report(found, file, scores=scores)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.slow
def test_figures_are_legible(found: identify.Identified, scores: list[identify.Score]) -> None:
    zero = Estimate("drag_z", "1/s", 0.0, 0.3, 0.1, True, at_bound=True)
    estimates = _report_figures.estimates_figure([*found.estimates, zero])
    check_texts(estimates, texts_of(estimates))  # one axis has names, not numbers
    for figure in (
        _report_figures.residuals_figure(found.whiteness),
        _report_figures.scores_figure(scores),
        *(_report_figures.prediction_figure(one) for one in found.logs),
    ):
        check_texts(figure, texts_of(figure))
        check_axes(figure)


def test_predictions_of_the_report_are_those_of_the_recorded_log(
    log: identify.FlightLog, found: identify.Identified
) -> None:
    """The log of a `LogEstimate` has no bias any more, which must not be subtracted twice."""
    biased = replace(log, specific_force=log.specific_force + np.array([0.0, 0.0, 0.25]))
    bias = replace(found.bias, value=found.bias.value + np.array([0.0, 0.0, 0.25]))
    estimate = replace(found.logs[0], bias=bias)
    for quantity, shown, _ in _report_figures._panels(estimate):
        again = identify.predict(
            estimate, biased, shown.starts, shown.horizons, shown.attitude, threads=1
        )
        np.testing.assert_allclose(
            again.errors[quantity], shown.errors[quantity], rtol=1e-6, atol=1e-9
        )


def test_the_autocorrelation_of_a_known_process_is_found() -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal((2000, 30))
    for k in range(1, 30):
        values[:, k] = 0.6 * values[:, k - 1] + 0.8 * values[:, k]
    found = whiteness_of("forces", [(values[:1000], 10, 1.0), (values[1000:], 15, 1.0)])
    assert len(found.autocorrelations) == 14
    for lag, (value, bound) in enumerate(
        zip(found.autocorrelations, found.bounds, strict=True), start=1
    ):
        assert value == pytest.approx(0.6**lag, abs=4.0 * bound)
    assert not found.is_white
    assert found.rms == pytest.approx(1.0, abs=0.02)


def test_white_residuals_are_white_and_normal() -> None:
    values = np.random.default_rng(6).standard_normal((3000, 40))
    found = whiteness_of("rates", [(values, 20, 1.0)])
    for value, bound in zip(found.autocorrelations, found.bounds, strict=True):
        assert abs(value) < 4.0 / 1.96 * bound
    assert len(found.histogram) == 40
    assert sum(found.histogram) / found.residuals == pytest.approx(1.0, abs=1e-4)
    within = sum(found.histogram[16:24]) / found.residuals  # one standard deviation
    assert within == pytest.approx(0.6827, abs=0.006)


def test_the_bound_holds_for_windows_that_share_rows() -> None:
    """Windows of 20 samples that start every 5: 95 % of white series, +- four standard errors."""
    rng = np.random.default_rng(7)
    sets = 300
    inside = 0
    for _ in range(sets):
        noise = rng.standard_normal(420)
        windows = np.stack([noise[k : k + 20] for k in range(0, 400, 5)])
        inside += whiteness_of("forces", [(windows, 20, 4.0)]).is_white
    assert inside / sets == pytest.approx(0.95, abs=4.0 * (0.95 * 0.05 / sets) ** 0.5)


def _run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _identify_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["identify", *arguments])
    options.run(options)


def test_a_page_that_cannot_be_written_is_refused_before_the_logs_are_read(tmp_path: Path) -> None:
    out = ["missing.csv", "--out", str(tmp_path / "mine.toml")]
    for name, expected in (
        ("report.pdf", "expected the name of a page, .html"),
        ("no/report.html", "expected a file in a folder that exists"),
    ):
        with pytest.raises(ValueError, match=re.escape(expected)) as caught:
            _run([*out, "--report", str(tmp_path / name)])
        assert str(caught.value).startswith(f"--report {tmp_path / name}")
    with pytest.raises(ValueError, match="expected no --report"):
        _run(["missing.csv", "--imu", "--report", str(tmp_path / "report.html")])


def test_without_matplotlib_the_extra_is_named_before_the_fit(
    log: identify.FlightLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_identify_command, "read_logs", lambda *arguments: [log])
    monkeypatch.setattr(identify, "fit_vehicle", lambda *a, **k: pytest.fail("it was fitted"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = ["log.csv", "--out", str(tmp_path / "mine.toml")]
    with pytest.raises(ImportError, match=r"propwash\[viz\]"):
        _run([*out, "--report", str(tmp_path / "report.html")])
    assert not [*tmp_path.iterdir()]


def test_the_command_writes_a_page_that_names_no_folder(
    log: identify.FlightLog,
    found: identify.Identified,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fitted(*arguments: Any, **options: Any) -> identify.Identified:
        return found

    monkeypatch.setattr(_identify_command, "read_logs", lambda *arguments: [log])
    monkeypatch.setattr(identify, "fit_vehicle", fitted)
    file = tmp_path / "report.html"
    arguments = ["/a/folder/a log.csv@1:5", "--columns", str(tmp_path / "columns.toml")]
    arguments += ["--vehicle", str(tmp_path / "guess.toml"), "--parameters", "thrust,delay"]
    _run([*arguments, "--out", str(tmp_path / "mine.toml"), "--report", str(file)])
    assert f"report: {file}" in capsys.readouterr().out
    text = Page(file.read_text(encoding="utf-8")).text
    assert (
        "python -m propwash identify 'a log.csv@1:5' --columns columns.toml --vehicle guess.toml "
        "--parameters thrust,delay" in text
    )
    assert str(tmp_path) not in text
    assert "/a/folder" not in text


def test_a_failure_leaves_the_old_page(
    found: identify.Identified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replace(found, logs=())
    file = tmp_path / "report.html"
    file.write_text("old")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        identify.report(found, tmp_path / "nowhere" / "report.html")
    with pytest.raises(TypeError, match="expected the result of fit_vehicle"):
        identify.report("found", file)  # type: ignore[arg-type]
    monkeypatch.setattr(Path, "replace", _full_disk)
    with pytest.raises(OSError, match="full"):
        identify.report(found, file)
    assert file.read_text() == "old"
    assert [*tmp_path.iterdir()] == [file]


def _full_disk(self: Path, target: Path) -> Path:
    raise OSError(28, "the disk is full", str(target))
