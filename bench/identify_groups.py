"""Predictions of flights of one Crazyflie by fits that include flights of another one.

Each `onboard` log is predicted, without calibration, by a fit of the others: of `onboard` logs
only, of all logs as one vehicle, and of all logs as two. Prints medians and 90th percentiles of
the errors, as in docs/identify.md.

    python bench/identify_groups.py nanobench_*.csv onboard_log1*.csv  # log16a@:21.9
"""

import argparse

import numpy as np
from identify_terms import read
from propwash import identify

SHOWN = (("body rates", 0.1), ("body rates", 0.25), ("vertical specific force", 0.1))
NARROW = identify.Scatter(tilt=0.003, balance=0.02)
FITS = {
    "`onboard` logs only": (False, False, None),
    "all logs": (True, False, None),
    "all logs, two groups": (True, True, None),
    "all logs, two groups, `Scatter(vehicles=0.1)`": (True, True, identify.Scatter(vehicles=0.1)),
    "`onboard` logs only, `Scatter(tilt=0.003, balance=0.02)`": (False, False, NARROW),
    "all logs, the same": (True, False, NARROW),
    "all logs, two groups, the same": (True, True, NARROW),
}
"""Whether other logs are fitted too, whether with groups, and the scatter."""


def main() -> None:
    """Prints a row for each fit."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    logs = [read(name) for name in parser.parse_args().logs]
    own = [log for log in logs if "onboard" in log.path.name]
    if not 2 <= len(own) < len(logs):
        parser.error(
            f"expected two or more logs onboard_* and others, got {len(own)} of {len(logs)} logs"
        )
    for label, (everything, has_groups, scatter) in FITS.items():
        errors: dict[tuple[str, float], list[np.ndarray]] = {}
        for log in own:
            others = [one for one in (logs if everything else own) if one is not log]
            names = [str("onboard" in one.path.name) for one in others]
            groups = names if has_groups else None
            found = identify.fit_vehicle(others, groups=groups, scatter=scatter)
            vehicle = found.groups["True"] if has_groups else found
            predicted = identify.predict(vehicle, log, horizons=[0.1, 0.25])
            for shown in SHOWN:
                errors.setdefault(shown, []).append(predicted.error(*shown))
        cells = []
        for shown in SHOWN:
            middle, high = np.percentile(np.concatenate(errors[shown]), [50, 90])
            cells.append(f"{middle:.2f} / {high:.2f}")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
