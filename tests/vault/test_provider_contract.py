"""What every holder of the root key must do. A new provider is one more entry in `HOLDERS`."""

import base64
import copy
import io
import logging
import os
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessions_app.domain.errors import IntegrityError, KeyUnavailable, WrongKey
from sessions_app.vault import root
from sessions_app.vault.root import FILE_MARK, EnvironmentRoot, FileRoot, Provider
from sessions_app.vault.seal import COMMITMENT_BYTES, HEADER_BYTES, KEY_BYTES, Key

CONTEXT = b"workspace one"
NAME = "key 1 of workspace one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A provider under test, and the secret it must never show (none where it has none)."""

    provider: Provider
    secret: bytes = b""


def _file(folder: Path) -> Holder:
    path = folder / os.urandom(4).hex() / "root.key"
    root.create_file(path)
    return Holder(provider=FileRoot(path), secret=base64.b64decode(path.read_text().split()[2]))


def _environment(folder: Path) -> Holder:
    secret = os.urandom(KEY_BYTES)
    return Holder(provider=EnvironmentRoot(base64.b64encode(secret).decode()), secret=secret)


# Each call gives a holder of another root key.
HOLDERS: dict[str, Callable[[Path], Holder]] = {"file": _file, "environment": _environment}
# Where a wrap is an envelope of this house, its byte classes are known.
CLASSES = {
    "version": 0,
    "commitment, first": 1,
    "commitment, last": COMMITMENT_BYTES,
    "nonce, first": COMMITMENT_BYTES + 1,
    "nonce, last": HEADER_BYTES - 1,
    "ciphertext, first": HEADER_BYTES,
    "ciphertext, last": HEADER_BYTES + KEY_BYTES - 1,
    "tag, first": -16,
    "tag, last": -1,
}

MakeHolder = Callable[[], Holder]


@pytest.fixture(params=HOLDERS.values(), ids=list(HOLDERS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> MakeHolder:
    holder: Callable[[Path], Holder] = request.param
    return lambda: holder(tmp_path)


def unwrapped(provider: Provider, wrapped: bytes, context: bytes = CONTEXT) -> Key:
    version = provider.current_version()
    return provider.unwrap(wrapped, context, version=version, name=NAME)


def test_a_wrapped_key_comes_back(make: MakeHolder) -> None:
    provider, key = make().provider, Key.fresh()

    assert unwrapped(provider, provider.wrap(key, CONTEXT)) == key


def test_the_same_key_never_wraps_to_the_same_bytes(make: MakeHolder) -> None:
    provider, key = make().provider, Key.fresh()

    assert provider.wrap(key, CONTEXT) != provider.wrap(key, CONTEXT)


def test_a_wrap_does_not_contain_what_it_wraps(make: MakeHolder) -> None:
    provider, key = make().provider, Key.fresh()

    assert key.secret not in provider.wrap(key, CONTEXT)


@pytest.mark.parametrize("other", [b"", b"workspace two", CONTEXT + b"\0", CONTEXT[:-1]])
def test_another_context_is_refused(make: MakeHolder, other: bytes) -> None:
    provider = make().provider
    wrapped = provider.wrap(Key.fresh(), CONTEXT)

    with pytest.raises(IntegrityError, match=NAME):
        unwrapped(provider, wrapped, other)


def test_another_root_key_is_refused_as_the_wrong_key(make: MakeHolder) -> None:
    wrapped = make().provider.wrap(Key.fresh(), CONTEXT)

    with pytest.raises(WrongKey, match=NAME):
        unwrapped(make().provider, wrapped)


@pytest.mark.parametrize("place", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("bit", [0, 7])
def test_a_flipped_bit_is_refused_and_named(make: MakeHolder, place: int, bit: int) -> None:
    provider = make().provider
    wrapped = bytearray(provider.wrap(Key.fresh(), CONTEXT))
    wrapped[place] ^= 1 << bit

    with pytest.raises(IntegrityError, match=NAME):
        unwrapped(provider, bytes(wrapped))


def test_a_wrap_cut_short_or_grown_is_refused(make: MakeHolder) -> None:
    provider = make().provider
    wrapped = provider.wrap(Key.fresh(), CONTEXT)

    for damaged in (b"", wrapped[:1], wrapped[:HEADER_BYTES], wrapped[:-1], wrapped + b"\0"):
        with pytest.raises(IntegrityError, match=NAME):
            unwrapped(provider, damaged)


def test_a_version_that_is_absent_is_named(make: MakeHolder) -> None:
    provider = make().provider
    wrapped = provider.wrap(Key.fresh(), CONTEXT)
    absent = provider.current_version() + 1

    with pytest.raises(KeyUnavailable, match=f"{NAME}.*version {absent}"):
        provider.unwrap(wrapped, CONTEXT, version=absent, name=NAME)


def test_key_ids_tell_root_keys_apart_and_stay(make: MakeHolder) -> None:
    one, two = make().provider, make().provider

    assert one.key_id() == one.key_id()
    assert one.key_id() != two.key_id()


def test_health_names_provider_key_and_version(make: MakeHolder) -> None:
    provider = make().provider

    health = provider.health()
    assert provider.name in health
    assert provider.key_id() in health
    assert str(provider.current_version()) in health


def test_nothing_that_is_printed_shows_the_key(make: MakeHolder) -> None:
    holder = make()
    provider, wrapping = holder.provider, Key.fresh()

    said = [repr(provider), str(provider), provider.health(), provider.key_id(), repr(wrapping)]
    said += [repr(vars(provider)), f"{wrapping}", _logged(provider), _trouble(provider, wrapping)]
    for text in said:
        _shows_none_of(text.encode(), holder.secret, wrapping.secret)


def test_keys_and_their_holders_are_neither_pickled_nor_copied(make: MakeHolder) -> None:
    for thing in (make().provider, Key.fresh()):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.deepcopy(thing)


def _logged(provider: Provider) -> str:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    log = logging.getLogger("tests.provider")
    log.addHandler(handler)
    log.error("%r %s %r", provider, provider, vars(provider))
    log.removeHandler(handler)
    return out.getvalue()


def _trouble(provider: Provider, key: Key) -> str:
    wrapped = provider.wrap(key, CONTEXT)
    with pytest.raises(IntegrityError) as caught:
        unwrapped(provider, wrapped, b"elsewhere")
    return "".join(traceback.format_exception(caught.value))


def _shows_none_of(text: bytes, *secrets: bytes) -> None:
    for secret in filter(None, secrets):
        for form in (
            secret,
            secret.hex().encode(),
            base64.b64encode(secret),
            repr(secret).encode(),
        ):
            assert form[:12] not in text


def test_a_file_of_two_versions_wraps_with_the_newer_and_opens_both(tmp_path: Path) -> None:
    path = tmp_path / "root.key"
    root.create_file(path)
    old = FileRoot(path)
    wrapped = old.wrap(Key(b"o" * KEY_BYTES), CONTEXT)
    second = base64.b64encode(os.urandom(KEY_BYTES)).decode()
    path.write_text(path.read_text() + f"{FILE_MARK} 2 {second}\n")

    both = FileRoot(path)

    assert both.current_version() == 2
    assert both.unwrap(wrapped, CONTEXT, version=1, name=NAME) == Key(b"o" * KEY_BYTES)
    with pytest.raises(KeyUnavailable, match="version 2"):
        old.unwrap(both.wrap(Key.fresh(), CONTEXT), CONTEXT, version=2, name=NAME)
