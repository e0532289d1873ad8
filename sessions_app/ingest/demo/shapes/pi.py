"""pi sessions: version 1 is a list of entries, version 3 a tree of them."""

from collections.abc import Iterator

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.chance import between, token
from sessions_app.ingest.demo.shapes.jsonl import Record, line
from sessions_app.ingest.demo.story import Clock, Story, session_id

_SHELL = {"grep": "rg -n {pattern}", "fetch": "curl -sS {url}", "bash": "{command}"}
_ARGUMENTS = {"old": "oldText", "new": "newText"}


def path(story: Story) -> str:
    return _path(story, story.title)


def _path(story: Story, title: str) -> str:
    folder = story.folder.strip("/").replace("/", "-")
    return f".pi/agent/sessions/--{folder}--/{session_id(title)}.jsonl"


def write(story: Story, clock: Clock) -> Iterator[bytes]:
    pen = _Pen(story, clock)
    yield pen.header()
    for beat in story.beats():
        yield from pen.put(beat)
    yield from pen.flush()


class _Pen:
    def __init__(self, story: Story, clock: Clock) -> None:
        self.story, self.clock, self.ids = story, clock, story.ids()
        self.leaf: str | None = None
        self.marks: dict[str, str | None] = {}
        self.held: list[Record] = []
        self.cached = 4_000

    def header(self) -> bytes:
        story = self.story
        head: Record = {"type": "session", "id": story.session, "timestamp": self.clock.stamp}
        head["cwd"] = story.folder
        if story.version == 1:
            head |= {"provider": "anthropic", "modelId": story.model, "thinkingLevel": "off"}
        else:
            head["version"] = story.version
        if story.fork_of:
            head["parentSession"] = _path(story, story.fork_of)
        return line(head)

    def flush(self) -> Iterator[bytes]:
        """Words are held back until it is known whether a tool call belongs to them."""
        if self.held:
            yield self._assistant([], "stop")

    def put(self, beat: beats.Beat) -> Iterator[bytes]:
        spoken = any(block["type"] == "text" for block in self.held)
        if spoken and not isinstance(beat, beats.Call):
            yield from self.flush()
        match beat:
            case beats.Words(role="user", text=text):
                content = [{"type": "text", "text": text}]
                yield self._message({"role": "user", "content": content}, (20, 140))
            case beats.Words(role="assistant", text=text):
                self.held.append({"type": "text", "text": text})
            case beats.Thought(text=text):
                self.held = [{"type": "thinking", "thinking": text}]
            case beats.Call():
                yield from self._call(beat)
            case beats.Trouble(text=text):
                yield self._assistant([], "error", errorMessage=text)
            case _:
                yield from self._turn_of_events(beat)

    def _turn_of_events(self, beat: beats.Beat) -> Iterator[bytes]:
        match beat:
            case beats.Pause(minutes=minutes):
                self.clock.skip(minutes)
            case beats.Mark(name=name):
                self.marks[name] = self.leaf
            case beats.Back(name=name):
                yield from self._back(name)
            case beats.Compaction(text=text):
                yield self._entry("compaction", {"summary": text, "tokensBefore": self.cached})
            case _:
                return

    def _entry(self, kind: str, body: Record, seconds: tuple[int, int] = (0, 2)) -> bytes:
        record: Record = {"type": kind}
        if self.story.version > 1:
            own = f"{self.ids.getrandbits(32):08x}"
            record |= {"id": own, "parentId": self.leaf}
            self.leaf = own
        return line(record | {"timestamp": self.clock.after(*seconds)} | body)

    def _message(self, message: Record, seconds: tuple[int, int]) -> bytes:
        self.clock.after(*seconds)
        return self._entry("message", {"message": message | {"timestamp": self.clock.epoch_ms}})

    def _assistant(self, blocks: list[Record], stop: str, **more: str) -> bytes:
        content, self.held = [*self.held, *blocks], []
        message: Record = {"role": "assistant", "content": content, "api": "anthropic-messages"}
        message |= {"provider": "anthropic", "model": self.story.model}
        return self._message(
            message | {"usage": self._usage(content), "stopReason": stop} | more, (3, 32)
        )

    def _usage(self, content: list[Record]) -> Record:
        read, fresh = self.cached, between(self.ids, 90, 1500)
        written = len(str(content)) // 4
        self.cached += fresh
        cost = round(read * 3e-7 + fresh * 3.75e-6 + written * 1.5e-5, 6)
        total = read + fresh + written
        tokens = {"input": 3, "output": written, "cacheRead": read, "cacheWrite": fresh}
        return {**tokens, "totalTokens": total, "cost": {"total": cost}}

    def _call(self, call: beats.Call) -> Iterator[bytes]:
        number = f"toolu_01{token(self.ids, 22)}"
        if call.tool in _SHELL:
            tool = "bash"
            arguments = {"command": _SHELL[call.tool].format(**call.arguments)}
        else:
            tool = call.tool
            arguments = {_ARGUMENTS.get(k, k): v for k, v in call.arguments.items()}
        block = {"type": "toolCall", "id": number, "name": tool, "arguments": arguments}
        yield self._assistant([block], "toolUse")
        content = [{"type": "text", "text": call.output}]
        result: Record = {"role": "toolResult", "toolCallId": number, "toolName": tool}
        yield self._message(result | {"content": content, "isError": call.failed}, (1, 15))

    def _back(self, name: str) -> Iterator[bytes]:
        left, self.leaf = self.leaf, self.marks[name]
        summary = "Left this branch: the attempt below the point did not hold."
        yield self._entry("branch_summary", {"fromId": left, "summary": summary})
