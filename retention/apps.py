"""The app of retention: it registers its jobs with the one runner."""

from importlib import import_module

from django.apps import AppConfig


class Retention(AppConfig):
    name = "retention"

    def ready(self) -> None:
        import_module("retention.tasks")
