"""A real serving process that misbehaves on purpose."""

SCENARIOS = ("both", "finalize", "transient")
"""What may go wrong; here, because the command line names them without the serving process."""
