"""What is found of RoboCasa, and the errors that say what is missing and how to mend it."""

import sys

import pytest

from hylo_eval.envs.robocasa import installation
from hylo_eval.envs.robocasa.installation import (
    ASSETS_VARIABLE,
    STAND_IN_MARKER,
    check_objects,
    find_installation,
    installed_versions,
)
from hylo_eval.errors import EnvError, EnvUnready, MissingSimulator

WHOLE = ("textures", "fixtures/sinks", "fixtures/stoves", "objects/objaverse/apple", "objects/lightwheel/cup")


def with_assets(folder):
    """The folders of a whole asset root."""
    for name in WHOLE:
        (folder / name).mkdir(parents=True)
    return folder


def test_the_bare_wheel_says_that_its_assets_are_missing_and_how_to_get_them(packages):
    """The package itself would fail at the first sink, in a reset."""
    with pytest.raises(EnvError, match="without its kitchen assets") as error:
        find_installation()
    assert "download_kitchen_assets" in error.value.fix
    assert ASSETS_VARIABLE in error.value.fix


def test_assets_are_the_option_s_then_the_variable_s_then_the_package_s(packages, tmp_path, monkeypatch):
    """The nearest word wins."""
    own = with_assets(packages / "robocasa/models/assets")
    named, asked = with_assets(tmp_path / "named"), with_assets(tmp_path / "asked")
    assert find_installation().assets == own
    monkeypatch.setenv(ASSETS_VARIABLE, str(named))
    assert find_installation().assets == named
    assert find_installation(str(asked)).assets == asked


def test_only_the_marker_makes_assets_stand_ins(packages):
    """Real assets carry no file of that name."""
    own = with_assets(packages / "robocasa/models/assets")
    assert not find_installation().stand_in
    (own / STAND_IN_MARKER).write_text("{}")
    assert find_installation().stand_in


def test_the_other_robosuite_is_told_by_what_it_cannot_do(packages):
    """Two packages own one import name, and pip does not notice."""
    with_assets(packages / "robocasa/models/assets")
    (packages / "robosuite/environments/base.py").write_text("def __init__(self): ...\n")
    with pytest.raises(EnvError, match="not the one RoboCasa needs") as error:
        find_installation()
    assert "pip uninstall -y robosuite praxis-robosuite" in error.value.fix


def test_a_registry_of_objects_that_is_missing_is_named_before_anything_runs(packages):
    """The package would divide by the number of its instances."""
    with_assets(packages / "robocasa/models/assets")
    found = find_installation()
    check_objects(found, ["objaverse", "lightwheel"])
    with pytest.raises(EnvError, match="'aigen'") as error:
        check_objects(found, ["aigen"])
    assert error.value.fix.endswith("--type objs_aigen")


def test_without_the_package_an_environment_of_its_own_is_the_fix(monkeypatch):
    """A fix that can be pasted, also where the variable says that there is no registry to put it in."""
    monkeypatch.setattr(installation, "_package_folder", lambda _: None)
    for registry, before in (("interpreters.toml", ""), ("", "unset HYLO_INTERPRETERS; ")):
        monkeypatch.setenv("HYLO_INTERPRETERS", registry)
        with pytest.raises(MissingSimulator) as error:
            find_installation()
        assert error.value.fix == f"{before}hylo-eval env add robocasa --create"


def test_looking_imports_nothing(packages):
    """``doctor`` and ``list`` look; the packages of this test raise when they are imported."""
    with_assets(packages / "robocasa/models/assets")
    find_installation()
    assert not {"robocasa", "robosuite"} & set(sys.modules)
    assert "numpy" in installed_versions()


def test_a_named_folder_that_is_not_whole_is_completed_and_not_downloaded(packages, tmp_path):
    """RoboCasa's download fills its own folder and no other."""
    own = with_assets(packages / "robocasa/models/assets")
    named = with_assets(tmp_path / "named")
    (named / "textures").rmdir()
    with pytest.raises(EnvUnready, match="is not whole") as error:
        find_installation(str(named))
    assert error.value.fix.startswith(f"complete the folder {named}; or name none, and ")
    assert find_installation(str(own)).completion().endswith(" -m robocasa.scripts.download_kitchen_assets")
