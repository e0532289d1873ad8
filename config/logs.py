"""Log lines that tell where something failed and never what it was working on."""

import logging
import traceback
from types import TracebackType


class Reticent(logging.Formatter):
    """The text of an exception may quote the line of a session that caused it: frames and types
    are written, texts are not."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        error = ei[1]
        if error is None:
            return ""
        told = []
        seen: BaseException | None = error
        while seen is not None:
            told.append("".join(traceback.format_tb(seen.__traceback__)) + type(seen).__name__)
            seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
        return "\nraised while handling\n".join(told)
