"""The I/O, as thin as can be; each part says why when it can't."""
