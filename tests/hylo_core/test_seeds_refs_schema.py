"""Seeds, references and schema ids."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given

from hylo_core.errors import RefError, SchemaError
from hylo_core.refs import load_ref, parse_ref
from hylo_core.schema import TRACE_SCHEMA, migrate
from hylo_core.seeds import SEED_LIMIT, derive_seed
from tests import strategies


def test_a_seed_is_the_first_31_bits_of_the_hash() -> None:
    """The formula, computed here by another road."""
    bits = hashlib.sha256(b"hylo.seed/v1|testing/reach_fixed#10000|agent").hexdigest()
    assert derive_seed("testing/reach_fixed#10000", "agent") == int(bits, 16) >> 225


@given(strategies.texts)
def test_streams_of_one_key_differ_and_stay_in_range(key: str) -> None:
    """Agent and noise never share numbers."""
    seeds = [derive_seed(key, stream) for stream in ("agent", "noise", "fixtures")]
    assert len(set(seeds)) == 3
    assert all(0 <= seed < SEED_LIMIT for seed in seeds)


def test_a_reference_loads_the_object_it_names() -> None:
    """Also a method of a class."""
    assert load_ref("hylo_core.seeds:derive_seed") is derive_seed
    assert load_ref("hylo_core.task:TaskSpec.digest").__name__ == "digest"


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("os.path", "a reference has the form package.module:Attr or package.module:Attr.method"),
        ("no_such_module:x", "there is no module 'no_such_module' in this environment"),
        ("hylo_core.seeds:nothing", "hylo_core.seeds has no 'nothing'"),
    ],
)
def test_a_reference_to_nothing_says_what_is_missing(ref: str, reason: str) -> None:
    """Form, module or attribute."""
    with pytest.raises(RefError) as caught:
        load_ref(ref)
    assert caught.value.reason == reason
    assert caught.value.ref == ref


def test_parsing_imports_nothing() -> None:
    """A reference to a module that does not exist parses."""
    assert str(parse_ref("no_such_module:Class.method")) == "no_such_module:Class.method"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "names no schema; expected 'hylo.trace/v0.1'"),
        (3, "names no schema; expected 'hylo.trace/v0.1'"),
        ("hylo.evallog/v0.1", "is of schema 'hylo.evallog/v0.1'; expected 'hylo.trace/v0.1'"),
        (
            "hylo.trace/v9",
            "is of schema 'hylo.trace/v9', which this release cannot read (it knows 'hylo.trace/v0.1'); upgrade hylo-eval",
        ),
    ],
)
def test_an_unreadable_schema_says_why(schema: object, message: str) -> None:
    """No schema, another family, or a version of the future."""
    with pytest.raises(SchemaError) as caught:
        migrate({}, schema, TRACE_SCHEMA)
    assert str(caught.value) == message
