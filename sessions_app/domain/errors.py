"""The family of errors, each with the sentence a person reads.

RecountError
├── NotFound            no such thing, or not for this person             404
├── Forbidden           seen, but not allowed                             403
├── Refused             a rule says no; the message says which            409
├── BadInput            what was sent cannot be used                      400
│   └── TooLarge        more than is taken in one piece                   413
├── IntegrityError      stored bytes are not the bytes that were written  500
│   ├── WrongKey        the key does not belong to the seal
│   └── BrokenRecord    a chunk, its chain or its head does not verify
└── KeyUnavailable      the root key is missing, wrong or unreadable      503
"""


class RecountError(Exception):
    status = 500

    @property
    def message(self) -> str:
        return str(self.args[0]) if self.args else self.__class__.__name__


class NotFound(RecountError):
    status = 404


class Forbidden(RecountError):
    status = 403


class Refused(RecountError):
    status = 409


class BadInput(RecountError):
    status = 400


class TooLarge(BadInput):
    status = 413


class IntegrityError(RecountError):
    status = 500


class WrongKey(IntegrityError):
    pass


class BrokenRecord(IntegrityError):
    pass


class KeyUnavailable(RecountError):
    status = 503
