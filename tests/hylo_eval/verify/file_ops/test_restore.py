"""Restored files replace what the candidate put in their place; nothing outside the workspace changes."""

import os
import stat

import pytest

from hylo_eval.verify.file_ops.restore import restore
from hylo_eval.verify.verdict import InvalidTask


@pytest.fixture
def task(tmp_path):
    """A tests directory with one test file in a folder, and an empty workspace."""
    tests_dir = tmp_path / "tests"
    (tests_dir / "unit").mkdir(parents=True)
    (tests_dir / "unit/test_arm.py").write_text("trusted")
    (tests_dir / "run.sh").write_text("trusted")
    (tests_dir / "run.sh").chmod(0o755)
    workspace = tmp_path / "app"
    workspace.mkdir()
    return tests_dir, workspace


def test_file_and_folder(task):
    """Files keep their mode, folders are merged, and the restored files are returned."""
    tests_dir, workspace = task
    (workspace / "unit").mkdir()
    (workspace / "unit/test_arm.py").write_text("assert True")
    (workspace / "unit/conftest.py").write_text("kept")
    restored = restore(["unit", "run.sh"], tests_dir=tests_dir, workspace=workspace)
    assert restored == (workspace / "unit/test_arm.py", workspace / "run.sh")
    assert (workspace / "unit/test_arm.py").read_text() == "trusted"
    assert (workspace / "unit/conftest.py").read_text() == "kept"
    assert stat.S_IMODE((workspace / "run.sh").stat().st_mode) == 0o755


def test_linked_file(task, tmp_path):
    """A link in the place of a file is replaced; what it points to stays."""
    tests_dir, workspace = task
    (tmp_path / "victim").write_text("untouched")
    (workspace / "run.sh").symlink_to(tmp_path / "victim")
    restore(["run.sh"], tests_dir=tests_dir, workspace=workspace)
    assert (tmp_path / "victim").read_text() == "untouched"
    assert not (workspace / "run.sh").is_symlink()
    assert (workspace / "run.sh").read_text() == "trusted"


def test_linked_folder(task, tmp_path):
    """A link in the place of a folder is replaced by a folder; nothing is written where it points."""
    tests_dir, workspace = task
    (tmp_path / "elsewhere").mkdir()
    (workspace / "unit").symlink_to(tmp_path / "elsewhere")
    restore(["unit"], tests_dir=tests_dir, workspace=workspace)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (workspace / "unit/test_arm.py").read_text() == "trusted"


def test_hard_link(task, tmp_path):
    """A hard link in the place of a file is not written through."""
    tests_dir, workspace = task
    (tmp_path / "victim").write_text("untouched")
    os.link(tmp_path / "victim", workspace / "run.sh")
    restore(["run.sh"], tests_dir=tests_dir, workspace=workspace)
    assert (tmp_path / "victim").read_text() == "untouched"


def test_folder_for_file_and_file_for_folder(task):
    """A folder in the place of a file, and a file in the place of a folder, give way."""
    tests_dir, workspace = task
    (workspace / "run.sh").mkdir()
    (workspace / "run.sh/inner").write_text("x")
    (workspace / "unit").write_text("x")
    restore(["unit", "run.sh"], tests_dir=tests_dir, workspace=workspace)
    assert (workspace / "run.sh").read_text() == "trusted"
    assert (workspace / "unit/test_arm.py").read_text() == "trusted"


def test_unwritable_folder(task):
    """A folder that the candidate made read-only is restored into all the same."""
    tests_dir, workspace = task
    (workspace / "unit").mkdir(mode=0o500)
    restore(["unit"], tests_dir=tests_dir, workspace=workspace)
    assert (workspace / "unit/test_arm.py").read_text() == "trusted"


@pytest.mark.parametrize("entry", ["gone", "../app", "/etc/passwd", "out"])
def test_refused_before_writing(task, tmp_path, entry):
    """A bad entry is a defect of the task, and the good entries before it are not written either."""
    tests_dir, workspace = task
    (tests_dir / "out").symlink_to(tmp_path)
    with pytest.raises(InvalidTask):
        restore(["run.sh", entry], tests_dir=tests_dir, workspace=workspace)
    assert list(workspace.iterdir()) == []


def test_loop_of_links(task):
    """A folder that contains itself through a link is a defect of the task, not an endless copy."""
    tests_dir, workspace = task
    (tests_dir / "unit/again").symlink_to(tests_dir / "unit")
    with pytest.raises(InvalidTask):
        restore(["unit"], tests_dir=tests_dir, workspace=workspace)
