"""References to Python objects: ``package.module:Attr.method``."""

from __future__ import annotations

import difflib
import importlib
import re
from typing import Any

import attrs

from hylo_core.errors import MissingModule, RefError, describe_error

_REF = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


@attrs.frozen
class Ref:
    """A parsed reference: a module and a dotted path of attributes in it."""

    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


def parse_ref(ref: str) -> Ref:
    """Parse ``package.module:Attr.method``; nothing is imported.

    Raises:
        RefError: The text has another form.
    """
    match = _REF.fullmatch(ref)
    if match is None:
        raise RefError(ref, "a reference has the form package.module:Attr or package.module:Attr.method")
    return Ref(*match.groups())


def load_ref(ref: str) -> Any:
    """Import the module of a reference and return the object it names.

    Raises:
        RefError: The module cannot be imported (the cause is chained), or has no such attribute.
    """
    parsed = parse_ref(ref)
    try:
        found: Any = importlib.import_module(parsed.module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{parsed.module}.".startswith(f"{error.name}."):
            raise RefError(ref, f"importing {parsed.module} raised {describe_error(error)}") from error
        raise MissingModule(ref, f"there is no module {error.name!r} in this environment") from error
    except (Exception, SystemExit) as error:
        # A module of somebody else's can raise anything while it is imported.
        raise RefError(ref, f"importing {parsed.module} raised {describe_error(error)}") from error
    for name in parsed.attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            close = difflib.get_close_matches(name, dir(found), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise RefError(ref, f"{parsed.module} has no {parsed.attribute!r}{hint}") from error
    return found
