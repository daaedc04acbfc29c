"""The overview's lines in words: verdict, findings, status bar."""

from __future__ import annotations

from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.snapshot import Snapshot, Status, Verdict
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, clean, fit, fit_line, line_width, width, wrap
from livemon.ui.render.numbers import Stamps, duration, milliseconds_words, percent, ratio, size
from livemon.ui.render.stages import class_word

_LEVELS = {
    "ok": (" OK ", "v-ok"),
    "warming": (" WARMING UP ", "v-warming"),
    "warning": (" WARNING ", "v-warning"),
    "critical": (" CRITICAL ", "v-critical"),
    "unknown": (" UNKNOWN ", "v-unknown"),
}


def verdict_lines(verdict: Verdict, cells: int, most: int, glyphs: Glyphs) -> list[Line]:
    """The verdict on as many lines as it needs, at most ``most``."""
    first = verdict_line(verdict, 10_000, glyphs)
    word, text = first[0], "".join(part for part, _ in first[2:]).rstrip()
    room = cells - width(word[0]) - 1
    parts = wrap(text, room) if room >= 20 else [text]
    if len(parts) > most:
        parts[most - 1 :] = [" ".join(parts[most - 1 :])]
    lines = [fit_line((word, (" ", "text"), (parts[0], "bold")), cells, glyphs.more)]
    indent = " " * (width(word[0]) + 1)
    return lines + [fit_line(((indent, "text"), (part, "bold")), cells, glyphs.more) for part in parts[1:]]


def verdict_line(verdict: Verdict, cells: int, glyphs: Glyphs) -> Line:
    """Level as a word, then the sentence."""
    word, style = _LEVELS[verdict.level]
    text = glyphs.ascii_only(clean(verdict.text))
    if text.lower().startswith(word.strip().lower()):  # the level is not said twice
        text = text[len(word.strip()) :].lstrip(f" :{glyphs.dot}·|")
    return fit_line(((word, style), (" ", "text"), (text, "bold")), cells, glyphs.more)


def view_words(snapshot: Snapshot, *, is_following: bool, is_live: bool, speed: float | None, glyphs: Glyphs) -> Span:
    """Where the view stands in time, in words."""
    behind_s = max(snapshot.end_ns - snapshot.at_ns, 0) / 1e9
    if speed is not None:
        return f" {glyphs.play} {speed:g}{glyphs.times} behind by {duration(behind_s)} ", "play"
    if is_following:
        return _newest_words(snapshot, is_live=is_live, glyphs=glyphs)
    return f" {glyphs.pause} PAUSED behind by {duration(behind_s)} ", "paused"


def _newest_words(snapshot: Snapshot, *, is_live: bool, glyphs: Glyphs) -> Span:
    """What the newest moment is: now, the last that was heard, or the end."""
    when = Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns).time(snapshot.end_ns)
    if snapshot.status.trouble == "gone":
        return f" {glyphs.pause} RECORDER GONE {when} ", "paused"
    if not is_live:
        return f" {glyphs.pause} ENDED {when} ", "paused"
    if snapshot.status.trouble == "silent":
        return f" {glyphs.pause} NO NEWS SINCE {when} ", "paused"
    return f" {glyphs.record} LIVE ", "live"


def status_line(
    snapshot: Snapshot, view: Span, cells: int, glyphs: Glyphs, *, screen_percent: float | None = None
) -> Line:
    """The status bar: what is watched, how well, at what cost; the least important goes first when it is narrow.

    ``screen_percent`` is the CPU of this viewer in percent of a core, which the session knows nothing of.
    """
    status = snapshot.status
    stamps = Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns)
    clock: Span = (f" {stamps.time(snapshot.at_ns)} ", "bar")
    parts = _status_parts(status, glyphs, screen_percent, is_gone_told="RECORDER GONE" in view[0])
    room = cells - line_width((view, clock))
    while parts and sum(len(text) + 3 for _, text, _ in parts) - 2 > room and len(parts) > 1:
        parts.remove(max(parts, key=lambda part: part[0]))
    spans: list[Span] = [view]
    for _, text, style in parts:
        spans.append((f" {text}", style))
        spans.append((f" {glyphs.dot}", "bar"))
    if len(spans) > 1:
        spans.pop()
    left = fit_line(spans, max(cells - line_width((clock,)), 0), glyphs.more)
    padded = tuple((text, "bar" if style == "text" else style) for text, style in left)
    return fit_line((*padded, clock), cells, glyphs.more)


def _status_parts(
    status: Status, glyphs: Glyphs, screen_percent: float | None, *, is_gone_told: bool
) -> list[tuple[int, str, str]]:
    """(drop order, text, style); 0 stays longest."""
    parts: list[tuple[int, str, str]] = []
    for number, target in enumerate(status.targets[:3]):
        is_running = target.state == "running"
        name = f"{clean(target.name)} {target.pid}"
        text = name if is_running else f"{name} {glyphs.ascii_only(clean(target.state))}"
        parts.append((number * 3, text, "bar" if is_running else "bar-warn"))
    if len(status.targets) > 3:
        parts.append((9, f"+{len(status.targets) - 3} more", "bar"))
    if not status.targets:
        parts.append((1, "no process", "bar"))
    is_usual = status.recorder_state in ("recording", "replay", "closed", "imported")
    if not is_usual and not is_gone_told:
        parts.append((0, glyphs.ascii_only(clean(status.recorder_state)), "bar-warn"))
    if status.lost:
        parts.append((1, f"{status.lost} losses (key d)" if status.lost > 1 else "1 loss (key d)", "bar-warn"))
    if status.degraded:
        parts.append((2, f"degraded: {glyphs.ascii_only(clean(status.degraded))}", "bar-warn"))
    if status.units_per_s is not None:
        parts.append((3, f"{percent(status.units_per_s)} units/s", "bar"))
    if status.late_ticks and status.is_counted:
        parts.append((4, f"late {status.late_ticks}/{status.ticks}", "bar-warn"))
    if status.malformed and status.is_counted:
        parts.append((5, f"malformed {status.malformed}", "bar-warn"))
    if status.log_lag_ms is not None and status.log_lag_ms >= 1000:
        parts.append((4, f"log late by {duration(status.log_lag_ms / 1000)}", "bar-warn"))
    if status.is_recording:
        parts.append((7, f"rec {size(status.session_bytes)}", "bar"))
    else:
        parts.append((7, f"{status.recorder_state if is_usual else 'session'} {size(status.session_bytes)}", "bar"))
    own = [("recorder", status.self_cpu_percent), ("screen", screen_percent)]
    costs = [f"{name} {value:.{0 if value >= 1 else 1}f}%" for name, value in own if value is not None]
    if costs:
        parts.append((2, f"CPU {' '.join(costs)}", "bar"))
    if not status.lost:
        parts.append((10, "lost 0", "bar"))
    if not status.late_ticks and status.ticks and status.is_counted:
        parts.append((11, f"late 0/{status.ticks}", "bar"))
    return parts


def finding_line(finding: Finding, stamps: Stamps, cells: int, glyphs: Glyphs) -> Line:
    """One finding as one line: id, kind in words, when, how much, why."""
    is_ongoing = finding.end_ns is None
    style = "crit" if finding.severity == "critical" else "warn"
    sign = glyphs.up if is_ongoing else " "
    spans: list[Span] = [
        (f"{sign}{fit(finding.id, 4)}", style),
        ("CRIT " if finding.severity == "critical" else "warn ", style),
    ]
    if isinstance(finding, HostSlowTransient):
        spans.append(("host-slow ", "bold"))
        spans.extend(_transient_words(finding, stamps, glyphs))
    else:
        spans.append(("finalize  ", "bold"))
        spans.extend(_finalize_words(finding, glyphs))
    return fit_line(spans, cells, glyphs.more)


def _transient_words(finding: HostSlowTransient, stamps: Stamps, glyphs: Glyphs) -> list[Span]:
    spans: list[Span] = [(stamps.time(finding.start_ns) + " ", "text")]
    if finding.end_ns is None:
        spans.append(("ongoing ", "warn"))
    else:
        spans.append((f"{duration((finding.end_ns - finding.start_ns) / 1e9)} ", "text"))
    if finding.slowdown is not None:
        spans.append((ratio(finding.slowdown, glyphs) + " ", "bold"))
    if finding.primary_words is None:
        spans.append(("cause not told ", "muted"))
    else:
        threads = next((c.threads for c in finding.causes if c.cause == finding.primary_cause), ())
        named = ": " + ", ".join(clean(t) for t in threads[:3]) if threads else ""
        spans.append((f"{finding.primary_words}{named} ", "name"))
    if finding.peak_p99_ms is not None:
        spans.append((f"peak P99 {milliseconds_words(finding.peak_p99_ms)} ", "muted"))
    if finding.cost_ms is not None:
        spans.append((f"cost {milliseconds_words(finding.cost_ms)}", "muted"))
    return spans


def _finalize_words(finding: OversizedFinalize, glyphs: Glyphs) -> list[Span]:
    where = f"{class_word(finding.class_key)} {clean(finding.stage)}".lstrip()
    spans: list[Span] = [
        (where + " ", "name"),
        (f"median {milliseconds_words(finding.p50_ms)} ", "bold"),
    ]
    if finding.saving_ms_per_step is not None:
        spans.append((f"saves {milliseconds_words(finding.saving_ms_per_step)}/step ", "bold"))
    if finding.budget_ms:
        over = ratio(finding.p50_ms / finding.budget_ms, glyphs)
        spans.append((f"{over} of {finding.budget_ms:g} ms ", "text"))
    if finding.judged_ratio is not None:
        spans.append((f"{ratio(finding.judged_ratio, glyphs)} {clean(finding.device_stage or 'device')} ", "text"))
    if finding.share_of_total is not None:
        of = "of wall time" if finding.share_denominator.startswith("wall time") else "of total"
        spans.append((f"{finding.share_of_total * 100:.0f}% {of}", "muted"))
    if finding.end_ns is not None:
        spans.append((" ended", "muted"))
    return spans
