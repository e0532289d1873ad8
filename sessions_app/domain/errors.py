"""The family of errors, each with the sentence a person reads.

RecountError
├── Unauthorized        nobody knows who asks                             401
├── NotFound            no such thing, or not for this person             404
├── Forbidden           seen, but not allowed                             403
├── Refused             a rule says no; the message says which            409
│   └── OutOfStep       bytes that do not follow what is stored
├── BadInput            what was sent cannot be used                      400
│   ├── TooLarge        more than is taken in one piece                   413
│   └── Contradiction   the same name for something else                  422
├── Later               try again after a while; it says when
│   ├── TooMuch         more than one sender may send in a while          429
│   ├── NoRoom          the disk is full                                  507
│   └── Away            the database does not answer                      503
├── IntegrityError      stored bytes are not the bytes that were written  500
│   ├── WrongKey        the key does not belong to the seal
│   └── BrokenRecord    a chunk, its chain or its head does not verify
└── KeyUnavailable      the root key is missing, wrong or unreadable      503
"""

from typing import Any


class RecountError(Exception):
    status = 500

    def __reduce__(self) -> tuple[Any, ...]:
        """From one process to another with everything it says."""
        return _again, (type(self), self.args, self.__dict__)

    @property
    def message(self) -> str:
        return str(self.args[0]) if self.args else self.__class__.__name__


class Unauthorized(RecountError):
    status = 401


class NotFound(RecountError):
    status = 404


class Forbidden(RecountError):
    status = 403


class Refused(RecountError):
    status = 409


class OutOfStep(Refused):
    """The sender is told how much is stored, so that it can go on from there."""

    def __init__(self, message: str, *, stored: int, generation: int) -> None:
        super().__init__(message)
        self.stored = stored
        self.generation = generation


class BadInput(RecountError):
    status = 400


class TooLarge(BadInput):
    status = 413


class Contradiction(BadInput):
    status = 422


class Later(RecountError):
    status = 503

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooMuch(Later):
    status = 429


class NoRoom(Later):
    status = 507


class Away(Later):
    status = 503


class IntegrityError(RecountError):
    status = 500


class WrongKey(IntegrityError):
    pass


class BrokenRecord(IntegrityError):
    pass


class KeyUnavailable(RecountError):
    status = 503


def _again(
    kind: type[RecountError], args: tuple[object, ...], told: dict[str, Any]
) -> RecountError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(told)
    return error
