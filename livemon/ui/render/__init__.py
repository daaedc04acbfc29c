"""Data to styled lines; pure functions, no Textual app."""
