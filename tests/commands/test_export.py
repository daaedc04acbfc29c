"""``livemon export`` on real session files, through the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from livemon.cli import main
from tests.commands.sessions import write_session
from tests.export.test_perfetto import check


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("export") / "a.livemon")


def export(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["export", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def report_of(session: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, list[dict[str, float]]]:
    assert main(["report", str(session), "--json"]) == 0
    value: dict[str, list[dict[str, float]]] = json.loads(capsys.readouterr().out)
    return value


def test_a_perfetto_trace(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = export(capsys, session, "--to", "perfetto", "-o", tmp_path / "t.json")
    assert (code, out) == (0, "")
    assert "events; open it at https://ui.perfetto.dev" in err
    value = json.loads((tmp_path / "t.json").read_text())
    check(value)
    names = {e["name"] for e in value["traceEvents"] if e["ph"] == "X"}
    assert {"validate", "runner_run", "P", "E"} <= names


def test_the_aggregates_of_the_tables_are_those_of_the_report(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = export(capsys, session, "--to", "parquet", "-o", tmp_path / "tables")
    assert code == 0
    assert "timings 192 rows" in err
    report = report_of(session, capsys)
    found = duckdb.sql(
        "select class, stage, count(*), sum(duration_ms), avg(duration_ms), min(duration_ms), max(duration_ms),"
        f" any_value(role) from '{tmp_path}/tables/timings.parquet' group by class, stage"
    ).fetchall()
    rows = {(row["class"], row["stage"]): row for row in report["stages"] if row["stage"] != "unaccounted"}
    assert len(found) == len(rows) == 12
    for class_key, stage, *figures, role in found:
        row = rows[class_key, stage]
        told = [row[key] for key in ("n", "total_ms", "mean_ms", "min_ms", "max_ms")]
        assert figures == pytest.approx(told), (class_key, stage)
        assert role == row["role"]
    cpu = dict(
        duckdb.sql(f"select tid, sum(cpu_ns) / 1e6 from '{tmp_path}/tables/threads.parquet' group by tid").fetchall()
    )
    assert cpu == pytest.approx({row["tid"]: row["cpu_ms"] for row in report["threads"]})
    ((n,),) = duckdb.sql(f"select count(*) from '{tmp_path}/tables/findings.parquet'").fetchall()
    assert n == len(report["findings"])


def test_tables_beside_a_named_file(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(capsys, session, "--to", "csv", "-o", tmp_path / "x.csv")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "x.findings.csv", "x.threads.csv"]
    ((n,),) = duckdb.sql(f"select count(*) from '{tmp_path}/x.csv'").fetchall()
    assert n == 192


def test_json_lines_come_back_as_an_identical_report(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(capsys, session, "--to", "jsonl", "-o", tmp_path / "a.jsonl")[0] == 0
    assert main(["import", "--jsonl", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "b.livemon")]) == 0
    capsys.readouterr()
    one, two = report_of(session, capsys), report_of(tmp_path / "b.livemon", capsys)
    one["session"], two["session"] = (  # type: ignore[assignment]
        {key: value for key, value in r["session"].items() if key != "path"}
        for r in (one, two)  # type: ignore[attr-defined]
    )
    assert one == two


def test_openmetrics_of_the_whole_session(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(capsys, session, "--to", "openmetrics", "-o", tmp_path / "m.txt")[0] == 0
    families = {f.name: f for f in text_string_to_metric_families((tmp_path / "m.txt").read_text())}
    assert families["livemon_records"].samples[0].value == 48


@pytest.mark.parametrize(
    ("form", "output", "message"),
    [
        ("perfetto", "{tmp}", "is a folder"),
        ("perfetto", "{tmp}/missing/t.json", "there is no folder"),
        ("parquet", "{tmp}/file", "is a file; give a folder"),
        ("csv", "{tmp}/missing/deep", "there is no folder"),
        ("jsonl", "{session}", "is the session itself"),
    ],
)
def test_what_is_in_the_way_is_named(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, output: str, message: str
) -> None:
    (tmp_path / "file").write_text("precious")
    code, _, err = export(capsys, session, "--to", form, "-o", output.format(tmp=tmp_path, session=session))
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == ["file"]


@pytest.mark.parametrize(
    ("form", "name", "made"), [("jsonl", "a", "a"), ("csv", "x.csv", "x.threads.csv"), ("csv", "t", "t/findings.csv")]
)
def test_a_file_of_the_user_is_replaced_only_when_forced(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, name: str, made: str
) -> None:
    (tmp_path / made).parent.mkdir(exist_ok=True)
    (tmp_path / made).write_text("precious")
    code, _, err = export(capsys, session, "--to", form, "-o", tmp_path / name)
    assert code == 2
    assert "--force" in err
    assert (tmp_path / made).read_text() == "precious"
    assert export(capsys, session, "--to", form, "-o", tmp_path / name, "--force")[0] == 0
    assert (tmp_path / made).read_text() != "precious"


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-lock"])
def test_no_force_writes_over_a_session_or_its_parts(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    other = tmp_path / "other.livemon"
    other.write_bytes(session.read_bytes())
    code, _, err = export(capsys, session, "--to", "jsonl", "-o", f"{other}{suffix}", "--force")
    assert code == 2
    assert "session" in err
    assert os.listdir(tmp_path) == ["other.livemon"]


def test_without_pyarrow_the_remedy_is_named(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = export(capsys, session, "--to", "parquet", "-o", tmp_path / "t")
    assert code == 2
    assert err == "livemon export: Parquet needs pyarrow; install it with: pip install 'livemon[parquet]'\n"


def test_a_pipe_gets_the_lines_as_they_are_made(session: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "livemon", "export", str(session), "--to", "jsonl", "-o", "/dev/stdout"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert json.loads(lines[0])["kind"] == "SessionFacts"
    assert sum(json.loads(line)["kind"] == "TimingRecord" for line in lines) == 48
