"""The thread table of a report: busiest first, short-lived threads of one name in one row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from livemon.export.document import Block, Heading, Paragraph, Table, columns
from livemon.export.numbers import count, ms, plain
from livemon.model.judgement import Judgement, ThreadStats

SHORT_PART = 0.5
"""Part of the session within which a thread that ended counts as short-lived."""
LEAST_TOGETHER = 3
"""So many short-lived threads of one name share a row."""
_NUMBER = re.compile(r"\d+")


def thread_blocks(judgement: Judgement, max_rows: int) -> Iterator[Block]:
    """Heading, table and what it leaves out; nothing without threads.

    Args:
        judgement: The judged session.
        max_rows: Rows of the table; the threads beyond are counted.
    """
    if not judgement.threads:
        return
    yield Heading("Threads")
    groups = _grouped(judgement)
    head = columns("<thread", "tid", "CPU ms", "E share", "IPC?", "cycles/ns??", "waited ms", "moves???")
    yield Table(head, tuple(_row(group[0]) if len(group) == 1 else _group_row(group) for group in groups[:max_rows]))
    together = [group for group in groups if len(group) > 1]
    if together:
        ended = sum(map(len, together))
        yield Paragraph(
            f"{ended:,} threads that ended within half of the session are in {len(together):,} "
            f"row{'s' * (len(together) > 1)}, by process and name (* stands for a number)."
        )
    rest = [row for group in groups[max_rows:] for row in group]
    if rest:
        yield Paragraph(f"{len(rest):,} more threads, {ms(_sum(row.cpu_ms for row in rest))} ms of CPU together.")
    estimated = {t.efficiency_share_from for t in judgement.threads if t.efficiency_share is not None} - {"counters"}
    unknown = {
        t.efficiency_share_from for t in judgement.threads if t.efficiency_share is None and t.efficiency_share_from
    }
    if "last_cpu" in estimated:
        yield Paragraph("E share is estimated from the CPU a thread was last seen on, where counters did not give it.")
    for reason in sorted(unknown):
        yield Paragraph(f"E share is unknown for some threads: {reason}.")


def _grouped(judgement: Judgement) -> list[tuple[ThreadStats, ...]]:
    """The threads, most CPU time first; those of a group count with what they used together."""
    session_ns = (judgement.end_ns or 0) - (judgement.start_ns or 0)
    alone: list[tuple[ThreadStats, ...]] = []
    short: dict[tuple[int, str], list[ThreadStats]] = {}
    for row in judgement.threads:
        if row.lifetime_ns is not None and row.lifetime_ns < SHORT_PART * session_ns:
            short.setdefault((row.pid, _NUMBER.sub("*", row.name)), []).append(row)
        else:
            alone.append((row,))
    for rows in short.values():
        alone += [tuple(rows)] if len(rows) >= LEAST_TOGETHER else [(row,) for row in rows]
    used = {id(group): _sum(row.cpu_ms for row in group) for group in alone}
    return sorted(alone, key=lambda group: -1.0 if (cpu := used[id(group)]) is None else cpu, reverse=True)


def _sum(values: Iterable[float | None]) -> float | None:
    """Of those that are known; ``None`` if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _row(row: ThreadStats) -> tuple[str, ...]:
    rates = " ".join(f"{core_class} {plain(value)}" for core_class, value in row.cycles_per_ns if value is not None)
    share = _share(row.efficiency_share, is_estimate=row.efficiency_share_from == "last_cpu")
    return (
        row.name, str(row.tid), ms(row.cpu_ms), share, plain(row.ipc), rates or "–",
        ms(row.run_delay_ms), count(row.migrations),
    )  # fmt: skip


def _group_row(group: Sequence[ThreadStats]) -> tuple[str, ...]:
    """Sums; the E share by CPU time. IPC and rates of several threads can't be put together from theirs."""
    told = [(row.efficiency_share, row.cpu_ms or 0.0) for row in group if row.efficiency_share is not None]
    cpu_ms = sum(weight for _, weight in told)
    share = sum(share * weight for share, weight in told) / cpu_ms if cpu_ms > 0 else None
    is_estimate = any(row.efficiency_share_from == "last_cpu" for row in group if row.efficiency_share is not None)
    moves = [row.migrations for row in group if row.migrations is not None]
    return (
        f"{_NUMBER.sub('*', group[0].name)} ({len(group):,} short-lived)", "", ms(_sum(row.cpu_ms for row in group)),
        _share(share, is_estimate=is_estimate), "–", "–", ms(_sum(row.run_delay_ms for row in group)),
        count(sum(moves) if moves else None),
    )  # fmt: skip


def _share(value: float | None, *, is_estimate: bool) -> str:
    return ("~" if is_estimate and value is not None else "") + plain(value)
