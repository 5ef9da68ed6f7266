"""The public surface of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hylo_eval import compare


def test_every_public_name_can_be_loaded():
    """The lists of names agree, and each name is defined where the table says."""
    assert sorted(compare.__all__) == sorted(compare._HOMES)
    for name in compare.__all__:
        value = getattr(compare, name)
        assert getattr(value, "__module__", f"hylo_eval.compare.{compare._HOMES[name]}").endswith(compare._HOMES[name])
        assert name in dir(compare)


def test_an_unknown_name_is_an_attribute_error():
    """The lazy loader does not invent names."""
    with pytest.raises(AttributeError, match="has no attribute 'paired_comparison'"):
        _ = compare.paired_comparison


def test_comparing_binary_scores_loads_no_numerical_library():
    """A fresh interpreter tests paired outcomes without numpy or scipy."""
    program = (
        "import sys; from hylo_eval.compare import paired_compare, tango_interval;"
        "won, lost = ({f't#{i}': score for i in range(4)} for score in (1.0, 0.0));"
        "assert paired_compare(won, lost).p_value == 1 / 16;"
        "assert tango_interval(4, 0, 4).high == 1.0;"
        "print(sorted({'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
