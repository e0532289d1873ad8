"""The head of a document: names and values, the same in every kind that has a head."""

from collections.abc import Generator
from datetime import datetime

from sessions_app.exports.subject import Cover, Passage
from sessions_app.store import usage

Fact = tuple[str, str]


def of_cover(cover: Cover) -> list[Fact]:
    return _known(
        ("Found by", cover.query),
        ("Workspace", cover.workspace),
        ("Exported", moment(cover.made_at)),
        ("By", cover.by),
    )


def of_passage(passage: Passage) -> list[Fact]:
    row = passage.facts
    # Beside a stretch of it, what is counted is still the session.
    of = "" if passage.is_whole else " of the session"
    return _known(
        ("Session", str(row.id)),
        ("Contents", passage.words),
        ("Agent", f"{row.agent} {row.version}".strip()),
        ("Model", row.model),
        ("Project", row.project),
        ("Machine", row.machine),
        ("Worked in", row.cwd),
        ("Git branch", row.branch),
        ("Source", row.source_path),
        ("Format", row.format),
        (f"First event{of}", moment(row.started_at)),
        (f"Last event{of}", moment(row.last_at)),
        (f"Prompts{of}", f"{row.prompts:,}"),
        (f"Errors{of}", f"{row.errors:,}"),
        (f"Unreadable lines{of}", f"{row.unreadable:,}" if row.unreadable else ""),
        (f"Tokens{of}", _tokens(passage)),
        (
            "Size",
            f"{row.raw_bytes:,} bytes in {row.chunks:,} chunk{'' if row.chunks == 1 else 's'}",
        ),
        ("Generation", str(row.generation) if row.generation > 1 else ""),
        ("Head hash of the record", row.head_hash),
    )


def of_end(passage: Passage, *, events: int, hidden: int) -> Generator[str, None, list[Fact]]:
    """Counted on the way: a document that was cut off does not have it."""
    digest = yield from passage.digest()
    return [
        ("Events in this document", f"{events:,}"),
        ("Hidden characters shown", f"{hidden:,}"),
        ("SHA-256 of the raw lines", digest),
    ]


def moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} {at.tzname() or ''}".strip() if at else ""


def _tokens(passage: Passage) -> str:
    told = usage.of_session(passage.session.id)
    if not told:
        return ""
    cached = sum(row.cache_read + row.cache_write for row in told)
    tokens_in, tokens_out = sum(row.input for row in told), sum(row.output for row in told)
    return f"{tokens_in:,} in, {tokens_out:,} out, {cached:,} to and from caches"


def _known(*facts: Fact) -> list[Fact]:
    return [fact for fact in facts if fact[1]]
