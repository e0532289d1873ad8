import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from random import Random

import pytest
from genai_prices import Usage, calc_price
from genai_prices.data import providers
from genai_prices.types import ModelPrice, StartDateConstraint

from sessions_app.domain import prices

MODELS = [(model.id, provider.id) for provider in providers for model in provider.models]
DATES = sorted(
    {
        priced.constraint.start_date
        for provider in providers
        for model in provider.models
        if isinstance(model.prices, list)
        for priced in model.prices
        if isinstance(priced.constraint, StartDateConstraint)
    }
)
PINNED_ON = datetime(2026, 11, 18, tzinfo=UTC).date()
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
OPUS = ("claude-opus-4-5-20251101", "")
GPT = ("gpt-5", "openai")


def cost(
    named: tuple[str, str], counts: dict[str, int], at: datetime | None = NOON
) -> prices.Price | None:
    all_counts = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cache_write_1h": 0}
    model, provider = named
    return prices.cost(model, provider, at, **(all_counts | counts))


def listed(model: str, provider: str, at: datetime, counts: dict[str, int]) -> Decimal | None:
    """What genai-prices itself says; its input counts hold what went through a cache."""
    usage = Usage(
        input_tokens=counts["input"] + counts["cache_read"] + counts["cache_write"],
        output_tokens=counts["output"],
        cache_read_tokens=counts["cache_read"],
        cache_write_tokens=counts["cache_write"],
        cache_write_1h_tokens=counts["cache_write_1h"],
    )
    try:
        found = calc_price(usage, model, provider_id=provider, genai_request_timestamp=at)
    except LookupError:
        return None
    tokens = found.model_price.input_mtok, found.model_price.output_mtok
    return None if tokens == (None, None) else found.total_price * 10**12


def some_counts(rng: Random) -> dict[str, int]:
    write = rng.choice((0, rng.randrange(500_000)))
    return {
        "input": rng.randrange(10 ** rng.randrange(1, 7)),
        "output": rng.randrange(100_000),
        "cache_read": rng.choice((0, rng.randrange(900_000))),
        "cache_write": write,
        "cache_write_1h": rng.choice((0, write, write // 3)),
    }


def assert_as_listed(
    model: str, provider: str, at: datetime, counts: dict[str, int]
) -> prices.Price | None:
    ours, theirs = cost((model, provider), counts, at), listed(model, provider, at, counts)
    if theirs is None:
        assert ours is None, (model, provider)
    else:
        assert ours is not None, (model, provider)
        assert abs(ours.picodollars - theirs) <= Decimal("0.500001"), (model, provider, at, counts)
    return ours


def test_every_model_of_the_list_costs_what_the_package_says() -> None:
    rng = Random(7)
    priced = [assert_as_listed(*named, NOON, some_counts(rng)) for named in MODELS]
    assert len([price for price in priced if price]) > 2000


def test_prices_that_change_cost_what_held_at_the_time() -> None:
    rng = Random(8)
    changing = [
        (model.id, provider.id)
        for provider in providers
        for model in provider.models
        if not isinstance(model.prices, ModelPrice)
    ]
    assert len(changing) > 200
    days = [DATES[0], DATES[len(DATES) // 2], DATES[-1]]
    for model, provider in changing:
        for day in days:
            start = datetime(day.year, day.month, day.day, tzinfo=UTC)
            for at in (start - timedelta(seconds=1), start, start + timedelta(hours=rng.random())):
                assert_as_listed(model, provider, at, some_counts(rng))


def test_a_price_that_depends_on_the_hour_is_taken_by_the_hour() -> None:
    for hour in range(24):
        at = datetime(2025, 6, 1, hour, 31, tzinfo=UTC)
        assert_as_listed("deepseek-chat", "deepseek", at, some_counts(Random(hour)))


@pytest.mark.parametrize("going_in", [199_999, 200_000, 200_001])
def test_a_tier_sets_the_price_of_every_token(going_in: int) -> None:
    counts = {"input": 1, "output": 9, "cache_read": going_in - 1}
    counts |= {"cache_write": 0, "cache_write_1h": 0}
    assert_as_listed("claude-sonnet-4-5", "anthropic", NOON, counts)


def test_what_went_through_a_cache_is_priced_once() -> None:
    a_million = {"input": 10**6, "output": 10**6, "cache_read": 10**6, "cache_write": 10**6}
    priced = cost(OPUS, a_million)
    assert priced == ((5_000_000 + 25_000_000 + 500_000 + 6_250_000) * 10**6, prices.PRICED_ON)


def test_an_hour_in_the_cache_has_a_price_of_its_own() -> None:
    priced = cost(OPUS, {"cache_write": 3, "cache_write_1h": 1})
    assert priced
    assert priced.picodollars == 2 * 6_250_000 + 10_000_000


def test_more_kept_for_an_hour_than_was_written_counts_as_all_of_it() -> None:
    priced = cost(OPUS, {"cache_write": 3, "cache_write_1h": 10**9})
    assert priced
    assert priced.picodollars == 3 * 10_000_000


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("", ""),
        ("", "anthropic"),
        ("<synthetic>", ""),
        ("<synthetic>", "anthropic"),
        ("coder-model", ""),
        ("gpt-oss:20b", "ollama"),
        ("claude-opus-4-5", "a gateway of our own"),
        ("whisper-1", "azure"),
        ("claude-opus-4-5" + "x" * 500, ""),
        ("claude-opus-4-5", "anthropic" * 500),
        ("\x00\ud800[(*", "\ud800"),
    ],
)
def test_what_the_list_does_not_know_has_no_price(model: str, provider: str) -> None:
    assert cost((model, provider), {"input": 5}) is None


@pytest.mark.parametrize(
    ("written", "provider", "model", "listed_under"),
    [
        ("claude-opus-4-5-20251101", "", "claude-opus-4-5", "anthropic"),
        ("claude-opus-4-6[1m]", "", "claude-opus-4-6", "anthropic"),
        ("claude-opus-4.8", "", "claude-opus-4-8", "anthropic"),
        ("claude-opus-4.8", "github-copilot", "claude-opus-4.8", "github-copilot"),
        ("claude-sonnet-4-5@20250929", "", "claude-sonnet-4-5", "anthropic"),
        ("gpt-5-codex", "", "gpt-5", "openai"),
        ("gpt-5.1-codex", "openai-codex", "gpt-5.1", "openai"),
        ("gemini-2.5-pro", "google-gemini-cli", "gemini-2.5-pro", "google"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws",
        ),
        ("anthropic/claude-sonnet-4-5", "", "claude-sonnet-4-5", "anthropic"),
        (
            "openrouter/anthropic/claude-sonnet-4.5",
            "",
            "anthropic/claude-sonnet-4.5",
            "openrouter",
        ),
    ],
)
def test_names_as_agents_write_them_are_found(
    written: str, provider: str, model: str, listed_under: str
) -> None:
    counts = some_counts(Random(3))
    ours = cost((written, provider), counts)
    assert ours
    assert ours.picodollars == listed(model, listed_under, NOON, counts)


def test_hostile_counts_have_no_price() -> None:
    assert cost(GPT, {"input": -1}) is None
    assert cost(GPT, {"input": 10**6, "output": -1}) is None
    assert cost(GPT, {"input": 2**63}) is None


def test_a_line_without_a_time_is_priced_by_the_day_of_the_list() -> None:
    day = prices.PRICED_ON
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    counts = some_counts(Random(4))
    for model in ("claude-opus-4-6", "o3", "deepseek-chat"):
        assert cost((model, ""), counts, None) == cost((model, ""), counts, at)


def test_names_of_models_fill_no_memory() -> None:
    for number in range(3_000):
        cost((f"claude-{number}", ""), {"input": 1})
    assert prices._tariff.cache_info().currsize <= 1024


def test_the_day_of_the_list_belongs_to_the_pinned_version() -> None:
    assert version("genai-prices") == prices.LIST_VERSION, "look up LIST_VERSION and PRICED_ON"
    assert max(day for day in DATES if day <= PINNED_ON) == prices.PRICED_ON


def test_two_hundred_thousand_answers_are_priced_within_a_second() -> None:
    names = [OPUS, GPT, ("claude-opus-4-6", "")]
    for name in names:
        cost(name, {"input": 1})
    begun = time.process_time()
    for number in range(200_000):
        model, provider = names[number % 3]
        prices.cost(
            model, provider, NOON,
            input=number, output=500, cache_read=90_000, cache_write=300, cache_write_1h=0,
        )  # fmt: skip
    assert time.process_time() - begun < 1
