"""Options of factories (``--env-arg``, ``--agent-arg``, tables of files), checked against the factory's signature.

An accepted option changes something, or is refused: an unknown name, a value of another type and a value equal to
nothing the factory knows all end with a sentence, before anything is built.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, cast, get_args, get_origin

from hylo_core.contract import describe
from hylo_eval.errors import EvalError
from hylo_eval.numerals import is_plain_number
from hylo_eval.suggest import did_you_mean, quoted

NOT_RECORDED = "(not recorded)"
"""What the manifest has in place of a secret."""

_SECRET = re.compile(
    r"(?:^|[_-])(?:api_?keys?|access_?keys?|private_?keys?|secrets?|token|password|passwd|passphrase"
    r"|credentials?|authorization|bearer)$",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s]+@")
_SECRET_OF_QUERY = re.compile(
    r"([?&;](?:[\w-]*[_-])?(?:api_?key|access_?key|key|secret|token|password|signature)=)[^&;#\s]+", re.IGNORECASE
)
_NO_DEFAULT = inspect.Parameter.empty
_WORDS = {"true": True, "false": False}


def split_pairs(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """``("noise=0.4",)`` as ``{"noise": "0.4"}``.

    Raises:
        EvalError: A pair without ``=``, or a name given twice.
    """
    options: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise EvalError(f"{flag} takes NAME=VALUE, not {pair!r}", fix=f"{flag} NAME=VALUE")
        if name in options:
            raise EvalError(f"{flag} gives {name!r} twice", fix=f"give {flag} {name} once")
        options[name] = value
    return options


def read_options(
    factory: Callable[..., Any], given: Mapping[str, Any], *, what: str, reserved: Sequence[str] = ()
) -> dict[str, Any]:
    """Options for a factory, each checked against the annotation of the parameter of its name.

    Args:
        factory: A callable whose options are parameters with annotations.
        given: Values, as text (from a command line) or typed (from a file).
        what: Whose options, for error texts: ``agent 'fetch-scripted'``.
        reserved: Parameters that the harness gives, which nobody else may.

    Returns:
        Typed values, by name.

    Raises:
        EvalError: An unknown name or a value that does not fit.
    """
    if not given:
        return {}
    try:
        parameters = inspect.signature(factory).parameters
    except (ValueError, TypeError) as error:
        raise EvalError(
            f"{what} does not say what options it has, so it can be given none",
            fix="leave them out, or name a class or function with parameters",
        ) from error
    known = {name: parameter for name, parameter in _parameters(factory).items() if name not in reserved}
    accepts_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    hints = _hints(factory, [name for name in given if name in known])
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name in reserved:
            raise EvalError(f"{what}: option {name!r} is given by the harness", fix=f"leave {name} out")
        if name not in known:
            if accepts_any:
                options[name] = value
                continue
            listed = ", ".join(known) or "none"
            raise EvalError(
                f"{what} has no option {quoted(name)}{did_you_mean(name, known)} (options: {listed})",
                fix="name one of these, or leave it out" if known else "leave it out",
            )
        try:
            options[name] = _typed(value, hints.get(name, _like_default(known[name])))
        except (ValueError, OverflowError) as error:
            default = known[name].default
            example = f"{name}={default} is the default" if default not in (None, "", _NO_DEFAULT) else f"{name}=…"
            raise EvalError(f"{what}: option {name!r} {error}", fix=example) from None
    return options


def on_record(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the manifest keeps them: the values of those that are secrets by name stay out of every file.

    A password in an address (``wss://user:password@host``) stays out too. An agent that can should rather take the
    name of an environment variable: a command line is seen by everybody on the machine.
    """
    return {name: NOT_RECORDED if _SECRET.search(name) else _without_password(value) for name, value in options.items()}


def _without_password(value: Any) -> Any:
    if isinstance(value, str):
        return _SECRET_OF_QUERY.sub(rf"\g<1>{NOT_RECORDED}", _PASSWORD.sub(rf"\g<1>{NOT_RECORDED}@", value))
    if isinstance(value, Mapping):
        return on_record(cast("Mapping[str, Any]", value))
    if isinstance(value, list):
        return [_without_password(item) for item in cast("list[Any]", value)]
    return value


def refuse_missing(factory: Callable[..., Any], options: Mapping[str, Any], *, what: str, flag: str) -> None:
    """Refuse a call that would lack a required option, before Python says so in its own words.

    Raises:
        EvalError: Naming the first one that is missing and how to give it.
    """
    for name, parameter in _parameters(factory).items():
        if parameter.default is inspect.Parameter.empty and name not in options:
            raise EvalError(f"{what} needs the option {name!r}", fix=f"{flag}{name}=…")


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if name not in ("self", "task") and parameter.kind in kinds
    }


def _hints(factory: Callable[..., Any], names: Sequence[str]) -> dict[str, Any]:
    """The annotations of the named parameters, resolved one by one.

    Another parameter's, imported for type checkers alone, cannot be resolved and need not be.
    """
    target = factory.__init__ if inspect.isclass(factory) else factory
    if not inspect.isroutine(target):
        target = type(factory).__call__
    target = inspect.unwrap(target)
    annotations = getattr(target, "__annotations__", {})
    hints: dict[str, Any] = {}
    for name in names:
        if name not in annotations:
            continue
        alone = types.SimpleNamespace(__annotations__={name: annotations[name]})
        try:
            hints |= typing.get_type_hints(alone, globalns=getattr(target, "__globals__", {}))
        except (NameError, AttributeError, TypeError, SyntaxError) as error:
            raise EvalError(
                f"option {name!r} is annotated with {annotations[name]!r}, which cannot be resolved: {error}",
                fix="import what the annotation names at run time",
            ) from error
    return hints


def _like_default(parameter: inspect.Parameter) -> Any:
    """What stands for an annotation that is missing: the default's own type, where that is a plain one."""
    hints: dict[Any, Any] = {bool: bool, int: int | float, float: float}
    return hints.get(parameter.default.__class__, str)


def _typed(value: Any, hint: Any) -> Any:
    """A value as the annotation wants it; text is read, typed values are checked and never coerced."""
    if get_origin(hint) in (Union, types.UnionType):
        return _one_of_several(value, get_args(hint))
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        for choice in choices:
            if type(choice) is type(value) and choice == value:
                return value
            if isinstance(value, str) and str(choice) == value:
                return choice
        raise ValueError(f"must be one of {', '.join(map(repr, choices))}, not {describe(value)}")
    reader = {bool: _boolean, int: _integer, float: _number, str: _text}.get(hint)
    return value if reader is None else reader(value)


def _one_of_several(value: Any, hints: tuple[Any, ...]) -> Any:
    if types.NoneType in hints and (value is None or value == "none"):
        return None
    reasons: list[str] = []
    # Text last: it fits everything a command line gives.
    for hint in sorted((hint for hint in hints if hint is not types.NoneType), key=lambda hint: hint is str):
        try:
            return _typed(value, hint)
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError(" or ".join(reasons))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    raise ValueError(f"must be true or false, not {describe(value)}")


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and is_plain_number(value):
        with contextlib.suppress(ValueError):
            return int(value)
    raise ValueError(f"must be an integer, not {describe(value)}")


def _number(value: Any) -> float:
    number = float("nan")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str) and is_plain_number(value):
        with contextlib.suppress(ValueError):
            number = float(value)
    if number - number != 0.0:
        raise ValueError(f"must be a finite number, not {describe(value)}")
    return number


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"must be text, not {describe(value)}")
