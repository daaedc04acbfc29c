"""What can be observed here, what can't, why, and the remedy; what was lost."""

from __future__ import annotations

from typing import ClassVar

from livemon.ui.render.line import Row, clean, fit, wrap
from livemon.ui.screens.page import PageScreen


class DoctorScreen(PageScreen):
    """Capabilities as the recorder found them, CPUs, losses, notes."""

    screen_name: ClassVar[str] = "doctor"

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return "DOCTOR", "what the recorder of this session could observe"

    def lines(self, cells: int) -> list[Row]:
        """The page."""
        snapshot = self.app.snapshot
        assert snapshot is not None
        glyphs = self.glyphs
        rows: list[Row] = []

        def text(label: str, style: str, value: str, value_style: str = "text") -> None:
            for number, part in enumerate(wrap(glyphs.ascii_only(clean(value)), max(cells - 34, 12))):
                rows.append((((f" {fit(label if number == 0 else '', 31)} ", style), (part, value_style)), ""))

        for capability in snapshot.capabilities:
            word = "yes" if capability.available else "NO"
            text(
                f"{fit(word, 4)}{clean(capability.name)}",
                "ok" if capability.available else "warn",
                capability.reason or "-",
            )
            if capability.remedy and not capability.available:
                text("", "muted", f"remedy: {capability.remedy}", "bold")
        if not rows:
            rows.append((((" the session says nothing about what could be observed", "muted"),), ""))
        rows.append(((), ""))
        by_class: dict[str, list[int]] = {}
        for cpu in snapshot.cpus:
            by_class.setdefault(cpu.core_class, []).append(cpu.cpu)
        for name, numbers in by_class.items():
            text(f"class {clean(name)}", "label", f"{len(numbers)} CPUs: {ranges(numbers)}")
        status = snapshot.status
        rows.append(((), ""))
        if status.is_counted:
            text("log", "label", f"{status.lines} lines, {status.records} timing records, {status.malformed} malformed")
            text("ticks", "label", f"{status.ticks}, {status.late_ticks} late")
        else:
            text("log, ticks", "label", "not counted up to this moment yet: the recording is being judged")
        text(
            "lost",
            "warn" if status.lost else "label",
            f"{status.lost}" + "".join(f"; {why}" for why in status.lost_reasons),
        )
        if status.degraded:
            text("degraded", "warn", status.degraded)
        for target in status.targets:
            text(f"{clean(target.name)} {target.pid}", "label", target.state)
        for note in status.notes:
            text("note", "warn", note)
        return rows


def ranges(numbers: list[int]) -> str:
    """CPU numbers as a list of ranges: ``0-7,16``."""
    out: list[str] = []
    ordered = sorted(numbers)
    start = 0
    for place, number in enumerate(ordered):
        if place + 1 == len(ordered) or ordered[place + 1] != number + 1:
            first = ordered[start]
            out.append(str(first) if first == number else f"{first}-{number}")
            start = place + 1
    return ",".join(out)
