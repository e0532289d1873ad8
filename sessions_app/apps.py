"""The app of sessions: record, people, jobs."""

from django.apps import AppConfig


class SessionsApp(AppConfig):
    name = "sessions_app"
    verbose_name = "Sessions"
