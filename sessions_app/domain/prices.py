"""What tokens cost by the price list of genai-prices, in millionths of a millionth of a dollar.

Only the list inside the pinned package is used, never its updater. Asked for every answer of a
corpus, so what the list says of a model is worked out once, as whole numbers per token.
"""

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache, lru_cache
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider, StartDateConstraint
    from genai_prices.types import TimeOfDateConstraint as TimeConstraint

    Constraint = StartDateConstraint | TimeConstraint

# The package says no date of its list. This is the last day a price in it changed, announced ones
# aside; a test compares both with what is installed.
LIST_VERSION = "0.2.3"
PRICED_ON = date(2026, 11, 9)

_UNDATED = datetime(PRICED_ON.year, PRICED_ON.month, PRICED_ON.day, tzinfo=UTC)
_LONGEST_NAME = 200
_KNOWN_NAMES = 1024
_MILLION = 10**6
_LARGEST = 2**63 - 1
# Only Bedrock calls models so: `us.anthropic.claude-…-v1:0`.
_BEDROCK = re.compile(r"(?:[a-z-]{2,12}\.)?(?:anthropic|amazon|meta|mistral|cohere|deepseek)\.\w")


class Price(NamedTuple):
    picodollars: int
    priced_on: date


class _Rate(NamedTuple):
    """Picodollars, times `scale`, of one token of each kind; `fixed` is for the request."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    fixed: int
    scale: int


class _Band(NamedTuple):
    """The rate of an answer with more than so many tokens going in."""

    above: int
    rate: _Rate


class _Term(NamedTuple):
    """Highest band first; none where the list has no price for tokens."""

    constraint: "Constraint | None"
    bands: tuple[_Band, ...]


_Tariff = tuple[_Term, ...]


def cost(
    model: str,
    provider: str,
    at: datetime | None,
    *,
    input: int,
    output: int,
    cache_read: int,
    cache_write: int,
    cache_write_1h: int,
) -> Price | None:
    """None where the list has no price: that is not the same as free.

    `input` is without what was read from or written to a cache, `cache_write` with what is kept
    for an hour. Without a time the prices of `PRICED_ON` hold.
    """
    if len(model) > _LONGEST_NAME or len(provider) > _LONGEST_NAME:
        return None
    tariff = _tariff(model, provider)
    if tariff is None or min(input, output, cache_read, cache_write, cache_write_1h) < 0:
        return None
    rate = _rate_for(_bands_at(tariff, at), input + cache_read + cache_write)
    if rate is None:
        return None
    hour = min(cache_write_1h, cache_write)
    scaled = (
        input * rate.input
        + output * rate.output
        + cache_read * rate.cache_read
        + (cache_write - hour) * rate.cache_write
        + hour * rate.cache_write_1h
        + rate.fixed
    )
    picodollars = (scaled + rate.scale // 2) // rate.scale
    return Price(picodollars, PRICED_ON) if picodollars <= _LARGEST else None


def _bands_at(tariff: _Tariff, at: datetime | None) -> tuple[_Band, ...]:
    """The last term whose constraint holds, else the first: the rule of the list."""
    if len(tariff) > 1:
        when = at or _UNDATED
        for term in reversed(tariff):
            if term.constraint is None or term.constraint.active(when):
                return term.bands
    return tariff[0].bands


def _rate_for(bands: tuple[_Band, ...], going_in: int) -> _Rate | None:
    for band in bands:
        if going_in > band.above:
            return band.rate
    return None


@lru_cache(maxsize=_KNOWN_NAMES)
def _tariff(model: str, provider: str) -> _Tariff | None:
    found = _find(model.strip().lower(), provider.strip().lower())
    if found is None:
        return None
    from genai_prices.types import ModelPrice

    if isinstance(found.prices, ModelPrice):
        return (_Term(None, _bands(found.prices)),)
    terms = tuple(_Term(each.constraint, _bands(each.prices)) for each in found.prices)
    return terms or None


# -- names


def _find(model: str, provider: str) -> "ModelInfo | None":
    """A provider the list does not know may be a machine under a desk: nothing is guessed."""
    if not model or model == "<synthetic>":
        return None
    if not provider and (served := _named_in(model)):
        provider, model = served
    known = _provider(provider) if provider else _vendor(model)
    return known.find_model(model, all_providers=_providers()) if known else None


def _named_in(model: str) -> tuple[str, str] | None:
    """The provider that the name of a model tells: of Bedrock, or as `provider/model`."""
    if _BEDROCK.match(model):
        return "aws", model
    first, slash, rest = model.partition("/")
    if slash and any(each.id == first for each in _providers()):
        return first, rest
    return None


def _provider(name: str) -> "Provider | None":
    from genai_prices.data_snapshot import find_provider_by_id

    return find_provider_by_id(_providers(), name)


def _vendor(model: str) -> "Provider | None":
    return next((p for p in _providers() if p.model_match and p.model_match.is_match(model)), None)


@cache
def _providers() -> "list[Provider]":
    # Thousands of objects: made when the first price is asked for. Not by way of the package's
    # own look-up, which keeps every name it was ever asked for.
    from genai_prices.data import providers

    return providers


# -- rates


def _bands(prices: "ModelPrice") -> tuple[_Band, ...]:
    from genai_prices.types import TieredPrices

    listed = vars(prices)
    if listed.get("input_mtok") is None and listed.get("output_mtok") is None:
        return ()
    tiered = [price for price in listed.values() if isinstance(price, TieredPrices)]
    starts = {tier.start for price in tiered for tier in price.tiers} | {-1}
    return tuple(_Band(start, _rate(_flat(prices, start))) for start in sorted(starts)[::-1])


def _flat(prices: "ModelPrice", start: int) -> "ModelPrice":
    """What holds from a tier on: crossing one sets the price of all tokens."""
    from genai_prices.types import ModelPrice, TieredPrices

    flat = {}
    for name, price in vars(prices).items():
        flat[name] = price
        if isinstance(price, TieredPrices):
            reached = [tier.price for tier in price.tiers if tier.start <= start]
            flat[name] = reached[-1] if reached else price.base
    return ModelPrice(**flat)


def _rate(prices: "ModelPrice") -> _Rate:
    """Asked of the package itself, a million tokens at a time, so that its rules hold: a kind
    of token without a price of its own costs what the wider kind does."""

    def dollars(**tokens: int) -> Fraction:
        from genai_prices import Usage

        return Fraction(prices.calc_price(Usage(**tokens))["total_price"])

    fixed = dollars()
    cached = {"input_tokens": _MILLION, "cache_write_tokens": _MILLION}
    exact = [
        (dollars(input_tokens=_MILLION) - fixed) * _MILLION,
        (dollars(output_tokens=_MILLION) - fixed) * _MILLION,
        (dollars(input_tokens=_MILLION, cache_read_tokens=_MILLION) - fixed) * _MILLION,
        (dollars(**cached) - fixed) * _MILLION,
        (dollars(**cached, cache_write_1h_tokens=_MILLION) - fixed) * _MILLION,
        fixed * _MILLION**2,
    ]
    scale = lcm(*(value.denominator for value in exact))
    return _Rate._make([*(int(value * scale) for value in exact), scale])
