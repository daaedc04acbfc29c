"""How the overview shares its lines among its panels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines of each part; a panel with 0 rows is not there, else it has a title line above its rows."""

    timeline: int
    """0..4: share, episodes, axis, rail in the order in which they matter."""
    findings: int
    stages: int
    threads: int


def share_lines(lines: int, findings: int, stages: int, threads: int) -> Layout:
    """Share ``lines`` (without verdict, status and hint line) among the panels.

    Stages and threads get what they need where there is room; when there is not, findings keep
    1–3 rows, and the rest is split so that neither stages nor threads starve.
    """
    timeline = 4 if lines >= 28 else 3 if lines >= 17 else 1 if lines >= 9 else 0
    left = lines - timeline
    most_findings = 6 if lines >= 34 else 3 if lines >= 17 else 1
    shown_findings = min(findings, most_findings) if left >= 6 else 0
    if shown_findings:
        left -= shown_findings + 1
    if left < 5:
        shown_stages = max(left - 1, 0)
        return Layout(timeline, shown_findings, shown_stages, 0)
    left -= 2
    shown_stages = min(stages, max(left * 45 // 100, 1))
    shown_threads = min(max(threads, 1), left - shown_stages)
    shown_stages = max(min(stages, left - shown_threads), 1)
    return Layout(timeline, shown_findings, shown_stages, left - shown_stages)
