"""Conversations, one a line: `{"messages": [{"role": …, "content": …}, …]}`.

The shape of training sets and of exported chats. A line is one event, because the event is what a
line is. Inside it every message but the first one spoken, which gives the event its role, is
announced by its role.
"""

from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import Body, Data, Message, Part, Reading, Role, Text
from sessions_app.formats import chat, json_lines
from sessions_app.formats.shape import line_format

NAME = "plain-conversation"
AGENT = "chat"
UNDERSTOOD = frozenset({"messages", "model", "usage", *times.USUAL_FIELDS})
# Messages that are laid out; what follows in the same line is shown as data.
MOST_MESSAGES = 2000


def recognises(records: list[dict[str, Any]]) -> bool:
    """Every readable line of the head is a conversation."""
    return all(_is_conversation(record) for record in records)


def _is_conversation(record: dict[str, Any]) -> bool:
    messages = record.get("messages")
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(chat.is_message(message) for message in messages[:MOST_MESSAGES])
    )


def read(record: dict[str, Any]) -> Reading:
    return Reading(body=_body(record), at=times.found_in(record), notes=chat.usage(record))


def _body(record: dict[str, Any]) -> Body:
    if not _is_conversation(record):
        return json_lines.record(record)
    messages = record["messages"]
    first = _first_spoken(messages)
    parts = [
        part
        for no, message in enumerate(messages[:MOST_MESSAGES])
        for part in _announced(message, is_first=no == first)
    ]
    if rest := messages[MOST_MESSAGES:]:
        parts.append(Data(label="more messages", value=rest))
    return Message(
        role=chat.role_of(messages[first]) or Role.SYSTEM,
        parts=(*parts, *chat.other_fields(record, UNDERSTOOD)),
        model=json_lines.word(record.get("model")),
    )


def _first_spoken(messages: list[dict[str, Any]]) -> int:
    """The first that is no instruction: it speaks for the line, so its role is the event's own."""
    roles = [chat.role_of(message) for message in messages[:MOST_MESSAGES]]
    return next((no for no, role in enumerate(roles) if role is not Role.SYSTEM), 0)


def _announced(message: dict[str, Any], *, is_first: bool) -> list[Part]:
    said = [*chat.parts(message), *chat.other_fields(message)]
    if is_first:
        return said
    role, name = str(message["role"]), json_lines.word(message.get("name"))
    if chat.role_of(message) is Role.SYSTEM and isinstance(message.get("content"), str):
        # Instructions are long and come again with every conversation: folded.
        return [Data(label=role, value=message["content"]), *said[1:]]
    return [Text(text=f"{role} ({name}):" if name else f"{role}:"), *said]


FORMAT = line_format(NAME, AGENT, recognises, read)
