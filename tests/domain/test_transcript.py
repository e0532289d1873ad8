"""How a session reads: turns, stretches of work, breaks."""

from datetime import UTC, datetime, timedelta

from sessions_app.domain import transcript
from sessions_app.domain.events import (
    Body,
    Flag,
    Message,
    Notes,
    Part,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
)
from sessions_app.domain.transcript import Break, BreakKind, Entry, Item, Run, Said, Turn

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
CALL = ToolCall(name="Bash", call_id="c", arguments={})
RESULT = ToolResult(call_id="c", text="ok", is_error=False)
PLAIN = Flag(0)


def entry(seq: int, body: Body, flags: Flag = PLAIN, minutes: float | None = None) -> Entry:
    at = None if minutes is None else NOON + timedelta(minutes=minutes)
    return Entry(seq=seq, at=at, flags=flags, body=body)


def said(role: Role, *parts: Part) -> Message:
    return Message(role=role, parts=parts)


def prompt(seq: int, minutes: float | None = None) -> Entry:
    return entry(seq, said(Role.USER, Text(text="do it")), Flag.PROMPT, minutes)


def answer(seq: int, minutes: float | None = None) -> Entry:
    return entry(seq, said(Role.ASSISTANT, Text(text="done")), minutes=minutes)


def call(seq: int) -> Entry:
    return entry(seq, said(Role.ASSISTANT, CALL))


def result(seq: int) -> Entry:
    return entry(seq, said(Role.USER, RESULT))


def record(seq: int, flags: Flag = PLAIN) -> Entry:
    return entry(seq, Record(label="progress", fields={}), flags)


def shape(items: list[Item]) -> list[object]:
    def one(item: Item) -> object:
        match item:
            case Turn():
                return ("turn", item.seq)
            case Break():
                return (item.kind.value, item.seq)
            case Run():
                return [each.seq for each in item.entries]
            case Said():
                return item.entry.seq

    return [one(item) for item in items]


def test_a_turn_begins_with_its_prompt_and_work_folds() -> None:
    entries = [record(0), prompt(1), call(2), result(3), record(4), answer(5), prompt(6), call(7)]
    assert shape(transcript.items(entries)) == [
        [0],
        ("turn", 1),
        1,
        [2, 3, 4],
        5,
        ("turn", 6),
        6,
        [7],
    ]


def test_thoughts_and_blank_texts_are_work_and_words_are_not() -> None:
    thought = entry(0, said(Role.ASSISTANT, Thinking(text="hm")))
    blank = entry(1, said(Role.ASSISTANT, Text(text=" \n")))
    mixed = entry(2, said(Role.ASSISTANT, Text(text="I look"), CALL))
    nothing = entry(3, said(Role.ASSISTANT))
    assert shape(transcript.items([thought, blank, mixed, nothing])) == [[0, 1], 2, [3]]


def test_a_picture_of_a_person_is_said_and_one_of_a_tool_is_work() -> None:
    picture = Picture(media_type="image/png", size=9)
    theirs = entry(0, said(Role.USER, picture))
    tools = entry(1, said(Role.TOOL, RESULT, picture))
    in_their_name = entry(2, said(Role.USER, RESULT, picture))
    assert shape(transcript.items([theirs, tools, in_their_name])) == [0, [1, 2]]


def test_errors_of_records_and_unreadable_lines_stand_alone() -> None:
    broken = entry(1, Unreadable(reason="not JSON"))
    assert shape(transcript.items([record(0, Flag.ERROR), broken])) == [0, 1]


def test_what_repeats_another_line_is_work_even_if_it_speaks() -> None:
    echo = entry(1, said(Role.ASSISTANT, Text(text="done")), Flag.ECHO)
    assert shape(transcript.items([answer(0), echo])) == [0, [1]]


def test_a_long_silence_is_a_break_and_a_step_back_in_time_is_none() -> None:
    entries = [prompt(0, 0), answer(1, 10), answer(2, 9), answer(3, 11), prompt(4, 60)]
    items = transcript.items(entries)
    assert shape(items) == [("turn", 0), 0, 1, 2, 3, ("resumed", 4), ("turn", 4), 4]
    found = next(item for item in items if isinstance(item, Break))
    assert found.gap == timedelta(minutes=49)


def test_the_silence_before_a_window_counts() -> None:
    items = transcript.items([answer(200, 90)], latest=NOON)
    assert shape(items) == [("resumed", 200), 200]


def test_a_compaction_told_twice_is_one_break() -> None:
    boundary = record(0, Flag.COMPACTION)
    summary = entry(2, said(Role.SYSTEM, Text(text="so far")), Flag.COMPACTION)
    again = record(4, Flag.COMPACTION)
    items = transcript.items([boundary, record(1), summary, answer(3), again])
    assert shape(items) == [("compaction", 0), 0, [1], 2, 3, ("compaction", 4), 4]


def test_a_new_model_is_a_break_that_names_it() -> None:
    changed = Entry(
        seq=1,
        at=None,
        flags=Flag.MODEL_CHANGE,
        body=said(Role.ASSISTANT, CALL),
        notes=Notes(model="model-2"),
    )
    items = transcript.items([call(0), changed])
    assert shape(items) == [[0], ("model", 1), [1]]
    assert items[1] == Break(seq=1, kind=BreakKind.MODEL, model="model-2")
