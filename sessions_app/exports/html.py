"""A document of one file: no script, no request, no style but its own, which its policy names by
hash. Text of the record is escaped, and what hides in it is shown."""

import base64
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import assert_never

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.domain import ansi, entries, hostile
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
    short,
)
from sessions_app.domain.markdown import LONGEST_PART, MOST_PARTS
from sessions_app.exports import facts, work
from sessions_app.exports.facts import Fact
from sessions_app.exports.subject import Cover, Passage
from sessions_app.exports.work import Desk, folded, plain
from sessions_app.store.read import Line
from sessions_app.templatetags.rendering import MOST_FORMATTED, markdown
from sessions_app.templatetags.show import visible

MOST_PROMPTS = 1000


@dataclass(slots=True, kw_only=True)
class Tally:
    """What is known of a passage only when all of it was written."""

    events: int = 0
    hidden: int = 0
    prompts: list[tuple[str, str]] = field(default_factory=list)
    desk: Desk = field(default_factory=Desk)


def of_one(passage: Passage, cover: Cover) -> Iterator[str]:
    tally = Tally()
    told = [*facts.of_passage(passage), *facts.of_cover(cover)]
    prompts = [("rail", "Prompts")] if passage.is_whole and passage.facts.prompts else []
    links = [*prompts, ("end", "End of the export")]
    yield from _opening(passage.facts.title, "An export of one session", told, links)
    yield "<main>"
    yield from _events(passage, tally, place="", level=2)
    yield "</main>"
    yield _rail("Prompts", tally.prompts)
    yield _ending((yield from _end(passage, tally)))


def of_many(passages: Sequence[Passage], cover: Cover) -> Iterator[str]:
    title = f"{len(passages):,} session{'' if len(passages) == 1 else 's'}"
    links = [("end", "End of the export")]
    yield from _opening(title, "An export of several sessions", facts.of_cover(cover), links)
    yield _rail("Sessions", ((f"s{n}", p.facts.title) for n, p in enumerate(passages, start=1)))
    yield "<main>"
    for number, passage in enumerate(passages, start=1):
        yield from _section(passage, number)
    yield "</main>"
    yield _ending([("Sessions in this document", f"{len(passages):,}")])


def _section(passage: Passage, number: int) -> Iterator[str]:
    tally = Tally()
    yield format_html('<section id="s{}"><h2>{}</h2>', number, visible(passage.facts.title))
    yield _list(facts.of_passage(passage))
    yield from _events(passage, tally, place=f"s{number}", level=3)
    yield _list((yield from _end(passage, tally)))
    yield "</section>"


def _end(passage: Passage, tally: Tally) -> Generator[str, None, list[Fact]]:
    return facts.of_end(passage, events=tally.events, hidden=tally.hidden)


# -- around the events


@cache
def _style() -> str:
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    digest = base64.b64encode(sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _opening(
    title: str, kind: str, told: list[Fact], links: Iterable[tuple[str, str]]
) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield format_html(
        '<meta http-equiv="Content-Security-Policy" content="{}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>{} · Recount</title>\n",
        policy(),
        hostile.plain(title),
    )
    yield f"<style>{_style()}</style>\n</head>\n<body>\n"
    yield format_html(
        '<header class="cover"><p class="kind">{}</p><h1>{}</h1>{}<p class="jumps">{}</p>'
        "</header>\n",
        *(kind, visible(title), _list(told)),
        format_html_join(" · ", '<a href="#{}">{}</a>', links),
    )


def _list(told: list[Fact]) -> SafeString:
    rows = format_html_join(
        "", "<div><dt>{}</dt><dd>{}</dd></div>", ((name, visible(value)) for name, value in told)
    )
    return format_html("<dl>{}</dl>", rows)


def _rail(name: str, links: Iterable[tuple[str, str]]) -> SafeString:
    """Where to go. It comes after what it names, because that is when it is known; where there is
    room it stands beside it."""
    rows = format_html_join(
        "", '<li><a href="#{}">{}</a></li>', ((where, visible(text)) for where, text in links)
    )
    if not rows:
        return rows
    return format_html(
        '<nav class="rail" aria-labelledby="rail"><h2 id="rail">{}</h2><ol>{}</ol></nav>\n',
        *(name, rows),
    )


def _ending(told: list[Fact]) -> SafeString:
    return format_html(
        '<footer id="end"><h2>End of the export</h2>{}<p>Hidden characters are shown in boxes with '
        "their names. What was cut is in the record; its bytes can be exported as JSONL.</p>"
        "</footer>\n</body>\n</html>\n",
        _list(told),
    )


# -- events


def _events(passage: Passage, tally: Tally, *, place: str, level: int) -> Iterator[str]:
    for line in passage.lines():
        yield _event(line, tally, place=place, level=level)


def _event(line: Line, tally: Tally, *, place: str, level: int) -> SafeString:
    where = f"{place}e{line.seq}"
    # Colours of a terminal are shown as colours.
    hidden = hostile.count(ansi.uncoloured(entries.said(line)))
    tally.events += 1
    tally.hidden += hidden
    if line.flags & Flag.PROMPT and len(tally.prompts) < MOST_PROMPTS:
        tally.prompts.append((where, short(entries.said(line))))
    return format_html(
        '<article class="{}" id="{}" aria-labelledby="{}h"><header><a href="#{}" '
        'aria-label="Event {}">{}</a><h{} id="{}h">{}</h{}>{}{}</header>{}</article>\n',
        *(
            f"{entries.role(line)}{' error' if line.flags & Flag.ERROR else ''}",
            where,
            where,
            where,
        ),
        *(line.seq, line.seq, level, where, visible(entries.label(line)), level),
        *(_badges(line, hidden), _time(line), _body(line, tally.desk)),
    )


def _badges(line: Line, hidden: int) -> SafeString:
    errors = ["Error"] if line.flags & Flag.ERROR else []
    hiding = [f"{hidden:,} hidden character{'' if hidden == 1 else 's'}"] if hidden else []
    words = [entries.model(line), *errors, *entries.marks(line), *hiding]
    return format_html_join("", "<b>{}</b>", ((visible(word),) for word in words if word))


def _time(line: Line) -> SafeString:
    if line.at is None:
        return SafeString("")
    at, shown = line.at.isoformat(), facts.moment(line.at)
    return format_html('<time datetime="{}">{}</time>', at, shown)


def _body(line: Line, desk: Desk) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in _parts(line, desk)))


def _parts(line: Line, desk: Desk) -> Iterator[SafeString]:
    body = line.reading.body
    match body:
        case Message():
            if not body.parts:
                yield SafeString('<p class="note">The line carries no text.</p>')
            shown = body.parts[:MOST_PARTS]
            yield from chain.from_iterable(_part(part, body.role, desk) for part in shown)
            yield from _more(len(body.parts) - MOST_PARTS, "parts")
        case Record():
            text = entries.said(line)
            yield folded(_fields(body), plain(text), is_open=False)
            yield from _rest(text)
        case Unreadable():
            yield format_html('<p class="note">{}</p>', visible(body.reason))
            yield plain(line.raw[:LONGEST_PART].decode("utf-8", "replace"))
        case _:
            assert_never(body)


def _fields(record: Record) -> str:
    names = [name for name in record.fields if name not in record.quiet and name != "type"]
    return ", ".join(names)[:160] or "fields"


def _part(part: Part, role: Role, desk: Desk) -> Iterator[SafeString]:
    match part:
        case Text():
            yield _prose(part.text) if role is Role.ASSISTANT else _text(part.text)
            yield from _rest(part.text)
        case Thinking():
            yield folded("Thinking", _text(part.text), is_open=False)
            yield from _rest(part.text)
        case ToolCall():
            yield work.call(part, desk)
            yield from _rest(entries.value_text(part.arguments))
        case ToolResult():
            yield work.result(part, desk)
            yield from _rest(part.text)
        case Picture():
            size = f", {part.size:,} bytes" if part.size else ""
            shown = visible(f"Picture: {part.media_type or 'unknown'}{size}")
            yield format_html('<p class="note">{}</p>', shown)
        case Data():
            text = entries.value_text(part.value)
            yield folded(part.label or "Data", plain(text), is_open=False)
            yield from _rest(text)
        case _:
            assert_never(part)


def _text(text: str) -> SafeString:
    return format_html('<div class="text">{}</div>', visible(text[:LONGEST_PART]))


def _prose(text: str) -> SafeString:
    if len(text) > MOST_FORMATTED:
        return _text(text)
    return format_html('<div class="prose">{}</div>', markdown(text))


def _rest(text: str) -> Iterator[SafeString]:
    yield from _more(len(text) - LONGEST_PART, "characters")


def _more(number: int, what: str) -> Iterator[SafeString]:
    if number > 0:
        yield format_html(
            '<p class="note">{} more {} are in the raw line.</p>', f"{number:,}", what
        )
