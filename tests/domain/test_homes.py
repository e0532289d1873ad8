"""Whose home a path lies in."""

import pytest

from sessions_app.domain import homes


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/api", "ada"),
        ("/Users/Grace Hopper/work", "Grace Hopper"),
        ("/home/ada", "ada"),
        ("C:\\Users\\ada\\api", "ada"),
        ("\\\\?\\d:\\users\\ada", "ada"),
        ("/mnt/c/Users/ada/api", "ada"),
        ("/root/api", "root"),
        ("/root", "root"),
        ("/rooted/api", ""),
        ("/Users/Shared/api", ""),
        ("/srv/home/ada", ""),
        ("/tmp/ada", ""),
        ("home/ada", ""),
        ("/home/", ""),
        ("", ""),
    ],
)
def test_a_path_tells_whose_home_it_lies_in(path: str, name: str) -> None:
    assert homes.owner(path) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/.claude/projects/a.jsonl", "ada"),
        ("C:\\Users\\ada\\.codex\\a.jsonl", "ada"),
        ("/home/auditor/evidence/a.jsonl", ""),
        ("/data/.claude/a.jsonl", ""),
    ],
)
def test_a_log_is_kept_by_an_account_only_below_a_hidden_folder_of_its_home(
    path: str, name: str
) -> None:
    assert homes.keeper(path) == name
