"""Globs match as they do in a shell, but neither leave their folder nor enter it through links."""

import pytest

from hylo_eval.verify.file_ops.walking import check_glob, files_matching
from hylo_eval.verify.verdict import InvalidTask


@pytest.fixture
def workspace(tmp_path):
    """A workspace with reports at several depths and a linked folder."""
    for path in ("TEST-a.xml", "m/TEST-b.xml", "m/n/TEST-c.xml", "m/n/other.xml", "out/r.xml"):
        (tmp_path / "app" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / path).write_text("")
    (tmp_path / "app/linked").symlink_to(tmp_path / "app/m")
    (tmp_path / "app/TEST-folder.xml").mkdir()
    return tmp_path / "app"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/TEST-*.xml", ["TEST-a.xml", "m/TEST-b.xml", "m/n/TEST-c.xml"]),
        ("m/**/*.xml", ["m/TEST-b.xml", "m/n/TEST-c.xml", "m/n/other.xml"]),
        ("**/n/**/o*.xml", ["m/n/other.xml"]),
        ("*/r.xml", ["out/r.xml"]),
        ("./out/r.xml", ["out/r.xml"]),
        ("*.xml", ["TEST-a.xml"]),
        ("linked/*.xml", []),
        ("**/**/**/**/none", []),
    ],
)
def test_matches(workspace, pattern, expected):
    """``*`` stays within a component, ``**`` spans any number of folders, and links are not entered."""
    assert files_matching(workspace, pattern) == expected


@pytest.mark.parametrize("pattern", ["", ".", "/a/*.xml", "../*.xml", "a/../b", "a\0b", "a**/b"])
def test_refused(pattern):
    """A glob that is empty, leaves its folder, or has an ambiguous ``**`` is the task's defect."""
    with pytest.raises(InvalidTask):
        check_glob(pattern, field="report")
