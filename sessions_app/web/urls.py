"""Addresses of the pages, one namespace a room."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from sessions_app.web import (
    bulk,
    census,
    components,
    demo,
    exports,
    filepage,
    files,
    health,
    jobs,
    listing,
    live,
    machines,
    palette,
    people,
    reading,
    roots,
    search,
    searches,
    session_usage,
    sessions,
    threads,
    timeline,
    tools,
    uploads,
    usage,
)

SESSIONS = [
    path("", listing.index, name="list"),
    path("welcome/", sessions.welcome, name="welcome"),
    path("sessions/suggest", listing.suggestions, name="suggest"),
    path("sessions/export", bulk.export_some, name="export_some"),
    path("sessions/verify", bulk.verify_some, name="verify_some"),
    path("upload", uploads.upload, name="upload"),
    path("sessions/<uuid:uid>/files", files.listed, name="files"),
    path("sessions/<uuid:uid>/files/text", filepage.text, name="file_text"),
    path("sessions/<uuid:uid>/", reading.session, name="session"),
    path("sessions/<uuid:uid>/events", reading.events, name="events"),
    path("sessions/<uuid:uid>/event", reading.event, name="event"),
    path("sessions/<uuid:uid>/turn", reading.turn, name="turn"),
    path("sessions/<uuid:uid>/inline", reading.inline, name="inline"),
    path("sessions/<uuid:uid>/index", reading.index, name="index"),
    path("sessions/<uuid:uid>/step", reading.step, name="step"),
    path("sessions/<uuid:uid>/outline", reading.outline, name="outline"),
    path("sessions/<uuid:uid>/kinds", reading.kinds, name="kinds"),
    path("sessions/<uuid:uid>/facts", reading.facts, name="facts"),
    path("sessions/<uuid:uid>/markdown", reading.markdown, name="markdown"),
    path("sessions/<uuid:uid>/picture", reading.picture, name="picture"),
    path("sessions/<uuid:uid>/live", live.follow, name="live"),
    path("sessions/<uuid:uid>/find", search.inside, name="find"),
    path("sessions/<uuid:uid>/raw", sessions.raw, name="raw"),
    path("sessions/<uuid:uid>/record", sessions.record, name="record"),
    path("sessions/<uuid:uid>/timeline", timeline.timeline, name="timeline"),
    path("sessions/<uuid:uid>/usage", session_usage.usage, name="usage"),
    path("sessions/<uuid:uid>/thread", threads.thread, name="thread"),
    path("sessions/<uuid:uid>/verify", sessions.verify_now, name="verify"),
    path("sessions/<uuid:uid>/export", exports.of_session, name="export"),
    path("export", exports.of_many, name="exports"),
]
SEARCH = [
    path("search", search.page, name="page"),
    path("search/scan", search.scanned, name="scan"),
]
JOBS = [
    path("jobs/", jobs.listing, name="list"),
    path("jobs/rows", jobs.listing, name="rows"),
    path("jobs/<uuid:job_id>/cancel", jobs.cancel, name="cancel"),
    path("jobs/<uuid:job_id>/retry", jobs.retry, name="retry"),
    path("jobs/<uuid:job_id>/discard", jobs.discard, name="discard"),
]
PEOPLE = [
    path("sign-in/", people.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("enter/<str:token>", people.enter, name="enter"),
    path("profile/", people.profile, name="profile"),
    path("members/", people.members, name="members"),
    path("workspaces/<uuid:workspace_id>/switch", people.switch, name="switch"),
]
ROOTS = [
    path("sources/", roots.sources, name="list"),
    path("sources/reconcile", roots.compared, name="reconcile"),
    path("sources/<uuid:root_id>/edit", roots.edit, name="edit"),
]
MACHINES = [
    path("machines/", machines.machines, name="list"),
    path("ship.py", machines.ship, name="ship"),
]
USAGE = [
    path("usage/", usage.page, name="page"),
    path("usage/csv", usage.as_csv, name="csv"),
]
PROJECTS = [path("projects/", census.projects, name="list")]
AGENTS = [path("agents/", census.agents, name="list")]
TOOLS = [path("tools/", tools.page, name="list")]
SEARCHES = [
    path("searches/", searches.saved, name="list"),
    path("searches/<uuid:search_id>/rename", searches.rename, name="rename"),
    path("searches/<uuid:search_id>/remove", searches.remove, name="remove"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((SESSIONS, "sessions"))),
    path("", include((SEARCH, "search"))),
    path("", include((JOBS, "jobs"))),
    path("", include((PEOPLE, "people"))),
    path("", include((ROOTS, "roots"))),
    path("", include((MACHINES, "machines"))),
    path("", include((USAGE, "usage"))),
    path("", include((PROJECTS, "projects"))),
    path("", include((AGENTS, "agents"))),
    path("", include((TOOLS, "tools"))),
    path("palette", palette.palette, name="palette"),
    path("", include((SEARCHES, "searches"))),
    path("components/", components.page, name="components"),
    path("healthz", health.healthz, name="healthz"),
]
DEMO = [path("demo/load", demo.load, name="load")]
