"""Log files that stay small and private, and a terminal that programs cannot steer."""

from __future__ import annotations

import io
import stat
from pathlib import Path

from runtime.output import Follower, RotatedFile, Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    def write(self, _text: str, /) -> int:
        raise BrokenPipeError


def test_a_log_file_is_private_and_two_older_ones_are_kept(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "web.log", largest=100)
    for number in range(50):
        file.write(f"line {number:02}, twenty wide")
    file.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["web.log", "web.log.1", "web.log.2"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.iterdir())
    assert "line 49" in (tmp_path / "web.log").read_text()


def test_a_follower_reads_whole_lines_across_a_rotation(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "web.log", largest=40)
    file.write("before")
    follower = Follower(tmp_path / "web.log")
    assert follower.lines() == []
    file.write("first")
    assert follower.lines() == ["first"]
    file.write("x" * 30)
    assert follower.lines() == ["x" * 30]
    file.close()


def test_a_follower_waits_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "late.log")
    assert follower.lines() == []
    (tmp_path / "late.log").write_text("hello\nhal")
    assert follower.lines() == ["hello"]
    with (tmp_path / "late.log").open("a") as file:
        file.write("f\n")
    assert follower.lines() == ["half"]


def test_colour_is_for_a_person_who_wants_it() -> None:
    for screen, environment, coloured in (
        (Screen(), {}, True),
        (Screen(), {"NO_COLOR": "1"}, False),
        (io.StringIO(), {}, False),
    ):
        Terminal(screen, environment).line("web", "hello")
        assert ("\x1b[" in screen.getvalue()) is coloured
        assert screen.getvalue().endswith(" hello\n")


def test_control_characters_of_a_program_never_reach_the_terminal() -> None:
    screen = io.StringIO()
    Terminal(screen, {}).line("web", "a\x1b[2Jb\x07c\x1b]0;title\x07d\te")
    assert screen.getvalue() == "web      | abc]0;titled\te\n"


def test_a_reader_that_went_away_stops_nothing() -> None:
    Terminal(Gone(), {}).say("hello")
