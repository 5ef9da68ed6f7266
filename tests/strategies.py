"""Hypothesis strategies for contracts, in one place."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from hylo_core import Benchmark, InitStateRef, Predicate, SeedInit, SnapshotInit, TaskSpec, VerifierRef

names = st.text(string.ascii_letters + string.digits + "_/-", min_size=1, max_size=12).filter(lambda name: name.strip())
texts = st.text(st.characters(codec="utf-8"), max_size=20)
integers = st.integers(-(2**53) + 1, 2**53 - 1)
# Above 2**53 a float is written as an integer that readers round: contracts refuse it.
floats = st.floats(-(2**53) + 1, 2**53 - 1, allow_nan=False) | st.floats(1e21, 1e300)
json_values = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
params = st.dictionaries(texts, json_values, max_size=4)

atoms = st.text(string.ascii_letters + string.digits + "_.", min_size=1, max_size=8).filter(
    lambda atom: atom.lower() not in ("and", "or", "not")
)
relations = st.lists(atoms, min_size=1, max_size=4).map(tuple)
expressions = st.recursive(
    relations,
    lambda inner: (
        st.tuples(st.just("not"), inner)
        | st.tuples(st.just("and"), inner)
        | st.tuples(st.just("and"), inner, inner)
        | st.tuples(st.just("or"), inner, inner)
    ),
    max_leaves=6,
)

init_specs = (
    st.just(SeedInit())
    | st.builds(InitStateRef, uri=names, count=st.integers(2**20, 2**21))
    | st.builds(SnapshotInit, uri=names)
)
instructions = texts.map(lambda text: text.replace("{", "{{").replace("}", "}}"))


@st.composite
def task_specs(draw: st.DrawFn, task_id: str | None = None) -> TaskSpec:
    """Any valid task."""
    success_at = draw(st.sampled_from(["once", "end"]))
    return TaskSpec(
        id=draw(names) if task_id is None else task_id,
        version=draw(names),
        instruction=draw(instructions),
        init=draw(init_specs),
        success=Predicate("builtin", "env_success"),
        max_steps=draw(st.integers(1, 10_000)),
        params=draw(params),
        tags=tuple(draw(st.lists(texts, max_size=3))),
        success_at=success_at,
        stop_on_success=False if success_at == "end" else draw(st.booleans()),
    )


@st.composite
def benchmarks(draw: st.DrawFn) -> Benchmark:
    """Any valid benchmark."""
    ids = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    seeds = draw(st.lists(st.integers(0, 1000), min_size=2, max_size=12, unique=True))
    cut = draw(st.integers(1, len(seeds) - 1))
    return Benchmark(
        id=draw(names),
        version=draw(names),
        tasks=tuple(draw(task_specs(task_id)) for task_id in ids),
        splits={"train": tuple(seeds[:cut]), "heldout": tuple(seeds[cut:])},
        requires_privileged=draw(st.booleans()),
        metadata=draw(st.dictionaries(names, texts, max_size=3)),
        episodes_per_task=draw(st.none() | st.integers(1, 20)),
        verifier=draw(st.none() | st.just(VerifierRef("plugin", "verify:score"))),
    )
