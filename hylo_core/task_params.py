"""Params that a task of every family may have: how its answer is judged. No environment reads them."""

from __future__ import annotations

from typing import Final

VERIFIER: Final = "verifier"
"""The member of ``TaskSpec.params`` with the task's specification of the verdict: a flat table as in
``verifier.toml``, its embedded JSON decoded."""
VERIFIER_SOURCE: Final = "verifier_source"
"""The member that says where the answer stands; ``action`` unless given."""
VERIFIER_RESOURCES: Final = "verifier_resources"
"""The member with the texts of the files that the specification names (a schema), by their path."""
