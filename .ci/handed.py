"""Runs the handed timing-line cases and the quick detection bench; fails when a figure is worse than the committed one.

    python .ci/handed.py SHARED_DIR [--seed N] [--write]

``--write`` stores the figures of this run in ``.ci/scores.json`` instead of comparing with it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCORES = Path(__file__).with_name("scores.json")
LIVEMON = f"{sys.executable} -m livemon"
TOLERANCE = {"delay_p95": 0.02, "end_abs_p95": 0.02, "fin_delay_p95": 0.2}
"""What the last digit of a delay may differ by, in the figure's own unit; shares and counts may not differ."""
LOWER_IS_BETTER = {"fa_h_neg", "dup", "delay_p95", "end_abs_p95", "fin_fp_h", "fin_delay_p95"}


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def cases(shared: Path) -> dict[str, float]:
    out = run([sys.executable, str(shared / "cases" / "check_lines.py"), "--livemon", LIVEMON])
    print(out)
    found = re.search(r"(\d+)/(\d+) right", out)
    if found is None:
        sys.exit("the cases printed no score")
    return {"cases_right": int(found[1]) / int(found[2])}


def bench(shared: Path, seed: int) -> dict[str, float]:
    folder = shared / "bench"
    with tempfile.TemporaryDirectory() as scratch:
        data, det, out = (str(Path(scratch) / name) for name in ("data", "det", "scores.json"))
        run([sys.executable, str(folder / "gen.py"), "--out", data, "--suite", "quick", "--seed", str(seed)])
        print(run([sys.executable, str(folder / "run_livemon.py"), "--data", data, "--det", det, "--livemon", LIVEMON]))
        print(
            run(
                [
                    sys.executable,
                    str(folder / "score.py"),
                    "--data",
                    data,
                    "--det",
                    det,
                    "--json",
                    out,
                    "--per-scenario",
                ]
            )
        )
        scores = json.loads(Path(out).read_text())
    host, finalize = scores["host"]["livemon"], scores["finalize"]["livemon"]
    right, periods = finalize["period"].split("/")
    return {
        **{k: host[k] for k in ("recall", "precision", "fa_h_neg", "dup", "delay_p95", "end_abs_p95", "cause")},
        **{f"fin_{k}": finalize[k] for k in ("recall", "precision", "fp_h", "delay_p95")},
        "fin_period": int(right) / int(periods),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    figures = cases(options.shared) | bench(options.shared, options.seed)
    if options.write:
        SCORES.write_text(json.dumps(figures, indent=1) + "\n")
        return 0
    worse = []
    for name, before in json.loads(SCORES.read_text()).items():
        now, slack = figures[name], TOLERANCE.get(name, 1e-9)
        is_worse = now > before + slack if name in LOWER_IS_BETTER else now < before - slack
        print(f"{name:14s} {now:8.4f}  committed {before:8.4f}{'  WORSE' if is_worse else ''}")
        worse += [name] * is_worse
    if worse:
        print(f"worse than the committed score: {', '.join(worse)}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
