"""The list of recordings; enter opens one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from livemon.model.snapshot import SessionEntry, Snapshot, ViewSource
from livemon.ui.render.line import Row, clean, fit
from livemon.ui.render.numbers import duration, size
from livemon.ui.screens.page import PageScreen
from livemon.ui.view import View


class SessionsScreen(PageScreen):
    """What ``Settings.sessions`` lists."""

    screen_name: ClassVar[str] = "sessions"

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> tuple[SessionEntry, ...]:
        """The entries; read in the feed's thread."""
        listing = self.app.settings.sessions
        return tuple(listing()) if listing is not None else ()

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("open", "back", "down", "help", "quit")

    def entries(self) -> tuple[SessionEntry, ...]:
        """What is known of them."""
        known = self.app.extra
        return known if isinstance(known, tuple) else ()

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return f"SESSIONS {len(self.entries())}", "newest first"

    def lines(self, cells: int) -> list[Row]:
        """One line a recording."""
        entries = self.entries()
        if not entries:
            listing = self.app.settings.sessions
            why = "this viewer was started without a list of recordings" if listing is None else "no recording found"
            return [((), ""), (((f"  {why}; see livemon sessions", "muted"),), "")]
        has_findings = any(entry.findings is not None for entry in entries)
        counted = f"{'findings':<9} " if has_findings else ""
        titles = f"   {'started':<17}{'length':>9}  {'size':>9}  {'state':<20} {'targets':<24} {counted}name"
        rows: list[Row] = [(((titles, "header"),), "")]
        source = self.app.feed.source
        for entry in entries:
            start = (
                ""
                if entry.start_wall_ns is None
                else datetime.fromtimestamp(entry.start_wall_ns // 10**9).strftime("%Y-%m-%d %H:%M")
            )
            is_this = source is not None and entry.path == source.path
            state_style = "ok" if entry.state.startswith(("recording", "closed")) else "warn"
            found = "" if entry.findings is None else str(entry.findings)
            spans = (
                (" * " if is_this else "   ", "title"),
                (fit(start or self.glyphs.missing, 17), "text"),
                (fit(duration(entry.duration_s), 9, ">") + "  ", "text"),
                (fit(size(entry.size_bytes), 9, ">") + "  ", "text"),
                (fit(self.glyphs.ascii_only(clean(entry.state)), 20, more=self.glyphs.more) + " ", state_style),
                (fit(clean(entry.targets), 24, more=self.glyphs.more) + " ", "name"),
                (fit(found, 9) + " " if has_findings else "", "text"),
                (clean(entry.name), "muted"),
            )
            rows.append((spans, ""))
        return rows

    def selectable(self) -> range:
        """Every recording."""
        return range(1, len(self.entries()) + 1)

    def about(self, position: int) -> str:
        """The whole entry with its path."""
        entries = self.entries()
        if position >= len(entries):
            return ""
        entry = entries[position]
        return f"{entry.name}: {entry.state}; targets: {entry.targets or 'none'}; {entry.path}"

    def act_open(self) -> None:
        """Open the selected recording in place of the shown one."""
        entries = self.entries()
        opener = self.app.settings.open_session
        if not entries:
            return
        entry = entries[self.panel.index]
        if opener is None:
            self.app.say(f"open it with: livemon replay {entry.path}")
            return
        self.app.switch_source(lambda progress: opener(entry.path, progress), clean(entry.name))
