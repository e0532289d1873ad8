"""OpenClaw sessions: pi's entries, told apart by what only OpenClaw writes into them.

Evidence: docs/formats/openclaw.md.
"""

from typing import Any

from sessions_app.formats import fields, json_lines, pi
from sessions_app.formats.shape import line_format

NAME = "openclaw"
AGENT = "openclaw"

# Where its name stands: kinds of its own entries, its own stand-ins for a model, its ids.
NAMED = ("customType", "provider", "id", "agent")
FOLDERS = ("/.openclaw/", "\\.openclaw\\")


def recognises(records: list[dict[str, Any]]) -> bool:
    return pi.recognises(records) and any(_is_its_own(record) for record in records)


def _is_its_own(record: dict[str, Any]) -> bool:
    message = fields.inside(record.get("message"))
    names = [record.get(name) for name in NAMED] + [message.get(name) for name in NAMED]
    if any(json_lines.word(name).startswith("openclaw") for name in names):
        return True
    cwd = fields.path(record.get("cwd")) + "/"
    return record.get("customType") == "model-snapshot" or any(each in cwd for each in FOLDERS)


FORMAT = line_format(NAME, AGENT, recognises, pi.read)
