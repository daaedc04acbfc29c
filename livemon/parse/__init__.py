"""Bytes to timing records, and procfs text to numbers: no files, no clock.

Timing output goes through these, in this order:

- ``stream``      the public face: bytes in, records out, everything else counted.
- ``bulk``, ``template``   whole blocks of lines of a known shape as columns; ``fewlines``: a few lines of one.
- ``linewise``, ``lines``, ``unwrap``   line by line: assembled, taken out of what others wrapped it in.
- ``rules``       which reader is asked when: ``patterns``, ``spans``, ``tagged``, ``presets`` (interprets
  the table in ``formats*``), ``jsonlines``, ``mixed`` (``keyvalue`` and what stands beside), ``declared``, ``labels``.
- ``units``, ``timestamps``, ``keys``, ``json_units``, ``json_nested``, ``names``   numbers, stamps, and what words say.
- ``context``     what stands around a duration and says that nobody measured it: settings, SQL, a message that waits.
- ``placing``     a record onto the session clock; ``jsontext``, ``explain`` and ``unread`` are for ``livemon parse``.
"""
