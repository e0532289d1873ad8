"""Documents fall into slices that join to them, each of which can be read alone."""

import json
import time

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.events import Unreadable
from sessions_app.formats import documents
from sessions_app.formats.documents import Place

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=4)
indents = st.sampled_from([None, 0, 2])
plain = st.booleans()


def slices(raw: bytes, *names: str) -> list[bytes]:
    starts = documents.cut(raw, *names)
    found = [raw[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True)]
    assert b"".join(found) == raw
    assert all(found) or not raw
    return found


@given(st.lists(objects, max_size=5), objects, objects, indents, plain)
def test_a_list_in_an_object_falls_into_header_elements_and_trailer(
    elements: list[object], before: dict[str, object], after: dict[str, object],
    indent: int | None, is_ascii: bool,
) -> None:  # fmt: skip
    head = {f"a{key}": value for key, value in before.items()}
    tail = {f"b{key}": value for key, value in after.items()}
    raw = json.dumps(
        {**head, "messages": elements, **tail}, indent=indent, ensure_ascii=is_ascii
    ).encode()

    first, *middle, last = [documents.read(piece) for piece in slices(raw, "messages")]

    assert first == (Place.HEADER, {**head, "messages": []})
    assert middle == [(Place.ELEMENT, element) for element in elements]
    assert last == (Place.TRAILER, tail)
    assert documents.keys(raw) == {*head, "messages", *tail} or "\\" in raw.decode()
    assert documents.first(raw, "messages") == (elements[0] if elements else None)


@given(st.lists(objects, max_size=5), indents)
def test_a_list_alone_falls_into_its_elements(elements: list[object], indent: int | None) -> None:
    raw = json.dumps(elements, indent=indent).encode()

    first, *middle, last = [documents.read(piece) for piece in slices(raw, "messages")]

    assert (first, last) == ((Place.HEADER, {}), (Place.TRAILER, {}))
    assert middle == [(Place.ELEMENT, element) for element in elements]


@given(st.lists(values, max_size=5))
def test_elements_that_are_no_objects_are_unreadable(elements: list[object]) -> None:
    raw = json.dumps({"messages": elements}).encode()

    middle = [documents.read(piece) for piece in slices(raw, "messages")[1:-1]]

    assert len(middle) == len(elements)
    for piece, element in zip(middle, elements, strict=True):
        is_object = isinstance(element, dict)
        assert piece.fields == element if is_object else isinstance(piece.fields, Unreadable)


signs = st.sampled_from([b'{"messages":[', b"[", b"]", b"{", b"}", b",", b'"', b"\\", b":", b" x"])


@given(st.one_of(st.binary(max_size=60), st.lists(signs, max_size=30).map(b"".join)))
def test_any_bytes_are_cut(raw: bytes) -> None:
    for piece in slices(raw, "messages"):
        documents.read(piece)
    documents.keys(raw)
    documents.first(raw, "messages")


def test_what_has_no_such_list_or_never_ends_is_one_record() -> None:
    for raw in (b"", b"{}", b'{"other": [1, 2]}', b'{"messages": [{"a": 1}, {"b"', b'"messages"'):
        assert documents.cut(raw, "messages") == [0]


def test_only_a_name_at_the_top_counts() -> None:
    raw = b'{"a": {"messages": [1]}, "b": "\\"messages\\": [", "messages": [{"c": 1}]}'

    assert [documents.read(piece).fields for piece in slices(raw, "messages")[1:]] == [
        {"c": 1},
        {},
    ]


def test_hostile_documents_take_seconds() -> None:
    size = 16 * 1024 * 1024
    for raw in (
        b'{"messages":' + b"[" * size,
        b'{"messages":[' + b"[]," * 3_000_000 + b"[]]}",
        b'{"messages":["' + b"\\" * size,
        b"[" + b'"a",' * 1_000_000 + b"1]",
        b'{"messages"' + b" " * size,
        b'{"a":' + b'"b",' * 4_000_000,
    ):
        begun = time.monotonic()
        documents.cut(raw, "messages")
        assert time.monotonic() - begun < 20
