"""Bytes to timing records, procfs text to numbers; no files, no clock."""
