"""The recording: one SQLite file, its writer, its reader, retention."""
