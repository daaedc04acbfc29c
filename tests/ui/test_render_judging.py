"""What a recording that is still being judged looks like: nothing is claimed that is not known."""

from __future__ import annotations

from dataclasses import replace

from livemon.model.snapshot import Snapshot
from livemon.ui.render.glyphs import BLOCK
from livemon.ui.render.stages import stage_reasons
from livemon.ui.render.summary import status_line
from livemon.ui.render.timeline import LABEL, rail_axis, rail_line
from tests.ui.scripted import ScriptedSource

CELLS = 100


def frame() -> Snapshot:
    source = ScriptedSource()
    return source.snapshot(None, 60_000_000_000, 60)


def rail(snapshot: Snapshot) -> str:
    return "".join(text for text, _ in rail_line(snapshot, (), CELLS, BLOCK))[LABEL:]


def test_the_rail_is_shaded_where_nothing_is_judged_yet() -> None:
    snapshot = frame()
    assert BLOCK.bar_empty not in rail(snapshot)
    middle = (snapshot.start_ns + snapshot.end_ns) // 2
    shaded = rail(replace(snapshot, timeline=replace(snapshot.timeline, judged_ns=middle)))
    first = rail_axis(snapshot, CELLS).cell(middle)
    assert first is not None
    assert BLOCK.bar_empty not in shaded[:first]
    assert set(shaded[first:]) <= {BLOCK.bar_empty, BLOCK.mark, BLOCK.cursor}
    assert shaded.count(BLOCK.bar_empty) > len(shaded) // 3


def test_counts_that_are_not_known_are_not_shown() -> None:
    snapshot = frame()
    counted = replace(snapshot, status=replace(snapshot.status, ticks=1200, late_ticks=3, malformed=2))
    words = [
        "".join(text for text, _ in status_line(s, ("", ""), 300, BLOCK))
        for s in (counted, replace(counted, status=replace(counted.status, is_counted=False)))
    ]
    assert "late 3/1200" in words[0]
    assert "malformed 2" in words[0]
    assert "late" not in words[1]
    assert "malformed" not in words[1]


def test_a_row_says_why_it_has_no_state() -> None:
    row = replace(frame().stages[0], state="unjudged")
    reasons = {name: why for name, _, why in stage_reasons(row)}
    assert "still being judged" in reasons["state"]
