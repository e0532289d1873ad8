"""The fictional files of the demo's projects: the same path always holds the same text."""

import functools
from random import Random

from sessions_app.ingest.demo.cast import LEDGER, PROJECTS
from sessions_app.ingest.demo.chance import between, pick, seeded

_STATES = ("pending", "settled", "failed", "paused", "closed", "queued", "stale", "held")
_VERBS = ("load", "apply", "close", "collect", "schedule", "verify", "release", "rebuild", "merge")
_REASONS = (
    "The caller already holds the row lock.",
    "Late rows are normal; anything older than a week is not.",
    "Amounts are integers in minor units everywhere below this line.",
    "Order matters: the audit row is written first.",
    "A missing value means unknown, never zero.",
    "Safe to call twice.",
)

_PYTHON = (
    '''def {verb}_{noun}({noun}_id: str, *, now: datetime) -> {Noun}:
    """{reason}"""
    {noun} = store.get_{noun}({noun}_id)
    if {noun}.state == "{state}":
        return {noun}
    if {noun}.updated_at > now - timedelta(minutes={n}):
        raise TooEarly({noun}_id, {noun}.updated_at)
    {noun}.state = "{state2}"
    store.save_{noun}({noun})
    return {noun}
''',
    """def {verb}_{noun}s(batch: Iterable[{Noun}], limit: int = {n}) -> list[{Noun}]:
    # {reason}
    done: list[{Noun}] = []
    for {noun} in itertools.islice(batch, limit):
        try:
            done.append({verb}_{noun}({noun}.id, now=clock.now()))
        except TooEarly as early:
            log.info("{noun} %s is too early: %s", {noun}.id, early)
    return done
""",
    '''@dataclass(frozen=True)
class {Noun}Summary:
    """{reason}"""

    count: int
    total_cents: int
    oldest: datetime | None = None

    @property
    def average_cents(self) -> int:
        return self.total_cents // self.count if self.count else 0
''',
    """def count_{noun}s_by_state(connection: Connection, since: date) -> dict[str, int]:
    rows = connection.execute(
        "select state, count(*) from {noun}s where created_at >= %s group by state", [since]
    )
    return dict(rows.fetchall())
""",
    '''class {Noun}Error(Exception):
    """A {noun} that cannot be handled now; `retry_after` says when to try again."""

    def __init__(self, {noun}_id: str, retry_after: int = {n}) -> None:
        super().__init__(f"{noun} {{{noun}_id}} failed, retry after {{retry_after}} s")
        self.retry_after = retry_after
''',
)

_PYTHON_TESTS = (
    """def test_a_{state}_{noun}_is_left_alone(db: Database) -> None:
    {noun} = build.{noun}(db, state="{state}")
    before = db.snapshot("{noun}s")
    {verb}_{noun}({noun}.id, now=NOON)
    assert db.snapshot("{noun}s") == before
""",
    """def test_a_second_{verb}_of_a_{noun}_changes_nothing(db: Database) -> None:
    {noun} = build.{noun}(db, amount_cents={n}50)
    once = {verb}_{noun}({noun}.id, now=NOON)
    assert {verb}_{noun}({noun}.id, now=LATER) == once
""",
    """def test_a_{noun}_that_was_just_touched_is_too_early(db: Database) -> None:
    {noun} = build.{noun}(db, updated_at=NOON - timedelta(minutes={k}))
    with pytest.raises(TooEarly):
        {verb}_{noun}({noun}.id, now=NOON)
""",
)

_TYPESCRIPT = (
    """export function {verb}{Noun}({noun}: {Noun}, now: Date): {Noun} {{
  // {reason}
  if ({noun}.state === "{state}") return {noun};
  const age = now.getTime() - {noun}.updatedAt.getTime();
  return {{ ...{noun}, state: age > {n}_000 ? "{state2}" : {noun}.state }};
}}
""",
    """export const use{Noun} = (id: string) => {{
  const [{noun}, set{Noun}] = useState<{Noun} | null>(null);
  useEffect(() => {{
    const abort = new AbortController();
    client.get<{Noun}>(`/{noun}s/${{id}}`, {{ signal: abort.signal }}).then(set{Noun});
    return () => abort.abort();
  }}, [id]);
  return {noun};
}};
""",
    """export interface {Noun}Props {{
  {noun}: {Noun};
  locale: string;
  disabled?: boolean;
  on{Verb}: ({noun}: {Noun}) => void;
}}
""",
    """export function {Noun}Row({{ {noun}, locale, on{Verb} }}: {Noun}Props) {{
  return (
    <li className="{noun}-row" data-state={{{noun}.state}}>
      <span>{{format({noun}.totalCents, locale)}}</span>
      <button type="button" onClick={{() => on{Verb}({noun})}}>{Verb}</button>
    </li>
  );
}}
""",
)

_TYPESCRIPT_TESTS = (
    """it("keeps a {state} {noun} as it is", () => {{
  const {noun} = make{Noun}({{ state: "{state}" }});
  expect({verb}{Noun}({noun}, NOON)).toEqual({noun});
}});
""",
    """it("shows the {noun} of {n} cents in both languages", () => {{
  const {noun} = make{Noun}({{ totalCents: {n} }});
  expect(format({noun}.totalCents, "de")).toMatchSnapshot();
  expect(format({noun}.totalCents, "en")).toMatchSnapshot();
}});
""",
)

_SQL = (
    """-- {reason}
with {noun}s as (
    select {noun}_id, state, amount_cents, created_at, _loaded_at
    from raw.{noun}s
    where _loaded_at >= current_date - {n}
),
latest as (
    select distinct on ({noun}_id) *
    from {noun}s
    order by {noun}_id, _loaded_at desc
)
select {noun}_id, state, amount_cents, created_at::date as day
from latest
where state <> '{state}';
""",
    """create index concurrently if not exists {noun}s_{state}_day
    on {noun}s (created_at)
    where state = '{state}';
""",
    """select day, count(*) as {noun}s, sum(amount_cents) / 100.0 as amount
from marts.{noun}_daily
where day between current_date - {n} and current_date
group by day
order by day;
""",
)

_HCL = (
    """resource "cloud_{noun}" "{state}" {{
  name        = "larkspur-{noun}-{state}"
  zone        = var.zone
  size        = {n}
  description = "{reason}"

  lifecycle {{
    prevent_destroy = true
  }}
}}
""",
    """variable "{noun}_{state}_limit" {{
  description = "How many {noun}s may be {state} at once."
  type        = number
  default     = {n}
}}
""",
    """output "{noun}_{state}_id" {{
  value = cloud_{noun}.{state}.id
}}
""",
)

_YAML = (
    """---
kind: {Noun}
metadata:
  name: {noun}-{state}
  labels:
    team: platform
    tier: "{n}"
spec:
  # {reason}
  replicas: {k}
  strategy: {verb}
  resources:
    requests: {{cpu: {n}0m, memory: {n}Mi}}
    limits: {{memory: {n}0Mi}}
""",
)

_MARKDOWN = (
    """## When a {noun} is {state}

{reason}

1. Find it: `list {noun}s --state {state} --older {n}m`
2. {Verb} it, one at a time.
3. Write down in the journal which ones, and why.

""",
)

_CSS = (
    """.{noun}-{state} {{
  display: grid;
  gap: {k}px;
  padding-block: {n}px;
}}
""",
)

# How the files begin that the stories turn on.
_OPENINGS = {
    "ledger/refunds/retry.py": '''def send(refund: Refund) -> Response:
    """Posts a refund to the provider, again after a timeout."""
    body = {"payment": refund.payment_id, "amount": refund.amount_cents}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            response = provider.post("/refunds", body)
            return settle(refund, response)
        except Timeout:
            log.warning("refund %s provider timeout, attempt %s", refund.id, attempt)
            time.sleep(attempt * 2)
    raise GaveUp(refund.id)
''',
    "ledger/idempotency/keys.py": '''def key_for(refund: Refund) -> str:
    """The same for every attempt of a refund, different for two refunds."""
    return f"refund-{refund.id}"


def remember(key: str, result: Result) -> None: ...
''',
    "ledger/money.py": '''def to_cents(amount: str | float) -> int:
    """Cuts, never rounds: the provider does the same."""
    return int(Decimal(str(amount)) * 100)
''',
}

_SHAPES = {
    "py": _PYTHON,
    "ts": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "sql": _SQL,
    "tf": _HCL,
    "yaml": _YAML,
    "md": _MARKDOWN,
    "css": _CSS,
}


_TEST_SHAPES = {"py": _PYTHON_TESTS, "ts": _TYPESCRIPT_TESTS}


@functools.cache
def source(path: str) -> str:
    rng = seeded(path)
    ending = path.rsplit(".", 1)[-1]
    shapes = _TEST_SHAPES.get(ending) if path.startswith("tests/") else _SHAPES.get(ending)
    nouns = next((p.nouns for p in PROJECTS if path in p.paths), LEDGER.nouns)
    parts = [
        _filled(rng, pick(rng, shapes or _MARKDOWN), nouns) for _ in range(between(rng, 7, 16))
    ]
    return "\n\n".join([_OPENINGS[path], *parts] if path in _OPENINGS else parts)


def numbered(text: str, first: int = 1) -> str:
    return "\n".join(f"{n:>5}\t{line}" for n, line in enumerate(text.split("\n"), first))


def unnumbered(text: str) -> tuple[int, str]:
    """The first number, and the lines without theirs."""
    lines = [line.partition("\t") for line in text.split("\n")]
    if not all(tab and number.strip().isdigit() for number, tab, _ in lines):
        return 1, text
    return int(lines[0][0]), "\n".join(line for _, _, line in lines)


def _filled(rng: Random, shape: str, nouns: tuple[str, ...]) -> str:
    noun, verb = pick(rng, nouns), pick(rng, _VERBS)
    return shape.format(
        noun=noun,
        Noun=noun.title().replace("_", ""),
        verb=verb,
        Verb=verb.title(),
        state=pick(rng, _STATES),
        state2=pick(rng, _STATES),
        reason=pick(rng, _REASONS),
        n=between(rng, 2, 90),
        k=between(rng, 1, 9),
    )
