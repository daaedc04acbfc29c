"""A real serving process that misbehaves on purpose."""
