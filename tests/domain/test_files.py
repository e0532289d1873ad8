"""Names of files: one spelling for one file, found by its letters alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain import files


@pytest.mark.parametrize(
    ("path", "cwd", "whole", "shown"),
    [
        ("src/a.py", "/home/ada/tally", "/home/ada/tally/src/a.py", "src/a.py"),
        ("/home/ada/tally/./src/../a.py", "/home/ada/tally", "/home/ada/tally/a.py", "a.py"),
        ("/etc/passwd", "/home/ada", "/etc/passwd", "/etc/passwd"),
        ("../../../../etc/passwd", "/home/ada", "/etc/passwd", "/etc/passwd"),
        ("~/.pi/theme.json", "/home/ada", "~/.pi/theme.json", "~/.pi/theme.json"),
        ("a.py", "", "a.py", "a.py"),
        (r"c:\Work\a.py", r"C:\Work", r"C:\Work\a.py", "a.py"),
        (r"src\a.py", r"c:\Work", r"C:\Work\src\a.py", r"src\a.py"),
        ("/home/adam/x", "/home/ada", "/home/adam/x", "/home/adam/x"),
        ("..%2f..%2fetc", "/w", "/w/..%2f..%2fetc", "..%2f..%2fetc"),
        ("a\0b", "/w", "/w/a\0b", "a\0b"),
    ],
)
def test_a_file_has_one_name(path: str, cwd: str, whole: str, shown: str) -> None:
    assert files.placed(path, cwd) == whole
    assert files.relative(whole, cwd) == shown


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_path_is_too_strange(path: str, cwd: str) -> None:
    whole = files.placed(path, cwd)

    assert len(whole) <= files.LONGEST_PATH
    assert isinstance(files.relative(whole, cwd), str)


def test_a_path_longer_than_any_is_cut() -> None:
    assert len(files.placed("a/" * 100_000, "/w")) == files.LONGEST_PATH
