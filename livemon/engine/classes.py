"""The class that a line states itself: the fields named in the criteria, else the line's own label.

A class that is visible in the line beats everything else; position in a detected cycle
(``livemon.engine.cycle``) is only for lines that state none.
"""

from __future__ import annotations

from livemon.model.criteria import Criteria
from livemon.model.samples import TimingRecord


def label_of(record: TimingRecord, criteria: Criteria) -> str | None:
    """Class key that the record states: its key fields joined with ``/``, else its label, else ``None``.

    Fields that a line lacks are left out, so ``keys = ["kernel", "hid"]`` reads lines with either.
    A key that equals one of the parser's own names (``kernel``, ``hid``, …) may have become the
    record's label: the label then stands in when no key field is there.
    """
    keys = criteria.classes.keys
    if keys and record.fields:
        fields = dict(record.fields)
        parts = [fields[key] for key in keys if key in fields]
        if parts:
            return "/".join(parts)
    return record.label


def position_key(index: int, period: int) -> str:
    """Class key of a position in a cycle: ``i/p`` with i = run index modulo p."""
    return f"{index % period}/{period}"
