"""Claude Code transcripts: one record per content block, chained by parentUuid."""

import base64
from collections.abc import Iterator

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.chance import between, token, uuid
from sessions_app.ingest.demo.shapes.jsonl import Record, line
from sessions_app.ingest.demo.sourcecode import unnumbered
from sessions_app.ingest.demo.story import Clock, Story, agent_id

_TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "grep": "Grep",
    "edit": "Edit",
    "write": "Write",
    "fetch": "WebFetch",
    "agent": "Task",
}
_HELPER_MINUTES = 21
_ARGUMENTS = {"old": "old_string", "new": "new_string", "path": "file_path", "title": "description"}


def path(story: Story) -> str:
    folder = f".claude/projects/{story.folder.replace('/', '-')}"
    if story.helper_of:
        return f"{folder}/{story.session}/subagents/agent-{agent_id(story.title)}.jsonl"
    return f"{folder}/{story.session}.jsonl"


def write(story: Story, clock: Clock) -> Iterator[bytes]:
    pen = _Pen(story, clock)
    for beat in story.beats():
        yield from pen.put(beat)


class _Pen:
    def __init__(self, story: Story, clock: Clock) -> None:
        self.story, self.clock, self.ids = story, clock, story.ids()
        self.parent: str | None = None
        self.message = self.request = ""
        self.cached = 15_000

    def put(self, beat: beats.Beat) -> Iterator[bytes]:
        match beat:
            case beats.Words(role="user", text=text):
                yield from self._prompt(text)
            case beats.Words(role="assistant", text=text):
                yield self._block({"type": "text", "text": text})
            case beats.Thought(text=text):
                self.message = ""
                yield self._block({"type": "thinking", "thinking": text, "signature": self._seal()})
            case beats.Call():
                yield from self._call(beat)
            case beats.Pause(minutes=minutes):
                self.clock.skip(minutes)
            case beats.Compaction(text=text):
                yield from self._compaction(text)
            case beats.Trouble(text=text):
                yield from self._trouble(text)
            case _:
                return

    def _record(self, kind: str, body: Record, seconds: tuple[int, int]) -> bytes:
        own = uuid(self.ids)
        envelope: Record = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.story.helper_of),
            "userType": "external",
            "cwd": self.story.folder,
            "sessionId": self.story.session,
            "version": "2.1.83",
            "gitBranch": self.story.branch,
        }
        if self.story.helper_of:
            envelope["agentId"] = agent_id(self.story.title)
        self.parent = own
        stamp = self.clock.after(*seconds)
        return line({**envelope, "type": kind, **body, "uuid": own, "timestamp": stamp})

    def _prompt(self, text: str) -> Iterator[bytes]:
        self.message = ""
        if not self.story.helper_of:
            number = uuid(self.ids)
            taken = {"messageId": number, "trackedFileBackups": {}, "timestamp": self.clock.stamp}
            yield line(
                {
                    "type": "file-history-snapshot",
                    "messageId": number,
                    "snapshot": taken,
                    "isSnapshotUpdate": False,
                }
            )
        message = {"role": "user", "content": text}
        yield self._record("user", {"message": message, "permissionMode": "default"}, (20, 120))

    def _block(self, block: Record, stop: str | None = None) -> bytes:
        if not self.message:
            self.message = f"msg_01{token(self.ids, 22)}"
            self.request = f"req_011C{token(self.ids, 20)}"
        fresh = between(self.ids, 80, 1400)
        self.cached += fresh
        message = {
            "model": self.story.model,
            "id": self.message,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": between(self.ids, 1, 12),
                "cache_creation_input_tokens": fresh,
                "cache_read_input_tokens": self.cached,
                "output_tokens": len(str(block)) // 4,
                "service_tier": "standard",
            },
        }
        body = {"message": message, "requestId": self.request}
        return self._record("assistant", body, (3, 30))

    def _call(self, call: beats.Call) -> Iterator[bytes]:
        number = f"toolu_01{token(self.ids, 22)}"
        asked = {_ARGUMENTS.get(key, key): value for key, value in call.arguments.items()}
        name = _TOOLS[call.tool]
        block = {"type": "tool_use", "id": number, "name": name, "input": asked}
        yield self._block(block, stop="tool_use")
        source, self.message = self.parent, ""
        if call.tool == "agent":
            self.clock.skip(_HELPER_MINUTES)
        result: Record = {"tool_use_id": number, "type": "tool_result", "content": call.output}
        if call.failed:
            result["is_error"] = True
        body = {
            "message": {"role": "user", "content": [result]},
            "toolUseResult": self._rich(call),
            "sourceToolAssistantUUID": source,
        }
        yield self._record("user", body, (1, 30))

    def _rich(self, call: beats.Call) -> Record | str:
        if call.failed:
            return f"Error: {call.output}"
        match call.tool:
            case "read":
                first, text = unnumbered(call.output)
                file = {"filePath": call.arguments["path"], "content": text, "startLine": first}
                return {"type": "text", "file": file}
            case "agent":
                return {"status": "completed", "agentId": agent_id(call.arguments["title"])}
            case "edit" | "write":
                return {"filePath": call.arguments["path"], "userModified": False}
            case _:
                return {"stdout": call.output, "stderr": "", "interrupted": False}

    def _compaction(self, text: str) -> Iterator[bytes]:
        before, self.parent, self.message = self.parent, None, ""
        body: Record = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "logicalParentUuid": before,
            "compactMetadata": {"trigger": "auto", "preTokens": self.cached},
        }
        yield self._record("system", body, (5, 20))
        self.cached = 20_000
        message = {"role": "user", "content": text}
        summary = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        yield self._record("user", {**summary, "message": message}, (0, 1))

    def _trouble(self, text: str) -> Iterator[bytes]:
        for attempt in (1, 2, 3):
            retry: Record = {"subtype": "api_error", "level": "error", "retryAttempt": attempt}
            yield self._record("system", {**retry, "maxRetries": 10, "error": {}}, (1, 8))
        message = {
            "model": "<synthetic>",
            "id": uuid(self.ids),
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        yield self._record("assistant", {"message": message, "isApiErrorMessage": True}, (1, 4))

    def _seal(self) -> str:
        size = between(self.ids, 160, 320)
        return base64.b64encode(self.ids.getrandbits(size * 8).to_bytes(size, "big")).decode()
