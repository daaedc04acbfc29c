"""What a stream of lines tells of findings."""

from __future__ import annotations

from dataclasses import replace

from livemon.finding_lines import FindingLine, FindingLines
from livemon.model.findings import Finding, FindingChange
from tests.export.judgements import T0, S, oversized, transient

F1 = oversized(severity="warning")
T1 = transient(end_ns=None)


def at(second: float, change: str, finding: Finding) -> FindingChange:
    ended = replace(finding, end_ns=T0 + round(second * S)) if change == "ended" else finding
    return FindingChange(T0 + round(second * S), change, ended)  # type: ignore[arg-type]


def told(changes: list[FindingChange], now_s: float) -> tuple[list[tuple[float, str, str]], list[FindingLine]]:
    lines = FindingLines()
    out = lines.take(changes, T0 + round(now_s * S)) + lines.finish()
    return [((line.at_ns - T0) / S, line.event, line.finding.id) for line in out], out


def test_an_end_that_is_taken_back_at_once_is_not_told_and_the_lasting_one_once() -> None:
    changes = [at(1, "raised", F1)]
    for second in (2, 4, 6):
        changes += [at(second, "ended", F1), at(second + 1, "updated", F1)]
    changes.append(at(9, "ended", F1))
    assert told(changes, 20)[0] == [(1, "raised", "F1"), (9, "ended", "F1")]


def test_a_finding_that_goes_on_long_after_its_end_is_told_as_again() -> None:
    changes = [at(1, "raised", F1), at(2, "ended", F1), at(9, "updated", F1), at(12, "ended", F1)]
    assert told(changes, 13)[0] == [(1, "raised", "F1"), (2, "ended", "F1"), (9, "again", "F1"), (12, "ended", "F1")]


def test_a_change_of_severity_is_told_once_and_an_end_says_if_it_was_another() -> None:
    critical = replace(T1, severity="critical")
    changes = [at(1, "raised", T1), at(2, "updated", critical), at(7, "updated", critical), at(8, "updated", critical)]
    changes.append(at(9, "ended", T1))
    events, lines = told(changes, 12)
    assert events == [(1, "raised", "T1"), (7, "severity", "T1"), (9, "ended", "T1")]
    assert [line.note for line in lines] == ["", "it was warning", "it was critical when last told"]


def test_a_stage_at_another_level_is_one_line_for_people_and_two_for_programs() -> None:
    second = oversized(id="F2", p50=40.0)
    events, lines = told([at(1, "raised", F1), at(4, "ended", F1), at(4, "raised", second)], 30)
    assert events == [(1, "raised", "F1"), (4, "ended", "F1"), (4, "raised", "F2")]
    assert [line.is_implied for line in lines] == [False, True, False]
    assert lines[-1].note == "another level than F1, which has ended"
    other_stage = replace(second, stage="copy_back")
    _, lines = told([at(1, "raised", F1), at(4, "ended", F1), at(4, "raised", other_stage)], 30)
    assert not any(line.is_implied for line in lines)


def test_what_is_withdrawn_says_why_and_its_end_is_not_told() -> None:
    second = oversized(id="F2", p50=40.0)
    changes = [at(1, "raised", second), at(2, "ended", second), at(3, "withdrawn", second)]
    events, lines = told(changes, 30)
    assert events == [(1, "raised", "F2"), (3, "withdrawn", "F2")]
    assert "goes on" in lines[-1].note


def test_how_the_changes_are_cut_into_batches_makes_no_difference() -> None:
    changes = [at(1, "raised", F1), at(2, "ended", F1), at(9, "updated", F1), at(12, "ended", F1), at(12, "raised", T1)]
    lines = FindingLines()
    one_by_one = [line for change in changes for line in lines.take([change], change.at_ns)] + lines.finish()
    assert one_by_one == told(changes, 12)[1]


def test_the_last_update_of_an_ended_finding_is_what_is_told() -> None:
    ended = at(4, "ended", T1).finding
    newer = replace(ended, after_it="back to the level before it")  # type: ignore[type-var]
    changes = [at(1, "raised", T1), FindingChange(T0 + 4 * S, "ended", ended)]
    changes.append(FindingChange(T0 + 9 * S // 2, "updated", newer))
    _, lines = told(changes, 9)
    assert lines[-1].finding == newer
    assert lines[-1].at_ns == T0 + 4 * S
