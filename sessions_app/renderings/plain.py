"""What is no particular work: words, thoughts, values, files that are only described."""

import orjson

from sessions_app.domain.events import Data, Picture, Role, ToolCall, says_something
from sessions_app.formats import json_lines
from sessions_app.renderings import commands
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Code, PartView, Prose, Remark, Thought, Tree
from sessions_app.templatetags.show import human_bytes

MOST_NODES = 120
MOST_NODES_ALONE = 2_000
LONGEST_LEAF = 2_000
DEEPEST = 10
LARGEST_JSON = 400_000
# Markup of one value of a tree.
NODE = 90


def said(text: str, role: Role, pen: Pen) -> list[PartView]:
    if not says_something(text):
        return []
    if role is Role.ASSISTANT:
        return [Prose(html=pen.markdown(text), is_markdown=True)]
    return [Prose(html=pen.prose_text(text.strip("\n")))]


def thought(text: str, pen: Pen) -> list[PartView]:
    return [Thought(html=pen.prose_text(text.strip("\n")))] if says_something(text) else []


def data(part: Data, pen: Pen) -> list[PartView]:
    if isinstance(part.value, str):
        return [Code(html=pen.text(part.value), label=part.label or "text")]
    return [_tree(part.value, pen, part.label)]


def described(part: Picture) -> list[PartView]:
    size = f", {human_bytes(part.size)}" if part.size else ""
    return [Remark(icon="image", text=f"{part.media_type or 'image'}{size}")]


def arguments(call: ToolCall, pen: Pen) -> list[PartView]:
    if isinstance(call.arguments, str):
        return [Code(html=pen.text(call.arguments), label="input")] if call.arguments else []
    return [] if call.arguments in (None, {}, []) else [_tree(call.arguments, pen)]


def answer(text: str, pen: Pen) -> list[PartView]:
    """JSON as a tree, anything else as it was printed."""
    if text[:1] in ("{", "[") and len(text) <= LARGEST_JSON:
        try:
            return [_tree(orjson.loads(text), pen)]
        except ValueError:
            pass
    return commands.result(text, pen)


def record(fields: object, pen: Pen) -> list[PartView]:
    return [_tree(fields, pen)]


def unread(reason: str, text: str, pen: Pen) -> list[PartView]:
    remark: list[PartView] = [Remark(icon="binary", text=reason)] if reason else []
    # Of a blank line there is nothing to see.
    shown: list[PartView] = [Code(html=pen.text(text), label="line")] if text.strip() else []
    return [*remark, *shown]


def _tree(value: object, pen: Pen, label: str = "") -> Tree:
    most = MOST_NODES_ALONE if pen.part > 10_000 else MOST_NODES
    pruner = _Pruner(min(most, max(5, pen.room // NODE)), min(LONGEST_LEAF, max(200, pen.room)))
    pruned = pruner.prune(value, 0)
    pen.takes(pruner.size)
    pen.is_cut |= pruner.is_cut
    return Tree(value=pruned, label=label)


class _Pruner:
    """A value cut down to what a page can bear: hostile JSON is wide, deep and long."""

    def __init__(self, nodes: int, longest: int) -> None:
        self.nodes, self.longest = nodes, longest
        self.size = 0
        self.is_cut = False

    def prune(self, value: object, depth: int) -> object:
        self.nodes -= 1
        self.size += NODE
        if isinstance(value, dict | list) and depth >= DEEPEST:
            self.is_cut = True
            return json_lines.text(value)[:200]
        if isinstance(value, dict):
            return {
                str(key)[:200]: self.prune(inner, depth + 1)
                for key, inner in value.items()
                if self._has_room()
            }
        if isinstance(value, list):
            return [self.prune(inner, depth + 1) for inner in value if self._has_room()]
        if isinstance(value, str) and len(value) > self.longest:
            self.is_cut = True
            value = f"{value[: self.longest]}…"
        self.size += len(value) if isinstance(value, str) else 8
        return value

    def _has_room(self) -> bool:
        self.is_cut |= self.nodes <= 0
        return self.nodes > 0
