"""Changes of files as lines that go and come."""

from collections.abc import Iterable, Iterator

from sessions_app.domain import patches
from sessions_app.domain.meanings import Edit, Patch, Write
from sessions_app.domain.patches import Change
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Code, Diff, FileChange, PartView
from sessions_app.templatetags import differences

LONGEST_LINE = 400
# Signs and elements around a line.
AROUND = 14


def call(told: Edit | Write | Patch, pen: Pen) -> list[PartView]:
    changes = list(_changes(told))
    if not changes and isinstance(told, Patch):
        return [Code(html=pen.text(told.text), label="patch")]
    return [shown(changes, pen)]


def _changes(told: Edit | Write | Patch) -> Iterator[Change]:
    match told:
        case Edit():
            for each in told.changes:
                yield patches.of_texts(told.path, each.old, each.new)
        case Write():
            yield patches.of_texts(told.path, "", told.content)
        case Patch():
            yield from patches.of_patch(told.text)


def shown(changes: Iterable[Change], pen: Pen) -> Diff:
    found = list(changes)
    made = tuple(_file(change, pen) for change in found)
    return Diff(changes=made, lines=sum(len(change.lines) for change in found))


def _file(change: Change, pen: Pen) -> FileChange:
    left = max(600, min(pen.part * 2, pen.room))
    kept = []
    for line in change.lines:
        left -= min(len(line.text), LONGEST_LINE) + AROUND
        if left < 0:
            break
        kept.append(line)
    html = differences.lines(kept, longest=LONGEST_LINE)
    pen.takes(len(html))
    is_cut = change.is_cut or len(kept) < len(change.lines)
    pen.is_cut |= is_cut
    return FileChange(
        path=change.path[:1000],
        verb=change.verb,
        added=change.added,
        removed=change.removed,
        html=html,
        is_cut=is_cut,
    )
