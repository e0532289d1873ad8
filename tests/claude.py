"""Lines of a Claude Code log, said in one call each: what transcripts are tested with."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

START = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
MODEL = "claude-opus-4-5-20251101"


class Log:
    """Takes lines one after the other, a second apart."""

    def __init__(self, name: str = "11111111-1111-4111-8111-111111111111") -> None:
        self.name = name
        self.lines: list[bytes] = []
        self.at = START

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def wait(self, **time: float) -> "Log":
        self.at += timedelta(**time)
        return self

    def add(self, kind: str, **fields: Any) -> "Log":
        number = len(self.lines)
        record = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": self.name,
            "cwd": "/home/ada/tally",
            "gitBranch": "main",
            "version": "2.1.62",
            "timestamp": self.at.isoformat().replace("+00:00", "Z"),
            **fields,
        }
        self.lines.append(orjson.dumps(record) + b"\n")
        return self.wait(seconds=1)

    def prompt(self, text: str, **more: Any) -> "Log":
        return self.add("user", message={"role": "user", "content": text}, **more)

    def _says(self, block: dict[str, Any], output: int, model: str) -> "Log":
        usage = {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 100}
        number = len(self.lines)
        message = {
            "id": f"m{number}",
            "role": "assistant",
            "model": model,
            "content": [block],
            "usage": usage,
        }
        return self.add("assistant", requestId=f"r{number}", message=message)

    def answer(self, text: str, output: int = 20, model: str = MODEL) -> "Log":
        return self._says({"type": "text", "text": text}, output, model)

    def think(self, text: str) -> "Log":
        return self._says({"type": "thinking", "thinking": text, "signature": "x"}, 5, MODEL)

    def call(self, name: str, arguments: object, own: str = "") -> "Log":
        own = own or f"toolu_{len(self.lines)}"
        return self._says(
            {"type": "tool_use", "id": own, "name": name, "input": arguments}, 7, MODEL
        )

    def result(self, content: object, own: str = "", is_error: bool = False, **more: Any) -> "Log":
        own = own or f"toolu_{len(self.lines) - 1}"
        block = {"type": "tool_result", "tool_use_id": own, "content": content}
        if is_error:
            block["is_error"] = True
        return self.add("user", message={"role": "user", "content": [block]}, **more)

    def bash(self, command: str, output: str, is_error: bool = False) -> "Log":
        return self.call("Bash", {"command": command}).result(output, is_error=is_error)

    def record(self, kind: str = "progress", **fields: Any) -> "Log":
        return self.add(kind, **(fields or {"data": {"type": "hook_progress"}}))

    def compaction(self) -> "Log":
        self.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
        text = {"role": "user", "content": "This session is being continued."}
        return self.add("user", message=text, isCompactSummary=True)


def work(turns: int, calls: int = 3) -> Log:
    """So many turns, each with a prompt, calls with results, the last of them failing now and
    then, and an answer."""
    log = Log()
    for turn in range(turns):
        log.prompt(f"Please do step {turn}")
        for number in range(calls):
            log.bash(f"make step{turn}-{number}", f"output {turn}-{number}", turn % 10 == 9)
        log.answer(f"Step {turn} is done.")
    return log
