"""References to verifiers."""

from __future__ import annotations

from typing import Any

import pytest

from hylo_core import ContractError
from hylo_core.verifier import VerifierRef


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        ("rubric", "a/b"),
        ("rubric", "Alice_1/arithmetic-correctness.v2"),
        ("plugin", "verify:score"),
        ("plugin", "grading.sums:Arithmetic.score"),
        ("endpoint", "http://localhost:8080/score"),
        ("endpoint", "https://verifier.corp/score?suite=arms&strict=1"),
        ("endpoint", "http://[::1]:9/"),
    ],
)
def test_a_reference_survives_its_json(kind: Any, ref: str) -> None:
    """And has a digest of its own."""
    found = VerifierRef(kind, ref)
    assert VerifierRef.from_dict(found.to_dict()) == found
    assert found.digest() == VerifierRef(kind, ref).digest()


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        ("rubric", "arithmetic"),
        ("rubric", "a/b/c"),
        ("rubric", "/b"),
        ("rubric", "a/"),
        ("rubric", "../b"),
        ("rubric", "a/.."),
        ("rubric", "a/b c"),
        ("rubric", "a/b\n"),
        ("plugin", "verify"),
        ("plugin", "verify:"),
        ("plugin", "verify:score:more"),
        ("plugin", "../verify:score"),
        ("plugin", ".verify:score"),
        ("endpoint", "verifier.corp/score"),
        ("endpoint", "ftp://verifier.corp/score"),
        ("endpoint", "file:///etc/passwd"),
        ("endpoint", "https:///score"),
        ("endpoint", "https://user@verifier.corp/score"),
        ("endpoint", "https://user:secret@verifier.corp/score"),
        ("endpoint", "https://verifier.corp/score?api_key=1"),
        ("endpoint", "https://verifier.corp/score?access_token="),
        ("endpoint", "https://verifier.corp/score#part"),
        ("endpoint", "https://verifier.corp:port/score"),
        ("endpoint", "https://verifier.corp/a b"),
        ("endpoint", "https://verifier.corp/a\r\nX: y"),
        ("endpoint", "https://vérifier.corp/"),
    ],
)
def test_another_form_is_refused(kind: Any, ref: str) -> None:
    """Before anything is loaded; credentials in an address above all."""
    with pytest.raises(ContractError, match=r"ref: of an? (rubric|plugin|endpoint)"):
        VerifierRef(kind, ref)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"kind": "rubric"}, "ref"),
        ({"ref": "a/b"}, "kind"),
        ({"kind": "rubric", "ref": "a/b", "version": "2"}, "version"),
        ({"kind": "rubric", "ref": " "}, "ref"),
        ({"kind": "rubric", "ref": 7}, "ref"),
    ],
)
def test_a_declaration_has_exactly_kind_and_ref(document: dict[str, Any], path: str) -> None:
    """Nothing missing, nothing more, nothing empty."""
    with pytest.raises(ContractError, match=path):
        VerifierRef.from_dict(document)
