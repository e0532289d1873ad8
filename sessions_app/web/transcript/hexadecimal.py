"""Bytes of a line, sixteen in a row, as numbers and as letters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HexRow:
    offset: str
    hex: str
    ascii: str


def rows(raw: bytes) -> list[HexRow]:
    return [
        HexRow(
            offset=f"{at:08x}",
            hex=raw[at : at + 16].hex(" "),
            ascii="".join(chr(b) if 32 <= b < 127 else "·" for b in raw[at : at + 16]),
        )
        for at in range(0, len(raw), 16)
    ]
