"""Predictions of flights by fits of the others, with and without each term of the model.

Prints the cost of a fit of all flights and the errors of left-out flights, as in docs/identify.md.

    python bench/identify_terms.py nanobench_*.csv
    python bench/identify_terms.py onboard_log10a.csv onboard_log15a.csv onboard_log16a.csv@:21.9
"""

import sys

import propwash as pw
from propwash import identify
from propwash.identify import FlightLog, Score
from propwash.identify._parameters import FLOW
from propwash.identify._problem import free_names

SHOWN = (("position, measured attitude", 1.0), ("attitude", 0.25), ("body rates", 0.1))
NO_SCATTER = identify.Scatter(*[1e-6] * 6)


def read(name: str) -> FlightLog:
    """Reads LOG or LOG@FROM:TO."""
    path, _, part = name.partition("@")
    start, _, stop = part.partition(":")
    return identify.read_log(path, start=float(start or "-inf"), stop=float(stop or "inf"))


def variants() -> dict[str, tuple[pw.VehicleParameters, tuple[str, ...], tuple[str, ...], bool]]:
    """Guess, parameters that are not free, additional ones, and whether flights have trims."""
    guess = pw.vehicles.load("crazyflie")
    linear = guess.replace(motor={"speed_offset": 0.0})
    still = guess.replace(rotor_drag={"linear": (0.4, 0.4, 0.0), "blow_back": 0.0})
    near = guess.replace(ground_effect={"radius": 0.023})
    return {
        "all": (guess, (), (), True),
        "linear motor map": (linear, ("speed_offset",), (), True),
        "no trims": (guess, (), (), False),
        "no blow-back": (still, ("blow_back",), (), True),
        "inflow": (guess, ("drag_z",), FLOW[:2], True),
        "ground effect": (near, (), ("ground_effect",), True),
    }


def cell(scores: list[Score], model: str, quantity: str, horizon: float) -> str:
    """Median and 90th percentile, or a dash."""
    for s in scores:
        if (s.model, s.quantity, s.horizon) == (model, quantity, horizon):
            return f"{s.median:.3f} / {s.percentile_90:.3f}"
    return "-"


def main() -> None:
    """Prints a row for each variant."""
    logs = [read(name) for name in sys.argv[1:]]
    heads = [
        f"{quantity}, {horizon:g} s, {how}" for quantity, horizon in SHOWN for how in ("f", "c")
    ]
    print(f"f: fitted to the others; c: calibrated. {'; '.join(heads)}")
    for name, (guess, fixed, more, has_trims) in variants().items():
        names = [n for n in [*free_names(logs, guess), *more] if n not in fixed]
        try:
            options = {"parameters": names, "scatter": None if has_trims else NO_SCATTER}
            found = identify.fit_vehicle(logs, guess, **options)
            scores = identify.leave_one_out(logs, guess, horizons=(0.1, 0.25, 1.0), **options)
        except pw.ParameterError as error:
            print(f"{name}: {error}")
            continue
        cells = [
            cell(scores, model, quantity, horizon)
            for quantity, horizon in SHOWN
            for model in ("fitted", "calibrated")
        ]
        shown = [e for e in found.estimates if e.name in ("speed_offset", *FLOW)]
        values = ", ".join(f"{e.name} {e.value:.3g} +- {e.standard_error:.2g}" for e in shown)
        print(f"{name:18s} cost {found.cost:8.0f}  {'  '.join(cells)}  {values}", flush=True)


if __name__ == "__main__":
    main()
