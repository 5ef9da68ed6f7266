"""The limit on the size of files: one that an agent or simulator sets holds for all that its process writes."""

from __future__ import annotations

import contextlib
import errno
import resource
from typing import Self

import attrs


@attrs.frozen
class FileSizeLimit:
    """A limit on the size of the files of this process (``RLIMIT_FSIZE``).

    Attributes:
        soft: In bytes; what counts.
        hard: In bytes; up to where the soft one may be raised.
    """

    soft: int
    hard: int

    @classmethod
    def now(cls) -> Self:
        """The one that holds now."""
        return cls(*resource.getrlimit(resource.RLIMIT_FSIZE))

    def restore(self) -> bool:
        """Have it hold again; False where somebody has lowered the hard one and the system does not raise it."""
        if self.now() != self:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.soft, self.hard))
        return self.now() == self

    def explains(self, error: BaseException) -> bool:
        """Whether a file was too large only for another limit, which somebody in this process has set: no full disk."""
        cause = error.__cause__
        too_large = isinstance(cause, OSError) and cause.errno == errno.EFBIG
        return too_large and self.now() != self
