"""The digest of the assets: a function of what lies there, and remembered only where reading is dear."""

import json

import pytest

from hylo_eval.envs.robocasa import assets
from hylo_eval.envs.robocasa.assets import assets_digest, assets_version
from hylo_eval.envs.robocasa.installation import STAND_IN_MARKER, Installation
from hylo_eval.versions import stand_ins


@pytest.fixture
def root(tmp_path):
    """A small tree; what was computed of an earlier one is forgotten."""
    assets._read_digest.cache_clear()
    (tmp_path / "assets/objects").mkdir(parents=True)
    (tmp_path / "assets/objects/model.xml").write_text("<mujoco/>")
    yield tmp_path / "assets"
    assets._read_digest.cache_clear()


def digest(root):
    assets._read_digest.cache_clear()
    return assets_digest(root)


def test_it_follows_names_and_contents_and_not_times(root):
    """Another file, another name, another content: another digest; a touched file is the same."""
    before = digest(root)
    (root / "objects/model.xml").touch()
    assert digest(root) == before
    (root / "objects/model.xml").write_text("<mujoco />")
    changed = digest(root)
    (root / "objects/model.xml").rename(root / "objects/other.xml")
    assert len({before, changed, digest(root)}) == 3


def test_a_tree_that_changes_meanwhile_is_read_again(root):
    """The episodes after are on other assets than those before, and say so."""
    before = assets_digest(root)
    assert assets_digest(root) == before
    (root / "objects/added.xml").write_text("<mujoco/>")
    assert assets_digest(root) != before
    (root / "objects/added.xml").unlink()
    assert assets_digest(root) == before


def test_what_robocasa_writes_while_it_reads_does_not_count(root):
    """Another worker may be reading an object at this moment."""
    before = digest(root)
    (root / "objects/1700000000_123_4567.xml").write_text("<mujoco/>")
    assert digest(root) == before


def test_stand_ins_say_so_in_their_version(root):
    """The label travels with the versions: trace, manifest, log, report."""
    installation = Installation(root=root, assets=root)
    plain = assets_version(installation)
    assert plain.startswith("sha256:")
    assert stand_ins({"robocasa-assets": plain, "mujoco": "3.3.1"}) == ()
    (root / STAND_IN_MARKER).write_text("{}")
    assets._read_digest.cache_clear()
    labelled = assets_version(installation)
    assert labelled.startswith("stand-in assets sha256:")
    assert stand_ins({"mujoco": "3.3.1", "robocasa-assets": labelled}) == (f"robocasa-assets {labelled}",)


def test_the_digest_of_a_large_tree_is_remembered_until_a_file_changes(root, tmp_path, monkeypatch):
    """The real assets take minutes to read: what is on record is believed while sizes and times are the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(assets, "_REMEMBERED_BYTES", 0)
    first = digest(root)
    file = tmp_path / "cache/hylo/robocasa_assets.json"
    (listing,) = json.loads(file.read_text())
    file.write_text(json.dumps({listing: "sha256:remembered"}))
    assert digest(root) == "sha256:remembered"
    (root / "objects/model.xml").write_text("<mujoco version='2'/>")
    assert digest(root) not in (first, "sha256:remembered")
    file.write_text("no JSON")
    assert digest(root).startswith("sha256:")
