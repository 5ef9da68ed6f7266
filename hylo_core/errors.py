"""The errors of the contracts.

::

    HyloError
    ├── ContractError(path)                a value that a contract refuses
    │   └── SchemaError(path)              a document of another schema, or none
    ├── RefError(ref)                      a reference that names nothing loadable
    └── DigestMismatch(expected, actual)   bytes or values other than the recorded ones
"""

from __future__ import annotations


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
