"""Line diffs: both texts can be read back from one, and no text takes long."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import linediff
from sessions_app.domain.linediff import Diff, Mark, between

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "{", "}", "\tx", "long line of text"]))
TEXTS = st.tuples(LINES, st.booleans()).map(lambda t: "\n".join(t[0]) + "\n" * t[1])


def sides(diff: Diff) -> tuple[str, str]:
    rows = [row for hunk in diff.hunks for row in hunk.rows]
    return tuple(  # type: ignore[return-value]
        "".join(row.text + "\n" * (not row.is_open) for row in rows if row.mark is not other)
        for other in (Mark.NEW, Mark.GONE)
    )


@given(TEXTS, TEXTS)
def test_a_diff_holds_both_texts(old: str, new: str) -> None:
    whole = between(old, new, context=100_000)

    if whole.hunks:
        assert sides(whole) == (old, new)
    else:
        assert old == new


@given(TEXTS, TEXTS)
def test_the_counts_balance_the_lengths(old: str, new: str) -> None:
    added, removed = linediff.changed(old, new)

    assert linediff.count_lines(new) - linediff.count_lines(old) == added - removed
    assert (added == removed == 0) == (old == new)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_counting_alone_counts_like_comparing(a: str, b: str, c: str, d: str) -> None:
    for old, new in ((a, b), (a + c + d, a + b + d), (c + a, c + b), (a + c, b + c)):
        found = between(old, new)
        assert linediff.changed(old, new) == (found.added, found.removed)


@given(TEXTS)
def test_the_lines_of_a_text_are_the_text(text: str) -> None:
    assert "".join(linediff.lines_of(text)) == text
    assert len(linediff.lines_of(text)) == linediff.count_lines(text)


def test_a_change_is_shown_with_its_surroundings_and_what_is_left_out_is_counted() -> None:
    old = "".join(f"line {n}\n" for n in range(100))
    new = old.replace("line 50\n", "line fifty\nand one\n")

    diff = between(old, new)

    assert (diff.added, diff.removed) == (2, 1)
    assert len(diff.hunks) == 1
    assert diff.hunks[0].skipped == 47
    assert diff.rest == 46
    assert [(row.mark.value, row.old, row.new) for row in diff.hunks[0].rows[2:7]] == [
        ("same", 50, 50),
        ("gone", 51, None),
        ("new", None, 51),
        ("new", None, 52),
        ("same", 52, 53),
    ]


def test_a_missing_line_end_is_a_change() -> None:
    diff = between("a\nb", "a\nb\n")

    assert (diff.added, diff.removed) == (1, 1)
    assert [row.is_open for row in diff.hunks[0].rows] == [False, True, False]


def test_the_first_line_may_have_another_number() -> None:
    assert between("a\n", "b\n", first=300).hunks[0].rows[0].old == 300


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n" * 19_000, "x\n" + "\n" * 18_000 + "y\n"),
        ("a\nb\n" * 9_000, "b\na\n" * 9_000),
        ("".join(f"{n}\n" for n in range(19_000)), "".join(f"{n}\n" for n in range(19_000, 0, -1))),
        (
            "".join(f"{n % 700}\n" for n in range(19_000)),
            "".join(f"{n % 701}\n" for n in range(9_000)),
        ),
    ],
    ids=["blank lines", "two lines over and over", "turned round", "repeating"],
)
def test_hostile_texts_take_no_time(old: str, new: str) -> None:
    start = perf_counter()
    diff = between(old, new, context=100_000)

    assert perf_counter() - start < 5
    assert sides(diff) == (old, new)


def test_texts_that_are_too_large_are_told_by_their_sizes() -> None:
    diff = between("a\n" * 30_000, "b\n")

    assert diff.is_too_large
    assert (diff.added, diff.removed, diff.hunks) == (1, 30_000, ())
