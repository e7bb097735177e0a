"""Predictions with the trims of the start of a flight, and with those of the last seconds.

Each flight is predicted by a fit of the others, calibrated on its first 8 s or, every 4 s, on the
8 or 4 s before. Prints medians and 90th percentiles of the errors, as in docs/identify.md.

    python bench/identify_trims.py nanobench_*.csv
"""

import sys

import numpy as np
from propwash import identify

BLOCK = 4.0
"""s, that are predicted with one calibration."""
CALIBRATIONS = {"first 8 s": 8.0, "last 8 s": 8.0, "last 4 s": 4.0}
SHOWN = (("position", 1.0, "measured"), ("attitude", 0.25, None), ("body rates", 0.1, None))


def main() -> None:
    """Prints a row for each calibration."""
    logs = [identify.read_log(name) for name in sys.argv[1:]]
    errors: dict[tuple[str, str], list[np.ndarray]] = {}
    for k, log in enumerate(logs):
        found = identify.fit_vehicle([*logs[:k], *logs[k + 1 :]])
        first = identify.calibrate(found, log, 8.0)
        starts = identify.predict(found, log, horizons=[1.0]).starts
        for stop in np.arange(first.seconds[1], starts[-1], BLOCK):
            block = starts[(starts >= stop) & (starts < stop + BLOCK)]
            for label, seconds in CALIBRATIONS.items():
                is_first = label.startswith("first")
                trims = first if is_first else identify.calibrate(found, log, seconds, stop=stop)
                for quantity, horizon, attitude in SHOWN:
                    predicted = identify.predict(trims, log, block, [horizon], attitude)
                    part = predicted.error(quantity, horizon)
                    errors.setdefault((label, quantity), []).append(part)
    for label in CALIBRATIONS:
        cells = []
        for quantity, _, _ in SHOWN:
            middle, high = np.percentile(np.concatenate(errors[label, quantity]), [50, 90])
            cells.append(f"{middle:.3f} / {high:.3f}")
        print(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
