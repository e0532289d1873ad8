"""What the web answered: links that were found, or the text of a page."""

import re

import orjson

from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Links, LinkView, PartView, Prose

MOST_LINKS = 30
LONGEST = 300
# Links are handed over as JSON inside the text.
FOUND = re.compile(r"^Links: (\[.*\])\s*$", re.MULTILINE)


def result(text: str, pen: Pen) -> list[PartView]:
    found = FOUND.search(text[:200_000])
    links = _links(found[1]) if found else ()
    if not found or not links:
        return [Prose(html=pen.markdown(text), is_markdown=True)] if text.strip() else []
    pen.takes(sum(len(link.title) + len(link.address) * 2 + 90 for link in links))
    rest = (text[: found.start()] + text[found.end() :]).strip()
    parts: list[PartView] = [Links(links=links)]
    if rest:
        parts.append(Prose(html=pen.markdown(rest), is_markdown=True))
    return parts


def _links(text: str) -> tuple[LinkView, ...]:
    try:
        items = orjson.loads(text)
    except ValueError:
        return ()
    found = [item for item in items[:MOST_LINKS] if isinstance(item, dict)]
    return tuple(_link(item.get("title"), item.get("url")) for item in found)


def _link(title: object, url: object) -> LinkView:
    address = url[:LONGEST] if isinstance(url, str) else ""
    is_safe = address.startswith(("https://", "http://")) and address.isascii()
    name = title[:LONGEST] if isinstance(title, str) and title else address
    return LinkView(title=name, url=address if is_safe else "", address=address)
