"""Codex rollouts: session_meta, then response items and their event echoes, turn by turn."""

from collections.abc import Iterator

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.chance import between, token, uuid
from sessions_app.ingest.demo.shapes.jsonl import Record, inline, line
from sessions_app.ingest.demo.story import Clock, Story

_INSTRUCTIONS = (
    "You are a coding agent working in the user's terminal. Keep changes small, run the tests you "
    "touch, say what you did and what you left, and ask before anything that cannot be undone."
)
_COMMANDS = {
    "bash": "{command}",
    "read": "cat {path}",
    "grep": "rg -n {pattern}",
    "fetch": "curl -sS {url}",
}


def path(story: Story) -> str:
    return f".codex/archived_sessions/rollout-{story.session}.jsonl"


def write(story: Story, clock: Clock) -> Iterator[bytes]:
    pen = _Pen(story, clock)
    yield pen.header()
    for beat in story.beats():
        yield from pen.put(beat)
    yield from pen.end_turn()


class _Pen:
    def __init__(self, story: Story, clock: Clock) -> None:
        self.story, self.clock, self.ids = story, clock, story.ids()
        self.turn = self.last_said = ""
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}

    def header(self) -> bytes:
        return self._line(
            "session_meta",
            {
                "id": self.story.session,
                "timestamp": self.clock.stamp,
                "cwd": self.story.folder,
                "originator": "codex_cli_rs",
                "cli_version": "0.118.0",
                "source": "cli",
                "model_provider": "openai",
                "base_instructions": {"text": _INSTRUCTIONS},
                "git": {
                    "branch": self.story.branch,
                    "commit_hash": f"{self.ids.getrandbits(160):040x}",
                },
            },
        )

    def put(self, beat: beats.Beat) -> Iterator[bytes]:
        match beat:
            case beats.Words(role="user", text=text):
                yield from self.end_turn()
                yield from self._prompt(text)
            case beats.Words(role="assistant", text=text):
                yield from self._answer(text)
            case beats.Thought(text=text):
                yield from self._reasoning(text)
            case beats.Call():
                yield from self._call(beat)
            case beats.Pause(minutes=minutes):
                yield from self.end_turn()
                self.clock.skip(minutes)
            case beats.Trouble(text=text):
                yield self._event("error", message=text)
            case beats.Compaction(text=text):
                yield self._line("compacted", {"message": text})
                yield self._event("context_compacted")
            case _:
                return

    def end_turn(self) -> Iterator[bytes]:
        if self.turn:
            said = self.last_said
            yield self._event("task_complete", turn_id=self.turn, last_agent_message=said)
        self.turn = ""

    def _line(self, kind: str, payload: Record, seconds: tuple[int, int] = (0, 1)) -> bytes:
        stamp = self.clock.after(*seconds)
        return line({"timestamp": stamp, "type": kind, "payload": payload})

    def _event(self, kind: str, **body: object) -> bytes:
        return self._line("event_msg", {"type": kind, **body})

    def _item(self, kind: str, body: Record, seconds: tuple[int, int] = (2, 24)) -> bytes:
        return self._line("response_item", {"type": kind, **body}, seconds)

    def _prompt(self, text: str) -> Iterator[bytes]:
        self.turn = uuid(self.ids)
        self.clock.after(15, 90)
        yield self._event("task_started", turn_id=self.turn, model_context_window=272000)
        context = {"turn_id": self.turn, "cwd": self.story.folder, "model": self.story.model}
        yield self._line(
            "turn_context", {**context, "approval_policy": "on-request", "effort": "medium"}
        )
        content = [{"type": "input_text", "text": text}]
        yield self._item("message", {"role": "user", "content": content}, (0, 1))
        yield self._event("user_message", message=text, images=[])

    def _answer(self, text: str) -> Iterator[bytes]:
        self.last_said = text
        content = [{"type": "output_text", "text": text}]
        yield self._item("message", {"role": "assistant", "content": content})
        yield self._event("agent_message", message=text)

    def _reasoning(self, text: str) -> Iterator[bytes]:
        head = text.split(".")[0]
        summary = [{"type": "summary_text", "text": f"**{head}**"}]
        sealed = token(self.ids, 400)
        yield self._item("reasoning", {"summary": summary, "encrypted_content": sealed})
        yield self._event("agent_reasoning", text=f"**{head}**")

    def _call(self, call: beats.Call) -> Iterator[bytes]:
        number = f"call_{token(self.ids, 24)}"
        if call.tool in {"edit", "write"}:
            body: Record = {"name": "apply_patch", "input": _patch(call), "status": "completed"}
            yield self._item("custom_tool_call", {"call_id": number, **body})
            output: Record = {"call_id": number, "output": f"Exit code: 0\nOutput:\n{call.output}"}
            yield self._item("custom_tool_call_output", output, (0, 2))
        else:
            command = _COMMANDS[call.tool].format(**call.arguments)
            asked = {"name": "exec_command", "arguments": inline({"cmd": command})}
            yield self._item("function_call", {"call_id": number, **asked})
            told = f"Process exited with code {int(call.failed)}\nOutput:\n{call.output}"
            yield self._item("function_call_output", {"call_id": number, "output": told}, (0, 20))
        yield self._tokens()

    def _tokens(self) -> bytes:
        last = {
            "input_tokens": between(self.ids, 9_000, 60_000),
            "cached_input_tokens": between(self.ids, 4_000, 9_000),
            "output_tokens": between(self.ids, 40, 900),
        }
        self.total = {key: self.total[key] + last[key] for key in last}
        info = {"total_token_usage": self.total, "last_token_usage": last}
        return self._event("token_count", info=info, rate_limits=None)


def _patch(call: beats.Call) -> str:
    name = call.arguments["path"]
    if call.tool == "write":
        body = "\n".join("+" + x for x in call.arguments["content"].split("\n"))
        return f"*** Begin Patch\n*** Add File: {name}\n{body}\n*** End Patch"
    old = "\n".join("-" + x for x in call.arguments["old"].split("\n"))
    new = "\n".join("+" + x for x in call.arguments["new"].split("\n"))
    return f"*** Begin Patch\n*** Update File: {name}\n@@\n{old}\n{new}\n*** End Patch"
