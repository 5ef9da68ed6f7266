"""The public names of the verdict layer."""

import subprocess
import sys
from types import ModuleType

import pytest

from hylo_eval import verify


@pytest.mark.parametrize("name", dir(verify))
def test_every_public_name_is_there(name):
    """The table of names has no entry that cannot be imported."""
    assert getattr(verify, name) is not None


@pytest.mark.parametrize(
    "program",
    [
        "from hylo_eval.verify import grade; from hylo_eval.verify import grade as again",
        "from hylo_eval.verify.grade import grade_file; from hylo_eval.verify import grade; again = grade",
        "import hylo_eval.verify.grade; from hylo_eval import verify; grade, again = verify.grade, verify.grade",
        "from hylo_eval.verify import *; again = grade",
    ],
)
def test_a_module_never_hides_the_name_it_shares(program):
    """``grade`` is the function, whether its module was imported before or by asking for the function."""
    program += "; assert grade is again and grade.__name__ == 'grade' and grade.__code__, grade"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", dir(verify))
def test_no_public_name_is_a_module(name):
    """Asking twice gives the same object, and never the module it comes from."""
    first = getattr(verify, name)
    assert getattr(verify, name) is first
    assert not isinstance(first, ModuleType)


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
