"""The report of an identification: one HTML file without scripts, links and other files."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from propwash import _core
from propwash._files import written_whole
from propwash.identify import _report_figures as figures
from propwash.identify._estimates import Estimate, Identified, LogEstimate
from propwash.identify._problem import usable
from propwash.identify._validation import Score, table_rows
from propwash.viz.figures import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TRIM_UNITS = {"relative": ("%", 100.0), "rad": ("mrad", 1000.0)}
_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
@page { size: A4; margin: 7mm; }
body { font: 13px/1.3 sans-serif; max-width: 1040px; margin: 1em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1em; margin: 0.7em 0 0.2em; border-bottom: 1px solid #999; }
h3 { font-size: 1em; margin: 0.3em 0 0; overflow-wrap: anywhere; }
p { margin: 0.2em 0; }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.92em; font-variant-numeric: tabular-nums; }
th, td { padding: 0 0.8em 0 0; text-align: right; vertical-align: bottom; }
th { border-bottom: 1px solid #ccc; font-weight: 600; }
td { white-space: nowrap; }
th:first-child, td:first-child, .contents, .unit, .notes { text-align: left; }
.file td:first-child { min-width: 20em; }
.file td:first-child, td.notes { white-space: normal; overflow-wrap: anywhere; }
img { width: 100%; display: block; }
.note { color: #555; font-size: 0.9em; }
.warning { color: #a00; font-weight: 600; }
.columns { display: grid; grid-template-columns: 55% 44%; column-gap: 1%; align-items: start; }
figure, tr { margin: 0; break-inside: avoid; }
h2, h3, .note { break-after: avoid; }
@media print { body { font-size: 8.5px; margin: 0; padding: 0; max-width: none; } }
</style>
</head>
<body>
$body
</body>
</html>
""")


def report(
    found: Identified,
    path: str | PathLike[str],
    *,
    scores: Sequence[Score] | None = None,
    command: str | None = None,
) -> None:
    """Writes a page with the estimates, residuals and predictions of a fit: one HTML file.

    found: from `identify.fit_vehicle`.
    path: of the file; it is written completely or not at all.
    scores: from `identify.leave_one_out` or `identify.hold_out`, for a section on validation.
    command: text that states how the fit was made.

    Raises ImportError without matplotlib, TypeError for another type of `found`, OSError if the
    file cannot be written.
    """
    if not isinstance(found, Identified):
        raise TypeError(f"found: expected the result of fit_vehicle(), got {found!r:.100}")
    require_matplotlib()
    from matplotlib import rc_context

    # equal results give equal files
    with rc_context({"font.size": 8, "svg.fonttype": "path", "svg.hashsalt": "propwash"}):
        sections = [
            _head(found, command),
            _logs(found.logs),
            _parameters(found),
            _residuals(found),
            _predictions(found.logs),
            _validation(scores) if scores else "",
        ]
    title = escape(f"{found.vehicle.name}: identification")
    page = _PAGE.substitute(title=title, body="\n".join(sections))
    with written_whole(Path(path)) as part:
        # names of files that are not UTF-8 have no character
        part.write_text(page, encoding="utf-8", errors="replace")


def _head(found: Identified, command: str | None) -> str:
    by = f", by <code>{escape(command)}</code>" if command else ""
    lines = [
        f"<h1>{escape(found.vehicle.name)}</h1>",
        f"<p>Vehicle identified from {len(found.logs)} log{'s' * (len(found.logs) > 1)} with "
        f"propwash {_core.__version__}{by}. Cost {found.cost:.6g}, {found.evaluations} "
        f"evaluations.</p>",
    ]
    lines += [f'<p class="warning">{escape(note)}</p>' for note in found.notes]
    return "\n".join(lines)


def _logs(logs: Sequence[LogEstimate]) -> str:
    """Returns the table of the logs with their trims and batteries."""
    names = list(dict.fromkeys((trim.name, trim.unit) for log in logs for trim in log.trims))
    head = ["log", "fitted [s]", "contents"]
    head += [f"{name} [{_TRIM_UNITS[unit][0]}]" for name, unit in names]
    with_battery = any(log.battery is not None for log in logs)
    head += ["voltage [relative]", "slope of the voltage [1/(10 s)]"] if with_battery else []
    rows = []
    for log in logs:
        trims = {trim.name: trim for trim in log.trims}
        cells = [log.flight.path.name, "{:.1f} to {:.1f}".format(*log.seconds), _contents(log)]
        cells += [_trim(trims.get(name)) for name, _ in names]
        if with_battery:
            b = log.battery
            cells += ["", ""] if b is None else [f"{1.0 + b.offset:.3f}", f"{b.slope:+.4f}"]
        rows.append(cells)
    note = (
        "Deviations of one flight from the vehicle, with standard errors; in brackets: dominated "
        "by the scatter that is assumed between flights. Voltage: the effective one, relative to "
        "the recorded or else the nominal one. One clock: of commands and motion."
    )
    return f"<h2>Logs</h2>\n{_table(head, rows, 'file')}\n{_note(note)}"


def _contents(log: LogEstimate) -> str:
    pose, one_clock = usable(log.flight)
    voltage = log.flight.voltage is not None
    parts = {"poses": pose, "one clock": one_clock, "voltage": voltage}
    return ", ".join(name for name, present in parts.items() if present)


def _trim(trim: Estimate | None) -> str:
    if trim is None:
        return ""
    scale = _TRIM_UNITS[trim.unit][1]
    text = f"{scale * trim.value:.2f} ± {scale * trim.standard_error:.2f}"
    text = text if trim.identified else f"({text})"
    return f"{text}, at a bound" if trim.at_bound else text


def _parameters(found: Identified) -> str:
    """Returns the table of the estimates beside their figure."""
    head = ["parameter", "guess", "estimate", "std. error", "unit", "notes"]
    rows = [
        [e.name, f"{e.guess:.5g}", f"{e.value:.5g}", f"{e.standard_error:.2g}", e.unit, _short(e)]
        for e in found.estimates
    ]
    bias = zip("xyz", found.bias.value, found.bias.standard_error, strict=True)
    for axis, value, error in bias:
        name = f"accelerometer bias {axis}"
        rows.append([name, "0", f"{value:.5g}", f"{error:.2g}", "m/s^2", ""])
    table = _table(head, rows)
    notes = [
        "Weakly identifiable: the prior around the guess dominates the estimate. At a bound: the "
        "estimate is at its minimum, or too far from the guess.",
        "Figure: estimates with 95 % intervals; grey: weakly identifiable, red square: at a bound.",
    ]
    if found.battery is not None and any(log.flight.voltage is None for log in found.logs):
        notes.append(
            f"Sag in logs without voltage: {found.battery.sag:.3f} of the nominal one for each "
            f"rotor at full duty cycle."
        )
    image = _figure(figures.estimates_figure(found.estimates), "estimates with 95 % intervals")
    below = "\n".join(_note(note) for note in notes)
    return (
        f'<h2>Parameters</h2>\n<div class="columns">\n<div>\n{table}\n{below}\n</div>\n{image}\n'
        "</div>"
    )


def _short(estimate: Estimate) -> str:
    return ", ".join(note.partition(":")[0] for note in estimate.notes)


def _residuals(found: Identified) -> str:
    """Returns the table of the residuals and the figure of distributions and correlations."""
    head = ["residuals", "number", "RMS", "autocorrelation", "white within", "notes"]
    rows = []
    for w in found.whiteness:
        verdict = "; ".join(["white" if w.is_white else "not white", *w.notes])
        numbers = [str(w.residuals), f"{w.rms:.3g}", f"{w.autocorrelation:+.3f}", f"{w.bound:.3f}"]
        rows.append([w.kind, *numbers, verdict])
    note = (
        "Differences between predicted and measured in the windows of the fit, in standard "
        "deviations of the assumed noise. White: the model explains all but noise; residuals of "
        "real flights are not. Outside: not in the histogram. Dashed: bounds of white residuals."
    )
    image = _figure(
        figures.residuals_figure(found.whiteness), "distribution and autocorrelation of residuals"
    )
    return f"<h2>Residuals</h2>\n{_table(head, rows)}\n{_note(note)}\n{image}"


def _predictions(logs: Iterable[LogEstimate]) -> str:
    """Returns a figure of predicted and measured signals for each log."""
    note = (
        "Thin: measured, in the middle of the log. Thick: predicted from the measured state at the "
        "start of each segment by the commands alone, with the trims and the battery of the log; "
        "1 s ahead also with the measured attitude. The numbers are of the whole log. It was "
        "fitted: errors on new data are larger."
    )
    parts = ["<h2>Predicted and measured</h2>", _note(note)]
    for log in logs:
        image = _figure(figures.prediction_figure(log), "predicted and measured signals")
        parts.append(f"<h3>{escape(log.flight.path.name)}</h3>\n{image}")
    return "\n".join(parts)


def _validation(scores: Sequence[Score]) -> str:
    """Returns the table and the figure of the errors on data that was not fitted."""
    head, *rows = table_rows(scores)
    note = "Data that was not fitted: median / 90 % of the errors of all windows; dashed: 90 %."
    image = _figure(figures.scores_figure(scores), "errors against the time ahead")
    return f"<h2>Validation</h2>\n{_note(note)}\n{_table(head, rows)}\n{image}"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "numbers") -> str:
    """Returns a table; a cell's class is the head of its column, if that is one word."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} class="{name if name.isalpha() else "value"}">{escape(cell)}</{tag}>'
            for name, cell in zip(head, cells, strict=True)
        )

    lines = [f"<tr>{row(head, 'th')}</tr>", *(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)]
    return f'<table class="{kind}">\n' + "\n".join(lines) + "\n</table>"


def _figure(figure: Figure, alt: str) -> str:
    """Returns an image that contains the figure as SVG; equal figures give equal text."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<figure><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"></figure>'
