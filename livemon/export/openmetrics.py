"""Metric families as OpenMetrics text, or as the older Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from livemon.export.metrics import Labels, MetricFamily

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def render_openmetrics(families: Iterable[MetricFamily], *, is_openmetrics: bool = True) -> str:
    """The families as text.

    Args:
        families: What to tell.
        is_openmetrics: OpenMetrics 1.0; else Prometheus text 0.0.4 for scrapers that do not know it.
    """
    lines = [line for family in families for line in _lines(family, is_openmetrics)]
    return "".join(f"{line}\n" for line in lines) + ("# EOF\n" if is_openmetrics else "")


def _lines(family: MetricFamily, is_openmetrics: bool) -> Iterator[str]:
    suffix = {"counter": "_total", "info": "_info"}.get(family.kind, "")
    name = family.name if is_openmetrics else family.name + suffix
    kind = "gauge" if family.kind == "info" and not is_openmetrics else family.kind
    yield f"# TYPE {name} {kind}"
    if family.unit and is_openmetrics and family.name.endswith(f"_{family.unit}"):
        yield f"# UNIT {name} {family.unit}"
    yield f"# HELP {name} {_escaped(family.help, quotes=is_openmetrics)}"
    for labels, value in family.samples:
        yield f"{family.name}{suffix}{_labels(labels)} {_number(value)}"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels) + "}"


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    text = text.replace('"', '\\"') if quotes else text
    return text.encode("utf-8", "replace").decode()


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
