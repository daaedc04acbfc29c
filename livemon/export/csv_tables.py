"""Tables as CSV: RFC 4180 quoting, UTF-8, empty is unknown.

A text that a spreadsheet would run as a formula (it begins with = + - @, tab or carriage return) gets a
single quote before it; Parquet and JSON Lines hold it raw.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

from livemon.export.plots import ClassedSample
from livemon.export.tables import FINDINGS, TIMINGS, RowMaker, Value, core_classes, finding_rows, thread_columns
from livemon.model.judgement import Judgement
from livemon.model.samples import TimingRecord

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv_tables(
    judgement: Judgement, samples: Callable[[], Iterable[ClassedSample]], folder: Path
) -> dict[str, int]:
    """Write ``timings.csv``, ``threads.csv`` and ``findings.csv``; returns rows by table.

    Args:
        judgement: The judged session.
        samples: Gives the classed samples from the start; called twice.
        folder: An existing folder.
    """
    classes = core_classes(judgement, samples())
    maker = RowMaker(judgement, classes)
    rows = {"timings": 0, "threads": 0, "findings": 0}
    with (
        (folder / "timings.csv").open("w", newline="", encoding="utf-8", errors="replace") as timings_file,
        (folder / "threads.csv").open("w", newline="", encoding="utf-8", errors="replace") as threads_file,
        (folder / "findings.csv").open("w", newline="", encoding="utf-8", errors="replace") as findings_file,
    ):
        timings, threads, findings = (csv.writer(f) for f in (timings_file, threads_file, findings_file))
        timings.writerow([column.name for column in TIMINGS])
        threads.writerow([column.name for column in thread_columns(classes)])
        findings.writerow([column.name for column in FINDINGS])
        for sample, class_key in samples():
            if isinstance(sample, TimingRecord):
                made = list(maker.timings(sample, class_key))
                timings.writerows([map(_cell, row) for row in made])
                rows["timings"] += len(made)
            else:
                made = list(maker.threads(sample))
                threads.writerows([map(_cell, row) for row in made])
                rows["threads"] += len(made)
        for row in finding_rows(judgement):
            findings.writerow(map(_cell, row))
            rows["findings"] += 1
    return rows


def _cell(value: Value) -> Value:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return ("true" if value else "false") if isinstance(value, bool) else value
