"""Tokens of real logs as the store tells them, against counts made apart from the readers."""

import json
from pathlib import Path

import pytest

from sessions_app.models import Workspace
from sessions_app.store import usage
from tests import build
from tests.formats import folding
from tests.formats.test_codex import GAPS, ROLLOUTS, final_total

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not build.SHARED.is_dir(), reason="the shared logs are not here"),
]


def taken(folder: str) -> Workspace:
    place = build.workspace()
    for path in folding.files(folder):
        build.ingest_file(place, path)
    return place


def test_all_codex_rollouts_together_use_the_sum_of_their_final_totals() -> None:
    rows = usage.of_workspace(taken("codex").id)
    totals, gaps = [final_total(path) for path in ROLLOUTS], list(GAPS.values())

    read = sum(row.input + row.cache_read + row.cache_write for row in rows)
    assert read == sum(each[0] for each in totals) - sum(gap[0] for gap in gaps)
    output = sum(row.output for row in rows)
    assert output == sum(each[1] for each in totals) - sum(gap[1] for gap in gaps)


def test_the_cost_pi_reports_is_the_sum_of_its_messages_and_agrees_with_the_price_list() -> None:
    rows = usage.of_workspace(taken("pi").id)
    told = sum(cost for path in folding.files("pi") for cost in _costs(path))
    priced = [row for row in rows if row.cost is not None]

    assert sum(row.reported or 0 for row in rows) / 10**12 == pytest.approx(told)
    assert sum(row.cost or 0 for row in priced) / 10**12 == pytest.approx(told)


def _costs(path: Path) -> list[float]:
    out = []
    for line in path.read_bytes().splitlines():
        try:
            message = json.loads(line).get("message", {})
        except ValueError:
            continue
        out.append(message.get("usage", {}).get("cost", {}).get("total", 0))
    return out
