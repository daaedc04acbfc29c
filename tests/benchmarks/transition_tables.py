#!/usr/bin/env python3
"""Regenerates a published study of transitions from its tables and prints livemon's figures beside the printed ones.

    transition_tables.py FOLDER

FOLDER has ``buckets.json`` (units per time bucket), ``threads.json`` (work per thread and bucket) and
``transitions.json`` (what was published: transient lengths, shares per 0.5 s bin where they are known).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from livemon.engine.engine import Engine  # noqa: E402
from livemon.model.criteria import Criteria  # noqa: E402
from livemon.model.facts import SessionFacts  # noqa: E402
from tests.engine.aligned_rows import ThreadRow, UnitRow, session  # noqa: E402

APART_NS = 40_000_000_000
FILL = {"5-10": "4-5"}
"""The tables leave out 5 to 10 s: there the state of 4 to 5 s goes on, unless the bins say otherwise."""


def edges(text: str) -> tuple[float, float]:
    text = text.removeprefix("steady ")
    return (-2.0, 0.0) if text == "-2-0" else tuple(map(float, text.split("-")))  # type: ignore[return-value]


def unit_rows(buckets: dict[str, dict[str, Any]], shares: list[float] | None) -> list[UnitRow]:
    """Half-second rows: figures of the bucket around them, share of the bin."""
    out = []
    for k in range(40):
        start = k / 2
        name = next((n for n in buckets if edges(n)[0] <= start < edges(n)[1]), None)
        row = buckets[name or ("4-5" if start < 10 else "steady 10-20")]
        low, high = edges(name) if name else (4.0, 5.0)
        n = max(round(row["n"] * 0.5 / (high - low)), 1)
        share = shares[k] if shares is not None else (row["host_slow_share"] if name == "0-0.5" else 0.0)
        native, back = row["native_mean_ms"] or 9.4, row["callback_delay_p50_ms"] or 0.011
        out.append(UnitRow(start, start + 0.5, n, share, row["short_p50_ms"], native, back))
    return out


def thread_rows(rows: list[dict[str, Any]]) -> list[ThreadRow]:
    out = []
    for row in rows:
        start, end = edges(row["bucket_s_from_t0"])
        rates = row["cycle_rate_rel_P"] or 4.0, row["cycle_rate_rel_E"] or 1.3
        out.append(
            ThreadRow(start, end, row["thread"], row["cpu_ms"], row["e_share"] or 0.0, *rates, row["ipc"] or 2.0)
        )
        if row["bucket_s_from_t0"] == "4-5":  # goes on until 10 s
            out.append(
                ThreadRow(5.0, 10.0, row["thread"], row["cpu_ms"] * 5, row["e_share"] or 0.0, *rates, row["ipc"] or 2.0)
            )
    return out


def main() -> None:
    folder = Path(sys.argv[1])
    buckets, threads, published = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("buckets", "threads", "transitions")
    )
    wanted: list[tuple[str, int, dict[str, Any]]] = [(t["run"], t["cycle"], t) for t in published["transitions"]]
    print(f"{'run':22s} cycle  transient s: printed  livemon")
    for cell in dict.fromkeys(t["run"].rsplit("-r", 1)[0] for _, _, t in wanted):
        mine = [row for row in wanted if row[0].startswith(cell + "-r")]
        made = []
        for n, (run, cycle, t) in enumerate(mine):
            by_bucket = {r["bucket_s_from_t0"]: r for r in buckets["rows"] if (r["run"], r["cycle"]) == (run, cycle)}
            work = [r for r in threads["rows"] if (r["run"], r["cycle"]) == (run, cycle)]
            units = unit_rows(by_bucket, t["host_slow_share_per_0.5s_bin"])
            made.append((1_000_000_000_000 + n * APART_NS, cell, units, thread_rows(work)))
        engine = Engine(Criteria(), SessionFacts())
        engine.feed(session(made))
        engine.finish()
        transitions = engine.transitions()
        for found, (run, cycle, t) in zip(transitions, mine, strict=True):
            print(f"{run:22s} {cycle:5d} {t['transient_s']:21.1f} {found.transient_s or 0:8.1f}")
        for cause in transitions[0].reading:
            print(f"    {cause.cause}: {cause.verdict}: {cause.evidence}")
        for finding in engine.get():
            residuals = [row.residual for row in finding.ledger if row.residual is not None]
            span = f"{min(residuals):.3f} to {max(residuals):.3f}" if residuals else "none"
            end = "goes on" if finding.end_ns is None else f"{(finding.end_ns - finding.start_ns) / 1e9:.2f} s"
            print(f"    episode {finding.id}: {end}, {finding.primary_cause}, ledger residuals {span}")


if __name__ == "__main__":
    main()
