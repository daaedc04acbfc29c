"""The report in words: verdicts first, nothing wider than the terminal, nothing from a log acts on it."""

from dataclasses import replace

import pytest

from livemon.export.markdown import render_markdown
from livemon.export.report_document import report_blocks, sessions_overview
from livemon.export.report_json import reports_json
from livemon.export.text import cells, render_text
from livemon.model.findings import Blip
from livemon.model.judgement import ThreadStats
from tests.export.judgements import T0, S, empty, judgement, oversized, stage, transient


def text(value: object = None, width: int = 80) -> str:
    return render_text(report_blocks(value or judgement()), width=width)  # type: ignore[arg-type]


def test_verdicts_come_first_and_critical_before_warning() -> None:
    lines = text().splitlines()
    assert lines[2].startswith("CRITICAL  F1 oversized finalize: validate of 1/3")
    assert next(line for line in lines if "T1" in line).startswith("WARNING  T1 host-slow transient")
    assert text().index("CRITICAL") < text().index("WARNING") < text().index("Session\n")


def test_a_cost_that_is_not_there_is_no_negative_loss() -> None:
    assert "512.5 ms lost in the episode" in text(width=200).replace("512.50", "512.5")
    assert "none: the units took no longer in all" in text(judgement(findings=(transient(cost_ms=0.0),)))


def test_a_finding_past_the_stretch_is_told_whole_and_says_so() -> None:
    whole = {"start_ns": T0 + 9 * S, "end_ns": T0 + 10 * S, "whole_ns": (T0, T0 + 20 * S)}
    for end_ns, length in ((T0 + 11 * S, 3.0), (None, 12.0)):
        part = judgement(findings=(transient(end_ns=end_ns),), **whole)
        assert "reaches beyond it (began before, goes on after)" in text(part, width=200)
        (found,) = reports_json([part], "monotonic")["findings"]  # type: ignore[misc, attr-defined]
        assert found["ongoing"] is (end_ns is None)
        assert found["duration_s"] == pytest.approx(length)
        assert found["end"] - found["start"] == pytest.approx(length)
    inside = judgement(findings=(transient(),), whole_ns=(T0, T0 + 20 * S))
    assert "reaches beyond" not in text(inside)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(cells(line) for line in text(width=width).splitlines()) <= width


def test_a_narrow_terminal_says_which_columns_it_had_no_room_for() -> None:
    assert "no room for: min ms, P90 ms" in text()
    assert "no room for" not in text(width=160)


def test_figures_and_unknowns_are_told_apart() -> None:
    report = text(width=160)
    row = next(line for line in report.splitlines() if line.startswith("idle"))
    assert row.split()[2:] == ["0", "–", "–", "–", "–", "–"]
    assert "can't tell  cgroup cpu.stat was not readable" in report
    assert "E share is unknown for some threads: no core class is known here." in report


def test_a_log_without_timing_says_what_to_do_on_one_line() -> None:
    assert "read 1,204 lines, no timing found: try `livemon parse --explain FILE`" in text(empty(), 100)
    assert "`livemon parse --explain FILE`" in text(empty())


def test_a_healthy_session_says_what_it_looked_at() -> None:
    assert "OK  No host-slow transient and no oversized finalize in 48 records over 20.0 s." in text(
        judgement(findings=())
    )


def test_losses_gaps_and_damage_are_said() -> None:
    report = text()
    assert "threads not observed from" in report
    assert "log:a.log: 3 lines lost: rotated away" in report
    assert "212 bytes at the end could not be read" in report
    assert "sysctl kernel.perf_event_paranoid=1" in report.replace("\n  ", " ")


def test_control_characters_never_reach_the_terminal() -> None:
    evil = judgement(
        stages=(stage("\x1b[31mred\x07", "st\x1bage\udc80", "host"),),
        threads=(ThreadStats(1, 2, "na\x1b]0;me", 1.0, None, "", None, (), None, None),),
        findings=(oversized("\x1b[2J"),),
    )
    assert all(c.isprintable() or c == "\n" for c in text(evil))
    assert all(c.isprintable() or c == "\n" for c in render_markdown(report_blocks(evil)))


def test_colour_only_when_asked() -> None:
    assert "\x1b" not in text()
    coloured = render_text(report_blocks(judgement()), is_coloured=True)
    assert "\x1b[31;1mCRITICAL\x1b[0m" in coloured


def test_wide_characters_keep_the_columns_aligned() -> None:
    table = text(judgement(threads=(replace(judgement().threads[0], name="推論"), judgement().threads[0])))
    rows = [line for line in table.splitlines() if "812.5" in line]
    assert len({cells(row[: row.index("812.5")]) for row in rows}) == 1


def test_the_thread_table_is_bounded_and_says_so() -> None:
    many = tuple(replace(judgement().threads[0], tid=i, cpu_ms=float(i)) for i in range(100))
    report = text(judgement(threads=many))
    assert "60 more threads, 1,770.0 ms of CPU together." in report.replace("\n", " ")


def test_short_lived_threads_of_one_name_are_one_row_and_counted() -> None:
    known = judgement()
    assert known.start_ns is not None
    assert known.end_ns is not None
    length_ns = known.end_ns - known.start_ns
    base = replace(known.threads[0], efficiency_share=0.5, migrations=2)
    short = [replace(base, tid=i, name=f"conn-{i}", cpu_ms=10.0, lifetime_ns=length_ns // 10) for i in range(1000)]
    long = replace(base, tid=5000, name="conn-main", cpu_ms=3.0, lifetime_ns=length_ns - 1)
    few = [replace(base, tid=6000 + i, name=f"init-{i}", cpu_ms=1.0, lifetime_ns=1) for i in range(2)]
    report = text(judgement(threads=(*short, long, *few)), width=160)
    rows = [line.split() for line in report.splitlines() if line.startswith(("conn-", "init-"))]
    assert [row[0] for row in rows] == ["conn-*", "conn-main", "init-0", "init-1"]
    assert "conn-* (1,000 short-lived)" in report
    assert rows[0][3:] == ["10,000.0", "0.50", "–", "–", "12,000.0", "2,000"]
    assert "1,000 threads that ended within half of the session are in 1 row" in report


def test_markdown_tables_survive_what_logs_contain() -> None:
    report = render_markdown(
        report_blocks(judgement(stages=(stage("a|b<script>", "x*y_z`q", "host"),), findings=(transient(),)))
    )
    row = next(line for line in report.splitlines() if "script" in line and "Class" in line)
    assert "\\|" in row
    assert "\\<script\\>" in row
    tables = [line for line in report.splitlines() if line.startswith("| ")]
    assert any("x\\*y\\_z'q" in line for line in tables)
    assert report.startswith("# livemon report")
    assert "- **WARNING** T1" in report


def test_several_sessions_start_with_an_overview() -> None:
    overview = render_text(sessions_overview([judgement(), empty()]))
    assert "livemon report: 2 sessions" in overview
    assert "5.80×" in overview


def test_units_without_a_class_or_cycle_are_named_for_what_they_are() -> None:
    report = text(judgement(stages=(stage(None, "a", "host"), stage("0/1", "b", "host")), findings=(oversized("0/1"),)))
    assert "Units without a class" in report
    assert "Class all runs (they show no cycle)" in report
    assert "validate takes 90.60 ms" in report.replace("\n  ", " ")
    assert "Units without a class" not in text(judgement(stages=(stage(None, "a", "host"),)))


def flat(value: object) -> str:
    return " ".join(text(value, width=200).split())


def test_peak_and_ratios_say_what_they_are_and_the_longest_unit_and_the_host_time_stand_beside_them() -> None:
    said = flat(judgement(findings=(transient(longest_ms=173.3, host_ms=(45.5, 5.0)),)))
    assert "17.10 ms (the highest of a second, in its first 5 s); longest unit 173.3 ms" in said
    assert "45.50 ms a slow unit against 5.00 ms (9.10×): all host stages, mean against usual" in said
    assert "of two their geometric mean" in said
    assert "host stages typically 5.80× as long as before" in said
    unknown = flat(judgement(findings=(transient(),)))
    assert "longest unit" not in unknown
    assert "Host time" not in unknown


def test_only_an_episode_that_goes_on_is_told_as_not_recovered() -> None:
    assert "not recovered after 5 s" in flat(judgement(findings=(transient(end_ns=None, not_recovered_by_5_s=True),)))
    over = flat(judgement(findings=(transient(not_recovered_by_5_s=True),)))
    assert "not recovered" not in over
    assert "its recovery took more than 5 s" in over
    assert "recover" not in flat(judgement(findings=(transient(),)))


def test_a_finalize_that_lasted_only_while_an_episode_did_names_it_and_its_saving_is_an_average() -> None:
    inside = oversized(start_ns=T0 + 8 * S + S // 2, end_ns=T0 + 11 * S)
    for stage_ns, episode, is_inside in (
        ((T0 + 8 * S + S // 2, T0 + 11 * S), transient(), True),
        ((T0 + 2 * S, T0 + 11 * S), transient(), False),
        ((T0 + 9 * S, T0 + 15 * S), transient(), False),
        ((T0 + 9 * S, None), transient(), False),
        ((T0 + 9 * S, None), transient(end_ns=None), True),
    ):
        finding = replace(inside, start_ns=stage_ns[0], end_ns=stage_ns[1])
        said = flat(judgement(findings=(finding, episode)))
        assert ("it lasted only while T1 did" in said) is is_inside
        assert "a step would be 90.60 ms shorter on average" in said


def test_a_device_of_more_than_one_mode_has_one_ratio_in_the_headline_and_in_the_facts() -> None:
    said = flat(judgement(findings=(oversized(device_middle_ms=26.0),)))
    assert "and 3.48× its device stage runner_run" in said
    assert "runner_run 28.31 ms (median) of more than one mode, 26.00 ms in its middle, ratio 3.48×" in said
    assert "3.20×" not in said


def test_the_table_over_time_says_whose_cpu_it_shows() -> None:
    row = transient().threads[0]
    other = replace(row, thread="compactor", cpu_ms_per_unit=(24.0, 0.1))
    assert "CPU is that of all watched threads, in the episode compactor 24.00 of 25.80 ms/unit" in flat(
        judgement(findings=(transient(threads=(row, other)),))
    )
    alone = flat(judgement(findings=(transient(threads=(replace(row, cpu_ms_per_unit=(1.8, 1.7)),)),)))
    assert "CPU is that of all watched threads)" in alone


def test_a_stretch_that_was_asked_for_from_a_findings_start_does_not_begin_after_it() -> None:
    asked = {"asked_ns": (T0 + 8 * S, T0 + 20 * S), "whole_ns": (T0, T0 + 20 * S), "start_ns": T0 + 8 * S + 90_000_000}
    assert "began before" not in flat(judgement(findings=(transient(),), **asked))
    later = asked | {"asked_ns": (T0 + 8 * S + 1, T0 + 20 * S)}
    assert "began before" in flat(judgement(findings=(transient(),), **later))


def test_slow_stretches_below_the_threshold_can_be_followed_up() -> None:
    near = [Blip(T0 + k * S, T0 + k * S + 80_000_000, k + 1, 2.5, 0.6 + k / 20) for k in range(7)]
    said = flat(judgement(blips=9, newest_blips=tuple(near)))
    assert "9 slow stretches below the threshold of an episode; nearest to it: " in said
    assert said.count("of the evidence") == 5
    assert "for 0.08 s, 7 slow units up to 2.50×, 90% of the evidence" in said
    (row, *_) = reports_json([judgement(newest_blips=tuple(near))], "monotonic")["session"]["newest_blips"]  # type: ignore[index, call-overload]
    assert row["slow_units"] == 1
    assert "2 slow stretches below the threshold of an episode Criteria" in flat(judgement())
