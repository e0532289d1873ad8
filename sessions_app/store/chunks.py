"""One chunk: raw lines ⇄ compressed and sealed bytes, bound to their place in the chain."""

import threading
from dataclasses import dataclass
from uuid import UUID

import zstandard

from sessions_app.domain.errors import IntegrityError
from sessions_app.vault import chain, seal
from sessions_app.vault.seal import Key

# About this much raw text is sealed at a time. Smaller costs index entries and rows, larger
# costs the reader of a single line.
CHUNK_BYTES = 256 * 1024
# A line above this is cut into pieces of this size, so that no line has to fit into memory.
PIECE_BYTES = 1024 * 1024
LEVEL = 3


class _Contexts(threading.local):
    """Costly to make, and not to be shared between threads."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_local = _Contexts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose chunk: the part of a place that is the same for all chunks of a session."""

    workspace_id: UUID
    uid: UUID
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a chunk stands. All of it is bound into the seal."""

    no: int
    first_seq: int
    lines: int
    first_byte: int
    raw_len: int
    previous: bytes

    def bound(self, owner: Owner) -> bytes:
        return seal.place(
            "chunk",
            str(owner.workspace_id),
            str(owner.uid),
            self.no,
            self.first_seq,
            self.lines,
            self.first_byte,
            self.raw_len,
            self.previous,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RawChunk:
    """A chunk before it is sealed. One that is not full will be sealed again when it has grown."""

    no: int
    first_seq: int
    lines: int
    first_byte: int
    raw: bytes
    terms: bytes
    is_full: bool

    def after(self, previous: bytes) -> Place:
        return Place(
            no=self.no,
            first_seq=self.first_seq,
            lines=self.lines,
            first_byte=self.first_byte,
            raw_len=len(self.raw),
            previous=previous,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedChunk:
    place: Place
    sealed: bytes
    hash: bytes
    terms: bytes


def sealed(owner: Owner, place: Place, raw: bytes, terms: bytes) -> SealedChunk:
    packed = seal.seal(owner.key, place.bound(owner), _local.compressor.compress(raw))
    return SealedChunk(
        place=place, sealed=packed, hash=chain.link(place.previous, packed), terms=terms
    )


def opened(owner: Owner, place: Place, sealed_bytes: bytes) -> bytes:
    name = f"chunk {place.no} of session {owner.uid}"
    packed = seal.unseal(owner.key, place.bound(owner), sealed_bytes, name=name)
    raw: bytes = _local.decompressor.decompress(packed, max_output_size=place.raw_len)
    if len(raw) != place.raw_len:
        raise IntegrityError(f"{name}: {len(raw)} bytes where {place.raw_len} are recorded")
    return raw
