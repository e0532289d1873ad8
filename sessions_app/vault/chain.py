"""The chain of a session's chunks: each hash vouches for its own sealed bytes and all before."""

import hashlib
import hmac

from sessions_app.vault.seal import Key, derive, place

GENESIS = b"\0" * 32


def link(previous: bytes, sealed: bytes) -> bytes:
    """The seal commits to key, place and plain text, so hashing it covers all three without
    giving an outsider a hash of the text to guess against."""
    return hashlib.sha256(b"recount/chunk/v1" + previous + sealed).digest()


def head_mark(key: Key, *facts: str | int | bytes) -> bytes:
    """A keyed mark over head hash and counts: whoever can write to the database but has no key
    cannot cut the record short and make the head agree."""
    return hmac.new(derive(key, "head"), place(*facts), hashlib.sha256).digest()


def same(left: bytes, right: bytes) -> bool:
    return hmac.compare_digest(left, right)
