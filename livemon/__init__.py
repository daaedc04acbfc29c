"""livemon: a live monitor that runs beside a serving process.

The map (arrows are the imports that are allowed; a test holds them):

- ``model``    what things are: samples, findings, snapshot, criteria, topology, clocks, errors.
- ``parse``    bytes to timing records and procfs text to numbers; no files, no clock.
- ``collect``  the I/O, as thin as can be: tails, procfs, perf, libproc, topology, pressure.
- ``engine``   the maths: classes, baselines, detectors, causes, rolling views; no I/O, no clock.
- ``session``  the recording: an SQLite file, its writer, its reader, retention.
- ``export``   report, compare, Perfetto, tables, metrics.
- ``ui``       the only place that imports Textual.
- ``demo``     a real serving process that misbehaves on purpose.
- ``commands`` one module per subcommand; imports everything else lazily.

``commands, record, watch, viewer, judge -> everything``; ``collect -> parse, model``;
``engine, session, export, ui, parse -> model``; ``model -> nothing of ours``. Siblings never
import each other: they meet in ``model`` types or in the wiring modules named first.
"""

__version__ = "0.1.0"
