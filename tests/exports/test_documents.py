"""Documents made of the record: complete, inert, and never more of it in memory than a line."""

import csv
import hashlib
import io
import re
import tarfile
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from sessions_app.domain import cells, entries
from sessions_app.domain.errors import BadInput, IntegrityError
from sessions_app.exports import documents, html, subject
from sessions_app.exports.documents import Kind
from sessions_app.models import Canary, Event, Session
from sessions_app.store import read
from tests import build
from tests.claude import Log
from tests.faults.test_hostile_lines import BYTES, JSON

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
COVER = subject.Cover(made_at=NOW, by="ann", workspace="Wörk <b>")
HOSTILE = (
    "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x' onerror=alert(1)>"
    "</style></title><a hx-get='/jobs/' hx-trigger='load'>x</a> ![p](http://127.0.0.1:9/y) "
    "[j](javascript:alert(1)) \x1b]0;t\x07 \u202egnp.exe \u200b\U000e0041 {{ 7*7 }}\r| ``` "
)


_TEXTS = b'{"role":"user","content":[' + b'"",' * 300_000 + b'""]}'
_CALLS = b'{"role":"assistant","content":[' + b'{"type":"tool_use","name":"x"},' * 30_000 + b'""]}'


def hostile_log() -> bytes:
    call = {"id": "c1", "function": {"name": HOSTILE, "arguments": '{"command":"ls"}'}}
    return b"".join(
        (
            build.line("user", f"={HOSTILE}", **{HOSTILE: HOSTILE}),
            build.line("assistant", f"{HOSTILE}\n\n```html\n{HOSTILE}\n```", model=HOSTILE),
            build.line("assistant", "", tool_calls=[call]),
            build.line("tool", f"@{HOSTILE}", name=HOSTILE, tool_call_id="c1", is_error=True),
            HOSTILE.encode() + b"\n",
            b"\xff\xfe no text\n",
            build.line("assistant", "It *works*.", timestamp="2026-11-17T09:00:00Z"),
        )
    )


def lines_of(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.removesuffix(b"\n").split(b"\n")]


def made(session: Session, kind: Kind, first: int | None = None, last: int | None = None) -> bytes:
    passage = subject.passage(session, first, last, now=NOW)
    return b"".join(documents.of_one(kind, passage, COVER).pieces)


@pytest.fixture
def session(db: None) -> Session:
    return build.session(build.workspace(), hostile_log(), path=f"a/{HOSTILE}.jsonl")


def test_a_page_names_what_it_is_of_and_its_hashes(session: Session) -> None:
    page = made(session, Kind.HTML).decode()
    assert page.startswith("<!doctype html>")
    assert str(session.uid) in page
    assert bytes(session.head_hash).hex() in page
    assert hashlib.sha256(hostile_log()).hexdigest() in page
    assert "The whole session: 7 events" in page
    assert "Wörk &lt;b&gt;" in page
    assert page.count("<article") == 7
    assert page.rstrip().endswith("</html>")


def test_a_page_has_no_script_no_foreign_address_and_a_policy_for_its_own_style(
    session: Session,
) -> None:
    page = made(session, Kind.HTML).decode()
    assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in page
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert html.policy().startswith("default-src 'none'")
    body = page.partition("</style>")[2]
    assert not re.search(r"<(script|img|style|iframe|object|form|link|svg|base)\b", body)
    assert not re.search(r"<[a-z][^>]*\s(on\w+|style|src|hx-[\w-]+)\s*=", body)
    assert "javascript:" not in re.sub(r">[^<]*<", "><", body)


@pytest.mark.parametrize("kind", [Kind.HTML, Kind.MARKDOWN, Kind.CSV])
def test_hidden_characters_are_shown_in_every_kind_but_the_raw_one(
    session: Session, kind: Kind
) -> None:
    text = made(session, kind).decode()
    assert not [char for char in "\x1b\x07\u202e\u200b\U000e0041" if char in text]
    assert not re.search(r"\r(?!\n)", text)
    assert "U+202E" in text


def test_markdown_tells_the_same_events(session: Session) -> None:
    text = made(session, Kind.MARKDOWN).decode()
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^## (\d+) · ", outside, flags=re.MULTILINE)
    assert headings == [str(n) for n in range(7)]
    assert "> It *works*." in text
    assert hashlib.sha256(hostile_log()).hexdigest() in text


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_no_cell_of_a_table_is_a_formula_and_all_text_comes_back(session: Session) -> None:
    rows = rows_of(made(session, Kind.CSV))
    for row in rows:
        for cell in row.values():
            assert cell[:1] not in tuple("=+-@\t\r\x00"), cell
    said = [entries.said(line) for line in read.each(session, 0, 7)]
    assert [cells.original(row["text"]) for row in rows] == said
    assert [row["seq"] for row in rows] == [str(n) for n in range(7)]
    assert [row["role"] for row in rows][:4] == ["user", "assistant", "assistant", "tool"]
    assert rows[3]["error"] == "yes"
    assert cells.original(rows[2]["tool"]) == HOSTILE[:200]
    assert rows[6]["time"] == "2026-11-17T09:00:00+00:00"
    assert {row["session"] for row in rows} == {str(session.uid)}


def test_a_long_text_is_cut_in_its_cell_and_says_so(db: None) -> None:
    session = build.session(build.workspace(), build.line("user", "\u200b" * 50_000))
    (row,) = rows_of(made(session, Kind.CSV))
    assert len(row["text"]) <= cells.LONGEST
    assert row["text_is_cut"] == "yes"
    assert row["hidden"] == "50000"


def test_tokens_stand_once_at_the_first_line_of_an_answer(db: None) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}
    message = {"id": "m1", "role": "assistant", "model": "claude-opus-4-5", "usage": usage}
    lines = b"".join(
        build.line(
            "",
            None,
            type="assistant",
            uuid=str(n),
            sessionId="s",
            requestId="r",
            message={**message, "content": [{"type": "text", "text": f"part {n}"}]},
        )
        for n in range(3)
    )
    session = build.session(build.workspace(), lines)
    rows = rows_of(made(session, Kind.CSV))
    assert [row["input_tokens"] for row in rows] == ["10", "", ""]
    assert [row["cache_read_tokens"] for row in rows] == ["100", "", ""]
    assert float(rows[0]["cost_usd"]) > 0


def test_lines_of_a_range_are_the_bytes_that_came_in(session: Session) -> None:
    lines = lines_of(hostile_log())
    assert made(session, Kind.JSONL) == hostile_log()
    assert made(session, Kind.JSONL, 2, 4) == b"".join(lines[2:5])
    assert made(session, Kind.JSONL, 5) == b"".join(lines[5:])
    assert made(session, Kind.JSONL, None, 0) == lines[0]
    assert made(session, Kind.JSONL, 6, 999) == lines[6]


def test_a_range_is_told_in_the_document_and_in_its_name(session: Session) -> None:
    passage = subject.passage(session, 2, 4, now=NOW)
    document = documents.of_one(Kind.HTML, passage, COVER)
    page = b"".join(document.pieces).decode()
    assert document.name == f"session-{session.uid}-2-4.html"
    assert "Events 2 to 4 of 7" in page
    assert re.findall(r'<article[^>]*id="e(\d+)"', page) == ["2", "3", "4"]
    raw = b"".join(lines_of(hostile_log())[2:5])
    assert hashlib.sha256(raw).hexdigest() in page


@pytest.mark.parametrize(("first", "last"), [(5, 4), (7, None), (7, 9), (999_999_999, None)])
def test_a_range_without_events_is_refused_with_a_sentence(
    session: Session, first: int, last: int | None
) -> None:
    with pytest.raises(BadInput, match=r"ends before it begins|none from"):
        subject.passage(session, first, last, now=NOW)


@pytest.mark.parametrize("kind", documents.OF_ONE)
def test_a_session_without_events_still_has_a_document(session: Session, kind: Kind) -> None:
    known = subject.whole(session, now=NOW).facts
    passage = subject.Passage(session=session, facts=known, lo=0, hi=0)
    out = b"".join(documents.of_one(kind, passage, COVER).pieces)
    assert b"document.title" not in out.partition(b"<main>")[2].partition(b"<footer")[0]
    assert bool(out) is (kind is not Kind.JSONL)


def test_many_sessions_are_one_document_with_places_of_their_own(session: Session) -> None:
    other = build.session(session.workspace, build.log(3), path="b.jsonl")
    document = documents.of_many(Kind.HTML, [session, other], COVER)
    page = b"".join(document.pieces).decode()
    assert document.name == "sessions.html"
    places = re.findall(r'\sid="([^"]+)"', page)
    assert len(places) == len(set(places))
    assert {"s1e0", "s2e2"} <= set(places)
    text = b"".join(documents.of_many(Kind.MARKDOWN, [session, other], COVER).pieces).decode()
    assert "# 2 sessions\n" in text
    rows = rows_of(b"".join(documents.of_many(Kind.CSV, [session, other], COVER).pieces))
    assert len(rows) == 10
    assert len({row["session"] for row in rows}) == 2


def test_a_list_has_a_row_for_each_session(session: Session) -> None:
    other = build.session(session.workspace, build.log(3), path="b.jsonl")
    document = documents.of_many(Kind.LIST, [session, other], COVER)
    rows = rows_of(b"".join(document.pieces))
    assert document.name == "sessions.csv"
    assert [row["events"] for row in rows] == ["7", "3"]
    assert rows[1]["title"] == "message number 0 about subject0"
    assert rows[0]["head_hash"] == bytes(session.head_hash).hex()
    assert cells.original(rows[0]["source"]) == f"a/{HOSTILE}.jsonl"


def test_raw_logs_of_many_are_named_by_their_ids_alone(session: Session) -> None:
    other = build.session(session.workspace, build.log(3), path="../../etc/passwd")
    document = documents.of_many(Kind.JSONL, [session, other], COVER)
    with tarfile.open(fileobj=io.BytesIO(b"".join(document.pieces))) as book:
        found = {member.name: book.extractfile(member).read() for member in book}  # type: ignore[union-attr]
    assert document.name == "sessions.tar"
    assert found == {
        f"session-{session.uid}.jsonl": hostile_log(),
        f"session-{other.uid}.jsonl": build.log(3),
    }


def broken(session: Session, no: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET sealed = sealed || '\\x00'"
            " WHERE session_id = %s AND no = %s",
            [session.id, no],
        )


@pytest.mark.parametrize("kind", documents.OF_ONE)
def test_a_broken_record_is_told_before_anything_is_sent(session: Session, kind: Kind) -> None:
    broken(session, 0)
    with pytest.raises(IntegrityError):
        documents.of_one(kind, subject.whole(session, now=NOW), COVER)


def test_a_page_that_breaks_off_has_no_end(db: None) -> None:
    session = build.session(build.workspace(), build.log(8_000))
    broken(session, session.chunks - 1)
    document = documents.of_one(Kind.HTML, subject.whole(session, now=NOW), COVER)
    pieces: list[bytes] = []
    with pytest.raises(IntegrityError):
        pieces.extend(document.pieces)
    out = b"".join(pieces)
    assert b"message number 10 about" in out
    assert b"End of the export</h2>" not in out


ODD = {**BYTES, **JSON, "300,000 empty texts": _TEXTS, "30,000 calls": _CALLS}


@pytest.mark.django_db
@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_a_line_nobody_should_write_is_in_every_kind_in_bounded_time(line: bytes) -> None:
    data = build.log(1) + line + b"\n" + build.log(2)
    session = build.session(build.workspace(), data)
    for kind in documents.OF_ONE:
        begun = time.process_time()
        out = made(session, kind)
        assert time.process_time() - begun < 2
        assert b"message number 1 about" in out


LINES = 3000
WORDS = "words of a long log " * 100


@pytest.fixture(scope="module")
def long_session(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Session]:
    """Six megabytes in many lines, then six in one."""
    with django_db_blocker.unblock():
        place = build.workspace("Long")
        many = b"".join(build.line("user", f"{n} {WORDS}") for n in range(LINES))
        session = build.session(place, many + build.line("tool", "x" * 6_000_000))
        yield session
        Event.objects.filter(session_id=session.id).delete()
        place.delete()
        Canary.objects.all().delete()


def peak_of(session: Session, kind: Kind, first: int, last: int) -> tuple[int, int]:
    """Bytes of the document, and the most that was in memory for it at once."""
    made(session, kind, 0, 5)
    tracemalloc.start()
    try:
        passage = subject.passage(session, first, last, now=NOW)
        size = sum(len(piece) for piece in documents.of_one(kind, passage, COVER).pieces)
        return size, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", documents.OF_ONE)
def test_a_long_session_is_never_in_memory(long_session: Session, kind: Kind) -> None:
    size, peak = peak_of(long_session, kind, 0, LINES - 1)
    assert size > 6_000_000
    assert peak < 3_000_000, f"{peak:,}"


@pytest.mark.django_db
@pytest.mark.parametrize("kind", documents.OF_ONE)
def test_a_long_line_is_read_to_a_bound(long_session: Session, kind: Kind) -> None:
    size, peak = peak_of(long_session, kind, LINES, LINES)
    assert size > 6_000_000 if kind is Kind.JSONL else size < 200_000
    assert peak < 8_000_000, f"{peak:,}"


def worked() -> Session:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Mend", "status": "pending"}]
    edit = {"file_path": "src/tally.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}
    log = Log().prompt("Go on")
    log.call("Bash", {"command": "make test", "description": "Run the tests"}, "c1")
    log.result("Exit code 2\n\x1b[31mred\x1b[0m alert", "c1", is_error=True)
    log.call("Edit", edit, "c2").result("ok", "c2")
    log.call("TodoWrite", {"todos": todos}, "c3").result("ok", "c3")
    log.call("Read", {"file_path": "a.py", "offset": 7}, "c4")
    log.result("     7→def seven():\n     8→    return 7", "c4")
    log.call("mcp__linear__issues", {"state": {"is": "open"}}, "c5")
    log.result('{"found": [1, 2]}', "c5")
    return build.session(build.workspace(), log.data, path="w.jsonl")


@pytest.mark.django_db
def test_what_tools_did_is_drawn_as_on_the_pages() -> None:
    page = made(worked(), Kind.HTML).decode()
    assert "<summary>Bash: make test</summary>" in page
    assert "Run the tests" in page
    assert "Result, an error, exit 2" in page
    assert '<span class="a-fg1">red</span> alert' in page
    assert "<del>\u2212b = <mark>2</mark></del><ins>+b = <mark>3</mark></ins>" in page
    assert "<li><b>done</b> Look</li><li><b>open</b> Mend</li>" in page
    assert '<pre aria-hidden="true">7\n8</pre>' in page
    assert "linear · issues" in page
    assert '<span class="json-key">found</span>' in page
    for name in ("&quot;command&quot;", "old_string", "&quot;todos&quot;"):
        assert name not in page.partition("</style>")[2]


@pytest.mark.django_db
def test_what_a_drawing_leaves_out_stands_below_it_as_it_was_written() -> None:
    lines = "\n".join(f"line {n}" for n in range(40_000))
    log = Log().call("Write", {"file_path": "long.txt", "content": f"{lines[:90_000]}LAST"}, "c1")
    coloured = "\x1b[31m" * 9_000
    log.result(f"{coloured}PRINTED", "c1")
    session = build.session(build.workspace(), log.data)
    page = made(session, Kind.HTML).decode()
    assert "<summary>Arguments</summary>" in page
    assert "LAST" in page
    assert "PRINTED" in page
