"""Made-up values for the component page, so that it needs no database."""

from datetime import datetime, timedelta
from typing import Any

from django import forms, template
from django.utils import timezone

from sessions_app.templatetags.rendering import code, markdown

register = template.Library()

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


def _part(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "title": "", "html": "", "text": "", "truncated": False, "full_url": ""} | more


def _event(seq: int, role: str, label: str, at: datetime, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    usual = {"seq": seq, "role": role, "label": label, "at": at + timedelta(seconds=seq * 7)}
    links = {"raw_url": f"#e{seq}", "permalink": f"#e{seq}", "size": 412 * seq}
    flags = {"model": "", "tool": "", "is_error": False, "is_incomplete": False, "hidden_count": 0}
    return usual | links | flags | {"parts": list(parts)} | more


def events(now: datetime) -> list[dict[str, Any]]:
    """One event of each role, with parts of each kind."""
    call = _part("tool_call", title="Bash", html=code(CALL, "json"))
    result = _part(
        "tool_result", title="Result", text="E   assert 101 == 100\n1 failed in 0.31s", truncated=True, full_url="#e4"
    )
    thinking = _part("thinking", text="The header line is counted. Check with a test first.")
    return [
        _event(1, "user", "Prompt", now, _part("text", text="Why is the tally one too high?")),
        _event(2, "assistant", "Assistant", now, thinking, _part("markdown", html=markdown(MARKDOWN)), model="model-5"),
        _event(3, "assistant", "Tool call", now, call, tool="Bash"),
        _event(4, "tool", "Tool result", now, result, tool="Bash", is_error=True),
        _event(5, "user", "Prompt", now, _part("text", text=HIDDEN), hidden_count=5),
        _event(6, "system", "System", now, _part("json", title="settings", html=code('{"mode": "plan"}', "json"))),
        _event(7, "record", "Summary", now, _part("image_note", title="Image", text="PNG, 800 × 600, 12 kB")),
        _event(8, "unreadable", "Unreadable line", now, _part("bytes", title="Not UTF-8", text="at byte 17"), is_incomplete=True),
    ]


def _row(number: int, status: str, title: str, now: datetime, **more: Any) -> dict[str, Any]:
    started = now - timedelta(hours=number * 5)
    times = {"started_at": started, "last_at": started + timedelta(minutes=34), "ingested_at": now}
    counts = {"events": 1204 * number, "prompts": 12, "errors": 0, "unreadable": 0, "raw_bytes": 812_334 * number}
    names = {"agent": "claude-code", "project": "tally", "machine": "build-7", "generation": 1}
    return {"id": number, "url": "#", "title": title, "status": status} | times | counts | names | more


def sessions(now: datetime) -> list[dict[str, Any]]:
    return [
        _row(1, "running", "Why is the tally one too high?", now),
        _row(2, "idle", "Move the importer to the new queue", now, errors=3, generation=2),
        _row(3, "closed", "Read notes\u202e and report", now, unreadable=2, project=None),
        _row(4, "archived", "", now, started_at=None, last_at=None, events=0, raw_bytes=0),
    ]


def _job(number: int, state: str, now: datetime, **more: Any) -> dict[str, Any]:
    times = {"created_at": now - timedelta(minutes=number), "started_at": None, "finished_at": None}
    progress = {"progress_done": 0, "progress_total": 0, "attempts": 1, "note": "", "error": ""}
    flags = {"can_cancel": False, "can_retry": False, "result_url": "", "created_by": "ada"}
    return {"id": number, "kind_label": "Ingest", "state": state} | times | progress | flags | more


@register.simple_tag
def samples() -> dict[str, Any]:
    now = timezone.now()
    form = SampleForm({"email": "not an address", "role": "admin", "theme": "auto", "shortcuts": "on"})
    return {
        "bars": [(f"{hour:02}:00", (hour * 37 + hour**3) % 91) for hour in range(24)],
        "spark": [(n * 29) % 17 + n for n in range(20)],
        "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "tree": {"role": "tool", "content": [{"type": "text", "text": HIDDEN}], "ok": True, "usage": None},
        "sessions": {"rows": sessions(now), "newer": None, "older": "#", "total_label": "4 sessions"},
        "events": events(now),
        "now": now,
        "hidden": HIDDEN,
        "form": form,
        "jobs": [
            _job(1, "running", now, progress_done=412, progress_total=1200, note="logs/2026-11", started_at=now),
            _job(2, "queued", now),
            _job(3, "done", now, started_at=now, finished_at=now + timedelta(seconds=94), progress_done=88),
            _job(4, "failed", now, error="disk full while writing chunk 12", attempts=3),
            _job(5, "cancelled", now),
            _job(6, "quarantined", now, error="the worker died three times on this job", attempts=3),
        ],
    }
