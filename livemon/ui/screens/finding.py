"""A finding's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from livemon.model.findings import Finding
from livemon.model.severity import SeverityRules
from livemon.model.snapshot import Snapshot, ViewSource
from livemon.ui.crash import state_dir
from livemon.ui.render.finding import finding_rows, markdown
from livemon.ui.render.line import Row
from livemon.ui.render.numbers import Stamps
from livemon.ui.screens.page import PageScreen
from livemon.ui.view import View


class FindingScreen(PageScreen):
    """What, when, how sure, why; as it was known at the shown moment if it was known then."""

    screen_name: ClassVar[str] = "finding"

    def __init__(self, finding_id: str) -> None:
        super().__init__()
        self.finding_id = finding_id

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> tuple[Finding, ...]:
        """All findings: this one may lie after the shown moment."""
        return source.all_findings()

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("help", "back", "log", "copy", "next_finding", "next_episode", "down", "quit")

    def listed(self) -> list[Finding]:
        """Findings as known at the shown moment, then those known only later."""
        snapshot = self.app.snapshot
        known = list(snapshot.findings) if snapshot is not None else []
        ids = {finding.id for finding in known}
        later = self.app.extra if isinstance(self.app.extra, tuple) else ()
        return known + [
            finding for finding in later if isinstance(getattr(finding, "id", None), str) and finding.id not in ids
        ]

    def finding(self) -> Finding | None:
        """The finding, if it is known."""
        return next((finding for finding in self.listed() if finding.id == self.finding_id), None)

    def _stamps(self) -> Stamps:
        snapshot = self.app.snapshot
        assert snapshot is not None
        return Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns)

    def _severities(self) -> SeverityRules:
        return SeverityRules() if self.app.snapshot is None else self.app.snapshot.severities

    def heading(self) -> tuple[str, str]:
        """Id and kind."""
        finding = self.finding()
        if finding is None:
            return f"FINDING {self.finding_id}", ""
        return f"FINDING {self.finding_id}", f"{finding.severity}, {'ongoing' if finding.end_ns is None else 'ended'}"

    def lines(self, cells: int) -> list[Row]:
        """The page."""
        finding = self.finding()
        if finding is None:
            return [
                ((), ""),
                ((("  this finding is not known at the shown moment (withdrawn, or not raised yet)", "muted"),), ""),
            ]
        return finding_rows(finding, self._stamps(), self._severities(), cells, self.glyphs)

    def act_next_finding(self) -> None:
        """The next finding."""
        self._turn(1)

    def act_previous_finding(self) -> None:
        """The previous finding."""
        self._turn(-1)

    def _turn(self, step: int) -> None:
        ids = [finding.id for finding in self.listed()]
        if ids:
            place = ids.index(self.finding_id) if self.finding_id in ids else 0
            self.finding_id = ids[(place + step) % len(ids)]
            self.top = 0

    def act_log(self) -> None:
        """The log where the finding starts."""
        finding = self.finding()
        if finding is not None:
            self.app.go_to(finding.start_ns)
        self.app.act_log()

    def act_open(self) -> None:
        """Go to the moment from which it is shown, on the overview."""
        finding = self.finding()
        if finding is not None:
            self.app.go_to(finding.detected_ns)
            self.act_back()

    def act_copy(self) -> None:
        """As Markdown to the clipboard and into a file."""
        finding = self.finding()
        if finding is None:
            return
        text = markdown(finding, self._stamps(), self._severities())
        self.app.copy_to_clipboard(text)
        path = state_dir(self.app.settings) / f"finding-{finding.id}.md"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            self.app.say(
                f"sent to the clipboard (OSC 52); the file {path} can't be written: {error.strerror}", "bar-warn"
            )
            return
        self.app.say(f"Markdown to the clipboard (OSC 52) and {path}")
