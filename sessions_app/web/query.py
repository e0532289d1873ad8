"""Values of a query string: read, or answered with a sentence about what is wrong."""

from django.http import HttpRequest

from sessions_app.domain.errors import BadInput


def number(request: HttpRequest, name: str, default: int = 0) -> int:
    """A whole number from the query, or a sentence about it."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadInput(f"“{name}” must be a whole number.")
    return int(text)
