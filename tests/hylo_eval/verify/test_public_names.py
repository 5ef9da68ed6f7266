"""The public names of the verdict layer."""

import subprocess
import sys

import pytest

from hylo_eval import verify


@pytest.mark.parametrize("name", dir(verify))
def test_every_public_name_is_there(name):
    """The table of names has no entry that cannot be imported."""
    assert getattr(verify, name) is not None


def test_names_are_sorted_and_unknown_ones_refused():
    """One name a line, in order; a wrong one is an AttributeError."""
    assert list(verify._HOMES) == sorted(verify._HOMES)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = verify.no_such_name


def test_the_package_imports_nothing_of_its_own():
    """A name costs its module when it is asked for, and not before."""
    program = (
        "import sys, hylo_eval.verify;"
        "sys.exit(', '.join(name for name in sys.modules if name.startswith('hylo_eval.verify.')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
