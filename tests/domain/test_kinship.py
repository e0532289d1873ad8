"""Sessions as a tree: each once, under its nearest, however the links contradict each other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain.kinship import MOST_COLUMNS, Bond, Place, tree


def bond(parent: int, child: int, rank: int = 0, weight: int = 1, goes_on: bool = False) -> Bond:
    return Bond(
        parent=parent,
        child=child,
        kind="fork",
        evidence="explicit id",
        weight=weight,
        rank=rank,
        goes_on=goes_on,
    )


def shape(places: list[Place]) -> list[tuple[int, int, int]]:
    return [(place.member, place.depth, place.column) for place in places]


def test_children_follow_their_parent_in_the_order_of_time() -> None:
    places = tree([1, 2, 3, 4], [bond(1, 4), bond(1, 2), bond(2, 3)])

    assert shape(places) == [(1, 0, 0), (2, 1, 1), (3, 2, 2), (4, 1, 1)]
    assert [place.parent_row for place in places] == [None, 0, 1, 0]
    assert [place.below for place in places] == [3, 1, 0, 0]


def test_what_goes_on_stays_in_its_column_behind_the_branches() -> None:
    places = tree([1, 2, 3], [bond(1, 2, goes_on=True), bond(1, 3)])

    assert shape(places) == [(1, 0, 0), (3, 1, 1), (2, 1, 0)]


def test_the_best_evidence_gives_the_parent_and_the_rest_is_told_beside() -> None:
    places = tree([1, 2, 3], [bond(1, 3, rank=5, weight=9), bond(2, 3, rank=1)])

    assert [(place.member, place.depth) for place in places] == [(1, 0), (2, 0), (3, 1)]
    assert places[2].beside == (bond(1, 3, rank=5, weight=9),)


def test_of_copies_the_one_that_shares_most_is_the_parent() -> None:
    bonds = [bond(1, 2, weight=4), bond(1, 3, weight=4), bond(2, 3, weight=8)]

    assert shape(tree([1, 2, 3], bonds)) == [(1, 0, 0), (2, 1, 1), (3, 2, 2)]


def test_links_in_a_circle_end() -> None:
    places = tree([1, 2, 3], [bond(1, 2), bond(2, 3), bond(3, 1), bond(2, 1)])

    assert sorted(place.member for place in places) == [1, 2, 3]
    assert sum(len(place.beside) for place in places) == 2


def test_a_session_that_names_itself_is_no_child_of_its_own() -> None:
    (place,) = tree([1], [bond(1, 1)])

    assert place.bond is None
    assert place.beside == (bond(1, 1),)


def test_a_chain_as_long_as_there_are_sessions_is_laid_out() -> None:
    members = list(range(3_000))
    places = tree(members, [bond(n, n + 1) for n in members[:-1]])

    assert [place.depth for place in places] == members
    assert max(place.column for place in places) == MOST_COLUMNS


@settings(deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.integers(0, 3))),
)
def test_whatever_the_links_each_session_has_one_place(
    count: int, links: list[tuple[int, int, int]]
) -> None:
    members = list(range(count))
    places = tree(members, [bond(a, b, rank) for a, b, rank in links])

    assert sorted(place.member for place in places) == members
    rows = {place.member: row for row, place in enumerate(places)}
    for row, place in enumerate(places):
        if place.bond is not None:
            assert place.parent_row == rows[place.bond.parent] < row
            assert place.depth == places[place.parent_row].depth + 1
    known = [link for link in links if link[0] < count and link[1] < count]
    told = sum(len(place.beside) + (place.bond is not None) for place in places)
    assert told == len(known)
