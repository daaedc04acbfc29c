"""The only place that imports Textual."""
