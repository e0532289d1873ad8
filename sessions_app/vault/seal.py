"""Seal and open: AES-256-GCM under a key derived for one purpose, bound to its place.

    sealed = version (1) | commitment (32) | nonce (12) | ciphertext and tag

The commitment is derived from the same data key by HKDF and compared before anything is
decrypted: AES-GCM alone would let one ciphertext open under two keys. The place (workspace, kind
of object, object, number, …) is additional data, so a seal moved elsewhere does not open.
"""

import hmac
import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sessions_app.domain.errors import IntegrityError, WrongKey

VERSION = b"\x01"
KEY_BYTES = 32
NONCE_BYTES = 12
COMMITMENT_BYTES = 32
HEADER_BYTES = 1 + COMMITMENT_BYTES + NONCE_BYTES
OVERHEAD_BYTES = HEADER_BYTES + 16


@dataclass(frozen=True, slots=True)
class Key:
    """Thirty-two secret bytes. Its text form says nothing, so that no log can."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(self.secret)}")

    def __reduce__(self) -> NoReturn:
        """A pickle would carry the bytes to wherever it is written."""
        raise TypeError("a key is not pickled or copied")

    @classmethod
    def fresh(cls) -> "Key":
        return cls(os.urandom(KEY_BYTES))


def derive(key: Key, purpose: str, length: int = KEY_BYTES) -> bytes:
    """HKDF keeps the uses of one key apart: content, terms, paths, head, export."""
    info = b"recount/v1/" + purpose.encode()
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(key.secret)


@lru_cache(maxsize=4096)
def _content(key: Key) -> tuple[AESGCM, bytes]:
    both = derive(key, "content", KEY_BYTES + COMMITMENT_BYTES)
    return AESGCM(both[:KEY_BYTES]), both[KEY_BYTES:]


def place(*parts: str | int | bytes) -> bytes:
    """Canonical bytes of where a seal lives: each part tagged by type and preceded by its length,
    so that no two different places share their bytes."""
    out = bytearray(VERSION)
    for part in parts:
        match part:
            case bytes():
                tag, raw = b"b", part
            case int():
                tag, raw = b"i", str(part).encode()
            case str():
                tag, raw = b"s", part.encode()
        out += tag + len(raw).to_bytes(4, "big") + raw
    return bytes(out)


def seal(key: Key, where: bytes, plain: bytes) -> bytes:
    cipher, commitment = _content(key)
    nonce = os.urandom(NONCE_BYTES)
    return b"".join((VERSION, commitment, nonce, cipher.encrypt(nonce, plain, where)))


def unseal(key: Key, where: bytes, sealed: bytes, *, name: str) -> bytes:
    """The plain bytes, or an error that names the object; never a part of them."""
    if len(sealed) < OVERHEAD_BYTES or sealed[:1] != VERSION:
        raise IntegrityError(f"{name}: not a seal of this version, or cut short")
    cipher, commitment = _content(key)
    if not hmac.compare_digest(sealed[1 : 1 + COMMITMENT_BYTES], commitment):
        raise WrongKey(f"{name}: sealed under another key")
    nonce = sealed[1 + COMMITMENT_BYTES : HEADER_BYTES]
    try:
        return cipher.decrypt(nonce, sealed[HEADER_BYTES:], where)
    except InvalidTag:
        raise IntegrityError(f"{name}: the sealed bytes were changed or moved") from None


def forget() -> None:
    """Drop derived keys from memory, after a shred or a rotation."""
    _content.cache_clear()
