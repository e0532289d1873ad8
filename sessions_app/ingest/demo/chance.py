"""Seeded chance for the demo, drawn only with methods whose results never change."""

import zlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def seeded(name: str) -> Random:
    return Random(zlib.crc32(name.encode()))  # noqa: S311  (a story, not a secret)


def below(rng: Random, limit: int) -> int:
    return (rng.getrandbits(32) * limit) >> 32


def between(rng: Random, low: int, high: int) -> int:
    return low + below(rng, high - low + 1)


def pick(rng: Random, options: Sequence[T]) -> T:
    return options[below(rng, len(options))]


def uuid(rng: Random) -> str:
    text = f"{rng.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def token(rng: Random, length: int) -> str:
    letters = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz"
    return "".join(letters[below(rng, len(letters))] for _ in range(length))
