"""What is known of a file is true: acts are applied beside an oracle that holds the real file."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain import texts
from sessions_app.domain.files import (
    Altered,
    Change,
    Erased,
    Inserted,
    Patch,
    Patched,
    Reach,
    Replaced,
    Shown,
    Swap,
    Written,
)
from sessions_app.domain.texts import UNSEEN, Absent, Known, Partly, Piece, State, applied

LINE = st.sampled_from(["a", "b", "ab", "ba", "", "aab", "{", "}", "x = 1", "x = 2"])
TEXT = st.tuples(st.lists(LINE, max_size=12), st.booleans()).map(
    lambda told: "\n".join(told[0]) + "\n" * told[1]
)


@dataclass
class Oracle:
    """The real file, and the change that a tool which does what it says makes to it."""

    text: str | None

    def write(self, draw: st.DrawFn) -> Change | None:
        self.text = draw(TEXT)
        return Written(text=self.text)

    def erase(self, _: st.DrawFn) -> Change | None:
        self.text = None
        return Erased()

    def alter(self, draw: st.DrawFn) -> Change | None:
        self.text = draw(TEXT)
        return Altered()

    def look(self, _: st.DrawFn) -> Change | None:
        return None if self.text is None else Shown(text=self.text, is_whole=True)

    def glance(self, draw: st.DrawFn) -> Change | None:
        if self.text is None:
            return None
        lines = self.text.split("\n")
        first = draw(st.integers(1, len(lines)))
        last = draw(st.integers(first, len(lines)))
        return Shown(text="\n".join(lines[first - 1 : last]), first=first)

    def swap(self, draw: st.DrawFn) -> Change | None:
        if not self.text:
            return None
        lo = draw(st.integers(0, len(self.text) - 1))
        hi = draw(st.integers(lo + 1, min(len(self.text), lo + 12)))
        old, new = self.text[lo:hi], draw(TEXT)
        reach = draw(st.sampled_from(list(Reach)))
        if reach is Reach.ONLY and self.text.count(old) > 1:
            return None
        self.text = self.text.replace(old, new, -1 if reach is Reach.EVERY else 1)
        return Replaced(swaps=(Swap(old=old, new=new, reach=reach),))

    def patch(self, draw: st.DrawFn) -> Change | None:
        lines = (self.text or "").split("\n")
        if not self.text or lines[-1]:
            return None
        lines.pop()
        lo = draw(st.integers(0, len(lines) - 1))
        hi = draw(st.integers(lo + 1, min(len(lines), lo + 4)))
        old, new = tuple(lines[lo:hi]), tuple(draw(st.lists(LINE, max_size=4)))
        at = next(n for n in range(len(lines)) if tuple(lines[n : n + len(old)]) == old)
        lines[at : at + len(old)] = new
        self.text = "".join(f"{line}\n" for line in lines)
        return Patched(patches=(Patch(old=old, new=new),))

    def insert(self, draw: st.DrawFn) -> Change | None:
        if self.text is None or (self.text and not self.text.endswith("\n")):
            return None
        lines = self.text.split("\n")[:-1]
        after = draw(st.integers(0, len(lines)))
        new = draw(st.lists(LINE, min_size=1, max_size=3))
        lines[after:after] = new
        self.text = "".join(f"{line}\n" for line in lines)
        return Inserted(text="\n".join(new) + "\n", after=after)

    def append(self, draw: st.DrawFn) -> Change | None:
        text = draw(TEXT)
        self.text = (self.text or "") + text
        return Inserted(text=text)

    def is_told_truly(self, state: State) -> None:
        match state:
            case Known():
                assert state.text == self.text
            case Absent():
                assert self.text is None
            case Partly():
                for piece in state.pieces:
                    self.holds(piece)

    def holds(self, piece: Piece) -> None:
        assert self.text is not None
        if piece.first is None:
            assert piece.text in self.text or piece.text in f"{self.text}\n"
        else:
            lines = self.text.split("\n")[piece.first - 1 :]
            told = piece.text.split("\n")[:-1]
            assert lines[: len(told)] == told


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_whatever_is_said_to_be_known_is_so(data: st.DataObject) -> None:
    oracle = Oracle(data.draw(TEXT))
    state: State = UNSEEN
    deeds = (
        *(oracle.glance, oracle.swap, oracle.patch, oracle.insert, oracle.append, oracle.look),
        *(oracle.glance, oracle.swap, oracle.write, oracle.erase, oracle.alter),
    )
    for _ in range(data.draw(st.integers(1, 10))):
        change = data.draw(st.composite(lambda draw: data.draw(st.sampled_from(deeds))(draw))())
        if change is not None:
            state = applied(state, change)
            oracle.is_told_truly(state)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_file_that_was_seen_whole_stays_known(data: st.DataObject) -> None:
    oracle = Oracle(data.draw(TEXT))
    state: State = Known(text=oracle.text or "")
    for _ in range(data.draw(st.integers(1, 8))):
        deed = data.draw(st.sampled_from([oracle.swap, oracle.patch, oracle.insert, oracle.glance]))
        change = data.draw(st.composite(lambda draw, deed=deed: deed(draw))())
        if change is not None:
            state = applied(state, change)
            assert state == Known(text=oracle.text or "")


def test_a_change_that_does_not_fit_makes_the_text_unknown() -> None:
    change = Replaced(swaps=(Swap(old="not there", new="but here now"),))

    state = applied(Known(text="something\n"), change)

    assert isinstance(state, Partly)
    assert state.pieces == (Piece(text="but here now", first=None),)
    assert "did not fit" in state.why


def test_an_edit_of_an_unknown_text_shows_what_it_put_there() -> None:
    state = applied(UNSEEN, Replaced(swaps=(Swap(old="a", new="b"),)))

    assert state == Partly(
        pieces=(Piece(text="b", first=None),),
        why="The session has shown only the parts it changed.",
    )


def test_a_piece_follows_the_edits_inside_it_and_those_behind_it_move() -> None:
    state = applied(UNSEEN, Shown(text="one\ntwo", first=10))
    state = applied(state, Shown(text="ten", first=20))
    state = applied(state, Replaced(swaps=(Swap(old="two", new="2\n2a\n2b"),)))

    assert isinstance(state, Partly)
    assert state.pieces == (
        Piece(text="one\n2\n2a\n2b\n", first=10),
        Piece(text="ten\n", first=22),
    )


def test_a_newer_reading_replaces_the_lines_it_covers() -> None:
    state = applied(UNSEEN, Shown(text="1\n2\n3\n4", first=1))
    state = applied(state, Shown(text="two\nthree", first=2))

    assert isinstance(state, Partly)
    assert state.pieces == (
        Piece(text="1\n", first=1),
        Piece(text="two\nthree\n", first=2),
        Piece(text="4\n", first=4),
    )


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        (Patch(old=("b",), new=("B",)), "a\nB\nc\nb\n"),
        (Patch(old=("b",), new=("B",), anchors=("c",)), "a\nb\nc\nB\n"),
        (Patch(old=("b",), new=("B",), is_at_end=True), "a\nb\nc\nB\n"),
        (Patch(old=("B",), new=("x",)), None),
        (Patch(old=("b",), new=("x",), anchors=("z",)), None),
        (Patch(old=(), new=("end",)), "a\nb\nc\nb\nend\n"),
        (Patch(old=(), new=("end",), anchors=("a",)), None),
        (Patch(old=("a", "b"), new=()), "c\nb\n"),
    ],
)
def test_a_patch_fits_line_for_line_or_not_at_all(patch: Patch, result: str | None) -> None:
    assert texts.patched("a\nb\nc\nb\n", (patch,)) == result


def test_pieces_are_given_up_when_there_are_too_many() -> None:
    state: State = UNSEEN
    for number in range(texts.MOST_PIECES * 3):
        state = applied(state, Shown(text=f"line {number}", first=number * 2 + 1))

    assert isinstance(state, Partly)
    assert len(state.pieces) == texts.MOST_PIECES
