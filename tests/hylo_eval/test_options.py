"""Options of factories: checked against the signature, never coerced in silence."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval import EvalError
from hylo_eval.options import on_record, read_options, split_pairs


class Factory:
    """A factory with an option of every kind."""

    def __init__(
        self,
        *,
        noise: float = 0.0,
        count: int = 1,
        cameras: bool = False,
        name: str = "",
        mode: Literal["open", "closed"] = "open",
        size: Literal[64, 128] = 64,
        limit: int | None = None,
        scale: float | str = 1.0,
    ) -> None:
        pass


def env_factory(task: Any, *, pixels: int = 1) -> None:
    """As an env factory: the task is no option."""


def open_factory(**options: Any) -> None:
    """Takes whatever it is given."""


class CallableFactory:
    """An instance that is called."""

    def __call__(self, task: Any, *, pixels: int = 1) -> None:
        pass


READ = [
    ("noise", "0.4", 0.4),
    ("noise", "1e-3", 0.001),
    ("noise", 1, 1.0),
    ("count", "12", 12),
    ("count", "-3", -3),
    ("cameras", "true", True),
    ("cameras", False, False),
    ("name", "true", "true"),
    ("name", "", ""),
    ("mode", "closed", "closed"),
    ("size", "128", 128),
    ("size", 64, 64),
    ("limit", "none", None),
    ("limit", None, None),
    ("limit", "5", 5),
    ("scale", "2.5", 2.5),
    ("scale", "auto", "auto"),
]


@pytest.mark.parametrize(("name", "given_value", "value"), READ)
def test_an_option_is_read_as_its_annotation_says(name: str, given_value: Any, value: Any) -> None:
    """Text of a command line is read, a typed value of a file is kept."""
    options = read_options(Factory, {name: given_value}, what="agent 'x'")
    assert options == {name: value}
    assert type(options[name]) is type(value)


REFUSED = [
    ("noise", "much", "must be a finite number, not 'much'"),
    ("noise", "nan", "must be a finite number, not 'nan'"),
    ("noise", "inf", "must be a finite number, not 'inf'"),
    ("noise", True, "must be a finite number, not True"),
    ("count", "1.0", "must be an integer, not '1.0'"),
    ("count", 1.0, "must be an integer, not 1.0"),
    ("count", True, "must be an integer, not True"),
    ("cameras", "yes", "must be true or false, not 'yes'"),
    ("cameras", "1", "must be true or false, not '1'"),
    ("cameras", 1, "must be true or false, not 1"),
    ("name", 1, "must be text, not 1"),
    ("mode", "shut", "must be one of 'open', 'closed', not 'shut'"),
    ("size", "65", "must be one of 64, 128, not '65'"),
    ("size", 64.0, "must be one of 64, 128, not 64.0"),
    ("limit", "many", "must be an integer, not 'many'"),
    ("scale", [1], "must be a finite number, not [1] (list) or must be text, not [1] (list)"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), REFUSED)
def test_an_option_that_does_not_fit_is_refused(name: str, value: Any, sentence: str) -> None:
    """One sentence: whose option, which, what it must be and what it is."""
    with pytest.raises(EvalError) as caught:
        read_options(Factory, {name: value}, what="agent 'x'")
    assert caught.value.message == f"agent 'x': option {name!r} {sentence}"


def test_an_unknown_option_is_refused_with_a_near_name() -> None:
    """An accepted option changes something; an unknown one never passes."""
    with pytest.raises(EvalError) as caught:
        read_options(Factory, {"nois": "1"}, what="agent 'x'")
    assert caught.value.message == (
        "agent 'x' has no option 'nois'; did you mean 'noise'? "
        "(options: noise, count, cameras, name, mode, size, limit, scale)"
    )


@pytest.mark.parametrize("factory", [env_factory, CallableFactory()])
def test_the_task_of_an_env_factory_is_no_option(factory: Any) -> None:
    """A function or a callable object: its keyword parameters are the options."""
    assert read_options(factory, {"pixels": "64"}, what="env 'x'") == {"pixels": 64}
    with pytest.raises(EvalError, match=r"env 'x' has no option 'task' \(options: pixels\)"):
        read_options(factory, {"task": "1"}, what="env 'x'")


def test_a_factory_that_takes_everything_gets_everything() -> None:
    """What its ``**options`` makes of it is its own matter."""
    assert read_options(open_factory, {"anything": "1"}, what="env 'x'") == {"anything": "1"}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_from_its_text(value: float) -> None:
    """``--agent-arg noise=...`` gives the number that was meant, to the last bit."""
    assert read_options(Factory, {"noise": repr(value)}, what="agent 'x'") == {"noise": value}


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    """A value may hold more of them, or be empty."""
    assert split_pairs(("a=1", "b=x=y", "c="), "--agent-arg") == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (("noise",), "--agent-arg takes NAME=VALUE, not 'noise'"),
        (("=1",), "--agent-arg takes NAME=VALUE, not '=1'"),
        (("a=1", "a=1"), "--agent-arg gives 'a' twice"),
    ],
)
def test_what_is_no_pair_or_given_twice_is_refused(pairs: tuple[str, ...], sentence: str) -> None:
    """Also when both say the same."""
    with pytest.raises(EvalError) as caught:
        split_pairs(pairs, "--agent-arg")
    assert caught.value.message == sentence


def half_resolvable(task: NotImportedHere, *, count: int = 1, odd: NotImportedHere = None) -> None:  # type: ignore[name-defined]  # noqa: F821
    """As many factories: annotations that only a type checker can resolve."""


def test_an_annotation_of_another_parameter_need_not_resolve() -> None:
    """An option with an annotation that does not is refused with a sentence."""
    assert read_options(half_resolvable, {"count": "3"}, what="env") == {"count": 3}
    with pytest.raises(EvalError, match="'odd' is annotated with 'NotImportedHere', which cannot be resolved"):
        read_options(half_resolvable, {"odd": "3"}, what="env")


def test_a_callable_without_a_signature_takes_no_options() -> None:
    """It is refused, not a fault in Hylo."""
    with pytest.raises(EvalError, match="does not say what options it has"):
        read_options(dict, {"a": "1"}, what="agent 'builtins:dict'")


@pytest.mark.parametrize("value", ["9" * 5000, 10**400])
def test_a_number_beyond_every_float_is_refused(value: Any) -> None:
    """As text and as a file's integer."""
    with pytest.raises(EvalError, match="noise"):
        read_options(Factory, {"noise": value}, what="agent")


@pytest.mark.parametrize(
    "name", ["api_key", "openai_api_key", "apikey", "token", "hf_token", "password", "client_secret"]
)
def test_a_secret_is_passed_on_and_kept_out_of_every_file(name: str) -> None:
    """The manifest says that it was given, and not what it was."""
    assert on_record({name: "s3cret"}) == {name: "(not recorded)"}


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 5},
        {"tokenizer": "x"},
        {"key": "observation"},
        {"api_key_variable": "OPENAI_API_KEY"},
        {"url": "ws://h:80/a@b"},
    ],
)
def test_what_is_no_secret_stays_on_record(options: dict[str, Any]) -> None:
    """An option that is not on record cannot be compared."""
    assert on_record(options) == options


def test_a_password_in_an_address_is_not_recorded() -> None:
    """The rest of the address is; tables of an agent file are looked through."""
    assert on_record({"server": {"url": "wss://me:s3cret@host:80/x", "token": "t"}}) == {
        "server": {"url": "wss://me:(not recorded)@host:80/x", "token": "(not recorded)"}
    }
    assert on_record({"url": "https://me:s3c@ret@host/x"}) == {"url": "https://me:(not recorded)@host/x"}


def test_a_secret_in_a_query_is_not_recorded() -> None:
    """Services take keys there; what else the query says is kept."""
    assert on_record({"url": "https://h/v1?model=m&api_key=s3cret&x=1"}) == {
        "url": "https://h/v1?model=m&api_key=(not recorded)&x=1"
    }


def test_an_option_without_an_annotation_is_read_as_its_default_is() -> None:
    """As a number where the default is one, and refused where it is none; as text where nothing says otherwise."""

    def factory(*, std=0.3, count=2, fast=False, name="a", path=None) -> None:  # type: ignore[no-untyped-def]
        pass

    read = read_options(factory, {"std": "0.5", "count": "3", "fast": "true", "name": "7", "path": "8"}, what="it")
    assert read == {"std": 0.5, "count": 3, "fast": True, "name": "7", "path": "8"}
    assert read_options(factory, {"count": "0.5"}, what="it") == {"count": 0.5}
    with pytest.raises(EvalError, match="option 'std' must be a finite number, not 'slow'"):
        read_options(factory, {"std": "slow"}, what="it")
