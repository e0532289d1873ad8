"""What was looked for: in files, on the web."""

from sessions_app.domain.meanings import Find, Other, View, Web
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Fields, PartView

LONGEST = 1000
MOST = 20


def call(told: Find | View | Web | Other, pen: Pen) -> list[PartView]:
    """Nothing where the arguments themselves say it best."""
    fields = [(name, value[:LONGEST]) for name, value in _fields(told) if value][:MOST]
    pen.takes(sum(len(value) + 60 for _, value in fields))
    return [Fields(fields=tuple(fields))] if fields else []


def _fields(told: Find | View | Web | Other) -> list[tuple[str, str]]:
    match told:
        case Find():
            options = [_option(option) for option in told.options]
            return [("Pattern", told.pattern), ("In", told.where), *options]
        case View():
            return [("File", told.path), ("From line", str(told.first) if told.first > 1 else "")]
        case Web():
            queries = [("Search", query) for query in told.queries]
            return [*queries, ("Page", told.url), ("Asked", told.prompt)]
        case Other():
            return []


def _option(option: str) -> tuple[str, str]:
    name, _, value = option.partition(": ")
    return name, value
