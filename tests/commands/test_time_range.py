"""``--from`` and ``--until``: a stretch of a session in report and export."""

import datetime
import json
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.commands.time_range import stretch_of
from livemon.model.errors import UsageError
from tests.commands.sessions import write_session
from tests.export.judgements import T0, WALL, S

END = 20.0
"""Seconds from the session's start to its end."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("stretch") / "a.livemon")


def report(capsys: pytest.CaptureFixture[str], session: Path, *options: str) -> dict:  # type: ignore[type-arg]
    assert main(["report", "--json", str(session), *options]) == 0
    value: dict = json.loads(capsys.readouterr().out)  # type: ignore[type-arg]
    return value


def test_stretches_that_follow_each_other_add_up_to_the_whole(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = report(capsys, session)
    parts = [
        report(capsys, session, f"--from=+{first}", f"--until=+{last}")
        for first, last in ((0, 6), (6.000000001, 13), (13.000000001, END))
    ]
    assert "whole" not in whole["session"]
    for part in parts:
        assert part["session"]["whole"] == {"start": whole["session"]["start"], "end": whole["session"]["end"]}
        assert part["session"]["start"] >= whole["session"]["start"]
        ids = {finding["id"] for finding in whole["findings"]}
        assert {finding["id"] for finding in part["findings"]} <= ids
        assert part["steps"]["period"] in (3, None)
    assert sum(part["session"]["records"] for part in parts) == whole["session"]["records"]

    def count(value: dict, key: str) -> dict[tuple[str, str], float]:  # type: ignore[type-arg]
        return {(row["class"], row["stage"]): row[key] for row in value["stages"]}

    for key, n in count(whole, "n").items():
        assert sum(count(part, "n").get(key, 0) for part in parts) == n
    for name in ("client-short", "client-long"):
        cpu = [row["cpu_ms"] or 0.0 for part in parts for row in part["threads"] if row["name"] == name]
        known = [row["cpu_ms"] or 0.0 for row in whole["threads"] if row["name"] == name]
        assert sum(cpu) == pytest.approx(sum(known))


def test_the_whole_session_as_a_stretch_is_the_report_of_the_whole(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, stretch = report(capsys, session), report(capsys, session, "--from", "start", "--until", "end")
    del stretch["session"]["whole"]
    assert stretch == whole


def test_a_finding_outside_is_left_out_and_one_that_reaches_in_is_told_whole(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = report(capsys, session)
    finding = whole["findings"][0]
    inside = report(capsys, session, "--from", finding["id"].lower(), "--until", finding["id"])
    assert finding in [{**f, "end": finding["end"], "duration_s": finding["duration_s"]} for f in inside["findings"]]
    assert main(["report", str(session), "--from", finding["id"]]) == 0
    told = capsys.readouterr().out
    assert f"{finding['id']} in detail" in told
    assert "began before" not in told
    start_s = finding["start"] - whole["session"]["start"]
    if start_s > 0.5:
        before = report(capsys, session, f"--until=+{start_s - 0.2}")
        assert finding["id"] not in {f["id"] for f in before["findings"]}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("start", 0.0),
        ("end", END),
        ("+5", 5.0),
        ("+5.5s", 5.5),
        ("-4s", END - 4),
        (f"{T0 / S + 3:.3f}", 3.0),
        (f"{WALL / S + 3:.3f}", 3.0),
        ("hetero on", 8.0),
        (f"{datetime.datetime.fromtimestamp(WALL // S + 7, datetime.UTC):%Y-%m-%dT%H:%M:%S}Z", 7.0 - WALL % S / S),
        (f"{datetime.datetime.fromtimestamp(WALL // S + 7, datetime.UTC):%H:%M:%S}Z", 7.0 - WALL % S / S),
        (f"{datetime.datetime.fromtimestamp(WALL // S + 7):%H:%M:%S}", 7.0 - WALL % S / S),
    ],
)
def test_times_are_given_as_on_the_screens_or_as_the_report_prints_them(
    session: Path, text: str, seconds: float
) -> None:
    found = stretch_of(session, text, None)
    assert found is not None
    assert (found[0] - T0) / S == pytest.approx(seconds, abs=2e-3)
    assert found[1] == T0 + round(END * S)


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("zebra", None, "can't read 'zebra' as a time"),
        ("+500", None, "after the session's end"),
        ("1", None, "1 is outside of the session"),
        ("+9", "+3", "--from +9 is after --until +3"),
        ("T77", None, "can't read 'T77'"),
        ("nan", None, "can't read 'nan'"),
        ("", None, "can't read ''"),
    ],
)
def test_what_cant_be_a_time_is_said_in_one_line(session: Path, first: str, last: str | None, words: str) -> None:
    with pytest.raises(UsageError) as error:
        stretch_of(session, first, last)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_stretch_is_exported_so_that_it_can_be_imported_again(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, again = tmp_path / "part.jsonl", tmp_path / "part.livemon"
    stretch = ("--from=+5", "--until=+15")
    assert main(["export", str(session), "--to", "jsonl", "-o", str(lines), *stretch]) == 0
    assert main(["import", "--jsonl", str(lines), "-o", str(again)]) == 0
    capsys.readouterr()
    part, imported = report(capsys, session, *stretch), report(capsys, again)
    assert imported["session"]["records"] == part["session"]["records"]
    assert imported["session"]["start"] == pytest.approx(part["session"]["start"], abs=0.3)
    assert imported["session"]["clock"] == "unix"
    for row in part["threads"]:
        found = next(other for other in imported["threads"] if other["tid"] == row["tid"])
        assert found["cpu_ms"] == pytest.approx(row["cpu_ms"])


@pytest.mark.parametrize("form", ["csv", "perfetto", "openmetrics"])
def test_a_stretch_of_every_form_holds_only_that(session: Path, tmp_path: Path, form: str) -> None:
    output = tmp_path / "part"
    assert main(["export", str(session), "--to", form, "-o", str(output), "--from=+5", "--until=+15"]) == 0
    if form == "csv":
        rows = (output / "timings.csv").read_text().splitlines()
        column = rows[0].split(",").index("arrival_ns")
        arrivals = [int(row.split(",")[column]) for row in rows[1:]]
        assert arrivals
        assert min(arrivals) >= T0 + 5 * S
        assert max(arrivals) <= T0 + 15 * S
    elif form == "perfetto":
        events = json.loads(output.read_text())["traceEvents"]
        assert max(event.get("ts", 0) for event in events) <= 16_000_000
        assert min(event.get("ts", 0) for event in events) >= 0
    else:
        assert output.read_text().endswith("# EOF\n")


def test_sweep_takes_no_stretch(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(session), "--sweep", "finalize.budget_ms=3,5", "--from=+5"]) == 2
    assert "--sweep is of a whole session" in capsys.readouterr().err
