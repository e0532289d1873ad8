"""What a search may cost, and what two processes learn at once."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.domain.searchquery import parse
from sessions_app.store import candidates, chunks, find, route, scan, search, vocabulary
from sessions_app.store.walk import Limits
from tests import build
from tests.claude import Log
from tests.people import browser, cast
from tests.search.oracle import ENDLESS, Opened, pages

CATASTROPHE = "/(a+)+$/"
# A reader that never came back would need years.
SECONDS = 30


def catastrophic() -> bytes:
    return build.line("user", "a" * 40_000 + "!") + build.line("user", "b" * 9 + "a")


@pytest.mark.django_db
def test_a_catastrophic_expression_ends_in_time_and_is_told_as_skipped() -> None:
    people = cast()
    build.session(people.workspace, catastrophic(), "c.jsonl")
    began = time.monotonic()

    *_, last = scan.steps(people.workspace.id, parse(CATASTROPHE), now=build.NOW)
    told = browser(people.bob).get("/api/v1/search", {"q": CATASTROPHE}).json()
    page = b"".join(browser(people.bob).get("/search/scan", {"q": CATASTROPHE}))

    assert time.monotonic() - began < SECONDS
    assert last.is_last
    assert (last.skipped, told["skipped"]) == (1, 1)
    # The event after it is found all the same.
    assert [hit["seq"] for hit in told["found"][0]["hits"]] == [1]
    assert b"took the expression too long and was left out" in page
    session = people.workspace.sessions.latest("id")
    inside = find.in_session(session, parse(CATASTROPHE))
    assert (inside.skipped, inside.seqs) == (1, [1])


@pytest.mark.django_db
@pytest.mark.parametrize(
    "q", ["needle", "need*", '"needle in"', "-nothing", "role:user", "/nee.le/"]
)
def test_a_page_opens_no_more_chunks_than_it_may(monkeypatch: pytest.MonkeyPatch, q: str) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)
    place = build.workspace()
    words = b"".join(
        build.line("user", f"a needle in the hay {n} " + "hay " * 30) for n in range(20)
    )
    for number in range(9):
        build.ingest(place, words, f"{number}.jsonl")

    whole = search.page(place.id, parse(q), now=build.NOW, limits=ENDLESS)
    assert whole.chunks >= 9
    for most in (1, 2, 5):
        found = search.page(place.id, parse(q), now=build.NOW, limits=Limits(chunks=most))
        assert 0 < found.chunks <= most
        assert found.is_cut
        assert found.older is not None


@pytest.mark.django_db
def test_many_words_are_asked_of_the_index_for_all_months_at_once() -> None:
    place = build.workspace()
    words = [f"needle_{number}" for number in range(6)]
    for month in range(12):
        log = Log(f"66666666-6666-4666-8666-{month:012}").wait(days=-31 * month)
        # More chunks than are asked for without regard to months.
        for _ in range(route.FEW // 8):
            build.ingest(place, log.prompt(" ".join(words)).data, f"{month}-{len(log.lines)}.jsonl")

    with CaptureQueriesContext(connection) as caught:
        found = search.page(place.id, parse(" ".join(words)), now=build.NOW, size=100)

    assert len(found.found) == 36
    asked = [each for each in caught if "AS MATERIALIZED" in each["sql"]]
    assert 0 < len(asked) <= 2


@pytest.mark.django_db
def test_a_word_of_one_session_opens_the_chunks_of_no_other() -> None:
    place = build.workspace()
    for number in range(20):
        build.ingest(place, build.log(50), f"{number}.jsonl")
    build.ingest(place, build.log(50) + build.line("user", "a needle"), "needle.jsonl")

    opened = Opened()
    assert len(pages(place, "needle", opened=opened)) == 1
    assert opened.chunks == 1
    opened = Opened()
    assert pages(place, "nothingofthekind", opened=opened) == []
    assert opened.chunks == 0


@pytest.mark.django_db
def test_a_word_only_a_tool_printed_opens_nothing_unless_results_are_asked_for() -> None:
    place = build.workspace()
    log = Log().prompt("look around").bash("ls", "a needle").answer("done")
    build.ingest(place, log.data, "printed.jsonl")

    for q in ("needle", '"a needle"', "need*"):
        opened = Opened()
        assert pages(place, q, opened=opened) == []
        assert opened.chunks == 0
        assert len(pages(place, f"{q} in:results")) == 1


@pytest.mark.django_db
def test_a_word_first_printed_and_later_said_in_the_same_chunk_is_found_both_ways() -> None:
    place = build.workspace()
    log = Log().prompt("look around").bash("ls", "a needle")
    build.ingest(place, log.data, "grows.jsonl")
    build.ingest(place, log.answer("the needle is there").data, "grows.jsonl")

    session = place.sessions.get()
    assert session.chunks == 1
    for q, number in (("needle", 1), ("needle in:results", 2)):
        assert len(pages(place, q)) == 1
        assert len(find.in_session(session, parse(q)).seqs) == number


@pytest.mark.django_db(transaction=True)
def test_a_question_the_index_takes_too_long_for_is_refused_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = cast()
    build.ingest(people.workspace, build.line("user", "a needle"))
    with monkeypatch.context() as slow:
        slow.setattr(candidates, "PATIENCE_SECONDS", 1)
        slow.setattr(candidates, "_BY_INDEX", f"{candidates._BY_INDEX}SELECT pg_sleep(9);")
        answer = browser(people.bob).get("/api/v1/search", {"q": "needle"})
        page = browser(people.bob).get("/search", {"q": "needle"})
    assert (answer.status_code, page.status_code) == (400, 400)
    assert "use fewer words" in answer.content.decode()
    assert b"use fewer words" in page.content
    assert len(pages(people.workspace, "needle")) == 1


@pytest.mark.django_db(transaction=True)
def test_beginnings_learned_by_two_processes_at_once_are_all_known_to_both() -> None:
    place = build.workspace()
    turns = threading.Barrier(2)

    def learn(name: str) -> None:
        try:
            for number in range(12):
                turns.wait(30)
                data = build.line("user", f"learned{name}{number} shared{number}")
                build.ingest(place, data, f"{name}{number}.jsonl")
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(learn, ("left", "right")))

    for _ in range(2):
        for begun in ("learnedle", "learnedri", "share"):
            number = 12 if begun.startswith("learned") else 24
            assert len(pages(place, f"{begun}*")) == number
        # And as a process that has learned nothing itself.
        vocabulary.forget()


@pytest.mark.django_db(transaction=True)
def test_a_beginning_another_process_learned_is_known_here_at_once() -> None:
    place = build.workspace()
    assert pages(place, "elsewh*") == []
    name = connection.settings_dict["NAME"]
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(name), str(place.id)], check=True, timeout=60
    )
    assert len(pages(place, "elsewh*")) == 1


_ELSEWHERE = """
import sys
from uuid import UUID
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from sessions_app.models import Workspace
from tests import build
place = Workspace.objects.get(id=UUID(sys.argv[2]))
build.ingest(place, build.line("user", "elsewhere"), "e.jsonl")
"""
