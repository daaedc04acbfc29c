"""The maths: a deterministic function of the ordered samples; numpy, no I/O, no clock."""
