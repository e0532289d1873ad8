"""Sessions that hang together, as a tree one can draw: each under the one it came from.

Links come from hostile logs: they may contradict each other and run in circles. Each session gets
at most one place; a link that does not fit into the tree is told beside it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_COLUMNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Bond:
    """One session came from another."""

    parent: int
    child: int
    # What the child is to its parent.
    kind: str
    evidence: str
    # How many ids speak for it.
    weight: int
    # Lower is better evidence of a closer tie.
    rank: int
    # The child is the same work going on, not a branch of it.
    goes_on: bool = False
    # It begins with what its parent said: copies of it do so too.
    is_copy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A session in the tree, in the order in which the tree is read."""

    member: int
    bond: Bond | None
    depth: int
    # Where it is drawn: a branch has a column of its own, what goes on stays in its column.
    column: int
    parent_row: int | None
    # Places below it, without itself.
    below: int
    # Links that found no place in the tree.
    beside: tuple[Bond, ...] = ()


def tree(members: Sequence[int], bonds: Iterable[Bond]) -> list[Place]:
    """`members` in the order of time, the first first."""
    order = {member: number for number, member in enumerate(members)}
    above, beside = _chosen(bonds, order)
    below: dict[int, list[Bond]] = defaultdict(list)
    for bond in above.values():
        below[bond.parent].append(bond)
    for children in below.values():
        # What goes on comes last, so that no line of a later branch runs through it.
        children.sort(key=lambda bond: (bond.goes_on, order[bond.child]))
    places: list[Place] = []
    for root in (member for member in members if member not in above):
        _laid_out(root, below, beside, places)
    return places


def _chosen(
    bonds: Iterable[Bond], order: dict[int, int]
) -> tuple[dict[int, Bond], dict[int, list[Bond]]]:
    """One parent each, by the best evidence. Of equal ones the nearest in time; but a copy is of
    the first, as the others are copies themselves."""
    above: dict[int, Bond] = {}
    beside: dict[int, list[Bond]] = defaultdict(list)
    known = [bond for bond in bonds if bond.parent in order and bond.child in order]

    def preference(bond: Bond) -> tuple[int, int, int, int]:
        at = order[bond.parent]
        return bond.rank, -bond.weight, at if bond.is_copy else -at, bond.child

    for bond in sorted(known, key=preference):
        if bond.child in above or _leads_to(bond.parent, bond.child, above):
            beside[bond.child].append(bond)
        else:
            above[bond.child] = bond
    return above, beside


def _leads_to(member: int, wanted: int, above: dict[int, Bond]) -> bool:
    """Whether `wanted` is the member itself or stands above it."""
    while member != wanted:
        if member not in above:
            return False
        member = above[member].parent
    return True


def _laid_out(
    root: int,
    below: dict[int, list[Bond]],
    beside: dict[int, list[Bond]],
    places: list[Place],
) -> None:
    """Depth first, by a stack: a chain may be as long as there are sessions."""
    sizes = _sizes(root, below)
    stack: list[tuple[int, Bond | None, int, int, int | None]] = [(root, None, 0, 0, None)]
    while stack:
        member, bond, depth, column, parent_row = stack.pop()
        row = len(places)
        places.append(
            Place(
                member=member,
                bond=bond,
                depth=depth,
                column=min(column, MOST_COLUMNS),
                parent_row=parent_row,
                below=sizes[member] - 1,
                beside=tuple(beside.get(member, ())),
            )
        )
        children = below.get(member, [])
        for number, each in enumerate(reversed(children)):
            stays = each.goes_on and number == 0
            stack.append((each.child, each, depth + 1, column + (not stays), row))


def _sizes(root: int, below: dict[int, list[Bond]]) -> dict[int, int]:
    walk = [root]
    for member in walk:
        walk += [bond.child for bond in below.get(member, [])]
    sizes: dict[int, int] = {}
    for member in reversed(walk):
        sizes[member] = 1 + sum(sizes[bond.child] for bond in below.get(member, []))
    return sizes
