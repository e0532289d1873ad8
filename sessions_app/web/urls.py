"""Addresses of the pages, one namespace a room."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from sessions_app.web import components, demo, health, jobs, people, sessions, uploads

SESSIONS = [
    path("", sessions.listing, name="list"),
    path("welcome/", sessions.welcome, name="welcome"),
    path("upload", uploads.upload, name="upload"),
    path("sessions/<uuid:uid>/", sessions.session, name="session"),
    path("sessions/<uuid:uid>/events", sessions.events, name="events"),
    path("sessions/<uuid:uid>/raw", sessions.raw, name="raw"),
    path("sessions/<uuid:uid>/record", sessions.record, name="record"),
    path("sessions/<uuid:uid>/verify", sessions.verify_now, name="verify"),
    path("sessions/<uuid:uid>/export", sessions.export, name="export"),
]
JOBS = [
    path("jobs/", jobs.listing, name="list"),
    path("jobs/rows", jobs.listing, name="rows"),
    path("jobs/<uuid:job_id>/cancel", jobs.cancel, name="cancel"),
    path("jobs/<uuid:job_id>/retry", jobs.retry, name="retry"),
]
PEOPLE = [
    path("sign-in/", people.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("enter/<str:token>", people.enter, name="enter"),
    path("profile/", people.profile, name="profile"),
    path("members/", people.members, name="members"),
    path("workspaces/<uuid:workspace_id>/switch", people.switch, name="switch"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((SESSIONS, "sessions"))),
    path("", include((JOBS, "jobs"))),
    path("", include((PEOPLE, "people"))),
    path("components/", components.page, name="components"),
    path("healthz", health.healthz, name="healthz"),
]
DEMO = [path("demo/load", demo.load, name="load")]
