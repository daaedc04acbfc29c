"""The report's drawings as inline SVG: pure functions of series; colours come from the page's style.

Everything is drawn on one time axis. Colour is never the only carrier: stages have their own rows,
efficiency cores are hatched, episodes carry their id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from livemon.export.numbers import ms
from livemon.export.plots import Plots, StagePlot, ThreadPlot
from livemon.model.snapshot import Series

WIDTH = 1100
LEFT, RIGHT = 190, 96
ROW, LANE = 46, 26
HATCH = (
    '<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="e" width="5" height="5"/><line class="cut" x1="0" y1="0" x2="0" y2="5"/></pattern>'
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch to shade, such as an episode or a gap."""

    start_ns: int
    end_ns: int
    text: str
    kind: str
    """CSS class: ``episode`` or ``gap``."""


class _Axis:
    def __init__(self, plots: Plots) -> None:
        self._start_ns = plots.start_ns
        self._span_ns = plots.bucket_ns * plots.buckets
        self.bucket_px = (WIDTH - LEFT - RIGHT) / plots.buckets

    def x(self, t_ns: int) -> float:
        share = (t_ns - self._start_ns) / self._span_ns
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> Iterator[tuple[float, str]]:
        span_s = self._span_ns / 1e9
        steps = (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
        step = next((s for s in steps if span_s / s <= 10), 86400 * (1 + span_s // 864000))
        position = 0.0
        while position <= span_s:
            yield LEFT + position / span_s * (WIDTH - LEFT - RIGHT), f"{position:g} s"
            position += step


def stage_chart(plots: Plots, stages: Sequence[StagePlot], spans: Sequence[Span], budget: dict[str, float]) -> str:
    """Rows of one class: minimum to maximum of each stage over time.

    Args:
        plots: The time grid.
        stages: The class's stages.
        spans: Episodes and gaps to shade.
        budget: Stage -> budget in ms, drawn as a line.
    """
    axis = _Axis(plots)
    height = ROW * len(stages) + 30
    parts = [_open(height), *_spans(axis, spans, height - 24)]
    for row, stage in enumerate(stages):
        parts.extend(_stage_row(axis, stage, 14 + row * ROW, budget.get(stage.stage)))
    parts.extend(_time_axis(axis, height - 20))
    return "".join(parts) + "</svg>"


def _stage_row(axis: _Axis, stage: StagePlot, top: int, budget_ms: float | None) -> Iterator[str]:
    highs = [v for v in stage.series.high if v is not None]
    peak = max([*highs, budget_ms or 0.0]) or 1.0
    bottom, drawn = top + ROW - 10, ROW - 14

    def y(value_ms: float) -> float:
        return bottom - value_ms / peak * drawn

    yield f'<text class="name" x="{LEFT - 8}" y="{bottom - 4}">{escape(_short(stage.stage, 26))}</text>'
    yield f'<text class="scale" x="{WIDTH - RIGHT + 6}" y="{top + 8}">{ms(peak)} ms</text>'
    yield f'<line class="base" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    yield f'<path class="stage low" d="{"".join(_bars(axis, stage.series, y, bottom))}"/>'
    yield f'<path class="stage" d="{"".join(_bars(axis, stage.series, y))}"/>'
    if budget_ms is not None:
        level = y(budget_ms)
        yield f'<line class="budget" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>'
        label_y = max(level + 3, top + 20)
        yield f'<text class="scale" x="{WIDTH - RIGHT + 6}" y="{label_y:.1f}">budget {ms(budget_ms)} ms</text>'


def _bars(axis: _Axis, series: Series, y: Callable[[float], float], bottom: float | None = None) -> Iterator[str]:
    """Bars from minimum to maximum; from the maximum down to ``bottom`` where that is given."""
    width = max(axis.bucket_px, 1.2)
    for bucket, (low, high) in enumerate(zip(series.low, series.high, strict=True)):
        if low is None or high is None:
            continue
        x, top = LEFT + bucket * axis.bucket_px, y(high)
        tall = max((y(low) if bottom is None else bottom) - top, 2)
        yield f"M{x:.1f} {top:.1f}h{width:.1f}v{tall:.1f}h-{width:.1f}z"


def thread_chart(plots: Plots, threads: Sequence[ThreadPlot], spans: Sequence[Span], efficiency: Sequence[str]) -> str:
    """A lane for each thread: height is CPU use, fill is the core class.

    Args:
        plots: The time grid.
        threads: The threads, one row each.
        spans: Episodes and gaps to shade.
        efficiency: Core classes that are hatched.
    """
    axis = _Axis(plots)
    height = LANE * len(threads) + 34
    parts = [_open(height), *_spans(axis, spans, height - 24)]
    for row, thread in enumerate(threads):
        parts.extend(_lane(axis, thread, 14 + row * LANE, efficiency))
    parts.extend(_time_axis(axis, height - 20))
    return "".join(parts) + "</svg>"


def _lane(axis: _Axis, thread: ThreadPlot, top: int, efficiency: Sequence[str]) -> Iterator[str]:
    bottom = top + LANE - 3
    name = f"{'' if thread.lane.is_exact else '~ '}{_short(thread.name, 18)} {thread.tid}"
    yield f'<text class="name" x="{LEFT - 8}" y="{bottom - 2}">{escape(name)}</text>'
    yield f'<text class="scale" x="{WIDTH - RIGHT + 6}" y="{bottom - 2}">{ms(thread.cpu_ms)} ms</text>'
    peak = max((v for v in thread.cpu.high if v is not None), default=0.0) or 1.0
    paths: dict[str, list[str]] = {}
    for bucket, (percent, core_class) in enumerate(zip(thread.cpu.high, thread.lane.classes, strict=True)):
        if percent is None or percent <= 0:
            continue
        kind = "u" if not core_class else "e" if core_class in efficiency else "p"
        tall = max(percent / max(peak, 5.0) * (LANE - 4), 1.0)
        x = LEFT + bucket * axis.bucket_px
        width = max(axis.bucket_px, 1.0)
        paths.setdefault(kind, []).append(f"M{x:.1f} {bottom - tall:.1f}h{width:.1f}v{tall:.1f}h-{width:.1f}z")
    for kind, path in sorted(paths.items()):
        fill = ' fill="url(#hatch)"' if kind == "e" else f' class="{kind}"'
        yield f'<path{fill} d="{"".join(path)}"/>'
    yield f'<line class="base" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'


def _open(height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg"><defs>{HATCH}</defs>'


def _spans(axis: _Axis, spans: Sequence[Span], height: int) -> Iterator[str]:
    last_label = -100.0
    for span in sorted(spans, key=lambda s: s.start_ns):
        x = axis.x(span.start_ns)
        width = max(axis.x(span.end_ns) - x, 1.5)
        title = f"<title>{escape(span.text)}</title>"
        yield f'<rect class="{span.kind}" x="{x:.1f}" y="0" width="{width:.1f}" height="{height}">{title}</rect>'
        if x - last_label > 24:
            yield f'<text class="mark" x="{x + 2:.1f}" y="10">{escape(span.text.split(maxsplit=1)[0])}</text>'
            last_label = x


def _time_axis(axis: _Axis, top: int) -> Iterator[str]:
    for x, text in axis.ticks():
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{top}"/>'
        yield f'<text class="time" x="{x:.1f}" y="{top + 12}">{text}</text>'


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
