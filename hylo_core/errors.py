"""The errors of the contracts.

::

    HyloError
    ├── ContractError(path)                a value that a contract refuses
    │   └── SchemaError(path)              a document of another schema, or none
    ├── RefError(ref)                      a reference that names nothing loadable
    │   └── MissingModule                  its module is not on the module path
    └── DigestMismatch(expected, actual)   bytes or values other than the recorded ones
"""

from __future__ import annotations

MAX_MESSAGE_CHARACTERS = 8192
"""What is kept of an exception's message; a message may hold a whole picture."""


class HyloError(Exception):
    """Base of every error that Hylo raises on purpose; its text is written for the person who reads it."""


class ContractError(HyloError):
    """A value breaks a contract.

    Attributes:
        path: Where the value stands, for example ``tasks[3].max_steps``; empty when it is the whole document.
        reason: What is wrong, as a sentence without the path.
        source: The file the value came from, if it came from one.
    """

    def __init__(self, reason: str, *, path: str = "", source: str = "") -> None:
        self.reason = reason
        self.path = path
        self.source = source
        super().__init__(": ".join(part for part in (source, path, reason) if part))

    def under(self, prefix: str, *, source: str = "") -> ContractError:
        """The same error seen from one level up: ``max_steps`` under ``tasks[3]`` is ``tasks[3].max_steps``."""
        if not self.path or not prefix:
            path = prefix or self.path
        else:
            path = f"{prefix}{self.path}" if self.path.startswith("[") else f"{prefix}.{self.path}"
        return type(self)(self.reason, path=path, source=source or self.source)


class SchemaError(ContractError):
    """A document names a schema that this version cannot read, or none at all."""


class RefError(HyloError):
    """A reference ``package.module:Attr`` that cannot be parsed, imported or found.

    Attributes:
        ref: The reference as given.
    """

    def __init__(self, ref: str, reason: str) -> None:
        self.ref = ref
        self.reason = reason
        super().__init__(f"cannot load {ref!r}: {reason}")


class MissingModule(RefError):
    """A reference to a module that is not on the module path."""


class DigestMismatch(HyloError):
    """A digest differs from the recorded one.

    Attributes:
        expected: The digest on record, ``sha256:<hex>``.
        actual: The digest of what was found.
    """

    def __init__(self, expected: str, actual: str, *, what: str = "content") -> None:
        self.expected = expected
        self.actual = actual
        self.what = what
        super().__init__(f"{what} has digest {actual}, but {expected} is on record")


def message_of(error: BaseException) -> str:
    """An exception's message as UTF-8 can hold it, cut to a bounded length; never raises, whatever ``__str__`` does."""
    try:
        message = str(error)
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - the exception is somebody else's, and so is its __str__
        message = f"(its message cannot be read: {type(failure).__name__})"
    return clean_text(message)


def describe_error(error: BaseException) -> str:
    """``ValueError: its message``, for a sentence about what somebody else's code raised; see :func:`message_of`."""
    return f"{clean_text(type(error).__name__)}: {message_of(error)}"


def clean_text(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """A text as UTF-8 can hold it, with what is beyond ``limit`` characters counted instead of kept."""
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text) - limit} more characters)"
    return text.encode("utf-8", "backslashreplace").decode()
