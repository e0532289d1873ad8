"""Loads the Celery app with Django, so that whoever enqueues a task finds its broker."""

from importlib import import_module

from django.apps import AppConfig


class Wiring(AppConfig):
    name = "config"

    def ready(self) -> None:
        import_module("config.celery")
