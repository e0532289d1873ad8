"""Events as Markdown."""

from datetime import UTC, datetime

from sessions_app.domain import excerpt
from sessions_app.domain.events import (
    Body,
    Flag,
    Message,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from sessions_app.domain.transcript import Entry

PLAIN = Flag(0)
AT = datetime(2026, 11, 18, 12, tzinfo=UTC)


def entry(seq: int, body: Body, flags: Flag = PLAIN) -> Entry:
    return Entry(seq=seq, at=AT, flags=flags, body=body)


def test_an_exchange_reads_as_markdown() -> None:
    call = ToolCall(name="Bash", call_id="c", arguments={"command": "ls -l"})
    told = excerpt.markdown(
        [
            entry(0, Message(role=Role.USER, parts=(Text(text="What is here?\n"),))),
            entry(1, Message(role=Role.ASSISTANT, parts=(Thinking(text="look\nfirst"), call))),
            entry(
                2,
                Message(
                    role=Role.TOOL, parts=(ToolResult(call_id="c", text="a\n", is_error=False),)
                ),
            ),
            entry(3, Record(label="progress", fields={})),
            entry(4, Message(role=Role.ASSISTANT, parts=(Text(text="Again"),)), Flag.ECHO),
        ]
    )
    assert told == (
        "**User** (event 0, 2026-11-18 12:00:00 UTC)\n\nWhat is here?\n\n"
        "**Assistant** (event 1, 2026-11-18 12:00:00 UTC)\n\n> look\n> first\n\nTool: Bash\n\n"
        "```bash\nls -l\n```\n\n"
        "**Tool** (event 2, 2026-11-18 12:00:00 UTC)\n\n```\na\n```\n"
    )


def test_a_text_cannot_end_the_fence_around_it() -> None:
    result = ToolResult(call_id="c", text="````\nx\n````\n```", is_error=False)
    told = excerpt.markdown([entry(0, Message(role=Role.TOOL, parts=(result,)))])
    assert "`````\n````\nx\n````\n```\n`````" in told


def test_a_long_part_is_cut_and_says_so() -> None:
    told = excerpt.markdown([entry(0, Message(role=Role.USER, parts=(Text(text="x" * 30_000),)))])
    assert "10,000 more characters" in told
