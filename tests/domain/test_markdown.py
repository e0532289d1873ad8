"""Events as Markdown: readable, labelled, and nothing in it but text."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessions_app.domain import markdown
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Reading,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
)

AT = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
NONE = Flag(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    reading: Reading
    seq: int = 12
    at: datetime | None = AT
    flags: Flag = NONE
    raw: bytes = b""
    length: int = 0


def said(*parts: Part, role: Role = Role.ASSISTANT, flags: Flag = NONE, model: str = "") -> str:
    body = Message(role=role, parts=parts, model=model)
    return markdown.event(Line(reading=Reading(body=body), flags=flags))


def test_an_event_says_who_when_and_with_what() -> None:
    told = said(Text(text="It *works*."), model="model_5")
    assert told == "### 12 · Assistant · model\\_5 · 2026-11-17 09:00:00 UTC\n\n> It *works*.\n"


def test_calls_and_results_are_labelled() -> None:
    call = ToolCall(name="Bash", call_id="1", arguments={"command": "ls -la"})
    told = said(call, ToolResult(call_id="1", text="no such file\n", is_error=True))
    assert "**Tool call** Bash: ls -la\n\n```json\n{\n  " in told
    assert "**Tool result, an error**\n\n```text\nno such file\n```\n" in told


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        (Thinking(text="Hm."), "**Thinking**\n\n> Hm."),
        (Picture(media_type="image/png", size=12345), "*Picture: image/png, 12,345 bytes*"),
        (Picture(media_type="", size=0), "*Picture: unknown*"),
        (Data(label="usage", value={"n": 1}), '**usage**\n\n```json\n{\n  "n": 1\n}\n```'),
        (ToolCall(name="", call_id="", arguments="x"), "**Tool call**\n\n```text\nx\n```"),
        (Text(text="  \n"), "*Nothing to show: the line carries no text.*"),
    ],
)
def test_every_part_has_its_words(part: Part, wanted: str) -> None:
    assert said(part).endswith(f"{wanted}\n")


def test_records_and_unreadable_lines_are_shown_as_they_are() -> None:
    record = Line(reading=Reading(body=Record(label="marker", fields={"k": 1})), at=None)
    assert markdown.event(record) == '### 12 · marker\n\n```json\n{\n  "k": 1\n}\n```\n'
    broken = Line(reading=Reading(body=Unreadable(reason="not JSON")), raw=b"{ `\xff", length=4)
    assert "*not JSON*\n\n```text\n{ `\ufffd\n```" in markdown.event(broken)


def test_several_events_follow_each_other() -> None:
    lines = [Line(reading=Reading(body=Unreadable(reason="blank line")), seq=n) for n in (1, 2)]
    assert markdown.events(lines, level=2).count("\n## ") == 1


def test_what_is_long_is_cut_and_says_so() -> None:
    told = said(ToolResult(call_id="", text="x" * 100_007, is_error=False))
    assert "*7 more characters are in the raw line.*" in told
    assert len(told) < 101_000


PLAIN = [
    "It *works*, see [the page](https://example.org/a?b=c) and <https://example.org>.",
    "# A heading\n\n- one\n- two\n\n1. three",
    "```python\nprint('<b>')\n```",
    "| a | b |\n|---|---|\n| `x` | y |",
    "use `<img>` and a < b, R&D, 5 > 3",
    "[relative](docs/x.md#y) [mail](mailto:a@b.c)",
]
LOUD = {
    "HTML": "<img src=x onerror=alert(1)>",
    "a comment": "<!-- b",
    "a picture": "![x](http://127.0.0.1/beacon)",
    "a picture by name": "![x][y]\n\n[y]: http://127.0.0.1/beacon",
    "a script link": "[x](javascript:alert(1))",
    "a script link in disguise": "[x](JaVaScRiPt&#58;alert(1))",
    "a script autolink": "<javascript:alert(1)>",
    "a data link": "[x](data:text/html,<b>)",
    "a link for others": "[todo]: https://127.0.0.1/",
    "a diagram": "```mermaid\ngraph TD\n```",
    "a cell that runs": "```{python}\nimport os\n```",
    "a query that runs": "~~~dataviewjs\nx\n~~~",
    "HTML after a tab": "\t<img src=x>",
    "HTML in a table's half of code": "| `a | <img src=x>` |\n|---|---|",
    "HTML deep down": ">" * 25 + " <img src=x>",
    "HTML in a hidden spelling": "".join(chr(0xE0000 + ord(c)) for c in "<img src=x>"),
}


@pytest.mark.parametrize("text", PLAIN)
def test_calm_markdown_is_given_as_it_was_written(text: str) -> None:
    lines = text.split("\n")
    assert markdown.prose(text) == "\n".join(f"> {line}" if line else ">" for line in lines)


@pytest.mark.parametrize("text", LOUD.values(), ids=LOUD)
def test_markdown_that_would_do_something_is_given_as_source(text: str) -> None:
    assert markdown.prose(text).startswith(("```markdown\n", "````markdown\n"))


def test_hidden_characters_are_shown() -> None:
    told = said(
        Text(text="a\u202eb\x1b]0;t\x07\u200b"), ToolResult(call_id="", text="\r", is_error=False)
    )
    assert "a⟦U+202E⟧b⟦ESC⟧]0;t⟦BEL⟧⟦U+200B⟧" in told
    assert "```text\n⟦CR⟧\n```" in told


def every(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *every(token.children or []))]


SCRAPS = ("`", "```", "~~~~", "\n", "\n\n", "    ", "> ", "- ", "\t", "|", "#", "[x]", "<a href=y>")
MORE = ("</details>", "\r", "\u2028", "$$", "---", "===", "&lt;", "\\")
PIECES = st.lists(st.sampled_from([*LOUD.values(), *PLAIN, *SCRAPS, *MORE]), max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    text=PIECES.map("".join) | st.text(max_size=80),
    rules=st.sampled_from(["commonmark", "gfm-like"]),
)
@example(text="```\n# 13 · User\n", rules="commonmark")
def test_no_text_reaches_beyond_its_place(text: str, rules: str) -> None:
    """Read back with HTML allowed, there is none, and only the headings of the document are at
    its outermost level."""
    call = ToolCall(name=text, call_id=text, arguments={text: text})
    told = said(
        *(Text(text=text), Thinking(text=text), call, Data(label=text, value=text)),
        *(ToolResult(call_id="", text=text, is_error=False), Picture(media_type=text, size=1)),
        model=text,
    )
    document = f"{told}\n{told}"
    parser = MarkdownIt(rules, {"html": True, "linkify": False, "maxNesting": 100})
    found: dict[str, object] = {}
    tokens = every(parser.parse(document, found))
    assert not {"html_block", "html_inline", "image"} & {token.type for token in tokens}
    assert [t.tag for t in tokens if t.type == "heading_open" and t.level == 0] == ["h3", "h3"]
    assert not found.get("references")
