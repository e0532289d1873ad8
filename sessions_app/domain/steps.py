"""A plain iterator for an asynchronous server: Django would read it to its end before it sends the
first byte."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def in_steps(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    step = sync_to_async(lambda: next(pieces, None))
    while (piece := await step()) is not None:
        yield piece
