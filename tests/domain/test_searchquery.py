"""The grammar of the one text field: what it reads, what it marks, how it is rewritten."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app.domain import searchquery
from sessions_app.domain.searchquery import (
    KEYS,
    Bad,
    Filter,
    Kind,
    Op,
    Pattern,
    Phrase,
    Query,
    Token,
    Word,
    narrowed,
    parse,
    replaced,
    without,
)

NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)


def short(token: Token) -> object:
    """A token in a form a table of cases can hold."""
    match token:
        case Word():
            sign = "-" if token.is_negated else ""
            return f"{sign}{token.text}{'*' if token.is_prefix else ''}"
        case Phrase():
            return ("not" if token.is_negated else "phrase", token.text)
        case Pattern():
            return ("unlike" if token.is_negated else "like", token.source)
        case Filter():
            sign = "-" if token.is_negated else ""
            return (sign + token.key, token.op.value, *token.values)
        case Bad():
            return Bad


READ = {
    "": [],
    "   ": [],
    "timeout": ["timeout"],
    "-timeout !retry": ["-timeout", "-retry"],
    "time*": ["time*"],
    "ti*": [Bad],
    "t*me": [Bad],
    "*": [Bad],
    "- !": [Bad, Bad],
    '"exact phrase"': [("phrase", "exact phrase")],
    '-"exact phrase"': [("not", "exact phrase")],
    r'"a \"b\" \\ \n"': [("phrase", 'a "b" \\ \\n')],
    '"open phrase': [Bad, "phrase"],
    '""': [Bad],
    "/time.?out/": [("like", "time.?out")],
    "-/a b\\/c/ d": [("unlike", "a b\\/c"), "d"],
    "/(/": [Bad],
    "/" + "a" * 201 + "/": [Bad],
    "/[[a]/": [("like", "[[a]")],
    "/usr/bin/env": ["/usr/bin/env"],
    "// comment": [Bad, "comment"],
    "tool:Bash": [("tool", ":", "Bash")],
    "Tool:Bash": [("tool", ":", "Bash")],
    "-tool:Bash !agent:pi": [("-tool", ":", "Bash"), ("-agent", ":", "pi")],
    "tool:[Bash,Read]": [("tool", ":", "Bash", "Read")],
    'tool:["a, b",c]': [("tool", ":", "a, b", "c")],
    "tool:[]": [Bad],
    "tool:[Bash": [Bad],
    'project:"a b"': [("project", ":", "a b")],
    'project:"a': [Bad],
    "project:a*": [("project", ":", "a*")],
    "project:": [Bad],
    "project: api": [Bad, "api"],
    "tokens:>50k": [("tokens", ">", "50k")],
    "tokens:>=1.5M": [("tokens", ">=", "1.5M")],
    "tokens:many": [Bad],
    "tokens:>": [Bad],
    "tool:>x": [Bad],
    "cost:<0.5": [("cost", "<", "0.5")],
    "duration:<=5m": [("duration", "<=", "5m")],
    "errors:3": [("errors", ":", "3")],
    "after:-7d before:2026-10-01": [("after", ":", "-7d"), ("before", ":", "2026-10-01")],
    "after:soon": [Bad],
    "after:>-7d": [Bad],
    "is:Error": [("is", ":", "error")],
    "is:happy": [Bad],
    "-sort:cost": [Bad],
    "in:results": [("in", ":", "results")],
    "colour:red": [Bad],
    "http://x.example/y std::vector C:\\temp Traceback: 12:30": [
        *("http://x.example/y", "std::vector", "C:\\temp", "Traceback:", "12:30"),
    ],
    "file://tmp": ["file://tmp"],
    "file:/tmp/x": [("file", ":", "/tmp/x")],
    "a OR b c": ["a", "b", "c"],
    "OR": [Bad],
    "a OR": ["a", Bad],
    "a OR -b": ["a", Bad, "-b"],
    "a OR tool:x": ["a", Bad, ("tool", ":", "x")],
    "tool:x OR tool:y": [("tool", ":", "x"), ("tool", ":", "y")],
    "tokens:>1 OR tokens:<9": [("tokens", ">", "1"), Bad, ("tokens", "<", "9")],
    "a or b": ["a", "or", "b"],
}


@pytest.mark.parametrize("text", READ)
def test_a_text_is_read_as_these_tokens(text: str) -> None:
    assert [short(token) for token in parse(text).tokens] == READ[text]


def test_alternatives_join_and_the_rest_adds_up() -> None:
    query = parse('a OR "b c" OR /d/ e -f tool:x')
    shown = [[short(one) for one in group] for group in query.wanted]
    assert shown == [["a", ("phrase", "b c"), ("like", "d")], ["e"], ["-f"]]


def test_settings_are_no_filters() -> None:
    query = parse("sort:cost in:results tool:x sort:tokens")
    assert (query.sort, query.has_results) == ("tokens", True)
    assert [each.key for each in query.filters] == ["tool"]
    assert parse("x").sort == "newest"
    assert not parse("x").has_results
    assert not query.has_subagents
    assert parse("in:[results,subagents]").has_subagents


@pytest.mark.parametrize(
    ("text", "has_text"),
    [
        ("", False),
        ("tool:Bash is:error", False),
        ("error:yes", False),
        ("error:timeout", True),
        ("word", True),
        ("-word", True),
        ("role:user", True),
        ("file:x", True),
        ("path:x", True),
        ("cmd:x", True),
        ("url:x", True),
        ("colour:x", False),
    ],
)
def test_what_only_events_can_answer_counts_as_text(text: str, has_text: bool) -> None:
    assert parse(text).has_text is has_text


def test_a_limit_is_told_from_a_value() -> None:
    bounds = {each.key: each.is_bound for each in parse("tokens:>1 after:-7d errors:2").filters}
    assert bounds == {"tokens": True, "after": True, "errors": False}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tol:Bash", "try “tool:”"),
        ("zzzzzz:1", "There is no filter “zzzzzz:”"),
        ("is:happy", "running, waiting"),
        ("tokens:x", "50k"),
        ("after:x", "-7d"),
        ("duration:x", "90s"),
        ("cost:x", "dollars"),
        ("tool:", "tool:Bash"),
        ("ab*", "At least 3 letters"),
        ("/(/", "no regular expression"),
    ],
)
def test_a_bad_token_says_what_to_do(text: str, says: str) -> None:
    assert says in parse(text).bad[0].message


def test_what_is_beyond_the_bounds_is_one_bad_token() -> None:
    many = parse(" ".join(f"word{n}" for n in range(100)))
    assert len(many.tokens) == 65
    assert [type(each) for each in many.bad] == [Bad]
    long = parse("tool:Bash " + "x" * 5_000)
    assert [short(each) for each in long.tokens] == [("tool", ":", "Bash"), Bad]
    assert long.tokens[-1].place.end == len(long.text)


def test_every_key_has_an_example_that_reads() -> None:
    for key, about in KEYS.items():
        query = parse(about.example)
        assert not query.bad, key
        assert short(query.tokens[0])[0] == key  # type: ignore[index]
        assert (about.kind is Kind.CHOICE) == bool(about.choices)


@pytest.mark.parametrize(
    ("text", "value"),
    [("50000", 50_000), ("50k", 50_000), ("1.5M", 1_500_000), ("0", 0), ("-1", None), ("٣", None)],
)
def test_numbers(text: str, value: int | None) -> None:
    assert searchquery.number(text) == value


def test_amounts_and_lengths() -> None:
    assert searchquery.dollars("0.5") == 500_000_000_000
    assert searchquery.dollars("$2") == 2 * 10**12
    assert searchquery.dollars("x") is None
    for text, value in {"90": 90, "90s": 90, "5m": 300, "2h": 7200, "1d": 86_400}.items():
        assert searchquery.seconds(text) == value
    assert searchquery.seconds("5y") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7d", NOW - timedelta(days=7)),
        ("-12h", NOW - timedelta(hours=12)),
        ("today", datetime(2026, 11, 18, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 17, tzinfo=UTC)),
        ("2026-10-01", datetime(2026, 10, 1, tzinfo=UTC)),
        ("2026-10-01T12:00", datetime(2026, 10, 1, 12, tzinfo=UTC)),
        ("2026-10-01T12:00:00Z", datetime(2026, 10, 1, 12, tzinfo=UTC)),
        ("2026-13-01", None),
        ("-999999w", None),
        ("20261001", None),
        ("", None),
    ],
)
def test_moments(text: str, value: datetime | None) -> None:
    assert searchquery.moment(text, now=NOW) == value


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("2026-10-01", ("2026-10-01", "2026-10-02")),
        ("today", ("2026-11-18", "2026-11-19")),
        ("2026-10-01T09:30..2026-10-01T10:00:05", ("2026-10-01T09:30", "2026-10-01T10:00:05")),
        ("today..yesterday", ("2026-11-17", "2026-11-18")),
        ("-1d..now", ("2026-11-17T12:30", "2026-11-18T12:30")),
        ("9999-12-31", ("9999-12-31", "9999-12-31")),
    ],
)
def test_spans_of_time(text: str, ends: tuple[str, str]) -> None:
    one, other = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in ends)
    assert searchquery.span(text, now=NOW) == (one, other)


@pytest.mark.parametrize("text", ["-7d", "2026-10-01T09:30", "2026-10-01..", "..", "..today", "x"])
def test_what_is_no_span_of_time(text: str) -> None:
    assert searchquery.span(text, now=NOW) is None
    assert parse(f"during:{text}").bad


# Rewriting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "no", "rest"),
    [
        ("a b c", 1, "a c"),
        ("a OR b c", 0, "b c"),
        ("a OR b c", 1, "a c"),
        ("a OR b OR c", 1, "a OR c"),
        ("x a OR b OR c", 1, "x b OR c"),
        ('tool:x  "a b"   -c', 1, "tool:x -c"),
        ("colour:red a", 0, "a"),
        ('tool:["a x" "]', 1, ""),
    ],
)
def test_a_chip_is_taken_out(text: str, no: int, rest: str) -> None:
    query = parse(text)
    assert without(query, query.tokens[no]) == rest


def test_a_facet_is_put_in() -> None:
    query = parse("timeout")
    assert narrowed(query, "tool", "Bash") == "timeout tool:Bash"
    assert narrowed(query, "tool", "Bash", is_negated=True) == "timeout -tool:Bash"
    assert narrowed(query, "project", 'a "b" c') == r'timeout project:"a \"b\" c"'
    assert narrowed(parse('"open'), "project", "a b") == 'project:"a b" "open'
    assert narrowed(parse(""), "project", "line\nbreak\ud800") == "project:line*break*"


def test_filters_of_a_key_become_others() -> None:
    query = parse("tool:a x -tool:b after:-7d")
    assert replaced(query, "tool", ["c"]) == "x after:-7d tool:c"
    assert replaced(query, "tool", ["c", "d e"]) == 'x after:-7d tool:[c,"d e"]'
    assert replaced(query, "tool", []) == "x after:-7d"
    assert replaced(query, "sort", ["cost"]) == "tool:a x -tool:b after:-7d sort:cost"


def test_limits_of_a_key_become_others() -> None:
    query = parse("tokens:>5 x tokens:7")
    assert searchquery.bounded(query, "tokens", at_least="1k") == "x tokens:>=1k"
    assert searchquery.bounded(query, "cost", at_least="1", at_most="2") == (
        "tokens:>5 x tokens:7 cost:>=1 cost:<=2"
    )
    assert searchquery.bounded(query, "tokens") == "x"


pieces = st.sampled_from(
    [
        *(
            "OR",
            "-",
            "!",
            '"',
            "/",
            "\\",
            "[",
            "]",
            ",",
            ":",
            "*",
            ">",
            "<",
            "=",
            " ",
            "\n",
            "\x1f",
        ),
        *("tool:", "is:error", "project:", "after:-7d", "tokens:>5", "word", "/re/", '"a b"', "x"),
    ]
)
texts = st.one_of(st.text(max_size=60), st.lists(pieces, max_size=25).map("".join))


def meaning(token: Token) -> object:
    return short(token)


def good(query: Query) -> list[object]:
    return [meaning(token) for token in query.tokens if not isinstance(token, Bad)]


@given(texts)
@example('"\\')
@example("-")
@example("tool:[")
def test_reading_never_raises_and_places_slice_back_to_the_text(text: str) -> None:
    query = parse(text)
    assert query.text == text
    at = 0
    for token in query.tokens:
        assert at <= token.place.start < token.place.end <= len(text)
        at = token.place.end
        said = text[token.place.start : token.place.end]
        if isinstance(token, Bad):
            assert token.text == said
            assert token.message
        else:
            assert [meaning(one) for one in parse(said).tokens] == [meaning(token)]
    assert all(group for group in query.wanted)
    assert len(query.tokens) <= 65


@given(texts)
def test_without_a_token_the_others_stay(text: str) -> None:
    query = parse(text)
    for token in query.tokens:
        rest = [meaning(t) for t in query.tokens if t is not token and not isinstance(t, Bad)]
        assert good(parse(without(query, token))) == rest


@given(texts, st.sampled_from(["tool", "project", "title"]), st.text(max_size=20), st.booleans())
def test_narrowing_adds_what_it_says(text: str, key: str, value: str, is_negated: bool) -> None:
    query = parse(text)
    made = parse(narrowed(query, key, value, is_negated=is_negated))
    sign = "-" if is_negated else ""
    adds = short(made.tokens[-1]) if made.text.startswith(text.strip()) else short(made.tokens[0])
    if not value.strip():
        return
    added = [one for one in made.filters if one.key == key and one.is_negated is is_negated]
    typed = searchquery._UNTYPABLE.sub("*", value)
    if typed.strip():
        assert (typed,) in [one.values for one in added], (made.text, adds, sign)
    assert [one for one in good(query) if one not in good(made)] == []


@given(texts, st.lists(st.sampled_from(["a", "b c", 'd"', "e,f", "/g/"]), max_size=3, unique=True))
def test_replacing_leaves_one_filter_of_the_key(text: str, values: list[str]) -> None:
    made = parse(replaced(parse(text), "tool", values))
    found = [each for each in made.filters if each.key == "tool"]
    assert [each.values for each in found] == ([tuple(values)] if values else [])
    others = [one for one in good(parse(text)) if not (isinstance(one, tuple) and "tool" in one[0])]
    assert [
        one for one in good(made) if not (isinstance(one, tuple) and "tool" in one[0])
    ] == others


def test_comparing_signs_are_known() -> None:
    assert [short(parse(f"tokens:{op.value}5").tokens[0]) for op in Op if op is not Op.IS] == [
        ("tokens", op.value, "5") for op in Op if op is not Op.IS
    ]
