"""Picture files: known by digest, shown as they are, refused where that is impossible."""

import hashlib

import attrs
import numpy as np
import pytest

from hylo_core.errors import ContractError
from hylo_eval.envs.response import files
from hylo_eval.envs.response.files import PictureFile, describe_picture, load_picture
from hylo_eval.errors import EnvError

Image = pytest.importorskip("PIL.Image")
PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


@pytest.fixture
def folder(tmp_path):
    """A folder with a picture of 6 x 4 pixels."""
    Image.fromarray(PIXELS).save(tmp_path / "a.png")
    return tmp_path


def test_a_picture_is_recorded_by_digest_and_read_back_bit_for_bit(folder):
    """The digest is that of the file; the pixels are those that were stored."""
    recorded = describe_picture(folder, "a.png")
    assert (recorded.width, recorded.height) == (6, 4)
    assert recorded.sha256 == hashlib.sha256((folder / "a.png").read_bytes()).hexdigest()
    assert np.array_equal(load_picture(folder, recorded), PIXELS)


def test_another_picture_under_the_name_is_refused(folder):
    """The benchmark's digest would say nothing about it."""
    recorded = describe_picture(folder, "a.png")
    Image.fromarray(PIXELS + 1).save(folder / "a.png")
    with pytest.raises(EnvError, match="SHA-256 differs"):
        load_picture(folder, recorded)
    right = describe_picture(folder, "a.png")
    with pytest.raises(EnvError, match="the benchmark says 7 x 4"):
        load_picture(folder, attrs.evolve(right, width=7))


def test_a_picture_that_is_gone_is_not_looked_for_again(folder):
    """It will not be there at the next try either; an error of the disk may be over by then."""
    recorded = describe_picture(folder, "a.png")
    (folder / "a.png").unlink()
    with pytest.raises(EnvError, match=r"cannot read the picture 'a\.png'") as missing:
        load_picture(folder, recorded)
    assert missing.value.lasting


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.png", "b/../../a.png", "a\\b.png", "a\0.png", ""])
def test_a_path_out_of_the_folder_is_no_path(path):
    """Whatever stands in a benchmark somebody sent."""
    with pytest.raises(ContractError, match="path"):
        PictureFile(path=path, sha256="0" * 64, width=1, height=1)


def test_a_link_out_of_the_folder_is_refused(folder):
    """A path without dots can still lead outside."""
    inner = folder / "inner"
    inner.mkdir()
    (inner / "link.png").symlink_to(folder / "a.png")
    with pytest.raises(EnvError, match="link out of"):
        describe_picture(inner, "link.png")


def test_what_is_no_picture_is_refused(folder, monkeypatch):
    """Text, a folder, nothing, a torn file, and a file beyond the limits."""
    (folder / "text.png").write_text("no picture")
    (folder / "torn.png").write_bytes((folder / "a.png").read_bytes()[:40])
    for name, reason in (
        ("text.png", "no picture that can be read"),
        ("torn.png", "no picture that can be read"),
        (".", "is no file"),
        ("none.png", "cannot read"),
    ):
        with pytest.raises(EnvError, match=reason):
            describe_picture(folder, name)
    monkeypatch.setattr(files, "MAX_PIXELS", 23)
    with pytest.raises(EnvError, match="6 x 4 pixels, more than 23"):
        describe_picture(folder, "a.png")
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    with pytest.raises(EnvError, match="larger than 10 bytes"):
        describe_picture(folder, "a.png")


def test_a_picture_that_would_have_to_be_changed_is_refused(folder):
    """Transparency and a rotation that only viewers apply."""
    Image.fromarray(np.zeros((4, 6, 4), np.uint8)).save(folder / "clear.png")
    with pytest.raises(EnvError, match="RGBA"):
        describe_picture(folder, "clear.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PIXELS).save(folder / "turned.jpg", exif=exif)
    with pytest.raises(EnvError, match="stored rotated"):
        describe_picture(folder, "turned.jpg")
