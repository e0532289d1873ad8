"""Addresses of other pages that say what to look for there."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from sessions_app.domain import searchquery


def sessions(**filters: str) -> str:
    """The list of sessions, narrowed down by `key:value` for each."""
    text = ""
    for key, value in filters.items():
        text = searchquery.narrowed(searchquery.parse(text), key, value)
    return f"{reverse('sessions:list')}?{urlencode({'q': text})}"


def query(values: Mapping[str, object]) -> str:
    return urlencode({name: value for name, value in values.items() if value not in ("", None)})
