"""What every route may answer with."""

from ninja import Schema


class Trouble(Schema):
    error: str
