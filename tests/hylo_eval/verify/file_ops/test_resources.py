"""A path in a specification cannot leave the tests directory."""

import pytest

from hylo_eval.verify.file_ops.resources import resource_file, resource_path
from hylo_eval.verify.verdict import InvalidTask


def test_inside(tmp_path):
    """Files and folders of the tests directory are found, also through a link that stays inside it."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/schema.json").write_text("{}")
    (tmp_path / "schema.json").symlink_to("cases/schema.json")
    assert resource_path(tmp_path, "cases", what="cases") == tmp_path / "cases"
    assert resource_file(tmp_path, "schema.json", what="schema").read_text() == "{}"
    assert resource_path(tmp_path, ".", what="cases") == tmp_path


@pytest.mark.parametrize(
    "relative", ["", "/etc/passwd", "../secret", "cases/../../secret", "a\0b", "link", "gone", "x" * 5000]
)
def test_refused(tmp_path, relative):
    """Empty, absolute, upward, linked-out, missing and overlong paths are defects of the task."""
    tests_dir = tmp_path / "tests"
    (tests_dir / "cases").mkdir(parents=True)
    (tmp_path / "secret").write_text("42")
    (tests_dir / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidTask, match="schema"):
        resource_path(tests_dir, relative, what="schema")


def test_link_loop(tmp_path):
    """A link that leads to itself names nothing."""
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidTask, match="missing"):
        resource_path(tmp_path, "loop", what="schema")


def test_folder_is_no_file(tmp_path):
    """A folder is refused where a file is wanted."""
    (tmp_path / "cases").mkdir()
    with pytest.raises(InvalidTask, match="no regular file"):
        resource_file(tmp_path, "cases", what="script")
