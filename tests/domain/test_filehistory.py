"""Acts on one file, one after the other, and what they come to at a glance."""

import pytest

from sessions_app.domain import fileindex
from sessions_app.domain.filehistory import Difference, counts, difference, stepped
from sessions_app.domain.fileindex import Draft, Index, entry_of
from sessions_app.domain.files import (
    Act,
    Altered,
    Change,
    Deal,
    Deed,
    Erased,
    Inserted,
    Outcome,
    Patch,
    Patched,
    Replaced,
    Shown,
    Swap,
    Written,
)
from sessions_app.domain.texts import UNSEEN, Absent, Known, Partly, State

OLD = Known(text="a\nb\nc\n")
SWAP = Replaced(swaps=(Swap(old="b", new="B\nB2"),))


def deal(
    change: Change,
    deed: Deed = Deed.EDIT,
    outcome: Outcome = Outcome.DONE,
    before: str | None = None,
    is_new: bool = False,
) -> Deal:
    act = Act(deed=deed, path="f", change=change, outcome=outcome, before=before, is_new=is_new)
    return Deal(act=act, asked=4, answered=None if outcome is Outcome.OPEN else 5, tool="Tool")


@pytest.mark.parametrize(
    ("state", "change", "added", "removed"),
    [
        (OLD, SWAP, 2, 1),
        (OLD, Written(text="a\nc\n"), 0, 1),
        (OLD, Erased(), 0, 3),
        (OLD, Inserted(text="x\n", after=1), 1, 0),
        (OLD, Patched(patches=(Patch(old=("b",), new=()),)), 0, 1),
        (Absent(), Written(text="1\n2\n"), 2, 0),
        (UNSEEN, Written(text="1\n2\n"), 2, None),
        (UNSEEN, SWAP, 2, 1),
        (UNSEEN, Patched(patches=(Patch(old=("x", "y"), new=("x", "z")),)), 1, 1),
        (UNSEEN, Inserted(text="1\n", after=0), 1, 0),
        (UNSEEN, Altered(), 0, None),
        (OLD, Altered(), 0, None),
        (UNSEEN, Erased(), 0, None),
    ],
)
def test_lines_that_came_and_went_are_counted(
    state: State, change: Change, added: int, removed: int | None
) -> None:
    step = stepped(state, deal(change))
    shown = difference(step)

    assert (shown.added, shown.removed) == (added, removed)
    assert counts(step) == (added, removed)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OPEN])
def test_what_did_not_surely_happen_changes_nothing_for_sure(outcome: Outcome) -> None:
    step = stepped(OLD, deal(SWAP, outcome=outcome))

    if outcome is Outcome.FAILED:
        assert (step.after, difference(step)) == (OLD, Difference())
    else:
        assert isinstance(step.after, Partly)
        assert "no answer" in step.after.why


@pytest.mark.parametrize(
    ("state", "told", "is_surprise"),
    [
        (OLD, deal(SWAP, before="a\nb\nc\n"), False),
        (OLD, deal(SWAP, before="x\nb\n"), True),
        (UNSEEN, deal(SWAP, before="x\nb\n"), False),
        (Absent(), deal(Written(text="x"), Deed.WRITE, is_new=True), False),
        (OLD, deal(Written(text="x"), Deed.WRITE, is_new=True), True),
        (OLD, deal(Replaced(swaps=(Swap(old="not there", new=""),))), True),
        (OLD, deal(Shown(text="b", first=2), Deed.READ), False),
        (OLD, deal(Shown(text="z", first=2), Deed.READ), True),
        (OLD, deal(Shown(text="other", is_whole=True), Deed.READ), True),
        (OLD, deal(Shown(), Deed.READ), False),
        (OLD, deal(Altered()), False),
    ],
)
def test_a_file_that_something_else_changed_is_noticed(
    state: State, told: Deal, is_surprise: bool
) -> None:
    assert stepped(state, told).is_surprise is is_surprise


@pytest.mark.parametrize(
    ("told", "is_fresh"),
    [
        (deal(Written(text="x")), True),
        (deal(Shown(text="x", is_whole=True), Deed.READ), True),
        (deal(SWAP, before="a b c"), True),
        (deal(Altered()), True),
        (deal(Erased()), True),
        (deal(SWAP), False),
        (deal(Shown(text="x", first=2), Deed.READ), False),
        (deal(Written(text="x"), outcome=Outcome.FAILED), False),
        (deal(Written(text="x"), outcome=Outcome.OPEN), False),
    ],
)
def test_an_act_after_which_the_past_does_not_matter_is_known(told: Deal, is_fresh: bool) -> None:
    entry = entry_of(stepped(UNSEEN, told), 0, None)

    assert entry.is_fresh is is_fresh
    if is_fresh:
        assert stepped(OLD, told).after == stepped(UNSEEN, told).after


def test_an_index_survives_being_packed() -> None:
    draft = Draft()
    for name in ("a", "b\ud800"):
        number = draft.number(name)
        assert number is not None
        draft.add(entry_of(stepped(OLD, deal(SWAP)), number, None))
    index = draft.index(9, [entry_of(stepped(OLD, deal(SWAP, outcome=Outcome.OPEN)), 0, 1)])

    assert fileindex.unpacked(fileindex.packed(index)) == index
    assert Draft.of(index).index(9, index.open) == index


def test_a_file_is_summed_up() -> None:
    draft = Draft()
    path = draft.number("/w/src/a.py")
    assert path is not None
    told: list[tuple[State, Deal]] = [
        (UNSEEN, deal(Shown(), Deed.READ)),
        (OLD, deal(SWAP)),
        (OLD, deal(SWAP, outcome=Outcome.FAILED)),
        (UNSEEN, deal(Written(text="1\n"), Deed.WRITE)),
        (OLD, deal(Erased(), Deed.DELETE)),
    ]
    for state, each in told:
        draft.add(entry_of(stepped(state, each), path, None))

    (file,) = fileindex.files(draft.index(9, ()), "/w")

    assert (file.name, file.reads, file.changes, file.failed) == ("src/a.py", 1, 3, 1)
    assert (file.added, file.removed, file.is_removed_known) == (3, 4, False)
    assert file.is_gone
    assert fileindex.files(Index(), "/w") == []


def test_the_name_of_a_path_tells_nothing_and_differs_by_session() -> None:
    names = {fileindex.name_of(path, salt) for path in ("a", "b") for salt in (b"1", b"2")}

    assert len(names) == 4
    assert all(len(name) == 16 for name in names)
