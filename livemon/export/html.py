"""A document as one HTML file: no network, no script, light and dark, printable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from livemon.export.document import (
    LEVEL_WORDS,
    Block,
    Blocks,
    Bullets,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Verdict,
)
from livemon.export.plots import Plots
from livemon.export.svg import Span, stage_chart, thread_chart
from livemon.model.findings import HostSlowTransient, OversizedFinalize
from livemon.model.judgement import Judgement

_CODE = re.compile(r"`([^`]+)`")
_LIGHT = (
    "--bg:#fff;--fg:#1c2024;--dim:#5d666f;--line:#d9dee3;--panel:#f6f8fa;--ok:#12793f;--warning:#8a5a00;"
    "--critical:#b3261e;--unknown:#285e9e;--stage:#2f6fb5;--p:#2f6fb5;--e:#c96a12;--u:#8b949e;--shade:#e8a33d38;"
    "--gap:#8b949e30"
)
_DARK = (
    "--bg:#14181c;--fg:#e3e7ea;--dim:#9aa4ad;--line:#343b42;--panel:#1c2227;--ok:#5ccf8b;--warning:#e5b454;"
    "--critical:#ff8a80;--unknown:#82b6f2;--stage:#6aa9ea;--p:#6aa9ea;--e:#f0a050;--u:#7d8791;--shade:#e8a33d40;"
    "--gap:#8b949e35"
)
_STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;margin:0}}
main{{max-width:1180px;margin:0 auto;padding:28px 32px 48px}}
h1{{font-size:26px;margin:0 0 18px;overflow-wrap:anywhere}}
h2{{font-size:19px;margin:34px 0 10px;padding-bottom:4px;border-bottom:1px solid var(--line)}}
h3{{font-size:16px;margin:22px 0 8px}}
p{{margin:8px 0;max-width:90ch}}
.verdict{{border-left:5px solid var(--c);background:var(--panel);padding:10px 14px;
margin:8px 0;border-radius:0 6px 6px 0}}
.verdict b{{color:var(--c);margin-right:10px;letter-spacing:.03em}}
.ok{{--c:var(--ok)}}.warning{{--c:var(--warning)}}.critical{{--c:var(--critical)}}.unknown{{--c:var(--unknown)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:8px 0}}
dt{{color:var(--dim)}}dd{{margin:0;overflow-wrap:anywhere}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;margin:6px 0 14px;font-variant-numeric:tabular-nums;font-size:14px}}
caption{{text-align:left;color:var(--dim);padding:6px 0 4px;font-size:14px}}
th,td{{padding:4px 12px 4px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}}
th{{color:var(--dim);font-weight:600;white-space:nowrap}}
.n{{text-align:right;white-space:nowrap}}
code{{font-family:ui-monospace,"DejaVu Sans Mono",monospace;background:var(--panel);padding:1px 5px;border-radius:4px}}
figure{{margin:14px 0 20px}}figcaption{{color:var(--dim);font-size:14px;margin-bottom:4px}}
svg{{display:block;width:100%;height:auto;font:11px system-ui,"DejaVu Sans",sans-serif}}
svg text{{fill:var(--dim)}}svg .name{{fill:var(--fg);text-anchor:end}}svg .time{{text-anchor:middle}}
svg .mark{{fill:var(--warning);font-weight:700}}
svg .base,svg .tick{{stroke:var(--line)}}svg .stage{{fill:var(--stage)}}svg .low{{opacity:.3}}
svg .budget{{stroke:var(--critical);stroke-dasharray:5 3}}
svg .p{{fill:var(--p)}}svg .e{{fill:var(--e)}}svg .u{{fill:var(--u)}}svg .cut{{stroke:var(--bg);stroke-width:2}}
svg .episode{{fill:var(--shade)}}svg .gap{{fill:var(--gap)}}
article+article{{margin-top:56px;border-top:3px solid var(--line);padding-top:28px}}
footer{{color:var(--dim);margin-top:36px;font-size:13px}}
@media print{{
:root{{color-scheme:light}}body{{font-size:10.5pt}}main{{max-width:none;padding:0}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
h2,h3,caption,figcaption{{break-after:avoid}}figure,.verdict,tr{{break-inside:avoid}}article+article{{break-before:page;margin:0;border:0}}
table{{font-size:9pt}}.scroll{{overflow:visible}}@page{{margin:14mm}}
}}
"""


def render_html(title: str, sections: Sequence[Blocks]) -> str:
    """The whole page; each section is a session's report."""
    body = "".join(f"<article>{''.join(map(_block, blocks))}</article>" for blocks in sections)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><main>{body}"
        "<footer>Made by livemon. Unknown figures are shown as –, never as 0.</footer></main></body></html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_text(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>"
        case Verdict(level, text):
            return f'<div class="verdict {level}"><b>{LEVEL_WORDS[level]}</b>{_text(text)}</div>'
        case Facts(rows):
            return "<dl>" + "".join(f"<dt>{_text(n)}</dt><dd>{_text(v)}</dd>" for n, v in rows) + "</dl>"
        case Table():
            return _table(block)
        case Figure(svg, caption):
            return f"<figure><figcaption>{_text(caption)}</figcaption>{svg}</figure>"


def _table(table: Table) -> str:
    marks = [' class="n"' if column.is_number else "" for column in table.columns]
    head = "".join(f"<th{m}>{_text(c.title)}</th>" for c, m in zip(table.columns, marks, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{m}>{_text(cell)}</td>" for cell, m in zip(row, marks, strict=True)) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _text(text: str) -> str:
    """Escaped text; control characters, which HTML forbids, become replacement signs."""
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return _CODE.sub(r"<code>\1</code>", escape(clean))


def figures(judgement: Judgement, plots: Plots) -> Iterator[Figure]:
    """The drawings of one session: a chart for each class, then the thread lanes."""
    spans = list(_spans(judgement))
    for class_key in dict.fromkeys(stage.class_key for stage in plots.stages):
        rows = [stage for stage in plots.stages if stage.class_key == class_key]
        rows = [row for row in rows if any(v for v in row.series.high)]
        if not rows:
            continue
        budget = {
            f.stage: f.budget_ms
            for f in judgement.findings
            if isinstance(f, OversizedFinalize) and f.class_key == class_key and f.budget_ms is not None
        }
        name = f"Class {class_key}: d" if class_key is not None else "D"
        yield Figure(
            stage_chart(plots, rows[:12], spans, budget),
            f"{name}uration of each stage over time (minimum to maximum; each row has its own scale)",
        )
    if plots.left_out:
        yield Figure("", f"{plots.left_out} more stages of classes are not drawn; the tables have them.")
    if plots.threads:
        yield Figure(
            thread_chart(plots, plots.threads, spans, judgement.facts.topology.efficiency_classes),
            "Threads: height is CPU use (each row to its own peak); solid: performance core, hatched: efficiency "
            "core, grey: core class unknown; ~ marks classes estimated from the CPU a thread was last seen on",
        )


def _spans(judgement: Judgement) -> Iterator[Span]:
    for gap in judgement.gaps[:200]:
        yield Span(gap.start_ns, gap.end_ns, f"gap {gap.what}: {gap.reason}", "gap")
    for finding in judgement.findings:
        if isinstance(finding, HostSlowTransient):
            end_ns = finding.end_ns if finding.end_ns is not None else judgement.end_ns
            yield Span(finding.start_ns, end_ns or finding.start_ns, f"{finding.id} host-slow", "episode")
