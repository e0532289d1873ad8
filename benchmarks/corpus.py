"""Deterministic Claude-Code-shaped session logs of any size, for `make bench`.

Everything is drawn with `getrandbits` of a seeded generator and integer arithmetic, so the same
seed gives the same bytes on every Python. Speed comes from pools: a Zipfian vocabulary makes a pool
of code, log and prose lines (already escaped for JSON), lines make the files of a project, and a
session reads, greps, edits and tests those files.

How it was made to resemble real logs: 64 real Claude Code files (79 MB) were cut into pieces of
64 KiB, as the store cuts chunks, and compressed with zstd level 3: 0.193 of the raw bytes over all,
0.201 in the median file. `pools.REPEATED` is the knob that was turned until 300 MB of this corpus
gave 0.209. The five most frequent record types come in the same order as in the real files. Lines
are shorter (about 1,260 bytes on average instead of 3,170, and tool results are 0.48 of the bytes
instead of 0.59), because the measurements in the design were taken with such lines. Distinct words
in the texts of 300 MB: about 96,000.
"""

import argparse
import base64
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks.pools import (
    FILES_PER_PROJECT,
    PROJECTS,
    below,
    lognormal,
    project,
    rank,
    sentences,
    syllable,
    vocabulary,
)

MEGABYTE = 1_000_000
SMALLEST, LARGEST = 5_000, 9 * MEGABYTE  # of a session
FIRST_DAY = datetime(2026, 1, 5, 7, tzinfo=UTC)

_TOOLS = ("Bash", "Read", "Edit", "Grep", "Glob", "Write", "Task")
_TOOL_SHARE = bytes([0] * 10 + [1] * 8 + [2] * 6 + [3] * 4 + [4] * 2 + [5] + [6])


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    files: int
    lines: int
    bytes: int


def write(folder: Path, *, megabytes: int, seed: int = 1) -> Corpus:
    """Fill `folder` with sessions until `megabytes` are reached; the last one ends early."""
    left, files, count = megabytes * MEGABYTE, 0, 0
    while left > 0:
        session = _Session(seed * 1_000_003 + files)
        data = _up_to(left, session.lines())
        place = folder / session.project.slug / f"{session.name}.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"".join(data))
        left -= sum(map(len, data))
        files, count = files + 1, count + len(data)
    return Corpus(files=files, lines=count, bytes=megabytes * MEGABYTE - left)


def single(path: Path, *, megabytes: int, seed: int = 2) -> Corpus:
    """One log of that size: sessions one after the other, as if it had never ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size, count = 0, 0
    with path.open("wb") as stream:
        while size < megabytes * MEGABYTE:
            data = list(_Session(seed * 1_000_003 + count).lines())
            size += stream.write(b"".join(data))
            count += len(data)
    return Corpus(files=1, lines=count, bytes=size)


def many(folder: Path, *, files: int, size: int = 12_000, seed: int = 3) -> Corpus:
    """That many logs of a few lines, a few hundred in each folder."""
    count = written = 0
    for number in range(files):
        session = _Session(seed * 1_000_003 + number)
        place = folder / session.project.slug / str(number // 9_000) / f"{session.name}.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        data = _up_to(size, session.lines())
        written += place.write_bytes(b"".join(data))
        count += len(data)
    return Corpus(files=files, lines=count, bytes=written)


def remove(folder: Path) -> None:
    """At once, not at the end of the run: the next corpus may be large."""
    shutil.rmtree(folder, ignore_errors=True)


def lines(seed: int) -> Iterator[bytes]:
    """The lines of one session, each with its newline."""
    return _Session(seed).lines()


def _up_to(size: int, source: Iterator[bytes]) -> list[bytes]:
    taken: list[bytes] = []
    for line in source:
        taken.append(line)
        size -= len(line)
        if size <= 0:
            break
    return taken


class _Session:
    """Walks prompt, thought, call, result, answer until its size is reached."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.project = project(below(self.rng, PROJECTS))
        self.name = self._uuid().decode()
        self.left = lognormal(self.rng, median=300_000, spread=150)
        self.left = max(SMALLEST, min(self.left, LARGEST))
        self.parent = b"null"
        self.clock = FIRST_DAY + timedelta(minutes=below(self.rng, 400_000))
        self.cached = 18_000 + below(self.rng, 9_000)
        self.model = (b"claude-opus-4-5-20251101", b"claude-sonnet-4-5")[self.rng.getrandbits(1)]
        self.envelope = self._envelope()
        self.message = self.request = self.call = b""

    def lines(self) -> Iterator[bytes]:
        for line in self._walk():
            yield line
            self.left -= len(line)
            if self.left <= 0:
                return

    def _walk(self) -> Iterator[bytes]:
        if not self.rng.getrandbits(2):
            yield b'{"type":"summary","summary":"%s","leafUuid":"%s"}\n' % (
                self._prose(1),
                self._uuid(),
            )
        while True:
            yield from self._turn()
            if self.cached > 165_000:
                yield from self._compaction()

    def _turn(self) -> Iterator[bytes]:
        yield self._snapshot()
        yield self._prompt()
        for _ in range(1 + below(self.rng, 24)):
            yield from self._step()
        self._new_message()
        yield self._assistant(b'{"type":"text","text":"%s"}' % self._prose(5), b'"end_turn"')
        yield self._system(
            b'"subtype":"turn_duration","durationMs":%d,"isMeta":false' % self.rng.getrandbits(18)
        )

    def _step(self) -> Iterator[bytes]:
        self._new_message()
        odds = self.rng.getrandbits(8)
        if odds < 128:
            yield self._thinking()
        if odds & 1 and odds < 160:
            yield self._assistant(b'{"type":"text","text":"%s"}' % self._prose(1), b"null")
        tool = _TOOLS[_TOOL_SHARE[self.rng.getrandbits(5)]]
        yield from self._CALLS[tool](self)
        if odds & 2:
            yield self._hook(tool.encode())

    # -- records

    def _record(self, kind: bytes, body: bytes) -> bytes:
        own = self._uuid()
        line = b'{"parentUuid":%s,%s"type":"%s",%s,"uuid":"%s","timestamp":"%s"}\n' % (
            self.parent,
            self.envelope,
            kind,
            body,
            own,
            self._time(),
        )
        self.parent = b'"%s"' % own
        return line

    def _prompt(self) -> bytes:
        text = self._prose(1 + self.rng.getrandbits(2))
        return self._record(
            b"user",
            b'"message":{"role":"user","content":"%s"},"thinkingMetadata":{"maxThinkingTokens":'
            b'31999},"todos":[],"permissionMode":"default"' % text,
        )

    def _assistant(self, block: bytes, stop: bytes) -> bytes:
        fresh = self.rng.getrandbits(11)
        self.cached += fresh
        return self._record(
            b"assistant",
            b'"message":{"model":"%s","id":"%s","type":"message","role":"assistant","content":[%s],'
            b'"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":%d,'
            b'"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{'
            b'"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,'
            b'"service_tier":"standard"}},"requestId":"%s"'
            % (
                self.model, self.message, block, stop, fresh & 15, fresh, self.cached, fresh,
                len(block) // 4, self.request,
            ),
        )  # fmt: skip

    def _thinking(self) -> bytes:
        size = 150 + self.rng.getrandbits(8)
        seal = base64.b64encode(self.rng.getrandbits(size * 8).to_bytes(size, "big"))
        return self._assistant(
            b'{"type":"thinking","thinking":"%s","signature":"%s"}'
            % (self._prose(1 + self.rng.getrandbits(1)), seal),
            b"null",
        )

    def _tool_use(self, name: bytes, arguments: bytes) -> bytes:
        self.call = b"toolu_01" + self._token()
        return self._assistant(
            b'{"type":"tool_use","id":"%s","name":"%s","input":{%s}}'
            % (self.call, name, arguments),
            b'"tool_use"' if self.rng.getrandbits(2) == 0 else b"null",
        )

    def _tool_result(self, content: bytes, rich: bytes) -> bytes:
        source = self.parent
        return self._record(
            b"user",
            b'"message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result",'
            b'"content":"%s"}]},"toolUseResult":%s,"sourceToolAssistantUUID":%s'
            % (self.call, content, rich, source),
        )

    def _failure(self) -> bytes:
        text = self._excerpt(1 + self.rng.getrandbits(3))
        return self._record(
            b"user",
            b'"message":{"role":"user","content":[{"type":"tool_result","content":"Exit code 1\\n'
            b'%s","is_error":true,"tool_use_id":"%s"}]},"toolUseResult":"Error: Exit code 1\\n%s"'
            % (text, self.call, text),
        )

    def _system(self, body: bytes) -> bytes:
        return self._record(b"system", body)

    def _hook(self, tool: bytes) -> bytes:
        return self._record(
            b"progress",
            b'"data":{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:%s",'
            b'"command":"python3 .claude/hooks/after_tool.py"},"parentToolUseID":"%s",'
            b'"toolUseID":"%s"' % (tool, self.call, self.call),
        )

    def _snapshot(self) -> bytes:
        own = self._uuid()
        return (
            b'{"type":"file-history-snapshot","messageId":"%s","snapshot":{"messageId":"%s",'
            b'"trackedFileBackups":{},"timestamp":"%s"},"isSnapshotUpdate":false}\n'
            % (own, own, self._time())
        )

    def _compaction(self) -> Iterator[bytes]:
        logical, self.parent = self.parent, b"null"
        yield self._system(
            b'"subtype":"compact_boundary","content":"Conversation compacted","level":"info",'
            b'"logicalParentUuid":%s,"compactMetadata":{"trigger":"auto","preTokens":%d}'
            % (logical, self.cached)
        )
        self.cached = 24_000
        yield self._record(
            b"user",
            b'"isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user",'
            b'"content":"%s"}' % self._prose(40),
        )

    # -- tools

    def _bash(self) -> Iterator[bytes]:
        path, _ = self._file()
        yield self._tool_use(
            b"Bash", b'"command":"pytest -q %s","description":"%s"' % (path, self._prose(1))
        )
        for beat in range(below(self.rng, 8)):
            yield self._record(
                b"progress",
                b'"data":{"type":"bash_progress","output":"","fullOutput":"","elapsedTimeSeconds":'
                b'%d,"totalLines":0},"toolUseID":"bash-progress-%d","parentToolUseID":"%s"'
                % (beat + 2, beat, self.call),
            )
        if self.rng.getrandbits(3) == 0:
            yield self._failure()
            return
        text = self._excerpt(self._length(11))
        rich = b'{"stdout":"%s","stderr":"","interrupted":false,"isImage":false}' % text
        yield self._tool_result(text, rich)

    def _read(self) -> Iterator[bytes]:
        path, text = self._file()
        yield self._tool_use(b"Read", b'"file_path":"%s/%s"' % (self.project.root, path))
        part, start = self._part(text, self._length(18))
        shown = b"\\n".join(
            [b"%6d\xe2\x86\x92%s" % (start + k, line) for k, line in enumerate(part, 1)]
        )
        rich = (
            b'{"type":"text","file":{"filePath":"%s/%s","content":"%s","numLines":%d,'
            b'"startLine":%d,"totalLines":%d}}'
            % (self.project.root, path, b"\\n".join(part), len(part), start + 1, len(text))
        )
        yield self._tool_result(shown, rich)

    def _edit(self) -> Iterator[bytes]:
        path, text = self._file()
        part, start = self._part(text, 1 + self.rng.getrandbits(2))
        old, new = b"\\n".join(part), self._excerpt(1 + self.rng.getrandbits(2))
        where = b'"file_path":"%s/%s"' % (self.project.root, path)
        yield self._tool_use(b"Edit", b'%s,"old_string":"%s","new_string":"%s"' % (where, old, new))
        original = b"\\n".join(text[: self._length(14)])
        done = b"The file %s/%s has been updated." % (self.project.root, path)
        rich = (
            b'{"filePath":"%s/%s","oldString":"%s","newString":"%s","originalFile":"%s",'
            b'"structuredPatch":[{"oldStart":%d,"oldLines":%d,"newStart":%d,"newLines":%d}],'
            b'"userModified":false,"replaceAll":false}'
            % (
                self.project.root, path, old, new, original, start, len(part), start, len(part),
            )
        )  # fmt: skip
        yield self._tool_result(done, rich)

    def _grep(self) -> Iterator[bytes]:
        path, text = self._file()
        word = vocabulary()[rank(self.rng)]
        yield self._tool_use(b"Grep", b'"pattern":"%s","output_mode":"content"' % word)
        part, start = self._part(text, self._length(9))
        found = b"\\n".join([b"%s:%d:%s" % (path, start + 3 * k, x) for k, x in enumerate(part)])
        rich = b'{"mode":"content","numFiles":0,"filenames":[],"content":"%s"}' % found
        yield self._tool_result(found, rich)

    def _glob(self) -> Iterator[bytes]:
        yield self._tool_use(b"Glob", b'"pattern":"src/**/*.py"')
        first = below(self.rng, FILES_PER_PROJECT)
        names = [b"%s/%s" % (self.project.root, x) for x in self.project.paths[first:][:20]]
        rich = b'{"filenames":["%s"],"durationMs":%d,"numFiles":%d,"truncated":false}' % (
            b'","'.join(names), self.rng.getrandbits(9), len(names),
        )  # fmt: skip
        yield self._tool_result(b"\\n".join(names), rich)

    def _write(self) -> Iterator[bytes]:
        path, _ = self._file()
        where = b"%s/%s" % (self.project.root, path)
        text = self._excerpt(self._length(16))
        yield self._tool_use(b"Write", b'"file_path":"%s","content":"%s"' % (where, text))
        rich = b'{"type":"create","filePath":"%s","content":"%s","structuredPatch":[]}'
        yield self._tool_result(b"File created successfully at: " + where, rich % (where, text))

    def _task(self) -> Iterator[bytes]:
        asked = self._prose(5)
        yield self._tool_use(b"Task", b'"subagent_type":"Explore","prompt":"%s"' % asked)
        rich = b'{"status":"completed","prompt":"%s","agentId":"a%016x","totalToolUseCount":%d}' % (
            asked, self.rng.getrandbits(64), self.rng.getrandbits(5),
        )  # fmt: skip
        yield self._tool_result(self._prose(12), rich)

    _CALLS: dict[str, Callable[["_Session"], Iterator[bytes]]] = {
        "Bash": _bash, "Read": _read, "Edit": _edit, "Grep": _grep,
        "Glob": _glob, "Write": _write, "Task": _task,
    }  # fmt: skip

    # -- pieces

    def _envelope(self) -> bytes:
        return (
            b'"isSidechain":false,"userType":"external","cwd":"%s","sessionId":"%s","version":'
            b'"2.1.20","gitBranch":"main","slug":"%s-%s-%s",'
            % (self.project.root, self.name.encode(), syllable(self.rng), *self._two())
        )

    def _two(self) -> tuple[bytes, bytes]:
        return syllable(self.rng), syllable(self.rng)

    def _uuid(self) -> bytes:
        text = b"%032x" % self.rng.getrandbits(128)
        return b"%s-%s-4%s-a%s-%s" % (text[:8], text[8:12], text[13:16], text[17:20], text[20:])

    def _token(self) -> bytes:
        return base64.b32encode(self.rng.getrandbits(120).to_bytes(15, "big"))[:22]

    def _new_message(self) -> None:
        self.message, self.request = b"msg_01" + self._token(), b"req_011C" + self._token()

    def _time(self) -> bytes:
        self.clock += timedelta(milliseconds=self.rng.getrandbits(14))
        return self.clock.isoformat(timespec="milliseconds")[:-6].encode() + b"Z"

    def _length(self, median: int) -> int:
        return min(lognormal(self.rng, median=median, spread=96), 2000)

    def _file(self) -> tuple[bytes, tuple[bytes, ...]]:
        number = (below(self.rng, FILES_PER_PROJECT) * self.rng.getrandbits(8)) >> 8
        return self.project.paths[number], self.project.texts[number]

    def _part(self, text: tuple[bytes, ...], count: int) -> tuple[tuple[bytes, ...], int]:
        start = below(self.rng, max(1, len(text) - count))
        return text[start : start + count], start

    def _excerpt(self, count: int) -> bytes:
        _, text = self._file()
        return b"\\n".join(self._part(text, count)[0])

    def _prose(self, count: int) -> bytes:
        stock = sentences()
        return b" ".join([stock[below(self.rng, len(stock))] for _ in range(count)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a corpus of generated session logs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    made = write(asked.folder, megabytes=asked.mb, seed=asked.seed)
    print(f"{made.files} files, {made.lines} lines, {made.bytes} bytes")


if __name__ == "__main__":
    main()
