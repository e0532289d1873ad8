"""Made-up values for the component page, so that it needs no database."""

from datetime import datetime, timedelta
from typing import Any

from django import forms, template
from django.utils import timezone

from sessions_app.domain import patches
from sessions_app.templatetags.differences import lines
from sessions_app.templatetags.rendering import code, markdown
from sessions_app.templatetags.show import visible
from sessions_app.templatetags.terminal import terminal
from sessions_app.templatetags.ui import ROLE_ICONS

register = template.Library()

Values = dict[str, Any]

MARKDOWN = """The total is wrong because **`tally()`** counts the header line. Two changes:

1. skip the first line
2. keep the check for empty files

```python
def tally(lines: list[str]) -> int:
    return sum(1 for line in lines[1:] if line.strip())
```

| file | before | after |
|---|---|---|
| a.csv | 101 | 100 |
"""
HIDDEN = "Please read notes.txt\u202e and \u200b\U000e0068\U000e0069 report.\x1b[31m"
CALL = "pytest -q tests/test_tally.py"
FAILURE = "\x1b[31mE   assert 101 == 100\x1b[0m\n\x1b[1m1 failed\x1b[0m in 0.31s\x1b[2K"
DIGEST = "5f1c" * 16
HOLD = {"text": "On hold", "tone": "info", "icon": "lock"}


class SampleForm(forms.Form):
    """One field of each kind, sent with mistakes in it."""

    name = forms.CharField(label="Name", help_text="As others will see it.")
    email = forms.EmailField(label="E-mail")
    role = forms.ChoiceField(label="Role", choices=[("viewer", "Viewer"), ("admin", "Admin")])
    theme = forms.ChoiceField(
        label="Theme",
        choices=[("light", "Light"), ("dark", "Dark"), ("auto", "As the system")],
        widget=forms.RadioSelect,
        required=False,
    )
    shortcuts = forms.BooleanField(label="Keyboard shortcuts", required=False)


def _part(kind: str, html: Any = "", **more: Any) -> Values:
    return {"kind": kind, "html": html} | more


def _event(seq: int, role: str, label: str, parts: list[Values], **more: Any) -> Values:
    links = {"anchor": f"e{seq}", "base": "", "size": 412 * seq, "position": seq}
    words = {"icon": ROLE_ICONS[role], "gist": "", "model": "", "chips": [], "hidden_count": 0}
    at = timezone.now() + timedelta(seconds=seq * 7)
    usual = {"seq": seq, "role": role, "label": label, "at": at, "parts": parts}
    return usual | links | words | {"is_folded": False, "is_open": False} | more


def _work(seq: int, label: str, gist: str, parts: list[Values], **more: Any) -> Values:
    return _event(seq, "tool", label, parts, **({"gist": gist, "is_folded": True} | more))


def _diff(path: str, old: str, new: str) -> Values:
    change = patches.of_texts(path, old, new)
    numbers = {"added": change.added, "removed": change.removed}
    shown = {"path": path, "verb": change.verb, "html": lines(change.lines, longest=400)}
    return {"kind": "diff", "changes": [shown | numbers]}


def events() -> list[Values]:
    """One event of each role, with parts of most kinds."""
    question = [_part("prose", "Why is the tally one too high?")]
    answer = [_part("prose", markdown(MARKDOWN), is_markdown=True)]
    call = [_part("code", code(CALL, "bash"), label="command", note="Run the tests")]
    result = [_part("code", terminal(FAILURE), label="output")]
    edit = [
        _diff(
            "src/tally.py",
            "total = count(lines)\nreturn total",
            "total = count(rows)\nreturn total",
        )
    ]
    source = _part(
        "source", code("def tally():\n    return 1", "python"), numbers="7\n8", label="a.py"
    )
    steps = [{"text": "Find the cause", "state": "done"}, {"text": "Fix it", "state": "under way"}]
    thought = [_part("thought", "The header line is counted. Check with a test first.")]
    failed = {"is_error": True, "is_joined": True, "is_result": True, "is_open": True}
    exit_code = {"chips": [{"text": "exit 1", "tone": "err"}, {"text": "0.3 s", "tone": "quiet"}]}
    return [
        _event(1, "user", "User", question),
        _event(2, "assistant", "Thinking", thought, icon="brain", is_folded=True, is_thought=True),
        _work(3, "Bash", "pytest -q tests/test_tally.py", call, icon="terminal"),
        _work(4, "Failed", "E   assert 101 == 100", result, icon="circle-x", **failed, **exit_code),
        _work(5, "Edit", "src/tally.py", edit, icon="file-text", is_open=True),
        _work(6, "Read", "a.py", [source, {"kind": "steps", "steps": steps}], is_open=True),
        _event(7, "assistant", "Assistant", answer, model="model-5"),
        _event(8, "user", "User", [_part("prose", visible(HIDDEN))], hidden_count=5),
    ]


def section() -> Values:
    """A stretch of a transcript with a turn, folded work and a break."""
    shown = events()
    sums = {
        "took": timedelta(seconds=138),
        "calls": 3,
        "failed": 1,
        "tokens": 45_120,
        "output": 900,
    }
    turn = {"kind": "turn", "anchor": "t1", "base": "", "seq": 1, "number": 12}
    run = {"kind": "run", "anchor": "r2", "calls": 3, "failed": 1, "thoughts": 1, "is_open": True}
    names = [("Bash", 1), ("Edit", 1), ("Read", 1)]
    pause = {"kind": "break", "anchor": "b8", "what": "Resumed", "icon": "clock"}
    items = [
        turn | {"sums": sums | {"cost": 420_000_000_000}},
        {"kind": "said", "events": shown[:1]},
        run | {"names": names, "stretches": [{"events": shown[1:6]}]},
        {"kind": "said", "events": shown[6:7]},
        pause | {"gap": timedelta(hours=3)},
        {"kind": "said", "events": shown[7:]},
    ]
    return {"items": items, "hidden": 5, "total": 8}


def session(number: int, status: str, title: str, **more: Any) -> Values:
    now = timezone.now()
    started = now - timedelta(hours=number * 5)
    times = {"started_at": started, "last_at": started + timedelta(minutes=34), "ingested_at": now}
    counts = {"events": 1204 * number, "prompts": 12, "errors": 0, "unreadable": 0}
    counts |= {"tokens": 812_334 * number, "cost": 2 * 10**12 * number, "unpriced": 0, "calls": 40}
    names = {"agent": "claude-code", "project": "tally", "machine": "build-7", "generation": 1}
    names |= {"model": "model-5", "models_label": "model-5, model-6", "more_models": 1}
    names |= {"activity": [(n * number * 7) % 11 for n in range(24)], "keeps": None}
    usual = {"id": number, "url": "#", "title": title, "status": status, "raw_bytes": 812_334}
    return usual | times | counts | names | more


def sessions() -> list[Values]:
    return [
        session(1, "running", "Why is the tally one too high?", keeps=HOLD),
        session(2, "unclean", "Move the importer to the new queue", errors=3, generation=2),
        session(3, "closed", "Read notes\u202e and report", unreadable=2, project=None, unpriced=2),
        session(4, "archived", "", started_at=None, last_at=None, events=0, tokens=None, cost=None),
    ]


def _job(number: int, state: str, now: datetime, **more: Any) -> Values:
    times = {"created_at": now - timedelta(minutes=number), "started_at": None, "finished_at": None}
    progress = {"progress_done": 0, "progress_total": 0, "attempts": 1, "note": "", "error": ""}
    flags = {"can_cancel": False, "can_retry": False, "result_url": "", "created_by": "ada"}
    return {"id": number, "kind_label": "Ingest", "state": state} | times | progress | flags | more


def jobs() -> list[Values]:
    now = timezone.now()
    later = now + timedelta(seconds=94)
    return [
        _job(1, "running", now, progress_done=412, progress_total=1200, note="logs/2026-11"),
        _job(2, "queued", now),
        _job(3, "done", now, started_at=now, finished_at=later, progress_done=88),
        _job(4, "failed", now, error="disk full while writing chunk 12", attempts=3),
        _job(5, "cancelled", now),
        _job(6, "quarantined", now, error="the worker died on this job three times", attempts=3),
    ]


@register.simple_tag
def samples() -> Values:
    sent = {"email": "not an address", "role": "admin", "theme": "auto", "shortcuts": "on"}
    names = ("duration", "events", "errors", "tokens", "cost", "time")
    headers = {name: {"label": name.capitalize(), "url": "#", "direction": ""} for name in names}
    page = {"rows": sessions(), "headers": headers, "older": "#", "total_label": "4 sessions"}
    return {
        "bars": [(f"{hour:02}:00", (hour * 37 + hour**3) % 91) for hour in range(24)],
        "spark": [(n * 29) % 17 + n for n in range(20)],
        "digest": DIGEST,
        "tree": {"role": "tool", "content": [{"text": HIDDEN}], "ok": True, "usage": None},
        "sessions": page,
        "section": section(),
        "now": timezone.now(),
        "hidden": HIDDEN,
        "form": SampleForm(sent),
        "jobs": jobs(),
    }
