"""The usage of a session: what each turn took, with unknown prices said as unknown."""

import re
from html import unescape

import orjson
import pytest

from sessions_app.models import Session
from sessions_app.store import chunks
from sessions_app.web.drawing import barcharts
from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db

MODEL = "claude-opus-4-5-20251101"
ATTACK = "<img src=x onerror=alert(1)>\u202e"


def prompt(number: int, words: str = "do") -> bytes:
    message = {"role": "user", "content": f"{words} {number}"}
    record = {"type": "user", "sessionId": "s1", "uuid": f"p{number}", "message": message}
    return orjson.dumps(record) + b"\n"


def answer(number: int, model: str = MODEL) -> bytes:
    used = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
    message = {
        "id": f"m{number}",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "x"}],
        "usage": used,
    }
    record = {"type": "assistant", "sessionId": "s1", "uuid": f"a{number}", "message": message}
    return orjson.dumps(record | {"requestId": f"r{number}"}) + b"\n"


def turns(count: int, model: str = MODEL, words: str = "do") -> bytes:
    return b"".join(prompt(n, words) + answer(n, model) for n in range(1, count + 1))


def shown(data: bytes, query: str = "") -> str:
    place = build.workspace()
    session = build.session(place, data)
    return page_of(browser(build.member("ann", place)), session, query)


def page_of(client: object, session: Session, query: str = "") -> str:
    response = client.get(f"/sessions/{session.uid}/usage{query}")  # type: ignore[attr-defined]
    assert response.status_code == 200
    return unescape(response.content.decode())


def figures(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]*)<", page.split('class="figures')[1])
    return {name: value.strip() for name, value in found}


def test_the_figures_of_a_session_and_its_turns() -> None:
    page = shown(turns(3))
    found = figures(page)

    assert found["Tokens"] == "315"
    assert found["Cache hit share"] == "90\xa0%"
    assert found["Answers"] == "3"
    assert found["Cost"].startswith("$")
    assert "Prices are those of the list of 20" in page
    assert [f"do {n}" in page for n in (1, 2, 3)] == [True] * 3
    assert 'href="./?seq=4#e4"' in page


def test_an_unknown_price_is_never_nothing() -> None:
    page = shown(turns(2, model="house-llm-1"))

    assert figures(page)["Cost"] == "unknown"
    assert "$0" not in page
    assert "2\xa0answers have no known price" in page
    assert 'class="is-unknown" d="M' in page


def test_a_known_price_beside_an_unknown_one_says_both() -> None:
    page = shown(turns(1) + prompt(2) + answer(2, "house-llm-1"))

    assert re.fullmatch(r"\$[\d.]+ \+ unknown", figures(page)["Cost"])
    # The head of the page names the model, too.
    assert page.partition('id="by-model"')[2].count("house-llm-1") == 1


def test_a_log_without_tokens_says_so() -> None:
    page = shown(build.log(4))

    assert "This log names no tokens" in page
    assert "<table" not in page


def test_a_turn_without_an_answer_has_its_place_in_the_charts() -> None:
    page = shown(prompt(1) + turns(1) + prompt(3))

    assert re.findall(r"<title>(Turn \d)", page.split("Tokens given out")[0])[:3] == [
        "Turn 1",
        "Turn 2",
        "Turn 3",
    ]
    assert "<title>Turn 1: 0 tokens" in page
    assert "<title>Turn 1: –" in page


def test_the_page_is_a_fragment_too() -> None:
    place = build.workspace()
    session = build.session(place, turns(2))
    client = browser(build.member("ann", place))
    part = client.get(f"/sessions/{session.uid}/usage", headers={"HX-Request": "true"})

    assert part.content.lstrip().startswith(b'<div class="stack usage"')
    assert "HX-Request" in part["Vary"]


def test_thousands_of_turns_are_few_bars_and_a_page_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = build.workspace()
    session = build.session(place, turns(3_000))
    client = browser(build.member("ann", place))
    opened: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, at: chunks.Place, sealed: bytes) -> bytes:
        opened.append(at.no)
        return real(owner, at, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    page = page_of(client, session, "?turn=1510")

    assert len(page.encode()) < 200_000
    assert len(set(opened)) <= 2
    rows = re.findall(r'<th scope="row" class="num">([\d,]+)</th>', page)
    assert rows == [f"{n:,}" for n in range(1_500, 1_525)]
    assert page.count("<title>Turns") <= 2 * 120
    assert "usage?turn=1475#turns" in page
    assert "usage?turn=1525#turns" in page
    assert "There are no turns on this page" in page_of(client, session, "?turn=9999")


def test_hostile_words_are_shown_and_never_markup() -> None:
    page = shown(turns(2, model=ATTACK, words=ATTACK))

    assert "\u202e" not in page
    assert "U+202E" in page
    place = build.workspace("Other")
    session = build.session(place, turns(2, model=ATTACK, words=ATTACK))
    raw = browser(build.member("bea", place)).get(f"/sessions/{session.uid}/usage").content
    assert b"<img" not in raw


def test_bars_stand_on_each_other_and_none_is_too_small_to_see() -> None:
    chart = barcharts.stacked([("a", "A", [1, None]), ("b", "B", [3, 1_000_000])])

    assert chart.bars == 2
    assert chart.peak == 1_000_000
    assert [layer.path.count("M") for layer in chart.layers] == [1, 2]
    assert "v-0.7h" in chart.layers[0].path
    assert barcharts.stacked([("a", "A", [])]).layers[0].path == ""
