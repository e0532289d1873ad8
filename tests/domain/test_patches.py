"""What an edit changes, line by line."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import patches
from sessions_app.domain.patches import Line

lines = st.lists(st.sampled_from(["a", "b", "c", "", "long line"]), max_size=30)


def signs(change: patches.Change) -> str:
    return "".join(line.sign for line in change.lines)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\nb\nc", "a\nx\nc", " -+ "),
        ("", "a\nb", "++"),
        ("a\nb", "", "--"),
        ("a\nb\n", "a\nb", "  "),
        ("a\nb\nc\nd", "a\nc\nd\ne", " -  +"),
        ("1\n2\n3\n4\n5\n6\n7\nx", "1\n2\n3\n4\n5\n6\n7\ny", "@   -+"),
    ],
)
def test_two_texts_become_signed_lines(old: str, new: str, expected: str) -> None:
    assert signs(patches.of_texts("f", old, new)) == expected


@given(lines, lines)
def test_the_old_and_the_new_text_can_be_read_back(old: list[str], new: list[str]) -> None:
    found = list(patches._compared(old, new))
    assert [line.text for line in found if line.sign in " -"] == old
    assert [line.text for line in found if line.sign in " +"] == new


def test_a_pair_of_lines_says_where_they_differ() -> None:
    change = patches.of_texts("f", "total = count(lines)", "total = count(rows)")
    assert change.lines == (
        Line("-", "total = count(lines)", 14, 18),
        Line("+", "total = count(rows)", 14, 17),
    )


def test_lines_that_share_nothing_carry_no_mark() -> None:
    change = patches.of_texts("f", "abcdefghij", "0123456789")
    assert {(line.start, line.end) for line in change.lines} == {(0, 0)}


def test_the_verb_and_the_numbers() -> None:
    change = patches.of_texts("f", "", "a\nb")
    assert (change.verb, change.added, change.removed) == ("added", 2, 0)


def test_long_and_unlike_texts_are_compared_in_time_and_cut() -> None:
    old = "\n".join(f"{n * 7 % 13}" for n in range(50_000))
    new = "\n".join(f"{n * 5 % 11}" for n in range(50_000))
    begun = time.process_time()
    change = patches.of_texts("f", old, new)
    assert time.process_time() - begun < 1
    assert change.is_cut
    assert len(change.lines) <= 2 * patches.MOST_LINES


def test_a_patch_in_an_envelope() -> None:
    text = (
        "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@ def f():\n"
        " x\n-old\n+new\n*** Add File: c.txt\n+hello\n*** Delete File: d.txt\n*** End Patch"
    )
    found = patches.of_patch(text)
    assert [(c.path, c.verb, c.added, c.removed) for c in found] == [
        ("src/a.py → src/b.py", "moved", 1, 1),
        ("c.txt", "added", 1, 0),
        ("d.txt", "deleted", 0, 0),
    ]
    assert found[0].lines[0] == Line("@", "def f():")


def test_a_patch_of_git_and_a_plain_one() -> None:
    git = (
        "diff --git a/x.sql b/x.sql\nindex 1..2 100644\n--- a/x.sql\n+++ b/x.sql\n"
        "@@ -1,2 +1,2 @@\n--- an old remark\n+-- a new one\n select 1;\n"
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+hi\n"
    )
    assert [(c.path, c.verb, c.added, c.removed) for c in patches.of_patch(git)] == [
        ("x.sql", "changed", 1, 1),
        ("n", "added", 1, 0),
    ]
    plain = "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+b\n--- two\n+++ two\n@@ -1 +1 @@\n-c\n+d"
    assert [(c.path, c.added) for c in patches.of_patch(plain)] == [("one", 1), ("two", 1)]


@given(st.text(alphabet=st.sampled_from("*-+ @\ndiff git a/b/"), max_size=300))
def test_no_patch_raises(text: str) -> None:
    patches.of_patch(text)
    patches.of_patch("*** Begin Patch\n*** Update File: x\n" + text)
