"""Any other source: kept whole, its JSON lines shown as records."""

from dataclasses import replace

from sessions_app.formats import json_lines
from sessions_app.formats.shape import line_format

FORMAT = replace(
    line_format("unknown", "unknown", lambda _: True, json_lines.reading),
    recognises=lambda _: True,
)
