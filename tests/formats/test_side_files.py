"""Files beside a log: which of them a line names."""

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.formats import side_files


def test_a_line_names_the_file_that_has_the_whole_output_once() -> None:
    line = (
        rb'{"content":"<persisted-output>\nsaved to: /h/s/tool-results/toolu_1.txt\n\nPreview",'
        rb'"toolUseResult":{"persistedOutputPath":"/h/s/tool-results/toolu_1.txt"}}'
    )

    assert side_files.named_in(line) == ["toolu_1.txt"]
    windows = rb'{"persistedOutputPath":"C:\\h\\s\\tool-results\\b1.txt"}'
    assert side_files.named_in(windows) == ["b1.txt"]


def test_a_path_that_is_only_spoken_of_is_no_output_of_the_line() -> None:
    assert side_files.named_in(b'{"content":"see /h/s/tool-results/a.txt"}') == []


@given(st.binary(max_size=200))
def test_no_line_is_too_strange(line: bytes) -> None:
    side_files.named_in(b"persisted" + line)
