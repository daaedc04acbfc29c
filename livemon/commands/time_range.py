"""``--from`` and ``--until``: a stretch of a session, in the words in which the screens take a time."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import re

from livemon.model.clock import WallMapping
from livemon.model.errors import UsageError
from livemon.session.reader import SessionReader

Stretch = tuple[int, int]
"""First and last moment, session ns, both included."""
_FORMS = "12:04:31 (local), 12:04:31Z, 2026-01-31T12:04:31, +90 (s from the start), -30s (before the end), T2, a mark"
_DAY_NS = 86_400_000_000_000
_ID = re.compile(r"[TF]\d+")


def add_range_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two options."""
    parser.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help=f"only what came from then on: {_FORMS}, or seconds as the report prints them; write --from=-30s; "
        "findings that touch the stretch are told whole",
    )
    parser.add_argument("--until", metavar="TIME", help="only what came until then; the same forms")


def stretch_of(
    path: str | os.PathLike[str], first: str | None, last: str | None, criteria_toml: str | None = None
) -> Stretch | None:
    """The stretch of a session that is asked for; ``None`` for all of it.

    Args:
        path: The session.
        first: What ``--from`` says.
        last: what ``--until`` says.
        criteria_toml: Criteria by which findings are looked for, where one is named.

    Raises:
        SessionError: The session can't be opened.
        UsageError: A time can't be read, lies outside the session, or the stretch ends before it begins.
    """
    if first is None and last is None:
        return None
    reader = SessionReader(path)
    try:
        bounds = reader.bounds_ns
        if bounds is None:
            raise UsageError(f"{path} holds no samples: there is nothing to take a stretch of")
        moments = _Moments(reader, bounds, criteria_toml)
        start_ns = bounds[0] if first is None else moments.find(first, is_end=False)
        end_ns = bounds[1] if last is None else moments.find(last, is_end=True)
    finally:
        reader.close()
    if start_ns > end_ns:
        raise UsageError(f"--from {first or 'the start'} is after --until {last or 'the end'}")
    return start_ns, end_ns


class _Moments:
    """Reads times of one session."""

    def __init__(self, reader: SessionReader, bounds: tuple[int, int], criteria_toml: str | None) -> None:
        self._reader = reader
        self._bounds = bounds
        self._criteria_toml = criteria_toml
        self._is_unix = reader.facts.clock == "unix"
        self._mapping = WallMapping(reader.anchors())

    def _wall_ns(self, t_ns: int) -> int | None:
        return t_ns if self._is_unix else self._mapping.wall_ns(t_ns)

    def find(self, text: str, *, is_end: bool) -> int:
        """The moment that a text names; of a finding its end if ``is_end``, else its start."""
        from livemon.ui.view import parse_moment

        word = text.strip()
        if (named := self._named(word, is_end=is_end)) is not None:
            return named
        if (given := self._given(word)) is not None:
            if self._bounds[0] <= given <= self._bounds[1]:
                return given
            raise UsageError(f"{word} is outside of the session")
        end_ns = self._bounds[1]
        found = parse_moment(
            word, bounds=self._bounds, shown_ns=end_ns, wall_ns=self._wall_ns(end_ns), moments=self._marks()
        )
        if isinstance(found, str):
            raise UsageError(found.partition(": 12:04")[0], f"times are given as {_FORMS}")
        return found

    def _named(self, word: str, *, is_end: bool) -> int | None:
        """A finding by its id: they are numbered by judging all of the session."""
        if not _ID.fullmatch(word.upper()):
            return None
        from livemon.judge import judge

        judgement = judge(self._reader.path, self._criteria_toml)
        for finding in judgement.findings:
            if finding.id == word.upper():
                last = self._bounds[1] if finding.end_ns is None else min(finding.end_ns, self._bounds[1])
                return last if is_end else max(finding.start_ns, self._bounds[0])
        return None

    def _given(self, word: str) -> int | None:
        """Seconds without a sign, a date, or a time of day in UTC."""
        start_ns, end_ns = self._bounds
        with contextlib.suppress(ValueError, OverflowError):
            if word[:1] not in "+-":
                t_ns = round(float(word) * 1e9)
                offset = self._offset_ns()
                is_unix = offset is not None and not start_ns <= t_ns <= end_ns
                return t_ns - (offset or 0) if is_unix else t_ns
        if (offset := self._offset_ns()) is None:
            return None
        with contextlib.suppress(ValueError):
            moment = datetime.datetime.fromisoformat(word)
            return round(moment.timestamp() * 1e9) - offset
        if word[-1:] in "zZ" and ":" in word:
            with contextlib.suppress(ValueError):
                time = datetime.time.fromisoformat(word[:-1])
                in_day = (time.hour * 3600 + time.minute * 60 + time.second) * 10**9 + time.microsecond * 1000
                end_wall = end_ns + offset
                days = [end_wall - end_wall % _DAY_NS + in_day - back * _DAY_NS - offset for back in (0, 1)]
                return next((t_ns for t_ns in days if start_ns <= t_ns <= end_ns), days[0])
        return None

    def _offset_ns(self) -> int | None:
        """Unix time minus session time at the end; ``None`` if nothing ties them."""
        wall_ns = self._wall_ns(self._bounds[1])
        return None if wall_ns is None else wall_ns - self._bounds[1]

    def _marks(self) -> tuple[tuple[int, str], ...]:
        from livemon.model.samples import Mark
        from livemon.session.rare import rare_samples

        return tuple((s.t_ns, s.text) for s in rare_samples(self._reader) if isinstance(s, Mark))
