"""What a timeline shows: every event once, never too many marks, and the life of the session."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.domain import axis, timeline
from sessions_app.domain.axis import HOUR, MINUTE, SECOND, Pause
from sessions_app.domain.events import (
    Flag,
    Kind,
    Message,
    Part,
    Picture,
    Record,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from sessions_app.domain.timeline import Cell, Lane, Mark, Milestone, Row, Span, Tally

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOP = (7, 8)


def row(seq: int, moment: int, kind: Kind = Kind.ASSISTANT, flags: int = 0, tool: int = 0) -> Row:
    return Row(seq, moment, kind, flags, tool)


def tally(bin_: int, lane: int, count: int, first: int, **more: int) -> Tally:
    empty = dict.fromkeys(Tally._fields[4:], 0) | {
        name: None for name in Tally._fields if name.startswith("first_")
    }
    return Tally(bin_, lane, count, first, **(empty | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "flags", "tool", "lane"),
    [
        (Kind.USER, Flag.PROMPT, 0, Lane.PROMPTS),
        (Kind.USER, 0, 0, Lane.OTHER),
        (Kind.USER, Flag.ERROR, 0, Lane.OTHER),
        (Kind.ASSISTANT, 0, 0, Lane.ASSISTANT),
        (Kind.ASSISTANT, Flag.THINKING, 0, Lane.ASSISTANT),
        (Kind.ASSISTANT, 0, 7, Lane.TOOLS + 1),
        (Kind.ASSISTANT, 0, 8, Lane.TOOLS + 2),
        (Kind.ASSISTANT, 0, 99, Lane.TOOLS),
        # A result that names its tool is no call.
        (Kind.TOOL, 0, 7, Lane.OTHER),
        (Kind.ASSISTANT, Flag.SIDECHAIN, 7, Lane.SUBAGENTS),
        (Kind.USER, Flag.ECHO | Flag.PROMPT, 0, Lane.OTHER),
        (Kind.SYSTEM, Flag.COMPACTION, 0, Lane.OTHER),
        (Kind.UNREADABLE, 0, 0, Lane.OTHER),
    ],
)
def test_an_event_is_in_one_lane(kind: Kind, flags: int, tool: int, lane: int) -> None:
    assert timeline.lane_of(kind, int(flags), tool, TOP, is_subagent=False) == lane


def test_in_a_subagents_own_log_the_lines_are_told_apart() -> None:
    flags = int(Flag.SIDECHAIN)
    assert timeline.lane_of(Kind.ASSISTANT, flags, 7, TOP, is_subagent=True) == Lane.TOOLS + 1


# Bins ---------------------------------------------------------------------------------------------


@unhurried
@given(st.integers(0, 10_000))
def test_bins_are_at_least_four_pixels_wide_and_can_be_halved(width: int) -> None:
    bins = timeline.bins_for(width)

    assert 16 <= bins <= 500
    assert bins % 16 == 0
    assert bins * 4 <= max(width, 64)


@unhurried
@given(
    st.dictionaries(
        st.tuples(st.integers(1, 480), st.integers(1, 15)), st.integers(1, 9), max_size=300
    ),
    st.integers(1, 200),
)
def test_bins_are_put_together_until_the_marks_are_few_and_no_event_is_lost(
    counts: dict[tuple[int, int], int], most: int
) -> None:
    before = [
        tally(place[0], place[1], count, n, errors=count % 2, first_error=n)
        for n, (place, count) in enumerate(counts.items())
    ]
    after, bins = timeline.fitted(before, 480, most)

    assert sum(each.events for each in after) == sum(counts.values())
    assert sum(each.errors for each in after) == sum(each.errors for each in before)
    assert len(after) <= max(most, 30)
    assert all(1 <= each.bin <= bins for each in after)
    assert len({(each.bin, each.lane) for each in after}) == len(after)
    assert min((each.first for each in after), default=0) == 0


def test_counts_of_a_bin_are_summed_over_lanes_and_the_first_event_leads() -> None:
    found = [
        tally(2, Lane.ASSISTANT, 5, 40, errors=1, first_error=44),
        tally(2, Lane.PROMPTS, 1, 39),
        tally(1, Lane.OTHER, 2, 3, errors=2, first_error=3),
    ]

    assert timeline.all_cells(found) == [Cell(1, 2, 3), Cell(2, 6, 39)]
    assert timeline.error_cells(found) == [Cell(1, 2, 3), Cell(2, 1, 44)]
    assert timeline.cells_by_lane(found)[Lane.ASSISTANT] == [Cell(2, 5, 40)]


@unhurried
@given(st.lists(st.integers(1, 10**6), max_size=50))
def test_heights_lie_between_a_quarter_and_one(counts: list[int]) -> None:
    found = timeline.heights([Cell(n, count, n) for n, count in enumerate(counts)])

    assert found.keys() == set(counts)
    assert all(0.25 <= height <= 1.0 + 1e-9 for height in found.values())
    assert [found[count] for count in sorted(found)] == sorted(found.values())


# Bars ---------------------------------------------------------------------------------------------


def test_a_call_lasts_until_its_result_and_an_answer_from_the_line_before() -> None:
    rows = [
        row(0, 0, Kind.USER, int(Flag.PROMPT)),
        row(1, 4 * SECOND),
        row(2, 5 * SECOND, tool=7),
        row(3, 9 * SECOND, Kind.USER, int(Flag.ERROR)),
    ]
    found = timeline.bars(rows, TOP, {2: 9 * SECOND}, frozenset({2}), is_subagent=False)

    assert [(bar.lane, bar.start, bar.end) for bar in found] == [
        (Lane.PROMPTS, 0, 0),
        (Lane.ASSISTANT, 0, 4 * SECOND),
        (Lane.TOOLS + 1, 5 * SECOND, 9 * SECOND),
        (Lane.OTHER, 9 * SECOND, 9 * SECOND),
    ]
    assert [bar.is_error for bar in found] == [False, False, True, True]


def test_an_answer_after_a_long_pause_did_not_take_that_long() -> None:
    found = timeline.bars([row(0, 0), row(1, HOUR)], (), {}, frozenset(), is_subagent=False)

    assert found[1].start == HOUR


@unhurried
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40)), max_size=40),
    st.integers(1, 5),
)
def test_spans_in_one_row_do_not_overlap_while_there_are_rows(
    raw: list[tuple[int, int]], most: int
) -> None:
    spans = [Span(start, start + length) for start, length in raw]
    rows = timeline.packed(spans, most)

    assert all(0 <= each < most for each in rows)
    for a in range(len(spans)):
        for b in range(a):
            if rows[a] == rows[b] < most - 1:
                assert spans[a].end < spans[b].start or spans[b].end < spans[a].start


# Life ---------------------------------------------------------------------------------------------


def test_only_a_long_pause_is_followed_by_a_resume() -> None:
    found = timeline.resumes([Pause(0, 29 * MINUTE, 5), Pause(HOUR, 3 * HOUR, 9)])

    assert found == [Milestone(3 * HOUR, 9, Mark.RESUME, pause=2 * HOUR)]


def test_a_compaction_of_two_lines_is_told_once() -> None:
    compaction, change = int(Flag.COMPACTION), int(Flag.MODEL_CHANGE)
    rows = [row(4, 10, flags=compaction), row(5, 10, flags=compaction), row(6, 12, flags=change)]

    assert [(each.seq, each.mark) for each in timeline.flagged(rows)] == [
        (4, Mark.COMPACTION),
        (6, Mark.MODEL),
    ]


def test_milestones_too_close_to_tell_apart_share_a_stop() -> None:
    made = axis.of_time(0, HOUR)
    shown = axis.whole(made)
    found = timeline.stops(
        [
            Milestone(0, 0, Mark.START),
            Milestone(SECOND, 3, Mark.MODEL),
            Milestone(30 * MINUTE, 9, Mark.COMPACTION, times=4),
        ],
        made,
        shown,
        width=1000,
    )

    assert [(stop.lead.mark, stop.count) for stop in found] == [
        (Mark.START, 2),
        (Mark.COMPACTION, 4),
    ]


@unhurried
@given(st.lists(st.integers(0, HOUR), max_size=500), st.integers(50, 2_000))
def test_stops_are_bounded_and_lose_no_milestone(moments: list[int], width: int) -> None:
    made = axis.of_time(0, HOUR)
    marks = [Milestone(moment, n, Mark.MODEL) for n, moment in enumerate(moments)]
    found = timeline.stops(marks, made, axis.whole(made), width=width)

    assert sum(stop.count for stop in found) == len(moments)
    assert len(found) <= width / 14 + 1


def test_a_step_line_keeps_its_height_until_the_next_point() -> None:
    assert timeline.steps([(0.5, 30)], 10) == [(0.0, 10), (0.5, 10), (0.5, 30), (1.0, 30)]
    assert timeline.steps([], 0) == [(0.0, 0), (1.0, 0)]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((Text(text="\n Fix \n it "),), "Fix it"),
        ((Picture(media_type="image/png", size=3), Text(text="see")), "see"),
        ((ToolCall(name="Bash", call_id="1", arguments={"n": 1, "command": "ls"}),), "ls"),
        ((ToolCall(name="Bash", call_id="1", arguments="ls -l"),), "ls -l"),
        ((ToolResult(call_id="1", text="done", is_error=False),), "done"),
        ((), ""),
    ],
)
def test_the_first_words_of_a_line(parts: tuple[Part, ...], words: str) -> None:
    assert timeline.said(Message(role=Role.ASSISTANT, parts=parts)) == words
    assert timeline.said(Record(label="x", fields={})) == ""
