#!/usr/bin/env python3
"""Drives a detection bench over livemon and prints its scores beside the published ones of other methods.

    bench_scores.py BENCH [--suite std|quick] [--seed N] [--data DIR] [--work DIR] [--livemon CMD] [--jobs N]

BENCH is a folder with ``gen.py`` (makes labelled scenarios), ``run_livemon.py`` (imports and judges each) and
``score.py``. The figures of other methods are those published with the bench for its suite ``std``,
seed 20260101; take livemon's final figure from a seed that nothing was tuned on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = (
    ("recall", "recall", "{:.3f}"),
    ("precision", "precision", "{:.3f}"),
    ("f1", "F1", "{:.3f}"),
    ("fa_h_neg", "false alarms/h", "{:.1f}"),
    ("fa_time_pct", "false time %", "{:.1f}"),
    ("delay_p50", "delay P50 s", "{:.3f}"),
    ("delay_p95", "P95 s", "{:.2f}"),
    ("end_abs_p95", "end err P95 s", "{:.2f}"),
    ("dup", "duplicates", "{:.0f}"),
    ("cause", "cause right", "{:.3f}"),
)

PEERS: dict[str, tuple[float | None, ...]] = {
    "threshold 0.3 ms": (0.856, 0.882, 0.869, 229.2, 18.1, 0.019, 0.09, 0.14, 24, None),
    "threshold calibrated": (0.843, 0.884, 0.863, 308.0, 12.2, 0.019, 0.10, 0.13, 20, None),
    "0.5 s bins": (0.854, 0.978, 0.912, 20.5, 16.5, 0.368, 0.60, 0.41, 2, None),
    "3 in a row": (0.838, 0.955, 0.893, 26.4, 16.6, 0.047, 0.37, 0.41, 1, None),
    "breaker": (0.103, 0.867, 0.184, 3.8, 19.0, 0.114, 0.95, 232.05, 0, None),
    "3 in a row, calibrated": (0.824, 0.963, 0.888, 25.6, 10.4, 0.047, 0.44, 0.42, 2, None),
    "EWMA": (0.844, 0.887, 0.865, 107.3, 15.1, 0.039, 0.27, 0.52, 61, None),
    "median of 5": (0.854, 0.790, 0.821, 162.8, 13.6, 0.046, 0.31, 0.63, 64, None),
    "z-score": (0.783, 0.996, 0.876, 11.5, 0.0, 0.042, 0.16, 13.52, 0, None),
    "MAD": (0.903, 0.906, 0.905, 28.0, 7.3, 0.043, 0.24, 13.06, 2, None),
    "ADWIN": (0.825, 0.940, 0.879, 8.0, 13.2, 0.482, 0.78, 11.44, 0, None),
    "Page-Hinkley": (0.792, 0.486, 0.603, 273.9, 38.0, 0.051, 0.95, 13.81, 716, None),
    "KSWIN": (0.083, 0.202, 0.117, 15.5, 37.2, 1.320, 1.87, 18.62, 0, None),
    "burn rate": (0.854, 0.944, 0.897, 212.5, 3.3, 0.582, 0.87, 2.59, 387, None),
    "E share": (0.540, 0.417, 0.471, 76.0, 5.5, 0.187, 0.24, 0.13, 4, None),
    "every 30 s (dummy)": (0.046, 0.078, 0.058, 119.3, 3.3, 0.850, 7.17, 40.03, 5, None),
    "always on (dummy)": (0.006, 0.083, 0.012, 12.0, 99.9, 0.040, 0.05, 233.40, 0, None),
    "prototype, one stage": (0.978, 0.998, 0.988, 0.0, 0.0, 0.165, 0.35, 1.46, 6, 1.0),
    "prototype": (1.0, 0.998, 0.999, 0.0, 0.0, 0.163, 0.28, 0.07, 14, 1.0),
}
"""Published figures of other methods, in the order of ``COLUMNS``; ``None``: it names no causes."""


def row(name: str, values: tuple[float | None, ...]) -> str:
    cells = []
    for (_, title, form), value in zip(COLUMNS, values, strict=True):
        shown = "–" if value is None or value != value else form.format(value)
        cells.append(shown.rjust(len(title)))
    return f"{name:24s} " + "  ".join(cells)


def step(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def print_tables(scores: dict[str, dict[str, dict[str, float]]]) -> None:
    print("host-slow transients".ljust(25) + "  ".join(title for _, title, _ in COLUMNS))
    for name, values in PEERS.items():
        print(row(name, values))
    for found in scores["host"].values():
        print(row("livemon", tuple(found.get(key) for key, _, _ in COLUMNS)))
        print(f"  {found['episodes']:.0f} episodes, {found['neg_hours']:.2f} h of confounders")
    print("\noversized finalize: reference 66 of 66, no false finding, period 20 of 20, delay P50 3.2 P95 5.0 runs")
    for found in scores["finalize"].values():
        print(
            f"livemon: recall {found['recall']:.3f} precision {found['precision']:.3f} of {found['findings']}, "
            f"dup {found['dup']}, period {found['period']}, delay P50 {found['delay_p50']:.1f} "
            f"P95 {found['delay_p95']:.1f} runs, share of truth {found['share_p50']:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--data", type=Path, help="scenarios made before; default: made in --work")
    parser.add_argument("--work", type=Path, help="default: a temporary folder")
    parser.add_argument("--livemon", default=f"{sys.executable} -m livemon")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        data = args.data or work / "data"
        jobs = ["--jobs", str(args.jobs)]
        if args.data is None:
            made = ["--out", str(data), "--suite", args.suite, "--seed", str(args.seed)]
            step([sys.executable, str(args.bench / "gen.py"), *made, *jobs])
        run = ["--data", str(data), "--det", str(work / "det"), "--livemon", args.livemon]
        step([sys.executable, str(args.bench / "run_livemon.py"), *run, *jobs])
        scored = work / "scores.json"
        step([sys.executable, str(args.bench / "score.py"), *run[:4], "--json", str(scored)])
        print_tables(json.loads(scored.read_text()))


if __name__ == "__main__":
    main()
