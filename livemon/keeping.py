"""Episodes of a live session stay at full detail when its oldest minutes have to make room.

The recorder does not judge; whoever judges beside it (a viewer, the headless lines) asks it to keep
what it found. With nobody watching nothing is kept but the newest minutes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from livemon.model.errors import SessionError
from livemon.model.findings import FindingChange
from livemon.session.reader import SessionReader


def keep_episodes(reader: SessionReader, changes: Iterable[FindingChange]) -> None:
    """Ask for the stretches of findings that began or ended; a session that can't be written is left alone."""
    stretches = [
        (f.start_ns, change.at_ns if f.end_ns is None else f.end_ns, f.id)
        for change in changes
        if change.change in ("raised", "ended")
        for f in (change.finding,)
    ]
    if stretches:
        with contextlib.suppress(SessionError):
            reader.keep(stretches)
