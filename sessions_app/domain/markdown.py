"""Events as Markdown. Text of a stranger stays inside what it was put into: it ends no fence, loads
no picture, becomes no HTML and passes for no heading of the document around it.

What people and agents said is given as the Markdown it is, inside a quote; where that would do more
than show text, and for everything else, inside a fence longer than any in it.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import assert_never

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessions_app.domain import entries, hostile, jsontext
from sessions_app.domain.entries import Entry
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Record,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
)

# What one part of an event gives; the raw line has the rest.
LONGEST_PART = 100_000
LONGEST_NAME = 200
# A line may hold a hundred thousand empty texts.
MOST_PARTS = 2000
# Above this, finding out whether text is calm costs more than its formatting tells.
MOST_JUDGED = 32 * 1024
DEEPEST = 20
# Only these can make more of a text than text.
_SIGNS = re.compile(r"[<`~]|!\[|\][(\[:]|\]\s*:")
_BACKTICKS = re.compile("`+")
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&!#$])")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SCHEMES = ("http:", "https:", "mailto:")
# Some viewers draw or run what a fence says it is. These they only colour.
_LANGUAGES = re.compile(
    "bash|c|c[+]{2}|cmake|console|cpp|cs|csharp|css|csv|diff|dockerfile|elixir|erlang|fish|go|golang"
    "|haskell|hcl|html|http|ini|java|javascript|js|json5?|jsonc|jsonl|jsx|kotlin|less|log|lua"
    "|makefile|markdown|md|nginx|objc|ocaml|patch|perl|php|plain|plaintext|powershell|proto|protobuf"
    "|ps1|py|python3?|rb|rs|rst|ruby|rust|scala|scss|sh|shell|sql|swift|terraform|text|toml|ts|tsx"
    "|txt|typescript|vim|vue|xml|ya?ml|zig|zsh",
    re.IGNORECASE,
)


def event(entry: Entry, *, level: int = 3) -> str:
    """One event under a heading of that level."""
    parts = [f"{'#' * level} {heading(entry)}", *_parts(entry)]
    if len(parts) == 1:
        parts.append("*Nothing to show: the line carries no text.*")
    return "\n\n".join(parts) + "\n"


def events(several: Iterable[Entry], *, level: int = 3) -> str:
    """A turn, or any other stretch of events."""
    return "\n".join(event(entry, level=level) for entry in several)


def heading(entry: Entry) -> str:
    when = [f"{entry.at:%Y-%m-%d %H:%M:%S} {entry.at.tzname() or ''}".strip()] if entry.at else []
    error = ["Error"] if entry.flags & Flag.ERROR else []
    names = [entries.label(entry), entries.model(entry), *error, *entries.marks(entry), *when]
    return " · ".join([str(entry.seq), *(inline(name) for name in names if name)])


def inline(text: str, longest: int = LONGEST_NAME) -> str:
    """Text on one line that means nothing but itself."""
    line = " ".join(visible(text[: longest * 4]).split())
    shown = line if len(line) <= longest else line[: longest - 1] + "…"
    return _MARKUP.sub(r"\\\1", shown)


def visible(text: str) -> str:
    return hostile.reveal(text, lambda run: f"⟦{hostile.describe(run).sign}⟧")


def fenced(text: str, language: str = "text") -> str:
    """A block that no text inside can end. `language` is a word of ours."""
    shown = visible(text).replace("\r\n", "\n").removesuffix("\n")
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def prose(text: str) -> str:
    """Markdown as it was written, if all it does is to show text."""
    shown = visible(text).replace("\r\n", "\n").strip("\n")
    quoted = "\n".join(f"> {line}" if line.strip() else ">" for line in shown.split("\n"))
    return quoted if _is_calm(quoted) else fenced(text, "markdown")


# -- parts


def _parts(entry: Entry) -> Iterator[str]:
    body = entry.reading.body
    match body:
        case Message():
            for part in body.parts[:MOST_PARTS]:
                yield from _part(part)
            if len(body.parts) > MOST_PARTS:
                yield f"*{len(body.parts) - MOST_PARTS:,} more parts are in the raw line.*"
        case Record():
            yield from _bounded(jsontext.laid_out(dict(body.fields)), "json")
        case Unreadable():
            yield f"*{inline(body.reason)}*"
            yield from _bounded(entry.raw[:LONGEST_PART].decode("utf-8", "replace"), "text")
        case _:
            assert_never(body)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield from _said(part.text)
        case Thinking():
            yield "**Thinking**"
            yield from _said(part.text)
        case ToolCall():
            yield f"**Tool call** {_name(part)}".rstrip()
            yield from _value(part.arguments)
        case ToolResult():
            yield "**Tool result, an error**" if part.is_error else "**Tool result**"
            yield from _bounded(part.text, "text")
        case Picture():
            size = f", {part.size:,} bytes" if part.size else ""
            yield f"*Picture: {inline(part.media_type or 'unknown')}{size}*"
        case Data():
            yield f"**{inline(part.label) or 'Data'}**"
            yield from _value(part.value)
        case _:
            assert_never(part)


def _name(call: ToolCall) -> str:
    about = entries.gist(call)
    return f"{inline(call.name)}{': ' if about else ''}{inline(about)}"


def _said(text: str) -> Iterator[str]:
    if text.strip():
        yield prose(text[:LONGEST_PART])
        yield from _rest(text)


def _value(value: object) -> Iterator[str]:
    language = "text" if isinstance(value, str) else "json"
    yield from _bounded(entries.value_text(value), language)


def _bounded(text: str, language: str) -> Iterator[str]:
    yield fenced(text[:LONGEST_PART], language)
    yield from _rest(text)


def _rest(text: str) -> Iterator[str]:
    if len(text) > LONGEST_PART:
        yield f"*{len(text) - LONGEST_PART:,} more characters are in the raw line.*"


# -- judging


def _is_calm(quoted: str) -> bool:
    """Nothing in it is HTML, loads anything, or reaches beyond it; by the rules of CommonMark and
    by those of tables, which cut what the others take for code."""
    if not _SIGNS.search(quoted):
        return True
    if len(quoted) > MOST_JUDGED:
        return False
    rules = (False, True) if "|" in quoted else (False,)
    return all(_is_calm_to(_parser(has_tables), quoted) for has_tables in rules)


def _is_calm_to(parser: MarkdownIt, quoted: str) -> bool:
    # A definition of a link holds for the whole document.
    found: dict[str, object] = {}
    tokens = parser.parse(quoted, found)
    return not found.get("references") and all(map(_is_calm_token, _every(tokens)))


def _every(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _every(token.children or ())


def _is_calm_token(token: Token) -> bool:
    if token.type in ("html_block", "html_inline", "image") or token.level >= DEEPEST - 1:
        return False
    if token.type == "fence":
        words = token.info.split()
        return not words or _LANGUAGES.fullmatch(words[0]) is not None
    if token.type == "link_open":
        scheme = _SCHEME.match(str(token.attrGet("href") or ""))
        return scheme is None or scheme.group().lower() in _SCHEMES
    return True


class _Parser(MarkdownIt):
    """Takes every address for a link, so that the address can be judged."""

    def validateLink(self, url: str) -> bool:  # noqa: ARG002
        return True


@cache
def _parser(has_tables: bool) -> MarkdownIt:
    parser = _Parser("commonmark", {"html": True, "maxNesting": DEEPEST})
    return parser.enable("table") if has_tables else parser
