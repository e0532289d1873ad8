"""A document of Markdown: the head as a table, then the events."""

from collections.abc import Iterator, Sequence

from sessions_app.domain import entries, hostile, markdown
from sessions_app.exports import facts
from sessions_app.exports.facts import Fact
from sessions_app.exports.subject import Cover, Passage


def of_one(passage: Passage, cover: Cover) -> Iterator[str]:
    yield f"# {markdown.inline(passage.facts.title)}\n\n"
    yield _table([*facts.of_passage(passage), *facts.of_cover(cover)])
    yield from _passage(passage, level=2)


def of_many(passages: Sequence[Passage], cover: Cover) -> Iterator[str]:
    yield f"# {len(passages):,} session{'' if len(passages) == 1 else 's'}\n\n"
    yield _table(facts.of_cover(cover))
    for passage in passages:
        yield f"\n## {markdown.inline(passage.facts.title)}\n\n"
        yield _table(facts.of_passage(passage))
        yield from _passage(passage, level=3)


def _passage(passage: Passage, *, level: int) -> Iterator[str]:
    count = hidden = 0
    for line in passage.lines():
        yield f"\n{markdown.event(line, level=level)}"
        count += 1
        hidden += hostile.count(entries.said(line))
    yield f"\n{'#' * level} End of the export\n\n"
    yield _table((yield from facts.of_end(passage, events=count, hidden=hidden)))


def _table(told: list[Fact]) -> str:
    rows = [f"| {name} | {markdown.inline(value, 1000)} |" for name, value in told]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"
