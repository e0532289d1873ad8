"""Made-up values for the component page, so that it needs no database."""

from datetime import datetime, timedelta
from typing import Any

from django import forms, template
from django.utils import timezone

from sessions_app.templatetags.rendering import code, markdown

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
CALL = '{"command": "pytest -q tests/test_tally.py", "timeout": 120}'
FAILURE = "E   assert 101 == 100\n1 failed in 0.31s"
DIGEST = "5f1c" * 16


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


def _part(kind: str, title: str = "", **more: Any) -> Values:
    usual = {"html": "", "text": "", "truncated": False, "full_url": ""}
    return {"kind": kind, "title": title} | usual | more


def _event(seq: int, role: str, label: str, parts: list[Values], **more: Any) -> Values:
    links = {"raw_url": f"#e{seq}", "permalink": f"#e{seq}", "size": 412 * seq}
    flags = {"model": "", "tool": "", "is_error": False, "is_incomplete": False, "hidden_count": 0}
    at = timezone.now() + timedelta(seconds=seq * 7)
    usual = {"seq": seq, "role": role, "label": label, "at": at, "parts": parts}
    return usual | links | flags | more


def events() -> list[Values]:
    """One event of each role, with parts of each kind."""
    question = [_part("text", text="Why is the tally one too high?")]
    thinking = _part("thinking", text="The header line is counted. Check with a test first.")
    answer = [thinking, _part("markdown", html=markdown(MARKDOWN))]
    call = [_part("tool_call", "Bash", html=code(CALL, "json"))]
    result = [_part("tool_result", "Result", text=FAILURE, truncated=True, full_url="#e4")]
    settings = [_part("json", "settings", html=code('{"mode": "plan"}', "json"))]
    image = [_part("image_note", "Image", text="PNG, 800 × 600, 12 kB")]
    unreadable = [_part("bytes", "Not UTF-8", text="at byte 17")]
    return [
        _event(1, "user", "Prompt", question),
        _event(2, "assistant", "Assistant", answer, model="model-5"),
        _event(3, "assistant", "Tool call", call, tool="Bash"),
        _event(4, "tool", "Tool result", result, tool="Bash", is_error=True),
        _event(5, "user", "Prompt", [_part("text", text=HIDDEN)], hidden_count=5),
        _event(6, "system", "System", settings),
        _event(7, "record", "Summary", image),
        _event(8, "unreadable", "Unreadable line", unreadable, is_incomplete=True),
    ]


def session(number: int, status: str, title: str, **more: Any) -> Values:
    now = timezone.now()
    started = now - timedelta(hours=number * 5)
    times = {"started_at": started, "last_at": started + timedelta(minutes=34), "ingested_at": now}
    counts = {"events": 1204 * number, "prompts": 12, "errors": 0, "unreadable": 0}
    names = {"agent": "claude-code", "project": "tally", "machine": "build-7", "generation": 1}
    usual = {"id": number, "url": "#", "title": title, "status": status, "raw_bytes": 812_334}
    return usual | times | counts | names | more


def sessions() -> list[Values]:
    return [
        session(1, "running", "Why is the tally one too high?"),
        session(2, "idle", "Move the importer to the new queue", errors=3, generation=2),
        session(3, "closed", "Read notes\u202e and report", unreadable=2, project=None),
        session(4, "archived", "", started_at=None, last_at=None, events=0, raw_bytes=0),
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
    page = {"rows": sessions(), "newer": None, "older": "#", "total_label": "4 sessions"}
    return {
        "bars": [(f"{hour:02}:00", (hour * 37 + hour**3) % 91) for hour in range(24)],
        "spark": [(n * 29) % 17 + n for n in range(20)],
        "digest": DIGEST,
        "tree": {"role": "tool", "content": [{"text": HIDDEN}], "ok": True, "usage": None},
        "sessions": page,
        "events": events(),
        "now": timezone.now(),
        "hidden": HIDDEN,
        "form": SampleForm(sent),
        "jobs": jobs(),
    }
