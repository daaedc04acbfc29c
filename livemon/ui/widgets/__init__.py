"""Thin shells over ui.render."""
