"""The policy for contents: the same for every answer, so it is written once."""

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property


class ContentPolicy(CSPMiddleware):
    @cached_property
    def _policy(self) -> str:
        return build_policy()

    def process_response(
        self,
        request: HttpRequest,  # noqa: ARG002
        response: HttpResponseBase,
    ) -> HttpResponseBase:
        response.headers.setdefault(HEADER, self._policy)
        return response
