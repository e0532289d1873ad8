"""Filters: what a person reads for times, sizes and hostile text."""

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.templatetags import show

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
NBSP = "\u00a0"


def spaced(text: str) -> str:
    return text.replace(NBSP, " ")


def test_hidden_characters_become_chips_and_markup_is_escaped() -> None:
    shown = show.visible("<b>\u202e&")
    chip = '<span class="hidden-char" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>'
    assert shown == f"&lt;b&gt;{chip}&amp;"


def test_text_spelled_by_tag_characters_is_escaped_too() -> None:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in '"><script>')
    assert "<script" not in show.visible(hidden)
    assert "&quot;&gt;&lt;script&gt;" in show.visible(hidden)


def test_values_that_are_not_text_are_shown_as_text() -> None:
    assert show.visible(7) == "7"
    assert show.visible(None) == "None"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (10, "just now"),
        (300, "5 min ago"),
        (7200, "2 h ago"),
        (3 * 86400, "3 d ago"),
        (90 * 86400, "20 Aug 2026"),
        (-600, "in 10 min"),
    ],
)
def test_a_moment_is_told_by_its_distance(seconds: int, said: str) -> None:
    assert spaced(show.ago(NOW - timedelta(seconds=seconds), NOW)) == said


def test_a_time_carries_the_exact_moment() -> None:
    shown = show.moment(NOW)
    assert 'datetime="2026-11-18T12:00:00+00:00"' in shown
    assert 'title="2026-11-18 12:00:00 UTC"' in shown


@pytest.mark.parametrize(
    "filter_", [show.when, show.moment, show.clock, show.count, show.human_bytes]
)
def test_what_is_not_known_is_a_dash(filter_: object) -> None:
    assert callable(filter_)
    assert "not known" in filter_(None)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.4, "< 1 s"),
        (59, "59 s"),
        (94, "1 min 34 s"),
        (8040, "2 h 14 min"),
        (86400, "1 d"),
    ],
)
def test_a_length_is_told_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert spaced(show.duration(seconds)) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (812_334, "812 kB"),
        (999_999, "1.0 MB"),
        (5 * 10**9, "5.0 GB"),
    ],
)
def test_a_size_is_told_in_decimal_units(size: int, said: str) -> None:
    assert spaced(show.human_bytes(size)) == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0"), (999, "999"), (1204, "1.2k"), (34_567_890, "35M")]
)
def test_a_large_number_is_shortened(number: int, said: str) -> None:
    assert show.short(number) == said


def test_a_count_agrees_with_its_noun() -> None:
    assert spaced(show.plural(1, "event,events")) == "1 event"
    assert spaced(show.plural(1204, "event,events")) == "1,204 events"


@pytest.mark.parametrize(
    ("part", "said"),
    [(0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.9999, "99 %"), (1, "100 %")],
)
def test_a_share_is_told_in_per_cent(part: float, said: str) -> None:
    assert spaced(show.share(part)) == said


def test_a_share_of_nothing_is_not_known() -> None:
    assert "not known" in show.share(None)
