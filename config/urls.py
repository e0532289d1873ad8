"""All addresses: pages, retention's posts, the API."""

from django.urls import include, path

from config.api import api
from retention import web as retention
from sessions_app.api import otlp
from sessions_app.web.urls import DEMO

handler500 = "sessions_app.web.respond.fault"
# The API first: it is asked most often, and its addresses begin like no other.
urlpatterns = [
    path("api/v1/", api.urls),
    path("", include("sessions_app.web.urls")),
    path("", include(([*DEMO, path("demo/remove", retention.remove_demo, name="remove")], "demo"))),
    # Where exporters look for it below an address they were given.
    path("v1/traces", otlp.traces, name="traces"),
]
