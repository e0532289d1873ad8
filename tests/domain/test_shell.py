"""Shell commands: what they do to files is told only where it is beyond doubt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain import shell
from sessions_app.domain.files import Altered, Deed, Erased, Inserted, Shown, Written

READ, WRITE, EDIT, DELETE, RENAME = Deed.READ, Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.RENAME


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cat a.txt", [(READ, "/w/a.txt")]),
        ("cat a b 'c d'", [(READ, "/w/a"), (READ, "/w/b"), (READ, "/w/c d")]),
        ("sed -n '1,200p' src/x.py", [(READ, "/w/src/x.py")]),
        ("nl -ba b | sed -n '3,4p'", [(READ, "/w/b")]),
        ("cat x && nl /etc/y", [(READ, "/w/x"), (READ, "/etc/y")]),
        ("head -n 40 f", [(READ, "/w/f")]),
        ("tail -40 f", [(READ, "/w/f")]),
        ("cd sub && cat f", [(READ, "/w/sub/f")]),
        ("cat f 2>/dev/null", [(READ, "/w/f")]),
        ("cat f || cat g", [(READ, "/w/f")]),
        ("sed -i 's/a/b/' f g", [(EDIT, "/w/f"), (EDIT, "/w/g")]),
        ("sed -i '' 's/a/b/' f", [(EDIT, "/w/f")]),
        ("echo hi > o.txt", [(WRITE, "/w/o.txt")]),
        ("make > log 2>&1", [(WRITE, "/w/log")]),
        ("jq . a | tee b.json", [(WRITE, "/w/b.json")]),
        ("cp a b", [(WRITE, "/w/b")]),
        ("mv a b", [(RENAME, "/w/a"), (RENAME, "/w/b")]),
        ("git checkout -- a", [(EDIT, "/w/a")]),
        ("git restore a", [(EDIT, "/w/a")]),
        ("rm -f a b", [(DELETE, "/w/a"), (DELETE, "/w/b")]),
    ],
)
def test_a_plain_command_names_its_files(command: str, told: list[tuple[Deed, str]]) -> None:
    assert [(act.deed, act.path) for act in shell.acts(command, "/w")] == told


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "rm -rf folder",
        "cat *.py",
        "cat $FILE",
        "cat $(find . -name x)",
        "for f in a b; do cat $f; done",
        "if true; then cat a; fi",
        "grep '>' file",
        r"find . -exec cat {} \;",
        "cat 'unbalanced",
        "make 2> errors.txt",
        "cat > x <<EOF\n$HOME\nEOF",
        "cat > x <<'EOF'\nno end",
        "cat > x <<'EOF'\nhi\nEOF\nrm y",
        "cat > /dev/null",
        "",
        "\0",
        "cat " + "a" * 100_000,
    ],
)
def test_a_command_that_leaves_doubt_says_nothing(command: str) -> None:
    assert shell.acts(command, "/w") == []


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("cat > a <<'EOF'\none\ntwo\nEOF", "/w/a", "one\ntwo\n"),
        ("cat <<'E' > a\nE\n", "/w/a", ""),
        ('cd /tmp && cat > b.md <<"END"\n$x `y`\nEND\n', "/tmp/b.md", "$x `y`\n"),
        ("cat > a <<'EOF'\nEOFX\n EOF\nEOF", "/w/a", "EOFX\n EOF\n"),
    ],
)
def test_a_text_written_out_is_the_file(command: str, path: str, text: str) -> None:
    (act,) = shell.acts(command, "/w")

    assert (act.deed, act.path, act.change) == (WRITE, path, Written(text=text))


def test_a_text_may_be_put_behind_what_is_there() -> None:
    (act,) = shell.acts("cat >> a <<'EOF'\nmore\nEOF", "/w")

    assert act.change == Inserted(text="more\n")


def test_what_a_command_prints_is_not_taken_for_the_file() -> None:
    assert shell.acts("cat a", "/w")[0].change == Shown()
    assert shell.acts("sort a > b", "/w")[0].change == Altered()


def test_whether_a_file_is_gone_is_certain_only_if_every_step_had_to_work() -> None:
    assert shell.acts("true && rm a", "/w")[0].change == Erased()
    assert shell.acts("false; rm a; true", "/w")[0].change == Altered()


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_command_is_too_strange(command: str, cwd: str) -> None:
    shell.acts(command, cwd)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *("cat", "rm", "mv", "sed", "-i", "-n", "a", "b", ">", ">>", "|", "&&", ";", "||"),
                *(
                    "cd",
                    "<<'E'\n",
                    "\nE\n",
                    "'",
                    '"',
                    "2>&1",
                    "git",
                    "checkout",
                    "--",
                    "head",
                    "(",
                    "&",
                ),
            ]
        )
    ).map(" ".join)
)
def test_no_row_of_words_is_too_strange(command: str) -> None:
    shell.acts(command, "/w")
