"""Plain chat JSONL: one `{"role": …, "content": …}` object a line.

`content` is a string or a list of parts; tool calls in the widespread `tool_calls` /
`tool_call_id` form are understood. Every other field is kept and shown.
"""

from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import Body, Message, Reading
from sessions_app.formats import chat, json_lines
from sessions_app.formats.shape import line_format

NAME = "plain"
AGENT = "chat"
UNDERSTOOD = frozenset({*chat.UNDERSTOOD, *times.USUAL_FIELDS})


def recognises(records: list[dict[str, Any]]) -> bool:
    """Every readable line of the head that has a role has content or calls beside it."""
    spoken = [r for r in records if isinstance(r.get("role"), str)]
    return (
        bool(spoken)
        and len(spoken) * 2 >= len(records)
        and all(chat.is_message(record) for record in spoken)
    )


def read(record: dict[str, Any]) -> Reading:
    return Reading(body=_body(record), at=times.found_in(record), notes=chat.usage(record))


def _body(record: dict[str, Any]) -> Body:
    role = chat.role_of(record)
    if role is None:
        return json_lines.record(record)
    return Message(
        role=role,
        parts=(*chat.parts(record), *chat.other_fields(record, UNDERSTOOD)),
        model=json_lines.word(record.get("model")),
        name=json_lines.word(record.get("name")),
    )


FORMAT = line_format(NAME, AGENT, recognises, read)
