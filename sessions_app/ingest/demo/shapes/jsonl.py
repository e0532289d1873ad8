"""One JSON object per line, compact, UTF-8, as all agents of the demo write."""

import json
from typing import Any

Record = dict[str, Any]


def line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def inline(arguments: dict[str, str]) -> str:
    """Arguments as a JSON string inside JSON, the way chat completions carry them."""
    return json.dumps(arguments, ensure_ascii=False)
