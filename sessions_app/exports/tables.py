"""Tables of CSV: a row for each event, or a row for each session. Cells keep the rule of
`domain.cells`, so that no spreadsheet runs them and everything comes back."""

from collections.abc import Iterable, Iterator

from sessions_app.domain import cells, entries, hostile
from sessions_app.domain.events import Flag, Kind, gist_of
from sessions_app.exports.subject import Passage
from sessions_app.store import usage
from sessions_app.store.read import Line
from sessions_app.store.usage import Answer

EVENT_COLUMNS = (
    "session,seq,time,kind,role,label,tool,error,marks,model,input_tokens,output_tokens,"
    "cache_read_tokens,cache_write_tokens,cost_usd,bytes,hidden,text_is_cut,text"
)
SESSION_COLUMNS = (
    "session,title,project,agent,version,model,machine,branch,worked_in,source,status,first_event,"
    "last_event,events,prompts,errors,unreadable,input_tokens,output_tokens,cache_read_tokens,"
    "cache_write_tokens,cost_usd,bytes,generation,head_hash"
)
Counters = tuple[int | None, int | None, int | None, int | None, float | None]
_NOTHING: Counters = (None, None, None, None, None)


def of_events(passages: Iterable[Passage]) -> Iterator[str]:
    yield f"{EVENT_COLUMNS}\r\n"
    for passage in passages:
        answers = usage.answers(passage.session.id)
        told = next(answers, None)
        for line in passage.lines():
            counters = _NOTHING
            while told is not None and told.seq <= line.seq:
                counters = _sum(counters, told) if told.seq == line.seq else counters
                told = next(answers, None)
            yield cells.row(_event(passage, line, counters))


def _sum(counters: Counters, answer: Answer) -> Counters:
    """Of several answers that one line tells of."""
    tokens_in, tokens_out, read, written, cost = counters
    dollars = None if answer.cost is None else answer.cost / 10**12
    return (
        (tokens_in or 0) + answer.input,
        (tokens_out or 0) + answer.output,
        (read or 0) + answer.cache_read,
        (written or 0) + answer.cache_write,
        cost if dollars is None else (cost or 0) + dollars,
    )


def _event(passage: Passage, line: Line, counters: Counters) -> list[object]:
    said = entries.said(line)
    text, is_whole = cells.bounded(said)
    return [
        passage.facts.id,
        line.seq,
        line.at,
        Kind(line.kind).name.lower(),
        entries.role(line),
        entries.label(line),
        gist_of(line.reading.body).tool,
        bool(line.flags & Flag.ERROR),
        ", ".join(entries.marks(line)),
        entries.model(line),
        *counters,
        line.length,
        hostile.count(said),
        not is_whole or line.is_cut,
        cells.Cell(text),
    ]


def of_sessions(passages: Iterable[Passage]) -> Iterator[str]:
    yield f"{SESSION_COLUMNS}\r\n"
    for passage in passages:
        yield cells.row(_session(passage))


def _session(passage: Passage) -> list[object]:
    row = passage.facts
    names = [row.title, row.project, row.agent, row.version, row.model, row.machine, row.branch]
    return [
        row.id,
        *names,
        *(row.cwd, row.source_path, row.status, row.started_at, row.last_at),
        *(row.events, row.prompts, row.errors, row.unreadable),
        *_used(passage),
        *(row.raw_bytes, row.generation, row.head_hash),
    ]


def _used(passage: Passage) -> Counters:
    told = usage.of_session(passage.session.id)
    if not told:
        return _NOTHING
    costs = [row.cost for row in told if row.cost is not None]
    return (
        sum(row.input for row in told),
        sum(row.output for row in told),
        sum(row.cache_read for row in told),
        sum(row.cache_write for row in told),
        sum(costs) / 10**12 if costs else None,
    )
