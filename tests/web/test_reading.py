"""The transcript: what a page shows of a session, how little it opens for it, what it weighs."""

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import orjson
import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from sessions_app.domain.events import Flag
from sessions_app.models import Canary, Event, Session, User, Workspace
from sessions_app.store import chunks, keys, read, turns
from tests import build, claude
from tests.claude import Log
from tests.formats.test_pictures import png
from tests.people import browser

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
Queries = Callable[[int], AbstractContextManager[object]]
EVENTS = 100_000
LIMIT = 200_000


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def client(place: Workspace) -> Client:
    return browser(build.member("ann", place))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the chunks that are opened, in order."""
    numbers: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, where: chunks.Place, sealed: bytes) -> bytes:
        numbers.append(where.no)
        return real(owner, where, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    return numbers


def page(client: Client, session: Session, path: str = "") -> str:
    answer = client.get(f"/sessions/{session.uid}/{path}")
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def part(client: Client, session: Session, path: str) -> str:
    answer = client.get(f"/sessions/{session.uid}/{path}", headers=HTMX)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def ids(text: str) -> list[int]:
    return [int(found) for found in re.findall(r'<article [^>]*id="e(\d+)"', text)]


# 100,000 events ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Session]:
    """Made once for the module and taken away by hand, because it takes seconds to make."""
    with django_db_blocker.unblock():
        place = build.workspace("Long")
        build.member("reader", place)
        lines = claude.work(125, calls=3).lines
        session = build.session(place, b"".join(lines) * 100)
        yield session
        Event.objects.filter(session_id=session.id).delete()
        User.objects.filter(username="reader").delete()
        place.delete()
        Canary.objects.all().delete()
        keys.forget()


@pytest.fixture
def reader(long: Session) -> Client:
    return browser(User.objects.get(username="reader"))


@pytest.mark.parametrize(
    ("path", "first", "number"),
    [
        ("", 0, 100),
        ("?seq=50050", 50_000, 100),
        ("?seq=99999", 99_900, 100),
        ("?show=errors", 73, None),
        ("?show=errors&seq=60000", None, None),
        ("?show=prompts,answers&seq=50050", None, 24),
        ("?show=tools&tool=Bash&seq=99999", None, None),
    ],
)
def test_a_page_of_a_long_session_is_light_and_opens_only_what_it_shows(
    long: Session,
    reader: Client,
    opened: list[int],
    path: str,
    first: int | None,
    number: int | None,
    django_assert_max_num_queries: Queries,
) -> None:
    assert long.events == EVENTS
    page(reader, long)
    opened.clear()
    with django_assert_max_num_queries(28):
        shown = page(reader, long, path)
    assert len(shown.encode()) < LIMIT
    assert len(set(opened)) <= 9
    assert len(opened) == len(set(opened))
    found = ids(shown)
    assert found == sorted(found)
    assert first is None or found[0] == first or first in found
    assert number is None or len(found) == number


def test_sections_of_a_long_session_are_made_by_the_page_and_not_sent(
    long: Session, reader: Client
) -> None:
    shown = page(reader, long)
    assert shown.count('class="chunk"') == 1
    assert f'data-total="{EVENTS}" data-size="100"' in shown


@pytest.mark.parametrize("lo", [0, 50_000, 99_900])
def test_a_section_costs_the_same_wherever_it_lies(
    long: Session,
    reader: Client,
    opened: list[int],
    lo: int,
    django_assert_max_num_queries: Queries,
) -> None:
    part(reader, long, f"events?lo={lo}")
    opened.clear()
    with django_assert_max_num_queries(11):
        shown = part(reader, long, f"events?lo={lo}&hi={lo + 100}")
    assert len(ids(shown)) == 100
    assert len(opened) <= 2
    assert len(shown.encode()) < LIMIT


def test_the_outline_opens_only_the_chunks_of_its_prompts(
    long: Session, reader: Client, opened: list[int]
) -> None:
    shown = part(reader, long, "outline?at=50000")
    assert shown.count("data-seq") == 24
    assert len(opened) <= 2
    assert "Later prompts" in shown
    assert "Earlier prompts" in shown


def test_counting_and_stepping_open_nothing(
    long: Session, reader: Client, opened: list[int]
) -> None:
    index = reader.get(f"/sessions/{long.uid}/index?show=errors").json()["sections"]
    assert sum(number for _, number in index) == long.errors
    step = reader.get(f"/sessions/{long.uid}/step?of=errors&at=50000").json()
    assert step["seq"] > 50_000
    back = reader.get(f"/sessions/{long.uid}/step?of=errors&at=50000&back").json()
    assert back["seq"] < 50_000
    none = reader.get(f"/sessions/{long.uid}/step?of=prompts&at=99999").json()
    assert none == {"seq": None}
    assert opened == []


def test_the_tools_are_learnt_from_one_line_each(
    long: Session, reader: Client, opened: list[int]
) -> None:
    shown = part(reader, long, "kinds?show=tools&tool=Bash")
    assert len(opened) == 1
    assert f'Errors <span class="number">{long.errors:,}</span>' in shown
    assert 'href="./?show=tools"' in shown


# What a reader sees ------------------------------------------------------------------------------


def test_turns_have_a_number_and_what_they_took(client: Client, place: Workspace) -> None:
    session = build.session(place, claude.work(3, calls=4).data)
    shown = page(client, session)
    heads = re.findall(r'<div class="turn-head" id="t(\d+)".*?</div>', shown, re.DOTALL)
    assert heads == ["0", "10", "20"]
    assert "<h3>Turn 2</h3><span>9\u00a0s</span><span>4\u00a0calls</span>" in shown
    assert "598 tokens" in shown.replace("\u00a0", " ")
    assert shown.count("4\u00a0tool calls</strong>") == 3


def test_a_turn_that_goes_on_beyond_its_section_is_summed_whole(
    client: Client, place: Workspace
) -> None:
    session = build.session(place, claude.work(1, calls=120).data)
    shown = page(client, session)
    assert "<span>120\u00a0calls</span>" in shown
    assert "Turn" not in part(client, session, "events?lo=100")


def test_a_turn_too_long_to_be_summed_at_once_is_asked_for(
    client: Client, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sessions_app.web.transcript import sections

    monkeypatch.setattr(sections, "LONG_TURN", 10)
    session = build.session(place, claude.work(1, calls=20).data)
    assert 'hx-get="turn?seq=0" hx-trigger="intersect once' in page(client, session)
    assert "<span>20\u00a0calls</span>" in part(client, session, "turn?seq=0")


def test_few_calls_stand_open_and_many_fold(client: Client, place: Workspace) -> None:
    session = build.session(place, Log().prompt("go").bash("ls", "a").answer("ok").data)
    assert 'class="run is-bare" id="r1" open' in page(client, session)
    many = Log().prompt("go").bash("ls", "a").bash("pwd", "b").answer("ok")
    shown = page(client, build.session(place, many.data, path="b.jsonl"))
    assert 'class="run" id="r1">' in shown
    assert "Bash ×2" in shown


def test_the_event_that_was_asked_for_is_open_wherever_it_is(
    client: Client, place: Workspace
) -> None:
    log = Log().prompt("go").bash("ls", "x\n" * 30).bash("ls", "b").record().record()
    session = build.session(place, log.answer("ok").data)
    assert 'id="r1" open' in page(client, session, "?seq=2")
    shown = page(client, session, "?seq=6")
    assert 'class="run is-quiet" id="q5" open' in shown
    assert "hook_progress" in shown


def test_a_result_stands_with_its_call_or_has_a_link_to_it(
    client: Client, place: Workspace
) -> None:
    log = Log().prompt("go").call("Bash", {"command": "a"}, "c1").call("Read", {"path": "f"}, "c2")
    log.result("one", "c1").result("two", "c2").bash("pwd", "here").result("lost", "c9")
    shown = page(client, build.session(place, log.data))
    assert "Result of Bash" in shown
    assert re.search(r'<a class="pair" href="./\?seq=3#e3" data-seq="3">Result 3</a>', shown)
    assert "No call" in shown
    joined = re.findall(r'is-joined[^"]*" id="e(\d+)"', shown)
    assert joined == ["6"]


def test_breaks_are_told(client: Client, place: Workspace) -> None:
    log = Log().prompt("go").answer("ok").wait(hours=2).prompt("again").compaction()
    shown = page(client, build.session(place, log.answer("hm", model="claude-haiku-4-5").data))
    assert "<strong>Resumed</strong><span>after 2\u00a0h" in shown
    assert shown.count("<strong>Context compacted</strong>") == 1
    assert "<strong>Model changed</strong><span>claude-haiku-4-5</span>" in shown


def test_renderings_follow_the_work(client: Client, place: Workspace) -> None:
    log = Log().prompt("go")
    log.bash("echo hi", "\x1b[31mred\x1b[0m \x1b]0;owned\x07")
    log.call("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
    log.call("Read", {"file_path": "a.py"}, "r").result(
        "     7\u2192def f():\n     8\u2192    pass", "r"
    )
    log.call("TodoWrite", {"todos": [{"content": "one", "status": "completed"}]})
    log.call("mcp__linear__get_issue", {"id": "X-1"}, "m").result('{"title": "broken"}', "m")
    found = '[{"title":"T","url":"https://a.example/"},{"title":"J","url":"javascript:alert(1)"}]'
    log.call("WebSearch", {"query": "q"}, "w").result(f"Web search\n\nLinks: {found}\n\nText", "w")
    client.cookies["recount_density"] = "comfortable"
    shown = page(client, build.session(place, log.data))
    assert '<span class="a-fg1">red</span>' in shown
    assert '<span class="terminal-word">title: owned</span>' in shown
    assert "<del>\u2212x = <mark>1</mark></del><ins>+x = <mark>2</mark></ins>" in shown
    assert '<pre class="numbers" aria-hidden="true">7\n8</pre>' in shown
    assert '<span class="t-k">def</span>' in shown
    assert '<li class="is-done">' in shown
    assert "linear · get_issue" in shown
    assert '<span class="json-key">title</span>' in shown
    assert '<a href="https://a.example/" rel="noopener noreferrer nofollow">T</a>' in shown
    assert 'href="javascript' not in shown


def test_hidden_characters_are_counted_for_the_section_and_colours_are_not(
    client: Client, place: Workspace
) -> None:
    log = Log().prompt("a\u202eb\u200bc").bash("ls", "\x1b[31mred\x1b[0m\x07")
    shown = page(client, build.session(place, log.data))
    assert "3\u00a0hidden characters in these events" in shown
    assert "2\u00a0hidden characters</span>" in shown


def test_what_is_too_much_for_a_section_is_one_click_away(client: Client, place: Workspace) -> None:
    log = Log().prompt("go")
    for number in range(120):
        log.bash("cat", f"{number} <&\u202e>" * 3_000)
    log.answer("**word** " * 20_000).prompt("\u200b<>" * 9_000)
    session = build.session(place, log.data)
    for path in ("events?lo=0", "events?lo=100", "events?lo=200", "event?seq=2", "event?seq=241"):
        assert len(part(client, session, path).encode()) < LIMIT, path
    for density in ("comfortable", "skim"):
        client.cookies["recount_density"] = density
        assert len(page(client, session, "?seq=241").encode()) < LIMIT
    assert "Show all of event 241" in part(client, session, "events?lo=200")
    assert 'hx-get="event?seq=99"' in part(client, session, "events?lo=0")


def test_one_event_is_a_page_and_a_fragment(client: Client, place: Workspace) -> None:
    session = build.session(place, Log().prompt("go").bash("ls", "line\n" * 2_000).data)
    assert "<html" in page(client, session, "event?seq=2")
    shown = part(client, session, "event?seq=2")
    assert ids(shown) == [2]
    assert shown.count("line") >= 2_000
    assert "is-joined" in shown
    assert client.get(f"/sessions/{session.uid}/event?seq=99").status_code == 404


def test_a_filtered_transcript_has_an_address(client: Client, place: Workspace) -> None:
    session = build.session(place, claude.work(20, calls=2).data)
    assert ids(page(client, session, "?show=prompts")) == list(range(0, 120, 6))
    assert ids(page(client, session, "?show=prompts&show=answers"))[:3] == [0, 5, 6]
    assert ids(page(client, session, "?tool=Bash"))[:4] == [1, 2, 3, 4]
    errors = page(client, session, "?show=errors")
    assert ids(errors) == [55, 56, 57, 58, 115, 116, 117, 118]
    assert 'data-query="show=errors"' in errors
    assert "No such event in this session" in page(client, session, "?tool=Grep")
    assert ids(part(client, session, "events?show=prompts&lo=6&hi=19")) == [6, 12, 18]


def test_a_density_is_kept_by_the_browser(client: Client, place: Workspace) -> None:
    session = build.session(place, Log().prompt("go").bash("ls", "a").data)
    answer = client.get(f"/sessions/{session.uid}/?density=compact&seq=1")
    assert answer["Location"] == f"/sessions/{session.uid}/?seq=1"
    assert 'class="density-compact"' in page(client, session)
    client.get(f"/sessions/{session.uid}/?density=none")
    assert 'class="density-compact"' in page(client, session)


def test_fragments_opened_as_pages_lead_to_the_transcript(client: Client, place: Workspace) -> None:
    session = build.session(place, Log().prompt("go").data)
    for path in ("events?lo=0", "turn?seq=0", "inline?lo=0", "kinds?show=errors", "facts"):
        answer = client.get(f"/sessions/{session.uid}/{path}")
        assert answer.status_code == 302, path
        assert answer["Location"].startswith(f"/sessions/{session.uid}/"), path
    assert "<html" in page(client, session, "outline")


def test_the_head_tells_what_takes_long_to_count_later(client: Client, place: Workspace) -> None:
    session = build.session(place, claude.work(2).data)
    other = build.session(place, claude.work(1).data, path="other.jsonl")
    assert 'hx-get="/sessions/' in page(client, session)
    told = part(client, session, "facts")
    assert "<dt>Tokens</dt>" in told
    assert "<dt>Cost</dt><dd>$" in told
    assert "6\u00a0tool calls" in told
    assert f"/sessions/{other.uid}/" in told


def test_tabs_lead_to_the_pages_that_exist(client: Client, place: Workspace) -> None:
    session = build.session(place, Log().prompt("go").data)
    shown = page(client, session, "raw")
    tabs = re.findall(r'<nav class="tabs".*?</nav>', shown, re.DOTALL)[0]
    assert re.findall(r'aria-current="page">(\w+)<', tabs) == ["Raw"]
    assert {"Transcript", "Raw", "Record"} <= set(re.findall(r">(\w+)</a>", tabs))


def test_events_and_turns_are_given_as_markdown(client: Client, place: Workspace) -> None:
    session = build.session(place, claude.work(2, calls=1).data)
    one = client.get(f"/sessions/{session.uid}/markdown?lo=1")
    assert one["Content-Type"] == "text/markdown; charset=utf-8"
    assert "attachment" in one["Content-Disposition"]
    assert "```bash\nmake step0-0\n```" in one.content.decode()
    turn = client.get(f"/sessions/{session.uid}/markdown?turn=4").content.decode()
    assert "Please do step 1" in turn
    assert "step 0" not in turn
    both = client.get(f"/sessions/{session.uid}/markdown?lo=0&hi=7").content.decode()
    assert both.count("**User**") == 4


def mixed(log: Log, *ids: str) -> Log:
    """A message that thinks, speaks and calls, as most agents write it."""
    blocks: list[dict[str, object]] = [
        {"type": "thinking", "thinking": "A quiet idea", "signature": "x"},
        {"type": "text", "text": "I look at all of them."},
    ]
    for own in ids:
        asked = {"command": f"cat {own}"}
        blocks.append({"type": "tool_use", "id": own, "name": "Bash", "input": asked})
    message = {"id": "m", "role": "assistant", "model": claude.MODEL, "content": blocks}
    return log.add("assistant", message=message)


def test_a_thought_among_words_and_calls_is_folded(client: Client, place: Workspace) -> None:
    session = build.session(place, mixed(Log().prompt("go"), "c1").data)
    shown = page(client, session)
    fold = re.search(r'<details class="part is-thinking">.*?</details>', shown, re.DOTALL)
    assert fold is not None
    assert "<strong>Thinking</strong>" in fold[0]
    assert "A quiet idea" in fold[0]
    assert "I look at all of them." not in fold[0]
    assert '<details class="part is-thinking" open>' in page(client, session, "event?seq=1")


def test_results_of_calls_among_words_are_no_records(client: Client, place: Workspace) -> None:
    ids = ["c1", "c2", "c3", "c4"]
    log = mixed(Log().prompt("go"), *ids)
    for own in ids:
        log.result("ok", own)
    session = build.session(place, log.data)
    run = re.search(r'<details class="run".*?</summary>', page(client, session), re.DOTALL)
    assert run is not None
    assert "<strong>4\u00a0results</strong>" in run[0]
    assert "Bash ×4" in run[0]
    assert "record" not in run[0]
    # Each names its call: nobody could tell which of four it answers.
    assert page(client, session).count(">Result of Bash</h3>") == 4


def test_a_call_and_its_result_in_one_line_are_told_by_the_call(
    client: Client, place: Workspace
) -> None:
    answer = {"functionResponse": {"id": "c1", "response": {"output": "Output: no\nExit Code: 1"}}}
    made = {"id": "c1", "name": "run_shell_command", "args": {"command": "make all"}}
    call = {**made, "status": "success", "result": [answer]}
    at = "2026-01-10T02:08:35.661Z"
    lines = [
        {"sessionId": "s-1", "projectHash": "h", "startTime": at, "lastUpdated": at},
        {"id": "u-1", "timestamp": at, "type": "user", "content": "Build it"},
        {"id": "a-1", "timestamp": at, "type": "gemini", "content": "", "toolCalls": [call]},
    ]
    session = build.session(place, b"".join(orjson.dumps(line) + b"\n" for line in lines))
    event = page(client, session).split('id="e2"')[1].split("</article>")[0]
    assert ">run_shell_command</h3>" in event
    assert '<span class="gist">make all</span>' in event
    assert "exit 1" in event
    assert 'aria-label="command"' in event
    assert 'aria-label="output"' in event
    assert '<details class="part"' not in event


# Subagents and pictures --------------------------------------------------------------------------


def test_an_output_that_was_put_into_a_file_is_one_click_away(
    client: Client, place: Workspace
) -> None:
    where = "/p/main/tool-results/toolu_1.txt"
    preview = f"<persisted-output>\nOutput too large. Full output saved to: {where}\n\nPreview"
    result = {"type": "tool_result", "tool_use_id": "t1", "content": preview}
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"content": [result]}}
    told = {**line, "toolUseResult": {"persistedOutputPath": where}}
    main = build.session(place, orjson.dumps(told) + b"\n", path="/p/main.jsonl")
    assert "Whole output" not in page(client, main)

    output = build.session(place, b"all of it", path=where)

    assert f'href="/sessions/{output.uid}/">Whole output</a>' in page(client, main)
    assert "all of it" in page(client, output)


def test_of_the_versions_of_a_message_the_last_is_told_and_the_others_are_folded(
    client: Client, place: Workspace
) -> None:
    header = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-10T02:08:26.108Z"}
    asked = {"id": "u-1", "type": "user", "timestamp": "2026-01-10T02:08:26Z", "content": "Go"}
    call = {"id": "c-1", "name": "read_file", "args": {"path": "a"}}
    answer = {**asked, "id": "a-1", "type": "gemini", "content": "Hm", "toolCalls": [call]}
    lines = [header, asked, answer, {**answer, "content": "Done"}, {**answer, "id": "a-2"}]
    session = build.session(place, b"".join(orjson.dumps(each) + b"\n" for each in lines))
    assert session.format == "gemini-log"

    shown = [(line.seq, bool(line.flags & Flag.ECHO)) for line in read.window(session, 0, 5)]

    assert shown == [(0, False), (1, False), (2, True), (3, False), (4, False)]
    assert page(client, session).count("Repeated") == 1
    assert turns.sums(session, {1: 5})[1].calls == 1


def test_a_subagent_is_read_where_it_was_started(client: Client, place: Workspace) -> None:
    main = Log().prompt("go").call("Task", {"prompt": "look"}, "t")
    main.result("found it", "t", toolUseResult={"agentId": "a1"})
    session = build.session(place, main.data, path="/p/main.jsonl")
    side = Log()
    for number in range(60):
        side.prompt(f"look {number}", isSidechain=True, agentId="a1")
        side.bash("ls", "x")
    child = build.session(place, side.data, path="/p/main/subagents/agent-a1.jsonl")
    shown = page(client, session)
    assert f'hx-get="/sessions/{child.uid}/inline"' in shown
    # No prompt of a person names it, but what it was told to do.
    assert '<strong>Subagent</strong><span class="clip">look 0</span>' in shown
    inline = part(client, child, "inline")
    prefix = f"s{child.uid.hex[:8]}-"
    assert f'id="{prefix}e0"' in inline
    assert f'href="/sessions/{child.uid}/raw?seq=0"' in inline
    assert f'hx-get="/sessions/{child.uid}/inline?lo=100"' in inline
    assert f'id="{prefix}e3"' in part(client, child, "event?seq=3&in=1")
    assert "hx-get" not in re.sub(r'hx-get="/sessions/[^"]+"', "", inline)


def picture_log() -> bytes:
    data = base64.b64encode(png(40, 30)).decode()
    source = {"type": "base64", "media_type": "image/svg+xml", "data": data}
    log = Log().prompt("see").call("Shot", {}, "s")
    log.result([{"type": "text", "text": "ok"}, {"type": "image", "source": source}], "s")
    return log.data


def test_a_picture_is_served_from_an_address_of_its_own(client: Client, place: Workspace) -> None:
    session = build.session(place, picture_log())
    shown = page(client, session, "?seq=2")
    assert '<img src="picture?seq=2&amp;no=0"' in shown
    assert 'width="40" height="30" loading="lazy"' in shown
    assert "base64" not in shown
    answer = client.get(f"/sessions/{session.uid}/picture?seq=2&no=0")
    assert answer.content == png(40, 30)
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer["Content-Disposition"] == 'inline; filename="event-2-0.png"'
    for path in ("picture?seq=2&no=1", "picture?seq=0&no=0", "picture?seq=99"):
        assert client.get(f"/sessions/{session.uid}/{path}").status_code == 404


def test_what_only_pretends_to_be_a_picture_is_described(client: Client, place: Workspace) -> None:
    svg = base64.b64encode(b"<svg onload='alert(1)'></svg>" * 9).decode()
    block = {"type": "image", "source": {"media_type": "image/png", "data": svg}}
    line = {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [block]}}
    session = build.session(place, orjson.dumps(line) + b"\n")
    assert Event.objects.get(session_id=session.id).flags & Flag.PICTURE
    shown = page(client, session)
    assert "<img" not in shown
    assert "image/png, 261\u00a0B" in shown
    assert client.get(f"/sessions/{session.uid}/picture?seq=0&no=0").status_code == 404
