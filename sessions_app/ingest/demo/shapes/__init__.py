"""The demo's pens: each writes a story's beats as the log file one agent would have left."""
