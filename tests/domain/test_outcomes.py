"""How a command ended, from what its output says."""

import pytest

from sessions_app.domain import outcomes
from sessions_app.domain.outcomes import Outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain output", Outcome(text="plain output")),
        ("", Outcome(text="")),
        (
            "Chunk ID: 2238c8\nWall time: 0.1597 seconds\nProcess exited with code 0\n"
            "Original token count: 1009\nOutput:\n{}",
            Outcome(text="{}", exit_code=0, seconds=0.1597),
        ),
        (
            "Exit code: 1\nWall time: 2 seconds\nOutput:\nno",
            Outcome(text="no", exit_code=1, seconds=2.0),
        ),
        (
            '{"output":"hi\\n","metadata":{"exit_code":2,"duration_seconds":0.5}}',
            Outcome(text="hi\n", exit_code=2, seconds=0.5),
        ),
        ("Exit code 1\nfailed", Outcome(text="failed", exit_code=1)),
        (
            "done\n<exited with exit code 0>",
            Outcome(text="done\n<exited with exit code 0>", exit_code=0),
        ),
        (
            "hi\n<shellId: 3 completed with exit code 2>",
            Outcome(text="hi\n<shellId: 3 completed with exit code 2>", exit_code=2),
        ),
        ("Output: x\nExit Code: 3\n", Outcome(text="Output: x\nExit Code: 3\n", exit_code=3)),
        ('{"output": 1}', Outcome(text='{"output": 1}')),
        ('{"output"', Outcome(text='{"output"')),
    ],
)
def test_facts_are_told_apart_from_the_output(text: str, expected: Outcome) -> None:
    assert outcomes.of(text) == expected
