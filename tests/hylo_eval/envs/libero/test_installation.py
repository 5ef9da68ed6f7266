"""Finding LIBERO, and importing it without its question and without a trace in the user's home."""

import os
import subprocess
import sys
import textwrap

import pytest

from hylo_eval.envs.libero import installation as subject
from hylo_eval.envs.libero import simulation
from hylo_eval.errors import EnvError, MissingSimulator

ASKING_PACKAGE = """
import os
folder = os.environ.get("LIBERO_CONFIG_PATH", os.path.expanduser("~/.libero"))
config_file = os.path.join(folder, "config.yaml")
if not os.path.exists(config_file):
    input("Do you want to specify a custom path for the dataset folder? (Y/N): ")
    os.makedirs(folder)
text = open(config_file).read()
"""


@pytest.fixture
def fake_package(tmp_path):
    """A package laid out like the original, which asks when it finds no configuration."""
    site = tmp_path / "site packages"
    package = site / "libero" / "libero"
    (package / "bddl_files").mkdir(parents=True)
    (package / "assets" / "scenes").mkdir(parents=True)
    (package / "__init__.py").write_text(ASKING_PACKAGE)
    (site / "libero" / "__init__.py").touch()
    return site


def run(code, site, home, **variables: str):
    """Run Python with only the given site folder in front, and a home of its own."""
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join([str(site), *sys.path]), **variables}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_import_asks_nothing_and_writes_nothing_at_home(fake_package, tmp_path):
    """With our configuration in place the original's ``input()`` is never reached and the home stays empty."""
    home = tmp_path / "home"
    home.mkdir()
    code = """
        import os
        from hylo_eval.envs.libero.installation import configured, find_installation
        with configured(find_installation()):
            import libero.libero
            print(libero.libero.text)
        print("LIBERO_CONFIG_PATH" in os.environ)
    """
    done = run(code, fake_package, home)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"bddl_files: '{fake_package}/libero/libero/bddl_files'" in lines
    assert f"assets: '{fake_package}/libero/libero/assets'" in lines
    assert lines[-1] == "False"
    assert list(home.iterdir()) == []


def test_a_configuration_of_the_users_own_is_given_back(fake_package, tmp_path):
    """While LIBERO runs it reads our folders; afterwards the variable is what the user had set."""
    code = """
        import os
        from hylo_eval.envs.libero.installation import configured, find_installation
        with configured(find_installation()):
            print(os.environ["LIBERO_CONFIG_PATH"] != "/mine")
        print(os.environ["LIBERO_CONFIG_PATH"])
    """
    done = run(code, fake_package, tmp_path, LIBERO_CONFIG_PATH="/mine")
    assert done.stdout.splitlines() == ["True", "/mine"], done.stderr


def test_without_assets_the_error_says_how_to_get_them(fake_package, tmp_path, monkeypatch):
    """Packages without assets are common; the error names the folder that was looked in and the way out."""
    monkeypatch.setattr(subject, "_package_folders", lambda name: [fake_package / "libero"] if name == "libero" else [])
    (fake_package / "libero" / "libero" / "assets" / "scenes").rmdir()
    with pytest.raises(EnvError, match="without its assets") as caught:
        subject.find_installation()
    assert "assets=FOLDER" in caught.value.fix
    assert caught.value.lasting
    (tmp_path / "mine" / "scenes").mkdir(parents=True)
    assert subject.find_installation(str(tmp_path / "mine")).assets == tmp_path / "mine"


@pytest.mark.parametrize(
    ("raised", "lasting"),
    [
        (FileNotFoundError("stove.xml"), True),
        (ValueError("Error: Error opening file 'wood.png'"), True),
        (ValueError("mass and inertia of moving bodies must be positive"), None),
    ],
)
def test_an_asset_that_is_missing_is_said_and_not_tried_again(monkeypatch, tmp_path, raised, lasting):
    """In robosuite's words or MuJoCo's; another error stays what it is."""

    class Kitchen:
        def __init__(self, *_, **__):
            raise raised

    simulator = subject.Simulator(
        problem_classes={"kitchen": Kitchen},
        evaluate_predicate=None,
        load_controller_config=lambda **_: None,
        placement_error=ArithmeticError,
        mujoco=None,
        simulation_class=None,
    )
    monkeypatch.setattr(simulation, "import_simulator", lambda *_, **__: simulator)
    with pytest.raises(type(raised) if lasting is None else EnvError) as caught:
        simulation.Simulation(
            subject.Installation(root=tmp_path, assets=tmp_path), tmp_path / "x.bddl", "kitchen", None
        )
    assert getattr(caught.value, "lasting", None) is lasting


def test_without_any_package_the_extra_is_named(monkeypatch):
    """Nothing installed is a missing simulator, with the command that installs it."""
    monkeypatch.setattr(subject, "_package_folders", lambda _: [])
    with pytest.raises(MissingSimulator) as caught:
        subject.find_installation()
    assert caught.value.extra == "libero"


@pytest.mark.parametrize("value", ["disable", "off", "0"])
def test_pictures_with_drawing_switched_off_are_refused(monkeypatch, value):
    """``MUJOCO_GL=disable`` and cameras contradict each other; the error comes before the import."""
    monkeypatch.setenv("MUJOCO_GL", value)
    with pytest.raises(EnvError, match="switches drawing off"):
        subject.import_simulator(subject.Installation(root=None, assets=None), cameras=True)
