"""One file per agent format: the only vendor words in the house. Bytes in, a Reading out.

A format is chosen by content, never by name. Nothing here raises on hostile bytes. Most formats
have one record a line; one that has not says with `cut` where its records begin.
"""

from sessions_app.domain.events import Reading
from sessions_app.formats import (
    agents_sdk,
    aider,
    claude_code,
    cline,
    codex,
    copilot,
    gemini,
    goose,
    managed_agents,
    openclaw,
    opencode,
    otel,
    pi,
    plain,
    plain_conversation,
    side_files,
    unknown,
)
from sessions_app.formats.shape import HEAD_BYTES, HEAD_LINES, PARSE_LIMIT, Format, Head, head_of

__all__ = [
    "BY_NAME",
    "DOCUMENT_LIMIT",
    "FORMATS",
    "HEAD_BYTES",
    "HEAD_LINES",
    "PARSE_LIMIT",
    "UNKNOWN",
    "Format",
    "Head",
    "choose",
    "read",
    "recognise",
]

# The folder of outputs a transcript points to: they can be any text, so nothing in them tells.
OUTPUTS = "tool-results"
# A document has to be cut as a whole; a larger one is kept line by line.
DOCUMENT_LIMIT = 64 * 1024 * 1024

UNKNOWN = unknown.FORMAT
# In the order in which they are asked: the more particular signs first.
FORMATS: tuple[Format, ...] = (
    side_files.DESCRIPTION,
    side_files.OUTPUT,
    otel.FORMAT,
    cline.PANEL,
    cline.HISTORY,
    cline.TASK,
    agents_sdk.FORMAT,
    managed_agents.PAGE,
    managed_agents.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    copilot.FORMAT,
    openclaw.FORMAT,
    pi.FORMAT,
    opencode.LINES,
    goose.FORMAT,
    gemini.DOCUMENT,
    gemini.LOG,
    opencode.FILE,
    aider.FORMAT,
    plain_conversation.FORMAT,
    plain.FORMAT,
    UNKNOWN,
)
BY_NAME = {fmt.name: fmt for fmt in FORMATS}


def recognise(raw: bytes) -> Format:
    """By the first `HEAD_BYTES` of a source."""
    head = head_of(raw)
    return next(fmt for fmt in FORMATS if fmt.recognises(head))


def choose(raw: bytes, size: int, path: str) -> Format:
    """For a whole source. A document is cut as a whole: one that is too large for that is kept
    line by line."""
    if f"/{OUTPUTS}/" in path:
        return side_files.OUTPUT if size <= DOCUMENT_LIMIT else UNKNOWN
    fmt = recognise(raw)
    return UNKNOWN if fmt.cut and not fmt.grows and size > DOCUMENT_LIMIT else fmt


def read(fmt: Format, record: bytes) -> Reading:
    """Never raises: a record no adapter can read is a reading too."""
    return fmt.read(record)
