"""JSON values as text for people."""

import orjson

TOO_DEEP = "(nested too deeply to be laid out: see the raw line)"


def laid_out(value: object) -> str:
    """What orjson reads may be nested deeper than it writes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:
        return TOO_DEEP
