"""The search finds what a reader of every event finds, and nothing else."""

import random
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import Workspace
from sessions_app.store import chunks
from sessions_app.store.walk import Limits
from tests import build
from tests.search.oracle import ENDLESS, Opened, by_reading, by_searching, pages

pytestmark = pytest.mark.django_db

NOUNS = (
    *("timeout", "Retry", "HTTPServer", "snake_case_name", "config/settings.py", "größe", "straße"),
    *(
        "naïve",
        "世界",
        "ﬁle",
        "v2.1",
        "user@example.com",
        "a-b",
        "0b4c1c0e-9f1d-4a52-8f8b-1d2c3b4a5f60",
    ),
    *("/srv/app/config/Settings.py", "C:\\names\\tools", "don’t", "x", "404", "time", "timer"),
)
TOOLS = ("Bash", "Read", "mcp__web__fetch")
QUERIES = (
    *("timeout", "TIMEOUT", "retry", "httpserver", "HTTPServer", "server", "snake", "snake_case"),
    *(
        "settings.py",
        "config/settings",
        "größe",
        "GRÖSSE",
        "strasse",
        "naïve",
        "世界",
        "file",
        "v2",
    ),
    *(
        "user@example.com",
        "a-b",
        "0b4c1c0e-9f1d-4a52-8f8b-1d2c3b4a5f60",
        "4a52",
        "names",
        "missing",
    ),
    *('"timeout retry"', '"the timeout"', '"timeout  Retry"', '"größe the"', '"settings.py the"'),
    *(
        "tim*",
        "sett*",
        "größ*",
        "snake_ca*",
        "zzz*",
        "timeout retry",
        "timeout -retry",
        "-timeout the",
    ),
    *(
        "timeout OR 世界",
        "timeout OR tim* retry",
        "-tim* the",
        '-"the timeout" timeout',
        "retry OR missing",
    ),
    *("timeout in:results", "tool:Bash", "tool:bash timeout", "-tool:Bash timeout", "tool:mcp__*"),
    *(
        "tool:Bash timeout in:results",
        "-tool:Bash timeout in:results",
        "tool:mcp* in:results retry",
    ),
    *("file:settings.py", "file:*.py", "file:config/settings.py", "path:config", "path:srv*py"),
    *("cmd:timeout", 'cmd:"run timeout"', "cmd:run*retry", "url:example.com", "url:https*timeout"),
    *(
        "role:user timeout",
        "role:assistant",
        "role:tool",
        "role:tool timeout",
        "-role:user timeout",
    ),
    *("error:yes", "error:timeout", "error:no timeout", "model:gpt-*", "model:gpt-9 timeout"),
    *("timeout role:user tim*", "the", "settings"),
)


def prose(rng: random.Random) -> str:
    glue = (" ", " the ", "\n", ", ", "  ", "\t", "=", " (", "\\n")
    return "".join(rng.choice(NOUNS) + rng.choice(glue) for _ in range(rng.randrange(1, 9)))


def lines(rng: random.Random, number: int, month: int | None) -> list[bytes]:
    at = datetime(2026, month, 3, tzinfo=UTC) if month else None
    out = []
    for no in range(number):
        more: dict[str, object] = {}
        if at is not None:
            at += timedelta(hours=rng.randrange(1, 200))
            more["timestamp"] = at.isoformat()
        out.append(line(rng, no, more))
    return out


def line(rng: random.Random, no: int, more: dict[str, object]) -> bytes:
    kind = rng.randrange(8)
    if kind == 0:
        return f"not JSON {prose(rng)}".replace("\n", " ").encode() + b"\n"
    if kind == 1:
        return orjson.dumps({"note": prose(rng), "inner": [{"a": prose(rng)}], **more}) + b"\n"
    if kind in (2, 3):
        arguments = {
            "command": f"run {prose(rng)}",
            "file_path": rng.choice(NOUNS),
            "url": f"https://example.com/{rng.choice(NOUNS)}",
        }
        call = {"name": rng.choice(TOOLS), "arguments": orjson.dumps(arguments).decode()}
        calls = [{"id": f"c{no}", "type": "function", "function": call}]
        model = rng.choice(("gpt-9", "GPT-8", ""))
        return build.line("assistant", None, tool_calls=calls, model=model, **more)
    if kind == 4:
        return build.line(
            "tool", prose(rng), tool_call_id=f"c{no - 1}", is_error=rng.random() < 0.5, **more
        )
    role = rng.choice(("user", "assistant", "system"))
    raw = build.line(role, prose(rng), **more)
    if rng.random() < 0.2:
        # As many programs write it.
        raw = raw.decode().encode("ascii", "backslashreplace").replace(b"\\x", b"\\u00")
    return raw


def fill(place: Workspace, rng: random.Random, sessions: int) -> None:
    for number in range(sessions):
        month = rng.choice((None, 1, 2, 3, 5, 9, 10))
        log = lines(rng, rng.randrange(3, 30), month)
        if rng.random() < 0.3:
            log[-1] = log[-1].rstrip(b"\n")
        build.ingest(place, b"".join(log), f"p/{number}.jsonl", project=f"project{number % 3}")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks a session, and lines that span several."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)
    monkeypatch.setattr(chunks, "PIECE_BYTES", 500)


@pytest.mark.usefixtures("small_chunks")
def test_every_query_finds_what_a_reader_finds() -> None:
    place = build.workspace()
    fill(place, random.Random(1), sessions=9)
    for text in QUERIES:
        assert by_searching(place, text) == by_reading(place, text), text


@pytest.mark.usefixtures("small_chunks")
def test_pages_cut_short_by_their_limits_add_up_to_the_same_sessions_in_the_same_order() -> None:
    place = build.workspace()
    fill(place, random.Random(2), sessions=9)
    for text in ("timeout", '"the timeout"', "tim* -retry", "the", "role:tool", "-the"):
        opened = Opened()
        at_once = pages(place, text, size=100)
        for limits in (ENDLESS, Limits(chunks=1), Limits(chunks=3, bytes=1500)):
            assert pages(place, text, size=2, limits=limits, opened=opened) == at_once, text
        assert opened.pages > 3
        assert set(at_once) == set(by_reading(place, text))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_words_of_any_letters_are_found_wherever_they_stand(data: st.DataObject) -> None:
    """Texts of all the world's letters, and pieces of them looked for."""
    place = build.workspace()
    texts = data.draw(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6))
    log = b"".join(build.line("user", text.encode("utf-8", "ignore").decode()) for text in texts)
    build.ingest(place, log)
    for _ in range(4):
        text = data.draw(st.sampled_from(texts))
        lo = data.draw(st.integers(0, len(text) - 1))
        piece = text[lo : data.draw(st.integers(lo + 1, len(text)))].strip()
        form = data.draw(st.sampled_from(("{}", '"{}"', "{}*", "-{} user", "{} OR user")))
        query = form.format(piece.replace('"', " "))
        assert by_searching(place, query) == by_reading(place, query), query


@pytest.mark.parametrize(
    ("text", "query", "is_found"),
    [
        ("00:0", "00:0*", True),
        ("at 10:45 sharp", "10:4*", True),
        ("see issue=timeouts", "issue=time*", True),
        ("see issue=timeouts", "issue=tiny*", False),
        # Long numbers are looked for whole.
        ("order=12345678", "order=12345*", False),
        ("order=12345678", "order=12345678", True),
    ],
)
def test_several_words_of_which_the_last_goes_on_are_found_as_they_are_read(
    text: str, query: str, is_found: bool
) -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", text))
    assert by_searching(place, query) == by_reading(place, query)
    assert bool(by_reading(place, query)) is is_found


REAL = sorted((build.SHARED / "claude-code").glob("*.jsonl"))


@pytest.mark.skipif(not REAL, reason="the real logs are not here")
def test_real_logs_are_searched_as_they_are_read() -> None:
    place = build.workspace()
    small = [path for path in REAL if path.stat().st_size < 400_000][:12]
    for path in small:
        build.ingest_file(place, path)
    for text in (
        *("test", "the error", '"let me"', "claude* -test", "tool:Bash", "cmd:git", "file:*.go"),
        *("error:yes in:results", "path:src", "url:github", "role:user fix", "config.json"),
    ):
        assert by_searching(place, text) == by_reading(place, text), text
