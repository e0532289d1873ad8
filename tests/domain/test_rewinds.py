"""Branches inside a log: found where a conversation went on twice from one place."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain.rewinds import Branch, Fork, Record, forks


def said(seq: int, parent: int | None, is_start: bool = True) -> Record:
    above = "" if parent is None else str(parent)
    return Record(seq, str(seq), above, is_message=True, is_start=is_start)


def quiet(seq: int, parent: int) -> Record:
    return Record(seq, str(seq), str(parent), is_message=False, is_start=True)


def test_a_conversation_taken_up_again_is_a_fork() -> None:
    records = [said(0, None), said(1, 0), said(2, 1), said(3, 2), said(4, 1), said(5, 4)]

    assert forks(records) == [
        Fork(
            seq=1,
            branches=(
                Branch(first=2, last=3, messages=2, is_last=False),
                Branch(first=4, last=5, messages=2, is_last=True),
            ),
        )
    ]


def test_one_line_after_the_other_has_no_fork() -> None:
    assert forks([said(n, n - 1 if n else None) for n in range(50)]) == []


def test_answers_to_calls_made_at_once_are_no_fork() -> None:
    records = [said(0, None), said(1, 0, is_start=False), said(2, 0, is_start=False), said(3, 2)]

    assert forks(records) == []


def test_lines_in_which_nothing_is_said_make_no_branch() -> None:
    assert forks([said(0, None), quiet(1, 0), said(2, 0)]) == []


def test_a_line_that_follows_a_later_one_or_itself_stands_alone() -> None:
    circle = [Record(0, "a", "b", True, True), Record(1, "b", "a", True, True)]

    assert forks([*circle, Record(2, "c", "c", True, True)]) == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans(), st.booleans())))
def test_no_tree_is_too_strange(rows: list[tuple[int, int, bool, bool]]) -> None:
    records = [
        Record(seq, str(own), str(parent), is_message, is_start)
        for seq, (own, parent, is_message, is_start) in enumerate(rows)
    ]
    for fork in forks(records):
        assert len(fork.branches) > 1
        assert all(fork.seq < branch.first <= branch.last for branch in fork.branches)
