"""Plain role/content lines: seed of all formats, with the usual extra fields of chat stacks."""

from collections.abc import Iterator

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.chance import between, token
from sessions_app.ingest.demo.shapes.jsonl import Record, inline, line
from sessions_app.ingest.demo.story import Clock, Story

_TOOLS = {
    "bash": "bash",
    "read": "read_file",
    "grep": "search",
    "edit": "edit_file",
    "write": "write_file",
    "fetch": "fetch_url",
    "agent": "delegate",
}


def path(story: Story) -> str:
    return f"src/{story.project.name}/.sessions/session-{story.title}.jsonl"


def write(story: Story, clock: Clock) -> Iterator[bytes]:
    pen = _Pen(story, clock)
    for beat in story.beats():
        yield from pen.put(beat)
    yield from pen.flush()


class _Pen:
    """Holds back an assistant's words until it is known whether a tool call belongs to them."""

    def __init__(self, story: Story, clock: Clock) -> None:
        self.story, self.clock, self.ids = story, clock, story.ids()
        self.said: list[str] = []
        self.thought = ""
        self.context = 900

    def put(self, beat: beats.Beat) -> Iterator[bytes]:
        match beat:
            case beats.Words(role="assistant", text=text):
                yield from self.flush()
                self.said = [text]
            case beats.Thought(text=text):
                yield from self.flush()
                self.thought = text
            case beats.Call():
                yield from self._call(beat)
            case beats.Words() | beats.Compaction() | beats.Trouble() | beats.Scrap():
                yield from self.flush()
                yield self._plain(beat)
            case beats.Pause(minutes=minutes):
                yield from self.flush()
                self.clock.skip(minutes)
            case beats.Mark() | beats.Back():
                yield from self.flush()

    def flush(self) -> Iterator[bytes]:
        if self.said:
            yield self._assistant({"content": self.said[0]})

    def _assistant(self, body: Record) -> bytes:
        record: Record = {"role": "assistant", **body}
        if self.thought:
            record["reasoning_content"] = self.thought
        if not self.story.bare:
            record |= self._extras(len(str(body)))
        self.said, self.thought = [], ""
        return line(record)

    def _extras(self, size: int) -> Record:
        self.context += between(self.ids, 200, 900)
        usage = {"prompt_tokens": self.context, "completion_tokens": size // 4}
        return {"timestamp": self.clock.after(4, 40), "model": self.story.model, "usage": usage}

    def _call(self, call: beats.Call) -> Iterator[bytes]:
        number, name = f"call_{token(self.ids, 16)}", _TOOLS[call.tool]
        function = {"name": name, "arguments": inline(call.arguments)}
        said = self.said[0] if self.said else None
        asked = [{"id": number, "type": "function", "function": function}]
        yield self._assistant({"content": said, "tool_calls": asked})
        result: Record = {"role": "tool", "tool_call_id": number, "name": name}
        result["content"] = call.output
        if call.failed:
            result["is_error"] = True
        yield line(result | self._when(1, 30))

    def _plain(self, beat: beats.Beat) -> bytes:
        match beat:
            case beats.Words(role="system", text=text):
                return line({"role": "system", "content": text})
            case beats.Words(role=role, text=text):
                who = {} if self.story.bare else {"name": self.story.person.login}
                return line({"role": role, "content": text} | self._when(20, 150) | who)
            case beats.Compaction(text=text):
                return line({"role": "system", "content": text} | self._when(5, 9))
            case beats.Trouble(text=text):
                error = {"error": {"message": text, "type": "overloaded"}}
                return line({"role": "assistant", "content": ""} | error | self._when(30, 60))
            case beats.Scrap(text=text):
                return text.encode("latin-1") + b"\n"
            case _:
                raise TypeError(beat)

    def _when(self, low: int, high: int) -> Record:
        return {} if self.story.bare else {"timestamp": self.clock.after(low, high)}
