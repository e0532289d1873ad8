"""The acts on one file one after the other: what was known before and after, what changed."""

from dataclasses import dataclass
from typing import assert_never

from sessions_app.domain import linediff
from sessions_app.domain.files import (
    Act,
    Altered,
    Change,
    Deal,
    Erased,
    Inserted,
    Outcome,
    Patched,
    Replaced,
    Shown,
    Written,
)
from sessions_app.domain.linediff import Diff
from sessions_app.domain.texts import Absent, Known, Partly, State, applied, as_swap, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    deal: Deal
    before: State
    after: State
    # The file was not what the acts before it left.
    is_surprise: bool = False


def stepped(state: State, deal: Deal) -> Step:
    act = deal.act
    told = _told_before(state, act)
    after = _after(told, act, deal.seq)
    return Step(
        deal=deal, before=told, after=after, is_surprise=_is_surprise(state, told, act, after)
    )


def _told_before(state: State, act: Act) -> State:
    if act.outcome is not Outcome.DONE:
        return state
    if act.before is not None:
        return Known(text=act.before)
    return Absent() if act.is_new else state


def _is_surprise(state: State, told: State, act: Act, after: State) -> bool:
    """Only what is known exactly can be contradicted."""
    if isinstance(state, Partly) or act.outcome is not Outcome.DONE:
        return False
    is_read = isinstance(act.change, Shown)
    has_misfit = isinstance(after, Partly) and not isinstance(act.change, Altered)
    return told != state or has_misfit or (is_read and after != state)


def _after(state: State, act: Act, seq: int) -> State:
    if act.outcome is Outcome.FAILED:
        return state
    if act.outcome is Outcome.OPEN:
        if not act.is_change:
            return state
        return Partly(why=f"Event {seq} has no answer: whether it changed the file is not known.")
    return applied(state, act.change)


# What changed -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an act changed: between two known texts, or each stretch it names by itself."""

    diffs: tuple[Diff, ...] = ()
    # What the lines replaced is not known, so nothing is shown as gone.
    is_half: bool = False

    @property
    def added(self) -> int:
        return sum(diff.added for diff in self.diffs)

    @property
    def removed(self) -> int | None:
        return None if self.is_half else sum(diff.removed for diff in self.diffs)


NOTHING = Difference()


def difference(step: Step) -> Difference:
    act = step.deal.act
    if not act.is_change or act.outcome is Outcome.FAILED:
        return NOTHING
    old, new = text_of(step.before), text_of(step.after)
    if old is not None and new is not None:
        return Difference(diffs=(linediff.between(old, new),))
    return _named(act.change)


def counts(step: Step) -> tuple[int, int | None]:
    """Lines that came and went, without the lines themselves."""
    old, new = text_of(step.before), text_of(step.after)
    act = step.deal.act
    if act.is_change and act.outcome is not Outcome.FAILED and old is not None and new is not None:
        return linediff.changed(old, new)
    told = difference(step)
    return told.added, told.removed


def _named(change: Change) -> Difference:
    """What the tool was told, where the text around it is not known."""
    match change:
        case Written():
            return Difference(diffs=(linediff.between("", change.text),), is_half=True)
        case Replaced():
            return Difference(diffs=tuple(linediff.between(s.old, s.new) for s in change.swaps))
        case Patched():
            swaps = [as_swap(patch) for patch in change.patches]
            return Difference(diffs=tuple(linediff.between(s.old, s.new) for s in swaps))
        case Inserted():
            return Difference(diffs=(linediff.between("", change.text),))
        case Erased() | Altered():
            return Difference(is_half=True)
        case Shown():
            return NOTHING
        case _:
            assert_never(change)
