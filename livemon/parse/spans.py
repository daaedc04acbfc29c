"""``[STRACE]`` spans (version 1) and the ``[CLOCK_ANCHOR]`` that ties their clock to wall time.

One span per record: ``v=1 pid= tid= inv= hid= depth= name= ts=<ns> dur=<ns> [k=v …]``. Forked
writers share the pipe, so records may stand inside each other: the text is cut at the record head,
a head without ``ts``/``dur`` before the next one is torn and counted, and of glued attributes the
first ``dur`` is the record's own.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from livemon.parse import units
from livemon.parse.reading import Draft, Reading
from livemon.parse.timestamps import Stamp

HEAD: Final = "[STRACE]"
ANCHOR: Final = "[CLOCK_ANCHOR]"
_WHOLE = re.compile(
    r" ?v=1 pid=(\d{1,10}) tid=(\d{1,10}) inv=(\d{1,20}) hid=(\S+) depth=(\d+) name=(\S+)"
    r" ts=(\d{1,19}) dur=(\d{1,19})(?![^\s\[])([^\[]*)"
)
_ANCHOR = re.compile(r"\[CLOCK_ANCHOR\](?: v=1)?(?: pid=(\d{1,10}))? mono_ns=(\d{1,19}) wall_ns=(\d{1,19})(?![^\s\[])")
_PREFIX = re.compile(r"\[mono_ns=(\d{1,19})\]")
_PAIR = re.compile(r"(\w+)=([^\s=\[]*)")
_CEILING_NS: Final = units.CEILING_MS * 1e6


def read_anchors(text: str) -> list[tuple[int | None, int, int]]:
    """The clock anchors of a line: (pid, mono_ns, wall_ns)."""
    return [(int(m[1]) if m[1] else None, int(m[2]), int(m[3])) for m in _ANCHOR.finditer(text)]


def read_spans(text: str, reading: Reading) -> bool:
    """Read every span of the text; false if there is none."""
    parts = text.split(HEAD)
    if len(parts) == 1:
        return False
    reading.rule = "strace"
    for n in range(1, len(parts)):
        match = _WHOLE.match(parts[n])
        if match:
            _take(match.groups(), parts[n - 1], reading)
        else:
            _read_odd(parts[n], parts[n - 1], reading)
    return True


def _take(values: tuple[str, ...], before: str, reading: Reading) -> None:
    pid, tid, inv, hid, depth, name, ts, dur, rest = values
    ns = int(dur)
    if ns > _CEILING_NS:
        reading.problems.append(f"dur={dur} ns is longer than a day")
        return
    if "%" in name:
        name = unquote(name, errors="replace")
    fields = [("hid", hid), ("depth", depth)]
    label: str | None = hid if hid not in ("0", "-") else None
    on_device = False
    for key, value in _PAIR.findall(rest) if "=" in rest else ():
        decoded = unquote(value, errors="replace") if "%" in value else value
        if key == "clk" and value == "dev":
            on_device = True
        elif key in ("kernel", "callable"):
            label = decoded
        if key not in ("ts", "dur", "pid", "tid"):
            fields.append((key, decoded))
    start = None if on_device else int(ts)
    stamp = _emitted(before) if start is None else Stamp(start, "monotonic", 9)
    reading.drafts.append(
        Draft(
            "strace", [(name, ns / 1e6)], f"{pid}/{inv}", label, int(pid), int(tid), fields, stamp, start, stamp is None
        )
    )


def _emitted(before: str) -> Stamp | None:
    """When the record was written, from the log prefix in front of it."""
    found = _PREFIX.findall(before, max(0, len(before) - 300))
    return Stamp(int(found[-1]), "monotonic", 9) if found else None


def _read_odd(part: str, before: str, reading: Reading) -> None:
    """A record that is not of the plain form: keys in another order, torn, or of another version."""
    head = part.find("[mono_ns=")
    values: dict[str, str] = {}
    pairs = _PAIR.findall(part if head < 0 else part[:head])
    for key, value in pairs:
        values.setdefault(key, value)
    if not values and part.strip():
        reading.remark = "the head of a span without one: prose"
        return
    if values.get("v", "1") != "1":
        reading.problems.append(f"span version {values['v']} is not known")
        return
    needed = [values.get(k, "") for k in ("pid", "tid", "inv", "hid", "depth", "name", "ts", "dur")]
    numbers = [needed[i] for i in (0, 1, 2, 4, 6, 7)]
    if not all(needed) or not all(n.isdecimal() and n.isascii() and len(n) <= 20 for n in numbers):
        reading.problems.append("a torn span record")
        return
    rest = " ".join(f"{k}={v}" for k, v in pairs if k not in _OWN)
    _take((*needed, rest), before, reading)


_OWN = frozenset(("v", "pid", "tid", "inv", "hid", "depth", "name", "ts", "dur"))
