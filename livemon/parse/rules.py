"""The order in which a line's readers are asked, and the first that knows it.

User patterns, spans and tagged lines, the table of formats, JSON, ``key=value`` with units, declared
names, and, only where asked for, prose labels. What none of them knows has no timing.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from livemon.parse.declared import DeclaredNames
from livemon.parse.jsonlines import is_array, read_json, split_objects
from livemon.parse.labels import read_labels
from livemon.parse.mixed import read_mixed
from livemon.parse.options import ParseOptions, zone_of
from livemon.parse.patterns import UserPattern
from livemon.parse.presets import AUTOMATIC, BY_NAME, PresetTable
from livemon.parse.reading import Reading
from livemon.parse.spans import ANCHOR, HEAD, read_anchors, read_spans
from livemon.parse.tagged import read_tagged
from livemon.parse.timestamps import Calendar
from livemon.parse.unwrap import Unwrapped, unwrap


class Rules:
    """Reads the text of single lines; holds no state of the stream."""

    def __init__(self, options: ParseOptions) -> None:
        zone: tzinfo | None = UTC if options.zone == "UTC" else zone_of(options)
        self.calendar = Calendar(zone)
        self._only = options.format
        self._patterns = [UserPattern(text) for text in options.patterns]
        self._declared = {name: unit for name, unit in options.units if name != "*"}
        self._bare = next((unit for name, unit in options.units if name == "*"), None)
        self._labels = options.labels
        self._comma = options.decimal_comma
        self._names = DeclaredNames(self._declared) if self._declared else None
        only = BY_NAME.get(options.format or "")
        self._presets = PresetTable(AUTOMATIC if options.format is None else (only,) if only else ())

    @property
    def tags_come_first(self) -> bool:
        """Whether nothing the user said is asked before tagged lines."""
        return not self._patterns and (self._only is None or self._only.endswith("_timing"))

    @property
    def are_automatic(self) -> bool:
        """Whether the user said nothing of formats, patterns, units or numbers."""
        return not (self._patterns or self._declared or self._bare or self._comma) and self._only is None

    def unwrap(self, text: str) -> Unwrapped:
        """Take the wrappers off a line."""
        return unwrap(text, self.calendar)

    def unwrap_again(self, line: Unwrapped) -> Unwrapped:
        """Take off wrappers that show only now that container parts are joined."""
        inner = unwrap(line.text, self.calendar)
        if inner.stamp is None or (line.stamp is not None and line.stamp.rank > inner.stamp.rank):
            inner.stamp = line.stamp
        inner.pid = line.pid if inner.pid is None else inner.pid
        inner.part = ""
        return inner

    def anchors(self, text: str) -> list[tuple[int | None, int, int]]:
        """Clock anchors of a line."""
        return read_anchors(text)

    def _allows(self, name: str) -> bool:
        return self._only is None or self._only == name

    def read(self, line: Unwrapped) -> Reading:
        """Everything a line says about time."""
        reading = Reading()
        text = line.text
        if not text or text.isspace():
            return reading
        for pattern in self._patterns:
            if pattern.read(text, reading, self._declared, self.calendar):
                return reading
        self._read_known(text, reading)
        return reading

    def _read_known(self, text: str, reading: Reading) -> None:
        """Everything but the user's patterns, which say what they want themselves."""
        start = text.find('{"') if '{"' in text else text.find('{ "')
        if 0 < start < 8 and is_array(text):
            reading.remark = "a JSON array, not one record on a line"
            return
        if start >= 0 and (self._allows("json") or self._only == "otlp") and not _has_tag(text, start):
            found = split_objects(text, start)
            if found is not None:
                objects, damaged = found
                message = read_json(objects, damaged, reading, self._declared, self._bare, self.calendar)
                if reading.rule:
                    return
                text = text[:start] if message is None else message
        if self._read_marked(text, reading):
            return
        if self._allows("keyvalue") and read_mixed(
            text, reading, self._declared, self._bare, decimal_comma=self._comma, with_prose=self._labels
        ):
            return
        if self._names is not None and self._only is None and self._names.read(text, reading):
            return
        if self._labels or self._only == "labels":
            read_labels(text, reading)

    def _read_marked(self, text: str, reading: Reading) -> bool:
        """Formats that a tag or a phrase gives away."""
        if HEAD in text and self._allows("strace"):
            return read_spans(text, reading)
        if ANCHOR in text:
            reading.rule = "clock_anchor"
            reading.remark = "ties the monotonic clock to wall time"
            return True
        if (
            ("_timing" in text or "_TIMING" in text)
            and (self._only is None or self._only.endswith("_timing"))
            and read_tagged(text, reading, self._declared, decimal_comma=self._comma)
        ):
            return True
        return self._presets.read(text, reading)


def _has_tag(text: str, end: int) -> bool:
    """Whether a tag stands before position ``end``: what follows is its payload, JSON or not."""
    return text.find(HEAD, 0, end) >= 0 or text.find("_timing]", 0, end) >= 0
