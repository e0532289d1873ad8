"""Seals: bound to key and place, checked before they are opened, never alike."""

import os
from collections.abc import Sequence

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.errors import IntegrityError, WrongKey
from sessions_app.vault import chain, seal
from sessions_app.vault.seal import COMMITMENT_BYTES, HEADER_BYTES, NONCE_BYTES, Key

WHERE = seal.place("chunk", "workspace", "session", 3)
SEALS = 100_000

parts = st.one_of(st.text(), st.integers(), st.binary())


@given(plain=st.binary(max_size=300))
def test_what_was_sealed_is_opened(plain: bytes) -> None:
    key = Key.fresh()

    assert seal.unseal(key, WHERE, seal.seal(key, WHERE, plain), name="x") == plain


@given(plain=st.binary(max_size=60), data=st.data())
def test_any_flipped_bit_is_refused_by_name(plain: bytes, data: st.DataObject) -> None:
    key = Key(b"k" * 32)
    sealed = bytearray(seal.seal(key, WHERE, plain))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8

    with pytest.raises(IntegrityError, match="chunk 3 of x"):
        seal.unseal(key, WHERE, bytes(sealed), name="chunk 3 of x")


@given(where=st.lists(parts, max_size=4), other=st.lists(parts, max_size=4))
def test_a_seal_opens_only_in_its_place(where: list[str], other: list[str]) -> None:
    key = Key(b"k" * 32)
    sealed = seal.seal(key, seal.place(*where), b"plain")

    if where == other:
        assert seal.unseal(key, seal.place(*other), sealed, name="x") == b"plain"
    else:
        with pytest.raises(IntegrityError):
            seal.unseal(key, seal.place(*other), sealed, name="x")


@given(one=st.lists(parts, max_size=5), two=st.lists(parts, max_size=5))
def test_no_two_places_share_their_bytes(one: list[str], two: list[str]) -> None:
    assert (seal.place(*one) == seal.place(*two)) == (_typed(one) == _typed(two))


def _typed(given: Sequence[object]) -> list[tuple[type, object]]:
    return [(type(part), part) for part in given]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("ab", "c"), ("a", "bc")),
        (("1",), (1,)),
        (("a",), (b"a",)),
        (("a", ""), ("a",)),
        (("",), ()),
        ((12, 3), (1, 23)),
        (("a\0b",), ("a", "b")),
    ],
)
def test_places_that_look_alike_differ(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert seal.place(*one) != seal.place(*two)


def test_the_commitment_is_compared_before_anything_is_decrypted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key, other = Key.fresh(), Key.fresh()
    sealed = seal.seal(key, WHERE, b"plain")
    opened: list[bytes] = []
    monkeypatch.setattr(seal, "AESGCM", _watched(opened))
    seal.forget()

    with pytest.raises(WrongKey, match="chunk 3"):
        seal.unseal(other, WHERE, sealed, name="chunk 3")
    assert opened == []
    assert seal.unseal(key, WHERE, sealed, name="chunk 3") == b"plain"
    assert len(opened) == 1
    seal.forget()


def _watched(opened: list[bytes]) -> type:
    class Watched:
        def __init__(self, key: bytes) -> None:
            self._cipher = AESGCM(key)

        def decrypt(self, nonce: bytes, data: bytes, where: bytes) -> bytes:
            opened.append(nonce)
            return self._cipher.decrypt(nonce, data, where)

    return Watched


def test_a_ciphertext_made_to_open_under_another_key_is_still_the_wrong_key() -> None:
    """AES-GCM alone would accept a seal whose body was made under the other key."""
    key, other = Key.fresh(), Key.fresh()
    mine, theirs = seal.seal(key, WHERE, b"mine"), seal.seal(other, WHERE, b"theirs")
    mixed = mine[: 1 + COMMITMENT_BYTES] + theirs[1 + COMMITMENT_BYTES :]

    with pytest.raises(WrongKey):
        seal.unseal(other, WHERE, mixed, name="x")
    with pytest.raises(IntegrityError):
        seal.unseal(key, WHERE, mixed, name="x")


def test_a_hundred_thousand_seals_repeat_no_nonce() -> None:
    key = Key.fresh()

    nonces = {
        seal.seal(key, WHERE, b"")[HEADER_BYTES - NONCE_BYTES : HEADER_BYTES] for _ in range(SEALS)
    }

    assert len(nonces) == SEALS


def test_purposes_derive_keys_that_have_nothing_in_common() -> None:
    key = Key.fresh()
    purposes = ("content", "terms", "fingerprint", "head", "export", "key-id", "", "conten", "t")

    derived = [seal.derive(key, purpose) for purpose in purposes]

    assert len(set(derived)) == len(purposes)
    assert key.secret not in derived
    assert seal.derive(key, "terms") == seal.derive(key, "terms")
    assert seal.derive(Key.fresh(), "terms") != seal.derive(key, "terms")


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_a_key_has_exactly_thirty_two_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Key(os.urandom(size))


def test_a_link_depends_on_every_byte_before_it() -> None:
    first = chain.link(chain.GENESIS, b"one")

    assert chain.link(first, b"two") != chain.link(chain.GENESIS, b"two")
    assert chain.link(first, b"two") != chain.link(first, b"tw")
    assert len(first) == 32


def test_a_head_mark_needs_the_key_and_all_its_facts() -> None:
    key = Key.fresh()
    mark = chain.head_mark(key, "w", "s", 1, 2, 3, b"head")

    assert mark == chain.head_mark(key, "w", "s", 1, 2, 3, b"head")
    assert mark != chain.head_mark(Key.fresh(), "w", "s", 1, 2, 3, b"head")
    assert mark != chain.head_mark(key, "w", "s", 12, 3, b"head")
    assert mark != chain.head_mark(key, "w", "s", 1, 2, 4, b"head")
