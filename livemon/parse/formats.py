"""The formats livemon knows, as a table: one row each, interpreted by ``presets``.

A row reads a line when all its ``hints`` are in it and its pattern is found. Named groups:
``<stage>__<unit>`` is a duration (unit ``go``: the text carries it; ``u``: it is in group ``u``);
``value__<unit>`` is one whose name is in group ``stage``; ``unit`` is the id, then ``label``, ``pid``,
``tid``, ``start_ns``; ``cells`` is a stretch of text in which ``cell`` is searched again and again (its
groups: ``name``, ``value``, and ``u`` unless ``cell_unit`` says it). ``gives`` other than ``record``
means that such lines are known and are no samples. Names are the format's own words.
"""

from __future__ import annotations

from typing import Final

from livemon.parse.format_row import Format
from livemon.parse.formats_serving import SERVING
from livemon.parse.formats_systems import SYSTEMS
from livemon.parse.formats_web import WEB

FORMATS: Final[tuple[Format, ...]] = (*SERVING, *WEB, *SYSTEMS)
BUILT_IN: Final[dict[str, tuple[str, str]]] = {
    "strace": (
        "[STRACE] spans, version 1, with [CLOCK_ANCHOR]",
        "[STRACE] v=1 pid=42 tid=42 inv=1 hid=9c1d depth=1 name=chip.run.validate ts=2000000 dur=5000",
    ),
    "*_timing": (
        "any [xxx_timing] tag: bare numbers are ms",
        "[c_api_timing dev=0] run= 3  prepare_ctx=0.61  runner_run=30.02  total=51.17",
    ),
    "json": ("JSON lines: the unit in the value, the key or declared", '{"msg":"done","took":"3.2ms","queueMillis":4}'),
    "otlp": (
        "OpenTelemetry spans as JSON",
        '{"traceId":"5b8e","name":"decode","startTimeUnixNano":"175","endTimeUnixNano":"176"}',
    ),
    "keyvalue": ("key=value with units, logfmt", 'level=info msg="done" took=3.2ms queue_us=410'),
    "labels": ("prose, only with --labels", "model compiled in 334.5 ms; queue wait: 1.2 ms"),
    "pattern": ("your own --pattern with named groups <stage>__<unit>", "--pattern 'rt=(?P<request_time__s>[\\d.]+)'"),
}
FORMAT_NAMES: Final = frozenset(f.name for f in FORMATS) | frozenset(BUILT_IN)
