"""Tables say what the report says, whichever format carries them."""

import csv
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from livemon.export.csv_tables import write_csv_tables
from livemon.export.parquet_tables import ROW_GROUP, write_parquet_tables
from livemon.export.tables import finding_rows
from livemon.model.errors import UsageError
from livemon.model.samples import TimingRecord
from tests.export.judgements import T0, WALL, S, empty, judgement
from tests.export.streams import classed, records


def durations(class_key: str, stage: str) -> np.ndarray:
    return np.array([dict(r.stages)[stage] for r, key in records() if key == class_key])


def test_duckdb_reads_the_parquet_and_its_aggregates_are_those_of_the_records(tmp_path: Path) -> None:
    samples = classed()
    rows = write_parquet_tables(judgement(), lambda: samples, tmp_path)
    assert rows["timings"] == 48 * 4
    assert rows["findings"] == 2
    found = duckdb.sql(
        f"select class, stage, role, count(*), sum(duration_ms), min(duration_ms), max(duration_ms),"
        f" quantile_cont(duration_ms, 0.5), quantile_cont(duration_ms, 0.99)"
        f" from '{tmp_path}/timings.parquet' group by all"
    ).fetchall()
    assert len(found) == 12
    for class_key, stage, role, n, total, low, high, p50, p99 in found:
        values = durations(class_key, stage)
        assert n == len(values)
        assert (total, low, high) == pytest.approx((values.sum(), values.min(), values.max()))
        assert (p50, p99) == pytest.approx((np.quantile(values, 0.5), np.quantile(values, 0.99)))
        if stage == "validate":
            assert role == "finalize"


def test_thread_rows_add_up_and_unknown_is_null(tmp_path: Path) -> None:
    samples = classed()
    write_parquet_tables(judgement(), lambda: samples, tmp_path)
    table = f"'{tmp_path}/threads.parquet'"
    ((name, cpu_ns, share, rate),) = duckdb.sql(
        "select name, sum(cpu_ns), sum(cpu_ns_E) / sum(cpu_ns_P + cpu_ns_E), sum(cycles_E) / sum(cpu_ns_E)"
        f" from {table} where tid = 4712 group by name"
    ).fetchall()
    assert name == "client-short"
    on_e = 30 * 60_000_000
    on_p = (200 - 15 - 30 - 1) * 20_000_000
    assert cpu_ns == on_e + on_p
    assert share == pytest.approx(on_e / (on_e + on_p))
    assert rate == pytest.approx(1.4)
    ((known, rows),) = duckdb.sql(
        f"select count(run_delay_ns) + count(cycles_P), count(*) from {table} where tid = 4713"
    ).fetchall()
    assert (known, rows) == (0, 184)


def test_times_are_the_session_clock_and_wall_time(tmp_path: Path) -> None:
    samples = classed()
    write_parquet_tables(judgement(), lambda: samples, tmp_path)
    ((t_ns, unix_ns),) = duckdb.sql(f"select min(t_ns), min(unix_ns) from '{tmp_path}/timings.parquet'").fetchall()
    assert (t_ns, unix_ns) == (T0 + S // 2, WALL + S // 2)
    write_parquet_tables(judgement(anchors=()), lambda: samples, tmp_path)
    ((known,),) = duckdb.sql(f"select count(unix_ns) from '{tmp_path}/timings.parquet'").fetchall()
    assert known == 0


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    samples = classed()
    assert write_csv_tables(judgement(), lambda: samples, tmp_path) == write_parquet_tables(
        judgement(), lambda: samples, tmp_path
    )
    for name in ("timings", "threads", "findings"):
        ((differences,),) = duckdb.sql(
            f"select count(*) from (from '{tmp_path}/{name}.parquet' except all"
            f" from read_csv('{tmp_path}/{name}.csv', all_varchar = false, nullstr = ''))"
        ).fetchall()
        assert differences == 0, name


def test_csv_quotes_what_logs_contain_and_leaves_unknown_empty(tmp_path: Path) -> None:
    odd = TimingRecord(T0, T0, "arrival", 'a,"b"\nc', None, None, (("x;y", 1.5),))
    write_csv_tables(judgement(), lambda: [(odd, "k,1")], tmp_path)
    with (tmp_path / "timings.csv").open(newline="") as file:
        head, row = csv.reader(file)
    named = dict(zip(head, row, strict=True))
    assert named["source"] == 'a,"b"\nc'
    assert named["class"] == "k,1"
    assert (named["unit"], named["pid"], named["offset"], named["line"]) == ("", "", "", "")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_csv_texts_are_no_formulas_and_numbers_stay_numbers(tmp_path: Path, start: str) -> None:
    odd = TimingRecord(T0, T0, "arrival", f"{start}1", None, None, (("x", 1.5),), start_ns=-5)
    write_csv_tables(judgement(), lambda: [(odd, "k")], tmp_path)
    with (tmp_path / "timings.csv").open(newline="") as file:
        head, row = csv.reader(file)
    named = dict(zip(head, row, strict=True))
    assert named["source"] == f"'{start}1"
    assert (named["stage"], named["duration_ms"], named["start_ns"]) == ("x", "1.5", "-5")


def test_findings_keep_causes_and_open_ends(tmp_path: Path) -> None:
    rows = list(finding_rows(judgement()))
    write_parquet_tables(judgement(), list, tmp_path)
    found = duckdb.sql(
        f"select kind, class, end_ns, ongoing, json_extract_string(causes, '$[0].cause')"
        f" from '{tmp_path}/findings.parquet' order by kind desc"
    ).fetchall()
    assert found == [
        ("oversized_finalize", "1/3", None, True, None),
        ("host_slow_transient", None, T0 + 11 * S, False, "placement"),
    ]
    assert len(rows) == 2


def test_row_groups_bound_the_memory_and_lose_nothing(tmp_path: Path) -> None:
    many = [(r, k) for r, k in records(ROW_GROUP // 4 + 100)]
    rows = write_parquet_tables(judgement(), lambda: many, tmp_path)
    ((n, groups),) = duckdb.sql(
        f"select sum(row_group_num_rows), count(*) from (select distinct row_group_id, row_group_num_rows"
        f" from parquet_metadata('{tmp_path}/timings.parquet'))"
    ).fetchall()
    assert n == rows["timings"] == 4 * len(many)
    assert groups == 2


def test_an_empty_session_gives_empty_tables(tmp_path: Path) -> None:
    assert write_parquet_tables(empty(), list, tmp_path) == {"timings": 0, "threads": 0, "findings": 0}
    assert duckdb.sql(f"from '{tmp_path}/timings.parquet'").fetchall() == []


def test_without_pyarrow_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'livemon\[parquet\]'"):
        write_parquet_tables(empty(), list, tmp_path)


def test_names_that_are_no_utf_8_are_marked_not_fatal(tmp_path: Path) -> None:
    odd = TimingRecord(T0, T0, "arrival", "x\udc80y", None, None, (("a", 1.5),))
    write_csv_tables(judgement(), lambda: [(odd, None)], tmp_path)
    write_parquet_tables(judgement(), lambda: [(odd, None)], tmp_path)
    assert "x?y" in (tmp_path / "timings.csv").read_text()
    assert duckdb.sql(f"select source from '{tmp_path}/timings.parquet'").fetchall() == [("x?y",)]
