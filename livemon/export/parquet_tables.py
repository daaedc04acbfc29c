"""Tables as Parquet through pyarrow (the extra ``parquet``), in row groups of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from livemon.export.plots import ClassedSample
from livemon.export.tables import (
    FINDINGS,
    TIMINGS,
    Row,
    RowMaker,
    TableColumn,
    core_classes,
    finding_rows,
    thread_columns,
)
from livemon.model.errors import UsageError
from livemon.model.judgement import Judgement
from livemon.model.samples import TimingRecord

ROW_GROUP = 65_536
"""Rows held in memory at most, a table."""


def write_parquet_tables(
    judgement: Judgement, samples: Callable[[], Iterable[ClassedSample]], folder: Path
) -> dict[str, int]:
    """Write ``timings.parquet``, ``threads.parquet`` and ``findings.parquet``; returns rows by table.

    Args:
        judgement: The judged session.
        samples: Gives the classed samples from the start; called twice.
        folder: An existing folder.

    Raises:
        UsageError: pyarrow is not installed.
    """
    require_pyarrow()
    classes = core_classes(judgement, samples())
    maker = RowMaker(judgement, classes)
    tables = {
        name: _ParquetTable(folder / f"{name}.parquet", columns, judgement)
        for name, columns in (("timings", TIMINGS), ("threads", thread_columns(classes)), ("findings", FINDINGS))
    }
    try:
        for sample, class_key in samples():
            if isinstance(sample, TimingRecord):
                tables["timings"].extend(maker.timings(sample, class_key))
            else:
                tables["threads"].extend(maker.threads(sample))
        tables["findings"].extend(finding_rows(judgement))
    finally:
        for table in tables.values():
            table.close()
    return {name: table.rows for name, table in tables.items()}


def require_pyarrow() -> None:
    """Fail early, with the remedy, where pyarrow is missing.

    Raises:
        UsageError: it is.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow", "install it with: pip install 'livemon[parquet]'") from error


class _ParquetTable:
    """One file that grows by row groups."""

    def __init__(self, path: Path, columns: tuple[TableColumn, ...], judgement: Judgement) -> None:
        import pyarrow
        import pyarrow.parquet

        types: dict[str, Any] = {
            "int": pyarrow.int64(),
            "float": pyarrow.float64(),
            "text": pyarrow.string(),
            "bool": pyarrow.bool_(),
        }
        metadata = {
            "livemon.session": judgement.path,
            "livemon.host": judgement.facts.host,
            "livemon.criteria_sha256": judgement.criteria_sha256,
        }
        fields = [pyarrow.field(column.name, types[column.kind]) for column in columns]
        self._pyarrow = pyarrow
        self._schema = pyarrow.schema(fields, metadata=metadata)
        self._writer = pyarrow.parquet.ParquetWriter(str(path), self._schema, compression="zstd")
        self._columns: list[list[Any]] = [[] for _ in columns]
        self.rows = 0

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)
            self.rows += 1
        if len(self._columns[0]) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        arrays = [self._array(column, field.type) for column, field in zip(self._columns, self._schema, strict=True)]
        self._writer.write_table(self._pyarrow.Table.from_arrays(arrays, schema=self._schema))
        for column in self._columns:
            column.clear()

    def _array(self, column: list[Any], kind: Any) -> Any:
        try:
            return self._pyarrow.array(column, type=kind)
        except UnicodeEncodeError:
            # Bytes of a log or thread name that are no UTF-8 came through as lone surrogates.
            clean = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in column]
            return self._pyarrow.array(clean, type=kind)

    def close(self) -> None:
        if self._columns[0]:
            self._flush()
        self._writer.close()
